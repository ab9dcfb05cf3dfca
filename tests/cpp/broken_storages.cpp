// Runs the conformance check on a storage with one of the defects of docs/CONFORMANCE.md:
// `broken_storages DEFECT ISOLATION RUNS` prints how many of the runs refused it, and why.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "milepost/storage.hpp"

using namespace milepost;

namespace {

using Rows = std::map<std::string, std::string>;

/// The defect, by its name in the table
std::string defect;
std::string isolation_name;

bool has(const char *name) { return defect == name; }

/// A key as the storage keeps it
std::string kept(std::string_view key) {
    return std::string(has("truncated key") ? key.substr(0, 32) : key);
}

/// Passes the rows that a function finds
template <class Find>
std::int32_t pass_rows(ByteStrings keys, Sink &sink, Find find) {
    std::vector<std::string> sorted;
    for (std::string_view key : keys) sorted.push_back(kept(key));
    if (has("reordered keys")) std::sort(sorted.begin(), sorted.end());
    std::size_t position = 0;
    std::string row;
    for (const std::string &key : sorted) {
        bool found = find(key, row);
        bool is_last_of_page = ++position % 100 == 0;
        if (found && !(has("range off by one") && is_last_of_page)) {
            sink.row(row);
        } else if (!has("wrong length of get_many")) {
            sink.absent();
        }
    }
    return 0;
}

bool find_in(const Rows &rows, const std::string &key, std::string &row) {
    auto found = rows.find(key);
    if (found == rows.end()) return false;
    row = found->second;
    return true;
}

class Copy : public Snapshot {
public:
    explicit Copy(std::shared_ptr<const Rows> rows) : rows_(std::move(rows)) {}

    std::int32_t get(std::string_view key, Sink &sink) const override {
        std::string row;
        find_in(*rows_, kept(key), row) ? sink.row(row) : sink.absent();
        return 0;
    }

    std::int32_t get_many(ByteStrings keys, Sink &sink) const override {
        return pass_rows(keys, sink, [&](const std::string &key, std::string &row) {
            return find_in(*rows_, key, row);
        });
    }

private:
    std::shared_ptr<const Rows> rows_;
};

class Broken : public Storage {
public:
    bool has_snapshots() const noexcept override { return isolation_name == "snapshots"; }

    Isolation isolation() const noexcept override {
        return isolation_name == "read committed" ? Isolation::ReadCommitted : Isolation::Snapshot;
    }

    std::unique_ptr<Snapshot> open_snapshot(Sink &) override {
        if (has("shared snapshot")) return std::make_unique<Newest>(*this);
        return std::make_unique<Copy>(copy());
    }

    std::int32_t get(std::string_view key, Sink &sink) const override {
        std::string row;
        find(kept(key), row) ? sink.row(row) : sink.absent();
        return 0;
    }

    std::int32_t get_many(ByteStrings keys, Sink &sink) const override {
        return pass_rows(keys, sink,
                         [&](const std::string &key, std::string &row) { return find(key, row); });
    }

    std::int32_t commit(Changes changes, Sink &) override {
        if (++commits_ % 7 == 0 && has("lost write")) return 0;
        std::vector<Change> all;
        for (Change change : changes) all.push_back(change);
        for (const Change &change : all) {
            if (has("error swallowed") && change.row.size() > 1 << 20) return 0;
        }
        std::size_t first = 0;
        if (has("torn commit")) first = all.size() / 2;
        if (has("commit visible early") && !all.empty()) first = 1;
        auto middle = all.begin() + static_cast<std::ptrdiff_t>(first);
        if (has("one lock per row")) {
            for (auto change = all.begin(); change != all.end(); ++change)
                apply(change, change + 1);
        } else {
            if (first > 0) {
                apply(all.begin(), middle);
                prepare(middle, all.end());
            }
            apply(middle, all.end());
        }
        return 0;
    }

private:
    /// Reads the newest rows in place of those of a snapshot
    class Newest : public Snapshot {
    public:
        explicit Newest(const Broken &storage) : storage_(storage) {}

        std::int32_t get(std::string_view key, Sink &sink) const override {
            return storage_.get(key, sink);
        }

    private:
        const Broken &storage_;
    };

    using Changed = std::vector<Change>::const_iterator;

    void apply(Changed begin, Changed end) {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        for (; begin != end; ++begin) {
            if (!begin->removes) {
                rows_[kept(begin->key)] = std::string(begin->row);
            } else if (!has("forgotten delete")) {
                rows_.erase(kept(begin->key));
            }
        }
        if (!has("stale snapshot") || rows_.size() != size_of_copy_) copy_.reset();
    }

    /// Writes changes where no reader sees them, as a log does
    static void prepare(Changed begin, Changed end) {
        Rows log;
        for (; begin != end; ++begin) log[std::string(begin->key)] = std::string(begin->row);
    }

    bool find(const std::string &key, std::string &row) const {
        if (has("stale snapshot")) return find_in(*copy(), key, row);
        std::shared_lock<std::shared_mutex> lock(mutex_);
        return find_in(rows_, key, row);
    }

    /// A copy of the rows, which is made once after each commit that changes them
    std::shared_ptr<const Rows> copy() const {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        if (!copy_) {
            copy_ = std::make_shared<const Rows>(rows_);
            size_of_copy_ = rows_.size();
        }
        return copy_;
    }

    mutable std::shared_mutex mutex_;
    Rows rows_;
    mutable std::shared_ptr<const Rows> copy_;
    mutable std::size_t size_of_copy_ = 0;
    std::size_t commits_ = 0;
};

}  // namespace

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    defect = argv[1];
    isolation_name = argv[2];
    int refused = 0;
    std::string message;
    for (int run = 0; run < std::atoi(argv[3]); run++) {
        Result<void> checked = check_storage([] { return std::make_unique<Broken>(); });
        if (checked.ok()) continue;
        if (checked.error().kind() != ErrorKind::Storage) return 3;
        refused++;
        message = std::string(checked.error().message());
    }
    std::printf("%d %s\n", refused, message.c_str());
    return 0;
}
