//! The walk: which rows say how far along a transaction is.
//!
//! It asks level by level (the transaction, the receipts it generated, those they generated), so a
//! remote storage pays one round trip per depth of the tree. The number of nodes is limited: rows
//! written by anyone cannot exhaust the machine.
//! In what order the answer lists them is decided afterwards, in [`Standing`].

use alloc::vec::Vec;
use core::mem;

use hashbrown::HashMap;

use super::{Memory, Standing};
use crate::facts::record::{ChainRecord, OutcomeRow, ReceiptRecord, SettledOutcome, SettledRecord};
use crate::facts::{Key, Question, Row, Step, Table};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::{Error, ErrorKind};

/// How far along is this transaction?
///
/// Asks for the chain, the transaction and its outcome first. If the transaction is settled that is
/// all; else it asks, level by level, for the outcomes of the receipts generated and their bodies. A
/// node without an outcome is a receipt that is still to be executed; its body says whether it is a
/// refund.
///
/// Rows of one state of the storage are best. Where levels come from several, each later than the one
/// before, the transaction may be settled meanwhile: then its outcomes say so, and it is asked for
/// once more.
///
/// ```
/// use milepost::facts::{MemoryStorage, drive};
/// use milepost::primitives::CryptoHash;
/// use milepost::status::StatusQuestion;
///
/// let mut question = StatusQuestion::new(CryptoHash::ZERO, 1_000);
/// let standing = drive(&mut question, &MemoryStorage::new()).unwrap();
/// assert!(standing.is_none());
/// ```
#[derive(Debug)]
pub struct StatusQuestion {
    hash: CryptoHash,
    limit: usize,
    stage: Stage,
    chain: ChainRecord,
    transaction: Option<Row>,
    /// Whether the row of the transaction holds all there is
    settled: bool,
    memory: Memory,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// The chain, the transaction and its outcome are asked for
    Transaction,
    /// Outcomes and bodies of the nodes from this one on are asked for
    Receipts { first: usize },
    /// The settled transactions with which outcomes of the nodes from this one on stand
    Settled { first: usize },
    /// Everything is known
    Known,
    /// The answer was given, or the question failed
    Over,
}

impl StatusQuestion {
    /// A question about the transaction of this hash, of at most `limit` outcomes and receipts
    pub fn new(hash: CryptoHash, limit: usize) -> Self {
        Self::in_memory(hash, limit, Memory::default())
    }

    /// The same question in the memory of one before
    pub(crate) fn in_memory(hash: CryptoHash, limit: usize, mut memory: Memory) -> Self {
        memory.keys.extend([
            ChainRecord::key(),
            Key::hash(Table::Transactions, hash),
            Key::hash(Table::Outcomes, hash),
        ]);
        let (stage, chain) = (Stage::Transaction, ChainRecord::default());
        Self { hash, limit, stage, chain, transaction: None, settled: false, memory }
    }

    /// The memory, unless the answer has it
    pub(crate) fn into_memory(self) -> Memory {
        self.memory.cleared()
    }

    /// The generation of the chain that the answer is true of at least: rows that came after the
    /// first ones may be newer; 0 before the first ones came
    pub const fn generation(&self) -> u64 {
        self.chain.generation
    }

    fn take_transaction(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        let [chain, transaction, outcome] = rows else { return Err(count_error(3, rows.len())) };
        self.chain = ChainRecord::decode(chain.as_deref())?;
        self.transaction.clone_from(transaction);
        self.stage = Stage::Known;
        if self.transaction.is_some() && !self.is_settled()? {
            self.memory.tree.add(self.hash);
            if let [own] = self.memory.tree.nodes_mut() {
                own.outcome.clone_from(outcome);
            }
            self.resolve(0)?;
        }
        Ok(())
    }

    /// Whether the transaction is settled, so that nothing else need be asked
    fn is_settled(&mut self) -> Result<bool, Error> {
        let Some(row) = &self.transaction else { return Ok(false) };
        let Some(settled) = SettledRecord::decode(row)? else { return Ok(false) };
        if settled.count as usize > self.limit {
            return Err(self.too_many());
        }
        self.settled = true;
        Ok(true)
    }

    fn too_many(&self) -> Error {
        Error::new(ErrorKind::Limit, format_args!("more than {} receipts", self.limit))
            .at(format_args!("transaction {}", self.hash))
    }

    fn take_receipts(&mut self, first: usize, rows: &[Option<Row>]) -> Result<(), Error> {
        if rows.len() != self.memory.keys.len() {
            return Err(count_error(self.memory.keys.len(), rows.len()));
        }
        let (pairs, _) = rows.as_chunks::<2>();
        for (node, [outcome, body]) in
            self.memory.tree.nodes_mut().iter_mut().skip(first).zip(pairs)
        {
            node.outcome.clone_from(outcome);
            node.body.clone_from(body);
        }
        self.resolve(first)
    }

    /// Goes on from the nodes from `first` on, once their outcomes are at hand
    fn resolve(&mut self, first: usize) -> Result<(), Error> {
        let mut elsewhere = Vec::new();
        for row in
            self.memory.tree.nodes().iter().skip(first).filter_map(|node| node.outcome.as_deref())
        {
            elsewhere.extend(OutcomeRow::settled_in(row)?);
        }
        if elsewhere.is_empty() {
            return self.descend(first);
        }
        if elsewhere.contains(&self.hash) {
            // Settled since it was asked for.
            elsewhere = [self.hash].into();
        }
        elsewhere.sort_unstable();
        elsewhere.dedup();
        self.memory.keys.clear();
        self.memory
            .keys
            .extend(elsewhere.into_iter().map(|hash| Key::hash(Table::Transactions, hash)));
        self.stage = Stage::Settled { first };
        Ok(())
    }

    fn take_settled(&mut self, first: usize, rows: &[Option<Row>]) -> Result<(), Error> {
        if rows.len() != self.memory.keys.len() {
            return Err(count_error(self.memory.keys.len(), rows.len()));
        }
        if let ([key], [row]) = (&self.memory.keys[..], rows)
            && *key == Key::hash(Table::Transactions, self.hash)
        {
            self.stage = Stage::Known;
            self.transaction.clone_from(row);
            if !self.is_settled()? {
                // Forgotten since, or written by someone else.
                self.transaction = None;
            }
            return Ok(());
        }
        // No sound chain has a receipt of two transactions; the other one was settled first.
        let mut open: HashMap<CryptoHash, usize, HashBuilder> = HashMap::default();
        for (at, node) in self.memory.tree.nodes_mut().iter_mut().enumerate().skip(first) {
            let settled = node.outcome.as_deref().map(OutcomeRow::settled_in).transpose()?;
            if settled.flatten().is_some() {
                node.outcome = None;
                open.insert(node.id, at);
            }
        }
        for row in rows.iter().flatten() {
            let Some(settled) = SettledRecord::decode(row)? else { continue };
            for outcome in settled.outcomes() {
                let SettledOutcome { id, outcome, body } = outcome?;
                let node = open.remove(&id).and_then(|at| self.memory.tree.nodes_mut().get_mut(at));
                let Some(node) = node else { continue };
                node.outcome = Some(outcome.encode().into());
                if let Some(fragment) = body {
                    let body = ReceiptRecord { refund: false, height: outcome.height, fragment };
                    node.body = Some(body.encode().into());
                }
            }
        }
        self.descend(first)
    }

    /// Adds the receipts that the nodes from `first` on generated, and asks for them
    fn descend(&mut self, first: usize) -> Result<(), Error> {
        self.memory.keys.clear();
        let next = self.memory.tree.nodes().len();
        for place in first..next {
            self.memory.tree.read(place)?;
            if self.memory.tree.nodes().len() > self.limit.saturating_add(1) {
                return Err(self.too_many());
            }
        }
        for node in self.memory.tree.nodes().iter().skip(next) {
            self.memory.keys.push(Key::hash(Table::Outcomes, node.id));
            self.memory.keys.push(Key::hash(Table::Receipts, node.id));
        }
        if self.memory.keys.is_empty() {
            self.stage = Stage::Known;
        } else {
            self.stage = Stage::Receipts { first: next };
        }
        Ok(())
    }
}

fn count_error(expected: usize, found: usize) -> Error {
    Error::new(ErrorKind::Usage, format_args!("{found} rows supplied, {expected} asked for"))
}

impl Question for StatusQuestion {
    /// `None` when no block that is known holds the transaction
    type Answer = Option<Standing>;

    fn poll(&mut self) -> Result<Step<'_, Self::Answer>, Error> {
        match self.stage {
            Stage::Transaction | Stage::Receipts { .. } | Stage::Settled { .. } => {
                Ok(Step::Need(&self.memory.keys))
            }
            Stage::Known => {
                self.stage = Stage::Over;
                let standing = match self.transaction.take() {
                    Some(row) if self.settled => Some(Standing::settled(row)),
                    Some(row) => {
                        Some(Standing::walked(row, mem::take(&mut self.memory), &self.chain)?)
                    }
                    None => None,
                };
                Ok(Step::Done(standing))
            }
            Stage::Over => Err(Error::new(ErrorKind::Usage, "the question is answered already")),
        }
    }

    fn supply(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        let result = match self.stage {
            Stage::Transaction => self.take_transaction(rows),
            Stage::Receipts { first } => self.take_receipts(first, rows),
            Stage::Settled { first } => self.take_settled(first, rows),
            Stage::Known | Stage::Over => {
                Err(Error::new(ErrorKind::Usage, "no rows were asked for"))
            }
        };
        if matches!(&result, Err(error) if error.kind() != ErrorKind::Usage) {
            self.stage = Stage::Over;
        }
        result
    }
}
