// A storage of the host in C++: a std::map, which sorts its keys as the engine's tables require.
//
// A commit is applied as a whole or not at all: everything that can fail, here the allocation of
// the rows, is done before the map changes.
#ifndef MAP_STORAGE_HPP
#define MAP_STORAGE_HPP

#include <map>
#include <string>
#include <vector>

#include "milepost.hpp"

class MapStorage : public milepost::Storage {
public:
    using Rows = std::map<std::string, std::string, std::less<>>;

    std::int32_t get(std::string_view key, milepost::Sink &sink) const override {
        Rows::const_iterator row = rows_.find(key);
        if (row == rows_.end()) {
            sink.absent();
        } else {
            sink.row(row->second);
        }
        return 0;
    }

    std::int32_t commit(milepost::Changes changes, milepost::Sink &) override {
        Rows written;
        std::vector<std::string> removed;
        for (milepost::Change change : changes) {
            if (change.removes) {
                removed.emplace_back(change.key);
                written.erase(removed.back());
            } else {
                written.insert_or_assign(std::string(change.key), std::string(change.row));
            }
        }
        // Nothing below allocates. Removing a key first that is written afterwards is harmless.
        for (const std::string &key : removed) {
            rows_.erase(key);
        }
        for (Rows::iterator next = written.begin(); next != written.end();) {
            Rows::node_type node = written.extract(next++);
            rows_.erase(node.key());
            rows_.insert(std::move(node));
        }
        return 0;
    }

    /// All rows
    const Rows &rows() const noexcept { return rows_; }

private:
    Rows rows_;
};

#endif
