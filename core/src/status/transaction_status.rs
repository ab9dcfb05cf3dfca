//! The status of a transaction, and the `result` that it is written as.
//!
//! The status of a finalized transaction is one row, written when the last of its blocks became
//! final; that of any other is computed from its receipt tree. Both give the same bytes, because
//! the row is made from the tree.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::iter;
use core::ops::Deref;

use super::tree_status::TreeStatus;
use super::{Milestone, WaitCondition, WalkBuffers};
use crate::Error;
#[cfg(feature = "archive")]
use crate::archive::Envelope;
use crate::primitives::CryptoHash;
use crate::storage::Row;
#[cfg(feature = "archive")]
use crate::storage::Table;
use crate::storage::rows::{ChainRecord, FinalizedTransaction, OutcomeRecord, TransactionRecord};

/// The status of the transaction as a whole: that of the first leaf of its receipts
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the interface closes this enumeration")]
pub enum FinalStatus {
    /// Not converted to a receipt yet
    NotStarted,
    /// Converted to a receipt, and the first leaf is not executed
    Started,
    /// The first leaf failed
    Failure,
    /// The first leaf returned a value
    SuccessValue,
}

/// The status of a transaction: milestone, final status, outcomes and pending receipts
///
/// ```
/// use milepost::primitives::CryptoHash;
/// use milepost::status::{FinalStatus, Milestone, StatusQuery};
/// use milepost::storage::{Batch, Key, MemoryStorage, Storage, Table, run};
/// use milepost::storage::{OutcomeRecord, OutcomeStatus, TransactionRecord};
///
/// // Rows as an import writes them: an outcome is its JSON text and the range of the status in it.
/// let hash = CryptoHash::digest(b"a transaction");
/// let outcome = OutcomeRecord {
///     height: 7,
///     status: OutcomeStatus::SuccessValue,
///     status_text: (10, 29),
///     receipt_ids: &[],
///     fragment: br#"{"status":{"SuccessValue":""}}"#,
/// };
/// let transaction = TransactionRecord { height: 7, signer_is_receiver: false, fragment: b"{}" };
/// let mut batch = Batch::new();
/// batch.put(Key::hash(Table::Transactions, hash), transaction.encode());
/// batch.put(Key::hash(Table::Outcomes, hash), outcome.encode());
/// let mut storage = MemoryStorage::new();
/// storage.commit(batch)?;
///
/// let status = run(&mut StatusQuery::new(hash, 1_000), &storage)?.expect("it is known");
/// // Nothing is left to execute, and the block is not known to be final.
/// assert_eq!(status.milestone(), Milestone::ExecutedOptimistic);
/// assert_eq!(status.final_status(), FinalStatus::SuccessValue);
/// assert_eq!((status.outcomes().count(), status.pending_receipts().count()), (1, 0));
///
/// let mut result = Vec::new();
/// status.write(true, &mut result)?;
/// assert!(result.starts_with(br#"{"final_execution_status":"EXECUTED_OPTIMISTIC","#));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
pub struct TransactionStatus(Source);

/// The source of the status
#[derive(Debug)]
pub(super) enum Source {
    Tree(TreeStatus),
    Finalized(FinalizedRow),
}

/// The row of a finalized transaction; one from an archive is the content of an envelope
#[derive(Debug)]
pub(super) struct FinalizedRow {
    row: Row,
    /// Where the content starts
    #[cfg(feature = "archive")]
    start: usize,
}

impl Deref for FinalizedRow {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        #[cfg(feature = "archive")]
        {
            self.row.get(self.start..).unwrap_or_default()
        }
        #[cfg(not(feature = "archive"))]
        &self.row
    }
}

impl TransactionStatus {
    /// The status of a transaction whose receipt tree is in these buffers
    pub(super) fn from_tree(
        transaction: Row,
        buffers: WalkBuffers,
        chain: &ChainRecord,
    ) -> Result<Self, Error> {
        TreeStatus::new(transaction, buffers, chain).map(|status| Self(Source::Tree(status)))
    }

    /// The buffers of the walk, if there was one
    pub(crate) fn into_buffers(self) -> Option<WalkBuffers> {
        match self.0 {
            Source::Tree(status) => Some(status.into_buffers()),
            Source::Finalized(_) => None,
        }
    }

    /// The status of a finalized transaction; its row was decoded as such before
    pub(super) const fn finalized(row: Row) -> Self {
        Self(Source::Finalized(FinalizedRow {
            row,
            #[cfg(feature = "archive")]
            start: 0,
        }))
    }

    /// The status of a transaction by its row of an archive
    ///
    /// # Errors
    ///
    /// A row that is corrupt, of another version, or not that of a finalized transaction.
    #[cfg(feature = "archive")]
    pub(super) fn archived(row: Row) -> Result<Self, Error> {
        let content = Envelope::decode(Table::ArchivedTransactions, &row)?.content()?;
        let start = row.len() - content.len();
        let status = Self(Source::Finalized(FinalizedRow { row, start }));
        match status.finalized_record()? {
            Some(_) => Ok(status),
            None => {
                let detail = "the archived transaction is not finalized";
                Err(Error::new(crate::ErrorKind::Corrupt, detail))
            }
        }
    }

    /// Whether it is by a row of an archive
    #[cfg(feature = "archive")]
    pub(crate) const fn is_archived(&self) -> bool {
        matches!(&self.0, Source::Finalized(row) if row.start > 0)
    }

    /// The record of the transaction if it is finalized
    ///
    /// # Errors
    ///
    /// A corrupt row.
    #[cfg(feature = "archive")]
    pub(super) fn finalized_record(&self) -> Result<Option<FinalizedTransaction<'_>>, Error> {
        match &self.0 {
            Source::Tree(_) => Ok(None),
            Source::Finalized(row) => FinalizedTransaction::decode(row),
        }
    }

    /// Whether the transaction was refused when it was included
    ///
    /// # Errors
    ///
    /// A corrupt row.
    #[cfg(feature = "archive")]
    pub(super) fn is_refusal(&self) -> Result<bool, Error> {
        let own = self.outcomes().next().transpose()?;
        Ok(own.is_some_and(|(_, outcome)| outcome.is_refusal()))
    }

    /// Whether the transaction has an outcome that is no refusal
    ///
    /// # Errors
    ///
    /// A corrupt row.
    #[cfg(feature = "archive")]
    pub(super) fn is_execution(&self) -> Result<bool, Error> {
        let own = self.outcomes().next().transpose()?;
        Ok(own.is_some_and(|(_, outcome)| !outcome.is_refusal()))
    }

    /// The source of the status
    pub(super) const fn source(&self) -> &Source {
        &self.0
    }

    /// Returns an unmet condition of `milestone`, or `None` once it is reached
    ///
    /// Of several it returns the one that is likely to be met last: execution before finality, and
    /// the deepest receipt first.
    ///
    /// # Errors
    ///
    /// A corrupt row.
    pub fn condition(&self, milestone: Milestone) -> Result<Option<WaitCondition>, Error> {
        match &self.0 {
            Source::Tree(status) => status.condition(milestone),
            Source::Finalized(_) => Ok(None),
        }
    }

    /// The milestone that the rows prove
    pub const fn milestone(&self) -> Milestone {
        match &self.0 {
            Source::Tree(status) => status.milestone(),
            Source::Finalized(_) => Milestone::Final,
        }
    }

    /// The kind of the final status
    pub fn final_status(&self) -> FinalStatus {
        match &self.0 {
            Source::Tree(status) => status.final_status(),
            Source::Finalized(row) => match FinalizedTransaction::decode(row) {
                Ok(Some(FinalizedTransaction { failed: false, .. })) => FinalStatus::SuccessValue,
                // The row was decoded before, so this is not an error.
                _ => FinalStatus::Failure,
            },
        }
    }

    /// Whether the transaction has an outcome; without one, the result has the milestone only
    pub const fn has_outcome(&self) -> bool {
        match &self.0 {
            Source::Tree(status) => status.has_outcome(),
            Source::Finalized(_) => true,
        }
    }

    /// The record of the transaction
    ///
    /// # Errors
    ///
    /// A corrupt row.
    pub fn transaction(&self) -> Result<TransactionRecord<'_>, Error> {
        match &self.0 {
            Source::Tree(status) => status.transaction(),
            Source::Finalized(row) => TransactionRecord::decode(row),
        }
    }

    /// The outcomes, depth first, with their ids; the transaction's own comes first
    ///
    /// # Errors
    ///
    /// Of an item: a corrupt row.
    pub fn outcomes(&self) -> impl Iterator<Item = Result<(CryptoHash, OutcomeRecord<'_>), Error>> {
        // Behind a pointer: an iterator that is either of two is much code where it is used.
        let outcomes: Box<dyn Iterator<Item = _>> = match &self.0 {
            Source::Tree(status) => Box::new(status.outcomes()),
            Source::Finalized(row) => match FinalizedTransaction::decode(row) {
                Ok(Some(finalized)) => Box::new(
                    finalized.outcomes().map(|outcome| outcome.map(|one| (one.id, one.outcome))),
                ),
                _ => Box::new(iter::empty()),
            },
        };
        outcomes
    }

    /// The ids of the receipts that are generated and not executed, each with whether it is known
    /// to be a refund
    ///
    /// # Errors
    ///
    /// Of an item: a corrupt row.
    pub fn pending_receipts(&self) -> impl Iterator<Item = Result<(CryptoHash, bool), Error>> {
        let receipts = match &self.0 {
            Source::Tree(status) => Some(status.pending_receipts()),
            Source::Finalized(_) => None,
        };
        receipts.into_iter().flatten()
    }

    /// The receipts that `milestone` waits for: the text of each, if its body is known
    pub(crate) fn awaited_receipts(
        &self,
        milestone: Milestone,
    ) -> Result<Vec<Option<&[u8]>>, Error> {
        match &self.0 {
            Source::Tree(status) => status.awaited_receipts(milestone),
            Source::Finalized(_) => Ok(Vec::new()),
        }
    }

    /// Approximate number of bytes that [`write`](Self::write) appends, never fewer than the rows
    /// have
    pub fn size_hint(&self) -> usize {
        match &self.0 {
            Source::Tree(status) => status.size_hint(),
            Source::Finalized(row) => row.len(),
        }
    }

    /// Appends the `result` of a response: the milestone and, if the transaction has one, the
    /// outcome
    ///
    /// With `receipts` the bodies of the executed receipts are listed in the order of their
    /// outcomes. The first receipt of a transaction to its own signer is local and omitted, as in a
    /// NEAR node.
    ///
    /// # Errors
    ///
    /// A corrupt row, or an executed receipt whose body is not in the storage: there is no partial
    /// result. The contents of `result` are unspecified then.
    pub fn write(&self, receipts: bool, result: &mut Vec<u8>) -> Result<(), Error> {
        match &self.0 {
            Source::Tree(status) => status.write(receipts, result),
            Source::Finalized(row) => {
                let Some(finalized) = FinalizedTransaction::decode(row)? else { return Ok(()) };
                if receipts {
                    result.extend_from_slice(finalized.result);
                } else {
                    let [head, tail] = finalized.without_receipts();
                    result.extend_from_slice(head);
                    result.extend_from_slice(tail);
                }
                Ok(())
            }
        }
    }

    /// The row of the finalized transaction, if nothing can change it any more: it is `FINAL`, has
    /// a final status, and the bodies of all receipts are final too
    ///
    /// # Errors
    ///
    /// A corrupt row.
    pub(crate) fn finalized_row(&self, chain: &ChainRecord) -> Result<Option<Vec<u8>>, Error> {
        match &self.0 {
            Source::Tree(status) => status.finalized_row(chain),
            Source::Finalized(_) => Ok(None),
        }
    }

    /// The id of the local receipt, whose body no response lists
    ///
    /// # Errors
    ///
    /// A corrupt row.
    pub(crate) fn local_receipt(&self) -> Result<Option<CryptoHash>, Error> {
        match &self.0 {
            Source::Tree(status) => status.local_receipt(),
            Source::Finalized(_) => Ok(None),
        }
    }

    /// The ids of the receipts that belong to the transaction
    pub(crate) fn receipt_ids(&self) -> impl Iterator<Item = CryptoHash> {
        let receipts = match &self.0 {
            Source::Tree(status) => status.receipts(),
            Source::Finalized(_) => &[],
        };
        receipts.iter().map(|node| node.id)
    }
}
