// The endpoint: pending requests, without a callback, a thread or a clock.
//
// Pass in events (handle_request, handle_block, handle_timeout), then call poll_response until it
// returns none; come back at next_timeout, or with the next event.
#ifndef MILEPOST_ENDPOINT_HPP
#define MILEPOST_ENDPOINT_HPP

#include "async.hpp"
#include "engine.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// Identifies a pending request
using RequestHandle = std::uint64_t;

/// Result of Endpoint::handle_request
struct RequestResult {
    RequestHandle handle = 0;  ///< of a pending request
    Response response;         ///< of an answered request; empty if it is pending

    /// Whether Endpoint::poll_response will return the response
    bool is_pending() const noexcept { return !response; }
};

/// Response to a request that was pending
struct PolledResponse {
    RequestHandle handle;  ///< of the request
    Response response;     ///< its response
};

/// A request that has to be run again by the host
struct PolledRequest {
    RequestHandle handle;    ///< of the request
    PendingRequest request;  ///< to run, and to pass to Endpoint::resume
};

/// State of a request after it was passed to an endpoint
enum class RequestState : milepost_request_state_t {
    Waiting = MILEPOST_REQUEST_STATE_WAITING,      ///< it waits, identified by its request handle
    Retry = MILEPOST_REQUEST_STATE_RETRY,          ///< poll it once more
    Ready = MILEPOST_REQUEST_STATE_READY,          ///< it is answered and no longer pending
    Cancelled = MILEPOST_REQUEST_STATE_CANCELLED,  ///< it was cancelled; discard its response
};

/// Result of Endpoint::suspend
struct SuspendResult {
    RequestState state;    ///< RequestState::Waiting or RequestState::Retry
    RequestHandle handle;  ///< of the request, if it waits
};

/// An engine together with the requests that wait
///
/// One thread at a time; a concurrent call fails with ErrorKind::Busy.
class Endpoint : public Handle<milepost_endpoint, milepost_endpoint_free> {
public:
    using Handle::Handle;

    /// Creates an endpoint without pending requests; it shares the engine, which may be freed first
    static Result<Endpoint> create(const Engine &engine,
                                   const Settings &settings = Settings()) noexcept {
        if (!engine) return Error(ErrorKind::Null);
        return create(engine.get(), settings);
    }

    /// Creates an endpoint for a host with remote storage, which passes pending requests to it
    static Result<Endpoint> without_engine(const Settings &settings = Settings()) noexcept {
        return create(nullptr, settings);
    }

    /// Answers the body of a request, or lets it wait until `now` plus the timeout
    Result<RequestResult> handle_request(std::uint64_t now, std::string_view body,
                                         std::string_view url_method = {}) noexcept {
        milepost_response *response = nullptr;
        milepost_error *error = nullptr;
        RequestResult result;
        milepost_status_t status =
            milepost_endpoint_handle_request(get(), now, data(body), body.size(), data(url_method),
                                             url_method.size(), &result.handle, &response, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        result.response = Response(response);
        return result;
    }

    /// Imports a block message by the engine, and wakes the requests that it affects
    Result<ImportSummary> handle_block(std::string_view message) noexcept {
        milepost_import_summary *summary = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_endpoint_handle_block(get(), data(message), message.size(), &summary, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return ImportSummary(summary);
    }

    /// Wakes the requests that a block affects which was committed elsewhere
    Result<void> handle_chain_update(const ImportSummary &summary) noexcept {
        return to_result(milepost_endpoint_handle_chain_update(get(), summary.get()));
    }

    /// Passes the time: wakes the requests whose deadline is not after `now`
    Result<void> handle_timeout(std::uint64_t now) noexcept {
        return to_result(milepost_endpoint_handle_timeout(get(), now));
    }

    /// Returns the response to a request that was pending, if there is one now; call until none
    Result<std::optional<PolledResponse>> poll_response() noexcept {
        RequestHandle handle = 0;
        milepost_response *response = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_endpoint_poll_response(get(), &handle, &response, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        if (response == nullptr) return std::optional<PolledResponse>();
        return std::optional<PolledResponse>(PolledResponse{handle, Response(response)});
    }

    /// When to call handle_timeout next, if a request is pending
    Result<std::optional<std::uint64_t>> next_timeout() const noexcept {
        std::uint64_t timeout = 0;
        milepost_status_t status = milepost_endpoint_next_timeout(get(), &timeout);
        if (status != MILEPOST_STATUS_OK) return to_error(status);
        if (timeout == MILEPOST_TIMEOUT_NEVER) return std::optional<std::uint64_t>();
        return std::optional<std::uint64_t>(timeout);
    }

    /// Removes a request whose client went away; returns whether it was pending
    Result<bool> cancel(RequestHandle handle) noexcept {
        std::int32_t was_pending = 0;
        milepost_status_t status = milepost_endpoint_cancel(get(), handle, &was_pending);
        if (status != MILEPOST_STATUS_OK) return to_error(status);
        return was_pending != 0;
    }

    /// Ends all waiting: pending requests are evaluated once more and then get an error
    Result<void> shutdown() noexcept { return to_result(milepost_endpoint_shutdown(get())); }

    /// Number of calls of all pending requests
    Result<std::size_t> pending_count() const noexcept {
        std::size_t count = 0;
        milepost_status_t status = milepost_endpoint_pending_count(get(), &count);
        if (status != MILEPOST_STATUS_OK) return to_error(status);
        return count;
    }

    /// Lets a request wait whose poll() returned Step::Pending
    ///
    /// RequestState::Waiting: the endpoint has it. RequestState::Retry: poll `request` again.
    Result<SuspendResult> suspend(std::uint64_t now, PendingRequest &request) noexcept {
        milepost_request_state_t state = 0;
        RequestHandle handle = 0;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_endpoint_suspend(get(), now, request.get(), &state, &handle, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return SuspendResult{static_cast<RequestState>(state), handle};
    }

    /// Returns a request that has to be run again, if there is one now
    ///
    /// resume() or cancel() has to follow, or the request stays pending.
    Result<std::optional<PolledRequest>> poll_request() noexcept {
        RequestHandle handle = 0;
        milepost_pending_request *request = nullptr;
        milepost_status_t status = milepost_endpoint_poll_request(get(), &handle, &request);
        if (status != MILEPOST_STATUS_OK) return to_error(status);
        if (request == nullptr) return std::optional<PolledRequest>();
        return std::optional<PolledRequest>(PolledRequest{handle, PendingRequest(request)});
    }

    /// Takes back a request that the host has run again
    Result<RequestState> resume(RequestHandle handle, PendingRequest &request) noexcept {
        milepost_request_state_t state = 0;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_endpoint_resume(get(), handle, request.get(), &state, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return static_cast<RequestState>(state);
    }

private:
    static Result<Endpoint> create(const milepost_engine *engine,
                                   const Settings &settings) noexcept {
        milepost_endpoint *endpoint = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_new(engine, settings.get(), &endpoint, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Endpoint(endpoint);
    }
};

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
