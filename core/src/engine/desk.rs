//! The engine with its waiting room: submit, hand in what happens, take answers, ask when to come
//! again.
//!
//! The form in which every host can wait, without a callback, a thread or a runtime: what happens is
//! handed in by `handle_*`, answers are taken out by `poll_*`. A request is asked again only when a fact
//! changed that it cannot do without, and is answered from the rows as they are then. Time is a
//! number that the host passes; the storage is the host's too.

use super::wait::Held;
use super::{Answer, Engine, Exchange, Reply, Wait};
use crate::Error;
use crate::facts::{Rows, Storage};
use crate::ingest::{Changes, IngestSettings, Ingested};
use crate::waiting::{Refusal, Refused, Room, Ticket};

/// How long requests may wait, and how many of them
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Patience {
    /// Time from a request to its deadline, in the host's unit; default 10,000, the ten seconds of
    /// a node for hosts that count milliseconds
    pub timeout: u64,
    /// The most calls of requests that wait; default 100,000, which take some 25 MiB
    ///
    /// Beside that each call keeps the id of its request, of up to
    /// [`Limits::ID_BYTES`](crate::rpc::Limits::ID_BYTES), and a batch the refusals of its calls.
    pub limit: usize,
    /// Hosts that serve strangers pass a number that these cannot know; see [`Room::new`]
    pub seed: u64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { timeout: 10_000, limit: 100_000, seed: 0 }
    }
}

impl Patience {
    /// Patience with this time from a request to its deadline
    #[must_use]
    pub const fn with_timeout(mut self, timeout: u64) -> Self {
        self.timeout = timeout;
        self
    }

    /// Patience with this limit of calls that wait
    #[must_use]
    pub const fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Patience with this seed of the waiting room
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// What becomes of a request that was called in
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a request is answered or it waits")]
pub enum Called {
    /// It is answered
    Answer(Answer),
    /// It waits; its answer will come with this ticket
    Wait(Ticket),
}

/// What becomes of a request that was asked outside, when it wants to wait
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to go on in each of these ways")]
pub enum Admission {
    /// It waits; its answer will come with this ticket
    Asleep(Ticket),
    /// To be asked once more: a block came in meanwhile, or there is no place for it, and then it ends
    /// in an answer
    Again(Exchange),
}

/// What becomes of a request that was woken and asked again outside
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to go on in each of these ways")]
pub enum Settled {
    /// It waits on
    Asleep,
    /// To be asked once more: a block came in meanwhile, its time was up, or the desk stopped
    Again(Exchange),
    /// It is answered
    Answer(Answer),
    /// It was cancelled meanwhile
    Gone,
}

/// The engine with its waiting room
///
/// The loop of a host whose storage is at hand:
///
/// ```
/// use milepost::engine::{Called, Desk, Engine, Patience};
/// use milepost::facts::MemoryStorage;
/// use milepost::ingest::IngestSettings;
/// use milepost_practice::{Practice, Settings};
///
/// // What the host's event loop hands over: here a chain that makes a block a second.
/// let mut chain = Practice::new(Settings::demo(1));
/// let mut storage = MemoryStorage::new();
/// let mut desk = Desk::new(Engine::default(), Patience::default().with_timeout(10_000));
/// let mut answered = 0;
/// for now in (0..30_000).step_by(1_000) {
///     // A block came in.
///     let block = chain.next_message();
///     desk.ingest(&block.json, &IngestSettings::default(), &mut storage)?;
///     // A client asks.
///     if let Some(transaction) = block.transactions.first() {
///         let body = format!(
///             r#"{{"method": "tx_status", "params": {{"tx_hash": "{}", "sender_account_id": "{}"}}}}"#,
///             transaction.hash, transaction.signer_id,
///         );
///         match desk.call(now, body.as_bytes(), None, &storage) {
///             Called::Answer(_) => answered += 1,
///             Called::Wait(_ticket) => {} // Remembered with the client's connection.
///         }
///     }
///     // Time went by; a host that sleeps does so until `desk.next_deadline()`.
///     desk.handle_time(now);
///     // Whatever that changed:
///     while let Some((_ticket, answer)) = desk.poll_answer(&storage) {
///         assert!(answer.body.starts_with(b"{\"jsonrpc\":\"2.0\","));
///         answered += 1;
///     }
/// }
/// assert!(answered > 15 && desk.open() < 10);
/// # Ok::<(), milepost::Error>(())
/// ```
///
/// Where rows are far away, [`admit`](Self::admit) takes in the [`Wait`] of an [`Exchange`] that was
/// driven outside, [`poll_exchange`](Self::poll_exchange) gives out those to be driven again, and
/// [`settle`](Self::settle) takes back what became of them. Blocks may come in meanwhile.
#[derive(Debug)]
pub struct Desk {
    engine: Engine,
    patience: Patience,
    room: Room<Held>,
    stopping: bool,
}

impl Desk {
    /// A desk at which nobody waits
    pub fn new(engine: Engine, patience: Patience) -> Self {
        let room = Room::new(patience.limit, patience.seed);
        Self { engine, patience, room, stopping: false }
    }

    /// The engine that answers
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// How many calls the requests have that wait
    pub const fn open(&self) -> usize {
        self.room.open()
    }

    /// When to call [`handle_time`](Self::handle_time): never later than the earliest deadline, and
    /// exactly then once it is near; see [`Room::next_deadline`]
    pub fn next_deadline(&self) -> Option<u64> {
        self.room.next_deadline()
    }

    /// Answers the body of a request, or lets it wait until `now` plus the timeout
    pub fn call(
        &mut self,
        now: u64,
        body: &[u8],
        path_method: Option<&str>,
        rows: &(impl Rows + ?Sized),
    ) -> Called {
        let mut reply = self.engine.ask(body, path_method, rows);
        loop {
            let wait = match reply {
                Reply::Answer(answer) => return Called::Answer(answer),
                Reply::Wait(wait) => wait,
            };
            match self.admit(now, wait) {
                Admission::Asleep(ticket) => return Called::Wait(ticket),
                // Rows that are no newer than before are let in, and they cannot get newer for ever
                // while the room hears of nothing.
                Admission::Again(exchange) => reply = exchange.drive(rows),
            }
        }
    }

    /// Takes in a block message, in one commit, and wakes whom it concerns
    ///
    /// # Errors
    ///
    /// Those of [`Engine::ingest`].
    pub fn ingest(
        &mut self,
        message: &[u8],
        settings: &IngestSettings,
        storage: &mut (impl Storage + ?Sized),
    ) -> Result<Ingested, Error> {
        let ingested = self.engine.ingest(message, settings, storage)?;
        self.handle_changes(&ingested.changes);
        Ok(ingested)
    }

    /// Takes in what a block changed, after its commit, when the host ingests by itself
    pub fn handle_changes(&mut self, changes: &Changes) {
        self.room.handle_changes(changes);
    }

    /// Takes in the time: requests whose deadline is not after `now` are answered, one way or the
    /// other
    pub fn handle_time(&mut self, now: u64) {
        self.room.handle_time(now);
    }

    /// Ends all waiting: open requests get a last look and then an error, as do those that come
    /// later and would have to wait
    pub fn handle_stop(&mut self) {
        self.stopping = true;
        self.room.wake_all();
    }

    /// Takes an answer, of a request that was waiting, from the rows as they are now
    ///
    /// To be called until there is none, after anything was handed in.
    pub fn poll_answer(&mut self, rows: &(impl Rows + ?Sized)) -> Option<(Ticket, Answer)> {
        while let Some((ticket, mut exchange)) = self.poll_exchange() {
            loop {
                match self.settle(ticket, exchange.drive(rows)) {
                    Settled::Answer(answer) => return Some((ticket, answer)),
                    Settled::Asleep | Settled::Gone => break,
                    // Not for ever, for the reason given at `call`.
                    Settled::Again(again) => exchange = again,
                }
            }
        }
        None
    }

    /// Forgets a request whose client went away, in O(1); whether it was open
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        self.room.leave(ticket)
    }

    /// Lets a request wait that was asked outside
    pub fn admit(&mut self, now: u64, wait: Wait) -> Admission {
        let newest = self.room.generation();
        let (held, sleep) = wait.into_parts(newest);
        if self.stopping {
            return Admission::Again(held.resume_refused(STOPPING));
        }
        let deadline = now.saturating_add(self.patience.timeout);
        let places = held.calls();
        match self.room.admit(held, places, sleep, deadline) {
            Ok(ticket) => Admission::Asleep(ticket),
            Err(Refused { request, why: Refusal::Full }) => {
                let (open, limit) = (self.room.open(), self.room.limit());
                Admission::Again(request.resume_crowded_out(open, limit))
            }
            Err(Refused { request, .. }) => {
                Admission::Again(request.resume().behind(sleep.generation, newest))
            }
        }
    }

    /// Takes a request that is to be asked again outside; [`settle`](Self::settle) or
    /// [`cancel`](Self::cancel) is to follow, or its place stays taken
    pub fn poll_exchange(&mut self) -> Option<(Ticket, Exchange)> {
        let woken = self.room.poll_woken()?;
        let exchange = match woken.request {
            request if self.stopping => request.resume_refused(STOPPING),
            request if woken.expired => request.resume_last(),
            request => request.resume(),
        };
        Some((woken.ticket, exchange))
    }

    /// Takes back a request that was asked again outside
    pub fn settle(&mut self, ticket: Ticket, reply: Reply) -> Settled {
        let wait = match reply {
            Reply::Answer(answer) if self.room.leave(ticket) => return Settled::Answer(answer),
            Reply::Answer(_) => return Settled::Gone,
            Reply::Wait(wait) => wait,
        };
        let newest = self.room.generation();
        let (held, sleep) = wait.into_parts(newest);
        if self.stopping {
            return Settled::Again(held.resume_refused(STOPPING));
        }
        match self.room.readmit(ticket, held, sleep) {
            Ok(()) => Settled::Asleep,
            Err(Refused { why: Refusal::Gone, .. }) => Settled::Gone,
            Err(Refused { request, why: Refusal::Expired }) => {
                Settled::Again(request.resume_last())
            }
            Err(Refused { request, .. }) => {
                Settled::Again(request.resume().behind(sleep.generation, newest))
            }
        }
    }
}

/// Why requests are not waited for any more
const STOPPING: &str = "the service stops";
