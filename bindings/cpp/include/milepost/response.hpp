// Response to a request: the body to send, and its contents without a JSON parser.
//
// All borrowed values belong to the response. All member functions are const, so threads may share
// a response. The contents of a status are read on first use.
#ifndef MILEPOST_RESPONSE_HPP
#define MILEPOST_RESPONSE_HPP

#include "handle.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// Kind of a response, from which a host can choose an HTTP status
enum class ResponseKind : milepost_response_kind_t {
    Result = MILEPOST_RESPONSE_KIND_RESULT,  ///< a result, or a batch of any responses
    RequestValidation = MILEPOST_RESPONSE_KIND_REQUEST_VALIDATION,  ///< REQUEST_VALIDATION_ERROR
    Timeout = MILEPOST_RESPONSE_KIND_TIMEOUT,             ///< HANDLER_ERROR with TIMEOUT_ERROR
    SkippedBlock = MILEPOST_RESPONSE_KIND_SKIPPED_BLOCK,  ///< UNKNOWN_BLOCK, height below the head
    Handler = MILEPOST_RESPONSE_KIND_HANDLER,             ///< any other HANDLER_ERROR
    Internal = MILEPOST_RESPONSE_KIND_INTERNAL,           ///< INTERNAL_ERROR
    Unavailable = MILEPOST_RESPONSE_KIND_UNAVAILABLE,     ///< full or shutting down; retry later
    Other = MILEPOST_RESPONSE_KIND_OTHER,                 ///< a kind without a number
};

/// Milestone of a transaction:
/// None < Included < {ExecutedOptimistic, IncludedFinal} < Executed < Final
enum class Milestone : milepost_milestone_t {
    None = MILEPOST_MILESTONE_NONE,          ///< not included in a block
    Included = MILEPOST_MILESTONE_INCLUDED,  ///< in a block that may not be final
    ExecutedOptimistic = MILEPOST_MILESTONE_EXECUTED_OPTIMISTIC,  ///< executed except refunds
    IncludedFinal = MILEPOST_MILESTONE_INCLUDED_FINAL,            ///< in a final block
    Executed = MILEPOST_MILESTONE_EXECUTED,  ///< in a final block, and executed except refunds
    Final = MILEPOST_MILESTONE_FINAL,        ///< all receipts are executed in final blocks
};

/// Execution status of a transaction as a whole or of one outcome; it defines the payload
enum class ExecutionStatus : milepost_execution_status_t {
    None = MILEPOST_EXECUTION_STATUS_NONE,               ///< the transaction is unknown
    Unknown = MILEPOST_EXECUTION_STATUS_UNKNOWN,         ///< of an outcome: not executed yet
    NotStarted = MILEPOST_EXECUTION_STATUS_NOT_STARTED,  ///< of a transaction: not executed yet
    Started = MILEPOST_EXECUTION_STATUS_STARTED,         ///< of a transaction: executed in part
    Failure = MILEPOST_EXECUTION_STATUS_FAILURE,         ///< the payload is the failure, as JSON
    SuccessValue = MILEPOST_EXECUTION_STATUS_SUCCESS_VALUE,           ///< the payload is the value
    SuccessReceiptId = MILEPOST_EXECUTION_STATUS_SUCCESS_RECEIPT_ID,  ///< payload: receipt id
    Other = MILEPOST_EXECUTION_STATUS_OTHER,  ///< the payload is the whole status, as JSON
};

/// An amount of 128 bits, in yoctoNEAR
struct Amount {
    std::uint64_t low = 0;   ///< modulo 2^64
    std::uint64_t high = 0;  ///< divided by 2^64
};

/// Result of a request for a transaction's status
struct TransactionStatus {
    Milestone milestone = Milestone::None;                     ///< milestone that is reached
    ExecutionStatus execution_status = ExecutionStatus::None;  ///< status as a whole
    std::string_view payload;                                  ///< payload of execution_status
    std::string_view transaction;  ///< the transaction, as JSON; empty if it is unknown
    std::size_t outcomes = 0;      ///< number: that of the transaction, then those of receipts
    std::size_t receipts = 0;      ///< number; 0 also if the request did not ask for receipts
};

/// An execution outcome
struct Outcome {
    Hash id;                                                   ///< of the transaction or receipt
    Hash block_hash;                                           ///< block whose chunk executed it
    std::string_view executor_id;                              ///< account that executed it
    ExecutionStatus execution_status = ExecutionStatus::None;  ///< its status
    std::string_view payload;                                  ///< payload of execution_status
    std::uint64_t gas_burnt = 0;                               ///< gas burnt
    Amount tokens_burnt;                                       ///< yoctoNEAR burnt
    Hashes receipt_ids;                                        ///< receipts that it created
    ByteStrings logs;                                          ///< log lines, unescaped
    std::string_view json;                                     ///< all of it, with id and proof
};

/// Error of an error response
struct RpcError {
    std::string_view name;                ///< `name` of the error, such as `HANDLER_ERROR`
    std::string_view cause;               ///< `name` of its cause, such as `TIMEOUT_ERROR`
    std::string_view info;                ///< `info` of its cause, as JSON; empty if there is none
    std::string_view json;                ///< the whole error, as JSON
    const milepost_hash *hash = nullptr;  ///< transaction or block; null if it names none
    const std::uint64_t *height = nullptr;    ///< height; null if it names none
    const std::uint64_t *shard_id = nullptr;  ///< shard; null if it names none
    const std::uint64_t *limit = nullptr;     ///< limit that is reached; null if it names none
};

/// Response to a request
class Response : public Handle<milepost_response, milepost_response_free> {
public:
    using Handle::Handle;

    /// The body to send: compact JSON
    Result<std::string_view> body() const noexcept {
        milepost_bytes body;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_response_body(get(), &body, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return view(body);
    }

    /// Kind of the response
    Result<ResponseKind> kind() const noexcept {
        milepost_response_kind_t kind = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_response_kind(get(), &kind, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return static_cast<ResponseKind>(kind);
    }

    /// The member `result`, as JSON, for any method; ErrorKind::Usage for an error or a batch
    Result<std::string_view> result_json() const noexcept {
        milepost_bytes json;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_response_result_json(get(), &json, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return view(json);
    }

    /// The status of a transaction; ErrorKind::Usage if the response is something else
    Result<TransactionStatus> transaction_status() const noexcept {
        milepost_transaction_status raw = sized<milepost_transaction_status>();
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_response_transaction_status(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        TransactionStatus transaction_status;
        transaction_status.milestone = static_cast<Milestone>(raw.milestone);
        transaction_status.execution_status = static_cast<ExecutionStatus>(raw.execution_status);
        transaction_status.payload = view(raw.payload);
        transaction_status.transaction = view(raw.transaction);
        transaction_status.outcomes = raw.outcomes;
        transaction_status.receipts = raw.receipts;
        return transaction_status;
    }

    /// An outcome: index 0 is that of the transaction, then come those of receipts
    Result<Outcome> outcome(std::size_t index) const noexcept {
        milepost_outcome raw = sized<milepost_outcome>();
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_response_outcome(get(), index, &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        Outcome outcome;
        outcome.id = raw.id;
        outcome.block_hash = raw.block_hash;
        outcome.executor_id = view(raw.executor_id);
        outcome.execution_status = static_cast<ExecutionStatus>(raw.execution_status);
        outcome.payload = view(raw.payload);
        outcome.gas_burnt = raw.gas_burnt;
        outcome.tokens_burnt.low = raw.tokens_burnt_low;
        outcome.tokens_burnt.high = raw.tokens_burnt_high;
        outcome.receipt_ids = Hashes(raw.receipt_ids, raw.receipt_ids_len);
        outcome.logs = ByteStrings(raw.logs, raw.logs_len);
        outcome.json = view(raw.json);
        return outcome;
    }

    /// A receipt, as JSON, in the order of the body
    Result<std::string_view> receipt(std::size_t index) const noexcept {
        milepost_bytes json;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_response_receipt(get(), index, &json, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return view(json);
    }

    /// The error of an error response; ErrorKind::Usage for a result or a batch
    Result<RpcError> rpc_error() const noexcept {
        milepost_rpc_error raw = sized<milepost_rpc_error>();
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_response_rpc_error(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        RpcError rpc_error;
        rpc_error.name = view(raw.name);
        rpc_error.cause = view(raw.cause);
        rpc_error.info = view(raw.info);
        rpc_error.json = view(raw.json);
        rpc_error.hash = raw.hash;
        rpc_error.height = raw.height;
        rpc_error.shard_id = raw.shard_id;
        rpc_error.limit = raw.limit;
        return rpc_error;
    }

    /// Number of responses in a batch; 0 if the response is not a batch
    Result<std::size_t> batch_size() const noexcept {
        std::size_t size = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_response_batch_len(get(), &size, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return size;
    }

    /// One response of a batch, with a kind of its own
    Result<Response> batch_item(std::size_t index) const noexcept {
        milepost_response *item = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_response_batch_item(get(), index, &item, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Response(item);
    }
};

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
