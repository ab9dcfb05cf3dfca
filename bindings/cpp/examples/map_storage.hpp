// A storage of a host's in C++: a std::map, which sorts its keys as the tables of the engine want them.
//
// All of a commit is applied or none: what may fail, here the memory for the rows, is done before the map is touched.
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
        Rows::const_iterator found = rows_.find(key);
        if (found == rows_.end()) {
            sink.absent();
        } else {
            sink.row(found->second);
        }
        return 0;
    }

    std::int32_t commit(milepost::Changes changes) override {
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
        // From here on nothing allocates. A key that is written last is removed first, which does no harm.
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

    /// All rows, for whoever looks after them
    const Rows &rows() const noexcept { return rows_; }

private:
    Rows rows_;
};

#endif
