// What the vectors do not show of the C++ interface: who owns what, what is refused, and storages that throw.
#include <stdexcept>

#include "../../bindings/cpp/examples/map_storage.hpp"
#include "cpp_tour.inc"

using namespace milepost;

namespace {

int wrong = 0;

void expect(bool right, const char *what, int line) {
    if (!right) {
        std::printf("tour.cpp:%d: %s\n", line, what);
        wrong++;
    }
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

static_assert(!std::is_copy_constructible_v<Engine> && !std::is_copy_assignable_v<Engine>);
static_assert(std::is_nothrow_move_constructible_v<Engine> && std::is_nothrow_move_assignable_v<Engine>);
static_assert(!std::is_copy_constructible_v<Error> && std::is_nothrow_move_constructible_v<Error>);
static_assert(std::is_nothrow_move_constructible_v<Result<Answer>>);

constexpr std::string_view REQUEST =
    R"({"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}})";

/// A storage that throws when it is told to, and counts how often it ends
class Throwing : public MapStorage {
public:
    explicit Throwing(int *ended) : ended_(ended) {}
    ~Throwing() override { ++*ended_; }

    std::int32_t get(std::string_view key, Sink &sink) const override {
        if (throws) throw std::runtime_error("the disk is gone");
        return MapStorage::get(key, sink);
    }

    std::int32_t commit(Changes changes) override {
        if (throws) throw 7;
        return MapStorage::commit(changes);
    }

    bool throws = false;

private:
    int *ended_;
};

void handles() {
    Engine empty;
    EXPECT(!empty && empty.get() == nullptr);
    EXPECT(empty.answer(REQUEST).error().kind() == Kind::Null);
    EXPECT(Desk::at(empty).error().kind() == Kind::Null);
    EXPECT(Engine::over(std::unique_ptr<Storage>()).error().kind() == Kind::Null);

    Engine engine = Engine::in_memory().value();
    Engine moved = std::move(engine);
    EXPECT(moved && !engine);
    EXPECT(engine.chain().error().kind() == Kind::Null);
    engine = std::move(moved);
    EXPECT(engine && !moved);
    Engine &same = engine;
    engine = std::move(same);
    EXPECT(engine.chain().ok());

    // Out to the C interface, and back
    milepost_engine *raw = engine.release();
    EXPECT(!engine && raw != nullptr);
    milepost_chain chain;
    EXPECT(milepost_engine_chain(raw, &chain, nullptr) == MILEPOST_STATUS_OK);
    engine = Engine(raw);
    EXPECT(!engine.chain()->head.has_value() && !engine.chain()->last_final.has_value());

    Answer answer = engine.answer(REQUEST).value();
    EXPECT(answer.kind().value() == Class::Handler);
    EXPECT(answer.failure()->cause == "UNKNOWN_BLOCK" || answer.failure()->cause.size() > 4);
    EXPECT(answer.status().error().kind() == Kind::Usage);
    EXPECT(!answer.status().error().message().empty());
    EXPECT(answer.parts().value() == 0 && answer.part(0).error().kind() != Kind::Null);
}

void errors() {
    Engine engine = Engine::in_memory().value();
    Result<Ingested> refused = engine.ingest(R"({"block": {"header": {"height": "high"}}})");
    EXPECT(!refused && refused.error().get() != nullptr);
    EXPECT(!refused.error().path().empty() && !refused.error().message().empty());
    Error error = std::move(refused).error();
    std::string path(error.path());
    Error other = std::move(error);
    EXPECT(other.path() == path && error.path().empty() && !error.message().empty());
    milepost_error *raw = other.release();
    EXPECT(raw != nullptr && other.get() == nullptr && other.path().empty());
    milepost_error_free(raw);

    Result<Ingested> no_json = engine.ingest("{\"block\": tru}");
    EXPECT(no_json.error().kind() == Kind::Syntax && no_json.error().offset().has_value());

    Result<void> unknown = Settings::make()->put(static_cast<Setting>(1000), 1);
    EXPECT(unknown.error().kind() == Kind::Enum && !unknown.error().message().empty());
    EXPECT(Error(Kind::Busy).message().find("in use") != std::string_view::npos);

    EXPECT(parse_hash("0").error().kind() == Kind::Value);
    EXPECT(format_hash(Hash()).value().text() == "11111111111111111111111111111111");
}

void storages() {
    int ended = 0;
    {
        std::unique_ptr<Throwing> storage = std::make_unique<Throwing>(&ended);
        Throwing *throwing = storage.get();
        Engine engine = Engine::over(std::move(storage)).value();
        Desk desk = Desk::at(engine).value();
        throwing->throws = true;
        Result<Chain> chain = engine.chain();
        EXPECT(chain.error().kind() == Kind::Storage);
        EXPECT(chain.error().message().find("-2147483648") != std::string_view::npos);
        EXPECT(engine.put_config(7, CONFIG).error().kind() == Kind::Storage);
        EXPECT(engine.answer(REQUEST)->kind().value() == Class::Internal);
        throwing->throws = false;
        EXPECT(engine.put_config(7, CONFIG).ok());
        EXPECT(engine.chain().ok());
        engine = Engine();
        EXPECT(ended == 0);
        EXPECT(!desk.next_deadline()->has_value() && desk.open().value() == 0);
        EXPECT(desk.cancel(99).value() == false && desk.stop().ok());
    }
    EXPECT(ended == 1);

    MapStorage lent;
    EXPECT(Engine::over(lent)->put_config(7, CONFIG).ok());
    EXPECT(lent.rows().size() > 0);

    // What a storage lets in from inside itself is refused, and nothing is freed there
    class Reentrant : public MapStorage {
    public:
        std::int32_t get(std::string_view key, Sink &sink) const override {
            if (engine != nullptr) kind = engine->chain().error().kind();
            return MapStorage::get(key, sink);
        }
        const Engine *engine = nullptr;
        mutable Kind kind = Kind::Usage;
    };
    Reentrant reentrant;
    Engine engine = Engine::over(reentrant).value();
    reentrant.engine = &engine;
    EXPECT(engine.chain().ok() && reentrant.kind == Kind::Reentrant);
}

void duties() {
    EXPECT(check_storage([] { return std::make_unique<MapStorage>(); }).ok());
    EXPECT(check_storage([] { return std::unique_ptr<Storage>(); }).error().kind() == Kind::Storage);
    EXPECT(check_storage([]() -> std::unique_ptr<Storage> { throw 1; }).error().kind() == Kind::Storage);

    class Forgetful : public MapStorage {
        std::int32_t commit(Changes changes) override { return changes.size() > 1 ? 0 : MapStorage::commit(changes); }
    };
    Result<void> checked = check_storage([] { return std::make_unique<Forgetful>(); });
    EXPECT(checked.error().kind() == Kind::Storage && checked.error().message().find("duty") != std::string_view::npos);
}

void what_goes_in() {
    Result<Transaction> transaction = Transaction::decode_base64(TRANSACTION);
    Result<TransactionView> view = transaction->read();
    EXPECT(view->signature_is_valid && view->signer_id == "sender.testnet" && view->actions == 1 && view->nonce > 0);
    EXPECT(parse_hash(format_hash(view->hash)->text()).value() == view->hash);
    EXPECT(Transaction::decode("short").error().kind() == Kind::Syntax);

    Header header;
    header.height = 7;
    header.hash.bytes[0] = 1;
    header.protocol_version = 80;
    Message message = Message::begin(header).value();
    EXPECT(message.add_transaction("{").error().kind() == Kind::Syntax && !message.add_transaction("{}", "{"));
    EXPECT(!message.add_receipt("{") && !message.add_outcome("{") && !message.add_outcome("{}", "{"));
    std::string_view text = message.text().value();
    EXPECT(text.find("\"height\":7") != std::string_view::npos);
    Engine engine = Engine::in_memory().value();
    Result<Ingested> ingested = engine.ingest(text);
    EXPECT(ingested->read()->place == Place::Head && ingested->read()->block.hash == header.hash);
    EXPECT(ingested->undone(0).error().kind() == Kind::Index && ingested->redone(0).error().kind() == Kind::Index);
    EXPECT(engine.chain()->head->height == 7 && engine.chain()->protocol_version == 80);

    Checked checked = validate(REQUEST).value();
    EXPECT(checked.calls == 1 && !checked.refusal);
    checked = validate("[]").value();
    EXPECT(checked.refusal.body().ok());

    Exchange exchange = Exchange::open(REQUEST).value();
    Progress progress = exchange.poll().value();
    EXPECT(progress.step == Step::NeedRows && progress.keys.size() > 0 && progress.keys[0].size() > 1);
    EXPECT(exchange.supply({}).error().kind() == Kind::Usage);
    EXPECT(exchange.waits_for(0).ok() == false && exchange.resume(Resume::Again).ok() == false);
    EXPECT(exchange.fail("the disk is gone")->kind().value() == Class::Internal);

    EXPECT(version_number() == MILEPOST_VERSION_NUMBER && version_text().size() >= 5);
}

}  // namespace

int main() {
    handles();
    errors();
    storages();
    duties();
    what_goes_in();
    std::printf("%d wrong\n", wrong);
    return wrong == 0 ? 0 : 1;
}
