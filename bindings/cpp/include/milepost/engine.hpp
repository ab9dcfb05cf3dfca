// An engine over a storage: blocks in, responses out, from any number of threads.
//
// Nothing waits here: a request whose milestone is not reached is answered as if it had timed out.
// Waiting is done by an Endpoint.
#ifndef MILEPOST_ENGINE_HPP
#define MILEPOST_ENGINE_HPP

#include <string>

#include "archive.hpp"
#include "proof.hpp"
#include "request.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// A block by height and hash
struct BlockPoint {
    BlockPoint() noexcept = default;
    explicit BlockPoint(const milepost_block_point &raw) noexcept
        : height(raw.height), hash(raw.hash) {}

    std::uint64_t height = 0;  ///< its height
    Hash hash;                 ///< its hash
};

/// Position of a block in the chain after its import
enum class BlockPosition : milepost_block_position_t {
    Head = MILEPOST_BLOCK_POSITION_HEAD,    ///< new head of the canonical chain
    Known = MILEPOST_BLOCK_POSITION_KNOWN,  ///< imported before; nothing changed
    Fork = MILEPOST_BLOCK_POSITION_FORK,    ///< on a fork that is not canonical
    Other = MILEPOST_BLOCK_POSITION_OTHER,  ///< a position without a number
};

/// Members of an import summary
struct ImportSummaryView {
    BlockPoint block;                               ///< block of the message
    std::optional<BlockPoint> last_final;           ///< newest final block after the import
    BlockPosition position = BlockPosition::Other;  ///< position of the block after the import
    std::size_t transactions = 0;                   ///< number of transactions in the block
    std::size_t outcomes = 0;   ///< number of outcomes in it, those of transactions included
    std::size_t receipts = 0;   ///< number of receipts whose bodies are in it
    std::size_t reverted = 0;   ///< number of blocks that left the canonical chain
    std::size_t reapplied = 0;  ///< number of fork blocks that joined the canonical chain
};

/// Members in a block that are not of their type, and are served as they came; texts belong to the
/// import summary
struct TypeMismatches {
    std::uint64_t count = 0;         ///< their number
    std::string_view first_path;     ///< path of the first of them; empty if there is none
    std::string_view first_message;  ///< what was expected there
};

/// Whether a block agrees with its hash; MILEPOST_VERIFICATION_RESULT_... in milepost.h documents
/// each
enum class VerificationResult : milepost_verification_result_t {
    None = MILEPOST_VERIFICATION_RESULT_NONE,                  ///< not checked
    Verified = MILEPOST_VERIFICATION_RESULT_VERIFIED,          ///< it agrees
    Unverifiable = MILEPOST_VERIFICATION_RESULT_UNVERIFIABLE,  ///< a member is missing or unknown
    Wrong = MILEPOST_VERIFICATION_RESULT_WRONG,                ///< it does not agree
};

/// The check of a block against its hash; texts belong to the import summary
struct Verification {
    VerificationResult result = VerificationResult::None;  ///< the result
    std::string_view path;     ///< path of the member that is missing or wrong
    std::string_view message;  ///< what is missing, or what was expected and found
};

/// What the import of a block message did
class ImportSummary : public Handle<milepost_import_summary, milepost_import_summary_free> {
public:
    using Handle::Handle;

    /// Returns its members, except the blocks that left or joined the canonical chain
    Result<ImportSummaryView> read() const noexcept {
        milepost_import_summary_view raw = sized<milepost_import_summary_view>();
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_import_summary_read(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        ImportSummaryView summary;
        summary.block = BlockPoint(raw.block);
        if (raw.has_last_final != 0) summary.last_final = BlockPoint(raw.last_final);
        summary.position = static_cast<BlockPosition>(raw.position);
        summary.transactions = raw.transactions;
        summary.outcomes = raw.outcomes;
        summary.receipts = raw.receipts;
        summary.reverted = raw.reverted;
        summary.reapplied = raw.reapplied;
        return summary;
    }

    /// Hash of a transaction in the block, in ascending order
    Result<Hash> transaction(std::size_t index) const noexcept {
        milepost_hash raw;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_import_summary_transaction(get(), index, &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Hash(raw);
    }

    /// Returns the members in the block that are not of their type
    Result<TypeMismatches> type_mismatches() const noexcept {
        milepost_type_mismatches raw = sized<milepost_type_mismatches>();
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_import_summary_type_mismatches(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        TypeMismatches type_mismatches;
        type_mismatches.count = raw.count;
        type_mismatches.first_path = view(raw.first_path);
        type_mismatches.first_message = view(raw.first_message);
        return type_mismatches;
    }

    /// Returns whether the block agrees with its hash
    Result<Verification> verification() const noexcept {
        milepost_verification raw = sized<milepost_verification>();
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_import_summary_verification(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        Verification verification;
        verification.result = static_cast<VerificationResult>(raw.result);
        verification.path = view(raw.path);
        verification.message = view(raw.message);
        return verification;
    }

    /// A block that left the canonical chain, newest first
    Result<BlockPoint> reverted(std::size_t index) const noexcept {
        milepost_block_point raw;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_import_summary_reverted(get(), index, &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return BlockPoint(raw);
    }

    /// A fork block that joined the canonical chain, oldest first
    Result<BlockPoint> reapplied(std::size_t index) const noexcept {
        milepost_block_point raw;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_import_summary_reapplied(get(), index, &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return BlockPoint(raw);
    }
};

/// State of the chain in the storage
struct ChainStatus {
    ChainStatus() noexcept = default;
    explicit ChainStatus(const milepost_chain_status_view &raw) noexcept
        : blocks(raw.blocks),
          generation(raw.generation),
          latest_protocol_version(raw.latest_protocol_version),
          chain_id(view(raw.chain_id)),
          complete_from(raw.complete_from) {
        if (raw.has_head != 0) head = BlockPoint(raw.head);
        if (raw.has_head != 0) earliest = BlockPoint(raw.earliest);
        if (raw.has_last_final != 0) last_final = BlockPoint(raw.last_final);
    }

    /// Takes ownership of a state of the C interface, reads and frees it
    static Result<ChainStatus> take(milepost_chain_status *handle) noexcept {
        Handle<milepost_chain_status, milepost_chain_status_free> owner(handle);
        milepost_chain_status_view raw = sized<milepost_chain_status_view>();
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_chain_status_read(handle, &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return ChainStatus(raw);
    }

    std::optional<BlockPoint> head;        ///< newest canonical block
    std::optional<BlockPoint> earliest;    ///< oldest canonical block in the storage
    std::optional<BlockPoint> last_final;  ///< newest final block
    std::uint64_t blocks = 0;              ///< number of canonical blocks in the storage
    std::uint64_t generation = 0;  ///< batches that changed the chain: equal numbers, equal rows
    std::uint32_t latest_protocol_version = 0;  ///< that of the head's header; 0 without one
    std::string chain_id;                       ///< `mainnet`; empty without a configuration
    std::uint64_t complete_from = 0;  ///< from here on every block is there; 0 without a head
};

/// An engine over a storage; any number of threads may call its functions
class Engine : public Handle<milepost_engine, milepost_engine_free> {
public:
    using Handle::Handle;

    /// Creates an engine that keeps its rows in memory
    static Result<Engine> in_memory(const Settings &settings = Settings()) noexcept {
        milepost_engine *engine = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_engine_new(settings.get(), &engine, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Engine(engine);
    }

    /// Creates an engine over a storage of the host, which is deleted when nothing uses it any more
    static Result<Engine> over(std::unique_ptr<Storage> storage,
                               const Settings &settings = Settings()) noexcept {
        if (storage == nullptr) return Error(ErrorKind::Null);
        Storage *pointer = storage.get();
        milepost_storage raw = Storage::owned(std::move(storage));
        Result<Engine> engine = over(raw, settings);
        // The library does not finalize a storage that it rejects.
        if (!engine) delete pointer;
        return engine;
    }

    /// Creates an engine over a storage of the host, which outlives the engine and its endpoints
    static Result<Engine> over(Storage &storage, const Settings &settings = Settings()) noexcept {
        return over(Storage::borrowed(storage), settings);
    }

    /// Creates an engine over the functions of the C interface
    static Result<Engine> over(const milepost_storage &storage,
                               const Settings &settings = Settings()) noexcept {
        milepost_engine *engine = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_engine_new_over(&storage, settings.get(), &engine, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Engine(engine);
    }

#if MILEPOST_HAS_STORE
    /// Creates an engine that keeps its rows in a file; creates the file if it does not exist
    ///
    /// The file is a database that one engine at a time can open; an import is on disk when its
    /// call returns.
    static Result<Engine> open(std::string_view path,
                               const Settings &settings = Settings()) noexcept {
        milepost_engine *engine = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_engine_open(data(path), path.size(), settings.get(), &engine, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Engine(engine);
    }
#endif

    /// Imports a block message, in one commit
    ///
    /// Pass the summary to endpoints that share the engine, by Endpoint::handle_chain_update.
    Result<ImportSummary> import_block(std::string_view message) const noexcept {
        milepost_import_summary *summary = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_engine_import_block(get(), data(message), message.size(), &summary, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return ImportSummary(summary);
    }

    /// Puts a protocol configuration, as JSON, in force in the epoch with this id
    Result<void> put_config(const Hash &epoch_id, std::string_view config) const noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_engine_put_config(get(), &epoch_id, 0, data(config), config.size(), &error);
        return to_result(status, error);
    }

    /// Puts a protocol configuration, as JSON, in force from this height on, in epochs that have
    /// none of their own
    Result<void> put_config(std::uint64_t height, std::string_view config) const noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_engine_put_config(get(), nullptr, height, data(config), config.size(), &error);
        return to_result(status, error);
    }

    /// Answers the body of a request without waiting; `url_method` is the method that the URL names
    Result<Response> respond(std::string_view body,
                             std::string_view url_method = {}) const noexcept {
        milepost_response *response = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_engine_respond(
            get(), data(body), body.size(), data(url_method), url_method.size(), &response, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Response(response);
    }

    /// Answers a parsed request without waiting, with the answers that the host has given
    Result<Response> respond(Request &request) const noexcept {
        milepost_response *response = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_engine_respond_parsed(get(), request.get(), &response, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Response(response);
    }

    /// Makes the proof of the outcomes of a transaction, for verify_answer; empty if no stored
    /// block confirms an outcome
    ///
    /// `block` is the base58 text of the hash of the block in which its headers end, or `final`; if
    /// it is empty, they end in the block that confirms the newest outcome.
    Result<Json> prove(const Hash &transaction, std::string_view block = {}) const noexcept {
        milepost_json *proof = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_engine_prove(get(), &transaction, data(block), block.size(), &proof, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Json(proof);
    }

    /// Returns the state of the chain in the storage
    Result<ChainStatus> chain_status() const noexcept {
        milepost_chain_status *raw = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_engine_chain_status(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return ChainStatus::take(raw);
    }

    /// Returns what was put into the archive, and whether that fails; ErrorKind::Usage without one
    Result<ArchiveStatus> archive_status() const noexcept {
        milepost_archive_status *raw = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_engine_archive_status(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return ArchiveStatus::take(raw);
    }
};

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
