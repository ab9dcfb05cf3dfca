//! The desk: where requests wait, without a callback, a thread or a runtime.
//!
//! What happens is handed in, answers are taken out, and time is a number of the host's. A desk over
//! an engine asks the engine's storage itself; a desk without one is for hosts whose storage is
//! not at hand, who drive exchanges and hand them in.

use core::fmt;

use milepost::engine::{Admission, Called, Desk, Engine, Reply, Settled};
use milepost::waiting::Ticket;

use crate::answer::{Answered, milepost_answer};
use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Handle, Kept};
use crate::engine::milepost_engine;
use crate::error::milepost_error;
use crate::exchange::{Exchanging, milepost_exchange};
use crate::ingest::milepost_ingested;
use crate::settings::{Chosen, milepost_settings};
use crate::status::Refusal;

/// Where requests wait for their milestones
pub struct milepost_desk {
    _private: (),
}

/// A desk, and the engine it asks
pub struct DeskState {
    desk: Desk,
    engine: Option<Kept<milepost_engine>>,
}

impl fmt::Debug for DeskState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DeskState").field("open", &self.desk.open()).finish_non_exhaustive()
    }
}

impl Handle for milepost_desk {
    type Value = DeskState;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_desk";
}

/// No deadline: nobody waits
pub const MILEPOST_DEADLINE_NEVER: u64 = 0xffff_ffff_ffff_ffff;

/// What becomes of a request that is handed to a desk
pub type milepost_admission_t = i32;

/// It waits, and its ticket says where
pub const MILEPOST_ADMISSION_ASLEEP: milepost_admission_t = 1;
/// It is to be polled once more: a block came in meanwhile, there is no place, or its time is up
pub const MILEPOST_ADMISSION_AGAIN: milepost_admission_t = 2;
/// It is answered, and its place is free
pub const MILEPOST_ADMISSION_ANSWERED: milepost_admission_t = 3;
/// It was cancelled meanwhile, and nobody wants its answer
pub const MILEPOST_ADMISSION_GONE: milepost_admission_t = 4;

impl DeskState {
    /// The desk and its engine, for what needs a storage
    fn over_engine(&mut self) -> Result<(&mut Desk, &Kept<milepost_engine>), Refusal> {
        match &self.engine {
            Some(engine) => Ok((&mut self.desk, engine)),
            None => Err(Refusal::usage("the desk was made without an engine")),
        }
    }
}

ffi_function! {
    /// Makes a desk at which nobody waits
    ///
    /// It keeps what it needs of the engine, which may be freed before it. `engine` may be NULL for a host whose
    /// storage is not at hand. `settings` may be NULL for the defaults; how requests are answered is the
    /// engine's, if there is one.
    fn milepost_desk_new(
        #[optional] engine: *const milepost_engine,
        #[optional] settings: *const milepost_settings,
        desk: *mut *mut milepost_desk,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let chosen = Chosen::or_default(settings);
        let answers = engine.as_ref().map_or_else(|| Engine::new(chosen.engine), |engine| engine.engine);
        desk.put(DeskState {
            desk: Desk::new(answers, chosen.patience),
            engine: engine.map(|engine| engine.keep()),
        });
        Ok(())
    }
}

ffi_function! {
    /// Answers the body of a request, or lets it wait until `now` plus the timeout
    ///
    /// When `answer` is NULL after `MILEPOST_STATUS_OK` the request waits, and `milepost_desk_poll_answer` gives its
    /// answer with this ticket. `method` is what the address of the request names, and of length 0 when it names none.
    fn milepost_desk_submit(
        desk: *mut milepost_desk,
        now: u64,
        body: *const u8,
        body_len: usize,
        method: *const u8,
        method_len: usize,
        ticket: *mut u64,
        answer: *mut *mut milepost_answer,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (body, method) = (body.bytes(body_len)?, method.method(method_len)?);
        let (desk, engine) = desk.over_engine()?;
        match desk.call(now, body, method, &*engine.rows()?) {
            Called::Answer(found) => answer.put(Answered::new(found)),
            Called::Wait(waits) => ticket.put(waits.to_bits()),
        }
        Ok(())
    }
}

ffi_function! {
    /// Takes in a block message by the engine, in one commit, and wakes whom it concerns
    ///
    /// As `milepost_engine_ingest`; take answers next.
    fn milepost_desk_ingest(
        desk: *mut milepost_desk,
        message: *const u8,
        message_len: usize,
        #[optional] ingested: *mut *mut milepost_ingested,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let message = message.bytes(message_len)?;
        let (desk, engine) = desk.over_engine()?;
        let taken = engine.take_in(message)?;
        desk.handle_changes(&taken.changes);
        if let Some(ingested) = ingested {
            ingested.put(taken);
        }
        Ok(())
    }
}

ffi_function! {
    /// Tells a desk what became of a block that was committed elsewhere: by the engine, by another desk, by the host
    fn milepost_desk_handle_ingested(
        desk: *mut milepost_desk,
        ingested: *const milepost_ingested,
    ) -> milepost_status_t {
        desk.desk.handle_changes(&ingested.changes);
        Ok(())
    }
}

ffi_function! {
    /// Tells a desk the time; take answers next
    fn milepost_desk_handle_time(desk: *mut milepost_desk, now: u64) -> milepost_status_t {
        desk.desk.handle_time(now);
        Ok(())
    }
}

ffi_function! {
    /// Takes an answer of a request that waited; NULL when there is none now
    ///
    /// To be called until there is none, after anything was handed in.
    fn milepost_desk_poll_answer(
        desk: *mut milepost_desk,
        ticket: *mut u64,
        answer: *mut *mut milepost_answer,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (desk, engine) = desk.over_engine()?;
        if let Some((answered, found)) = desk.poll_answer(&*engine.rows()?) {
            ticket.put(answered.to_bits());
            answer.put(Answered::new(found));
        }
        Ok(())
    }
}

ffi_function! {
    /// When to call `milepost_desk_handle_time` next, or `MILEPOST_DEADLINE_NEVER`
    fn milepost_desk_next_deadline(desk: *const milepost_desk, deadline: *mut u64) -> milepost_status_t {
        deadline.put(desk.desk.next_deadline().unwrap_or(MILEPOST_DEADLINE_NEVER));
        Ok(())
    }
}

ffi_function! {
    /// Forgets a request whose client went away; `was_open` is 1 if it was waiting, else 0
    fn milepost_desk_cancel(desk: *mut milepost_desk, ticket: u64, was_open: *mut i32) -> milepost_status_t {
        was_open.put(i32::from(desk.desk.cancel(Ticket::from_bits(ticket))));
        Ok(())
    }
}

ffi_function! {
    /// Ends all waiting: open requests get a last look and then an error; take answers next
    fn milepost_desk_stop(desk: *mut milepost_desk) -> milepost_status_t {
        desk.desk.handle_stop();
        Ok(())
    }
}

ffi_function! {
    /// How many calls the requests have that wait
    fn milepost_desk_open(desk: *const milepost_desk, open: *mut usize) -> milepost_status_t {
        open.put(desk.desk.open());
        Ok(())
    }
}

ffi_function! {
    /// Lets an exchange wait that ended in `MILEPOST_STEP_WAIT`
    ///
    /// `MILEPOST_ADMISSION_ASLEEP`: the desk has it, under `ticket`; `exchange` is spent, and is freed. It comes back
    /// by `milepost_desk_poll_exchange`. `MILEPOST_ADMISSION_AGAIN`: poll `exchange` again.
    fn milepost_desk_admit(
        desk: *mut milepost_desk,
        now: u64,
        exchange: *mut milepost_exchange,
        admission: *mut milepost_admission_t,
        ticket: *mut u64,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let wait = exchange.take_wait()?;
        match desk.desk.admit(now, wait) {
            Admission::Asleep(waits) => {
                admission.put(MILEPOST_ADMISSION_ASLEEP);
                ticket.put(waits.to_bits());
            }
            Admission::Again(again) => {
                *exchange = Exchanging::asking(again);
                admission.put(MILEPOST_ADMISSION_AGAIN);
            }
        }
        Ok(())
    }
}

ffi_function! {
    /// Takes an exchange that is to be driven again; NULL when there is none now
    ///
    /// `milepost_desk_settle` or `milepost_desk_cancel` is to follow, or its place stays taken.
    fn milepost_desk_poll_exchange(
        desk: *mut milepost_desk,
        ticket: *mut u64,
        exchange: *mut *mut milepost_exchange,
    ) -> milepost_status_t {
        if let Some((woken, question)) = desk.desk.poll_exchange() {
            ticket.put(woken.to_bits());
            exchange.put(Exchanging::asking(question));
        }
        Ok(())
    }
}

ffi_function! {
    /// Takes back an exchange that was driven again to its end
    ///
    /// `MILEPOST_ADMISSION_ANSWERED`: its answer may be sent, and its place is free. `MILEPOST_ADMISSION_GONE`: it was
    /// cancelled meanwhile. `MILEPOST_ADMISSION_ASLEEP`: it waits on. `MILEPOST_ADMISSION_AGAIN`: poll `exchange`
    /// again, and settle it again. The exchange stays the host's, to be freed.
    fn milepost_desk_settle(
        desk: *mut milepost_desk,
        ticket: u64,
        exchange: *mut milepost_exchange,
        admission: *mut milepost_admission_t,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let ticket = Ticket::from_bits(ticket);
        if exchange.is_answered() {
            let was_open = desk.desk.cancel(ticket);
            admission.put(if was_open { MILEPOST_ADMISSION_ANSWERED } else { MILEPOST_ADMISSION_GONE });
            return Ok(());
        }
        let wait = exchange.take_wait()?;
        admission.put(match desk.desk.settle(ticket, Reply::Wait(wait)) {
            Settled::Asleep => MILEPOST_ADMISSION_ASLEEP,
            Settled::Again(again) => {
                *exchange = Exchanging::asking(again);
                MILEPOST_ADMISSION_AGAIN
            }
            Settled::Answer(_) => MILEPOST_ADMISSION_ANSWERED,
            Settled::Gone => MILEPOST_ADMISSION_GONE,
        });
        Ok(())
    }
}

ffi_function! {
    /// Frees a desk; whoever waits is forgotten
    fn milepost_desk_free(desk: *mut milepost_desk);
}
