//! What happens in the next block of a branch.
//!
//! A branch remembers what is still to happen on it: receipts on their way, executions that are due,
//! bodies that come late. Forks start from copies of it and go on by chance of their own, so a
//! transaction meets other receipts, other ends and other heights on every fork. What the engine must
//! survive but no sound chain does (a receipt of two outcomes, an outcome before what made it) is
//! drawn as an oddity.

use std::collections::HashMap;
use std::rc::Rc;

use milepost_testkit::Rng;

use crate::block::{Body, Content, Outcome, Status, Transaction};
use crate::names::{Id, Names};

/// How a seed likes its blocks
pub(crate) struct Pace {
    /// The most blocks from an outcome to the execution of what it made
    pub(crate) execution: u64,
    /// The most blocks from an outcome to the bodies of what it made
    pub(crate) body: u64,
    /// The same for refunds, which may come far behind
    pub(crate) refund: u64,
    /// Thousandths of receipts that have the same id on every fork
    pub(crate) same_ids: u64,
    /// Thousandths of executions with refunds
    pub(crate) refunds: u64,
    /// Thousandths of outcomes whose status is unknown
    pub(crate) unknown: u64,
    /// Thousandths of receipts that are never executed
    pub(crate) never: u64,
    /// Thousandths of each oddity; none under retention, where a repeated fact goes with the first
    pub(crate) oddities: u64,
}

/// What is still to happen after a block
#[derive(Clone, Default)]
pub(crate) struct Branch {
    /// Number of blocks
    length: u64,
    /// A bit for each transaction of the pool
    included: u32,
    pending: Vec<Pending>,
    /// Receipts whose bodies came
    seen: Vec<Id>,
}

#[derive(Clone, Copy)]
struct Pending {
    id: Id,
    what: What,
    /// The length of the branch from which on it can happen
    due: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum What {
    /// How far it is from its transaction
    Execution(u8),
    Body,
}

/// All that can happen, on whatever fork
pub(crate) struct Growth {
    pub(crate) names: Names,
    pub(crate) pace: Pace,
    pub(crate) pool: Vec<Rc<Transaction>>,
    /// The number of blocks made before each transaction of the pool can be included
    pub(crate) released: Vec<u64>,
    /// Bodies by id
    bodies: Vec<Option<Rc<Body>>>,
    receipts: Vec<Id>,
    /// Receipts that were there before their transactions
    foreseen: Vec<Id>,
    /// The receipts that have the same id on every fork, by parent and place
    shared: HashMap<(Id, usize), Id>,
    gas: u64,
}

/// Receipts further from their transaction make no others
const DEEPEST: u8 = 4;

impl Growth {
    pub(crate) fn new(names: Names, pace: Pace) -> Self {
        Self {
            names,
            pace,
            pool: Vec::new(),
            released: Vec::new(),
            bodies: Vec::new(),
            receipts: Vec::new(),
            foreseen: Vec::new(),
            shared: HashMap::new(),
            gas: 0,
        }
    }

    /// Gives a transaction a receipt before anything is included, so that some block can bring it
    /// before its time
    pub(crate) fn foresee(&mut self, transaction: Id, rng: &mut Rng) {
        let receipt = self.receipt(false, rng);
        self.foreseen.push(receipt);
        self.shared.insert((transaction, 0), receipt);
    }

    /// A receipt that no block has brought yet
    fn receipt(&mut self, refund: bool, rng: &mut Rng) -> Id {
        let id = self.names.fresh(rng);
        self.bodies.resize_with(self.names.len(), || None);
        self.bodies[id.place()] = Some(Rc::new(Body::new(id, refund, &self.names)));
        self.receipts.push(id);
        id
    }

    /// The next block after `branch`; `made` blocks were made before it
    pub(crate) fn grow(
        &mut self,
        branch: &Branch,
        block: Id,
        made: u64,
        rng: &mut Rng,
    ) -> (Branch, Content) {
        let mut after = branch.clone();
        after.length += 1;
        let mut content = Content::default();
        for place in 0..self.pool.len() {
            let bit = 1 << place;
            if after.included & bit == 0 && self.released[place] <= made && rng.one_in(2) {
                after.included |= bit;
                self.include(place, &mut after, &mut content, block, rng);
            } else if after.included & bit != 0 && rng.chance(self.pace.oddities / 2) {
                self.include(place, &mut after, &mut content, block, rng);
            }
        }
        let mut place = 0;
        // What happens may make more happen in the same block.
        while let Some(pending) = after.pending.get(place).copied() {
            if pending.due > after.length || rng.one_in(5) {
                place += 1;
                continue;
            }
            after.pending.swap_remove(place);
            match pending.what {
                What::Body => self.arrive(pending.id, &mut after, &mut content),
                What::Execution(depth) => {
                    self.execute(pending.id, depth, &mut after, &mut content, block, rng);
                }
            }
        }
        if !self.receipts.is_empty() && rng.chance(self.pace.oddities) {
            let foreseen = rng.one_in(2) && !self.foreseen.is_empty();
            let id = *rng.pick(if foreseen { &self.foreseen } else { &self.receipts });
            if rng.one_in(2) {
                self.arrive(id, &mut after, &mut content);
            } else {
                let depth = rng.between(1, DEEPEST.into()) as u8;
                self.execute(id, depth, &mut after, &mut content, block, rng);
            }
        }
        (after, content)
    }

    fn include(
        &mut self,
        place: usize,
        after: &mut Branch,
        content: &mut Content,
        block: Id,
        rng: &mut Rng,
    ) {
        let transaction = Rc::clone(&self.pool[place]);
        let id = transaction.id;
        let own = if rng.one_in(4) || content.has_outcome(id) {
            let due = after.length + rng.between(0, 2);
            after.pending.push(Pending { id, what: What::Execution(0), due });
            None
        } else {
            Some(Rc::new(self.outcome(id, 0, after, block, rng)))
        };
        content.included.push((transaction, own));
    }

    fn arrive(&self, id: Id, after: &mut Branch, content: &mut Content) {
        let Some(body) = &self.bodies[id.place()] else { return };
        if content.bodies().all(|known| known.id != id) {
            content.arrived.push(Rc::clone(body));
            after.seen.push(id);
        }
    }

    fn execute(
        &mut self,
        id: Id,
        depth: u8,
        after: &mut Branch,
        content: &mut Content,
        block: Id,
        rng: &mut Rng,
    ) {
        // No block has two outcomes of one id.
        if content.has_outcome(id) {
            return;
        }
        let seen = after.seen.contains(&id);
        let beside = if seen {
            rng.chance(self.pace.oddities)
        } else {
            // A body may even come behind the execution.
            !rng.chance(self.pace.oddities / 4)
        };
        let body = self.bodies.get(id.place()).cloned().flatten().filter(|_| beside);
        if body.is_some() {
            after.seen.push(id);
            after.pending.retain(|other| other.id != id || other.what != What::Body);
        }
        let outcome = self.outcome(id, depth, after, block, rng);
        content.executed.push((Rc::new(outcome), body));
    }

    fn outcome(
        &mut self,
        id: Id,
        depth: u8,
        after: &mut Branch,
        block: Id,
        rng: &mut Rng,
    ) -> Outcome {
        let (children, refunds) = match depth {
            DEEPEST.. => (0, 0),
            0 => (*rng.pick(&[0, 1, 1, 1, 1, 2, 3]), u64::from(rng.one_in(8))),
            _ => {
                let refunds = if rng.chance(self.pace.refunds) { 1 } else { 0 };
                (*rng.pick(&[0, 0, 1, 1, 2]), refunds * rng.between(1, 2))
            }
        };
        let mut receipts = Vec::new();
        for place in 0..(children + refunds) as usize {
            let refund = place as u64 >= children;
            let child = self.child(id, place, refund, depth, after, rng);
            if !receipts.contains(&child) {
                receipts.push(child);
            }
        }
        // Refunds come last, as a rule.
        if receipts.len() > 1 && rng.one_in(10) {
            receipts.rotate_left(1);
        }
        let status = if rng.chance(self.pace.unknown) {
            Status::Unknown
        } else if children > 0 && rng.chance(600) {
            Status::Receipt(receipts[0])
        } else if rng.one_in(5) {
            Status::Failure
        } else {
            Status::Value
        };
        self.gas += 1;
        Outcome::new(id, block, status, receipts, self.gas, &self.names)
    }

    /// A receipt that an outcome makes, and what is to happen to it
    fn child(
        &mut self,
        parent: Id,
        place: usize,
        refund: bool,
        depth: u8,
        after: &mut Branch,
        rng: &mut Rng,
    ) -> Id {
        if rng.chance(self.pace.oddities / 10) {
            // Its own descendant.
            return parent;
        }
        if rng.chance(self.pace.oddities) && !after.pending.is_empty() {
            // The receipt of another outcome as well.
            return rng.pick(&after.pending).id;
        }
        let known = self.shared.get(&(parent, place)).copied();
        let id = match known.filter(|_| rng.chance(self.pace.same_ids)) {
            Some(id) => id,
            None => {
                let id = self.receipt(refund, rng);
                self.shared.entry((parent, place)).or_insert(id);
                id
            }
        };
        let (body, execution) = match (refund, &self.pace) {
            (true, pace) => (pace.refund, pace.refund),
            (false, pace) => (pace.body, pace.execution),
        };
        let now = after.length;
        let mut later = |most| now + rng.between(0, most);
        let body = Pending { id, what: What::Body, due: later(body) };
        let due = later(execution);
        // Most refunds make nothing more.
        let depth = if refund && !rng.one_in(8) { DEEPEST } else { depth + 1 };
        let execution = Pending { id, what: What::Execution(depth), due };
        if !rng.chance(self.pace.never) {
            after.pending.push(body);
        }
        if !rng.chance(self.pace.never) {
            after.pending.push(execution);
        }
        id
    }
}
