// Storage of the host: a class with three functions, over any map from keys to rows.
//
// It may fail by its return value or by an exception, which is caught before it reaches the
// library. Its functions must not call the library, except through the Sink.
#ifndef MILEPOST_STORAGE_HPP
#define MILEPOST_STORAGE_HPP

#include <exception>
#include <memory>

#include "handle.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// Receives the rows that a storage was asked for, one per key and in the order of the keys, or why
/// it fails
class Sink {
public:
    explicit Sink(milepost_sink *raw) noexcept : raw_(raw) {}
    Sink(const Sink &) = delete;
    Sink &operator=(const Sink &) = delete;

    /// Passes the row of the next key; it is copied at once
    ///
    /// Returns false if every key already has its row; the library reports that error by itself.
    bool row(std::string_view row) noexcept {
        return milepost_sink_row(raw_, data(row), row.size()) == MILEPOST_STATUS_OK;
    }

    /// Reports that the next key has no row; returns as row() does
    bool absent() noexcept { return milepost_sink_absent(raw_) == MILEPOST_STATUS_OK; }

    /// Passes a row of an archive with its key; both are copied at once
    ///
    /// Returns false if the bytes are not a key, or the sink takes no more; the function has failed
    /// then.
    bool entry(std::string_view key, std::string_view row) noexcept {
        return milepost_sink_entry(raw_, data(key), key.size(), data(row), row.size()) ==
               MILEPOST_STATUS_OK;
    }

    /// Says why the function fails, before it returns another number than 0; up to 1,024 bytes
    ///
    /// The error or the response contains it, as it does the text of an exception.
    void fail(std::string_view reason) noexcept {
        static_cast<void>(milepost_sink_fail(raw_, data(reason), reason.size()));
    }

    /// The sink of the C interface, valid during the call
    milepost_sink *get() noexcept { return raw_; }

private:
    milepost_sink *raw_;
};

/// One change of the storage
struct Change {
    explicit Change(const milepost_change &raw) noexcept
        : key(view(raw.key)), row(view(raw.row)), removes(raw.kind == MILEPOST_CHANGE_REMOVE) {}

    std::string_view key;  ///< number of the table, then 1 to 32 bytes
    std::string_view row;  ///< row to write; empty for a removal
    bool removes;          ///< whether the row is removed; one that does not exist is not an error
};

/// Changes of one commit
using Changes = Views<Change, milepost_change>;

/// Whether several reads of a storage see one state
enum class Isolation : milepost_isolation_t {
    Snapshot = MILEPOST_ISOLATION_SNAPSHOT,             ///< they are
    ReadCommitted = MILEPOST_ISOLATION_READ_COMMITTED,  ///< each sees the newest commit
};

/// What requests read: a storage, or one state of it
class Snapshot {
public:
    Snapshot() = default;
    Snapshot(const Snapshot &) = delete;
    Snapshot &operator=(const Snapshot &) = delete;
    virtual ~Snapshot() = default;

    /// Finds the row of a key of 2 to 33 bytes and passes it to `sink`
    virtual std::int32_t get(std::string_view key, Sink &sink) const = 0;

    /// Finds the rows of many keys, in their order; calls get() for each unless overridden
    virtual std::int32_t get_many(ByteStrings keys, Sink &sink) const {
        for (std::string_view key : keys) {
            std::int32_t code = get(key, sink);
            if (code != 0) return code;
        }
        return 0;
    }
};

/// Base class of storages of the host
///
/// `get` and `get_many` are called by any thread that uses the engine, concurrently. `commit` is
/// called by one thread at a time: alone, or with snapshots while other threads read. Each returns
/// 0, or another number to fail, which the error or the response reports.
class Storage : public Snapshot {
public:
    /// Return value after an exception
    static constexpr std::int32_t EXCEPTION = INT32_MIN;

    /// Whether reads continue during a commit, each over a snapshot; override with open_snapshot()
    virtual bool has_snapshots() const noexcept { return false; }

    /// Opens a snapshot of the newest commit, which the same thread deletes; NULL is a failure
    virtual std::unique_ptr<Snapshot> open_snapshot(Sink &sink) {
        static_cast<void>(sink);
        return nullptr;
    }

    /// Applies all changes, in their order, or none; the sink takes the reason of a failure only
    virtual std::int32_t commit(Changes changes, Sink &sink) = 0;

    /// Whether reads see one state; override if others than the engine change the rows
    virtual Isolation isolation() const noexcept { return Isolation::Snapshot; }

    /// The C functions of a storage that outlives all its users
    static milepost_storage borrowed(Storage &storage) noexcept {
        milepost_storage raw = milepost_storage();
        raw.size = sizeof raw;
        raw.context = &storage;
        if (storage.has_snapshots()) {
            raw.get = call_get<Snapshot>;
            raw.get_many = call_get_many<Snapshot>;
            raw.snapshot_open = call_snapshot_open;
            raw.snapshot_close = call_snapshot_close;
        } else {
            raw.get = call_get<Storage>;
            raw.get_many = call_get_many<Storage>;
        }
        raw.commit = call_commit;
        raw.isolation = static_cast<milepost_isolation_t>(storage.isolation());
        return raw;
    }

    /// The C functions of a storage that `finalize` deletes
    static milepost_storage owned(std::unique_ptr<Storage> storage) noexcept {
        milepost_storage raw = borrowed(*storage);
        raw.finalize = call_finalize;
        static_cast<void>(storage.release());
        return raw;
    }

    /// Calls code of the host, and catches its exceptions
    template <class Function>
    static std::int32_t catch_all(milepost_sink *raw, Function function) noexcept {
        Sink sink(raw);
#if defined(__cpp_exceptions)
        try {
            return function(sink);
        } catch (const std::exception &exception) {
            sink.fail(exception.what());
            return EXCEPTION;
        } catch (...) {
            return EXCEPTION;
        }
#else
        return function(sink);
#endif
    }

private:
    // `self` is what was passed as a pointer to `Self`: a storage, or a snapshot of one.
    template <class Self>
    static std::int32_t call_get(void *self, const std::uint8_t *key, std::size_t key_len,
                                 milepost_sink *raw) noexcept {
        return catch_all(raw, [&](Sink &sink) {
            return static_cast<const Self *>(self)->get(view(milepost_bytes{key, key_len}), sink);
        });
    }

    template <class Self>
    static std::int32_t call_get_many(void *self, const milepost_bytes *keys, std::size_t keys_len,
                                      milepost_sink *raw) noexcept {
        return catch_all(raw, [&](Sink &sink) {
            return static_cast<const Self *>(self)->get_many(ByteStrings(keys, keys_len), sink);
        });
    }

    static std::int32_t call_commit(void *self, const milepost_change *changes,
                                    std::size_t changes_len, milepost_sink *raw) noexcept {
        return catch_all(raw, [&](Sink &sink) {
            return static_cast<Storage *>(self)->commit(Changes(changes, changes_len), sink);
        });
    }

    static std::int32_t call_snapshot_open(void *self, void **snapshot,
                                           milepost_sink *raw) noexcept {
        return catch_all(raw, [&](Sink &sink) {
            std::unique_ptr<Snapshot> opened = static_cast<Storage *>(self)->open_snapshot(sink);
            if (opened == nullptr) return 1;
            *snapshot = opened.release();
            return 0;
        });
    }

    static void call_snapshot_close(void *, void *snapshot) noexcept {
        delete static_cast<Snapshot *>(snapshot);
    }

    // A destructor that throws ends the process, here as elsewhere.
    static void call_finalize(void *self) noexcept { delete static_cast<Storage *>(self); }
};

/// Checks that a storage meets the requirements of the engine
///
/// A storage that has snapshots, or declares Isolation::ReadCommitted, is also changed between two
/// reads of a query, and read by one thread while another one commits.
///
/// `create` is called without arguments, fewer than 32 times, and returns an empty storage as a
/// std::unique_ptr<Storage>; NULL is a failure. Takes up to two seconds with rows in memory, and
/// some 16 MiB. ErrorKind::Storage if a requirement is not met; the message says which one, at
/// which key, and the finding.
template <class Create>
Result<void> check_storage(Create &&create) noexcept {
    using Function = std::remove_reference_t<Create>;
    milepost_create_fn call = [](void *context, milepost_storage *storage,
                                 milepost_sink *raw) noexcept -> std::int32_t {
        return Storage::catch_all(raw, [&](Sink &) {
            std::unique_ptr<Storage> created = (*static_cast<Function *>(context))();
            if (created == nullptr) return 1;
            *storage = Storage::owned(std::move(created));
            return 0;
        });
    };
    milepost_error *error = nullptr;
    milepost_status_t status = milepost_storage_check(call, &create, &error);
    return to_result(status, error);
}

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
