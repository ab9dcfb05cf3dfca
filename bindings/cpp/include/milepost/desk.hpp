// Where requests wait for their milestones, without a callback, a thread or a clock.
//
// Hand in what happens (submit, ingest, handle_time), then poll_answer until there is none; come back at next_deadline,
// or with the next event.
#ifndef MILEPOST_DESK_HPP
#define MILEPOST_DESK_HPP

#include "engine.hpp"
#include "far.hpp"

namespace milepost {
inline namespace MILEPOST_VARIANT {

/// What connects an answer with its request
using Ticket = std::uint64_t;

/// What became of a request
struct Submitted {
    Ticket ticket = 0;  ///< of a request that waits
    Answer answer;      ///< of a request that does not; empty when it waits

    /// Whether the answer comes later, by Desk::poll_answer
    bool waits() const noexcept { return !answer; }
};

/// The answer of a request that waited
struct Answered {
    Ticket ticket;  ///< that of the request
    Answer answer;  ///< its answer
};

/// An exchange that is to be driven again
struct Woken {
    Ticket ticket;      ///< that of the request
    Exchange exchange;  ///< to be driven to its end, and settled
};

/// What becomes of an exchange that is handed to a desk
enum class Admission : milepost_admission_t {
    Asleep = MILEPOST_ADMISSION_ASLEEP,      ///< it waits, and its ticket says where
    Again = MILEPOST_ADMISSION_AGAIN,        ///< it is to be polled once more
    Answered = MILEPOST_ADMISSION_ANSWERED,  ///< its answer may be sent, and its place is free
    Gone = MILEPOST_ADMISSION_GONE,          ///< it was cancelled meanwhile, and nobody wants its answer
};

/// Where a request stands that was handed to a desk
struct Admitted {
    Admission admission;  ///< what is to be done with it
    Ticket ticket;        ///< where it waits, after Admission::Asleep
};

/// Where requests wait; used by one thread at a time, another one gets Kind::Busy
class Desk : public Handle<milepost_desk, milepost_desk_free> {
public:
    using Handle::Handle;

    /// Makes a desk at which nobody waits; it keeps what it needs of the engine, which may be freed before it
    static Result<Desk> at(const Engine &engine, const Settings &settings = Settings()) noexcept {
        if (!engine) return Error(Kind::Null);
        return make(engine.get(), settings);
    }

    /// Makes a desk for a host whose storage is not at hand; it takes exchanges, and no bodies
    static Result<Desk> without_engine(const Settings &settings = Settings()) noexcept { return make(nullptr, settings); }

    /// Answers the body of a request, or lets it wait until `now` plus the timeout
    Result<Submitted> submit(std::uint64_t now, std::string_view body, std::string_view method = {}) noexcept {
        milepost_answer *answer = nullptr;
        milepost_error *error = nullptr;
        Submitted submitted;
        milepost_status_t status = milepost_desk_submit(get(), now, data(body), body.size(), data(method), method.size(),
                                                        &submitted.ticket, &answer, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        submitted.answer = Answer(answer);
        return submitted;
    }

    /// Takes in a block message by the engine, in one commit, and wakes whom it concerns; take answers next
    Result<Ingested> ingest(std::string_view message) noexcept {
        milepost_ingested *ingested = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_desk_ingest(get(), data(message), message.size(), &ingested, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Ingested(ingested);
    }

    /// Tells what became of a block that was committed elsewhere; take answers next
    Result<void> handle_ingested(const Ingested &ingested) noexcept {
        return done(milepost_desk_handle_ingested(get(), ingested.get()));
    }

    /// Tells the time; take answers next
    Result<void> handle_time(std::uint64_t now) noexcept { return done(milepost_desk_handle_time(get(), now)); }

    /// Takes an answer of a request that waited, if there is one now; to be called until there is none
    Result<std::optional<Answered>> poll_answer() noexcept {
        Ticket ticket = 0;
        milepost_answer *answer = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_desk_poll_answer(get(), &ticket, &answer, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        if (answer == nullptr) return std::optional<Answered>();
        return std::optional<Answered>(Answered{ticket, Answer(answer)});
    }

    /// When to call handle_time next, if anybody waits
    Result<std::optional<std::uint64_t>> next_deadline() const noexcept {
        std::uint64_t deadline = 0;
        milepost_status_t status = milepost_desk_next_deadline(get(), &deadline);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        if (deadline == MILEPOST_DEADLINE_NEVER) return std::optional<std::uint64_t>();
        return std::optional<std::uint64_t>(deadline);
    }

    /// Forgets a request whose client went away; true if it was waiting
    Result<bool> cancel(Ticket ticket) noexcept {
        std::int32_t was_open = 0;
        milepost_status_t status = milepost_desk_cancel(get(), ticket, &was_open);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        return was_open != 0;
    }

    /// Ends all waiting: open requests get a last look and then an error; take answers next
    Result<void> stop() noexcept { return done(milepost_desk_stop(get())); }

    /// How many calls the requests have that wait
    Result<std::size_t> open() const noexcept {
        std::size_t open = 0;
        milepost_status_t status = milepost_desk_open(get(), &open);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        return open;
    }

    /// Lets an exchange wait whose poll() ended in Step::Wait
    ///
    /// Admission::Asleep: the desk has it, and `exchange` is spent. Admission::Again: poll `exchange` again.
    Result<Admitted> admit(std::uint64_t now, Exchange &exchange) noexcept {
        milepost_admission_t admission = 0;
        Ticket ticket = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_desk_admit(get(), now, exchange.get(), &admission, &ticket, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Admitted{static_cast<Admission>(admission), ticket};
    }

    /// Takes an exchange that is to be driven again, if there is one now; settle() or cancel() is to follow
    Result<std::optional<Woken>> poll_exchange() noexcept {
        Ticket ticket = 0;
        milepost_exchange *exchange = nullptr;
        milepost_status_t status = milepost_desk_poll_exchange(get(), &ticket, &exchange);
        if (status != MILEPOST_STATUS_OK) return refused(status);
        if (exchange == nullptr) return std::optional<Woken>();
        return std::optional<Woken>(Woken{ticket, Exchange(exchange)});
    }

    /// Takes back an exchange that was driven again to its end
    Result<Admission> settle(Ticket ticket, Exchange &exchange) noexcept {
        milepost_admission_t admission = 0;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_desk_settle(get(), ticket, exchange.get(), &admission, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return static_cast<Admission>(admission);
    }

private:
    static Result<Desk> make(const milepost_engine *engine, const Settings &settings) noexcept {
        milepost_desk *desk = nullptr;
        milepost_error *error = nullptr;
        milepost_status_t status = milepost_desk_new(engine, settings.get(), &desk, &error);
        if (status != MILEPOST_STATUS_OK) return refused(status, error);
        return Desk(desk);
    }
};

}  // namespace MILEPOST_VARIANT
}  // namespace milepost

#endif
