// What owns a handle of the C interface: one at a time, moved and not copied, freed in the end.
//
// An empty handle, moved from or never made, is safe: every call on it is refused by Kind::Null. The way out to the C
// interface is get() and release(), the way back the constructor that takes a pointer.
#ifndef MILEPOST_HANDLE_HPP
#define MILEPOST_HANDLE_HPP

#include "result.hpp"

namespace milepost {
inline namespace MILEPOST_VARIANT {

/// Owner of a handle of the C interface
template <class Raw, void (*Free)(Raw *)>
class Handle {
public:
    /// Owns nothing
    Handle() noexcept = default;

    /// Takes over a handle, which is freed in the end; NULL is nothing
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

    /// Frees the handle; inside a callback of a storage it is left alone, as the C interface does
    ~Handle() {
        if (raw_ != nullptr) Free(raw_);
    }

    /// Whether there is a handle
    explicit operator bool() const noexcept { return raw_ != nullptr; }

    /// The handle of the C interface, which stays owned here
    Raw *get() noexcept { return raw_; }
    const Raw *get() const noexcept { return raw_; }

    /// Gives the handle away, to be freed by the C interface
    [[nodiscard]] Raw *release() noexcept { return std::exchange(raw_, nullptr); }

private:
    Raw *raw_ = nullptr;
};

/// Base58 text of a hash
class HashText {
public:
    explicit HashText(const milepost_text &text) noexcept : text_(text) {}

    /// The text, which lives as long as this does
    std::string_view text() const & noexcept {
        return std::string_view(reinterpret_cast<const char *>(text_.bytes), text_.len);
    }

private:
    milepost_text text_;
};

/// Reads a hash from its text in base58
inline Result<Hash> parse_hash(std::string_view text) noexcept {
    Hash hash;
    milepost_error *error = nullptr;
    milepost_status_t status = milepost_hash_parse(data(text), text.size(), &hash, &error);
    if (status != MILEPOST_STATUS_OK) return refused(status, error);
    return hash;
}

/// Writes the text of a hash, in base58
inline Result<HashText> format_hash(const milepost_hash &hash) noexcept {
    milepost_text text;
    milepost_status_t status = milepost_hash_format(&hash, &text);
    if (status != MILEPOST_STATUS_OK) return refused(status);
    return HashText(text);
}

/// The version of the library, as MILEPOST_VERSION_NUMBER is that of the header
inline std::uint32_t version_number() noexcept { return milepost_version_number(); }

/// The version of the library as text, such as `0.1.0`
inline std::string_view version_text() noexcept { return view(milepost_version_text()); }

/// One of the settings, with the numbers of the C interface; MILEPOST_SETTING_... in milepost.h says more
enum class Setting : milepost_setting_t {
    TimeoutCause = MILEPOST_SETTING_TIMEOUT_CAUSE,          ///< 1: TIMEOUT_ERROR says why; default 0
    UnknownImmediate = MILEPOST_SETTING_UNKNOWN_IMMEDIATE,  ///< 1: unknown transactions are answered at once; default 0
    MaxReceipts = MILEPOST_SETTING_MAX_RECEIPTS,            ///< of one answer; default 100000
    MaxBatch = MILEPOST_SETTING_MAX_BATCH,                  ///< requests in one batch; default 50
    AllFinal = MILEPOST_SETTING_ALL_FINAL,                  ///< 1: every block is final; default 0
    RetainBlocks = MILEPOST_SETTING_RETAIN_BLOCKS,          ///< newest blocks kept; default 0, all
    RetainEpochs = MILEPOST_SETTING_RETAIN_EPOCHS,          ///< newest epochs whose blocks are kept; default 0, all
    Timeout = MILEPOST_SETTING_TIMEOUT,                     ///< of a request at a desk, in the host's unit; default 10000
    MaxWaiting = MILEPOST_SETTING_MAX_WAITING,              ///< calls that wait at a desk; default 100000
    Seed = MILEPOST_SETTING_SEED,                           ///< a number strangers cannot know; default 0
};

/// Settings of engines, exchanges, blocks and desks; each takes those that concern it
///
/// An empty handle, `Settings()`, stands for the defaults.
class Settings : public Handle<milepost_settings, milepost_settings_free> {
public:
    using Handle::Handle;

    /// Makes settings that are all at their defaults, to be changed
    static Result<Settings> make() noexcept {
        milepost_settings *raw = nullptr;
        milepost_status_t status = milepost_settings_new(&raw);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        return Settings(raw);
    }

    /// Puts one of them; what was made with them before stays as it is
    Result<void> put(Setting setting, std::uint64_t value) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_settings_put(get(), static_cast<milepost_setting_t>(setting), value, &error);
        return done(status, error);
    }
};

}  // namespace MILEPOST_VARIANT
}  // namespace milepost

#endif
