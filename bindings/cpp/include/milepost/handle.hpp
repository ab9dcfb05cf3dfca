// Owners of C handles: moved, not copied, and freed in the end; hashes, version and settings.
//
// An empty handle, moved from or never set, is safe: every call on it fails with ErrorKind::Null.
// get() and release() lead to the C interface, the constructor from a pointer leads back.
#ifndef MILEPOST_HANDLE_HPP
#define MILEPOST_HANDLE_HPP

#include <memory>

#include "result.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// Owner of a handle of the C interface
template <class Raw, void (*Free)(Raw *)>
class Handle {
public:
    /// An empty handle
    Handle() noexcept = default;

    /// Takes ownership of a handle; NULL makes an empty one
    explicit Handle(Raw *raw) noexcept : raw_(raw) {}

    Handle(Handle &&other) noexcept : raw_(other.release()) {}
    Handle &operator=(Handle &&other) noexcept {
        if (this != &other) {
            if (raw_ != nullptr) Free(raw_);
            raw_ = other.release();
        }
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;

    /// Frees the handle; inside a callback of a storage it leaks, as in the C interface
    ~Handle() {
        if (raw_ != nullptr) Free(raw_);
    }

    /// Whether there is a handle
    explicit operator bool() const noexcept { return raw_ != nullptr; }

    /// The handle of the C interface; this object stays its owner
    Raw *get() noexcept { return raw_; }
    const Raw *get() const noexcept { return raw_; }

    /// Gives up ownership: free the handle by the C interface
    [[nodiscard]] Raw *release() noexcept { return std::exchange(raw_, nullptr); }

private:
    Raw *raw_ = nullptr;
};

/// Base58 text of a hash
class HashText {
public:
    explicit HashText(const milepost_hash_text &text) noexcept : text_(text) {}

    /// The text; it lives as long as this object
    std::string_view text() const & noexcept {
        return std::string_view(reinterpret_cast<const char *>(text_.bytes), text_.len);
    }

private:
    milepost_hash_text text_;
};

/// Reads a hash from its base58 text
inline Result<Hash> parse_hash(std::string_view text) noexcept {
    Hash hash;
    milepost_error *error = nullptr;
    milepost_status_t status = milepost_hash_parse(data(text), text.size(), &hash, &error);
    if (status != MILEPOST_STATUS_OK) return to_error(status, error);
    return hash;
}

/// Writes the base58 text of a hash
inline Result<HashText> format_hash(const milepost_hash &hash) noexcept {
    milepost_hash_text text;
    milepost_error *error = nullptr;
    milepost_status_t status = milepost_hash_format(&hash, &text, &error);
    if (status != MILEPOST_STATUS_OK) return to_error(status, error);
    return HashText(text);
}

/// Version of the library, encoded as MILEPOST_VERSION_NUMBER of the header
inline std::uint32_t version_number() noexcept { return milepost_version_number(); }

/// Version of the library as text, such as `0.1.0`
inline std::string_view version_text() noexcept { return view(milepost_version_text()); }

/// A setting; MILEPOST_SETTING_... in milepost.h documents each
enum class Setting : milepost_setting_t {
    TimeoutCause = MILEPOST_SETTING_TIMEOUT_CAUSE,        ///< 1: TIMEOUT_ERROR has a cause
    Unknown = MILEPOST_SETTING_UNKNOWN,                   ///< 1: unknown ones do not wait
    MaxReceipts = MILEPOST_SETTING_MAX_RECEIPTS,          ///< of one response; default 100000
    MaxBatch = MILEPOST_SETTING_MAX_BATCH,                ///< requests in a batch; default 50
    Finality = MILEPOST_SETTING_FINALITY,                 ///< 1: every block is final; default 0
    RetentionBlocks = MILEPOST_SETTING_RETENTION_BLOCKS,  ///< newest blocks kept; default 0, all
    RetentionEpochs = MILEPOST_SETTING_RETENTION_EPOCHS,  ///< newest epochs kept; default 0, all
    Timeout = MILEPOST_SETTING_TIMEOUT,                   ///< in the host's unit; default 10000
    MaxWaiting = MILEPOST_SETTING_MAX_WAITING,            ///< pending calls; default 100000
    HashSeed = MILEPOST_SETTING_HASH_SEED,                ///< unknown to clients; default 0
    Isolation = MILEPOST_SETTING_ISOLATION,               ///< of the storage; default Snapshot
    StrictTypes = MILEPOST_SETTING_STRICT_TYPES,          ///< 1: other types are errors
    MaxIdBytes = MILEPOST_SETTING_MAX_ID_BYTES,           ///< of a request id; default 1024
    Verify = MILEPOST_SETTING_VERIFY,                     ///< MILEPOST_VERIFY_...; default off
    TrackShards = MILEPOST_SETTING_TRACK_SHARDS,          ///< adds a shard; default all
    ArchiveBacklog = MILEPOST_SETTING_ARCHIVE_BACKLOG,    ///< kept if not archived; default 50000
};

class Archive;

/// What engines do with an archive
enum class ArchiveUse {
    Write,  ///< look up what the storage does not know, and put what is final
    Read,   ///< look up only; retention forgets what others have put
};

/// Settings of engines and endpoints; each uses those it needs
///
/// An empty handle, `Settings()`, means the defaults; set() and set_archive() fill it.
class Settings : public Handle<milepost_settings, milepost_settings_free> {
public:
    using Handle::Handle;

    /// Creates settings with all defaults
    static Result<Settings> create() noexcept {
        milepost_settings *raw = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_settings_new(&raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        return Settings(raw);
    }

    /// Sets one of them; has no effect on objects that were created with them before
    Result<void> set(Setting setting, std::uint64_t value) noexcept {
        if (Result<void> filled = fill(); !filled) return filled;
        milepost_error *error = nullptr;
        milepost_status_t status =
            milepost_settings_set(get(), static_cast<milepost_setting_t>(setting), value, &error);
        return to_result(status, error);
    }

    /// Sets the archive of engines that are created with them, defined in archive.hpp
    ///
    /// It is deleted when the settings and all engines that use it are.
    Result<void> set_archive(std::unique_ptr<Archive> archive,
                             ArchiveUse use = ArchiveUse::Write) noexcept;

    /// Sets an archive that outlives the settings and all engines that use it
    Result<void> set_archive(Archive &archive, ArchiveUse use = ArchiveUse::Write) noexcept;

    /// Sets an archive by the functions of the C interface
    Result<void> set_archive(const milepost_archive &archive) noexcept {
        if (Result<void> filled = fill(); !filled) return filled;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_settings_set_archive(get(), &archive, &error);
        return to_result(status, error);
    }

private:
    Result<void> fill() noexcept {
        if (get() != nullptr) return {};
        Result<Settings> created = create();
        if (!created) return std::move(created).error();
        *this = std::move(created).value();
        return {};
    }
};

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
