//! Requests for hosts whose storage is not at hand.
//!
//! A [`milepost_exchange`] says which rows a request needs, is resumed with them, and ends in an
//! answer or in a wait. A wait is asked again after blocks, by the host itself or through a desk.

use core::mem;

use milepost::engine::{Exchange, Reply, Wait};
use milepost::facts::{Question as _, Step};
use milepost::{Error, ErrorKind};

use crate::answer::{Answered, milepost_answer};
use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Handle};
use crate::error::milepost_error;
use crate::settings::{Chosen, milepost_settings};
use crate::status::Refusal;
use crate::storage::{self, FlatKeys, milepost_row};
use crate::value::{milepost_bytes, milepost_hash};

/// A request on its way to its answer, over a storage that is not at hand
pub struct milepost_exchange {
    _private: (),
}

impl Handle for milepost_exchange {
    type Value = Exchanging;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_exchange";
}

/// What a suspended question needs next
pub type milepost_step_t = i32;

/// The rows of the keys that come with it
pub const MILEPOST_STEP_NEED_ROWS: milepost_step_t = 1;
/// Nothing: it is done
pub const MILEPOST_STEP_DONE: milepost_step_t = 2;
/// A block: the milestone is not reached
pub const MILEPOST_STEP_WAIT: milepost_step_t = 3;

/// How a request that waits is asked again
pub type milepost_resume_t = i32;

/// After a block: it is answered, or waits on
pub const MILEPOST_RESUME_AGAIN: milepost_resume_t = 1;
/// Its time is up: it is answered, `TIMEOUT_ERROR` if need be
pub const MILEPOST_RESUME_LAST: milepost_resume_t = 2;

/// A request, as far as it has come
#[derive(Default)]
pub struct Exchanging {
    stage: Stage,
    /// What the host was asked for last
    keys: FlatKeys,
}

#[derive(Default)]
enum Stage {
    Asking(Box<Exchange>),
    Waiting(Box<Wait>),
    Answered,
    #[default]
    Spent,
}

impl Exchanging {
    /// A request that is to be asked
    pub(crate) fn asking(exchange: Exchange) -> Self {
        Self { stage: Stage::Asking(Box::new(exchange)), keys: FlatKeys::default() }
    }

    /// Takes out the wait that it ended in
    pub(crate) fn take_wait(&mut self) -> Result<Wait, Refusal> {
        match mem::take(&mut self.stage) {
            Stage::Waiting(wait) => Ok(*wait),
            other => {
                self.stage = other;
                Err(Refusal::usage("the request does not wait"))
            }
        }
    }

    /// Whether it was answered
    pub(crate) const fn is_answered(&self) -> bool {
        matches!(self.stage, Stage::Answered)
    }

    fn take_question(&mut self) -> Result<Box<Exchange>, Refusal> {
        match mem::take(&mut self.stage) {
            Stage::Asking(exchange) => Ok(exchange),
            other => {
                self.stage = other;
                Err(Refusal::usage("the request is answered, waits, or is at a desk"))
            }
        }
    }

    fn poll(&mut self) -> Result<(milepost_step_t, Option<Answered>), Refusal> {
        if matches!(self.stage, Stage::Waiting(_)) {
            return Ok((MILEPOST_STEP_WAIT, None));
        }
        let mut exchange = self.take_question()?;
        let reply = match exchange.poll()? {
            Step::Need(keys) => {
                self.keys = FlatKeys::of(keys);
                None
            }
            Step::Done(reply) => Some(reply),
        };
        let Some(reply) = reply else {
            self.stage = Stage::Asking(exchange);
            return Ok((MILEPOST_STEP_NEED_ROWS, None));
        };
        self.keys = FlatKeys::default();
        match reply {
            Reply::Answer(answer) => {
                self.stage = Stage::Answered;
                Ok((MILEPOST_STEP_DONE, Some(Answered::new(answer))))
            }
            Reply::Wait(wait) => {
                self.stage = Stage::Waiting(Box::new(wait));
                Ok((MILEPOST_STEP_WAIT, None))
            }
        }
    }
}

ffi_function! {
    /// Reads the body of a request over a storage that is not at hand
    ///
    /// There is an answer to any body. `settings` may be NULL for the defaults. `method` is what the address of
    /// the request names, and of length 0 when it names none. Poll it next.
    fn milepost_exchange_new(
        #[optional] settings: *const milepost_settings,
        body: *const u8,
        body_len: usize,
        method: *const u8,
        method_len: usize,
        exchange: *mut *mut milepost_exchange,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (body, method) = (body.bytes(body_len)?, method.method(method_len)?);
        let chosen = Chosen::or_default(settings);
        exchange.put(Exchanging::asking(Exchange::open(&chosen.engine, body, method)));
        Ok(())
    }
}

ffi_function! {
    /// Says what the request needs next
    ///
    /// `MILEPOST_STEP_NEED_ROWS`: the rows of `keys`, all from one state of the storage, by
    /// `milepost_exchange_supply`; they are asked for again until they are supplied. `MILEPOST_STEP_DONE`: nothing,
    /// `answer` is its answer. `MILEPOST_STEP_WAIT`: a block; then `milepost_exchange_resume` or
    /// `milepost_desk_admit`. The keys belong to `exchange`.
    fn milepost_exchange_poll(
        exchange: *mut milepost_exchange,
        step: *mut milepost_step_t,
        keys: *mut *const milepost_bytes,
        keys_len: *mut usize,
        answer: *mut *mut milepost_answer,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (next, answered) = exchange.poll()?;
        step.put(next);
        let spans = exchange.keys.spans();
        keys.put(spans.as_ptr());
        keys_len.put(spans.len());
        if let Some(answered) = answered {
            answer.put(answered);
        }
        Ok(())
    }
}

ffi_function! {
    /// Supplies the rows of the keys last asked for, in their order; they are copied
    ///
    /// `MILEPOST_STATUS_USAGE` unless there is one for each key, and nothing is changed then.
    fn milepost_exchange_supply(
        exchange: *mut milepost_exchange,
        rows: *const milepost_row,
        rows_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let rows = storage::rows(rows.items(rows_len)?)?;
        match &mut exchange.stage {
            Stage::Asking(question) => Ok(question.supply(&rows)?),
            Stage::Waiting(_) | Stage::Answered | Stage::Spent => {
                Err(Refusal::usage("the request asks for no rows"))
            }
        }
    }
}

ffi_function! {
    /// Answers a request whose rows cannot be had: `INTERNAL_ERROR` with this reason
    fn milepost_exchange_fail(
        exchange: *mut milepost_exchange,
        reason: *const u8,
        reason_len: usize,
        answer: *mut *mut milepost_answer,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let reason = String::from_utf8_lossy(reason.bytes(reason_len)?);
        let question = exchange.take_question()?;
        exchange.stage = Stage::Answered;
        let failure = Error::new(ErrorKind::Storage, reason);
        answer.put(Answered::new(question.fail(&failure)));
        Ok(())
    }
}

ffi_function! {
    /// Asks a request that waits once more, `MILEPOST_RESUME_...`; poll it next
    fn milepost_exchange_resume(
        exchange: *mut milepost_exchange,
        resume: milepost_resume_t,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let again = match resume {
            MILEPOST_RESUME_AGAIN => Wait::resume,
            MILEPOST_RESUME_LAST => Wait::resume_last,
            unknown => return Err(Refusal::number("way to resume", unknown)),
        };
        let wait = exchange.take_wait()?;
        *exchange = Exchanging::asking(again(wait));
        Ok(())
    }
}

ffi_function! {
    /// The transaction that a call of a request waits for, once it ended in `MILEPOST_STEP_WAIT`
    ///
    /// Calls are numbered from 0, without those that are ready. Nothing that the request waits for comes but with a block.
    fn milepost_exchange_waits_for(
        exchange: *const milepost_exchange,
        index: usize,
        transaction: *mut milepost_hash,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let Stage::Waiting(wait) = &exchange.stage else {
            return Err(Refusal::usage("the request does not wait"));
        };
        let found = wait.transactions().nth(index);
        transaction.put(found.ok_or_else(|| Refusal::index(index, wait.open_calls()))?.into());
        Ok(())
    }
}

ffi_function! {
    /// Frees a request, answered or not
    fn milepost_exchange_free(exchange: *mut milepost_exchange);
}
