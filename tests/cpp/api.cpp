// Tests of the C++ interface that the vectors do not cover: ownership, errors, storages that throw.
#include <mutex>
#include <stdexcept>

#include "../../bindings/cpp/examples/map_storage.hpp"
#include "api.inc"

using namespace milepost;

namespace {

int failures = 0;

void expect(bool condition, const char *text, int line) {
    if (!condition) {
        std::printf("api.cpp:%d: %s\n", line, text);
        failures++;
    }
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

static_assert(!std::is_copy_constructible_v<Engine> && !std::is_copy_assignable_v<Engine>);
static_assert(std::is_nothrow_move_constructible_v<Engine> &&
              std::is_nothrow_move_assignable_v<Engine>);
static_assert(!std::is_copy_constructible_v<Error> && std::is_nothrow_move_constructible_v<Error>);
static_assert(std::is_nothrow_move_constructible_v<Result<Response>>);

constexpr std::string_view WAITING_REQUEST =
    R"({"method":"tx","params":{"tx_hash":"11111111111111111111111111111112","sender_account_id":"a.near"}})";

constexpr std::string_view REQUEST =
    R"({"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}})";

/// A storage that throws while `throws` is set, and counts its destructions
class Throwing : public MapStorage {
public:
    explicit Throwing(int *destroyed) : destroyed_(destroyed) {}
    ~Throwing() override { ++*destroyed_; }

    std::int32_t get(std::string_view key, Sink &sink) const override {
        if (throws) throw std::runtime_error("the disk is gone");
        return MapStorage::get(key, sink);
    }

    std::int32_t commit(Changes changes, Sink &sink) override {
        if (throws) throw 7;
        return MapStorage::commit(changes, sink);
    }

    bool throws = false;

private:
    int *destroyed_;
};

void test_handles() {
    Engine empty;
    EXPECT(!empty && empty.get() == nullptr);
    EXPECT(empty.respond(REQUEST).error().kind() == ErrorKind::Null);
    EXPECT(Endpoint::create(empty).error().kind() == ErrorKind::Null);
    EXPECT(Engine::over(std::unique_ptr<Storage>()).error().kind() == ErrorKind::Null);

    Engine engine = Engine::in_memory().value();
    Engine moved = std::move(engine);
    EXPECT(moved && !engine);
    EXPECT(engine.chain_status().error().kind() == ErrorKind::Null);
    engine = std::move(moved);
    EXPECT(engine && !moved);
    Engine &same = engine;
    engine = std::move(same);
    EXPECT(engine.chain_status().ok());

    // To the C interface and back
    milepost_engine *raw = engine.release();
    EXPECT(!engine && raw != nullptr);
    milepost_chain_status *chain_status = nullptr;
    EXPECT(milepost_engine_chain_status(raw, &chain_status, nullptr) == MILEPOST_STATUS_OK);
    EXPECT(ChainStatus::take(chain_status)->blocks == 0);
    engine = Engine(raw);
    EXPECT(!engine.chain_status()->head.has_value() &&
           !engine.chain_status()->last_final.has_value());

    Response response = engine.respond(REQUEST).value();
    EXPECT(response.kind().value() == ResponseKind::Handler);
    EXPECT(response.rpc_error()->cause == "UNKNOWN_BLOCK" ||
           response.rpc_error()->cause.size() > 4);
    EXPECT(response.transaction_status().error().kind() == ErrorKind::Usage);
    EXPECT(!response.transaction_status().error().message().empty());
    EXPECT(response.batch_size().value() == 0 &&
           response.batch_item(0).error().kind() != ErrorKind::Null);
}

void test_errors() {
    Engine engine = Engine::in_memory().value();
    Result<ImportSummary> failed =
        engine.import_block(R"({"block": {"header": {"height": "high"}}})");
    EXPECT(!failed && failed.error().get() != nullptr);
    EXPECT(!failed.error().path().empty() && !failed.error().message().empty());
    Error error = std::move(failed).error();
    std::string path(error.path());
    Error other = std::move(error);
    EXPECT(other.path() == path && error.path().empty() && !error.message().empty());
    milepost_error *raw = other.release();
    EXPECT(raw != nullptr && other.get() == nullptr && other.path().empty());
    milepost_error_free(raw);

    Result<ImportSummary> not_json = engine.import_block("{\"block\": tru}");
    EXPECT(not_json.error().kind() == ErrorKind::Syntax && not_json.error().offset().has_value());

    Result<void> unknown = Settings::create()->set(static_cast<Setting>(1000), 1);
    EXPECT(unknown.error().kind() == ErrorKind::Enum && !unknown.error().message().empty());
    Settings settings;
    EXPECT(settings.set(Setting::Timeout, 7).ok() && settings.set(Setting::MaxWaiting, 1).ok());
    Endpoint endpoint = Endpoint::create(engine, settings).value();
    EXPECT(endpoint.handle_request(10, WAITING_REQUEST)->is_pending());
    EXPECT(endpoint.next_timeout().value().value() <= 17);
    EXPECT(Error(ErrorKind::Busy).message().find("in use") != std::string_view::npos);

    EXPECT(parse_hash("0").error().kind() == ErrorKind::Value);
    EXPECT(format_hash(Hash()).value().text() == "11111111111111111111111111111111");
}

void test_storages() {
    int destroyed = 0;
    {
        std::unique_ptr<Throwing> storage = std::make_unique<Throwing>(&destroyed);
        Throwing *throwing = storage.get();
        Engine engine = Engine::over(std::move(storage)).value();
        Endpoint endpoint = Endpoint::create(engine).value();
        throwing->throws = true;
        Result<ChainStatus> chain_status = engine.chain_status();
        EXPECT(chain_status.error().kind() == ErrorKind::Storage);
        EXPECT(chain_status.error().message().find("returned -2147483648: the disk is gone") !=
               std::string_view::npos);
        EXPECT(name(chain_status.error().kind()) == "MILEPOST_STATUS_STORAGE");
        EXPECT(engine.put_config(7, CONFIG).error().kind() == ErrorKind::Storage);
        EXPECT(engine.respond(REQUEST)->kind().value() == ResponseKind::Internal);
        throwing->throws = false;
        EXPECT(engine.put_config(7, CONFIG).ok());
        EXPECT(engine.chain_status()->chain_id.size() > 2);
        engine = Engine();
        EXPECT(destroyed == 0);
        EXPECT(!endpoint.next_timeout()->has_value() && endpoint.pending_count().value() == 0);
        EXPECT(endpoint.cancel(99).value() == false && endpoint.shutdown().ok());
    }
    EXPECT(destroyed == 1);

    MapStorage borrowed;
    EXPECT(Engine::over(borrowed)->put_config(7, CONFIG).ok());
    EXPECT(borrowed.rows().size() > 0);

    // Calls from inside a storage fail, and free nothing.
    class Reentrant : public MapStorage {
    public:
        std::int32_t get(std::string_view key, Sink &sink) const override {
            if (engine != nullptr) kind = engine->chain_status().error().kind();
            return MapStorage::get(key, sink);
        }
        const Engine *engine = nullptr;
        mutable ErrorKind kind = ErrorKind::Usage;
    };
    Reentrant reentrant;
    Engine engine = Engine::over(reentrant).value();
    reentrant.engine = &engine;
    EXPECT(engine.chain_status().ok() && reentrant.kind == ErrorKind::Reentrant);
}

void test_storage_check() {
    EXPECT(check_storage([] { return std::make_unique<MapStorage>(); }).ok());
    EXPECT(check_storage([] { return std::unique_ptr<Storage>(); }).error().kind() ==
           ErrorKind::Storage);
    EXPECT(check_storage([]() -> std::unique_ptr<Storage> { throw 1; }).error().kind() ==
           ErrorKind::Storage);

    // A storage whose snapshots are copies, one for all between two commits
    class Copied : public MapStorage {
        class Copy : public Snapshot {
        public:
            explicit Copy(std::shared_ptr<const Rows> rows) : rows_(std::move(rows)) {}
            std::int32_t get(std::string_view key, Sink &sink) const override {
                Rows::const_iterator row = rows_->find(key);
                row == rows_->end() ? sink.absent() : sink.row(row->second);
                return 0;
            }

        private:
            std::shared_ptr<const Rows> rows_;
        };

        std::shared_ptr<const Rows> copy_;
        std::mutex mutex_;

    public:
        bool has_snapshots() const noexcept override { return true; }
        std::int32_t commit(Changes changes, Sink &sink) override {
            std::lock_guard<std::mutex> lock(mutex_);
            copy_.reset();
            return MapStorage::commit(changes, sink);
        }
        std::unique_ptr<Snapshot> open_snapshot(Sink &sink) override {
            if (fails) sink.fail("too many readers");
            std::lock_guard<std::mutex> lock(mutex_);
            if (!copy_) copy_ = std::make_shared<const Rows>(rows());
            return fails ? nullptr : std::make_unique<Copy>(copy_);
        }
        std::int32_t get(std::string_view, Sink &) const override { return 9; }
        bool fails = false;
    };
    EXPECT(check_storage([] { return std::make_unique<Copied>(); }).ok());
    Copied copied;
    Engine engine = Engine::over(copied).value();
    EXPECT(engine.put_config(7, CONFIG).ok() && engine.chain_status().ok());
    copied.fails = true;
    EXPECT(engine.respond(REQUEST).error().message() ==
           "the storage's snapshot_open returned 1: too many readers");

    class IgnoresLargeBatches : public MapStorage {
        std::int32_t commit(Changes changes, Sink &sink) override {
            return changes.size() > 1 ? 0 : MapStorage::commit(changes, sink);
        }
    };
    Result<void> checked = check_storage([] { return std::make_unique<IgnoresLargeBatches>(); });
    EXPECT(checked.error().kind() == ErrorKind::Storage &&
           checked.error().message().find("requirement") != std::string_view::npos);
}

void test_proofs() {
    Hash transaction, block = parse_hash(PROOF_BLOCK).value();
    Result<ProvenAnswer> proven = verify_answer("{}", PROOF, transaction, block);
    EXPECT(!proven->is_complete);
    EXPECT(proven->json.text()->find("\"outcomes\":[]") != std::string_view::npos);
    EXPECT(verify_answer("{}", PROOF, transaction, transaction).error().kind() == ErrorKind::Chain);
    EXPECT(verify_answer("{}", "{}", transaction, block).error().kind() == ErrorKind::Schema);
    Engine engine = Engine::in_memory().value();
    EXPECT(!engine.prove(transaction).value());
    EXPECT(engine.prove(transaction, "last").error().kind() == ErrorKind::Value);
    Endpoint endpoint = Endpoint::without_engine().value();
    EXPECT(endpoint.handle_proof_query(transaction, "last").error().kind() == ErrorKind::Value);
    RequestHandle query = endpoint.handle_proof_query(transaction).value();
    Output output = endpoint.poll_output().value();
    EXPECT(output.kind == OutputKind::NeedRows && output.handle == query && output.is_first);
    while (output.kind == OutputKind::NeedRows) {
        std::vector<Row> rows(output.keys.size());
        EXPECT(!!endpoint.handle_rows(query, rows));
        output = endpoint.poll_output().value();
    }
    EXPECT(output.kind == OutputKind::Completed && output.handle == query && !output.proof);
}

void test_inputs() {
    Result<Transaction> transaction = Transaction::decode_base64(TRANSACTION);
    Result<TransactionView> view = transaction->read();
    EXPECT(view->signature_is_valid && view->signer_id == "sender.testnet" && view->actions == 1 &&
           view->nonce > 0);
    EXPECT(parse_hash(format_hash(view->hash)->text()).value() == view->hash);
    EXPECT(Transaction::decode("short").error().kind() == ErrorKind::Syntax);

    BlockHeader header;
    header.height = 7;
    header.hash.bytes[0] = 1;
    header.protocol_version = 80;
    MessageBuilder builder = MessageBuilder::create(header).value();
    EXPECT(builder.add_transaction("{").error().kind() == ErrorKind::Syntax &&
           !builder.add_transaction("{}", "{"));
    EXPECT(!builder.add_receipt("{") && !builder.add_outcome("{") &&
           !builder.add_outcome("{}", "{"));
    std::string_view text = builder.text().value();
    EXPECT(text.find("\"height\":7") != std::string_view::npos);
    Engine engine = Engine::in_memory().value();
    Result<ImportSummary> summary = engine.import_block(text);
    EXPECT(summary->read()->position == BlockPosition::Head &&
           summary->read()->block.hash == header.hash);
    EXPECT(summary->reverted(0).error().kind() == ErrorKind::Index &&
           summary->reapplied(0).error().kind() == ErrorKind::Index);
    EXPECT(engine.chain_status()->head->height == 7 &&
           engine.chain_status()->latest_protocol_version == 80);

    Request request = Request::parse(REQUEST).value();
    EXPECT(request.calls().value() == 1 && !request.invalid().value());
    request = Request::parse("[]").value();
    EXPECT(request.calls().value() == 0 && request.invalid()->body().ok());
    request = Request::parse("{\"id\":7,\"method\":\"echo\",\"params\":[1]}").value();
    Call call = request.call(0).value();
    EXPECT(call.is_valid && call.id == "7" && call.other_method == "echo" &&
           call.other_params == "[1]");
    EXPECT(request.answer(0, call.other_params).ok());
    EXPECT(engine.respond(request)->body().value() ==
           "{\"jsonrpc\":\"2.0\",\"result\":[1],\"id\":7}");
    EXPECT(request.refuse(0, "{\"code\":-1}", ResponseKind::Internal).ok());
    EXPECT(engine.respond(request)->kind().value() == ResponseKind::Internal);

    EXPECT(version_number() == MILEPOST_VERSION_NUMBER && version_text().size() >= 5);
}

/// Polls an output, which must be of this kind
Output poll(Endpoint &endpoint, OutputKind kind, int line) {
    Output output = endpoint.poll_output().value();
    expect(output.kind == kind, "an output of another kind", line);
    return output;
}
#define POLL(kind) poll(endpoint, OutputKind::kind, __LINE__)

void test_outputs() {
    Endpoint endpoint = Endpoint::without_engine().value();
    EXPECT(!POLL(Timeout).timeout.has_value());
    RequestHandle request = endpoint.handle_request(0, REQUEST)->handle;
    Output output = POLL(NeedRows);
    EXPECT(output.handle == request && output.is_first && output.keys.size() > 0 &&
           output.keys[0].size() > 1);
    EXPECT(endpoint.handle_rows(request, {}).error().kind() == ErrorKind::Usage);
    EXPECT(endpoint.fail_rows(request, "the disk is gone").ok());
    output = POLL(Response);
    EXPECT(output.handle == request && output.response.kind().value() == ResponseKind::Internal);

    EXPECT(endpoint.handle_config(7, "{}").error().kind() == ErrorKind::Schema);
    EXPECT(endpoint.handle_block("{").error().kind() == ErrorKind::Syntax);
    EXPECT(endpoint.handle_commit_result(7).error().kind() == ErrorKind::Usage);
    for (bool commits : {false, true}) {
        RequestHandle config = endpoint.handle_config(7, CONFIG).value();
        output = POLL(NeedRows);
        std::vector<Row> absent(output.keys.size());
        EXPECT(output.handle == config && endpoint.handle_rows(config, absent).ok());
        output = POLL(Commit);
        EXPECT(output.handle == config && output.changes.size() > 0);
        if (commits) {
            EXPECT(endpoint.handle_commit_result(config).ok());
            EXPECT(!POLL(Completed).summary);
        } else {
            EXPECT(endpoint.handle_commit_result(config, "the disk is full").ok());
            output = POLL(Failed);
            EXPECT(output.error->kind() == ErrorKind::Storage &&
                   output.error->message() == "the disk is full");
        }
    }
    RequestHandle query = endpoint.handle_chain_query().value();
    EXPECT(POLL(NeedRows).handle == query && endpoint.cancel(query).value());
    EXPECT(endpoint.shutdown().ok() && !POLL(Timeout).timeout.has_value());
}

void test_watches() {
    Endpoint endpoint = Endpoint::without_engine().value();
    milepost_hash transaction = {};
    EXPECT(endpoint.watch(transaction, {static_cast<Milestone>(9)}).error().kind() ==
           ErrorKind::Enum);
    {
        Watch watch = Watch::start(endpoint, transaction).value();
        Watch moved = std::move(watch);
        Output output = POLL(NeedRows);
        EXPECT(output.handle != moved.handle() && output.is_first);
        std::vector<Row> absent(output.keys.size());
        EXPECT(endpoint.handle_rows(output.handle, absent).ok());
        EXPECT(POLL(Pending).handle == output.handle);
        output = POLL(Watch);
        EXPECT(output.handle == moved.handle() && output.watch_event == WatchEvent::Status);
        EXPECT(output.milestone == Milestone::None);
        EXPECT(output.event_id.substr(0, 7) == "NONE-0-");
        EXPECT(output.compact_status.find("\"final_execution_status\":\"NONE\"") !=
               std::string_view::npos);
    }
    // Both objects are gone, and the watch is with them.
    EXPECT(endpoint.shutdown().ok() && !POLL(Timeout).timeout.has_value());
    EXPECT(endpoint.watch(transaction).error().kind() == ErrorKind::Usage);
}

}  // namespace

int main() {
    test_handles();
    test_errors();
    test_storages();
    test_storage_check();
    test_proofs();
    test_inputs();
    test_outputs();
    test_watches();
    std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
