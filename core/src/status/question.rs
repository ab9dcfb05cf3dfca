//! The walk: which rows say how far along a transaction is.
//!
//! It asks level by level (the transaction, the receipts it generated, those they generated), so a
//! remote storage pays one round trip per depth of the tree. Nodes live in one list, visited ids in
//! one set, and their number is limited: rows written by anyone cannot exhaust the machine.
//! In what order the answer lists them is decided afterwards, in [`Standing`].

use alloc::vec::Vec;
use core::mem;

use hashbrown::HashSet;

use super::Standing;
use super::standing::Node;
use crate::facts::record::{ChainRecord, OutcomeRecord};
use crate::facts::{Key, Question, Row, Step, Table};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::{Error, ErrorKind};

/// How far along is this transaction?
///
/// Asks for the chain, the transaction and its outcome first; then, level by level, for the
/// outcomes of the receipts generated and their bodies. A node without an outcome is a receipt
/// that is still to be executed; its body says whether it is a refund.
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
    keys: Vec<Key>,
    chain: ChainRecord,
    transaction: Option<Row>,
    nodes: Vec<Node>,
    visited: HashSet<CryptoHash, HashBuilder>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// The chain, the transaction and its outcome are asked for
    Transaction,
    /// Outcomes and bodies of the nodes from this one on are asked for
    Receipts { first: usize },
    /// Everything is known
    Known,
    /// The answer was given, or the question failed
    Over,
}

impl StatusQuestion {
    /// A question about the transaction of this hash, of at most `limit` outcomes and receipts
    pub fn new(hash: CryptoHash, limit: usize) -> Self {
        Self {
            hash,
            limit,
            stage: Stage::Transaction,
            keys: [
                ChainRecord::key(),
                Key::hash(Table::Transactions, hash),
                Key::hash(Table::Outcomes, hash),
            ]
            .into(),
            chain: ChainRecord::default(),
            transaction: None,
            nodes: Vec::new(),
            visited: HashSet::default(),
        }
    }

    /// The generation of the chain that the answer is true of at least: rows that came after the
    /// first ones may be newer; 0 before the first ones came
    pub const fn generation(&self) -> u64 {
        self.chain.generation
    }

    fn take_transaction(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        let [chain, transaction, outcome] = rows else { return Err(count_error(3, rows.len())) };
        self.chain = ChainRecord::decode(chain.as_deref())?;
        self.transaction = transaction.clone();
        self.stage = Stage::Known;
        if self.transaction.is_some() {
            self.visited.insert(self.hash);
            self.nodes.push(Node::new(self.hash, outcome.clone(), None));
            self.descend(0)?;
        }
        Ok(())
    }

    fn take_receipts(&mut self, first: usize, rows: &[Option<Row>]) -> Result<(), Error> {
        let (pairs, _) = rows.as_chunks::<2>();
        if rows.len() != self.keys.len() {
            return Err(count_error(self.keys.len(), rows.len()));
        }
        for (node, [outcome, body]) in self.nodes.iter_mut().skip(first).zip(pairs) {
            node.outcome.clone_from(outcome);
            node.body.clone_from(body);
        }
        self.descend(first)
    }

    /// Adds the receipts that the nodes from `first` on generated, and asks for them
    fn descend(&mut self, first: usize) -> Result<(), Error> {
        self.keys.clear();
        let next = self.nodes.len();
        for index in first..next {
            let Some(row) = self.nodes.get(index).and_then(|node| node.outcome.clone()) else {
                continue;
            };
            for id in OutcomeRecord::decode(&row)?.receipts() {
                if !self.visited.insert(id) {
                    continue;
                }
                if self.nodes.len() > self.limit {
                    return Err(Error::new(
                        ErrorKind::Limit,
                        format_args!("more than {} receipts", self.limit),
                    )
                    .at(format_args!("transaction {}", self.hash)));
                }
                self.nodes.push(Node::new(id, None, None));
                self.keys.push(Key::hash(Table::Outcomes, id));
                self.keys.push(Key::hash(Table::Receipts, id));
            }
        }
        self.stage =
            if self.keys.is_empty() { Stage::Known } else { Stage::Receipts { first: next } };
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
            Stage::Transaction | Stage::Receipts { .. } => Ok(Step::Need(&self.keys)),
            Stage::Known => {
                self.stage = Stage::Over;
                let nodes = mem::take(&mut self.nodes);
                let standing = mem::take(&mut self.transaction)
                    .map(|transaction| Standing::new(transaction, nodes, &self.chain));
                standing.transpose().map(Step::Done)
            }
            Stage::Over => Err(Error::new(ErrorKind::Usage, "the question is answered already")),
        }
    }

    fn supply(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        let result = match self.stage {
            Stage::Transaction => self.take_transaction(rows),
            Stage::Receipts { first } => self.take_receipts(first, rows),
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
