// Answers requests for the driver of the vectors, through C++: the same commands and replies as
// tests/c/vectors.c, and rows of a remote storage in a random order too.
#include <cinttypes>
#include <cstdio>
#include <random>

#include "../../bindings/cpp/examples/map_storage.hpp"

using namespace milepost;

namespace {

[[noreturn]] void fail(std::string_view what) {
    std::fprintf(stderr, "vectors: %.*s\n", static_cast<int>(what.size()), what.data());
    std::exit(2);
}

/// Returns the value of a result that must have one
template <class T>
T must(Result<T> result) {
    if (!result) fail(result.error().message());
    return std::move(result).value();
}

/// One round trip for all keys, as in a database
class ManyStorage : public MapStorage {
public:
    std::int32_t get_many(ByteStrings keys, Sink &sink) const override {
        std::vector<const std::string *> found;
        for (std::string_view key : keys) {
            bool is_key =
                key.size() >= 2 && key.size() <= 33 && key.front() >= 0 && key.front() <= 9;
            if (!is_key) fail("a key is the number of its table, then 1 to 32 bytes");
            Rows::const_iterator row = rows().find(key);
            found.push_back(row == rows().end() ? nullptr : &row->second);
        }
        for (const std::string *row : found) {
            if (row != nullptr ? !sink.row(*row) : !sink.absent()) return 9;
        }
        return 0;
    }
};

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_text(std::string_view text) {
    print(" ");
    print(text);
}

void print_hex(std::string_view bytes) {
    print(" ");
    for (char byte : bytes) {
        std::printf("%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    }
    print(".");
}

void print_hash(const Hash &hash) {
    HashText text = must(format_hash(hash));
    if (must(parse_hash(text.text())) != hash)
        fail("a hash does not survive formatting and parsing");
    print_text(text.text());
}

/// A host with remote storage: serves the outputs of an endpoint without an engine in random order
///
/// Each evaluation reads the rows as they were when it started.
class RemoteHost {
public:
    /// Returns a response, a request that waits, or the end of another operation; once nothing is
    /// left to serve, OutputKind::Timeout
    Output next(Endpoint &endpoint) {
        for (;;) {
            if (!tasks_.empty() && random_() % 2 == 0) {
                serve(endpoint);
                continue;
            }
            Output output = must(endpoint.poll_output());
            switch (output.kind) {
                case OutputKind::NeedRows:
                    if (output.is_first) snapshots_[output.handle] = rows_;
                    tasks_.push_back({output.handle, false, copy(output.keys)});
                    break;
                case OutputKind::Commit:
                    commit(output.changes);
                    tasks_.push_back({output.handle, true, {}});
                    break;
                case OutputKind::Timeout:
                    if (tasks_.empty()) return output;
                    break;
                default:
                    snapshots_.erase(output.handle);
                    return output;
            }
        }
    }

private:
    struct Task {
        RequestHandle handle;
        bool is_commit;
        std::vector<std::string> keys;
    };

    static std::vector<std::string> copy(ByteStrings keys) {
        return std::vector<std::string>(keys.begin(), keys.end());
    }

    void commit(Changes changes) {
        for (Change change : changes) {
            if (change.removes) {
                rows_.erase(std::string(change.key));
            } else {
                rows_.insert_or_assign(std::string(change.key), std::string(change.row));
            }
        }
    }

    void serve(Endpoint &endpoint) {
        std::swap(tasks_[random_() % tasks_.size()], tasks_.back());
        Task task = std::move(tasks_.back());
        tasks_.pop_back();
        if (task.is_commit) {
            if (!endpoint.handle_commit_result(task.handle)) fail("a lost commit");
            return;
        }
        const MapStorage::Rows &snapshot = snapshots_.at(task.handle);
        std::vector<Row> rows;
        for (const std::string &key : task.keys) {
            MapStorage::Rows::const_iterator row = snapshot.find(key);
            rows.push_back(row == snapshot.end() ? Row() : Row(row->second));
        }
        if (!endpoint.handle_rows(task.handle, rows)) fail("an endpoint does not accept its rows");
    }

    MapStorage::Rows rows_;
    std::map<RequestHandle, MapStorage::Rows> snapshots_;
    std::vector<Task> tasks_;
    std::mt19937 random_;
};

class Host {
public:
    explicit Host(std::string_view mode) : mode_(mode) { reset(); }

    void reset() {
        last_ = Response();
        engine_ = Engine();
        endpoint_ = Endpoint();
        remote_ = RemoteHost();
        chain_query_ = 0;
        store_ = std::make_unique<MapStorage>();
        settings_ = must(Settings::create());
    }

    void set(int setting, std::uint64_t value) {
        Result<void> set = settings_.set(static_cast<Setting>(setting), value);
        set ? print("ok\n") : reply_error(set.error());
    }

    /// Of the epoch with this id, or from this height on
    template <typename Scope>
    void config(const Scope &scope, std::string_view config) {
        open();
        Result<RequestHandle> handle = endpoint_.handle_config(scope, config);
        if (!handle) return reply_error(handle.error());
        if ((*handle != 0) != is_remote()) fail("an import with an engine continues");
        drain("ok\n");
    }

    void block(std::string_view message) {
        open();
        chain_query_ = must(endpoint_.handle_chain_query());
        Result<BlockResult> result = endpoint_.handle_block(message);
        if (!result) return reply_error(result.error());
        if (result->is_pending() != is_remote()) fail("an import with an engine continues");
        if (!result->is_pending()) check(result->summary);
        drain("ok\n");
    }

    void request(std::uint64_t now, std::string_view body, std::string_view url_method) {
        open();
        chain_query_ = must(endpoint_.handle_chain_query());
        Result<RequestResult> result = endpoint_.handle_request(now, body, url_method);
        if (!result) return reply_error(result.error());
        handle_ = result->handle;
        if (result->is_pending()) return drain("pending\n");
        reply(std::move(result->response));
    }

    void time(std::uint64_t now) {
        if (!endpoint_.handle_timeout(now)) fail("an endpoint does not accept the time");
        drain("ok\n");
    }

    static void verify(std::string_view answer, std::string_view proof,
                       std::string_view transaction, std::string_view block) {
        Result<ProvenAnswer> proven =
            verify_answer(answer, proof, must(parse_hash(transaction)), must(parse_hash(block)));
        if (!proven) return reply_error(proven.error());
        std::string_view json = must(proven->json.text());
        std::printf("response %d %zu\n", proven->is_complete ? 1 : 0, json.size());
        print(json);
    }

    void view() const {
        for (std::size_t i = 0, size = must(last_.batch_size()); i < size; i++) {
            Response item = must(last_.batch_item(i));
            print("item");
            print_text(must(item.body()));
            print("\n");
        }
        if (Result<RpcError> error = last_.rpc_error()) {
            print("rpc_error");
            print_text(error->name);
            print_text(error->cause);
            print_text(error->info);
            print("\n");
        } else if (Result<TransactionStatus> status = last_.transaction_status()) {
            std::printf("status %d %d", static_cast<int>(status->milestone),
                        static_cast<int>(status->execution_status));
            print_hex(status->payload);
            print_text(status->transaction);
            print("\n");
            for (std::size_t i = 0; i < status->outcomes; i++) {
                view_outcome(must(last_.outcome(i)));
            }
            for (std::size_t i = 0; i < status->receipts; i++) {
                print("receipt");
                print_text(must(last_.receipt(i)));
                print("\n");
            }
            if (last_.outcome(status->outcomes).ok()) fail("one outcome too many");
        } else if (Result<std::string_view> json = last_.result_json()) {
            print("json");
            print_text(*json);
            print("\n");
        }
        print(".\n");
    }

private:
    bool is_remote() const { return mode_ == "remote"; }

    /// Creates the engine and the endpoint at the first command that needs them, after the settings
    void open() {
        if (endpoint_) return;
        if (mode_ == "memory") {
            engine_ = must(Engine::in_memory(settings_));
        } else if (mode_ == "get") {
            engine_ = must(Engine::over(*store_, settings_));
        } else if (mode_ == "get_many") {
            engine_ = must(Engine::over(std::make_unique<ManyStorage>(), settings_));
        }
        endpoint_ = is_remote() ? must(Endpoint::without_engine(settings_))
                                : must(Endpoint::create(engine_, settings_));
    }

    static void reply_error(const Error &error) {
        std::printf("error %d ", static_cast<int>(error.kind()));
        print(error.path());
        print(": ");
        print(error.message());
        print("\n");
    }

    void reply(Response response) {
        last_ = std::move(response);
        std::string_view body = must(last_.body());
        std::printf("response %d %zu\n", static_cast<int>(must(last_.kind())), body.size());
        print(body);
    }

    static void check(const ImportSummary &summary) {
        if (must(summary.read()).block.height == 0) fail("a block without a height");
    }

    /// Serves and polls until nothing is left, and replies: an import that failed, the response to
    /// the request, or else `otherwise`
    void drain(std::string_view otherwise) {
        std::optional<Error> failure;
        Response response;
        for (;;) {
            Output output = remote_.next(endpoint_);
            switch (output.kind) {
                case OutputKind::Timeout:
                    if (failure) return reply_error(*failure);
                    return response ? reply(std::move(response)) : print(otherwise);
                case OutputKind::Response:
                    if (output.handle != handle_) fail("a response with an unknown request handle");
                    response = std::move(output.response);
                    break;
                case OutputKind::Completed:
                    if (output.summary) check(output.summary);
                    if (output.handle == chain_query_ &&
                        (output.chain_status.blocks != 0) != output.chain_status.head.has_value()) {
                        fail("a wrong state of the chain");
                    }
                    break;
                case OutputKind::Failed:
                    failure = std::move(output.error);
                    break;
                case OutputKind::Pending:
                    break;
                default:
                    fail("an output of unknown kind");
            }
        }
    }

    static void view_outcome(const Outcome &outcome) {
        print("outcome");
        print_hash(outcome.id);
        print_hash(outcome.block_hash);
        print_text(outcome.executor_id);
        std::printf(" %d", static_cast<int>(outcome.execution_status));
        print_hex(outcome.payload);
        std::printf(" %" PRIu64 " %" PRIu64 " %" PRIu64, outcome.gas_burnt,
                    outcome.tokens_burnt.high, outcome.tokens_burnt.low);
        for (const Hash &id : outcome.receipt_ids) print_hash(id);
        for (std::string_view log : outcome.logs) print_hex(log);
        print_text(outcome.json);
        print("\n");
    }

    std::string_view mode_;
    std::unique_ptr<MapStorage> store_;
    RemoteHost remote_;
    Settings settings_;
    Engine engine_;
    Endpoint endpoint_;
    Response last_;
    RequestHandle handle_ = 0;
    RequestHandle chain_query_ = 0;
};

std::string read_input(std::size_t len) {
    std::string bytes(len, '\0');
    if (std::fread(bytes.data(), 1, len, stdin) != len) fail("the input ends early");
    return bytes;
}

}  // namespace

int main(int argc, char **argv) {
    Host host(argc == 2 ? argv[1] : "memory");
    char line[256];
    if (version_number() != MILEPOST_VERSION_NUMBER) fail("the header has another version");
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
        std::uint64_t number = 0;
        std::size_t len = 0, method_len = 0, proof_len = 0;
        char transaction[64], block[64];
        int setting = 0;
        if (std::string_view(line) == "new\n") {
            host.reset();
            print("ok\n");
        } else if (std::sscanf(line, "set %d %" SCNu64, &setting, &number) == 2) {
            host.set(setting, number);
        } else if (std::sscanf(line, "config %" SCNu64 " %zu", &number, &len) == 2) {
            host.config(number, read_input(len));
        } else if (std::sscanf(line, "epoch-config %63s %zu", block, &len) == 2) {
            host.config(must(parse_hash(block)), read_input(len));
        } else if (std::sscanf(line, "block %zu", &len) == 1) {
            host.block(read_input(len));
        } else if (std::sscanf(line, "request %" SCNu64 " %zu %zu", &number, &len, &method_len) ==
                   3) {
            std::string body = read_input(len);
            host.request(number, body, read_input(method_len));
        } else if (std::sscanf(line, "time %" SCNu64, &number) == 1) {
            host.time(number);
        } else if (std::sscanf(line, "verify %zu %zu %63s %63s", &len, &proof_len, transaction,
                               block) == 4) {
            std::string answer = read_input(len);
            host.verify(answer, read_input(proof_len), transaction, block);
        } else if (std::string_view(line) == "view\n") {
            host.view();
        } else {
            fail(line);
        }
        std::fflush(stdout);
    }
    return 0;
}
