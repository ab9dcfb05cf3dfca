//! What must be answered, worked out from whole blocks.
//!
//! The oracle keeps every block that came in, finds the canonical chain by walking parents from the
//! highest one, and answers by plain recursion over what the canonical blocks say. It shares no
//! code with the engine: neither milestones nor their order, neither rows nor waits.

use core::cmp::Reverse;
use std::rc::Rc;

use crate::block::{Block, Body, Outcome, Status, Transaction};
use crate::names::Id;

/// How blocks are taken in
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Every block is final when it comes in
    pub(crate) all_final: bool,
    /// How many canonical blocks are kept
    pub(crate) kept: usize,
}

/// What should become of a block
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Taken {
    /// It is the head; so many blocks were undone and redone for it
    Head {
        undone: usize,
        redone: usize,
    },
    Known,
    Aside,
    Refused,
}

/// Something that a canonical block of this height says
type Said<T> = Option<(Rc<T>, u64)>;

/// The chain by the book
pub(crate) struct Oracle {
    rules: Rules,
    /// All that is kept, in the order of arrival
    known: Vec<Rc<Block>>,
    canonical: Vec<Rc<Block>>,
    last_final: Option<u64>,
    transactions: Vec<Said<Transaction>>,
    outcomes: Vec<Said<Outcome>>,
    bodies: Vec<Said<Body>>,
}

/// Where a transaction stands
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Stands {
    None,
    Included,
    ExecutedOptimistic,
    IncludedFinal,
    Executed,
    Final,
}

/// The receipts below a transaction
#[derive(Default)]
struct Walk {
    visited: Vec<Id>,
    /// Those with an outcome, each before what it made
    order: Vec<Id>,
    /// Those that are not executed
    pending: Vec<Id>,
}

impl Oracle {
    pub(crate) const fn new(rules: Rules) -> Self {
        Self {
            rules,
            known: Vec::new(),
            canonical: Vec::new(),
            last_final: None,
            transactions: Vec::new(),
            outcomes: Vec::new(),
            bodies: Vec::new(),
        }
    }

    pub(crate) fn head(&self) -> Option<&Rc<Block>> {
        self.canonical.last()
    }

    pub(crate) fn canonical(&self) -> &[Rc<Block>] {
        &self.canonical
    }

    pub(crate) const fn last_final(&self) -> Option<u64> {
        self.last_final
    }

    pub(crate) fn knows(&self, number: usize) -> bool {
        self.known.iter().any(|block| block.number == number)
    }

    pub(crate) fn is_canonical(&self, number: usize) -> bool {
        self.canonical.iter().any(|block| block.number == number)
    }

    /// A block and its ancestors, oldest first
    fn branch(&self, number: Option<usize>) -> Vec<Rc<Block>> {
        let find = |number| self.known.iter().find(|block| Some(block.number) == number);
        let mut branch = Vec::new();
        let mut next = number;
        while let Some(block) = find(next) {
            branch.push(Rc::clone(block));
            next = block.parent;
        }
        branch.reverse();
        branch
    }

    /// Whether the block has no place: its parent is unknown, or it would leave out what is final
    fn refuses(&self, block: &Block) -> bool {
        let Some(head) = self.head() else { return false };
        let Some(parent) = block.parent.filter(|parent| self.knows(*parent)) else { return true };
        let branch = self.branch(Some(parent));
        let is_final = |one: &Block| self.last_final.is_some_and(|last| one.height <= last);
        let leaves_out_final =
            self.canonical.iter().any(|one| is_final(one) && lacks(&branch, one.number));
        // Where the branch came from may be forgotten.
        let is_loose = branch.iter().all(|one| !self.is_canonical(one.number));
        if is_loose && block.height > head.height {
            return true;
        }
        // A fork of a fork that lost already is put aside with it.
        leaves_out_final && (block.height > head.height || self.is_canonical(parent))
    }

    /// Takes in a block; `names` is how many ids there are
    pub(crate) fn take(&mut self, block: &Rc<Block>, names: usize) -> Taken {
        if self.knows(block.number) {
            return Taken::Known;
        }
        if self.refuses(block) {
            return Taken::Refused;
        }
        self.known.push(Rc::clone(block));
        // The branch of the highest block, the first of equals.
        let ranked = self.known.iter().enumerate();
        let highest = ranked.max_by_key(|(arrival, one)| (one.height, Reverse(*arrival)));
        let after = self.branch(highest.map(|(_, highest)| highest.number));
        if lacks(&after, block.number) {
            return Taken::Aside;
        }
        let before = core::mem::replace(&mut self.canonical, after);
        let undone = before.iter().filter(|one| lacks(&self.canonical, one.number)).count();
        let joined = self.canonical.iter().filter(|one| lacks(&before, one.number)).count();
        let called_final = if self.rules.all_final { Some(block.number) } else { block.last_final };
        let called_final = self.known.iter().find(|one| Some(one.number) == called_final);
        self.last_final = self.last_final.max(called_final.map(|one| one.height));
        self.forget();
        self.read(names);
        Taken::Head { undone, redone: joined - 1 }
    }

    /// Forgets old blocks, and forks that nothing can be built upon any more
    fn forget(&mut self) {
        let surplus = self.canonical.len().saturating_sub(self.rules.kept);
        let gone: Vec<Rc<Block>> = self.canonical.drain(..surplus).collect();
        let (canonical, floor) = (&self.canonical, self.last_final);
        self.known.retain(|block| {
            let above = floor.is_none_or(|floor| block.height > floor);
            lacks(&gone, block.number) && (above || !lacks(canonical, block.number))
        });
    }

    /// Reads the canonical chain from its first block; what a block repeats is the earlier one's
    fn read(&mut self, names: usize) {
        fn clear<T>(list: &mut Vec<Said<T>>, length: usize) {
            list.clear();
            list.resize_with(length, || None);
        }
        fn say<T>(list: &mut [Said<T>], id: Id, what: &Rc<T>, height: u64) {
            list[id.place()].get_or_insert_with(|| (Rc::clone(what), height));
        }
        clear(&mut self.transactions, names);
        clear(&mut self.outcomes, names);
        clear(&mut self.bodies, names);
        for block in &self.canonical {
            for (transaction, _) in &block.content.included {
                say(&mut self.transactions, transaction.id, transaction, block.height);
            }
            for outcome in block.content.outcomes() {
                say(&mut self.outcomes, outcome.id, outcome, block.height);
            }
            for body in block.content.bodies() {
                say(&mut self.bodies, body.id, body, block.height);
            }
        }
    }

    fn is_final(&self, height: u64) -> bool {
        self.last_final.is_some_and(|last| height <= last)
    }

    fn outcome(&self, id: Id) -> Option<&(Rc<Outcome>, u64)> {
        self.outcomes.get(id.place())?.as_ref()
    }

    pub(crate) fn transaction(&self, id: Id) -> Option<&Rc<Transaction>> {
        self.transactions.get(id.place())?.as_ref().map(|(transaction, _)| transaction)
    }

    fn body(&self, id: Id) -> Option<&Rc<Body>> {
        self.bodies.get(id.place())?.as_ref().map(|(body, _)| body)
    }

    fn visit(&self, id: Id, walk: &mut Walk) {
        if walk.visited.contains(&id) {
            return;
        }
        walk.visited.push(id);
        let Some((outcome, _)) = self.outcome(id) else {
            walk.pending.push(id);
            return;
        };
        if outcome.status == Status::Unknown {
            walk.pending.push(id);
        }
        walk.order.push(id);
        for child in &outcome.receipts {
            self.visit(*child, walk);
        }
    }

    fn walk(&self, id: Id) -> Walk {
        let mut walk = Walk::default();
        self.visit(id, &mut walk);
        walk
    }

    /// Where a transaction stands, if it is in a block, and how many refunds it does not wait for
    pub(crate) fn stands(&self, id: Id) -> Option<(Stands, usize)> {
        self.transaction(id)?;
        let Some((own, height)) = self.outcome(id) else { return Some((Stands::Included, 0)) };
        if own.status == Status::Unknown {
            return Some((Stands::None, 0));
        }
        let walk = self.walk(id);
        let known_refund = |id: &Id| self.body(*id).is_some_and(|body| body.refund);
        let executed = walk.pending.iter().all(known_refund);
        let final_outcome =
            |id: &Id| self.outcome(*id).is_some_and(|(_, height)| self.is_final(*height));
        let settled = walk.pending.is_empty() && walk.order.iter().all(final_outcome);
        let stands = match (self.is_final(*height), executed, settled) {
            (false, false, _) => Stands::Included,
            (false, true, _) => Stands::ExecutedOptimistic,
            (true, false, _) => Stands::IncludedFinal,
            (true, true, false) => Stands::Executed,
            (true, true, true) => Stands::Final,
        };
        Some((stands, walk.pending.len()))
    }

    fn final_status(&self, id: Id, steps: usize) -> &str {
        match self.outcome(id) {
            None => "\"Started\"",
            Some((outcome, _)) => match outcome.status {
                Status::Unknown if steps == 0 => "\"NotStarted\"",
                Status::Unknown => "\"Started\"",
                // A circle of receipts has no end that could be told.
                Status::Receipt(_) if steps > self.outcomes.len() => "\"Started\"",
                Status::Receipt(next) => self.final_status(next, steps + 1),
                Status::Failure | Status::Value => &outcome.status_text,
            },
        }
    }

    /// The result of the interface about a transaction that is in a block, or what is missing for it
    pub(crate) fn result(&self, id: Id, with_receipts: bool) -> Result<String, Missing> {
        let Some((stands, transaction)) = self.stands(id).zip(self.transaction(id)) else {
            return Err(Missing::Transaction);
        };
        let mut result = format!(r#"{{"final_execution_status":"{}""#, stands.0.name());
        if let Some((own, _)) = self.outcome(id) {
            let order = self.walk(id).order;
            if with_receipts {
                let local = own.receipts.first().filter(|_| transaction.to_itself);
                let mut bodies = Vec::new();
                for receipt in order[1..].iter().filter(|id| Some(*id) != local) {
                    let body = self.body(*receipt).ok_or(Missing::Body(*receipt))?;
                    bodies.push(body.text.as_str());
                }
                result += &format!(r#","receipts":[{}]"#, bodies.join(","));
            }
            let outcomes = order[1..].iter().filter_map(|id| self.outcome(*id));
            let outcomes: Vec<&str> = outcomes.map(|(outcome, _)| outcome.text.as_str()).collect();
            result += &format!(
                r#","receipts_outcome":[{}],"status":{},"transaction":{},"transaction_outcome":{}"#,
                outcomes.join(","),
                self.final_status(id, 0),
                transaction.text,
                own.text,
            );
        }
        result.push('}');
        Ok(result)
    }
}

/// Why there is no result
pub(crate) enum Missing {
    Transaction,
    /// This receipt is executed, and its body is nowhere
    Body(Id),
}

impl Stands {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Included => "INCLUDED",
            Self::ExecutedOptimistic => "EXECUTED_OPTIMISTIC",
            Self::IncludedFinal => "INCLUDED_FINAL",
            Self::Executed => "EXECUTED",
            Self::Final => "FINAL",
        }
    }

    /// The waits that end here, as the table of the interface has them
    pub(crate) const fn ends(self) -> &'static [Self] {
        match self {
            Self::None => &[Self::None],
            Self::Included => &[Self::None, Self::Included],
            Self::ExecutedOptimistic => &[Self::None, Self::Included, Self::ExecutedOptimistic],
            Self::IncludedFinal => &[Self::None, Self::Included, Self::IncludedFinal],
            Self::Executed => &[
                Self::None,
                Self::Included,
                Self::ExecutedOptimistic,
                Self::IncludedFinal,
                Self::Executed,
            ],
            Self::Final => &ALL,
        }
    }
}

/// All that can be waited for
pub(crate) const ALL: [Stands; 6] = [
    Stands::None,
    Stands::Included,
    Stands::ExecutedOptimistic,
    Stands::IncludedFinal,
    Stands::Executed,
    Stands::Final,
];

fn lacks(chain: &[Rc<Block>], number: usize) -> bool {
    chain.iter().all(|block| block.number != number)
}
