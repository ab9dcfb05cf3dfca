// The answer to a request: the body to send, and what is in it without a JSON parser.
//
// Everything that is lent here belongs to the answer, and all member functions are const: an answer may be shared
// between threads. It is looked into when it is first asked for more than its body.
#ifndef MILEPOST_ANSWER_HPP
#define MILEPOST_ANSWER_HPP

#include "handle.hpp"

namespace milepost {
inline namespace MILEPOST_VARIANT {

/// What kind of answer it is, for a host that chooses an HTTP status by it
enum class Class : milepost_class_t {
    Result = MILEPOST_CLASS_RESULT,                         ///< a result, or a batch of any answers
    RequestValidation = MILEPOST_CLASS_REQUEST_VALIDATION,  ///< REQUEST_VALIDATION_ERROR
    Timeout = MILEPOST_CLASS_TIMEOUT,                       ///< HANDLER_ERROR with TIMEOUT_ERROR
    SkippedBlock = MILEPOST_CLASS_SKIPPED_BLOCK,            ///< UNKNOWN_BLOCK for a height below the head
    Handler = MILEPOST_CLASS_HANDLER,                       ///< any other HANDLER_ERROR
    Internal = MILEPOST_CLASS_INTERNAL,                     ///< INTERNAL_ERROR
    Unavailable = MILEPOST_CLASS_UNAVAILABLE,               ///< no place for the request now, but maybe later
    Other = MILEPOST_CLASS_OTHER,                           ///< something that the library has no number for
};

/// How far along a transaction is: None < Included < {ExecutedOptimistic, IncludedFinal} < Executed < Final
enum class Milestone : milepost_milestone_t {
    None = MILEPOST_MILESTONE_NONE,                               ///< waits to be included in a block
    Included = MILEPOST_MILESTONE_INCLUDED,                       ///< in a block that may not be final
    ExecutedOptimistic = MILEPOST_MILESTONE_EXECUTED_OPTIMISTIC,  ///< all receipts but refunds are executed
    IncludedFinal = MILEPOST_MILESTONE_INCLUDED_FINAL,            ///< in a final block
    Executed = MILEPOST_MILESTONE_EXECUTED,                       ///< both of these
    Final = MILEPOST_MILESTONE_FINAL,                             ///< all receipts are executed in final blocks
};

/// How an execution ended, or a transaction as a whole; it says what the payload is
enum class Ending : milepost_ending_t {
    None = MILEPOST_ENDING_NONE,                            ///< nothing is known of it
    Unknown = MILEPOST_ENDING_UNKNOWN,                      ///< of an outcome: not executed yet
    NotStarted = MILEPOST_ENDING_NOT_STARTED,               ///< of a transaction: not executed yet
    Started = MILEPOST_ENDING_STARTED,                      ///< of a transaction: executed in part
    Failure = MILEPOST_ENDING_FAILURE,                      ///< the payload is the failure, as JSON
    SuccessValue = MILEPOST_ENDING_SUCCESS_VALUE,           ///< the payload is the bytes of the value
    SuccessReceiptId = MILEPOST_ENDING_SUCCESS_RECEIPT_ID,  ///< the payload is the 32 bytes of the receipt's id
    Other = MILEPOST_ENDING_OTHER,                          ///< the payload is the whole status, as JSON
};

/// An amount in yoctoNEAR, of 128 bits
struct Amount {
    std::uint64_t low = 0;   ///< modulo 2^64
    std::uint64_t high = 0;  ///< divided by 2^64
};

/// The result of a request for a transaction's status
struct Status {
    Milestone milestone = Milestone::None;  ///< how far along the transaction is
    Ending ending = Ending::None;           ///< how it did as a whole
    std::string_view payload;               ///< what that gave
    std::string_view transaction;           ///< the transaction, as JSON; empty when nothing is known of it
    std::size_t outcomes = 0;               ///< that of the transaction, then those of receipts
    std::size_t receipts = 0;               ///< 0 also when the request was not for receipts
};

/// An outcome
struct Outcome {
    Hash id;                                ///< hash of the transaction, or id of the receipt
    Hash block_hash;                        ///< block whose chunk executed it
    std::string_view executor_id;           ///< account that executed it
    Ending ending = Ending::None;           ///< how it ended
    std::string_view payload;               ///< what that gave
    std::uint64_t gas_burnt = 0;            ///< gas that it burnt
    Amount tokens_burnt;                    ///< yoctoNEAR that it burnt
    Hashes receipt_ids;                     ///< receipts that it made
    Texts logs;                             ///< lines that the contract logged, unescaped
    std::string_view json;                  ///< the whole outcome, with its id and proof
};

/// What is wrong with a request that is answered by an error
struct Failure {
    std::string_view name;   ///< which kind, as in `HANDLER_ERROR`
    std::string_view cause;  ///< why, as in `TIMEOUT_ERROR`
    std::string_view info;   ///< what the cause says beside its name, as JSON; empty when it says nothing
    std::string_view json;   ///< the whole error, as JSON
};

/// The answer to a request
class Answer : public Handle<milepost_answer, milepost_answer_free> {
public:
    using Handle::Handle;

    /// The body to send: compact JSON
    Result<std::string_view> body() const noexcept {
        milepost_bytes body;
        milepost_status_t status = milepost_answer_body(get(), &body);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        return view(body);
    }

    /// What kind of answer it is
    Result<Class> kind() const noexcept {
        milepost_class_t kind = 0;
        milepost_status_t status = milepost_answer_class(get(), &kind);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        return static_cast<Class>(kind);
    }

    /// The member `result`, as JSON, whatever was asked for; Kind::Usage when it is an error or a batch
    Result<std::string_view> result_json() const noexcept {
        milepost_bytes json;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_answer_result_json(get(), &json, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return view(json);
    }

    /// The status of the transaction that was asked for; Kind::Usage when the answer is none
    Result<Status> status() const noexcept {
        milepost_result raw;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_answer_result(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        Status result;
        result.milestone = static_cast<Milestone>(raw.milestone);
        result.ending = static_cast<Ending>(raw.ending);
        result.payload = view(raw.payload);
        result.transaction = view(raw.transaction);
        result.outcomes = raw.outcomes;
        result.receipts = raw.receipts;
        return result;
    }

    /// An outcome: with index 0 that of the transaction, then those of receipts in the order of the body
    Result<Outcome> outcome(std::size_t index) const noexcept {
        milepost_outcome raw;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_answer_outcome(get(), index, &raw, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        Outcome outcome;
        outcome.id = raw.id;
        outcome.block_hash = raw.block_hash;
        outcome.executor_id = view(raw.executor_id);
        outcome.ending = static_cast<Ending>(raw.ending);
        outcome.payload = view(raw.payload);
        outcome.gas_burnt = raw.gas_burnt;
        outcome.tokens_burnt.low = raw.tokens_burnt_low;
        outcome.tokens_burnt.high = raw.tokens_burnt_high;
        outcome.receipt_ids = Hashes(raw.receipt_ids, raw.receipt_ids_len);
        outcome.logs = Texts(raw.logs, raw.logs_len);
        outcome.json = view(raw.json);
        return outcome;
    }

    /// A receipt, as JSON, in the order of the body
    Result<std::string_view> receipt(std::size_t index) const noexcept {
        milepost_bytes json;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_answer_receipt(get(), index, &json, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return view(json);
    }

    /// What is wrong with the request; Kind::Usage when the answer is a result or a batch
    Result<Failure> failure() const noexcept {
        milepost_failure raw;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_answer_failure(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        Failure failure;
        failure.name = view(raw.name);
        failure.cause = view(raw.cause);
        failure.info = view(raw.info);
        failure.json = view(raw.json);
        return failure;
    }

    /// How many answers a batch has; 0 when it is that of one request
    Result<std::size_t> parts() const noexcept {
        std::size_t parts = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_answer_parts(get(), &parts, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return parts;
    }

    /// One answer of a batch, as an answer of its own; its class is Class::Result, failure() tells errors
    Result<Answer> part(std::size_t index) const noexcept {
        milepost_answer *part = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_answer_part(get(), index, &part, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Answer(part);
    }
};

/// What a body of a request is found to be
struct Checked {
    std::size_t calls = 0;  ///< how many calls it has; 0 when it cannot be read
    Answer refusal;         ///< the answer to what is not in order; empty when all is
};

/// Checks the body of a request, without answering it; `method` is what its address names, if it names one
inline Result<Checked> validate(std::string_view body, std::string_view method = {},
                                const Settings &settings = Settings()) noexcept {
    std::size_t calls = 0;
    milepost_answer *refusal = nullptr;
    milepost_error *error = nullptr;
    milepost_status_t status = milepost_request_validate(settings.get(), data(body), body.size(), data(method),
                                                         method.size(), &calls, &refusal, &error);
    if (status != MILEPOST_STATUS_OK) return refused(status, error);
    Checked checked;
    checked.calls = calls;
    checked.refusal = Answer(refusal);
    return checked;
}

}  // namespace MILEPOST_VARIANT
}  // namespace milepost

#endif
