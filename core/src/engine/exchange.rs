//! A request body on its way to its answer: one call, or a batch of them.
//!
//! All calls of a batch are asked together, so a remote storage pays for the deepest tree among
//! them and not for each. A batch is answered as a whole, once none of its calls is open; until
//! then the answers that are ready wait with it.

use alloc::vec::Vec;
use core::mem;

use super::call::Call;
use super::{Answer, Settings, Wait};
use crate::facts::{Key, Question, Row, Rows, Step, drive};
use crate::rpc::{AnswerClass, Failure, Incoming, RequestId, parse, write_batch};
use crate::{Error, ErrorKind};

/// What becomes of a request
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a request is answered or it waits")]
pub enum Reply {
    /// It is answered
    Answer(Answer),
    /// Its milestone is not reached yet
    Wait(Wait),
}

/// A request body whose rows are being fetched
///
/// A question like any other: poll it, supply rows, and it ends in a [`Reply`]. When the storage
/// fails, [`fail`](Self::fail) gives the answer to send.
///
/// ```
/// use std::pin::pin;
/// use std::task::{Context, Poll, Waker};
///
/// use milepost::Error;
/// use milepost::engine::{Exchange, Reply, Settings};
/// use milepost::facts::{Key, Question, Row, Step};
///
/// /// The storage of the host; this one is empty
/// async fn fetch(keys: &[Key]) -> Result<Vec<Option<Row>>, Error> {
///     Ok(vec![None; keys.len()])
/// }
///
/// async fn ask(body: &[u8]) -> Result<Reply, Error> {
///     let mut exchange = Exchange::open(&Settings::default(), body, None);
///     loop {
///         let rows = match exchange.poll()? {
///             Step::Done(reply) => return Ok(reply),
///             Step::Need(keys) => fetch(keys).await,
///         };
///         match rows {
///             Ok(rows) => exchange.supply(&rows)?,
///             Err(error) => return Ok(Reply::Answer(exchange.fail(&error))),
///         }
///     }
/// }
///
/// let body = br#"{"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;
/// let mut answer = pin!(ask(body));
/// let Poll::Ready(reply) = answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
///     panic!("nothing here sleeps");
/// };
/// let Reply::Answer(answer) = reply? else { panic!("configurations are not waited for") };
/// assert!(String::from_utf8_lossy(&answer.body).contains("UNKNOWN_BLOCK"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Exchange {
    settings: Settings,
    calls: Vec<Call>,
    batch: bool,
    over: bool,
    /// The generation of the rows when it was asked before, and that of the room that found them too
    /// old to wait with
    behind: Option<(u64, u64)>,
    keys: Vec<Key>,
    /// How many of `keys` each call asked for
    shares: Vec<usize>,
}

impl Exchange {
    /// Reads a request body
    ///
    /// `path_method` is the method that the address of the request names, if it names one.
    pub fn open(settings: &Settings, body: &[u8], path_method: Option<&str>) -> Self {
        Self::of_incoming(settings, parse(body, path_method, &settings.limits))
    }

    /// A request body that was read
    pub(super) fn of_incoming(settings: &Settings, incoming: Incoming) -> Self {
        let (calls, batch) = match incoming {
            Incoming::Single(call) => ([Call::new(call, settings)].into(), false),
            Incoming::Refused(refusal) => ([Call::refused(&refusal)].into(), false),
            Incoming::Batch(calls) => {
                (calls.into_iter().map(|call| Call::new(call, settings)).collect(), true)
            }
        };
        Self::of(*settings, calls, batch)
    }

    pub(super) fn of(settings: Settings, calls: Vec<Call>, batch: bool) -> Self {
        let (keys, shares) = (Vec::new(), Vec::new());
        Self { settings, calls, batch, over: false, behind: None, keys, shares }
    }

    /// The same question, with a note that rows of this generation were too old for a room of that one
    pub(super) const fn behind(mut self, rows: u64, room: u64) -> Self {
        self.behind = Some((rows, room));
        self
    }

    /// Fetches whatever is needed from a storage that is at hand
    pub fn drive(mut self, rows: &(impl Rows + ?Sized)) -> Reply {
        match drive(&mut self, rows) {
            Ok(reply) => reply,
            Err(error) => Reply::Answer(self.fail(&error)),
        }
    }

    /// The answer when the storage failed: `INTERNAL_ERROR` for whatever is not answered yet
    pub fn fail(mut self, error: &Error) -> Answer {
        let failure = Failure::of(error);
        self.calls.iter_mut().for_each(|call| call.fail(&failure));
        self.answer()
    }

    fn answer(&mut self) -> Answer {
        let mut answers = mem::take(&mut self.calls).into_iter().filter_map(|call| match call {
            Call::Answered(answer, _) => Some(answer),
            Call::Asking(_) | Call::Open(_) => None,
        });
        match answers.next() {
            Some(answer) if !self.batch => answer,
            Some(first) => {
                let mut body = Vec::new();
                write_batch(
                    [first].into_iter().chain(answers).map(|answer| answer.body),
                    &mut body,
                );
                Answer { body, class: AnswerClass::Result }
            }
            // No request is without a call, so all of them were handed out before.
            None => {
                let message = "the request is answered already".into();
                let mut body = Vec::new();
                let failure = Failure::Internal { message };
                failure.write(&RequestId::null(), &mut body);
                Answer { body, class: failure.class() }
            }
        }
    }
}

impl Question for Exchange {
    type Answer = Reply;

    fn poll(&mut self) -> Result<Step<'_, Reply>, Error> {
        if self.over {
            return Err(Error::new(ErrorKind::Usage, "the request is answered already"));
        }
        if self.keys.is_empty() {
            self.shares.clear();
            for call in &mut self.calls {
                let before = self.keys.len();
                call.poll(&self.settings, &mut self.keys);
                self.shares.push(self.keys.len() - before);
            }
        }
        if !self.keys.is_empty() {
            return Ok(Step::Need(&self.keys));
        }
        self.over = true;
        if self.calls.iter().any(|call| matches!(call, Call::Open(_))) {
            let calls = mem::take(&mut self.calls);
            let wait = Wait::new(self.settings, calls, self.batch, self.behind);
            return Ok(Step::Done(Reply::Wait(wait)));
        }
        Ok(Step::Done(Reply::Answer(self.answer())))
    }

    fn supply(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        if rows.len() != self.keys.len() {
            return Err(Error::new(
                ErrorKind::Usage,
                format_args!("{} rows supplied, {} asked for", rows.len(), self.keys.len()),
            ));
        }
        let mut rest = rows;
        // Taken out: whoever supplies once more has been asked for nothing.
        for (call, share) in self.calls.iter_mut().zip(self.shares.drain(..)) {
            // The shares add up to the number of keys, which is the number of rows.
            let (own, others) = rest.split_at(share);
            rest = others;
            if !own.is_empty() {
                call.supply(own);
            }
        }
        self.keys.clear();
        Ok(())
    }
}
