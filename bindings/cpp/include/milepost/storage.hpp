// A storage of the host's: a class with three functions, over any map from keys to rows.
//
// It may fail as it likes: by its number, or by an exception, which is caught before it reaches the library. No
// function of it may call the library, but for its Sink.
#ifndef MILEPOST_STORAGE_HPP
#define MILEPOST_STORAGE_HPP

#include <memory>

#include "handle.hpp"

namespace milepost {
inline namespace MILEPOST_VARIANT {

/// Where a storage puts the rows it was asked for, once for each key and in the order of the keys
class Sink {
public:
    explicit Sink(milepost_sink *raw) noexcept : raw_(raw) {}
    Sink(const Sink &) = delete;
    Sink &operator=(const Sink &) = delete;

    /// Hands over the row of the next key; it is copied at once
    ///
    /// False when every key has its row already; the library tells that by itself when the call is over.
    bool row(std::string_view row) noexcept { return milepost_sink_row(raw_, data(row), row.size()) == MILEPOST_STATUS_OK; }

    /// Says that there is no row of the next key; false as row() says it
    bool absent() noexcept { return milepost_sink_absent(raw_) == MILEPOST_STATUS_OK; }

    /// The sink of the C interface, lent for the time of the call
    milepost_sink *get() noexcept { return raw_; }

private:
    milepost_sink *raw_;
};

/// One change of the storage
struct Change {
    explicit Change(const milepost_change &raw) noexcept
        : key(view(raw.key)), row(view(raw.row)), removes(raw.kind == MILEPOST_CHANGE_REMOVE) {}

    std::string_view key;  ///< the number of the table, then 1 to 32 bytes
    std::string_view row;  ///< the row to be written; empty when it is removed
    bool removes;          ///< whether the row is removed; one that is not there is no error
};

/// The changes of one commit
using Changes = Views<Change, milepost_change>;

/// A storage of the host's, to be derived from
///
/// `get` and `get_many` are called by any thread that asks, several at a time; `commit` alone, and never while they run.
/// Each returns 0, or another number to fail, which the error or the answer then tells.
class Storage {
public:
    /// What is told of a storage that threw an exception
    static constexpr std::int32_t THREW = INT32_MIN;

    Storage() = default;
    Storage(const Storage &) = delete;
    Storage &operator=(const Storage &) = delete;
    virtual ~Storage() = default;

    /// Finds the row of a key of 2 to 33 bytes and hands it over to `sink`
    virtual std::int32_t get(std::string_view key, Sink &sink) const = 0;

    /// Finds the rows of many keys, in their order; as many calls of get() unless there is a better way
    virtual std::int32_t get_many(Texts keys, Sink &sink) const {
        for (std::string_view key : keys) {
            std::int32_t failed = get(key, sink);
            if (failed != 0) return failed;
        }
        return 0;
    }

    /// Applies all changes, in their order, or none
    virtual std::int32_t commit(Changes changes) = 0;

    /// The functions of the C interface for a storage that outlives whatever uses it
    static milepost_storage lend(Storage &storage) noexcept {
        milepost_storage raw = milepost_storage();
        raw.size = sizeof raw;
        raw.context = &storage;
        raw.get = call_get;
        raw.get_many = call_get_many;
        raw.commit = call_commit;
        return raw;
    }

    /// The functions of the C interface for a storage that is deleted by `finalize`, or by whoever did not pass it on
    static milepost_storage give(std::unique_ptr<Storage> storage) noexcept {
        milepost_storage raw = lend(*storage);
        raw.finalize = call_finalize;
        static_cast<void>(storage.release());
        return raw;
    }

private:
    /// Calls the host's code; what it throws ends here
    template <class Work>
    static std::int32_t guard(Work work) noexcept {
#if defined(__cpp_exceptions)
        try {
            return work();
        } catch (...) {
            return THREW;
        }
#else
        return work();
#endif
    }

    static std::int32_t call_get(void *self, const std::uint8_t *key, std::size_t key_len, milepost_sink *raw) noexcept {
        return guard([&] {
            Sink sink(raw);
            return static_cast<const Storage *>(self)->get(view(milepost_bytes{key, key_len}), sink);
        });
    }

    static std::int32_t call_get_many(void *self, const milepost_bytes *keys, std::size_t keys_len,
                                      milepost_sink *raw) noexcept {
        return guard([&] {
            Sink sink(raw);
            return static_cast<const Storage *>(self)->get_many(Texts(keys, keys_len), sink);
        });
    }

    static std::int32_t call_commit(void *self, const milepost_change *changes, std::size_t changes_len) noexcept {
        return guard([&] { return static_cast<Storage *>(self)->commit(Changes(changes, changes_len)); });
    }

    // A destructor that throws ends the process, here as anywhere.
    static void call_finalize(void *self) noexcept { delete static_cast<Storage *>(self); }
};

/// Checks the duties that every storage has, over storages that `make` gives: fewer than 32, each empty
///
/// `make` is called without arguments and returns a std::unique_ptr<Storage>; an empty one is a failure. Takes some seconds
/// and some 16 MiB. Kind::Storage when a duty is broken; the error's sentence says which, at which key, and how.
template <class Make>
Result<void> check_storage(Make &&make) noexcept {
    using Made = std::remove_reference_t<Make>;
    milepost_make_fn call = [](void *context, milepost_storage *storage) noexcept -> std::int32_t {
#if defined(__cpp_exceptions)
        try {
#endif
            std::unique_ptr<Storage> made = (*static_cast<Made *>(context))();
            if (made == nullptr) return 1;
            *storage = Storage::give(std::move(made));
            return 0;
#if defined(__cpp_exceptions)
        } catch (...) {
            return Storage::THREW;
        }
#endif
    };
    milepost_error *error = nullptr;
    milepost_status_t status = milepost_storage_check(call, &make, &error);
    return done(status, error);
}

}  // namespace MILEPOST_VARIANT
}  // namespace milepost

#endif
