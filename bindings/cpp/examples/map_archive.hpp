// An archive of the host in C++: a std::map by key and content, for any number of threads.
//
// A database has the same two as its primary key, and each function is one statement: `get_many`
// selects by key, `put_many` inserts and ignores what is there.
#ifndef MAP_ARCHIVE_HPP
#define MAP_ARCHIVE_HPP

#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "milepost.hpp"

class MapArchive : public milepost::Archive {
public:
    /// Key, then content
    using Rows = std::map<std::pair<std::string, std::string>, std::string>;

    std::int32_t get_many(milepost::ByteStrings keys, milepost::Sink &sink) const override {
        std::shared_lock lock(mutex_);
        for (std::string_view key : keys) {
            for (Rows::const_iterator row = first(key);
                 row != rows_.end() && row->first.first == key; ++row) {
                sink.entry(key, row->second);
            }
        }
        return 0;
    }

    std::int32_t scan(std::uint8_t table, std::string_view after, std::size_t limit,
                      milepost::Sink &sink) const override {
        std::shared_lock lock(mutex_);
        std::string start(1, static_cast<char>(table));
        Rows::const_iterator row = first(after.empty() ? std::string_view(start) : after);
        for (; row != rows_.end() && row->first.first[0] == start[0] && limit != 0; ++row) {
            if (row->first.first == after) continue;
            sink.entry(row->first.first, row->second);
            limit--;
        }
        return 0;
    }

    std::int32_t put_many(milepost::ArchiveRows rows, milepost::Sink &) override {
        std::unique_lock lock(mutex_);
        put(rows);
        return 0;
    }

    std::int32_t replace_many(milepost::ArchiveRows rows, milepost::Sink &) override {
        std::unique_lock lock(mutex_);
        for (milepost::ArchiveRow row : rows) remove(row.key);
        put(rows);
        return 0;
    }

    std::int32_t remove_many(milepost::ByteStrings keys, milepost::Sink &) override {
        std::unique_lock lock(mutex_);
        for (std::string_view key : keys) remove(key);
        return 0;
    }

    /// Number of rows
    std::size_t size() const {
        std::shared_lock lock(mutex_);
        return rows_.size();
    }

private:
    Rows::const_iterator first(std::string_view key) const {
        return rows_.lower_bound({std::string(key), std::string()});
    }

    void put(milepost::ArchiveRows rows) {
        for (milepost::ArchiveRow row : rows) {
            rows_.try_emplace({std::string(row.key), std::string(row.content)}, row.row);
        }
    }

    void remove(std::string_view key) {
        Rows::const_iterator row = first(key);
        while (row != rows_.end() && row->first.first == key) row = rows_.erase(row);
    }

    mutable std::shared_mutex mutex_;
    Rows rows_;
};

#endif
