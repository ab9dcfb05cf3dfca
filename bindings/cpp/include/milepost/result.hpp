// What a call gives: a value, or an error that says what was refused and where.
//
// A Result is never ignored silently ([[nodiscard]]) and never throws. Asking a refusal for its value ends the process
// with the error on its error output, as a broken precondition should; look first, by `if (result)`.
#ifndef MILEPOST_RESULT_HPP
#define MILEPOST_RESULT_HPP

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "view.hpp"

namespace milepost {
inline namespace MILEPOST_VARIANT {

/// Why a call was refused: the statuses of the C interface, with their numbers; others may come
enum class Kind : std::int32_t {
    Syntax = MILEPOST_STATUS_SYNTAX,        ///< not JSON, or not borsh
    Shape = MILEPOST_STATUS_SHAPE,          ///< a member too few or too many, or of the wrong type
    Value = MILEPOST_STATUS_VALUE,          ///< a scalar breaks its rules
    Limit = MILEPOST_STATUS_LIMIT,          ///< a limit would be exceeded
    Chain = MILEPOST_STATUS_CHAIN,          ///< a block contradicts the chain
    Storage = MILEPOST_STATUS_STORAGE,      ///< the storage failed
    Corrupt = MILEPOST_STATUS_CORRUPT,      ///< a row is not what the engine wrote
    Usage = MILEPOST_STATUS_USAGE,          ///< the order of calls was broken
    Null = MILEPOST_STATUS_NULL,            ///< the handle is empty: moved from, or never made
    Enum = MILEPOST_STATUS_ENUM,            ///< a number is not one of its constants
    Length = MILEPOST_STATUS_LENGTH,        ///< header and library are not of one version
    Index = MILEPOST_STATUS_INDEX,          ///< an index is past the end
    Busy = MILEPOST_STATUS_BUSY,            ///< the handle is in use by another thread
    Reentrant = MILEPOST_STATUS_REENTRANT,  ///< called from inside a storage
    Panic = MILEPOST_STATUS_PANIC,          ///< a defect of the library
    Poisoned = MILEPOST_STATUS_POISONED,    ///< an earlier call on this handle was ended by a defect
    Stale = MILEPOST_STATUS_STALE,          ///< the handle was freed; told in debug builds
};

/// What was refused, where, and why
class Error {
public:
    /// A refusal that has no details beside its kind
    explicit Error(Kind kind) noexcept : kind_(kind) {}

    /// Takes over what a function of the C interface told; `raw` may be NULL
    Error(milepost_status_t status, milepost_error *raw) noexcept : kind_(static_cast<Kind>(status)), raw_(raw) {
        // Refused on NULL and inside a callback; the error is then without details.
        if (milepost_error_read(raw_, &detail_) != MILEPOST_STATUS_OK) {
            detail_ = milepost_detail();
        }
    }

    Error(Error &&other) noexcept
        : kind_(other.kind_), raw_(std::exchange(other.raw_, nullptr)),
          detail_(std::exchange(other.detail_, milepost_detail())) {}
    Error &operator=(Error &&other) noexcept {
        std::swap(kind_, other.kind_);
        std::swap(raw_, other.raw_);
        std::swap(detail_, other.detail_);
        return *this;
    }
    Error(const Error &) = delete;
    Error &operator=(const Error &) = delete;
    ~Error() {
        if (raw_ != nullptr) milepost_error_free(raw_);
    }

    /// Which rule was broken
    Kind kind() const noexcept { return kind_; }

    /// Where in the input, as in `shards[1].chunk.header`; empty when it is refused as a whole
    std::string_view path() const noexcept { return milepost::view(detail_.path); }

    /// The byte of the input at which it was refused, if that is known
    std::optional<std::uint64_t> offset() const noexcept {
        return detail_.has_offset != 0 ? std::optional<std::uint64_t>(detail_.offset) : std::nullopt;
    }

    /// What is wrong, as a sentence in lower case without a period; never empty
    std::string_view message() const noexcept {
        return detail_.message.len != 0 ? milepost::view(detail_.message) : sentence();
    }

    /// The handle of the C interface; NULL when there are no details
    const milepost_error *get() const noexcept { return raw_; }

    /// Gives the handle away, to be freed by milepost_error_free; what path() and message() gave goes with it
    milepost_error *release() noexcept {
        detail_ = milepost_detail();
        return std::exchange(raw_, nullptr);
    }

private:
    std::string_view sentence() const noexcept {
        switch (kind_) {
        case Kind::Null: return "the handle is empty";
        case Kind::Enum: return "a number is not one of its constants";
        case Kind::Length: return "header and library are not of one version";
        case Kind::Index: return "the index is past the end";
        case Kind::Busy: return "the handle is in use by another call";
        case Kind::Reentrant: return "called from inside a storage";
        case Kind::Panic: return "the library has a defect";
        case Kind::Poisoned: return "an earlier call on this handle was ended by a defect";
        case Kind::Stale: return "the handle was freed";
        default: return "refused";
        }
    }

    Kind kind_;
    milepost_error *raw_ = nullptr;
    milepost_detail detail_ = milepost_detail();
};

/// Ends the process: the value of a refusal was asked for
[[noreturn]] inline void end_without_value(const Error &error) noexcept {
    std::string_view message = error.message();
    std::fprintf(stderr, "milepost: the value of a refusal was asked for: %.*s\n", static_cast<int>(message.size()),
                 message.data());
    std::abort();
}

/// A value, or why there is none
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) noexcept : value_(std::move(value)) {}
    Result(Error error) noexcept : error_(std::move(error)) {}

    /// Whether there is a value
    bool ok() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }

    /// The value; ends the process when there is none
    T &value() & noexcept { check(); return *value_; }
    const T &value() const & noexcept { check(); return *value_; }
    T value() && noexcept { check(); return *std::move(value_); }

    T &operator*() & noexcept { return value(); }
    const T &operator*() const & noexcept { return value(); }
    T operator*() && noexcept { return std::move(*this).value(); }
    T *operator->() noexcept { return &value(); }
    const T *operator->() const noexcept { return &value(); }

    /// Why there is no value; of no meaning when there is one
    const Error &error() const & noexcept { return error_; }
    Error error() && noexcept { return std::move(error_); }

private:
    void check() const noexcept {
        if (!ok()) end_without_value(error_);
    }

    std::optional<T> value_;
    Error error_ = Error(Kind::Usage);
};

/// Done, or why not
template <>
class [[nodiscard]] Result<void> {
public:
    Result() noexcept = default;
    Result(Error error) noexcept : error_(std::move(error)) {}

    /// Whether it is done
    bool ok() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }

    /// Ends the process unless it is done
    void value() const noexcept {
        if (!ok()) end_without_value(*error_);
    }

    /// Why it is not done; ends the process when it is
    const Error &error() const & noexcept { check(); return *error_; }
    Error error() && noexcept { check(); return *std::move(error_); }

private:
    void check() const noexcept {
        if (ok()) std::abort();
    }

    std::optional<Error> error_;
};

/// A refusal, from what a function of the C interface returned and told
inline Error refused(milepost_status_t status, milepost_error *error = nullptr) noexcept { return Error(status, error); }

/// A Result<void>, from what a function of the C interface returned and told
inline Result<void> done(milepost_status_t status, milepost_error *error = nullptr) noexcept {
    if (status != MILEPOST_STATUS_OK) return refused(status, error);
    return {};
}

}  // namespace MILEPOST_VARIANT
}  // namespace milepost

#endif
