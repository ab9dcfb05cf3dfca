// Result of a call: a value, or an error with status, path, offset and message.
//
// A Result is [[nodiscard]] and never throws. Reading the value of a failed Result ends the process
// and prints the error, as a violated precondition should; test it first, by `if (result)`.
#ifndef MILEPOST_RESULT_HPP
#define MILEPOST_RESULT_HPP

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "view.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// Why a call failed: statuses of the C interface, with their numbers; later versions may add some
enum class ErrorKind : std::int32_t {
    Syntax = MILEPOST_STATUS_SYNTAX,      ///< not JSON, or not borsh
    Schema = MILEPOST_STATUS_SCHEMA,      ///< a JSON member is missing, unexpected or of wrong type
    Value = MILEPOST_STATUS_VALUE,        ///< a scalar is invalid
    Limit = MILEPOST_STATUS_LIMIT,        ///< a limit is exceeded
    Chain = MILEPOST_STATUS_CHAIN,        ///< a block contradicts the chain
    Storage = MILEPOST_STATUS_STORAGE,    ///< the storage failed
    Corrupt = MILEPOST_STATUS_CORRUPT,    ///< a row is not one that the engine wrote
    Usage = MILEPOST_STATUS_USAGE,        ///< not allowed in the present state of the objects
    Version = MILEPOST_STATUS_VERSION,    ///< a format version that this release does not read
    Conflict = MILEPOST_STATUS_CONFLICT,  ///< two rows of one key differ
    Null = MILEPOST_STATUS_NULL,          ///< the handle is empty: moved from, or never set
    Enum = MILEPOST_STATUS_ENUM,          ///< a number is not one of its constants
    Length = MILEPOST_STATUS_LENGTH,      ///< header and library have different versions
    Index = MILEPOST_STATUS_INDEX,        ///< an index is out of range
    Busy = MILEPOST_STATUS_BUSY,          ///< the handle is in use by another thread
    Reentrant = MILEPOST_STATUS_REENTRANT,  ///< called inside a storage
    Panic = MILEPOST_STATUS_PANIC,          ///< a bug in the library
    Poisoned = MILEPOST_STATUS_POISONED,    ///< an earlier call with this handle returned Panic
    Stale = MILEPOST_STATUS_STALE,          ///< the handle was freed; detected in debug builds
};

/// Name of a status of the C interface, such as `MILEPOST_STATUS_STORAGE`
inline std::string_view name(ErrorKind kind) noexcept {
    return milepost_status_name(static_cast<milepost_status_t>(kind));
}

/// Error of a call
class Error {
public:
    /// An error without details
    explicit Error(ErrorKind kind) noexcept : kind_(kind) {}

    /// Takes ownership of an error of the C interface; `raw` may be NULL
    Error(milepost_status_t status, milepost_error *raw) noexcept
        : kind_(static_cast<ErrorKind>(status)), raw_(raw) {
        // Fails for NULL and inside a callback, and zeroes the view: the error has no details.
        static_cast<void>(milepost_error_read(raw_, &view_));
    }

    Error(Error &&other) noexcept
        : kind_(other.kind_),
          raw_(std::exchange(other.raw_, nullptr)),
          view_(std::exchange(other.view_, sized<milepost_error_view>())) {}
    Error &operator=(Error &&other) noexcept {
        std::swap(kind_, other.kind_);
        std::swap(raw_, other.raw_);
        std::swap(view_, other.view_);
        return *this;
    }
    Error(const Error &) = delete;
    Error &operator=(const Error &) = delete;
    ~Error() {
        if (raw_ != nullptr) milepost_error_free(raw_);
    }

    /// Status of the call
    ErrorKind kind() const noexcept { return kind_; }

    /// Path in the input, such as `shards[1].chunk.header`; empty for the input as a whole
    std::string_view path() const noexcept { return milepost::view(view_.path); }

    /// Byte of the input at which the error was found, if known
    std::optional<std::uint64_t> offset() const noexcept {
        if (view_.has_offset == 0) return std::nullopt;
        return view_.offset;
    }

    /// What is wrong, in lower case without a full stop; never empty
    std::string_view message() const noexcept {
        return view_.message.len != 0 ? milepost::view(view_.message) : default_message();
    }

    /// The handle of the C interface; NULL if there are no details
    const milepost_error *get() const noexcept { return raw_; }

    /// Gives up ownership: free the handle by milepost_error_free; path() is empty then
    milepost_error *release() noexcept {
        view_ = sized<milepost_error_view>();
        return std::exchange(raw_, nullptr);
    }

private:
    std::string_view default_message() const noexcept {
        switch (kind_) {
            case ErrorKind::Null:
                return "the handle is empty";
            case ErrorKind::Enum:
                return "a number is not one of its constants";
            case ErrorKind::Length:
                return "header and library have different versions";
            case ErrorKind::Index:
                return "the index is out of range";
            case ErrorKind::Busy:
                return "the handle is in use by another call";
            case ErrorKind::Reentrant:
                return "called inside a storage";
            case ErrorKind::Panic:
                return "the library has a bug";
            case ErrorKind::Poisoned:
                return "an earlier call with this handle panicked";
            case ErrorKind::Stale:
                return "the handle was freed";
            default:
                return "failed";
        }
    }

    ErrorKind kind_;
    milepost_error *raw_ = nullptr;
    milepost_error_view view_ = sized<milepost_error_view>();
};

/// Ends the process after the value of a failed Result was read
[[noreturn]] inline void abort_without_value(const Error &error) noexcept {
    std::string_view message = error.message();
    std::fprintf(stderr, "milepost: read the value of a failed result: %.*s\n",
                 static_cast<int>(message.size()), message.data());
    std::abort();
}

/// A value, or an error
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) noexcept : value_(std::move(value)) {}
    Result(Error error) noexcept : error_(std::move(error)) {}

    /// Whether there is a value
    bool ok() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }

    /// The value; ends the process if there is none
    T &value() & noexcept {
        check();
        return *value_;
    }
    const T &value() const & noexcept {
        check();
        return *value_;
    }
    T value() && noexcept {
        check();
        return *std::move(value_);
    }

    T &operator*() & noexcept { return value(); }
    const T &operator*() const & noexcept { return value(); }
    T operator*() && noexcept { return std::move(*this).value(); }
    T *operator->() noexcept { return &value(); }
    const T *operator->() const noexcept { return &value(); }

    /// The error; meaningless if there is a value
    const Error &error() const & noexcept { return error_; }
    Error error() && noexcept { return std::move(error_); }

private:
    void check() const noexcept {
        if (!ok()) abort_without_value(error_);
    }

    std::optional<T> value_;
    Error error_ = Error(ErrorKind::Usage);
};

/// Success, or an error
template <>
class [[nodiscard]] Result<void> {
public:
    Result() noexcept = default;
    Result(Error error) noexcept : error_(std::move(error)) {}

    /// Whether the call succeeded
    bool ok() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }

    /// Ends the process if the call failed
    void value() const noexcept {
        if (!ok()) abort_without_value(*error_);
    }

    /// The error; ends the process if there is none
    const Error &error() const & noexcept {
        check();
        return *error_;
    }
    Error error() && noexcept {
        check();
        return *std::move(error_);
    }

private:
    void check() const noexcept {
        if (ok()) std::abort();
    }

    std::optional<Error> error_;
};

/// Converts the status and the error of a C function that failed
inline Error to_error(milepost_status_t status, milepost_error *error = nullptr) noexcept {
    return Error(status, error);
}

/// Converts the status and the error of a C function without outputs
inline Result<void> to_result(milepost_status_t status, milepost_error *error = nullptr) noexcept {
    if (status != MILEPOST_STATUS_OK) return to_error(status, error);
    return {};
}

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
