// Answers requests for a driver that has the vectors, as tests/c/vectors.c does and in the same words, through C++.
//
// Built without exceptions and with them, by both compilers: what it says is the same.
#include <cinttypes>
#include <cstdio>

#include "../../bindings/cpp/examples/map_storage.hpp"

using namespace milepost;

namespace {

[[noreturn]] void fail(std::string_view what) {
    std::fprintf(stderr, "vectors: %.*s\n", static_cast<int>(what.size()), what.data());
    std::exit(2);
}

/// The value of a result that must have one
template <class T>
T must(Result<T> result) {
    if (!result) fail(result.error().message());
    return std::move(result).value();
}

/// One round trip for all keys, as a database would make it
class ManyStorage : public MapStorage {
public:
    std::int32_t get_many(Texts keys, Sink &sink) const override {
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

void say(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void say_text(std::string_view text) {
    say(" ");
    say(text);
}

void say_hex(std::string_view bytes) {
    say(" ");
    for (char byte : bytes) std::printf("%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    say(".");
}

void say_hash(const Hash &hash) {
    HashText text = must(format_hash(hash));
    if (must(parse_hash(text.text())) != hash) fail("a hash that cannot be written and read");
    say_text(text.text());
}

class Host {
public:
    explicit Host(std::string_view mode) : mode_(mode) { renew(); }

    void renew() {
        last_ = Answer();
        engine_ = Engine();
        desk_ = Desk();
        far_ = MapStorage::Rows();
        store_ = std::make_unique<MapStorage>();
        settings_ = must(Settings::make());
    }

    void set(int setting, std::uint64_t value) {
        Result<void> put = settings_.put(static_cast<Setting>(setting), value);
        put ? say("ok\n") : say_error(put.error());
    }

    void config(std::uint64_t height, std::string_view config) {
        open();
        if (!is_far()) {
            Result<void> put = engine_.put_config(height, config);
            put ? say("ok\n") : say_error(put.error());
            return;
        }
        Ingest ingest = must(Ingest::config(height, config));
        if (Result<void> settled = settle(ingest); !settled) return say_error(settled.error());
        say("ok\n");
    }

    void block(std::string_view message) {
        open();
        Result<Ingested> ingested = is_far() ? take_in(message) : desk_.ingest(message);
        if (!ingested) return say_error(ingested.error());
        if (must(ingested->read()).block.height == 0) fail("a block without a height");
        if (is_far() && !desk_.handle_ingested(*ingested)) fail("a desk that does not hear");
        poll();
    }

    void ask(std::uint64_t now, std::string_view body, std::string_view method) {
        open();
        if (is_far()) return ask_far(now, body, method);
        Result<Submitted> submitted = desk_.submit(now, body, method);
        if (!submitted) return say_error(submitted.error());
        ticket_ = submitted->ticket;
        if (submitted->waits()) return say("wait\n");
        answer(std::move(submitted->answer));
    }

    void time(std::uint64_t now) {
        if (!desk_.handle_time(now)) fail("a desk without time");
        poll();
    }

    void look() const {
        for (std::size_t i = 0, parts = must(last_.parts()); i < parts; i++) {
            Answer part = must(last_.part(i));
            say("part");
            say_text(must(part.body()));
            say("\n");
        }
        if (Result<Failure> failure = last_.failure()) {
            say("failure");
            say_text(failure->name);
            say_text(failure->cause);
            say_text(failure->info);
            say("\n");
        } else if (Result<Status> status = last_.status()) {
            std::printf("result %d %d", static_cast<int>(status->milestone), static_cast<int>(status->ending));
            say_hex(status->payload);
            say_text(status->transaction);
            say("\n");
            for (std::size_t i = 0; i < status->outcomes; i++) look_at(must(last_.outcome(i)));
            for (std::size_t i = 0; i < status->receipts; i++) {
                say("receipt");
                say_text(must(last_.receipt(i)));
                say("\n");
            }
            if (last_.outcome(status->outcomes).ok()) fail("one outcome too many");
        } else if (Result<std::string_view> json = last_.result_json()) {
            say("json");
            say_text(*json);
            say("\n");
        }
        say(".\n");
    }

private:
    bool is_far() const { return mode_ == "far"; }

    /// Makes the engine and the desk when the first command needs them: settings come before
    void open() {
        if (desk_) return;
        if (mode_ == "memory") {
            engine_ = must(Engine::in_memory(settings_));
        } else if (mode_ == "get") {
            engine_ = must(Engine::over(*store_, settings_));
        } else if (mode_ == "get_many") {
            engine_ = must(Engine::over(std::make_unique<ManyStorage>(), settings_));
        }
        desk_ = is_far() ? must(Desk::without_engine(settings_)) : must(Desk::at(engine_, settings_));
    }

    static void say_error(const Error &error) {
        std::printf("error %d ", static_cast<int>(error.kind()));
        say(error.path());
        say(": ");
        say(error.message());
        say("\n");
    }

    void answer(Answer answer) {
        last_ = std::move(answer);
        std::string_view body = must(last_.body());
        std::printf("answer %d %zu\n", static_cast<int>(must(last_.kind())), body.size());
        say(body);
    }

    /// The rows of these keys, as a far storage would send them after a while
    std::vector<Row> fetch(Texts keys) const {
        std::vector<Row> rows;
        for (std::string_view key : keys) {
            MapStorage::Rows::const_iterator found = far_.find(key);
            rows.push_back(found == far_.end() ? Row() : Row(found->second));
        }
        return rows;
    }

    /// Asks what a block or a configuration changes, and commits it
    Result<void> settle(Ingest &ingest) {
        for (;;) {
            Result<Intake> intake = ingest.poll();
            if (!intake) return std::move(intake).error();
            if (intake->step == Step::Done) break;
            std::vector<Row> rows = fetch(intake->keys);
            if (Result<void> supplied = ingest.supply(rows); !supplied) return supplied;
        }
        for (Change change : must(ingest.changes())) {
            if (change.removes) {
                far_.erase(std::string(change.key));
            } else {
                far_.insert_or_assign(std::string(change.key), std::string(change.row));
            }
        }
        return {};
    }

    Result<Ingested> take_in(std::string_view message) {
        Result<Ingest> ingest = Ingest::block(message, settings_);
        if (!ingest) return std::move(ingest).error();
        if (Result<void> settled = settle(*ingest); !settled) return std::move(settled).error();
        return ingest->result();
    }

    /// Drives an exchange to its answer, or to an empty one when it waits
    Answer drive(Exchange &exchange) const {
        for (;;) {
            Progress progress = must(exchange.poll());
            if (progress.step != Step::NeedRows) return std::move(progress.answer);
            if (!exchange.supply(fetch(progress.keys))) fail("an exchange takes no rows");
        }
    }

    void ask_far(std::uint64_t now, std::string_view body, std::string_view method) {
        Exchange exchange = must(Exchange::open(body, method, settings_));
        for (;;) {
            if (Answer answered = drive(exchange)) return answer(std::move(answered));
            Admitted admitted = must(desk_.admit(now, exchange));
            ticket_ = admitted.ticket;
            if (admitted.admission == Admission::Asleep) return say("wait\n");
        }
    }

    void poll_far() {
        while (std::optional<Woken> woken = must(desk_.poll_exchange())) {
            Answer answered;
            Admission admission = Admission::Again;
            while (admission == Admission::Again) {
                answered = drive(woken->exchange);
                admission = must(desk_.settle(woken->ticket, woken->exchange));
            }
            if (admission == Admission::Answered && woken->ticket == ticket_) return answer(std::move(answered));
        }
        say("ok\n");
    }

    void poll() {
        if (is_far()) return poll_far();
        std::optional<Answered> answered = must(desk_.poll_answer());
        if (!answered) return say("ok\n");
        if (answered->ticket != ticket_) fail("an answer with the ticket of nobody");
        answer(std::move(answered->answer));
    }

    static void look_at(const Outcome &outcome) {
        say("outcome");
        say_hash(outcome.id);
        say_hash(outcome.block_hash);
        say_text(outcome.executor_id);
        std::printf(" %d", static_cast<int>(outcome.ending));
        say_hex(outcome.payload);
        std::printf(" %" PRIu64 " %" PRIu64 " %" PRIu64, outcome.gas_burnt, outcome.tokens_burnt.high,
                    outcome.tokens_burnt.low);
        for (const Hash &id : outcome.receipt_ids) say_hash(id);
        for (std::string_view log : outcome.logs) say_hex(log);
        say_text(outcome.json);
        say("\n");
    }

    std::string_view mode_;
    std::unique_ptr<MapStorage> store_;
    MapStorage::Rows far_;
    Settings settings_;
    Engine engine_;
    Desk desk_;
    Answer last_;
    Ticket ticket_ = 0;
};

std::string read_bytes(std::size_t len) {
    std::string bytes(len, '\0');
    if (std::fread(bytes.data(), 1, len, stdin) != len) fail("the input ends early");
    return bytes;
}

}  // namespace

int main(int argc, char **argv) {
    Host host(argc == 2 ? argv[1] : "memory");
    char line[256];
    if (version_number() != MILEPOST_VERSION_NUMBER) fail("the header is of another version");
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
        std::uint64_t number = 0;
        std::size_t len = 0, method_len = 0;
        int setting = 0;
        if (std::string_view(line) == "new\n") {
            host.renew();
            say("ok\n");
        } else if (std::sscanf(line, "set %d %" SCNu64, &setting, &number) == 2) {
            host.set(setting, number);
        } else if (std::sscanf(line, "config %" SCNu64 " %zu", &number, &len) == 2) {
            host.config(number, read_bytes(len));
        } else if (std::sscanf(line, "block %zu", &len) == 1) {
            host.block(read_bytes(len));
        } else if (std::sscanf(line, "ask %" SCNu64 " %zu %zu", &number, &len, &method_len) == 3) {
            std::string body = read_bytes(len);
            host.ask(number, body, read_bytes(method_len));
        } else if (std::sscanf(line, "time %" SCNu64, &number) == 1) {
            host.time(number);
        } else if (std::string_view(line) == "look\n") {
            host.look();
        } else {
            fail(line);
        }
        std::fflush(stdout);
    }
    return 0;
}
