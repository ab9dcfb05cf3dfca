//! A desk at which many wait, and blocks that concern some of them.
//!
//! Who waits is a cross-section of a chain's clients: a transaction that was sent is in no block
//! for a block or two, has receipts to be executed for some four, and then needs two until it is
//! final. All requests came in as bodies, all rows by block messages, and the number of open
//! requests and their shares are the same before each block. Nobody is timed out.

use core::time::Duration;

use milepost::engine::{Admission, Answer, Desk, Engine, Patience, Reply, Wait};
use milepost::facts::{MemoryStorage, drive};
use milepost::ingest::{Changes, IngestSettings};
use milepost::primitives::CryptoHash;
use milepost::status::{Blocker, StatusQuestion};
use milepost::waiting::Ticket;
use milepost_testkit::Rng;

use crate::feed::SIGNER;
use crate::{Cpu, Feed, random_hash};

/// Facts that a block changes
const FACTS: usize = 2_000;
/// Requests that a block concerns because their transaction comes
const AWAITED_TRANSACTIONS: usize = 40;
/// Requests that a block concerns because a receipt is executed
const AWAITED_RECEIPTS: usize = 60;
/// Other transactions of a block
const OTHER_TRANSACTIONS: usize = 360;
/// Refunds of a block
const REFUNDS: usize = 200;
/// Other receipts that are executed, so that it is so many facts: each transaction is two, with its
/// outcome
const OTHER_RECEIPTS: usize =
    FACTS - 2 * (AWAITED_TRANSACTIONS + OTHER_TRANSACTIONS) - AWAITED_RECEIPTS - REFUNDS;

/// A desk at which many wait, and the chain that they wait for
#[derive(Debug)]
pub struct Crowd {
    engine: Engine,
    storage: MemoryStorage,
    desk: Desk,
    feed: Feed,
    rng: Rng,
    now: u64,
    /// Whose transaction is in no block
    unknown: Vec<Open>,
    /// Who waits for an outcome
    pending: Vec<Open>,
    /// Who waits for finality
    executed: Vec<Open>,
    /// The messages of all blocks that nobody has taken yet, for who follows the same chain
    messages: Option<Vec<Vec<u8>>>,
}

/// A request that waits
#[derive(Clone, Copy, Debug)]
struct Open {
    ticket: Ticket,
    asked: Asked,
    blocker: Blocker,
}

/// What a client sent
#[derive(Clone, Copy, Debug)]
struct Asked {
    transaction: CryptoHash,
    until: &'static str,
    /// Decides which id the request has
    id: u64,
}

/// A block that was committed and not handed to the desk yet
#[derive(Debug)]
pub struct Block {
    /// What it changed
    pub changes: Changes,
    concerned: Vec<Open>,
    /// Its transactions that nobody has asked about
    others: Vec<CryptoHash>,
}

/// A request that was read and is to be let in
#[derive(Debug)]
pub struct Newcomer {
    asked: Asked,
    wait: Wait,
}

/// An open request that is to be cancelled
#[derive(Debug)]
pub struct Leaving(Open);

impl Asked {
    /// A request for a transaction of this hash, with an id and a milestone as clients send them
    fn draw(transaction: CryptoHash, rng: &mut Rng) -> Self {
        let until = if rng.index(3) == 0 { "FINAL" } else { "EXECUTED_OPTIMISTIC" };
        Self { transaction, until, id: rng.next_u64() }
    }

    fn body(&self) -> String {
        let Self { transaction, until, id } = self;
        let id = match id % 3 {
            0 => "\"dontcare\"".to_owned(),
            1 => format!("{}", id >> 40),
            _ => format!(
                "\"{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}\"",
                id >> 32,
                id >> 16 & 0xffff,
                id & 0xfff,
                id >> 4 & 0xfff,
                id >> 12 & 0xffff_ffff_ffff
            ),
        };
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{transaction}","sender_account_id":"{SIGNER}","wait_until":"{until}"}}}}"#
        )
    }
}

impl Crowd {
    /// A desk with so many open requests: a quarter is for transactions in no block, half for
    /// transactions with 1 to 10 receipts that are not executed, a quarter for executed ones
    ///
    /// Takes some 2 KiB of rows for each request, and 40 microseconds.
    ///
    /// # Panics
    ///
    /// When the engine answers what should wait.
    pub fn new(open: usize, seed: u64) -> Self {
        Self::empty(open, seed).fill(open)
    }

    /// The same crowd on a chain whose outcomes are as long as on a network; the messages of its blocks
    /// are kept until [`Self::take_messages`]
    ///
    /// # Panics
    ///
    /// When the engine answers what should wait.
    pub fn with_long_outcomes(open: usize, seed: u64) -> Self {
        let (messages, feed) = (Some(Vec::new()), Feed::at_length(seed));
        Self { messages, feed, ..Self::empty(open, seed) }.fill(open)
    }

    /// A desk for so many, at which nobody waits yet
    fn empty(open: usize, seed: u64) -> Self {
        let engine = Engine::default();
        let patience = Patience::default().with_limit(open + open / 2 + 1_000).with_seed(seed);
        Self {
            engine,
            storage: MemoryStorage::new(),
            desk: Desk::new(engine, patience),
            feed: Feed::new(seed),
            rng: Rng::new(seed + 1),
            now: 0,
            unknown: Vec::new(),
            pending: Vec::new(),
            executed: Vec::new(),
            messages: None,
        }
    }

    /// Lets so many come
    fn fill(mut self, open: usize) -> Self {
        let crowd = &mut self;
        // The first block becomes final, so it is empty.
        crowd.take_in();
        let mut asked = Vec::with_capacity(open);
        for number in 0..open {
            let mut asking = Asked::draw(random_hash(&mut crowd.rng), &mut crowd.rng);
            match number % 4 {
                0 => {}
                1 => {
                    let receipt = crowd.feed.include(asking.transaction);
                    crowd.feed.execute(receipt, 0);
                    asking.until = "FINAL";
                }
                _ => crowd.include_pending(asking.transaction),
            }
            asked.push(asking);
            if number % 1_000 == 999 {
                crowd.take_in();
            }
        }
        crowd.take_in();
        // They come in no order that the chain or the memory knows.
        for last in (1..asked.len()).rev() {
            asked.swap(last, crowd.rng.index(last + 1));
        }
        // They came within one timeout, and the first will be due in a moment.
        for (asking, number) in asked.into_iter().zip(0..) {
            crowd.now = number * Patience::default().timeout / open as u64;
            crowd.ask(asking);
        }
        crowd.desk.handle_time(crowd.now);
        assert_eq!(crowd.desk.open(), open);
        self
    }

    /// The desk
    pub const fn desk(&self) -> &Desk {
        &self.desk
    }

    /// A block of 2,000 facts, 100 of which are each slept on by one request; it is committed
    ///
    /// # Panics
    ///
    /// When the engine refuses it.
    pub fn next_block(&mut self) -> Block {
        let mut concerned = Vec::new();
        for _ in 0..AWAITED_TRANSACTIONS {
            let open = take_any(&mut self.unknown, &mut self.rng);
            self.feed.include(open.asked.transaction);
            concerned.push(open);
        }
        for _ in 0..AWAITED_RECEIPTS {
            let open = take_any(&mut self.pending, &mut self.rng);
            let (Blocker::Outcome(receipt) | Blocker::OutcomeOrRefund(receipt)) = open.blocker
            else {
                panic!("{open:?} waits for no outcome")
            };
            self.feed.execute(receipt, 0);
            concerned.push(open);
        }
        let others: Vec<CryptoHash> =
            (0..OTHER_TRANSACTIONS).map(|_| random_hash(&mut self.rng)).collect();
        let mut executed = 0;
        for transaction in &others {
            let receipt = self.feed.include(*transaction);
            let pending = self.draw_pending();
            if pending > 1 {
                self.feed.execute(receipt, pending);
                executed += 1;
            }
        }
        for _ in executed..OTHER_RECEIPTS {
            let receipt = random_hash(&mut self.rng);
            self.feed.execute(receipt, 0);
        }
        (0..REFUNDS).for_each(|_| self.feed.refund());
        let message = self.seal();
        let ingested = self.engine.ingest(&message, &IngestSettings::default(), &mut self.storage);
        let changes = ingested.expect("a block of the feed").changes;
        assert_eq!(changes.facts.len(), FACTS);
        Block { changes, concerned, others }
    }

    /// Hands a block in: whom it concerns is found and woken
    pub fn wake(&mut self, block: &Block) {
        self.desk.handle_changes(&block.changes);
    }

    /// Asks those who were woken, until each is answered or asleep again
    pub fn answer(&mut self) -> Vec<(Ticket, Answer)> {
        let mut answers = Vec::new();
        while let Some(answer) = self.desk.poll_answer(&self.storage) {
            answers.push(answer);
        }
        answers
    }

    /// After a block: whoever was answered is replaced, so that as many wait as before and for the
    /// same
    ///
    /// # Panics
    ///
    /// When someone else was answered than the block concerns.
    pub fn refill(&mut self, block: Block, answers: &[(Ticket, Answer)]) {
        let shares = [&self.unknown, &self.pending, &self.executed].map(Vec::len);
        let whole = shares[0] + shares[1] + shares[2] + block.concerned.len();
        let mut answered: Vec<Ticket> = answers.iter().map(|(ticket, _)| *ticket).collect();
        for open in &block.concerned {
            if let Some(place) = answered.iter().position(|ticket| *ticket == open.ticket) {
                answered.swap_remove(place);
            } else {
                // It sleeps on something else now; asking once more tells on what.
                let wait = self.wait(&open.asked);
                self.keep(Open { blocker: wait.blocker(), ..*open });
            }
        }
        assert!(answered.is_empty(), "{answered:?} were of no concern");
        let (unknown, executed) = (whole.div_ceil(4), whole / 4);
        let pending = whole - unknown - executed;
        while self.executed.len() > executed {
            let open = take_any(&mut self.executed, &mut self.rng);
            assert!(self.desk.cancel(open.ticket));
        }
        while self.pending.len() > pending {
            let open = take_any(&mut self.pending, &mut self.rng);
            assert!(self.desk.cancel(open.ticket));
        }
        while self.unknown.len() < unknown {
            let transaction = random_hash(&mut self.rng);
            let asked = Asked::draw(transaction, &mut self.rng);
            self.ask(asked);
        }
        let mut others = block.others.into_iter();
        while self.pending.len() < pending {
            let transaction = others.next().expect("a block has more transactions than it wakes");
            let asked = Asked::draw(transaction, &mut self.rng);
            self.ask(asked);
        }
    }

    /// So many requests that are new, each for a transaction in no block
    pub fn newcomers(&mut self, count: usize) -> Vec<Newcomer> {
        let draw = |_| {
            let transaction = random_hash(&mut self.rng);
            let asked = Asked::draw(transaction, &mut self.rng);
            Newcomer { asked, wait: self.wait(&asked) }
        };
        (0..count).map(draw).collect()
    }

    /// Lets them wait
    ///
    /// # Panics
    ///
    /// When one is not let in.
    pub fn admit(&mut self, newcomers: Vec<Newcomer>) {
        for Newcomer { asked, wait } in newcomers {
            self.let_in(asked, wait);
        }
    }

    /// Cancels as many of those whose transaction is in no block, at random
    pub fn thin_out(&mut self, count: usize) {
        for _ in 0..count {
            let open = take_any(&mut self.unknown, &mut self.rng);
            assert!(self.desk.cancel(open.ticket));
        }
    }

    /// So many open requests at random, to be cancelled
    pub fn leaving(&mut self, count: usize) -> Vec<Leaving> {
        let draw = |_| {
            let lists = [&mut self.unknown, &mut self.pending, &mut self.executed];
            let mut place = self.rng.index(lists.iter().map(|list| list.len()).sum());
            for list in lists {
                if place < list.len() {
                    return Leaving(list.swap_remove(place));
                }
                place -= list.len();
            }
            panic!("nobody waits")
        };
        (0..count).map(draw).collect()
    }

    /// Cancels them
    ///
    /// # Panics
    ///
    /// When one is gone already.
    pub fn cancel(&mut self, leaving: &[Leaving]) {
        for Leaving(open) in leaving {
            assert!(self.desk.cancel(open.ticket));
        }
    }

    /// Lets them ask the same again, so that as many wait as before
    pub fn return_to(&mut self, left: Vec<Leaving>) {
        left.into_iter().for_each(|Leaving(open)| self.ask(open.asked));
    }

    /// Every open request as a wait of its own, for hosts that ask all of them again
    pub fn waits(&self) -> Vec<Wait> {
        self.open().map(|open| self.wait(&open.asked)).collect()
    }

    /// Asks all of these again; how many were answered
    pub fn ask_all(&self, waits: &mut [Wait]) -> usize {
        waits.iter_mut().filter_map(|wait| wait.again(&self.storage)).count()
    }

    /// Builds the status of every open request with its receipts, as a node does before it looks
    /// whether the milestone is reached; how many have a status
    ///
    /// # Panics
    ///
    /// When the engine refuses the rows.
    pub fn build_all(&self, status: &mut Vec<u8>) -> usize {
        self.open()
            .filter(|open| {
                let mut question = StatusQuestion::new(open.asked.transaction, 1_000);
                let standing = drive(&mut question, &self.storage).expect("rows of the engine");
                let Some(standing) = standing else { return false };
                status.clear();
                standing.write(true, status).expect("rows of the engine");
                !status.is_empty()
            })
            .count()
    }

    /// The messages of the blocks since the last call, in their order; none of a crowd that keeps none
    pub fn take_messages(&mut self) -> Vec<Vec<u8>> {
        self.messages.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// The transaction and the milestone of every open request
    pub fn requests(&self) -> impl Iterator<Item = (CryptoHash, &'static str)> {
        self.open().map(|open| (open.asked.transaction, open.asked.until))
    }

    /// The rows of the chain
    pub const fn storage(&self) -> &MemoryStorage {
        &self.storage
    }

    /// The time that it takes to hand a block in, so that whom it concerns is found and woken
    pub fn time_wake(&mut self) -> Duration {
        let block = self.next_block();
        let ((), took) = Cpu::time(|| self.wake(&block));
        let answers = self.answer();
        self.refill(block, &answers);
        took
    }

    /// The same, and until those who were woken are answered or asleep again
    pub fn time_answer(&mut self) -> Duration {
        let block = self.next_block();
        let (answers, took) = Cpu::time(|| {
            self.wake(&block);
            self.answer()
        });
        self.refill(block, &answers);
        took
    }

    fn open(&self) -> impl Iterator<Item = &Open> {
        self.unknown.iter().chain(&self.pending).chain(&self.executed)
    }

    /// The message of the block that the feed has
    fn seal(&mut self) -> Vec<u8> {
        let message = self.feed.seal();
        if let Some(messages) = &mut self.messages {
            messages.push(message.clone());
        }
        message
    }

    /// Takes in the block that the feed has
    fn take_in(&mut self) {
        let message = self.seal();
        let taken = self.desk.ingest(&message, &IngestSettings::default(), &mut self.storage);
        taken.expect("a block of the feed");
    }

    /// How many receipts of a transaction are to be executed: mostly few, 3.25 on average
    fn draw_pending(&mut self) -> usize {
        let most = 1 + self.rng.index(10);
        1 + self.rng.index(most)
    }

    fn include_pending(&mut self, transaction: CryptoHash) {
        let receipt = self.feed.include(transaction);
        let pending = self.draw_pending();
        if pending > 1 {
            self.feed.execute(receipt, pending);
        }
    }

    fn wait(&self, asked: &Asked) -> Wait {
        match self.engine.ask(asked.body().as_bytes(), None, &self.storage) {
            Reply::Wait(wait) => wait,
            Reply::Answer(answer) => panic!("{asked:?}: {}", answer.body.escape_ascii()),
        }
    }

    fn ask(&mut self, asked: Asked) {
        let wait = self.wait(&asked);
        self.let_in(asked, wait);
    }

    fn let_in(&mut self, asked: Asked, wait: Wait) {
        let blocker = wait.blocker();
        let Admission::Asleep(ticket) = self.desk.admit(self.now, wait) else {
            panic!("{asked:?} is not let in")
        };
        self.keep(Open { ticket, asked, blocker });
    }

    fn keep(&mut self, open: Open) {
        let list = match open.blocker {
            Blocker::Inclusion(_) => &mut self.unknown,
            Blocker::Finality(_) => &mut self.executed,
            _ => &mut self.pending,
        };
        list.push(open);
    }
}

fn take_any(list: &mut Vec<Open>, rng: &mut Rng) -> Open {
    let place = rng.index(list.len());
    list.swap_remove(place)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use milepost::engine::Settled;

    use super::*;

    #[test]
    fn a_block_wakes_those_it_concerns_and_no_others() {
        let mut crowd = Crowd::new(1_000, 5);
        for _ in 0..3 {
            let block = crowd.next_block();
            let concerned: BTreeSet<Ticket> =
                block.concerned.iter().map(|open| open.ticket).collect();
            assert_eq!(concerned.len(), AWAITED_TRANSACTIONS + AWAITED_RECEIPTS);
            crowd.wake(&block);
            let mut woken = BTreeSet::new();
            let mut answers = Vec::new();
            while let Some((ticket, exchange)) = crowd.desk.poll_exchange() {
                woken.insert(ticket);
                match crowd.desk.settle(ticket, exchange.drive(&crowd.storage)) {
                    Settled::Answer(answer) => answers.push((ticket, answer)),
                    settled => assert!(matches!(settled, Settled::Asleep), "{settled:?}"),
                }
            }
            assert_eq!(woken, concerned);
            assert!((5..60).contains(&answers.len()), "{} answers", answers.len());
            crowd.refill(block, &answers);
            let shares = [&crowd.unknown, &crowd.pending, &crowd.executed].map(Vec::len);
            assert_eq!((crowd.desk.open(), shares), (1_000, [250, 500, 250]));
        }
    }

    #[test]
    fn asking_all_between_blocks_answers_nobody() {
        let crowd = Crowd::new(200, 6);
        let mut waits = crowd.waits();
        assert_eq!((waits.len(), crowd.ask_all(&mut waits)), (200, 0));
        assert_eq!(crowd.build_all(&mut Vec::new()), 150);
    }
}
