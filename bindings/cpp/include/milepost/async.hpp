// Requests and imports for hosts with remote storage: they return the keys of the rows that they
// need, and are resumed with the rows.
//
// Nothing here calls back: the host fetches rows by any means, and supplies them in the order of
// their keys.
#ifndef MILEPOST_ASYNC_HPP
#define MILEPOST_ASYNC_HPP

#include "engine.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// What a suspended query needs next
enum class Step : milepost_step_t {
    NeedRows = MILEPOST_STEP_NEED_ROWS,  ///< the rows of the keys that were returned with it
    Done = MILEPOST_STEP_DONE,           ///< nothing: it is done
    Pending = MILEPOST_STEP_PENDING,     ///< a block: the milestone is not reached
};

/// Why a waiting request is resumed
enum class Resume : milepost_resume_t {
    Block = MILEPOST_RESUME_BLOCK,      ///< a block was imported: it is answered, or waits again
    Expired = MILEPOST_RESUME_EXPIRED,  ///< the deadline has passed: it is answered
};

/// A row that a host supplies, or its absence; supply_rows() copies the bytes
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

/// What a request needs next
struct RequestStep {
    Step step = Step::NeedRows;  ///< kind of the step
    ByteStrings keys;            ///< keys of the rows that it needs, for Step::NeedRows
    Response response;           ///< its response, for Step::Done
};

/// A request over a remote storage
class PendingRequest : public Handle<milepost_pending_request, milepost_pending_request_free> {
public:
    using Handle::Handle;

    /// Creates a request from its body; `url_method` is the method that the URL names
    static Result<PendingRequest> create(std::string_view body, std::string_view url_method = {},
                                         const Settings &settings = Settings()) noexcept {
        milepost_pending_request *request = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_pending_request_new(settings.get(), data(body), body.size(), data(url_method),
                                         url_method.size(), &request, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return PendingRequest(request);
    }

    /// Advances the request and returns what it needs next; repeats keys until rows are supplied
    Result<RequestStep> poll() noexcept {
        milepost_step_t raw = 0;
        const milepost_bytes *keys = nullptr;
        std::size_t keys_len = 0;
        milepost_response *response = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_pending_request_poll(get(), &raw, &keys, &keys_len, &response, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        RequestStep step;
        step.step = static_cast<Step>(raw);
        step.keys = ByteStrings(keys, keys_len);
        step.response = Response(response);
        return step;
    }

    /// Supplies one row for each key of the last poll, in order, from one state of the storage
    Result<void> supply_rows(Span<const Row> rows) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_pending_request_supply_rows(get(), rows.data(), rows.size(), &error);
        return to_result(status, error);
    }

    /// Ends a request whose rows are unavailable: INTERNAL_ERROR with this reason
    Result<Response> fail(std::string_view reason) noexcept {
        milepost_response *response = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_pending_request_fail(get(), data(reason), reason.size(), &response, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Response(response);
    }

    /// Resumes a waiting request; poll it next
    Result<void> resume(Resume reason) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_pending_request_resume(get(), static_cast<milepost_resume_t>(reason), &error);
        return to_result(status, error);
    }

    /// The transaction that a pending call waits for, after Step::Pending; ready calls do not count
    Result<Hash> transaction(std::size_t index) const noexcept {
        Hash transaction;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_pending_request_transaction(get(), index, &transaction, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return transaction;
    }
};

/// What an import needs next
struct ImportStep {
    Step step = Step::NeedRows;  ///< Step::NeedRows or Step::Done
    ByteStrings keys;            ///< keys of the rows that it needs, for Step::NeedRows
};

/// Import of a block message, or of a protocol configuration, into a remote storage
class BlockImport : public Handle<milepost_block_import, milepost_block_import_free> {
public:
    using Handle::Handle;

    /// Creates the import of a block message
    static Result<BlockImport> create(std::string_view message,
                                      const Settings &settings = Settings()) noexcept {
        milepost_block_import *raw = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_block_import_new(settings.get(), data(message), message.size(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return BlockImport(raw);
    }

    /// Creates the import of a protocol configuration for this height and later; it has no summary
    static Result<BlockImport> create_config(std::uint64_t height,
                                             std::string_view config) noexcept {
        milepost_block_import *raw = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_block_import_new_config(height, data(config), config.size(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return BlockImport(raw);
    }

    /// Advances the import and returns what it needs next; repeats keys until rows are supplied
    Result<ImportStep> poll() noexcept {
        milepost_step_t raw = 0;
        const milepost_bytes *keys = nullptr;
        std::size_t keys_len = 0;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_block_import_poll(get(), &raw, &keys, &keys_len, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        ImportStep step;
        step.step = static_cast<Step>(raw);
        step.keys = ByteStrings(keys, keys_len);
        return step;
    }

    /// Supplies one row for each key of the last poll, in order, from one state of the storage
    Result<void> supply_rows(Span<const Row> rows) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_block_import_supply_rows(get(), rows.data(), rows.size(), &error);
        return to_result(status, error);
    }

    /// The changes to commit, all or none, once it is done; none for a known block
    Result<Changes> changes() const noexcept {
        const milepost_change *changes = nullptr;
        std::size_t changes_len = 0;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_block_import_changes(get(), &changes, &changes_len, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Changes(changes, changes_len);
    }

    /// The summary once it is done; pass it to Endpoint::handle_chain_update after the commit
    Result<ImportSummary> summary() const noexcept {
        milepost_import_summary *summary = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_block_import_summary(get(), &summary, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return ImportSummary(summary);
    }
};

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
