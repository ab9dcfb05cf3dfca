//! One seed: events by chance, and after each the question whether engine and oracle agree.
//!
//! Here are the events that no client makes: blocks, time, restarts, the end. Blocks are compared in
//! what becomes of them; whoever waits is compared where answers are taken. Nothing here looks into
//! the engine.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use milepost::engine::{Desk, Engine, Patience, Settings, Unknown};
use milepost::ingest::{Changes, Ingested, Place};
use milepost_testkit::{Rng, mix};

use crate::block::{Block, Outcome};
use crate::names::{Id, Names};
use crate::oracle::{Oracle, Taken};
use crate::outside::Flight;
use crate::requests::Open;
use crate::setup::Setup;
use crate::store::Store;
use crate::tally::{Seen, Tally};

/// A seed on its way
pub(crate) struct Run {
    pub(crate) setup: Setup,
    pub(crate) rng: Rng,
    pub(crate) oracle: Oracle,
    pub(crate) store: Store,
    pub(crate) desk: Desk,
    /// Requests that wait, as the oracle thinks of them
    pub(crate) open: Vec<Open>,
    /// Requests that were asked and are still to be admitted
    pub(crate) flights: Vec<Flight>,
    pub(crate) now: u64,
    /// Batches that changed the chain
    pub(crate) committed: u64,
    /// The newest of them that the desk was told of
    pub(crate) handled: u64,
    /// Changes that the desk is still to be told of
    pub(crate) queue: VecDeque<Changes>,
    pub(crate) stopping: bool,
    /// Whoever is on the way is brought home and kept no longer
    pub(crate) landing: bool,
    /// Requests sent so far; it makes their ids
    pub(crate) sent: u64,
    /// The height at which each transaction was included last, on any fork
    pub(crate) heights: HashMap<Id, u64>,
    /// The last block undid others
    pub(crate) undid: bool,
    pub(crate) log: bool,
    pub(crate) tally: Tally,
}

macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err(format!($($text)+));
        }
    };
}

macro_rules! log {
    ($run:expr, $($text:tt)+) => {
        if $run.log {
            println!($($text)+);
        }
    };
}

pub(crate) use {ensure, log};

/// Runs a seed; with `log` every event is printed
///
/// # Errors
///
/// How engine and oracle disagree.
pub fn run(seed: u64, log: bool) -> Result<Tally, String> {
    // Multiplied and mixed, or a stream would be that of a neighbouring seed one step later.
    let mut rng = Rng::new(mix(seed.wrapping_mul(0xd134_2543_de82_ef95)));
    let setup = Setup::draw(seed, &mut rng);
    if log {
        println!("{:?}, {:?}, {:?}", setup.rules, setup.manners, setup.habits);
    }
    let mut tally = Tally::one_seed();
    tally.add_if(Seen::Files, setup.habits.file);
    let mut run = Run {
        oracle: Oracle::new(setup.rules),
        store: if setup.habits.file { Store::file() } else { Store::memory() },
        desk: desk(&setup),
        open: Vec::new(),
        flights: Vec::new(),
        now: rng.below(1 << 40),
        committed: 0,
        handled: 0,
        queue: VecDeque::new(),
        stopping: false,
        landing: false,
        sent: 0,
        heights: HashMap::new(),
        undid: false,
        log,
        tally,
        rng,
        setup,
    };
    run.events()?;
    run.end()?;
    Ok(run.tally)
}

fn desk(setup: &Setup) -> Desk {
    let manners = &setup.manners;
    let unknown = if manners.immediate { Unknown::Immediate } else { Unknown::Wait };
    let settings = Settings::default();
    let settings = settings.with_timeout_cause(manners.timeout_cause).with_unknown(unknown);
    let patience = Patience::default().with_timeout(manners.timeout).with_limit(manners.limit);
    Desk::new(Engine::new(settings), patience)
}

impl Run {
    pub(crate) fn names(&self) -> &Names {
        &self.setup.chain.growth.names
    }

    fn events(&mut self) -> Result<(), String> {
        let mut blocks = 0;
        while blocks < self.setup.habits.blocks {
            let habits = &self.setup.habits;
            let mut chance = self.rng.below(1000);
            let mut is = |thousandths: u64| {
                let happens = chance < thousandths;
                chance = if happens { u64::MAX } else { chance.saturating_sub(thousandths) };
                happens
            };
            if is(habits.requests) {
                self.send()?;
            } else if is(habits.time) {
                self.pass_time()?;
            } else if is(habits.cancels) {
                self.cancel()?;
            } else if is(habits.reopens) {
                log!(self, "the storage is opened again");
                self.store.reopen();
                self.tally.add(Seen::Reopened);
            } else if is(habits.restarts) {
                self.restart()?;
            } else {
                self.deliver()?;
                blocks += 1;
            }
            if self.rng.one_in(2) {
                self.handle_queue();
            }
            if !self.rng.chance(self.setup.habits.unpolled) {
                self.poll()?;
            }
        }
        self.handle_queue();
        self.poll()
    }

    /// Delivers a block
    fn deliver(&mut self) -> Result<(), String> {
        let block = self.setup.chain.deliver(&self.oracle, &mut self.rng);
        let taken = self.oracle.take(&block, self.setup.chain.growth.names.len());
        self.print(&block, taken);
        let late = !self.queue.is_empty() || self.rng.chance(self.setup.habits.unhandled);
        let settings = &self.setup.ingest;
        let ingested = match late {
            true => self.desk.engine().ingest(&block.message, settings, &mut self.store),
            false => self.desk.ingest(&block.message, settings, &mut self.store),
        };
        if let Err(error) = &ingested {
            log!(self, "    refused: {error}");
        }
        let found = match ingested.as_ref().map(|ingested| (ingested, ingested.place)) {
            Err(_) => Taken::Refused,
            Ok((Ingested { undone, redone, .. }, Place::Head)) => {
                Taken::Head { undone: undone.len(), redone: redone.len() }
            }
            Ok((_, Place::Known)) => Taken::Known,
            Ok((_, Place::Aside)) => Taken::Aside,
            Ok((_, other)) => return Err(format!("the block is {other:?}")),
        };
        ensure!(found == taken, "a block is {found:?}, {taken:?} expected ({ingested:?})");
        self.committed += u64::from(matches!(taken, Taken::Head { .. } | Taken::Aside));
        if let Ok(ingested) = ingested {
            let last_final = ingested.last_final.map(|last| last.height);
            let expected = self.oracle.last_final();
            ensure!(last_final == expected, "final up to {last_final:?}, {expected:?} expected");
            let (found, expected) = (ingested.changes.generation, self.committed);
            ensure!(found == expected, "generation {found}, {expected} expected");
            if late {
                self.tally.add(Seen::Unhandled);
                self.queue.push_back(ingested.changes);
            } else {
                self.told_of(expected);
            }
        }
        if matches!(taken, Taken::Head { .. } | Taken::Aside) {
            self.count_content(&block);
        }
        self.undid = matches!(taken, Taken::Head { undone: 1.., .. });
        let tally = &mut self.tally;
        tally.add(Seen::Blocks);
        match taken {
            Taken::Head { undone, redone } => {
                tally.add_if(Seen::Reorganisations, undone > 0);
                tally.add_if(Seen::Deep, undone > 1 && redone > 0);
                tally.add_many(Seen::Redone, redone);
            }
            Taken::Known => tally.add(Seen::Known),
            Taken::Aside => tally.add(Seen::Aside),
            Taken::Refused => tally.add(Seen::Refused),
        }
        Ok(())
    }

    /// Counts what a new block brings
    fn count_content(&mut self, block: &Block) {
        for (transaction, _) in &block.content.included {
            if let Some(before) = self.heights.insert(transaction.id, block.height) {
                self.tally.add(Seen::IncludedAgain);
                self.tally.add_if(Seen::IncludedLower, block.height < before);
            }
        }
        let refunds = block.content.arrived.iter().filter(|body| body.refund);
        self.tally.add_many(Seen::LateBodies, refunds.count());
    }

    fn print(&self, block: &Block, taken: Taken) {
        if !self.log {
            return;
        }
        let names = self.names();
        let name = |number: usize| names.short(self.setup.chain.blocks[number].id);
        println!(
            "block {} at {} on {:?}, calls {:?} final: {taken:?}, final up to {:?}",
            names.short(block.id),
            block.height,
            block.parent.map(name),
            block.last_final.map(name),
            self.oracle.last_final(),
        );
        for (transaction, own) in &block.content.included {
            let own = own.as_ref().map(|own| describe(own, names));
            println!("    includes {} with {own:?}", names.short(transaction.id));
        }
        for (outcome, body) in &block.content.executed {
            println!("    executes {}, body {}", describe(outcome, names), body.is_some());
        }
        for body in &block.content.arrived {
            println!("    brings {}, refund {}", names.short(body.id), body.refund);
        }
    }

    /// Tells the desk of the blocks that it was not told of; all but the last may be left out
    pub(crate) fn handle_queue(&mut self) {
        while let Some(changes) = self.queue.pop_front() {
            if !self.queue.is_empty() && self.rng.one_in(10) {
                log!(self, "the changes of {} are left out", changes.generation);
                self.tally.add(Seen::LeftOut);
                continue;
            }
            log!(self, "the changes of {} are handed in", changes.generation);
            self.told_of(changes.generation);
            self.desk.handle_changes(&changes);
        }
    }

    /// The desk is told of a batch; whatever it says, those who may have missed one are woken
    fn told_of(&mut self, generation: u64) {
        if generation != self.handled {
            self.open.iter_mut().for_each(|open| open.behind = false);
        }
        self.handled = self.handled.max(generation);
    }

    /// All clients are gone with their desk; some come back
    fn restart(&mut self) -> Result<(), String> {
        log!(self, "the desk starts anew");
        self.tally.add(Seen::Restarts);
        self.desk = desk(&self.setup);
        self.store.reopen();
        self.handled = 0;
        self.queue.clear();
        self.flights.clear();
        let lost = core::mem::take(&mut self.open);
        for Open { mut request, .. } in lost {
            if self.rng.one_in(2) {
                request.calls.iter_mut().for_each(|call| {
                    (call.answer, call.fixed) = (None, false);
                });
                self.open_request(request)?;
            }
        }
        Ok(())
    }

    /// The earliest deadline that is still to come
    fn earliest(&self) -> Option<u64> {
        self.open.iter().filter(|open| !open.due).map(|open| open.deadline).min()
    }

    fn pass_time(&mut self) -> Result<(), String> {
        let habits = &self.setup.habits;
        let to_a_deadline = self.earliest().filter(|_| self.rng.chance(habits.deadlines));
        let then = match (to_a_deadline, self.rng.below(4)) {
            (Some(deadline), 0) => deadline.saturating_sub(1),
            (Some(deadline), 1) => deadline,
            (Some(deadline), 2) => deadline + 1,
            (Some(_), _) => return self.follow(),
            (None, _) if self.rng.chance(habits.deadlines / 10) => {
                self.now + self.setup.manners.timeout * 2
            }
            (None, _) => self.now + self.rng.between(0, habits.step),
        };
        let then = self.now.max(then);
        self.handle_time(then)
    }

    /// Lets time pass until something is due
    fn follow(&mut self) -> Result<(), String> {
        self.tally.add(Seen::Followed);
        let next = self.desk.next_deadline().ok_or("nothing is due, and a request waits")?;
        self.handle_time(self.now.max(next))
    }

    fn handle_time(&mut self, then: u64) -> Result<(), String> {
        log!(self, "it is {then}");
        self.now = then;
        self.desk.handle_time(then);
        for open in &mut self.open {
            if open.deadline <= then {
                open.due = true;
                self.tally.add_if(Seen::AwayExpired, open.away.is_some());
            }
        }
        self.check_books()
    }

    /// What the desk says about itself
    pub(crate) fn check_books(&self) -> Result<(), String> {
        let (found, expected) = (self.desk.open(), self.places());
        ensure!(found == expected, "{found} calls are open, {expected} expected");
        if let Some(earliest) = self.earliest() {
            match self.desk.next_deadline() {
                Some(next) if next <= earliest => {}
                next => {
                    return Err(format!("the next deadline is {next:?}, one is due at {earliest}"));
                }
            }
        }
        Ok(())
    }

    /// Lets everything that still waits come to its end
    fn end(&mut self) -> Result<(), String> {
        match self.rng.below(4) {
            0 => {
                log!(self, "the desk stops");
                self.tally.add(Seen::Stopped);
                self.desk.handle_stop();
                self.stopping = true;
                self.send()?;
                self.poll()?;
                self.settle_all()?;
                ensure!(self.open.is_empty(), "somebody waits at a desk that stopped");
            }
            1 => self.handle_time(self.now + self.setup.manners.timeout)?,
            _ => {}
        }
        self.poll()?;
        self.settle_all()?;
        // Following the deadlines alone ends each request at its own, and after few steps: a wheel
        // names a group of 64 times first, once for each of its eleven levels. That none ends before
        // its deadline is checked where answers are taken.
        let mut steps = 16 + 12 * self.open.len();
        while !self.open.is_empty() {
            ensure!(steps > 0, "deadlines are followed and nothing ends");
            steps -= 1;
            self.follow()?;
            self.poll()?;
            self.settle_all()?;
        }
        ensure!(self.desk.next_deadline().is_none(), "nobody waits, and something is due");
        Ok(())
    }
}

fn describe(outcome: &Rc<Outcome>, names: &Names) -> String {
    let receipts: Vec<&str> = outcome.receipts.iter().map(|id| names.short(*id)).collect();
    format!("{} ({:?}) -> {}", names.short(outcome.id), outcome.status, receipts.join(" "))
}
