// Questions that can be suspended, for hosts whose storage is not at hand: they say which rows they need, and go on
// when they have them.
//
// Nothing here calls back: the host fetches rows as it likes, and supplies them in the order of their keys.
#ifndef MILEPOST_FAR_HPP
#define MILEPOST_FAR_HPP

#include "engine.hpp"

namespace milepost {
inline namespace MILEPOST_VARIANT {

/// What a suspended question needs next
enum class Step : milepost_step_t {
    NeedRows = MILEPOST_STEP_NEED_ROWS,  ///< the rows of the keys that come with it
    Done = MILEPOST_STEP_DONE,           ///< nothing: it is done
    Wait = MILEPOST_STEP_WAIT,           ///< a block: the milestone is not reached
};

/// How a request that waits is asked again
enum class Resume : milepost_resume_t {
    Again = MILEPOST_RESUME_AGAIN,  ///< after a block: it is answered, or waits on
    Last = MILEPOST_RESUME_LAST,    ///< its time is up: it is answered
};

/// A row that a host supplies, or that there is none; what it lends is copied by supply()
struct Row : milepost_row {
    /// There is no such row
    Row() noexcept : milepost_row() {}

    /// This is the row
    Row(std::string_view row) noexcept : milepost_row() {
        bytes.data = data(row);
        bytes.len = row.size();
        present = 1;
    }
};
static_assert(sizeof(Row) == sizeof(milepost_row), "an array of one is an array of the other");

/// What a request needs next
struct Progress {
    Step step = Step::NeedRows;  ///< what is to be done
    Texts keys;                  ///< of the rows it needs, after Step::NeedRows
    Answer answer;               ///< after Step::Done
};

/// A request on its way to its answer
class Exchange : public Handle<milepost_exchange, milepost_exchange_free> {
public:
    using Handle::Handle;

    /// Reads the body of a request; `method` is what its address names, if it names one
    static Result<Exchange> open(std::string_view body, std::string_view method = {},
                                 const Settings &settings = Settings()) noexcept {
        milepost_exchange *exchange = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_exchange_new(settings.get(), data(body), body.size(), data(method),
                                                         method.size(), &exchange, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Exchange(exchange);
    }

    /// Says what the request needs next; rows are asked for again until they are supplied
    Result<Progress> poll() noexcept {
        milepost_step_t step = 0;
        const milepost_bytes *keys = nullptr;
        std::size_t keys_len = 0;
        milepost_answer *answer = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_exchange_poll(get(), &step, &keys, &keys_len, &answer, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        Progress progress;
        progress.step = static_cast<Step>(step);
        progress.keys = Texts(keys, keys_len);
        progress.answer = Answer(answer);
        return progress;
    }

    /// Supplies the rows of the keys last asked for, one for each, in their order, all from one state of the storage
    Result<void> supply(Span<const Row> rows) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_exchange_supply(get(), rows.data(), rows.size(), &error);
        return done(status, error);
    }

    /// Answers a request whose rows cannot be had: INTERNAL_ERROR with this reason
    Result<Answer> fail(std::string_view reason) noexcept {
        milepost_answer *answer = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_exchange_fail(get(), data(reason), reason.size(), &answer, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Answer(answer);
    }

    /// Asks a request that waits once more; poll it next
    Result<void> resume(Resume resume) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_exchange_resume(get(), static_cast<milepost_resume_t>(resume), &error);
        return done(status, error);
    }

    /// The transaction that a call of the request waits for, after Step::Wait; calls that are ready do not count
    Result<Hash> waits_for(std::size_t index) const noexcept {
        Hash transaction;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_exchange_waits_for(get(), index, &transaction, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return transaction;
    }
};

/// What a block message needs next
struct Intake {
    Step step = Step::NeedRows;  ///< Step::NeedRows or Step::Done
    Texts keys;                  ///< of the rows it needs, after Step::NeedRows
};

/// A block message, or a protocol configuration, on its way into a storage
class Ingest : public Handle<milepost_ingest, milepost_ingest_free> {
public:
    using Handle::Handle;

    /// Reads a block message
    static Result<Ingest> block(std::string_view message, const Settings &settings = Settings()) noexcept {
        milepost_ingest *ingest = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_ingest_new(settings.get(), data(message), message.size(), &ingest, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Ingest(ingest);
    }

    /// Reads a protocol configuration that is to be in force from this height on; nothing comes of it but changes
    static Result<Ingest> config(std::uint64_t height, std::string_view config) noexcept {
        milepost_ingest *ingest = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_ingest_new_config(height, data(config), config.size(), &ingest, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Ingest(ingest);
    }

    /// Says what it needs next; rows are asked for again until they are supplied
    Result<Intake> poll() noexcept {
        milepost_step_t step = 0;
        const milepost_bytes *keys = nullptr;
        std::size_t keys_len = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_ingest_poll(get(), &step, &keys, &keys_len, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        Intake intake;
        intake.step = static_cast<Step>(step);
        intake.keys = Texts(keys, keys_len);
        return intake;
    }

    /// Supplies the rows of the keys last asked for, one for each, in their order, all from one state of the storage
    Result<void> supply(Span<const Row> rows) noexcept {
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_ingest_supply(get(), rows.data(), rows.size(), &error);
        return done(status, error);
    }

    /// The changes to commit, all or none, once it is done; none when the block was known
    Result<Changes> changes() const noexcept {
        const milepost_change *changes = nullptr;
        std::size_t changes_len = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_ingest_changes(get(), &changes, &changes_len, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Changes(changes, changes_len);
    }

    /// What became of the message once it is done, for a desk to hear of after the commit
    Result<Ingested> result() const noexcept {
        milepost_ingested *ingested = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_ingest_result(get(), &ingested, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Ingested(ingested);
    }
};

}  // namespace MILEPOST_VARIANT
}  // namespace milepost

#endif
