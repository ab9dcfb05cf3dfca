//! The query for a transaction's status: fetches the rows of its receipt tree.
//!
//! It proceeds level by level (the transaction, the receipts that it generated, those that they
//! generated), so a remote storage pays one round trip per level. The number of nodes is limited,
//! so rows that the engine did not write cannot exhaust memory. [`TransactionStatus`] decides in
//! which order a response lists the nodes.

use alloc::vec::Vec;
use core::mem;

use hashbrown::HashMap;

#[cfg(feature = "archive")]
use super::Milestone;
use super::{TransactionStatus, WalkBuffers};
#[cfg(feature = "archive")]
use crate::archive::ArchiveLookup;
use crate::primitives::{CryptoHash, HashBuilder};
use crate::storage::rows::{
    ChainRecord, FinalizedOutcome, FinalizedTransaction, OutcomeRow, ReceiptRecord,
};
use crate::storage::{Key, Query, Row, Step, Table, already_complete, check_row_count};
use crate::{Error, ErrorKind};

/// The query for the status of one transaction
///
/// It first needs the rows of the chain, of the transaction and of its outcome. If the transaction
/// is finalized, they are all; otherwise it needs, level by level, the outcomes and the bodies of
/// the receipts that were generated. A receipt without an outcome is not executed yet; its body
/// determines whether it is a refund.
///
/// Rows have to come from one state of the storage; see
/// [`OptimisticQuery`](crate::storage::OptimisticQuery) for a storage without snapshots. If the
/// transaction becomes finalized between two levels nevertheless, its outcomes refer to its row,
/// and the query fetches that row again.
///
/// ```
/// use milepost::storage::{MemoryStorage, run};
/// use milepost::primitives::CryptoHash;
/// use milepost::status::StatusQuery;
///
/// let mut query = StatusQuery::new(CryptoHash::ZERO, 1_000);
/// let status = run(&mut query, &MemoryStorage::new()).unwrap();
/// assert!(status.is_none());
/// ```
#[derive(Debug)]
pub struct StatusQuery {
    hash: CryptoHash,
    max_receipts: usize,
    stage: Stage,
    chain: ChainRecord,
    transaction: Option<Row>,
    /// Whether the row of the transaction is that of a finalized one
    is_finalized: bool,
    buffers: WalkBuffers,
    #[cfg(feature = "archive")]
    lookup: ArchiveLookup,
    /// The rows of the storage, while the archive is asked
    #[cfg(feature = "archive")]
    status: Option<TransactionStatus>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// Needs the rows of the chain, the transaction and its outcome
    Transaction,
    /// Needs the outcomes and bodies of the nodes from this index on
    Receipts { first: usize },
    /// Needs the finalized transactions that hold outcomes of the nodes from this index on
    Finalized { first: usize },
    /// Has all rows of the storage
    Complete,
    /// Needs the row of the archive
    #[cfg(feature = "archive")]
    Archive,
    /// Has asked the archive
    #[cfg(feature = "archive")]
    ArchiveComplete,
    /// Has returned its result or failed
    Ended,
}

impl StatusQuery {
    /// The query for the transaction of this hash, with at most `max_receipts` outcomes and
    /// receipts
    pub fn new(hash: CryptoHash, max_receipts: usize) -> Self {
        Self::with_buffers(hash, max_receipts, None, WalkBuffers::default())
    }

    /// The same query in the buffers of an earlier one, with the row of the transaction, or that it
    /// has none, if that was read from the same state
    pub(crate) fn with_buffers(
        hash: CryptoHash,
        max_receipts: usize,
        transaction: Option<Option<Row>>,
        mut buffers: WalkBuffers,
    ) -> Self {
        buffers.keys.push(ChainRecord::key());
        if transaction.is_none() {
            buffers.keys.push(Key::hash(Table::Transactions, hash));
        }
        buffers.keys.push(Key::hash(Table::Outcomes, hash));
        let (stage, chain) = (Stage::Transaction, ChainRecord::default());
        let transaction = transaction.flatten();
        Self {
            hash,
            max_receipts,
            stage,
            chain,
            transaction,
            is_finalized: false,
            buffers,
            #[cfg(feature = "archive")]
            lookup: ArchiveLookup::Never,
            #[cfg(feature = "archive")]
            status: None,
        }
    }

    /// This query, which asks the archive too; the default is that it does not
    ///
    /// It then needs at most one row more, of
    /// [`Table::ArchivedTransactions`](crate::storage::Table), in a step of its own at the end.
    #[cfg(feature = "archive")]
    #[must_use]
    pub const fn with_archive(mut self, lookup: ArchiveLookup) -> Self {
        self.lookup = lookup;
        self
    }

    /// The same query before its first row
    pub(super) fn unread(&self) -> Self {
        let query = Self::new(self.hash, self.max_receipts);
        #[cfg(feature = "archive")]
        let query = query.with_archive(self.lookup);
        query
    }

    /// The buffers, which are without capacity if the result took them
    pub(crate) fn into_buffers(self) -> WalkBuffers {
        self.buffers.cleared()
    }

    /// The generation of the chain that the result reflects at least
    ///
    /// Rows that were fetched later may be newer. 0 before the first rows are supplied.
    pub const fn generation(&self) -> u64 {
        self.chain.generation
    }

    /// The chain's row, as far as it was supplied
    pub(super) const fn chain(&self) -> &ChainRecord {
        &self.chain
    }

    /// Whether the next step needs rows
    pub(super) const fn needs_rows(&self) -> bool {
        #[cfg(feature = "archive")]
        if matches!(self.stage, Stage::ArchiveComplete) {
            return false;
        }
        !matches!(self.stage, Stage::Complete | Stage::Ended)
    }

    fn supply_transaction(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        check_row_count(rows.len(), self.buffers.keys.len())?;
        let [chain, transaction @ .., outcome] = rows else { return Ok(()) };
        self.chain = ChainRecord::decode(chain.as_deref())?;
        if let [transaction] = transaction {
            self.transaction.clone_from(transaction);
        }
        self.stage = Stage::Complete;
        if self.transaction.is_some() && !self.check_finalized()? {
            self.buffers.tree.add(self.hash);
            if let [root] = self.buffers.tree.nodes_mut() {
                root.outcome.clone_from(outcome);
            }
            self.resolve_finalized(0)?;
        }
        Ok(())
    }

    /// Whether the transaction is finalized, so that no other row is needed
    fn check_finalized(&mut self) -> Result<bool, Error> {
        let Some(row) = &self.transaction else { return Ok(false) };
        let Some(finalized) = FinalizedTransaction::decode(row)? else { return Ok(false) };
        self.check_receipt_count(&finalized)?;
        self.is_finalized = true;
        Ok(true)
    }

    fn check_receipt_count(&self, finalized: &FinalizedTransaction<'_>) -> Result<(), Error> {
        if finalized.receipt_count as usize > self.max_receipts {
            return Err(self.limit_error());
        }
        Ok(())
    }

    fn limit_error(&self) -> Error {
        Error::new(ErrorKind::Limit, format_args!("more than {} receipts", self.max_receipts))
            .at(format_args!("transaction {}", self.hash))
    }

    fn supply_receipts(&mut self, first: usize, rows: &[Option<Row>]) -> Result<(), Error> {
        check_row_count(rows.len(), self.buffers.keys.len())?;
        let (pairs, _) = rows.as_chunks::<2>();
        for (node, [outcome, body]) in
            self.buffers.tree.nodes_mut().iter_mut().skip(first).zip(pairs)
        {
            node.outcome.clone_from(outcome);
            node.body.clone_from(body);
        }
        self.resolve_finalized(first)
    }

    /// Requests the finalized transactions that outcomes of the nodes from `first` on refer to, and
    /// descends if there are none
    fn resolve_finalized(&mut self, first: usize) -> Result<(), Error> {
        let mut transactions = Vec::new();
        for row in
            self.buffers.tree.nodes().iter().skip(first).filter_map(|node| node.outcome.as_deref())
        {
            transactions.extend(OutcomeRow::finalized_in(row)?);
        }
        if transactions.is_empty() {
            return self.descend(first);
        }
        if transactions.contains(&self.hash) {
            // It became finalized after its row was fetched.
            transactions = [self.hash].into();
        }
        transactions.sort_unstable();
        transactions.dedup();
        self.buffers.keys.clear();
        self.buffers
            .keys
            .extend(transactions.into_iter().map(|hash| Key::hash(Table::Transactions, hash)));
        self.stage = Stage::Finalized { first };
        Ok(())
    }

    fn supply_finalized(&mut self, first: usize, rows: &[Option<Row>]) -> Result<(), Error> {
        check_row_count(rows.len(), self.buffers.keys.len())?;
        if let ([key], [row]) = (&self.buffers.keys[..], rows)
            && *key == Key::hash(Table::Transactions, self.hash)
        {
            self.stage = Stage::Complete;
            self.transaction.clone_from(row);
            if !self.check_finalized()? {
                // Removed since by retention, or not written by this engine.
                self.transaction = None;
            }
            return Ok(());
        }
        // No valid chain has a receipt of two transactions; the other one was finalized first.
        let mut unresolved: HashMap<CryptoHash, usize, HashBuilder> = HashMap::default();
        for (index, node) in self.buffers.tree.nodes_mut().iter_mut().enumerate().skip(first) {
            let finalized = node.outcome.as_deref().map(OutcomeRow::finalized_in).transpose()?;
            if finalized.flatten().is_some() {
                node.outcome = None;
                unresolved.insert(node.id, index);
            }
        }
        for row in rows.iter().flatten() {
            let Some(finalized) = FinalizedTransaction::decode(row)? else { continue };
            for outcome in finalized.outcomes() {
                let FinalizedOutcome { id, outcome, body } = outcome?;
                let index = unresolved.remove(&id);
                let node = index.and_then(|index| self.buffers.tree.nodes_mut().get_mut(index));
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

    /// The rows of the transaction in the storage
    fn take_status(&mut self) -> Result<Option<TransactionStatus>, Error> {
        Ok(match self.transaction.take() {
            Some(row) if self.is_finalized => Some(TransactionStatus::finalized(row)),
            Some(row) => {
                let buffers = mem::take(&mut self.buffers);
                Some(TransactionStatus::from_tree(row, buffers, &self.chain)?)
            }
            None => None,
        })
    }

    /// Whether the archive may know more than this status
    #[cfg(feature = "archive")]
    fn asks_archive(&self, status: Option<&TransactionStatus>) -> Result<bool, Error> {
        Ok(match (self.lookup, status) {
            (ArchiveLookup::Never, _) => false,
            (_, None) => true,
            // The archive may have the execution, which takes the place of a refusal.
            (_, Some(status)) if status.is_refusal()? => true,
            (ArchiveLookup::Unknown, Some(_)) => false,
            (ArchiveLookup::Unfinished, Some(status)) => status.milestone() != Milestone::Final,
        })
    }

    #[cfg(feature = "archive")]
    fn supply_archived(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        check_row_count(rows.len(), self.buffers.keys.len())?;
        self.stage = Stage::ArchiveComplete;
        if let [Some(row)] = rows {
            let status = TransactionStatus::archived(row.clone())?;
            if let Some(finalized) = status.finalized_record()? {
                self.check_receipt_count(&finalized)?;
                // An execution that was put under the key of a refusal would take its place.
                if finalized.outcomes().next().transpose()?.map(|own| own.id) != Some(self.hash) {
                    let detail = "the archive has the row of another transaction there";
                    let key = Key::hash(Table::ArchivedTransactions, self.hash);
                    return Err(Error::new(ErrorKind::Corrupt, detail).at(format_args!("{key:?}")));
                }
                // A refusal takes the place neither of an execution nor of an earlier refusal.
                if let Some(stored) = &self.status
                    && finalized.is_refusal()
                    && (stored.is_execution()? || stored.transaction()?.height <= finalized.height)
                {
                    return Ok(());
                }
            }
            self.status = Some(status);
        }
        Ok(())
    }

    /// Adds the receipts that the nodes from `first` on generated, and requests their rows
    fn descend(&mut self, first: usize) -> Result<(), Error> {
        self.buffers.keys.clear();
        let end = self.buffers.tree.nodes().len();
        for index in first..end {
            self.buffers.tree.decode_outcome(index)?;
            if self.buffers.tree.nodes().len() > self.max_receipts.saturating_add(1) {
                return Err(self.limit_error());
            }
        }
        for node in self.buffers.tree.nodes().iter().skip(end) {
            self.buffers.keys.push(Key::hash(Table::Outcomes, node.id));
            self.buffers.keys.push(Key::hash(Table::Receipts, node.id));
        }
        if self.buffers.keys.is_empty() {
            self.stage = Stage::Complete;
        } else {
            self.stage = Stage::Receipts { first: end };
        }
        Ok(())
    }
}

impl crate::storage::sealed::Sealed for StatusQuery {
    fn restarted(&self) -> Option<Self> {
        (self.stage != Stage::Ended).then(|| self.unread())
    }
}

impl Query for StatusQuery {
    /// `None` if no known block includes the transaction
    type Output = Option<TransactionStatus>;

    fn poll(&mut self) -> Result<Step<'_, Self::Output>, Error> {
        match self.stage {
            Stage::Transaction | Stage::Receipts { .. } | Stage::Finalized { .. } => {
                Ok(Step::NeedRows(&self.buffers.keys))
            }
            Stage::Complete => {
                self.stage = Stage::Ended;
                let status = self.take_status()?;
                #[cfg(feature = "archive")]
                if self.asks_archive(status.as_ref())? {
                    self.status = status;
                    self.buffers.keys.clear();
                    self.buffers.keys.push(Key::hash(Table::ArchivedTransactions, self.hash));
                    self.stage = Stage::Archive;
                    return Ok(Step::NeedRows(&self.buffers.keys));
                }
                Ok(Step::Done(status))
            }
            #[cfg(feature = "archive")]
            Stage::Archive => Ok(Step::NeedRows(&self.buffers.keys)),
            #[cfg(feature = "archive")]
            Stage::ArchiveComplete => {
                self.stage = Stage::Ended;
                Ok(Step::Done(self.status.take()))
            }
            Stage::Ended => Err(already_complete()),
        }
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        let result = match self.stage {
            Stage::Transaction => self.supply_transaction(rows),
            Stage::Receipts { first } => self.supply_receipts(first, rows),
            Stage::Finalized { first } => self.supply_finalized(first, rows),
            #[cfg(feature = "archive")]
            Stage::Archive => self.supply_archived(rows),
            _ => Err(Error::new(ErrorKind::Usage, "no rows were asked for")),
        };
        if matches!(&result, Err(error) if error.kind() != ErrorKind::Usage) {
            self.stage = Stage::Ended;
        }
        result
    }
}
