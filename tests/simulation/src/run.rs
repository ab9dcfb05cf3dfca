//! The run of one seed: random events, and a comparison of engine and oracle after each.
//!
//! This file has the events that are not client requests: blocks, time, restarts and the shutdown.
//! The result of each import is compared here, responses where they are polled. The engine is used
//! through its public interface alone.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use milepost::endpoint::{Endpoint, Engine, Settings, UnknownTransaction, WaitConfig};
use milepost::import::{BlockPosition, ChainUpdate};
use milepost::storage::Isolation;
use milepost_testkit::{Rng, mix};

use crate::block::{Block, Outcome};
use crate::coverage::{Counter, Coverage};
use crate::hashes::{Hashes, Id};
use crate::host_evaluated::InFlight;
use crate::oracle::{Import, Oracle};
use crate::remote_rows::RemoteRows;
use crate::requests::OpenRequest;
use crate::scenario::{Host, Scenario};
use crate::store::Store;

/// The state of a run
pub(crate) struct Run {
    pub(crate) scenario: Scenario,
    pub(crate) rng: Rng,
    pub(crate) oracle: Oracle,
    pub(crate) store: Store,
    pub(crate) endpoint: Endpoint,
    /// The model of the pending requests
    pub(crate) open_requests: Vec<OpenRequest>,
    /// Requests that were evaluated and that the endpoint does not have yet
    pub(crate) in_flight: Vec<InFlight>,
    pub(crate) remote: RemoteRows,
    pub(crate) now: u64,
    /// The number of batches that changed the chain
    pub(crate) committed: u64,
    /// The newest generation that the endpoint has handled
    pub(crate) handled: u64,
    /// Chain updates that the endpoint has not handled yet
    pub(crate) queue: VecDeque<ChainUpdate>,
    pub(crate) shut_down: bool,
    /// Evaluations are completed now and not deferred again
    pub(crate) draining: bool,
    /// The number of requests sent, for their ids
    pub(crate) sent: u64,
    /// The height at which each transaction was included last, on any fork
    pub(crate) heights: HashMap<Id, u64>,
    /// Whether the last import reverted blocks
    pub(crate) last_import_reverted: bool,
    pub(crate) log: bool,
    pub(crate) coverage: Coverage,
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
/// Engine and oracle disagree; the error says how.
pub fn run(seed: u64, log: bool) -> Result<Coverage, String> {
    // Without the multiplication, neighbouring seeds would have the same stream, shifted by one.
    let mut rng = Rng::new(mix(seed.wrapping_mul(0xd134_2543_de82_ef95)));
    let scenario = Scenario::draw(seed, &mut rng);
    if log {
        println!(
            "{:?}, {:?}, {:?}",
            scenario.import_settings, scenario.endpoint_settings, scenario.run_settings
        );
    }
    let mut coverage = Coverage::one_seed();
    coverage.add_if(Counter::Files, scenario.run_settings.file);
    let mut run = Run {
        oracle: Oracle::new(scenario.import_settings),
        store: if scenario.run_settings.file { Store::file() } else { Store::memory() },
        endpoint: endpoint(&scenario),
        open_requests: Vec::new(),
        in_flight: Vec::new(),
        remote: RemoteRows::default(),
        now: rng.below(1 << 40),
        committed: 0,
        handled: 0,
        queue: VecDeque::new(),
        shut_down: false,
        draining: false,
        sent: 0,
        heights: HashMap::new(),
        last_import_reverted: false,
        log,
        coverage,
        rng,
        scenario,
    };
    run.events()?;
    run.end()?;
    Ok(run.coverage)
}

fn endpoint(scenario: &Scenario) -> Endpoint {
    let settings = &scenario.endpoint_settings;
    let unknown = match settings.unknown_immediate {
        true => UnknownTransaction::Immediate,
        false => UnknownTransaction::Wait,
    };
    let wait_config =
        WaitConfig::default().with_timeout(settings.timeout).with_max_waiting(settings.max_waiting);
    let isolation = match scenario.run_settings.read_committed {
        true => Isolation::ReadCommitted,
        false => Isolation::Snapshot,
    };
    let settings =
        Settings::default().with_timeout_cause(settings.timeout_cause).with_isolation(isolation);
    Endpoint::new(Engine::new(settings.with_unknown(unknown)), wait_config)
}

impl Run {
    pub(crate) fn hashes(&self) -> &Hashes {
        &self.scenario.chain.content.hashes
    }

    fn events(&mut self) -> Result<(), String> {
        let mut blocks = 0;
        while blocks < self.scenario.run_settings.blocks {
            let settings = &self.scenario.run_settings;
            let mut chance = self.rng.below(1000);
            let mut is = |thousandths: u64| {
                let happens = chance < thousandths;
                chance = if happens { u64::MAX } else { chance.saturating_sub(thousandths) };
                happens
            };
            if is(settings.requests) {
                self.send()?;
            } else if is(settings.time) {
                self.pass_time()?;
            } else if is(settings.cancels) {
                self.cancel()?;
            } else if is(settings.reopens) {
                log!(self, "the storage is reopened");
                self.store.reopen();
                self.coverage.add(Counter::Reopened);
            } else if is(settings.restarts) {
                self.restart()?;
            } else {
                self.import()?;
                blocks += 1;
            }
            if self.rng.one_in(2) {
                self.handle_queue();
            }
            if !self.rng.chance(self.scenario.run_settings.unpolled) {
                self.poll()?;
            }
        }
        self.handle_queue();
        self.poll()
    }

    /// Imports the next block and compares the result with the oracle
    fn import(&mut self) -> Result<(), String> {
        let block = self.scenario.chain.next_block(&self.oracle, &mut self.rng);
        let expected = self.oracle.import(&block, &self.scenario.chain.content.hashes);
        self.print(&block, expected.as_ref());
        let remote = self.scenario.run_settings.host == Host::RemoteRows;
        let late =
            !self.queue.is_empty() || self.rng.chance(self.scenario.run_settings.late_updates);
        let late = late && !remote;
        let result = if remote {
            self.import_remote(&block.message)
        } else {
            let settings = &self.scenario.import_settings;
            self.endpoint.engine().import_block(&block.message, settings, &mut self.store)
        };
        if let Err(error) = &result {
            log!(self, "    rejected: {error}");
        }
        let chain = self.endpoint.engine().chain_status(&self.store.read());
        self.oracle.check_import(expected.as_ref(), &result, chain, self.hashes())?;
        let is_new = expected.as_ref().is_some_and(|it| it.position != BlockPosition::Known);
        self.committed += u64::from(is_new);
        if let Ok(summary) = result {
            let (found, expected) = (summary.chain_update.generation, self.committed);
            ensure!(found == expected, "generation {found}, expected {expected}");
            if late {
                self.coverage.add(Counter::LateUpdates);
                self.queue.push_back(summary.chain_update);
            } else {
                if !remote {
                    self.endpoint.handle_chain_update(&summary.chain_update);
                }
                self.mark_handled(expected);
            }
        }
        if is_new {
            self.count_content(&block);
        }
        let reverted = expected.as_ref().map_or(0, |import| import.reverted.len());
        self.last_import_reverted = reverted > 0;
        self.coverage.add(Counter::Blocks);
        let Some(Import { position, reapplied, .. }) = expected else {
            self.coverage.add(Counter::Rejected);
            return Ok(());
        };
        self.coverage.add_if(Counter::Known, position == BlockPosition::Known);
        self.coverage.add_if(Counter::ForkBlocks, position == BlockPosition::Fork);
        self.coverage.add_if(Counter::Reorganisations, reverted > 0);
        let is_deep = reverted > 1 && !reapplied.is_empty();
        self.coverage.add_if(Counter::DeepReorganisations, is_deep);
        self.coverage.add_many(Counter::Reapplied, reapplied.len());
        Ok(())
    }

    fn count_content(&mut self, block: &Block) {
        for (transaction, _) in &block.content.included {
            if let Some(before) = self.heights.insert(transaction.id, block.height) {
                self.coverage.add(Counter::IncludedAgain);
                self.coverage.add_if(Counter::IncludedLower, block.height < before);
            }
        }
        let refunds = block.content.arrived.iter().filter(|body| body.refund);
        self.coverage.add_many(Counter::LateBodies, refunds.count());
    }

    fn print(&self, block: &Block, expected: Option<&Import>) {
        if !self.log {
            return;
        }
        let hashes = self.hashes();
        let hash_of = |number: usize| hashes.short(self.scenario.chain.blocks[number].id);
        println!(
            "block {} at {} on {:?}, its last final block is {:?}: {expected:?}, final up to {:?}",
            hashes.short(block.id),
            block.height,
            block.parent.map(hash_of),
            block.last_final.map(hash_of),
            self.oracle.last_final.as_ref().map(|last| last.height),
        );
        for (transaction, outcome) in &block.content.included {
            let outcome = outcome.as_ref().map(|outcome| describe(outcome, hashes));
            println!("    includes {} with {outcome:?}", hashes.short(transaction.id));
        }
        for (outcome, body) in &block.content.executed {
            println!("    executes {}, body {}", describe(outcome, hashes), body.is_some());
        }
        for body in &block.content.arrived {
            println!("    has body {}, refund {}", hashes.short(body.id), body.refund);
        }
    }

    /// Hands the queued chain updates to the endpoint; all except the last may be dropped
    pub(crate) fn handle_queue(&mut self) {
        while let Some(update) = self.queue.pop_front() {
            if !self.queue.is_empty() && self.rng.one_in(10) {
                log!(self, "the update of generation {} is dropped", update.generation);
                self.coverage.add(Counter::DroppedUpdates);
                continue;
            }
            log!(self, "the update of generation {} is handled", update.generation);
            self.mark_handled(update.generation);
            self.endpoint.handle_chain_update(&update);
        }
    }

    /// Notes that the endpoint has handled a generation, which wakes every stale request
    fn mark_handled(&mut self, generation: u64) {
        if generation != self.handled {
            self.open_requests.iter_mut().for_each(|open| open.stale = false);
        }
        self.handled = self.handled.max(generation);
    }

    /// Replaces the endpoint, which loses all requests; some clients send theirs again
    fn restart(&mut self) -> Result<(), String> {
        log!(self, "the endpoint is restarted");
        self.coverage.add(Counter::Restarts);
        self.endpoint = endpoint(&self.scenario);
        self.store.reopen();
        self.handled = 0;
        self.queue.clear();
        self.in_flight.clear();
        self.remote = RemoteRows::default();
        let lost = core::mem::take(&mut self.open_requests);
        for OpenRequest { mut request, .. } in lost {
            if self.rng.one_in(2) {
                request.calls.iter_mut().for_each(|call| {
                    (call.response, call.is_fixed) = (None, false);
                });
                self.send_request(request)?;
            }
        }
        Ok(())
    }

    /// The earliest deadline in the future
    fn earliest_deadline(&self) -> Option<u64> {
        self.open_requests.iter().filter(|open| !open.expired).map(|open| open.deadline).min()
    }

    fn pass_time(&mut self) -> Result<(), String> {
        let settings = &self.scenario.run_settings;
        let deadline = self.earliest_deadline().filter(|_| self.rng.chance(settings.deadlines));
        let then = match (deadline, self.rng.below(4)) {
            (Some(deadline), 0) => deadline.saturating_sub(1),
            (Some(deadline), 1) => deadline,
            (Some(deadline), 2) => deadline + 1,
            (Some(_), _) => return self.advance_to_next_timeout(),
            (None, _) if self.rng.chance(settings.deadlines / 10) => {
                self.now + self.scenario.endpoint_settings.timeout * 2
            }
            (None, _) => self.now + self.rng.between(0, settings.step),
        };
        let then = self.now.max(then);
        self.handle_timeout(then)
    }

    /// Advances time to the next timeout of the endpoint
    fn advance_to_next_timeout(&mut self) -> Result<(), String> {
        self.coverage.add(Counter::NextTimeouts);
        let next = self.endpoint.next_timeout();
        let next = next.ok_or("the endpoint has no timeout, and a request is pending")?;
        self.handle_timeout(self.now.max(next))
    }

    fn handle_timeout(&mut self, then: u64) -> Result<(), String> {
        log!(self, "the time is {then}");
        self.now = then;
        self.endpoint.handle_timeout(then);
        for open in &mut self.open_requests {
            if open.deadline <= then {
                open.expired = true;
                self.coverage.add_if(Counter::DeferredExpired, open.evaluated.is_some());
            }
        }
        self.check_counts()
    }

    /// Compares the number of pending calls and the next timeout with the model
    pub(crate) fn check_counts(&self) -> Result<(), String> {
        let (found, expected) = (self.endpoint.pending_count(), self.pending_calls());
        ensure!(found == expected, "{found} calls are pending, expected {expected}");
        if let Some(earliest) = self.earliest_deadline() {
            match self.endpoint.next_timeout() {
                Some(next) if next <= earliest => {}
                next => return Err(format!("the next timeout is {next:?}, expected {earliest}")),
            }
        }
        Ok(())
    }

    /// Completes all evaluations
    fn drain(&mut self) -> Result<(), String> {
        match self.scenario.run_settings.host {
            Host::OneThread => Ok(()),
            Host::Threads => self.drain_host_evaluated(),
            Host::RemoteRows => self.drain_remote(),
        }
    }

    /// Completes all pending requests
    fn end(&mut self) -> Result<(), String> {
        match self.rng.below(4) {
            0 => {
                log!(self, "the endpoint shuts down");
                self.coverage.add(Counter::Shutdowns);
                self.endpoint.shutdown();
                self.shut_down = true;
                self.send()?;
                self.poll()?;
                self.drain()?;
                ensure!(self.open_requests.is_empty(), "a request is pending after the shutdown");
            }
            // The timeout of a request is at most twice that of the configuration.
            1 => self.handle_timeout(self.now + 2 * self.scenario.endpoint_settings.timeout)?,
            _ => {}
        }
        self.poll()?;
        self.drain()?;
        // Advancing from timeout to timeout must end each request at its deadline within few steps:
        // a timing wheel reports a slot of 64 ticks before the deadline, once per each of its
        // eleven levels. That no request ends early is checked where responses are compared.
        let mut steps = 16 + 12 * self.open_requests.len();
        while !self.open_requests.is_empty() {
            ensure!(steps > 0, "requests are pending after too many timeouts");
            steps -= 1;
            self.advance_to_next_timeout()?;
            self.poll()?;
            self.drain()?;
        }
        ensure!(self.endpoint.next_timeout().is_none(), "a timeout without a pending request");
        Ok(())
    }
}

fn describe(outcome: &Rc<Outcome>, hashes: &Hashes) -> String {
    let receipts: Vec<&str> = outcome.receipts.iter().map(|id| hashes.short(*id)).collect();
    format!("{} ({:?}) -> {}", hashes.short(outcome.id), outcome.status, receipts.join(" "))
}
