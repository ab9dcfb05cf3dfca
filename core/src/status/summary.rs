//! The compact status of a transaction, and what can change it.
//!
//! A summary costs the walk over the receipts and one more row, the hash of the block that includes
//! the transaction; no JSON is rendered. The conditions of an observation cover every change: the
//! block that changes the summary, or takes something of it away, meets or reverts at least one of
//! them. That retention removes a transaction is no change. What waits is not known here.

use alloc::vec::Vec;

use super::query::StatusQuery;
use super::transaction_status::Source;
use super::tree_status::TreeStatus;
use super::{FinalStatus, Milestone, TransactionStatus, WaitCondition};
#[cfg(feature = "archive")]
use crate::archive::{ArchiveLookup, ArchivedBlock};
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::rows::{FinalizedTransaction, OutcomeStatus, ReceiptRecord, decode_block_hash};
use crate::storage::{Key, Query, Row, Step, Table, already_complete, check_row_count};
use crate::{Error, ErrorKind};

/// Maximum number of conditions of an observation: a transaction of which more receipts are pending
/// is observed again after each block instead
const MAX_CONDITIONS: usize = 64;

/// The compact status of a transaction that is in a canonical block
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct StatusSummary {
    /// The milestone that the rows prove
    pub milestone: Milestone,
    /// The kind of the final status
    pub final_status: FinalStatus,
    /// Height of the block that includes the transaction
    pub height: BlockHeight,
    /// Hash of that block; `None` if the storage has the transaction and not its block
    pub block_hash: Option<CryptoHash>,
    /// Number of receipts that were generated, refunds included
    pub receipts: usize,
    /// Number of those that are executed
    pub executed_receipts: usize,
    /// Number of those that failed: the final status is that of one receipt alone
    pub failed_receipts: usize,
    /// Whether everything about the transaction is final, so that nothing can change any more; a
    /// transaction that was refused can still be executed while it is valid
    pub is_finalized: bool,
}

impl StatusSummary {
    /// Whether the transaction was refused when it was included, so that it can be executed yet
    ///
    /// One that is executed has a receipt at least.
    pub const fn is_refusal(&self) -> bool {
        self.receipts == 0 && matches!(self.final_status, FinalStatus::Failure)
    }
}

/// What a [`SummaryQuery`] saw of a transaction, at one generation of the chain
#[derive(Debug)]
#[non_exhaustive]
pub struct Observation {
    /// The hash of the transaction
    pub hash: CryptoHash,
    /// The generation of the chain
    pub generation: u64,
    /// The compact status; `None` if no canonical block includes the transaction
    pub summary: Option<StatusSummary>,
    /// The status that the summary is of
    pub status: Option<TransactionStatus>,
    /// Height of the last final block
    last_final: Option<BlockHeight>,
}

impl Observation {
    /// The conditions of which the next block that changes the summary meets or reverts at least
    /// one; none if nothing can change it
    ///
    /// At most 64; beyond, and where the cause of a change cannot be foreseen, it is
    /// [`WaitCondition::Anything`]: the transaction has to be observed again after each block.
    ///
    /// # Errors
    ///
    /// A corrupt row.
    pub fn conditions(&self) -> Result<Vec<WaitCondition>, Error> {
        match self.status.as_ref().map(TransactionStatus::source) {
            None => Ok([WaitCondition::Inclusion(self.hash)].into()),
            Some(Source::Finalized(_)) => Ok(Vec::new()),
            Some(Source::Tree(status)) => self.tree_conditions(status),
        }
    }

    fn tree_conditions(&self, status: &TreeStatus) -> Result<Vec<WaitCondition>, Error> {
        if status.milestone() == Milestone::Final {
            // What keeps it from being finalized, such as the body of a receipt, is no condition.
            return Ok([WaitCondition::Anything].into());
        }
        let included = status.transaction()?.height;
        // The block of the transaction's own outcome, which can be later than its inclusion.
        let own = status.nodes().first().and_then(|root| root.executed());
        let own = own.map_or(included, |outcome| outcome.height);
        // Also met when the outcome is removed, by a fork or by retention.
        let mut conditions = Vec::from([WaitCondition::Outcome(self.hash)]);
        let mut newest = own.max(included);
        for (position, node) in status.nodes().iter().enumerate() {
            match node.executed() {
                Some(outcome) => newest = newest.max(outcome.height),
                None if position == 0 => {}
                None => {
                    let body = node.body.as_deref().map(ReceiptRecord::decode).transpose()?;
                    let condition = match body.filter(|body| body.refund) {
                        // A fork that removes the body makes it unknown that it is a refund.
                        Some(body) => {
                            newest = newest.max(body.height);
                            WaitCondition::Outcome(node.id)
                        }
                        None => WaitCondition::OutcomeOrRefund(node.id),
                    };
                    conditions.push(condition);
                }
            }
            if conditions.len() > MAX_CONDITIONS - 2 {
                return Ok([WaitCondition::Anything].into());
            }
        }
        // Waiting for the finality of the newest block is also to wait for a fork that removes it
        // or any before it.
        let not_final = |height: &BlockHeight| self.last_final.is_none_or(|last| last < *height);
        conditions.extend(Some(own).filter(not_final).map(WaitCondition::Finality));
        let newest = Some(newest).filter(|newest| *newest != own).filter(not_final);
        conditions.extend(newest.map(WaitCondition::Finality));
        Ok(conditions)
    }
}

/// The query for the compact status of one transaction
///
/// It needs the rows of a [`StatusQuery`] and then the hash of the block that includes the
/// transaction.
///
/// ```
/// use milepost::primitives::CryptoHash;
/// use milepost::status::{SummaryQuery, WaitCondition};
/// use milepost::storage::{MemoryStorage, run};
///
/// let mut query = SummaryQuery::new(CryptoHash::ZERO, 1_000);
/// let observation = run(&mut query, &MemoryStorage::new())?;
/// assert!(observation.summary.is_none());
/// assert_eq!(observation.conditions()?, [WaitCondition::Inclusion(CryptoHash::ZERO)]);
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
pub struct SummaryQuery {
    hash: CryptoHash,
    max_receipts: usize,
    walk: StatusQuery,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Walk,
    /// Needs the hash of the block
    Block(TransactionStatus, [Key; 1]),
    Complete(Option<(TransactionStatus, Option<CryptoHash>)>),
    Ended,
}

impl SummaryQuery {
    /// The query for the transaction of this hash, with at most `max_receipts` receipts
    pub fn new(hash: CryptoHash, max_receipts: usize) -> Self {
        Self { hash, max_receipts, walk: StatusQuery::new(hash, max_receipts), stage: Stage::Walk }
    }

    /// This query, which asks the archive for a transaction that the storage does not know; the
    /// default is that it does not
    ///
    /// It then needs at most two rows more: that of the transaction, and that of its block. What is
    /// observed after every block should not ask about [unfinished](ArchiveLookup::Unfinished)
    /// transactions, because each observation of one then reads the archive.
    #[cfg(feature = "archive")]
    #[must_use]
    pub fn with_archive(mut self, lookup: ArchiveLookup) -> Self {
        self.walk = self.walk.with_archive(lookup);
        self
    }

    /// Takes the status out of the walk once that needs no more rows
    fn end_walk(&mut self) -> Result<(), Error> {
        if self.walk.needs_rows() {
            return Ok(());
        }
        self.stage = Stage::Ended;
        self.stage = match self.walk.poll()? {
            Step::NeedRows(_) => Stage::Walk,
            Step::Done(None) => Stage::Complete(None),
            Step::Done(Some(status)) => {
                let height = status.transaction()?.height;
                #[cfg(feature = "archive")]
                let table = match status.is_archived() {
                    true => Table::ArchivedHeights,
                    false => Table::Heights,
                };
                #[cfg(not(feature = "archive"))]
                let table = Table::Heights;
                Stage::Block(status, [Key::number(table, height)])
            }
        };
        Ok(())
    }

    fn observation(
        &self,
        found: Option<(TransactionStatus, Option<CryptoHash>)>,
    ) -> Result<Observation, Error> {
        let (status, block_hash) =
            found.map_or((None, None), |(status, hash)| (Some(status), hash));
        let summary = status.as_ref().map(|status| status.summary(block_hash)).transpose()?;
        let chain = self.walk.chain();
        let last_final = chain.last_final.map(|block| block.height);
        Ok(Observation {
            hash: self.hash,
            generation: chain.generation,
            summary,
            status,
            last_final,
        })
    }
}

impl crate::storage::sealed::Sealed for SummaryQuery {
    fn restarted(&self) -> Option<Self> {
        if matches!(self.stage, Stage::Ended) {
            return None;
        }
        let walk = self.walk.unread();
        Some(Self { hash: self.hash, max_receipts: self.max_receipts, walk, stage: Stage::Walk })
    }
}

impl Query for SummaryQuery {
    type Output = Observation;

    fn poll(&mut self) -> Result<Step<'_, Observation>, Error> {
        if let Stage::Complete(found) = &mut self.stage {
            let found = found.take();
            self.stage = Stage::Ended;
            return self.observation(found).map(Step::Done);
        }
        match &self.stage {
            Stage::Walk => match self.walk.poll()? {
                Step::NeedRows(keys) => Ok(Step::NeedRows(keys)),
                Step::Done(_) => Err(already_complete()),
            },
            Stage::Block(_, keys) => Ok(Step::NeedRows(keys)),
            Stage::Complete(_) | Stage::Ended => Err(already_complete()),
        }
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        match core::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Walk => {
                self.stage = Stage::Walk;
                self.walk.supply_rows(rows)?;
                self.end_walk()
            }
            Stage::Block(status, keys) => {
                if let Err(error) = check_row_count(rows.len(), keys.len()) {
                    self.stage = Stage::Block(status, keys);
                    return Err(error);
                }
                let row = rows.first().and_then(Option::as_deref);
                let decode = |row: &[u8]| {
                    #[cfg(feature = "archive")]
                    if status.is_archived() {
                        return ArchivedBlock::decode_hash(row);
                    }
                    decode_block_hash(Table::Heights, row)
                };
                let hash = row.map(decode).transpose()?;
                self.stage = Stage::Complete(Some((status, hash)));
                Ok(())
            }
            stage => {
                self.stage = stage;
                Err(Error::new(ErrorKind::Usage, "no rows were asked for"))
            }
        }
    }
}

impl TransactionStatus {
    /// The compact status, with the hash of the block that includes the transaction
    fn summary(&self, block_hash: Option<CryptoHash>) -> Result<StatusSummary, Error> {
        let (receipts, executed_receipts) = match self.source() {
            Source::Tree(status) => {
                let receipts = status.nodes().iter().skip(1);
                (receipts.len(), receipts.filter(|node| node.executed().is_some()).count())
            }
            Source::Finalized(row) => {
                let finalized = FinalizedTransaction::decode(row)?;
                let count = finalized.map_or(0, |finalized| finalized.receipt_count as usize);
                (count, count)
            }
        };
        let mut failed_receipts = 0;
        // The first outcome is that of the transaction.
        for outcome in self.outcomes().skip(1) {
            failed_receipts += usize::from(outcome?.1.status == OutcomeStatus::Failure);
        }
        Ok(StatusSummary {
            milestone: self.milestone(),
            final_status: self.final_status(),
            height: self.transaction()?.height,
            block_hash,
            receipts,
            executed_receipts,
            failed_receipts,
            is_finalized: matches!(self.source(), Source::Finalized(_)),
        })
    }
}
