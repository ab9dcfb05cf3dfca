//! Questions over a storage of the host, suspended where rows are needed.
//!
//! [`Question::poll`] says which rows, [`Question::push`] and [`Question::supply`] hand them in, until
//! there are no more to ask for; then the question holds what it was asked for. It belongs to nobody
//! meanwhile: any number of questions can be under way while blocks come in.

use milepost::engine::{Answer, ChainQuestion, Engine, Exchange, Reply, Settled, Wait};
use milepost::facts::record::ConfigIndex;
use milepost::facts::{Batch, Key, Question as _, Row, Rows, Step, Storage};
use milepost::ingest::{Changes, IngestQuestion};
use milepost::waiting::Ticket;
use milepost::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::given::class_number;
use crate::{Refusal, packed, texts};

/// A question that is under way, or what came of it
#[wasm_bindgen]
#[derive(Debug)]
pub struct Question {
    state: State,
    ticket: Option<Ticket>,
    rows: Vec<Option<Row>>,
}

#[derive(Debug)]
enum State {
    Exchange(Exchange),
    Ingest(Box<IngestQuestion>),
    Chain(ChainQuestion),
    /// A configuration that waits for the row that lists all of them
    Config {
        height: u64,
        text: String,
        index: Option<Option<Row>>,
    },
    Answered(Answer),
    Waits(Wait),
    /// What is to be committed, what it means in words, and for those who wait
    Change {
        batch: Batch,
        text: String,
        changes: Option<Changes>,
    },
    Told(String),
    Over,
}

impl Question {
    const fn of(state: State, ticket: Option<Ticket>) -> Self {
        Self { state, ticket, rows: Vec::new() }
    }

    pub(crate) const fn exchange(exchange: Exchange, ticket: Option<Ticket>) -> Self {
        Self::of(State::Exchange(exchange), ticket)
    }

    pub(crate) fn ingest(question: IngestQuestion) -> Self {
        Self::of(State::Ingest(question.into()), None)
    }

    pub(crate) const fn chain(question: ChainQuestion) -> Self {
        Self::of(State::Chain(question), None)
    }

    pub(crate) const fn config(height: u64, text: String) -> Self {
        Self::of(State::Config { height, text, index: None }, None)
    }

    /// The request that waits
    pub(crate) fn take_wait(&mut self) -> Result<Wait, Refusal> {
        match core::mem::replace(&mut self.state, State::Over) {
            State::Waits(wait) => Ok(wait),
            other => {
                self.state = other;
                Err(Refusal::usage("the question does not wait"))
            }
        }
    }

    /// What came of a request that was asked again
    pub(crate) fn take_reply(&mut self) -> Result<Reply, Refusal> {
        match core::mem::replace(&mut self.state, State::Over) {
            State::Waits(wait) => Ok(Reply::Wait(wait)),
            State::Answered(answer) => Ok(Reply::Answer(answer)),
            other => {
                self.state = other;
                Err(Refusal::usage("the question is no request that was asked"))
            }
        }
    }

    /// The same question once more
    pub(crate) fn ask_again(&mut self, exchange: Exchange) {
        self.state = State::Exchange(exchange);
    }

    pub(crate) fn settled(&mut self, settled: Settled) -> crate::Settlement {
        match settled {
            Settled::Asleep => crate::Settlement::Asleep,
            Settled::Gone => crate::Settlement::Gone,
            Settled::Again(exchange) => {
                self.ask_again(exchange);
                crate::Settlement::Again
            }
            Settled::Answer(answer) => {
                self.state = State::Answered(answer);
                crate::Settlement::Answered
            }
        }
    }

    pub(crate) const fn room_ticket(&self) -> Option<Ticket> {
        self.ticket
    }

    pub(crate) const fn changes(&self) -> Option<&Changes> {
        match &self.state {
            State::Change { changes, .. } => changes.as_ref(),
            _ => None,
        }
    }
}

#[wasm_bindgen]
impl Question {
    /// The keys of the rows that are needed next, packed; none once there is a result
    ///
    /// # Errors
    ///
    /// What the question cannot be answered for. A request has an answer for everything, so it has no
    /// errors.
    pub fn poll(&mut self) -> Result<Option<Vec<u8>>, Refusal> {
        self.rows.clear();
        let next = match &mut self.state {
            State::Exchange(exchange) => match exchange.poll()? {
                Step::Need(keys) => return Ok(Some(packed::keys(keys))),
                Step::Done(Reply::Answer(answer)) => State::Answered(answer),
                Step::Done(Reply::Wait(wait)) => State::Waits(wait),
            },
            State::Ingest(question) => match question.poll()? {
                Step::Need(keys) => return Ok(Some(packed::keys(keys))),
                Step::Done((batch, ingested)) => {
                    let text = texts::ingested(&ingested);
                    State::Change { batch, text, changes: Some(ingested.changes) }
                }
            },
            State::Chain(question) => match question.poll()? {
                Step::Need(keys) => return Ok(Some(packed::keys(keys))),
                Step::Done(chain) => State::Told(texts::chain(&chain)),
            },
            State::Config { index: None, .. } => {
                return Ok(Some(packed::keys(&[ConfigIndex::key()])));
            }
            State::Config { height, text, index: Some(index) } => {
                let mut one = OneRow { index: index.take(), batch: Batch::new() };
                Engine::default().put_config(*height, text, &mut one)?;
                State::Change { batch: one.batch, text: "null".to_owned(), changes: None }
            }
            _ => return Ok(None),
        };
        self.state = next;
        Ok(None)
    }

    /// The next row of those that were asked for, or that there is none
    pub fn push(&mut self, row: Option<Vec<u8>>) {
        self.rows.push(row.map(Row::from));
    }

    /// Hands in the rows that were pushed
    ///
    /// # Errors
    ///
    /// They are more or fewer than were asked for.
    pub fn supply(&mut self) -> Result<(), Refusal> {
        let rows = core::mem::take(&mut self.rows);
        match &mut self.state {
            State::Exchange(question) => question.supply(&rows)?,
            State::Ingest(question) => question.supply(&rows)?,
            State::Chain(question) => question.supply(&rows)?,
            State::Config { index, .. } => match <[Option<Row>; 1]>::try_from(rows) {
                Ok([row]) => *index = Some(row),
                Err(rows) => {
                    let detail = format!("{} rows supplied, 1 asked for", rows.len());
                    return Err(Refusal::usage(&detail));
                }
            },
            _ => return Err(Refusal::usage("no rows were asked for")),
        }
        Ok(())
    }

    /// Ends a request whose rows cannot be fetched, with an answer that says so
    pub fn fail(&mut self, reason: &str) {
        if let State::Exchange(exchange) = core::mem::replace(&mut self.state, State::Over) {
            self.state = State::Answered(exchange.fail(&Error::new(ErrorKind::Storage, reason)));
        }
    }

    /// The ticket of a request that waited before; 0 for any other question
    pub fn ticket(&self) -> u64 {
        self.ticket.map_or(0, Ticket::to_bits)
    }

    /// The number of the answer's class, if there is an answer
    pub fn class(&self) -> Option<u32> {
        match &self.state {
            State::Answered(answer) => Some(class_number(answer.class)),
            _ => None,
        }
    }

    /// The answer, if there is one
    pub fn take_answer(&mut self) -> Option<Vec<u8>> {
        match core::mem::replace(&mut self.state, State::Over) {
            State::Answered(answer) => Some(answer.body),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// What is to be committed, packed; nothing if nothing changes
    pub fn take_changes(&mut self) -> Option<Vec<u8>> {
        match &mut self.state {
            State::Change { batch, .. } if !batch.is_empty() => {
                let packed = packed::changes(batch);
                *batch = Batch::new();
                Some(packed)
            }
            _ => None,
        }
    }

    /// What came of it, as JSON text; empty for a request
    pub fn text(&self) -> String {
        match &self.state {
            State::Change { text, .. } | State::Told(text) => text.clone(),
            _ => String::new(),
        }
    }
}

/// A storage of the one row that putting a configuration reads
struct OneRow {
    index: Option<Row>,
    batch: Batch,
}

impl Rows for OneRow {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        if *key == ConfigIndex::key() {
            return Ok(self.index.clone());
        }
        Err(Error::new(ErrorKind::Usage, format_args!("the row {key:?} is not at hand")))
    }
}

impl Storage for OneRow {
    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.batch = batch;
        Ok(())
    }
}
