// Archive of the host: finalized transactions beyond what the storage keeps, in rows that are put
// once.
//
// It may fail by its return values or by exceptions, as a storage, and keeps bytes without
// interpreting them. Its functions must not call the library, except through the Sink.
#ifndef MILEPOST_ARCHIVE_HPP
#define MILEPOST_ARCHIVE_HPP

#include <string>
#include <vector>

#include "storage.hpp"

namespace milepost {
inline namespace MILEPOST_ABI_TAG {

/// A row to put into an archive
struct ArchiveRow {
    explicit ArchiveRow(const milepost_archive_row &raw) noexcept
        : key(view(raw.key)), content(view(raw.content)), row(view(raw.row)) {}

    std::string_view key;      ///< number of the table, then 1 to 32 bytes
    std::string_view content;  ///< 32 bytes: rows of one key with the same ones are one row
    std::string_view row;      ///< the row
};

/// Rows of one call
using ArchiveRows = Views<ArchiveRow, milepost_archive_row>;

/// Base class of archives of the host: a set of rows by key and content
///
/// Any number of engines and processes may share one. Every function is called by any thread that
/// uses an engine, concurrently with itself and with all others. Each returns 0, or another number
/// to fail, which the response or the state of the archive reports.
class Archive {
public:
    Archive() = default;
    Archive(const Archive &) = delete;
    Archive &operator=(const Archive &) = delete;
    virtual ~Archive() = default;

    /// Passes all rows of these keys by Sink::entry, in any order; nothing for a key without one
    virtual std::int32_t get_many(ByteStrings keys, Sink &sink) const = 0;

    /// Passes about `limit` rows of a table, those of the keys after `after`, by Sink::entry
    ///
    /// `table` is the first byte of the keys, whose order is the host's own and stays the same. An
    /// empty `after` is the start. Passes no row only after the last one.
    virtual std::int32_t scan(std::uint8_t table, std::string_view after, std::size_t limit,
                              Sink &sink) const = 0;

    /// Adds each row, unless its key has one with the same content; durable after 0
    virtual std::int32_t put_many(ArchiveRows rows, Sink &sink) {
        static_cast<void>(rows);
        return only_read(sink);
    }

    /// Removes all rows of these keys and adds the new ones, in one step for readers
    virtual std::int32_t replace_many(ArchiveRows rows, Sink &sink) {
        static_cast<void>(rows);
        return only_read(sink);
    }

    /// Removes all rows of these keys; keys without one are no error
    virtual std::int32_t remove_many(ByteStrings keys, Sink &sink) {
        static_cast<void>(keys);
        return only_read(sink);
    }

    /// The C functions of an archive that outlives all its users
    static milepost_archive borrowed(Archive &archive,
                                     ArchiveUse use = ArchiveUse::Write) noexcept {
        milepost_archive raw = milepost_archive();
        raw.size = sizeof raw;
        raw.context = &archive;
        raw.get_many = call_get_many;
        raw.scan = call_scan;
        if (use == ArchiveUse::Write) {
            raw.put_many = call_put_many;
            raw.replace_many = call_replace_many;
            raw.remove_many = call_remove_many;
        }
        return raw;
    }

    /// The C functions of an archive that `finalize` deletes
    static milepost_archive owned(std::unique_ptr<Archive> archive,
                                  ArchiveUse use = ArchiveUse::Write) noexcept {
        milepost_archive raw = borrowed(*archive, use);
        raw.finalize = call_finalize;
        static_cast<void>(archive.release());
        return raw;
    }

private:
    static std::int32_t only_read(Sink &sink) {
        sink.fail("the archive is only read");
        return 1;
    }

    static std::int32_t call_get_many(void *self, const milepost_bytes *keys, std::size_t keys_len,
                                      milepost_sink *raw) noexcept {
        return Storage::catch_all(raw, [&](Sink &sink) {
            return static_cast<const Archive *>(self)->get_many(ByteStrings(keys, keys_len), sink);
        });
    }

    static std::int32_t call_scan(void *self, std::uint8_t table, const std::uint8_t *after,
                                  std::size_t after_len, std::size_t limit,
                                  milepost_sink *raw) noexcept {
        return Storage::catch_all(raw, [&](Sink &sink) {
            std::string_view key = view(milepost_bytes{after, after_len});
            return static_cast<const Archive *>(self)->scan(table, key, limit, sink);
        });
    }

    static std::int32_t call_put_many(void *self, const milepost_archive_row *rows,
                                      std::size_t rows_len, milepost_sink *raw) noexcept {
        return Storage::catch_all(raw, [&](Sink &sink) {
            return static_cast<Archive *>(self)->put_many(ArchiveRows(rows, rows_len), sink);
        });
    }

    static std::int32_t call_replace_many(void *self, const milepost_archive_row *rows,
                                          std::size_t rows_len, milepost_sink *raw) noexcept {
        return Storage::catch_all(raw, [&](Sink &sink) {
            return static_cast<Archive *>(self)->replace_many(ArchiveRows(rows, rows_len), sink);
        });
    }

    static std::int32_t call_remove_many(void *self, const milepost_bytes *keys,
                                         std::size_t keys_len, milepost_sink *raw) noexcept {
        return Storage::catch_all(raw, [&](Sink &sink) {
            return static_cast<Archive *>(self)->remove_many(ByteStrings(keys, keys_len), sink);
        });
    }

    // A destructor that throws ends the process, here as elsewhere.
    static void call_finalize(void *self) noexcept { delete static_cast<Archive *>(self); }
};

inline Result<void> Settings::set_archive(std::unique_ptr<Archive> archive,
                                          ArchiveUse use) noexcept {
    if (archive == nullptr) return Error(ErrorKind::Null);
    Archive *pointer = archive.get();
    Result<void> set = set_archive(Archive::owned(std::move(archive), use));
    // The library does not finalize an archive that it rejects.
    if (!set) delete pointer;
    return set;
}

inline Result<void> Settings::set_archive(Archive &archive, ArchiveUse use) noexcept {
    return set_archive(Archive::borrowed(archive, use));
}

/// Checks that an archive meets the requirements of the engine, also when threads use it at once
///
/// `create` is called without arguments, fewer than 20 times, and returns an empty archive as a
/// std::unique_ptr<Archive>; NULL is a failure. ErrorKind::Storage if a requirement is not met; the
/// message says which one, at which key, and what was found.
template <class Create>
Result<void> check_archive(Create &&create) noexcept {
    using Function = std::remove_reference_t<Create>;
    milepost_archive_create_fn call = [](void *context, milepost_archive *archive,
                                         milepost_sink *raw) noexcept -> std::int32_t {
        return Storage::catch_all(raw, [&](Sink &) {
            std::unique_ptr<Archive> created = (*static_cast<Function *>(context))();
            if (created == nullptr) return 1;
            *archive = Archive::owned(std::move(created));
            return 0;
        });
    };
    milepost_error *error = nullptr;
    milepost_status_t status = milepost_archive_check(call, &create, &error);
    return to_result(status, error);
}

/// Heights from `first` to `last`, both included
struct HeightRange {
    std::uint64_t first = 0;  ///< the lowest height
    std::uint64_t last = 0;   ///< the highest height, not below `first`
};

/// What an engine has put into its archive, and whether that fails
///
/// Heights and open transactions are those that the engine has archived; those of all writers if it
/// only reads the archive, as they were read last.
struct ArchiveStatus {
    /// Takes ownership of a state of the C interface, reads and frees it
    static Result<ArchiveStatus> take(milepost_archive_status *handle) noexcept {
        Handle<milepost_archive_status, milepost_archive_status_free> owner(handle);
        milepost_archive_status_view raw = sized<milepost_archive_status_view>();
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_archive_status_read(handle, &raw, &error);
        if (status != MILEPOST_STATUS_OK) return to_error(status, error);
        ArchiveStatus read;
        read.is_written = raw.is_written != 0;
        if (raw.has_archived != 0) read.archived_height = raw.archived_height;
        read.open_transactions = raw.open_transactions;
        read.kept_from = raw.kept_from;
        read.exported_transactions = raw.exported_transactions;
        read.failures = raw.failures;
        read.failure = view(raw.failure);
        read.evicted_blocks = raw.evicted_blocks;
        for (std::size_t i = 0; i < raw.complete_count; ++i) {
            read.complete.push_back({raw.complete[i].first, raw.complete[i].last});
        }
        return read;
    }

    bool is_written = false;                       ///< whether the engine writes to the archive
    std::optional<std::uint64_t> archived_height;  ///< of the newest block that is archived
    std::uint64_t open_transactions = 0;      ///< transactions of archived blocks, not finalized
    std::uint64_t kept_from = 0;              ///< the storage keeps blocks from this height on
    std::uint64_t exported_transactions = 0;  ///< archived by this engine since it was created
    std::uint64_t failures = 0;               ///< times that the archive failed after an import
    std::string failure;                      ///< why the last time failed; empty if it did not
    std::uint64_t evicted_blocks = 0;         ///< forgotten although they are not archived
    /// Heights at which every transaction is in the archive, ascending
    std::vector<HeightRange> complete;
};

}  // namespace MILEPOST_ABI_TAG
}  // namespace milepost

#endif
