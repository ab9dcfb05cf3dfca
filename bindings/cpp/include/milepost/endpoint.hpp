// The endpoint: pending requests, without a callback, a thread or a clock.
//
// Pass in events (handle_request, handle_block, handle_timeout), then call poll_output until it
// returns OutputKind::Timeout; come back at that time, or with the next event. An endpoint without
// an engine is for hosts with remote storage: its outputs ask for rows and commits.
#ifndef MILEPOST_ENDPOINT_HPP
#define MILEPOST_ENDPOINT_HPP

#include "engine.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// Identifies a request or another operation of an endpoint; 0 for none
using RequestHandle = std::uint64_t;

/// Timeout of a request: that of the endpoint's settings
constexpr std::uint64_t TIMEOUT_DEFAULT = MILEPOST_TIMEOUT_DEFAULT;

/// A row that a host supplies, or its absence; handle_rows() copies the bytes
struct Row : milepost_row {
    /// The key has no row
    Row() noexcept : milepost_row() {}

    /// The row of the key
    Row(std::string_view row) noexcept : milepost_row() {
        bytes.data = data(row);
        bytes.len = row.size();
        present = 1;
    }
};
static_assert(sizeof(Row) == sizeof(milepost_row), "arrays of both have the same layout");

/// Result of Endpoint::handle_request
struct RequestResult {
    RequestHandle handle = 0;  ///< of a pending request
    Response response;         ///< of an answered request; empty if it is pending

    /// Whether the response comes as an output
    bool is_pending() const noexcept { return !response; }
};

/// Result of Endpoint::handle_block
struct BlockResult {
    RequestHandle handle = 0;  ///< of an import that continues
    ImportSummary summary;     ///< of an import that is done; empty if it continues

    /// Whether the summary comes as an output
    bool is_pending() const noexcept { return !summary; }
};

/// What happened to a watched transaction
enum class WatchEvent : milepost_watch_event_t {
    None = 0,                                 ///< the output is none of a watch
    Status = MILEPOST_WATCH_STATUS,           ///< its compact status is another one, or the first
    UnIncluded = MILEPOST_WATCH_UN_INCLUDED,  ///< a fork took away its block
    Reached = MILEPOST_WATCH_REACHED,         ///< the milestone is reached: the last event
    Forgotten = MILEPOST_WATCH_FORGOTTEN,     ///< retention removed it: the last event
};

/// Options of Endpoint::watch
struct WatchOptions {
    Milestone wait_until = Milestone::Final;  ///< ends the watch
    bool with_result = false;  ///< the last event has the whole result of the transaction
};

/// Kind of an output
enum class OutputKind : milepost_output_kind_t {
    Timeout = MILEPOST_OUTPUT_TIMEOUT,      ///< nothing more; call handle_timeout at `timeout`
    Response = MILEPOST_OUTPUT_RESPONSE,    ///< `response` to a request
    Pending = MILEPOST_OUTPUT_PENDING,      ///< a request waits; its snapshot can be released
    NeedRows = MILEPOST_OUTPUT_NEED_ROWS,   ///< the rows of `keys`, by handle_rows or fail_rows
    Commit = MILEPOST_OUTPUT_COMMIT,        ///< commit `changes`, then call handle_commit_result
    Completed = MILEPOST_OUTPUT_COMPLETED,  ///< an operation other than a request is done
    Failed = MILEPOST_OUTPUT_FAILED,        ///< an operation other than a request: `error`
    Watch = MILEPOST_OUTPUT_WATCH,          ///< a watch reports `watch_event`
};

/// What an endpoint asks of its host, or hands out; members of other kinds are empty
struct Output {
    OutputKind kind = OutputKind::Timeout;  ///< its kind
    RequestHandle handle = 0;               ///< the operation; all kinds except Timeout
    std::optional<std::uint64_t> timeout;   ///< Timeout: the time, if a request is pending
    Response response;                      ///< Response: the response
    bool is_first = false;       ///< NeedRows: an evaluation starts, which may read a new snapshot
    ByteStrings keys;            ///< NeedRows: the keys, until the next call on the endpoint
    Changes changes;             ///< Commit: the changes, until the next call on the endpoint
    ImportSummary summary;       ///< Completed, of a block
    ChainStatus chain_status;    ///< Completed, of handle_chain_query
    std::optional<Error> error;  ///< Failed: why
    WatchEvent watch_event = WatchEvent::None;  ///< Watch: what happened
    Milestone milestone = Milestone::None;      ///< Watch: that of the transaction
    std::string_view event_id;        ///< Watch: equal events have equal ids, as over HTTP
    std::string_view compact_status;  ///< Watch: JSON, until the next call on the endpoint
    Json proof;  ///< Completed, of handle_proof_query; empty if no block confirms an outcome

    Output() noexcept = default;

    /// Takes ownership of the handles of an output of the C interface
    explicit Output(const milepost_output &raw) noexcept
        : kind(static_cast<OutputKind>(raw.kind)),
          handle(raw.handle),
          response(raw.response),
          is_first(raw.is_first != 0),
          keys(raw.keys, raw.keys_len),
          changes(raw.changes, raw.changes_len),
          summary(raw.summary),
          watch_event(static_cast<WatchEvent>(raw.watch_event)),
          milestone(static_cast<Milestone>(raw.milestone)),
          event_id(view(raw.event_id)),
          compact_status(view(raw.compact_status)),
          proof(raw.proof) {
        if (raw.chain_status != nullptr) {
            Result<ChainStatus> taken = ChainStatus::take(raw.chain_status);
            if (taken) chain_status = std::move(taken).value();
        }
        if (kind == OutputKind::Timeout && raw.timeout != MILEPOST_TIMEOUT_NEVER) {
            timeout = raw.timeout;
        }
        milepost_error_view view = sized<milepost_error_view>();
        if (raw.error != nullptr && milepost_error_read(raw.error, &view) == MILEPOST_STATUS_OK) {
            error.emplace(view.status, raw.error);
        }
    }
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

    /// Creates an endpoint for a host with remote storage, whose outputs ask for rows and commits
    static Result<Endpoint> without_engine(const Settings &settings = Settings()) noexcept {
        return create(nullptr, settings);
    }

    /// Answers the body of a request, or lets it wait until `now` plus `timeout`
    ///
    /// With timeout 0 it does not wait. `url_method` is the method that the URL names.
    Result<RequestResult> handle_request(std::uint64_t now, std::string_view body,
                                         std::string_view url_method = {},
                                         std::uint64_t timeout = TIMEOUT_DEFAULT) noexcept {
        milepost_response *response = nullptr;
        milepost_error *error = nullptr;
        RequestResult result;
        milepost_status_t status = milepost_endpoint_handle_request(
            get(), now, timeout, data(body), body.size(), data(url_method), url_method.size(),
            &result.handle, &response, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        result.response = Response(response);
        return result;
    }

    /// Answers a parsed request with the answers that the host has given, or lets it wait
    Result<RequestResult> handle_request(std::uint64_t now, Request &request,
                                         std::uint64_t timeout = TIMEOUT_DEFAULT) noexcept {
        milepost_response *response = nullptr;
        milepost_error *error = nullptr;
        RequestResult result;
        milepost_status_t status = milepost_endpoint_handle_parsed(
            get(), now, timeout, request.get(), &result.handle, &response, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        result.response = Response(response);
        return result;
    }

    /// Imports a block message, in one commit, and then wakes the requests that it affects
    ///
    /// Done with an engine; without one it continues by outputs.
    Result<BlockResult> handle_block(std::string_view message) noexcept {
        milepost_import_summary *summary = nullptr;
        milepost_error *error = nullptr;
        BlockResult result;
        milepost_status_t status = milepost_endpoint_handle_block(
            get(), data(message), message.size(), &result.handle, &summary, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        result.summary = ImportSummary(summary);
        return result;
    }

    /// Puts a protocol configuration, as JSON, in force in the epoch with this id
    ///
    /// Done with an engine, when 0 is returned; without one it continues by outputs.
    Result<RequestHandle> handle_config(const Hash &epoch_id, std::string_view config) noexcept {
        RequestHandle handle = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_handle_config(
            get(), &epoch_id, 0, data(config), config.size(), &handle, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return handle;
    }

    /// The same from this height on, in epochs that have none of their own
    Result<RequestHandle> handle_config(std::uint64_t height, std::string_view config) noexcept {
        RequestHandle handle = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_handle_config(
            get(), nullptr, height, data(config), config.size(), &handle, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return handle;
    }

    /// Asks for the state of the chain in the storage, which comes as an output
    Result<RequestHandle> handle_chain_query() noexcept {
        RequestHandle handle = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_handle_chain_query(get(), &handle, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return handle;
    }

    /// Asks for the proof of the outcomes of a transaction, which comes as an output; `block` is
    /// that of Engine::prove
    Result<RequestHandle> handle_proof_query(const Hash &transaction,
                                             std::string_view block = {}) noexcept {
        RequestHandle handle = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_handle_proof_query(
            get(), &transaction, data(block), block.size(), &handle, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return handle;
    }

    /// Watches a transaction: its state comes as OutputKind::Watch with the returned handle, at
    /// once and whenever it has changed, until the milestone is reached
    ///
    /// cancel() ends it; see Watch for a handle that does. A state that was not polled before the
    /// next one is left out.
    Result<RequestHandle> watch(const milepost_hash &transaction,
                                const WatchOptions &options = WatchOptions()) noexcept {
        RequestHandle handle = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_watch(
            get(), &transaction, static_cast<milepost_milestone_t>(options.wait_until),
            options.with_result ? 1 : 0, &handle, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return handle;
    }

    /// Supplies the rows of an output, one for each key and in their order
    Result<void> handle_rows(RequestHandle handle, Span<const Row> rows) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_endpoint_handle_rows(get(), handle, rows.data(), rows.size(), &error);
        return to_result(status, error);
    }

    /// Ends an operation whose rows cannot be supplied; a request is answered by INTERNAL_ERROR
    Result<void> fail_rows(RequestHandle handle, std::string_view reason) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_endpoint_fail_rows(get(), handle, data(reason), reason.size(), &error);
        return to_result(status, error);
    }

    /// Takes in that the changes of an output were committed, or why none was
    Result<void> handle_commit_result(
        RequestHandle handle, std::optional<std::string_view> failure = std::nullopt) noexcept {
        std::string_view reason = failure.value_or(std::string_view());
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_handle_commit_result(
            get(), handle, failure.has_value() ? 0 : 1, data(reason), reason.size(), &error);
        return to_result(status, error);
    }

    /// Wakes the requests that a block affects which was committed elsewhere
    Result<void> handle_chain_update(const ImportSummary &summary) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_endpoint_handle_chain_update(get(), summary.get(), &error);
        return to_result(status, error);
    }

    /// Passes the time: wakes the requests whose deadline is not after `now`
    Result<void> handle_timeout(std::uint64_t now) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_handle_timeout(get(), now, &error);
        return to_result(status, error);
    }

    /// Returns what is to be done or handed out next; call until it is OutputKind::Timeout
    Result<Output> poll_output() noexcept {
        milepost_output raw = sized<milepost_output>();
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_poll_output(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Output(raw);
    }

    /// When to call handle_timeout next, if a request is pending
    Result<std::optional<std::uint64_t>> next_timeout() const noexcept {
        std::uint64_t timeout = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_next_timeout(get(), &timeout, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        if (timeout == MILEPOST_TIMEOUT_NEVER) return std::optional<std::uint64_t>();
        return std::optional<std::uint64_t>(timeout);
    }

    /// Removes a request whose client went away, or a watch; returns whether it was pending
    Result<bool> cancel(RequestHandle handle) noexcept {
        std::int32_t was_pending = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_cancel(get(), handle, &was_pending, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return was_pending != 0;
    }

    /// Ends all waiting: pending requests are evaluated once more and then get an error
    Result<void> shutdown() noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_shutdown(get(), &error);
        return to_result(status, error);
    }

    /// Number of calls of all pending requests
    Result<std::size_t> pending_count() const noexcept {
        std::size_t count = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_endpoint_pending_count(get(), &count, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return count;
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

/// A watch that ends with this object, such as the one of a client
///
/// The endpoint must outlive it, and stay where it is.
class Watch {
public:
    /// Watches a transaction, as Endpoint::watch
    static Result<Watch> start(Endpoint &endpoint, const milepost_hash &transaction,
                               const WatchOptions &options = WatchOptions()) noexcept {
        Result<RequestHandle> handle = endpoint.watch(transaction, options);
        if (!handle) return std::move(handle).error();
        return Watch(endpoint, *handle);
    }

    Watch(Watch &&other) noexcept
        : endpoint_(std::exchange(other.endpoint_, nullptr)), handle_(other.handle_) {}
    Watch &operator=(Watch &&other) noexcept {
        std::swap(endpoint_, other.endpoint_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Watch() {
        // Fails only while another thread uses the endpoint, which is not allowed.
        if (endpoint_ != nullptr) static_cast<void>(endpoint_->cancel(handle_));
    }

    /// The handle of its outputs
    RequestHandle handle() const noexcept { return handle_; }

private:
    Watch(Endpoint &endpoint, RequestHandle handle) noexcept
        : endpoint_(&endpoint), handle_(handle) {}

    Endpoint *endpoint_;
    RequestHandle handle_;
};

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
