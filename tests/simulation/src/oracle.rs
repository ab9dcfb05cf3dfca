//! The oracle: computes the expected results from whole blocks.
//!
//! It keeps every imported block, finds the canonical chain by walking parents from the highest
//! one, and computes results by recursion over the canonical blocks. It shares the result types of
//! the engine and none of its code: neither milestones nor their order, neither rows nor wait
//! conditions.

use core::cmp::Reverse;
use std::collections::HashSet;
use std::rc::Rc;

use milepost::endpoint::ChainStatus;
use milepost::import::{BlockPosition, FinalityRule, ImportSettings, ImportSummary, Retention};
use milepost::storage::rows::BlockPoint;
use milepost::{Error, ErrorKind};

use crate::block::{Block, Body, Outcome, Status, Transaction};
use crate::configs::Configs;
use crate::hashes::{Hashes, Id};
use crate::run::ensure;

/// The expected summary of an import
#[derive(Debug, PartialEq)]
pub(crate) struct Import {
    pub(crate) position: BlockPosition,
    pub(crate) reverted: Vec<BlockPoint>,
    pub(crate) reapplied: Vec<BlockPoint>,
    last_final: Option<BlockPoint>,
    /// The numbers of transactions, outcomes and bodies of receipts
    counts: [usize; 3],
}

/// An item of a canonical block, and the height of the block
type Entry<T> = Option<(Rc<T>, u64)>;

/// The naive chain
pub(crate) struct Oracle {
    settings: ImportSettings,
    /// All known blocks, in the order of import
    pub(crate) known: Vec<Rc<Block>>,
    pub(crate) canonical: Vec<Rc<Block>>,
    pub(crate) last_final: Option<Rc<Block>>,
    pub(crate) configs: Configs,
    transactions: Vec<Entry<Transaction>>,
    outcomes: Vec<Entry<Outcome>>,
    bodies: Vec<Entry<Body>>,
}

/// The milestone of a transaction
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Milestone {
    None,
    Included,
    ExecutedOptimistic,
    IncludedFinal,
    Executed,
    Final,
}

/// The receipts of a transaction
#[derive(Default)]
pub(crate) struct Walk {
    visited: Vec<Id>,
    /// Those with an outcome, parents before children
    pub(crate) order: Vec<Id>,
    /// Those that are not executed
    pending: Vec<Id>,
}

impl Oracle {
    pub(crate) fn new(settings: ImportSettings) -> Self {
        Self {
            settings,
            known: Vec::new(),
            canonical: Vec::new(),
            last_final: None,
            configs: Configs::default(),
            transactions: Vec::new(),
            outcomes: Vec::new(),
            bodies: Vec::new(),
        }
    }

    pub(crate) fn head(&self) -> Option<&Rc<Block>> {
        self.canonical.last()
    }

    pub(crate) fn knows(&self, number: usize) -> bool {
        contains(&self.known, number)
    }

    pub(crate) fn is_canonical(&self, number: usize) -> bool {
        contains(&self.canonical, number)
    }

    /// The known block of this number
    pub(crate) fn block(&self, number: Option<usize>) -> Option<&Rc<Block>> {
        self.known.iter().find(|block| Some(block.number) == number)
    }

    /// A block and its ancestors, oldest first
    fn branch(&self, number: Option<usize>) -> Vec<Rc<Block>> {
        let mut branch = Vec::new();
        let mut next = number;
        while let Some(block) = self.block(next) {
            branch.push(Rc::clone(block));
            next = block.parent;
        }
        branch.reverse();
        branch
    }

    /// Whether import rejects the block: its parent is unknown, or it would revert a final block
    fn rejects(&self, block: &Block) -> bool {
        let Some(head) = self.head() else { return false };
        let Some(parent) = block.parent.filter(|parent| self.knows(*parent)) else { return true };
        let branch = self.branch(Some(parent));
        let reverted = self.canonical.iter().filter(|one| !contains(&branch, one.number));
        let reverts_final = reverted.into_iter().any(|one| self.is_final(one.height));
        // The start of the branch may be pruned.
        let is_detached = branch.iter().all(|one| !self.is_canonical(one.number));
        if is_detached && block.height > head.height {
            return true;
        }
        // The child of a fork block is a fork block, unless it would be the head.
        reverts_final && (block.height > head.height || self.is_canonical(parent))
    }

    /// Imports a block; returns `None` if it must be rejected
    pub(crate) fn import(&mut self, block: &Rc<Block>, hashes: &Hashes) -> Option<Import> {
        let content = &block.content;
        let bodies: HashSet<Id> = content.bodies().map(|body| body.id).collect();
        let mut import = Import {
            position: BlockPosition::Known,
            reverted: Vec::new(),
            reapplied: Vec::new(),
            last_final: self.last_final.as_ref().map(|last| last.point(hashes)),
            counts: [content.included.len(), content.outcomes().count(), bodies.len()],
        };
        if self.knows(block.number) {
            return Some(import);
        }
        if self.rejects(block) {
            return None;
        }
        let parent = block.parent.and_then(|parent| self.block(Some(parent))).cloned();
        self.configs.keep(block, parent.as_deref());
        self.known.push(Rc::clone(block));
        // The canonical chain is the branch of the highest block; of equal heights the first.
        let ranked = self.known.iter().enumerate();
        let highest = ranked.max_by_key(|(index, one)| (one.height, Reverse(*index)));
        let after = self.branch(highest.map(|(_, highest)| highest.number));
        if !contains(&after, block.number) {
            import.position = BlockPosition::Fork;
            return Some(import);
        }
        import.position = BlockPosition::Head;
        let before = core::mem::replace(&mut self.canonical, after);
        let reverted = before.iter().rev().filter(|one| !self.is_canonical(one.number));
        import.reverted = reverted.map(|one| one.point(hashes)).collect();
        let applied = self.canonical.iter().filter(|one| !contains(&before, one.number));
        import.reapplied = applied.map(|one| one.point(hashes)).collect();
        import.reapplied.pop();
        let all_final = self.settings.finality == FinalityRule::All;
        let header_final = if all_final { Some(block.number) } else { block.last_final };
        let header_final = self.block(header_final).cloned().into_iter();
        self.last_final = header_final.chain(self.last_final.take()).max_by_key(|one| one.height);
        import.last_final = self.last_final.as_ref().map(|last| last.point(hashes));
        self.prune();
        self.index(hashes.len());
        Some(import)
    }

    /// Compares the result of an import, and the chain after it, with what is expected
    pub(crate) fn check_import(
        &self,
        expected: Option<&Import>,
        result: &Result<ImportSummary, Error>,
        chain: Result<ChainStatus, Error>,
        hashes: &Hashes,
    ) -> Result<(), String> {
        let found = match result {
            Ok(summary) => Some(Import {
                position: summary.position,
                reverted: summary.reverted.clone(),
                reapplied: summary.reapplied.clone(),
                last_final: summary.last_final,
                counts: [summary.transactions, summary.outcomes, summary.receipts],
            }),
            Err(error) if error.kind() == ErrorKind::Chain => None,
            Err(error) => return Err(error.to_string()),
        };
        ensure!(found.as_ref() == expected, "a block is {found:?}, expected {expected:?}");
        let chain = chain.map_err(|error| error.to_string())?;
        let found = ([chain.earliest, chain.head, chain.last_final], chain.blocks);
        let canonical = &self.canonical;
        let blocks = [canonical.first(), canonical.last(), self.last_final.as_ref()];
        let point = |block: Option<&Rc<Block>>| block.map(|block| block.point(hashes));
        let expected = (blocks.map(point), canonical.len() as u64);
        ensure!(found == expected, "the chain is {found:?}, expected {expected:?}");
        Ok(())
    }

    /// Removes blocks beyond retention, and forks at or below the last final height
    fn prune(&mut self) {
        let kept = match self.settings.retention {
            Retention::Blocks(blocks) => blocks as usize,
            Retention::Epochs(epochs) => {
                let mut seen = HashSet::new();
                let newest_first = self.canonical.iter().rev();
                let of_newest = newest_first.take_while(|block| {
                    seen.insert(block.epoch);
                    seen.len() as u64 <= epochs
                });
                of_newest.count()
            }
            _ => usize::MAX,
        };
        let surplus = self.canonical.len().saturating_sub(kept);
        let pruned: Vec<Rc<Block>> = self.canonical.drain(..surplus).collect();
        let (canonical, floor) = (&self.canonical, self.last_final.as_ref());
        self.known.retain(|block| {
            let above = floor.is_none_or(|floor| block.height > floor.height);
            !contains(&pruned, block.number) && (above || contains(canonical, block.number))
        });
    }

    /// Indexes the content of the canonical chain; of equal ids the first item counts, and of the
    /// inclusions of a transaction the first with an execution
    fn index(&mut self, ids: usize) {
        fn clear<T>(list: &mut Vec<Entry<T>>, length: usize) {
            list.clear();
            list.resize_with(length, || None);
        }
        fn insert<T>(list: &mut [Entry<T>], id: Id, item: &Rc<T>, height: u64) {
            list[id.index()].get_or_insert_with(|| (Rc::clone(item), height));
        }
        clear(&mut self.transactions, ids);
        clear(&mut self.outcomes, ids);
        clear(&mut self.bodies, ids);
        for block in &self.canonical {
            for (transaction, _) in &block.content.included {
                let index = transaction.id.index();
                let is_refused = |(outcome, _): &(Rc<Outcome>, u64)| {
                    let is_failed = matches!(outcome.status, Status::Failure | Status::Unknown);
                    is_failed && outcome.receipts.is_empty()
                };
                let own = block.content.outcomes().find(|outcome| outcome.id == transaction.id);
                if own.is_some_and(|own| matches!(own.status, Status::Receipt(_) | Status::Value))
                    && self.transactions[index].is_some()
                    && self.outcomes[index].as_ref().is_none_or(is_refused)
                {
                    (self.transactions[index], self.outcomes[index]) = (None, None);
                }
                insert(&mut self.transactions, transaction.id, transaction, block.height);
            }
            for outcome in block.content.outcomes() {
                insert(&mut self.outcomes, outcome.id, outcome, block.height);
            }
            for body in block.content.bodies() {
                insert(&mut self.bodies, body.id, body, block.height);
            }
        }
    }

    fn is_final(&self, height: u64) -> bool {
        self.last_final.as_ref().is_some_and(|last| height <= last.height)
    }

    fn outcome(&self, id: Id) -> Option<&(Rc<Outcome>, u64)> {
        self.outcomes.get(id.index())?.as_ref()
    }

    /// The receipts that the outcome of this id generated
    pub(crate) fn generated(&self, id: Id) -> &[Id] {
        self.outcome(id).map_or(&[], |(outcome, _)| &outcome.receipts)
    }

    /// The ids of the content of the canonical chain: of transactions, outcomes and bodies
    pub(crate) fn content(&self) -> [HashSet<Id>; 3] {
        [
            self.transactions.iter().flatten().map(|(transaction, _)| transaction.id).collect(),
            self.outcomes.iter().flatten().map(|(outcome, _)| outcome.id).collect(),
            self.bodies.iter().flatten().map(|(body, _)| body.id).collect(),
        ]
    }

    pub(crate) fn transaction(&self, id: Id) -> Option<&Rc<Transaction>> {
        self.transactions.get(id.index())?.as_ref().map(|(transaction, _)| transaction)
    }

    fn body(&self, id: Id) -> Option<&Rc<Body>> {
        self.bodies.get(id.index())?.as_ref().map(|(body, _)| body)
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

    pub(crate) fn walk(&self, id: Id) -> Walk {
        let mut walk = Walk::default();
        self.visit(id, &mut walk);
        walk
    }

    /// The milestone of a transaction and the number of its pending receipts; `None` if no block
    /// includes it
    pub(crate) fn milestone(&self, id: Id) -> Option<(Milestone, usize)> {
        self.transaction(id)?;
        let Some((outcome, height)) = self.outcome(id) else {
            return Some((Milestone::Included, 0));
        };
        if outcome.status == Status::Unknown {
            return Some((Milestone::None, 0));
        }
        let walk = self.walk(id);
        let known_refund = |id: &Id| self.body(*id).is_some_and(|body| body.refund);
        let executed = walk.pending.iter().all(known_refund);
        let final_outcome =
            |id: &Id| self.outcome(*id).is_some_and(|(_, height)| self.is_final(*height));
        let finalized = walk.pending.is_empty() && walk.order.iter().all(final_outcome);
        let milestone = match (self.is_final(*height), executed, finalized) {
            (false, false, _) => Milestone::Included,
            (false, true, _) => Milestone::ExecutedOptimistic,
            (true, false, _) => Milestone::IncludedFinal,
            (true, true, false) => Milestone::Executed,
            (true, true, true) => Milestone::Final,
        };
        Some((milestone, walk.pending.len()))
    }

    fn final_status(&self, id: Id, steps: usize) -> &str {
        match self.outcome(id) {
            None => "\"Started\"",
            Some((outcome, _)) => match outcome.status {
                Status::Unknown if steps == 0 => "\"NotStarted\"",
                Status::Unknown => "\"Started\"",
                // A cycle of receipts has no leaf.
                Status::Receipt(_) if steps > self.outcomes.len() => "\"Started\"",
                Status::Receipt(next) => self.final_status(next, steps + 1),
                Status::Failure | Status::Value => &outcome.status_text,
            },
        }
    }

    /// The result for a transaction, or what is missing for it
    pub(crate) fn result(&self, id: Id, with_receipts: bool) -> Result<String, Missing> {
        let Some((milestone, transaction)) = self.milestone(id).zip(self.transaction(id)) else {
            return Err(Missing::Transaction);
        };
        let mut result = format!(r#"{{"final_execution_status":"{}""#, milestone.0.name());
        if let Some((own, _)) = self.outcome(id) {
            let order = self.walk(id).order;
            if with_receipts {
                let local = own.receipts.first().filter(|_| transaction.signer_is_receiver);
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
    /// This receipt is executed, and its body is unknown
    Body(Id),
}

impl Milestone {
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

    /// The milestones that this one satisfies, as the interface lists them
    pub(crate) const fn satisfied(self) -> &'static [Self] {
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

/// All milestones
pub(crate) const ALL: [Milestone; 6] = [
    Milestone::None,
    Milestone::Included,
    Milestone::ExecutedOptimistic,
    Milestone::IncludedFinal,
    Milestone::Executed,
    Milestone::Final,
];

fn contains(chain: &[Rc<Block>], number: usize) -> bool {
    chain.iter().any(|block| block.number == number)
}
