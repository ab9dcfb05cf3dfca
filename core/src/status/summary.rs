//! The compact status of a transaction, and what can change it.
//!
//! A summary costs the walk over the receipts and one more row, the hash of the block that includes
//! the transaction, with those of the blocks in which watchers saw it; no JSON is rendered. The
//! conditions of an observation cover every change: the block that changes the summary, or takes
//! something of it away, meets or reverts at least one of them. What waits is not known here.

use alloc::vec::Vec;

use super::query::StatusQuery;
use super::transaction_status::Source;
use super::tree_status::TreeStatus;
use super::{FinalStatus, LastSeen, Milestone, NextEvent, TransactionStatus, WaitCondition};
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
    /// The block that includes the transaction
    pub fn block(&self) -> LastSeen {
        let is_final = self.milestone.satisfies(Milestone::IncludedFinal);
        LastSeen { height: self.height, hash: self.block_hash, is_final }
    }

    /// Whether the transaction was refused when it was included, so that it can be executed yet
    ///
    /// One that is executed has a receipt at least.
    pub const fn is_refusal(&self) -> bool {
        self.receipts == 0 && matches!(self.final_status, FinalStatus::Failure)
    }
}

/// The state of a transaction that a [`SummaryQuery`] saw, at one generation of the chain
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
    /// Height of the head
    head: Option<BlockHeight>,
    /// The height from which on every canonical block is stored
    complete_from: BlockHeight,
    /// The canonical blocks at the heights that were asked for
    canonical: Vec<(BlockHeight, Option<CryptoHash>)>,
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
        if self.canonical.iter().any(|(height, _)| self.head.is_none_or(|head| head < *height)) {
            // A watcher waits for a head of that height.
            return Ok([WaitCondition::Anything].into());
        }
        match self.status.as_ref().map(TransactionStatus::source) {
            None => {
                // A watcher may know a block as final that is not yet final here.
                let heights = self.canonical.iter().map(|(height, _)| *height);
                let heights = heights.filter(|height| self.is_not_final(*height));
                let mut conditions = Vec::from([WaitCondition::Inclusion(self.hash)]);
                conditions.extend(heights.take(MAX_CONDITIONS - 1).map(WaitCondition::Finality));
                Ok(conditions)
            }
            Some(Source::Finalized(_)) => Ok(Vec::new()),
            Some(Source::Tree(status)) => self.tree_conditions(status),
        }
    }

    /// The event that follows the last event of a watcher; `None` if the query did not ask for its
    /// height
    pub fn next_event(&self, last: LastSeen) -> Option<NextEvent> {
        let state = self.summary.map(|summary| summary.block());
        let canonical = self.canonical.iter().find(|(height, _)| *height == last.height)?.1;
        let head = if last.is_final { self.last_final } else { self.head };
        Some(last.next_event(head, self.complete_from, canonical, state))
    }

    fn is_not_final(&self, height: BlockHeight) -> bool {
        self.last_final.is_none_or(|last| last < height)
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
        let not_final = |height: &BlockHeight| self.is_not_final(*height);
        conditions.extend(Some(own).filter(not_final).map(WaitCondition::Finality));
        let newest = Some(newest).filter(|newest| *newest != own).filter(not_final);
        conditions.extend(newest.map(WaitCondition::Finality));
        Ok(conditions)
    }
}

/// The query for the compact status of one transaction
///
/// It needs the rows of a [`StatusQuery`] and then the hash of the block that includes the
/// transaction, with those of the blocks at the heights of watchers.
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
    /// The heights at which watchers saw the transaction
    heights: Vec<BlockHeight>,
    walk: StatusQuery,
    stage: Stage,
}

/// A status, with the hash of the block that includes the transaction
type Found = (TransactionStatus, Option<CryptoHash>);

#[derive(Debug)]
enum Stage {
    Walk,
    /// Needs the hash of the block that includes the transaction, if one does, and those of the
    /// blocks at the heights
    Blocks(Option<TransactionStatus>, Vec<Key>),
    Complete(Option<Found>, Vec<Option<CryptoHash>>),
    Ended,
}

impl SummaryQuery {
    /// The query for the transaction of this hash, with at most `max_receipts` receipts
    pub fn new(hash: CryptoHash, max_receipts: usize) -> Self {
        let (heights, walk) = (Vec::new(), StatusQuery::new(hash, max_receipts));
        Self { hash, max_receipts, heights, walk, stage: Stage::Walk }
    }

    /// This query, for watchers whose last events have blocks at these heights; needs a row more
    /// for each, in the last step
    #[must_use]
    pub fn with_heights(mut self, heights: Vec<BlockHeight>) -> Self {
        self.heights = heights;
        self
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
            Step::Done(status) => {
                let own = status.as_ref().map(own_block).transpose()?;
                let at = |height: &BlockHeight| Key::number(Table::Heights, *height);
                let keys: Vec<_> = own.into_iter().chain(self.heights.iter().map(at)).collect();
                match keys.is_empty() {
                    true => Stage::Complete(None, Vec::new()),
                    false => Stage::Blocks(status, keys),
                }
            }
        };
        Ok(())
    }

    fn observation(
        &self,
        found: Option<Found>,
        canonical: Vec<Option<CryptoHash>>,
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
            head: chain.head.map(|block| block.height),
            complete_from: chain.complete_from,
            canonical: self.heights.iter().copied().zip(canonical).collect(),
        })
    }
}

impl crate::storage::sealed::Sealed for SummaryQuery {
    fn restarted(&self) -> Option<Self> {
        if matches!(self.stage, Stage::Ended) {
            return None;
        }
        let Self { hash, max_receipts, ref heights, ref walk, .. } = *self;
        let (heights, walk) = (heights.clone(), walk.unread());
        Some(Self { hash, max_receipts, heights, walk, stage: Stage::Walk })
    }
}

impl Query for SummaryQuery {
    type Output = Observation;

    fn poll(&mut self) -> Result<Step<'_, Observation>, Error> {
        if let Stage::Complete(found, canonical) = &mut self.stage {
            let (found, canonical) = (found.take(), core::mem::take(canonical));
            self.stage = Stage::Ended;
            return self.observation(found, canonical).map(Step::Done);
        }
        match &self.stage {
            Stage::Walk => match self.walk.poll()? {
                Step::NeedRows(keys) => Ok(Step::NeedRows(keys)),
                Step::Done(_) => Err(already_complete()),
            },
            Stage::Blocks(_, keys) => Ok(Step::NeedRows(keys)),
            Stage::Complete(..) | Stage::Ended => Err(already_complete()),
        }
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        match core::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Walk => {
                self.stage = Stage::Walk;
                self.walk.supply_rows(rows)?;
                self.end_walk()
            }
            Stage::Blocks(status, keys) => {
                if let Err(error) = check_row_count(rows.len(), keys.len()) {
                    self.stage = Stage::Blocks(status, keys);
                    return Err(error);
                }
                let (own, others) = rows.split_at(rows.len() - self.heights.len());
                let decode = |row: &Option<Row>, is_archived| {
                    let row = row.as_deref();
                    row.map(|row| decode_hash(row, is_archived)).transpose()
                };
                let found = match (status, own) {
                    (Some(status), [own]) => {
                        #[cfg(feature = "archive")]
                        let is_archived = status.is_archived();
                        #[cfg(not(feature = "archive"))]
                        let is_archived = false;
                        let hash = decode(own, is_archived)?;
                        Some((status, hash))
                    }
                    _ => None,
                };
                let mut hashes = Vec::with_capacity(others.len());
                for row in others {
                    hashes.push(decode(row, false)?);
                }
                self.stage = Stage::Complete(found, hashes);
                Ok(())
            }
            stage => {
                self.stage = stage;
                Err(Error::new(ErrorKind::Usage, "no rows were asked for"))
            }
        }
    }
}

/// The key of the hash of the block that includes a transaction
fn own_block(status: &TransactionStatus) -> Result<Key, Error> {
    #[cfg(feature = "archive")]
    let table = match status.is_archived() {
        true => Table::ArchivedHeights,
        false => Table::Heights,
    };
    #[cfg(not(feature = "archive"))]
    let table = Table::Heights;
    Ok(Key::number(table, status.transaction()?.height))
}

/// The hash of a block, from a row of the storage or of the archive
fn decode_hash(row: &[u8], is_archived: bool) -> Result<CryptoHash, Error> {
    #[cfg(feature = "archive")]
    if is_archived {
        return ArchivedBlock::decode_hash(row);
    }
    #[cfg(not(feature = "archive"))]
    let _ = is_archived;
    decode_block_hash(Table::Heights, row)
}

impl TransactionStatus {
    /// The compact status, with the hash of the block that includes the transaction
    fn summary(&self, block_hash: Option<CryptoHash>) -> Result<StatusSummary, Error> {
        let (receipts, executed_receipts) = match self.source() {
            Source::Tree(status) => {
                let receipts = status.receipts().iter();
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
