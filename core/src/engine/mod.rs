//! The front desk: a request body goes in, an answer or a wait comes out; a block message goes in,
//! one atomic change of the storage comes out.
//!
//! The engine keeps no state: all there is to know is in the storage, so answering takes shared
//! references only and may run on any number of threads. Every step exists twice: as a question
//! that can be suspended ([`Exchange`], [`IngestQuestion`]), and as a call that drives it over a
//! storage at hand ([`Engine`]). Who waits is kept beside it, at a [`Desk`].

mod at_hand;
mod call;
mod chain;
mod desk;
mod exchange;
mod scratch;
#[cfg(test)]
mod storms;
#[cfg(test)]
mod tests;
mod wait;

use alloc::vec::Vec;

pub use at_hand::Piece;
pub use chain::{ChainQuestion, ChainStatus};
pub use desk::{Admission, Called, Desk, Patience, Settled};
pub use exchange::{Exchange, Reply};
pub use scratch::Scratch;
pub use wait::Wait;

use crate::Error;
use crate::config::PutQuestion;
use crate::facts::{Rows, Storage, drive};
use crate::ingest::{IngestQuestion, IngestSettings, Ingested};
use crate::primitives::BlockHeight;
use crate::rpc::{AnswerClass, Call, Incoming, Limits, Operation, parse};
use at_hand::AtHand;

/// How the engine answers where the interface leaves a choice
///
/// ```
/// use milepost::engine::Settings;
///
/// let settings = Settings::default().with_timeout_cause(true);
/// assert!(settings.timeout_cause);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// `TIMEOUT_ERROR` says why and shows the last status, as node 2.14 does; default off, because
    /// strictly typed clients of the interface refuse it
    pub timeout_cause: bool,
    /// What becomes of a request about a transaction that nobody has seen; default to wait, as a node
    /// does
    pub unknown: Unknown,
    /// The most outcomes and pending receipts of one answer; default 100,000, far above what the
    /// gas limit of a transaction can pay for
    pub max_receipts: usize,
    /// Limits of the envelope
    pub limits: Limits,
}

/// What becomes of a request for a milestone of a transaction that is in no block
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Unknown {
    /// It waits for the transaction to appear, and ends in `TIMEOUT_ERROR`
    #[default]
    Wait,
    /// It is answered with `UNKNOWN_TRANSACTION` at once
    ///
    /// At once only: a request that waits for a transaction that a fork takes away goes on waiting,
    /// for the other branch most likely has it too.
    Immediate,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout_cause: false,
            unknown: Unknown::Wait,
            max_receipts: 100_000,
            limits: Limits::default(),
        }
    }
}

impl Settings {
    /// Settings with or without the cause of a time-out
    #[must_use]
    pub const fn with_timeout_cause(mut self, timeout_cause: bool) -> Self {
        self.timeout_cause = timeout_cause;
        self
    }

    /// Settings with this answer to requests about unknown transactions
    #[must_use]
    pub const fn with_unknown(mut self, unknown: Unknown) -> Self {
        self.unknown = unknown;
        self
    }

    /// Settings with this limit of the receipts of one answer
    #[must_use]
    pub const fn with_max_receipts(mut self, max_receipts: usize) -> Self {
        self.max_receipts = max_receipts;
        self
    }

    /// Settings with this limit of the requests in one batch
    #[must_use]
    pub const fn with_max_batch(mut self, max_batch: usize) -> Self {
        self.limits.max_batch = max_batch;
        self
    }
}

/// A finished answer: the body of a JSON-RPC response
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "bytes and their class")]
pub struct Answer {
    /// The response, as compact JSON
    pub body: Vec<u8>,
    /// What kind of answer it is; a batch is a [`AnswerClass::Result`], whatever is in it
    pub class: AnswerClass,
}

/// What becomes of a request whose answer is written into a buffer
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a request is answered or it waits")]
pub enum Response {
    /// The answer stands in the buffer; it is of this class
    Written(AnswerClass),
    /// Its milestone is not reached yet, and nothing was written
    Wait(Wait),
}

/// What becomes of a request whose answer need not be in one piece
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a request is answered or it waits")]
pub enum Delivery {
    /// It is answered
    Answer(Answer),
    /// It is answered with a result, which is these pieces one behind the other
    Pieces([Piece; 4]),
    /// Its milestone is not reached yet
    Wait(Wait),
}

/// The engine: settings and nothing else, so it is free to copy and shared by reference
///
/// ```
/// use milepost::engine::{Engine, Reply};
/// use milepost::facts::MemoryStorage;
///
/// let engine = Engine::default();
/// let storage = MemoryStorage::new();
/// let body = br#"{"method":"tx_status","params":{"tx_hash":"11111111111111111111111111111111",
///     "sender_account_id":"alice.near","wait_until":"NONE"}}"#;
/// let Reply::Answer(answer) = engine.ask(body, None, &storage) else { panic!("it waits") };
/// let text = String::from_utf8(answer.body).unwrap();
/// assert!(text.contains("UNKNOWN_TRANSACTION"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Engine {
    settings: Settings,
}

impl Engine {
    /// An engine that answers by these settings
    pub const fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// The settings
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Answers the body of a request; never fails, because every failure has an answer of its own
    ///
    /// `path_method` is the method that the address of the request names, if it names one: a body
    /// that names another is refused. For a storage that is not at hand, see [`Exchange::open`].
    pub fn ask(
        &self,
        body: &[u8],
        path_method: Option<&str>,
        rows: &(impl Rows + ?Sized),
    ) -> Reply {
        let mut out = Vec::new();
        match self.respond(body, path_method, rows, &mut out) {
            Response::Written(class) => Reply::Answer(Answer { body: out, class }),
            Response::Wait(wait) => Reply::Wait(wait),
        }
    }

    /// Answers the body of a request as [`ask`](Self::ask) does, appending to a buffer of the host's
    ///
    /// A settled transaction costs one row read and its bytes copied once, the configuration of a
    /// final block three. With a buffer that is used again, nothing is allocated for them but the
    /// account id or the bytes of the transaction in the request, and the request's id if that is longer
    /// than 22 bytes. For what is not settled see [`respond_with`](Self::respond_with).
    ///
    /// ```
    /// use milepost::engine::{Engine, Response};
    /// use milepost::facts::MemoryStorage;
    /// use milepost::rpc::AnswerClass;
    ///
    /// let (engine, storage, mut out) = (Engine::default(), MemoryStorage::new(), Vec::new());
    /// for _ in 0..2 {
    ///     out.clear();
    ///     let response = engine.respond(b"{\"method\":\"block\"}", None, &storage, &mut out);
    ///     assert!(matches!(response, Response::Written(AnswerClass::RequestValidation)));
    ///     assert!(out.starts_with(b"{\"jsonrpc\":\"2.0\",\"error\":"));
    /// }
    /// ```
    pub fn respond(
        &self,
        body: &[u8],
        path_method: Option<&str>,
        rows: &(impl Rows + ?Sized),
        out: &mut Vec<u8>,
    ) -> Response {
        self.answer(parse(body, path_method, &self.settings.limits), rows, out)
    }

    /// Answers a request that was read, as [`respond`](Self::respond) does
    ///
    /// For hosts that look at requests before they are answered, to route or to count them.
    ///
    /// ```
    /// use milepost::engine::{Engine, Response};
    /// use milepost::facts::MemoryStorage;
    /// use milepost::rpc::{Incoming, Operation, parse};
    ///
    /// let (engine, mut out) = (Engine::default(), Vec::new());
    /// let body = br#"{"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;
    /// let incoming = parse(body, None, &engine.settings().limits);
    /// let Incoming::Single(Ok(call)) = &incoming else { panic!("a request") };
    /// assert!(matches!(call.operation, Operation::ProtocolConfig(_)));
    /// let response = engine.answer(incoming, &MemoryStorage::new(), &mut out);
    /// assert!(matches!(response, Response::Written(_)) && out.ends_with(br#""id":"dontcare"}"#));
    /// ```
    pub fn answer(
        &self,
        incoming: Incoming,
        rows: &(impl Rows + ?Sized),
        out: &mut Vec<u8>,
    ) -> Response {
        if self.writes_from_a_row(&incoming, rows, out) {
            return Response::Written(AnswerClass::Result);
        }
        self.answer_long(&mut Scratch::default(), incoming, rows, out)
    }

    /// Answers the body of a request as [`respond`](Self::respond) does, in memory that is used again
    ///
    /// With a buffer and a scratch that are used again, nothing is allocated for a result, settled or not,
    /// but the account id or the bytes of the transaction in the request, and its id if that is longer
    /// than 22 bytes. Batches are allocated for.
    ///
    /// ```
    /// use milepost::engine::{Engine, Response, Scratch};
    /// use milepost::facts::MemoryStorage;
    ///
    /// let (engine, storage) = (Engine::default(), MemoryStorage::new());
    /// let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    /// let body = br#"{"method":"tx","params":{"tx_hash":"11111111111111111111111111111111",
    ///     "sender_account_id":"alice.near","wait_until":"NONE"}}"#;
    /// for _ in 0..2 {
    ///     out.clear();
    ///     let response = engine.respond_with(&mut scratch, body, None, &storage, &mut out);
    ///     assert!(matches!(response, Response::Written(_)));
    /// }
    /// ```
    pub fn respond_with(
        &self,
        scratch: &mut Scratch,
        body: &[u8],
        path_method: Option<&str>,
        rows: &(impl Rows + ?Sized),
        out: &mut Vec<u8>,
    ) -> Response {
        self.answer_with(scratch, parse(body, path_method, &self.settings.limits), rows, out)
    }

    /// Answers a request that was read, as [`respond_with`](Self::respond_with) does
    ///
    /// ```
    /// use milepost::engine::{Engine, Response, Scratch};
    /// use milepost::facts::MemoryStorage;
    /// use milepost::rpc::parse;
    ///
    /// let (engine, mut scratch, mut out) = (Engine::default(), Scratch::default(), Vec::new());
    /// let incoming = parse(b"{}", None, &engine.settings().limits);
    /// let response = engine.answer_with(&mut scratch, incoming, &MemoryStorage::new(), &mut out);
    /// assert!(matches!(response, Response::Written(_)));
    /// ```
    pub fn answer_with(
        &self,
        scratch: &mut Scratch,
        incoming: Incoming,
        rows: &(impl Rows + ?Sized),
        out: &mut Vec<u8>,
    ) -> Response {
        if self.writes_from_a_row(&incoming, rows, out) {
            return Response::Written(AnswerClass::Result);
        }
        self.answer_long(scratch, incoming, rows, out)
    }

    /// Appends the answer if it stands in one row; whether it does
    #[inline]
    fn writes_from_a_row(
        &self,
        incoming: &Incoming,
        rows: &(impl Rows + ?Sized),
        out: &mut Vec<u8>,
    ) -> bool {
        match incoming {
            Incoming::Single(Ok(call)) => at_hand::write(call, &self.settings, rows, out),
            _ => false,
        }
    }

    /// Answers what is not at hand in one row
    fn answer_long(
        &self,
        scratch: &mut Scratch,
        incoming: Incoming,
        rows: &(impl Rows + ?Sized),
        out: &mut Vec<u8>,
    ) -> Response {
        let incoming = match incoming {
            Incoming::Single(Ok(Call { id, operation: Operation::TransactionStatus(request) })) => {
                return scratch.answer(id, request, &self.settings, rows, out);
            }
            others => others,
        };
        match Exchange::of_incoming(&self.settings, incoming).drive(rows) {
            Reply::Answer(answer) if out.capacity() == 0 => {
                *out = answer.body;
                Response::Written(answer.class)
            }
            Reply::Answer(answer) => {
                out.extend_from_slice(&answer.body);
                Response::Written(answer.class)
            }
            Reply::Wait(wait) => Response::Wait(wait),
        }
    }

    /// Answers the body of a request as [`ask`](Self::ask) does, without a copy of a result of `least`
    /// bytes or more, if it stands in one row
    ///
    /// The pieces of such an answer share the row that the storage gave: what a storage keeps in
    /// memory is sent to any number of clients, each at its pace, without a copy for each. Below
    /// some 16 KiB one buffer is as quick.
    ///
    /// ```
    /// use milepost::engine::{Delivery, Engine};
    /// use milepost::facts::MemoryStorage;
    ///
    /// let delivery = Engine::default().deliver(b"{}", None, &MemoryStorage::new(), 16 << 10);
    /// let bytes = match delivery {
    ///     Delivery::Answer(answer) => answer.body,
    ///     Delivery::Pieces(pieces) => pieces.concat(),
    ///     Delivery::Wait(_) => panic!("nothing was asked for"),
    /// };
    /// assert!(bytes.starts_with(b"{\"jsonrpc\":\"2.0\",\"error\":"));
    /// ```
    pub fn deliver(
        &self,
        body: &[u8],
        path_method: Option<&str>,
        rows: &(impl Rows + ?Sized),
        least: usize,
    ) -> Delivery {
        self.deliver_answer(parse(body, path_method, &self.settings.limits), rows, least)
    }

    /// Answers a request that was read, as [`deliver`](Self::deliver) does
    ///
    /// ```
    /// use milepost::engine::{Delivery, Engine};
    /// use milepost::facts::MemoryStorage;
    /// use milepost::rpc::parse;
    ///
    /// let engine = Engine::default();
    /// let incoming = parse(b"[]", None, &engine.settings().limits);
    /// let delivery = engine.deliver_answer(incoming, &MemoryStorage::new(), 16 << 10);
    /// let Delivery::Answer(answer) = delivery else { panic!("an empty batch") };
    /// assert!(answer.body.starts_with(b"{\"jsonrpc\":\"2.0\",\"error\":"));
    /// ```
    pub fn deliver_answer(
        &self,
        incoming: Incoming,
        rows: &(impl Rows + ?Sized),
        least: usize,
    ) -> Delivery {
        if let Incoming::Single(Ok(call)) = &incoming
            && let Some(result) = AtHand::find(call, &self.settings, rows)
        {
            if result.len() >= least {
                return Delivery::Pieces(result.into_pieces(&call.id));
            }
            let mut body = Vec::new();
            result.write(&call.id, &mut body);
            return Delivery::Answer(Answer { body, class: AnswerClass::Result });
        }
        let mut body = Vec::new();
        match self.answer_long(&mut Scratch::default(), incoming, rows, &mut body) {
            Response::Written(class) => Delivery::Answer(Answer { body, class }),
            Response::Wait(wait) => Delivery::Wait(wait),
        }
    }

    /// Takes in a block message, in one commit
    ///
    /// # Errors
    ///
    /// What is wrong with the message and where, or the storage's error; nothing is changed then.
    pub fn ingest(
        &self,
        message: &[u8],
        settings: &IngestSettings,
        storage: &mut (impl Storage + ?Sized),
    ) -> Result<Ingested, Error> {
        let (batch, ingested) = IngestQuestion::new(message, *settings)?.drive(storage)?;
        if !batch.is_empty() {
            storage.commit(batch)?;
        }
        Ok(ingested)
    }

    /// Puts a protocol configuration in force from this height on, in one commit
    ///
    /// A configuration that is already there for this height is replaced. All configurations of a
    /// storage belong to one chain.
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration and where, or the storage's error; nothing is changed
    /// then.
    pub fn put_config(
        &self,
        height: BlockHeight,
        text: &str,
        storage: &mut (impl Storage + ?Sized),
    ) -> Result<(), Error> {
        let batch = drive(&mut PutQuestion::new(height, text)?, storage)?;
        storage.commit(batch)
    }

    /// What the storage knows about the chain
    ///
    /// # Errors
    ///
    /// The storage's, or a corrupt row.
    pub fn chain(&self, rows: &(impl Rows + ?Sized)) -> Result<ChainStatus, Error> {
        drive(&mut ChainQuestion::new(), rows)
    }
}
