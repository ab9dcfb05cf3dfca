//! Where a transaction stands, and how its answer is written.
//!
//! A transaction that is on its way is walked receipt by receipt; one that is settled is one row
//! that was written when the last of its blocks became final. Both give the same bytes: the row was
//! written by the walk.

use alloc::vec::Vec;

use super::walked::Walked;
use super::{Blocker, Memory, Milestone};
use crate::Error;
use crate::facts::Row;
use crate::facts::record::{ChainRecord, OutcomeRecord, SettledRecord, TransactionRecord};
use crate::primitives::CryptoHash;

/// The status of the whole transaction: that of the first leaf of its receipts
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "the interface closes this enumeration")]
pub enum FinalStatus {
    /// Not converted to a receipt yet
    NotStarted,
    /// A receipt exists, but the first leaf is not executed
    Started,
    /// The first leaf failed
    Failure,
    /// The first leaf returned a value
    SuccessValue,
}

/// Where a transaction stands
///
/// ```
/// use milepost::facts::record::{OutcomeRecord, OutcomeStatus, TransactionRecord};
/// use milepost::facts::{Batch, Key, MemoryStorage, Storage, Table, drive};
/// use milepost::primitives::CryptoHash;
/// use milepost::status::{FinalStatus, Milestone, StatusQuestion};
///
/// // Rows as ingest writes them: the text of the outcome, and where in it the status stands.
/// let hash = CryptoHash::digest(b"a transaction");
/// let outcome = OutcomeRecord {
///     height: 7,
///     status: OutcomeStatus::SuccessValue,
///     status_text: (10, 29),
///     receipt_ids: &[],
///     fragment: br#"{"status":{"SuccessValue":""}}"#,
/// };
/// let transaction = TransactionRecord { height: 7, to_itself: false, fragment: b"{}" };
/// let mut batch = Batch::new();
/// batch.put(Key::hash(Table::Transactions, hash), transaction.encode());
/// batch.put(Key::hash(Table::Outcomes, hash), outcome.encode());
/// let mut storage = MemoryStorage::new();
/// storage.commit(batch)?;
///
/// let standing = drive(&mut StatusQuestion::new(hash, 1_000), &storage)?.expect("it is known");
/// // Nothing is left to execute, and no block is known to be final.
/// assert_eq!(standing.milestone(), Milestone::ExecutedOptimistic);
/// assert_eq!(standing.final_status(), FinalStatus::SuccessValue);
/// assert_eq!((standing.outcomes().count(), standing.pending().count()), (1, 0));
///
/// let mut result = Vec::new();
/// standing.write(true, &mut result)?;
/// assert!(result.starts_with(br#"{"final_execution_status":"EXECUTED_OPTIMISTIC","receipts":[]"#));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
pub struct Standing(Kind);

#[derive(Debug)]
enum Kind {
    Walked(Walked),
    Settled(Row),
}

impl Standing {
    pub(super) fn walked(
        transaction: Row,
        memory: Memory,
        chain: &ChainRecord,
    ) -> Result<Self, Error> {
        Walked::new(transaction, memory, chain).map(|walked| Self(Kind::Walked(walked)))
    }

    /// The memory of the walk, if there was one
    pub(crate) fn into_memory(self) -> Option<Memory> {
        match self.0 {
            Kind::Walked(walked) => Some(walked.into_memory()),
            Kind::Settled(_) => None,
        }
    }

    /// The standing of a settled transaction; the row was read as such before
    pub(super) const fn settled(row: Row) -> Self {
        Self(Kind::Settled(row))
    }

    /// A fact without which `wanted` cannot be reached; none once it is
    ///
    /// Of several the one is named that is likely to come last: execution before finality, and
    /// the deepest receipt first.
    ///
    /// # Errors
    ///
    /// A row that this engine did not write.
    pub fn blocker(&self, wanted: Milestone) -> Result<Option<Blocker>, Error> {
        match &self.0 {
            Kind::Walked(walked) => walked.blocker(wanted),
            Kind::Settled(_) => Ok(None),
        }
    }

    /// The milestone that the rows prove
    pub const fn milestone(&self) -> Milestone {
        match &self.0 {
            Kind::Walked(walked) => walked.milestone(),
            Kind::Settled(_) => Milestone::Final,
        }
    }

    /// The kind of the final status
    pub fn final_status(&self) -> FinalStatus {
        match &self.0 {
            Kind::Walked(walked) => walked.final_status(),
            Kind::Settled(row) => match SettledRecord::decode(row) {
                Ok(Some(SettledRecord { failed: false, .. })) => FinalStatus::SuccessValue,
                // The row was read before, so it can be read.
                _ => FinalStatus::Failure,
            },
        }
    }

    /// Whether the transaction has an outcome; without one, an answer holds the milestone alone
    pub const fn has_outcome(&self) -> bool {
        match &self.0 {
            Kind::Walked(walked) => walked.has_outcome(),
            Kind::Settled(_) => true,
        }
    }

    /// The transaction
    ///
    /// # Errors
    ///
    /// A row that this engine did not write.
    pub fn transaction(&self) -> Result<TransactionRecord<'_>, Error> {
        match &self.0 {
            Kind::Walked(walked) => walked.transaction(),
            Kind::Settled(row) => TransactionRecord::decode(row),
        }
    }

    /// The outcomes, depth first, with their ids; the transaction's own comes first
    ///
    /// # Errors
    ///
    /// Of an item: a row that this engine did not write.
    pub fn outcomes(&self) -> impl Iterator<Item = Result<(CryptoHash, OutcomeRecord<'_>), Error>> {
        let (walked, settled) = match &self.0 {
            Kind::Walked(walked) => (Some(walked.outcomes()), None),
            Kind::Settled(row) => {
                let settled = SettledRecord::decode(row).ok().flatten();
                let outcomes = settled.into_iter().flat_map(|settled| settled.outcomes());
                (None, Some(outcomes.map(|outcome| outcome.map(|one| (one.id, one.outcome)))))
            }
        };
        walked.into_iter().flatten().chain(settled.into_iter().flatten())
    }

    /// The receipts that were generated and are not executed, and whether each is known to be a
    /// refund
    ///
    /// # Errors
    ///
    /// Of an item: a row that this engine did not write.
    pub fn pending(&self) -> impl Iterator<Item = Result<(CryptoHash, bool), Error>> {
        let walked = match &self.0 {
            Kind::Walked(walked) => Some(walked.pending()),
            Kind::Settled(_) => None,
        };
        walked.into_iter().flatten()
    }

    /// About how many bytes [`write`](Self::write) appends, never fewer than the rows hold
    pub fn size_hint(&self) -> usize {
        match &self.0 {
            Kind::Walked(walked) => walked.size_hint(),
            Kind::Settled(row) => row.len(),
        }
    }

    /// Appends the `result` of an answer: the milestone and, when there is one, the outcome
    ///
    /// With `receipts` the bodies of the executed receipts are listed in the order of their
    /// outcomes; the first receipt of a transaction to its own signer is local and left out, as
    /// the node leaves it out.
    ///
    /// # Errors
    ///
    /// A row that this engine did not write, or an executed receipt whose body is not in the
    /// storage: an answer is whole or it is none. `result` is then without meaning.
    pub fn write(&self, receipts: bool, result: &mut Vec<u8>) -> Result<(), Error> {
        match &self.0 {
            Kind::Walked(walked) => walked.write(receipts, result).map(drop),
            Kind::Settled(row) => {
                let Some(settled) = SettledRecord::decode(row)? else { return Ok(()) };
                if receipts {
                    result.extend_from_slice(settled.result);
                } else {
                    let [before, behind] = settled.without_receipts();
                    result.extend_from_slice(before);
                    result.extend_from_slice(behind);
                }
                Ok(())
            }
        }
    }

    /// The row of the transaction if nothing will change it any more: it is `FINAL`, has a final
    /// status, and the bodies of all receipts are final too
    ///
    /// # Errors
    ///
    /// A row that this engine did not write.
    pub(crate) fn settle(&self, chain: &ChainRecord) -> Result<Option<Vec<u8>>, Error> {
        match &self.0 {
            Kind::Walked(walked) => walked.settle(chain),
            Kind::Settled(_) => Ok(None),
        }
    }

    /// The local receipt, whose body no answer shows
    ///
    /// # Errors
    ///
    /// A row that this engine did not write.
    pub(crate) fn local(&self) -> Result<Option<CryptoHash>, Error> {
        match &self.0 {
            Kind::Walked(walked) => walked.local(),
            Kind::Settled(_) => Ok(None),
        }
    }

    /// The ids of the receipts that belong to the transaction
    pub(crate) fn receipts(&self) -> impl Iterator<Item = CryptoHash> {
        let walked = match &self.0 {
            Kind::Walked(walked) => Some(walked.receipts()),
            Kind::Settled(_) => None,
        };
        walked.into_iter().flatten()
    }
}
