// Answers requests for the driver of the vectors, through C++: the same commands and replies as
// tests/c/vectors.c.
#include <cinttypes>
#include <cstdio>

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

class Host {
public:
    explicit Host(std::string_view mode) : mode_(mode) { reset(); }

    void reset() {
        last_ = Response();
        engine_ = Engine();
        endpoint_ = Endpoint();
        remote_ = MapStorage::Rows();
        store_ = std::make_unique<MapStorage>();
        settings_ = must(Settings::create());
    }

    void set(int setting, std::uint64_t value) {
        Result<void> set = settings_.set(static_cast<Setting>(setting), value);
        set ? print("ok\n") : reply_error(set.error());
    }

    void config(std::uint64_t height, std::string_view config) {
        open();
        if (!is_remote()) {
            Result<void> put = engine_.put_config(height, config);
            put ? print("ok\n") : reply_error(put.error());
            return;
        }
        BlockImport block_import = must(BlockImport::create_config(height, config));
        if (Result<void> done = run_import(block_import); !done) return reply_error(done.error());
        print("ok\n");
    }

    void block(std::string_view message) {
        open();
        Result<ImportSummary> summary =
            is_remote() ? import_block(message) : endpoint_.handle_block(message);
        if (!summary) return reply_error(summary.error());
        if (must(summary->read()).block.height == 0) fail("a block without a height");
        if (is_remote() && !endpoint_.handle_chain_update(*summary)) fail("a lost chain update");
        poll();
    }

    void request(std::uint64_t now, std::string_view body, std::string_view url_method) {
        open();
        if (is_remote()) return request_remote(now, body, url_method);
        Result<RequestResult> result = endpoint_.handle_request(now, body, url_method);
        if (!result) return reply_error(result.error());
        handle_ = result->handle;
        if (result->is_pending()) return print("pending\n");
        reply(std::move(result->response));
    }

    void time(std::uint64_t now) {
        if (!endpoint_.handle_timeout(now)) fail("an endpoint does not accept the time");
        poll();
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

    /// Returns the rows of these keys, as a remote storage would
    std::vector<Row> fetch(ByteStrings keys) const {
        std::vector<Row> rows;
        for (std::string_view key : keys) {
            MapStorage::Rows::const_iterator row = remote_.find(key);
            rows.push_back(row == remote_.end() ? Row() : Row(row->second));
        }
        return rows;
    }

    /// Runs an import and commits its changes, as a host with remote storage does
    Result<void> run_import(BlockImport &block_import) {
        for (;;) {
            Result<ImportStep> step = block_import.poll();
            if (!step) return std::move(step).error();
            if (step->step == Step::Done) break;
            std::vector<Row> rows = fetch(step->keys);
            if (Result<void> supplied = block_import.supply_rows(rows); !supplied) return supplied;
        }
        for (Change change : must(block_import.changes())) {
            if (change.removes) {
                remote_.erase(std::string(change.key));
            } else {
                remote_.insert_or_assign(std::string(change.key), std::string(change.row));
            }
        }
        return {};
    }

    Result<ImportSummary> import_block(std::string_view message) {
        Result<BlockImport> block_import = BlockImport::create(message, settings_);
        if (!block_import) return std::move(block_import).error();
        if (Result<void> done = run_import(*block_import); !done) return std::move(done).error();
        return block_import->summary();
    }

    /// Runs a request until it is answered, or until it waits: then it returns an empty response
    Response run(PendingRequest &request) const {
        for (;;) {
            RequestStep step = must(request.poll());
            if (step.step != Step::NeedRows) return std::move(step.response);
            if (!request.supply_rows(fetch(step.keys))) fail("a request does not accept its rows");
        }
    }

    void request_remote(std::uint64_t now, std::string_view body, std::string_view url_method) {
        PendingRequest request = must(PendingRequest::create(body, url_method, settings_));
        for (;;) {
            if (Response response = run(request)) return reply(std::move(response));
            SuspendResult result = must(endpoint_.suspend(now, request));
            handle_ = result.handle;
            if (result.state == RequestState::Waiting) return print("pending\n");
        }
    }

    void poll_remote() {
        while (std::optional<PolledRequest> polled = must(endpoint_.poll_request())) {
            Response response;
            RequestState state = RequestState::Retry;
            while (state == RequestState::Retry) {
                response = run(polled->request);
                state = must(endpoint_.resume(polled->handle, polled->request));
            }
            if (state == RequestState::Ready && polled->handle == handle_) {
                return reply(std::move(response));
            }
        }
        print("ok\n");
    }

    void poll() {
        if (is_remote()) return poll_remote();
        std::optional<PolledResponse> polled = must(endpoint_.poll_response());
        if (!polled) return print("ok\n");
        if (polled->handle != handle_) fail("a response with an unknown request handle");
        reply(std::move(polled->response));
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
    MapStorage::Rows remote_;
    Settings settings_;
    Engine engine_;
    Endpoint endpoint_;
    Response last_;
    RequestHandle handle_ = 0;
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
        std::size_t len = 0, method_len = 0;
        int setting = 0;
        if (std::string_view(line) == "new\n") {
            host.reset();
            print("ok\n");
        } else if (std::sscanf(line, "set %d %" SCNu64, &setting, &number) == 2) {
            host.set(setting, number);
        } else if (std::sscanf(line, "config %" SCNu64 " %zu", &number, &len) == 2) {
            host.config(number, read_input(len));
        } else if (std::sscanf(line, "block %zu", &len) == 1) {
            host.block(read_input(len));
        } else if (std::sscanf(line, "request %" SCNu64 " %zu %zu", &number, &len, &method_len) ==
                   3) {
            std::string body = read_input(len);
            host.request(number, body, read_input(method_len));
        } else if (std::sscanf(line, "time %" SCNu64, &number) == 1) {
            host.time(number);
        } else if (std::string_view(line) == "view\n") {
            host.view();
        } else {
            fail(line);
        }
        std::fflush(stdout);
    }
    return 0;
}
