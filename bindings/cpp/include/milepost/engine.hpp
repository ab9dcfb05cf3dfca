// An engine over a storage: blocks in, answers out, from any number of threads.
//
// Nothing waits here: what would have to is answered as though its time was up. Waiting is the Desk's.
#ifndef MILEPOST_ENGINE_HPP
#define MILEPOST_ENGINE_HPP

#include "answer.hpp"
#include "storage.hpp"

namespace milepost {
inline namespace MILEPOST_VARIANT {

/// A block by height and hash
struct Point {
    Point() noexcept = default;
    explicit Point(const milepost_point &raw) noexcept : height(raw.height), hash(raw.hash) {}

    std::uint64_t height = 0;  ///< its height
    Hash hash;                 ///< its hash
};

/// Where a block stands after it came in
enum class Place : milepost_place_t {
    Head = MILEPOST_PLACE_HEAD,    ///< the new head of the canonical chain
    Known = MILEPOST_PLACE_KNOWN,  ///< in before; nothing changed
    Aside = MILEPOST_PLACE_ASIDE,  ///< on a fork that is not canonical; its facts are parked
    Other = MILEPOST_PLACE_OTHER,  ///< something that the library has no number for
};

/// What became of a block message, in numbers
struct Summary {
    Point block;                      ///< the block of the message
    std::optional<Point> last_final;  ///< the newest final block, as of now
    Place place = Place::Other;       ///< where the block stands now
    std::size_t transactions = 0;     ///< transactions in the block
    std::size_t outcomes = 0;         ///< execution outcomes in it, those of transactions included
    std::size_t receipts = 0;         ///< receipts whose bodies it carries
    std::size_t undone = 0;           ///< blocks that left the canonical chain because of it
    std::size_t redone = 0;           ///< parked blocks that joined the canonical chain with it
};

/// What became of a block message
class Ingested : public Handle<milepost_ingested, milepost_ingested_free> {
public:
    using Handle::Handle;

    /// All of it but the blocks that left or joined the canonical chain
    Result<Summary> read() const noexcept {
        milepost_summary raw;
        milepost_status_t status = milepost_ingested_read(get(), &raw);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        Summary summary;
        summary.block = Point(raw.block);
        if (raw.has_last_final != 0) summary.last_final = Point(raw.last_final);
        summary.place = static_cast<Place>(raw.place);
        summary.transactions = raw.transactions;
        summary.outcomes = raw.outcomes;
        summary.receipts = raw.receipts;
        summary.undone = raw.undone;
        summary.redone = raw.redone;
        return summary;
    }

    /// A block that left the canonical chain, newest first
    Result<Point> undone(std::size_t index) const noexcept {
        milepost_point raw;
        milepost_status_t status = milepost_ingested_undone(get(), index, &raw);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        return Point(raw);
    }

    /// A parked block that joined the canonical chain, oldest first
    Result<Point> redone(std::size_t index) const noexcept {
        milepost_point raw;
        milepost_status_t status = milepost_ingested_redone(get(), index, &raw);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        return Point(raw);
    }
};

/// What the storage knows about the chain
struct Chain {
    std::optional<Point> head;           ///< the newest canonical block
    std::optional<Point> earliest;       ///< the oldest canonical block that is kept
    std::optional<Point> last_final;     ///< the newest final block
    std::uint64_t blocks = 0;            ///< canonical blocks kept
    std::uint64_t generation = 0;        ///< batches that changed the chain: equal numbers mean equal facts
    std::uint32_t protocol_version = 0;  ///< `latest_protocol_version` of the head's header; 0 without a head
};

/// An engine over a storage; all its functions may be called by any number of threads at a time
class Engine : public Handle<milepost_engine, milepost_engine_free> {
public:
    using Handle::Handle;

    /// Makes an engine that keeps its rows in memory
    static Result<Engine> in_memory(const Settings &settings = Settings()) noexcept {
        milepost_engine *engine = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_engine_new(settings.get(), &engine, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Engine(engine);
    }

    /// Makes an engine over a storage of the host's, which is deleted when nothing uses it any more
    static Result<Engine> over(std::unique_ptr<Storage> storage, const Settings &settings = Settings()) noexcept {
        if (storage == nullptr) return Error(Kind::Null);
        Storage *given = storage.get();
        milepost_storage raw = Storage::give(std::move(storage));
        Result<Engine> engine = over(raw, settings);
        // What is refused is not finalized: it is still ours.
        if (!engine) delete given;
        return engine;
    }

    /// Makes an engine over a storage of the host's, which outlives the engine and its desks
    static Result<Engine> over(Storage &storage, const Settings &settings = Settings()) noexcept {
        return over(Storage::lend(storage), settings);
    }

    /// Makes an engine over the functions of the C interface
    static Result<Engine> over(const milepost_storage &storage, const Settings &settings = Settings()) noexcept {
        milepost_engine *engine = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_engine_new_over(&storage, settings.get(), &engine, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Engine(engine);
    }

    /// Makes an engine that keeps its rows in a file, which is made when it is not there
    ///
    /// The file is a database, open in one engine at a time; what was taken in is on disk when its call returns.
    static Result<Engine> open(std::string_view path, const Settings &settings = Settings()) noexcept {
        milepost_engine *engine = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_engine_open(data(path), path.size(), settings.get(), &engine, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Engine(engine);
    }

    /// Takes in a block message, in one commit
    ///
    /// Whoever waits at a desk for what it brings is woken by Desk::handle_ingested.
    Result<Ingested> ingest(std::string_view message) const noexcept {
        milepost_ingested *ingested = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_engine_ingest(get(), data(message), message.size(), &ingested, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Ingested(ingested);
    }

    /// Puts a protocol configuration, as JSON, in force from this height on
    Result<void> put_config(std::uint64_t height, std::string_view config) const noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_engine_put_config(get(), height, data(config), config.size(), &error);
        return done(status, error);
    }

    /// Answers the body of a request, as of now; `method` is what its address names, if it names one
    Result<Answer> answer(std::string_view body, std::string_view method = {}) const noexcept {
        milepost_answer *answer = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_engine_answer(get(), data(body), body.size(), data(method), method.size(),
                                                          &answer, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Answer(answer);
    }

    /// What the storage knows about the chain
    Result<Chain> chain() const noexcept {
        milepost_chain raw;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_engine_chain(get(), &raw, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        Chain chain;
        if (raw.has_head != 0) {
            chain.head = Point(raw.head);
            chain.earliest = Point(raw.earliest);
        }
        if (raw.has_last_final != 0) chain.last_final = Point(raw.last_final);
        chain.blocks = raw.blocks;
        chain.generation = raw.generation;
        chain.protocol_version = raw.protocol_version;
        return chain;
    }
};

}  // namespace MILEPOST_VARIANT
}  // namespace milepost

#endif
