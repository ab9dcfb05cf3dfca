//! The content of the next block of a branch.
//!
//! The state of a branch has the events that are scheduled on it: executions of receipts and late
//! bodies. Forks start from copies of that state and continue at random, so a transaction has other
//! receipts, results and heights on every fork. Anomalies are what the engine must handle although
//! no valid chain has it: a receipt of two outcomes, or an outcome before the one that generated
//! it.

use std::collections::HashMap;
use std::rc::Rc;

use milepost_testkit::Rng;

use crate::block::{Body, Content, Outcome, Status, Transaction};
use crate::hashes::{Hashes, Id};

/// The content of the blocks of a seed
pub(crate) struct ContentSettings {
    /// The maximum number of blocks from an outcome to the execution of its receipts
    pub(crate) execution: u64,
    /// The maximum number of blocks from an outcome to the bodies of its receipts
    pub(crate) body: u64,
    /// The same for refunds, which may be much later
    pub(crate) refund: u64,
    /// Thousandths of receipts with the same id on every fork
    pub(crate) same_ids: u64,
    /// Thousandths of executions with refunds
    pub(crate) refunds: u64,
    /// Thousandths of outcomes whose status is unknown
    pub(crate) unknown: u64,
    /// Thousandths of receipts that are never executed
    pub(crate) never: u64,
    /// Thousandths of each anomaly; 0 with retention, which removes a repeated item with the first
    pub(crate) anomalies: u64,
}

/// The state of a branch after a block
#[derive(Clone, Default)]
pub(crate) struct BranchState {
    /// Number of blocks
    length: u64,
    /// A bit for each transaction of the pool
    included: u32,
    scheduled: Vec<ScheduledEvent>,
}

#[derive(Clone, Copy)]
struct ScheduledEvent {
    id: Id,
    event: Event,
    /// The length of the branch from which on it can happen
    due: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Event {
    /// The execution of a receipt at this depth below its transaction
    Execution(u8),
    Body,
}

/// The generator of block contents, shared by all forks
pub(crate) struct ContentGenerator {
    pub(crate) hashes: Hashes,
    pub(crate) settings: ContentSettings,
    pub(crate) pool: Vec<Rc<Transaction>>,
    /// The number of blocks before each transaction of the pool can be included
    pub(crate) first_blocks: Vec<u64>,
    /// Bodies by id
    bodies: Vec<Option<Rc<Body>>>,
    receipts: Vec<Id>,
    /// Receipts that may be in a block before their transactions
    early_receipts: Vec<Id>,
    /// The receipts with the same id on every fork, by parent and index
    shared: HashMap<(Id, usize), Id>,
    gas: u64,
}

/// The depth below a transaction at which receipts generate no others
const MAX_DEPTH: u8 = 4;

impl ContentGenerator {
    pub(crate) fn new(hashes: Hashes, settings: ContentSettings) -> Self {
        Self {
            hashes,
            settings,
            pool: Vec::new(),
            first_blocks: Vec::new(),
            bodies: Vec::new(),
            receipts: Vec::new(),
            early_receipts: Vec::new(),
            shared: HashMap::new(),
            gas: 0,
        }
    }

    /// Creates a first receipt that a block can have before the transaction
    pub(crate) fn add_early_receipt(&mut self, transaction: Id, rng: &mut Rng) {
        let receipt = self.new_receipt(false, rng);
        self.early_receipts.push(receipt);
        self.shared.insert((transaction, 0), receipt);
    }

    /// Creates a receipt
    fn new_receipt(&mut self, refund: bool, rng: &mut Rng) -> Id {
        let id = self.hashes.add_random(rng);
        self.bodies.resize_with(self.hashes.len(), || None);
        self.bodies[id.index()] = Some(Rc::new(Body::new(id, refund, &self.hashes)));
        self.receipts.push(id);
        id
    }

    /// Returns the content of the next block after `branch`, and the state of the branch after it;
    /// `block_count` is the number of all blocks before it
    pub(crate) fn next(
        &mut self,
        branch: &BranchState,
        block: Id,
        block_count: u64,
        rng: &mut Rng,
    ) -> (BranchState, Content) {
        let mut after = branch.clone();
        after.length += 1;
        let mut content = Content::default();
        for index in 0..self.pool.len() {
            let bit = 1 << index;
            if after.included & bit == 0 && self.first_blocks[index] <= block_count && rng.one_in(2)
            {
                after.included |= bit;
                self.include(index, &mut after, &mut content, block, rng);
            } else if after.included & bit != 0 && rng.chance(self.settings.anomalies / 2) {
                self.include(index, &mut after, &mut content, block, rng);
            }
        }
        let mut index = 0;
        // An event may schedule more events for the same block.
        while let Some(scheduled) = after.scheduled.get(index).copied() {
            if scheduled.due > after.length || rng.one_in(5) {
                index += 1;
                continue;
            }
            after.scheduled.swap_remove(index);
            match scheduled.event {
                Event::Body => self.add_body(scheduled.id, &mut content),
                Event::Execution(depth) => {
                    self.execute(scheduled.id, depth, &mut after, &mut content, block, rng);
                }
            }
        }
        if !self.receipts.is_empty() && rng.chance(self.settings.anomalies) {
            let early = rng.one_in(2) && !self.early_receipts.is_empty();
            let id = *rng.pick(if early { &self.early_receipts } else { &self.receipts });
            if rng.one_in(2) {
                self.add_body(id, &mut content);
            } else {
                let depth = rng.between(1, MAX_DEPTH.into()) as u8;
                self.execute(id, depth, &mut after, &mut content, block, rng);
            }
        }
        // A receipt may be generated behind its execution in one block.
        for (outcome, body) in &mut content.executed {
            if body.is_none() {
                *body = self.bodies.get(outcome.id.index()).cloned().flatten();
            }
        }
        (after, content)
    }

    fn include(
        &mut self,
        index: usize,
        after: &mut BranchState,
        content: &mut Content,
        block: Id,
        rng: &mut Rng,
    ) {
        let transaction = Rc::clone(&self.pool[index]);
        let id = transaction.id;
        let outcome = if rng.one_in(4) || content.has_outcome(id) {
            let due = after.length + rng.between(0, 2);
            after.scheduled.push(ScheduledEvent { id, event: Event::Execution(0), due });
            None
        } else {
            Some(Rc::new(self.outcome(id, 0, after, block, rng)))
        };
        content.included.push((transaction, outcome));
    }

    fn add_body(&self, id: Id, content: &mut Content) {
        let Some(body) = &self.bodies[id.index()] else { return };
        if content.bodies().all(|known| known.id != id) {
            content.arrived.push(Rc::clone(body));
        }
    }

    fn execute(
        &mut self,
        id: Id,
        depth: u8,
        after: &mut BranchState,
        content: &mut Content,
        block: Id,
        rng: &mut Rng,
    ) {
        // No block has two outcomes with one id.
        if content.has_outcome(id) {
            return;
        }
        // Beside its execution a body is never missing, whether a block before has it or not.
        let body = self.bodies.get(id.index()).cloned().flatten();
        if body.is_some() {
            after.scheduled.retain(|other| other.id != id || other.event != Event::Body);
        }
        let outcome = self.outcome(id, depth, after, block, rng);
        content.executed.push((Rc::new(outcome), body));
    }

    fn outcome(
        &mut self,
        id: Id,
        depth: u8,
        after: &mut BranchState,
        block: Id,
        rng: &mut Rng,
    ) -> Outcome {
        let (children, refunds) = match depth {
            MAX_DEPTH.. => (0, 0),
            0 => (*rng.pick(&[0, 1, 1, 1, 1, 2, 3]), u64::from(rng.one_in(8))),
            _ => {
                let refunds = if rng.chance(self.settings.refunds) { 1 } else { 0 };
                (*rng.pick(&[0, 0, 1, 1, 2]), refunds * rng.between(1, 2))
            }
        };
        let mut receipts = Vec::new();
        for index in 0..(children + refunds) as usize {
            let refund = index as u64 >= children;
            let child = self.child(id, index, refund, depth, after, rng);
            if !receipts.contains(&child) {
                receipts.push(child);
            }
        }
        // Refunds are mostly last.
        if receipts.len() > 1 && rng.one_in(10) {
            receipts.rotate_left(1);
        }
        let status = if rng.chance(self.settings.unknown) {
            Status::Unknown
        } else if children > 0 && rng.chance(600) {
            Status::Receipt(receipts[0])
        } else if rng.one_in(5) {
            Status::Failure
        } else {
            Status::Value
        };
        self.gas += 1;
        Outcome::new(id, block, status, receipts, self.gas, &self.hashes)
    }

    /// Creates a receipt that an outcome generates, and schedules its events
    fn child(
        &mut self,
        parent: Id,
        index: usize,
        refund: bool,
        depth: u8,
        after: &mut BranchState,
        rng: &mut Rng,
    ) -> Id {
        if rng.chance(self.settings.anomalies / 10) {
            // A receipt that generates itself.
            return parent;
        }
        if rng.chance(self.settings.anomalies) && !after.scheduled.is_empty() {
            // A receipt of two outcomes.
            return rng.pick(&after.scheduled).id;
        }
        let known = self.shared.get(&(parent, index)).copied();
        let id = match known.filter(|_| rng.chance(self.settings.same_ids)) {
            Some(id) => id,
            None => {
                let id = self.new_receipt(refund, rng);
                self.shared.entry((parent, index)).or_insert(id);
                id
            }
        };
        let (body, execution) = match (refund, &self.settings) {
            (true, settings) => (settings.refund, settings.refund),
            (false, settings) => (settings.body, settings.execution),
        };
        let now = after.length;
        let mut later = |max| now + rng.between(0, max);
        let body = ScheduledEvent { id, event: Event::Body, due: later(body) };
        let due = later(execution);
        // Most refunds generate no receipts.
        let depth = if refund && !rng.one_in(8) { MAX_DEPTH } else { depth + 1 };
        let execution = ScheduledEvent { id, event: Event::Execution(depth), due };
        if !rng.chance(self.settings.never) {
            after.scheduled.push(body);
        }
        if !rng.chance(self.settings.never) {
            after.scheduled.push(execution);
        }
        id
    }
}
