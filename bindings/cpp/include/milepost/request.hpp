// Request before it is answered: its calls, and answers of the host to methods of its own.
#ifndef MILEPOST_REQUEST_HPP
#define MILEPOST_REQUEST_HPP

#include "response.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// A call of a request; its views are valid until it is answered
struct Call {
    std::string_view id;            ///< its id, as JSON
    std::string_view other_method;  ///< its method, if the engine does not have it; else empty
    std::string_view other_params;  ///< params of such a method, as JSON; empty if it has none
    bool is_valid = false;          ///< if not, the engine answers it with the error
};

/// Parsed request
class Request : public Handle<milepost_request, milepost_request_free> {
public:
    using Handle::Handle;

    /// Parses the body of a request; `url_method` is the method that the URL names, if it names one
    static Result<Request> parse(std::string_view body, std::string_view url_method = {},
                                 const Settings &settings = Settings()) noexcept {
        milepost_request *request = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_request_parse(settings.get(), data(body), body.size(), data(url_method),
                                   url_method.size(), &request, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Request(request);
    }

    /// Number of calls; 0 if the body cannot be read, or is a batch that is invalid as a whole
    Result<std::size_t> calls() noexcept {
        std::size_t calls = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_request_calls(get(), &calls, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return calls;
    }

    /// A call by its index
    Result<Call> call(std::size_t index) noexcept {
        milepost_call raw = sized<milepost_call>();
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_request_call(get(), index, &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        Call call;
        call.id = view(raw.id);
        call.other_method = view(raw.other_method);
        call.other_params = view(raw.other_params);
        call.is_valid = raw.is_valid == 1;
        return call;
    }

    /// Answers a valid call by the host, with this result as JSON
    Result<void> answer(std::size_t index, std::string_view result) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_request_answer(get(), index, data(result), result.size(), &error);
        return to_result(status, error);
    }

    /// Answers a valid call by the host, with this error object as JSON
    Result<void> refuse(std::size_t index, std::string_view rpc_error, ResponseKind kind) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_request_refuse(get(), index, data(rpc_error), rpc_error.size(),
                                    static_cast<milepost_response_kind_t>(kind), &error);
        return to_result(status, error);
    }

    /// The response to calls that are invalid or of a method that nobody answers; empty without any
    Result<Response> invalid() noexcept {
        milepost_response *response = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_request_invalid(get(), &response, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Response(response);
    }
};

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
