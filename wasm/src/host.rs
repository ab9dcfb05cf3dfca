//! An engine, its waiting room, and a storage in memory.
//!
//! With the storage in memory every call does its work at once. With a storage of the host, a call gives
//! out a [`Question`]; what came of it is handed in again, and the waiting room sees to it that no block
//! is missed which came in between. A host uses one of the two.

use core::ops::ControlFlow;

use milepost::engine::{Admission, ChainQuestion, Delivery, Desk, Engine, Exchange, Reply, Wait};
use milepost::facts::MemoryStorage;
use milepost::ingest::{IngestQuestion, IngestSettings};
use milepost::waiting::Ticket;
use milepost::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::given::{Given, LEAST, Place};
use crate::{Question, Refusal, Setup, texts};

/// An engine at which requests wait
#[wasm_bindgen]
#[derive(Debug)]
pub struct Host {
    desk: Desk,
    ingest: IngestSettings,
    rows: MemoryStorage,
    request: Place,
    given: Given,
    /// Of the request that waits, or of the answer that was given out last
    ticket: Ticket,
}

/// What became of a request that was asked again
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to go on in each of these ways")]
pub enum Settlement {
    /// It waits on
    Asleep,
    /// It is to be asked once more
    Again,
    /// It is answered
    Answered,
    /// It was cancelled meanwhile
    Gone,
}

/// Deadlines and the present are whole milliseconds of a clock that only goes forward; what is no time
/// counts as its beginning, what is beyond all time as its end
fn time(milliseconds: f64) -> u64 {
    // This is how a float becomes an integer.
    milliseconds as u64
}

#[wasm_bindgen]
impl Host {
    /// An engine that knows nothing yet
    #[wasm_bindgen(constructor)]
    pub fn new(setup: &Setup) -> Self {
        Self {
            desk: Desk::new(Engine::new(setup.settings), setup.patience),
            ingest: setup.ingest,
            rows: MemoryStorage::new(),
            request: Place::default(),
            given: Given::default(),
            ticket: Ticket::from_bits(0),
        }
    }

    // With the storage in memory.

    /// Where a request of so many bytes is to be put, for the call that follows
    pub fn room(&mut self, length: usize) -> *mut u8 {
        self.request.room(length)
    }

    /// Where it is told what class the answer has that was given out last, and where its pieces lie:
    /// an address that never changes
    pub fn table(&self) -> *const u32 {
        self.given.table()
    }

    /// Answers the request that was put in, or lets it wait until the deadline; how many bytes the
    /// answer has, or none: then there is a ticket
    pub fn call(&mut self, deadline: f64, length: usize, path_method: Option<String>) -> usize {
        let mut wait = match self.deliver(length, path_method) {
            ControlFlow::Break(length) => return length,
            ControlFlow::Continue(wait) => wait,
        };
        loop {
            match self.desk.admit(time(deadline), wait) {
                Admission::Asleep(ticket) => {
                    self.ticket = ticket;
                    return 0;
                }
                Admission::Again(exchange) => match exchange.drive(&self.rows) {
                    Reply::Answer(answer) => return self.given.answer(answer),
                    Reply::Wait(again) => wait = again,
                },
            }
        }
    }

    /// Answers the request that was put in, if it need not wait; how many bytes the answer has, or none
    pub fn answer(&mut self, length: usize, path_method: Option<String>) -> usize {
        self.deliver(length, path_method).break_value().unwrap_or(0)
    }

    /// Takes in a block message
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn ingest(&mut self, message: &[u8]) -> Result<String, Refusal> {
        #[cfg(feature = "test-panic")]
        assert_ne!(message, b"panic", "as the test wanted it");
        let ingested = self.desk.ingest(message, &self.ingest, &mut self.rows)?;
        Ok(texts::ingested(&ingested))
    }

    /// Puts a configuration in force
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn put_config(&mut self, height: u64, config: &[u8]) -> Result<(), Refusal> {
        Ok(self.desk.engine().put_config(height, text(config)?, &mut self.rows)?)
    }

    /// What is known about the chain
    ///
    /// # Errors
    ///
    /// None that the engine's own storage could make.
    pub fn chain(&self) -> Result<String, Refusal> {
        Ok(texts::chain(&self.desk.engine().chain(&self.rows)?))
    }

    /// Gives out the answer of a request that waited, with its ticket; how many bytes it has, or none
    pub fn poll_answer(&mut self) -> usize {
        let Some((ticket, answer)) = self.desk.poll_answer(&self.rows) else { return 0 };
        self.ticket = ticket;
        self.given.answer(answer)
    }

    // With a storage of the host.

    /// Asks a request
    pub fn ask(&self, body: &[u8], path_method: Option<String>) -> Question {
        let settings = self.desk.engine().settings();
        Question::exchange(Exchange::open(settings, body, path_method.as_deref()), None)
    }

    /// Asks what a block message changes
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn ask_ingest(&self, message: &[u8]) -> Result<Question, Refusal> {
        #[cfg(feature = "test-panic")]
        assert_ne!(message, b"panic", "as the test wanted it");
        Ok(Question::ingest(IngestQuestion::new(message, self.ingest)?))
    }

    /// Asks what putting a configuration in force changes
    ///
    /// # Errors
    ///
    /// It is no text; what else is wrong with it, polling tells.
    pub fn ask_config(&self, height: u64, config: &[u8]) -> Result<Question, Refusal> {
        Ok(Question::config(height, text(config)?.to_owned()))
    }

    /// Asks what is known about the chain
    pub fn ask_chain(&self) -> Question {
        Question::chain(ChainQuestion::new())
    }

    /// Lets a request wait until the deadline: then there is a ticket; otherwise it is to be asked once more
    ///
    /// # Errors
    ///
    /// The question is no request that has to wait.
    pub fn admit(&mut self, deadline: f64, question: &mut Question) -> Result<bool, Refusal> {
        let wait = question.take_wait()?;
        Ok(match self.desk.admit(time(deadline), wait) {
            Admission::Asleep(ticket) => {
                self.ticket = ticket;
                true
            }
            Admission::Again(exchange) => {
                question.ask_again(exchange);
                false
            }
        })
    }

    /// A request that waits and is to be asked again; [`settle`](Self::settle) is to follow
    pub fn poll_exchange(&mut self) -> Option<Question> {
        let (ticket, exchange) = self.desk.poll_exchange()?;
        Some(Question::exchange(exchange, Some(ticket)))
    }

    /// Takes back a request that was asked again
    ///
    /// # Errors
    ///
    /// The question did not come from [`poll_exchange`](Self::poll_exchange), or is still being asked.
    pub fn settle(&mut self, question: &mut Question) -> Result<Settlement, Refusal> {
        let Some(ticket) = question.room_ticket() else {
            return Err(Refusal::usage("the question did not wait before"));
        };
        let reply = question.take_reply()?;
        Ok(question.settled(self.desk.settle(ticket, reply)))
    }

    /// Tells those who wait what a block message changed, once that is committed
    pub fn handle_changes(&mut self, question: &Question) {
        if let Some(changes) = question.changes() {
            self.desk.handle_changes(changes);
        }
    }

    // With either.

    /// The ticket of the request that waits, or of the answer that was given out last
    pub fn ticket(&self) -> u64 {
        self.ticket.to_bits()
    }

    /// Takes in the time
    pub fn handle_time(&mut self, now: f64) {
        self.desk.handle_time(time(now));
    }

    /// When to hand in the time next
    pub fn next_deadline(&self) -> Option<f64> {
        // Above 2^53 milliseconds nobody waits for the difference.
        self.desk.next_deadline().map(|deadline| deadline as f64)
    }

    /// Forgets a request that waits; whether it did
    pub fn cancel(&mut self, ticket: u64) -> bool {
        self.desk.cancel(Ticket::from_bits(ticket))
    }

    /// Ends all waiting
    pub fn handle_stop(&mut self) {
        self.desk.handle_stop();
    }

    /// How many calls wait
    pub fn open(&self) -> usize {
        self.desk.open()
    }
}

impl Host {
    /// Gives out the answer and how many bytes it has, or goes on with a wait
    fn deliver(&mut self, length: usize, path_method: Option<String>) -> ControlFlow<usize, Wait> {
        let body = self.request.bytes(length);
        match self.desk.engine().deliver(body, path_method.as_deref(), &self.rows, LEAST) {
            Delivery::Answer(answer) => ControlFlow::Break(self.given.answer(answer)),
            Delivery::Pieces(pieces) => ControlFlow::Break(self.given.pieces(pieces)),
            Delivery::Wait(wait) => ControlFlow::Continue(wait),
        }
    }
}

fn text(bytes: &[u8]) -> Result<&str, Refusal> {
    let not_text = |error: core::str::Utf8Error| {
        Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to())
    };
    Ok(core::str::from_utf8(bytes).map_err(not_text)?)
}
