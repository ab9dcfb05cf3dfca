//! Turns a block message into one atomic change of the storage.
//!
//! A message is read, checked and encoded without reading the storage (`BlockContent`). A plan is
//! made from the rows that determine the block's position (`PlanImport`): it extends the head,
//! makes a fork canonical, joins a fork, or was known. Transactions that become final with it are
//! finalized (`FinalizeTransactions`). The result is one [`Batch`]. A message that is malformed
//! or contradicts the chain is an error and changes nothing.

mod builder;
mod canonical_blocks;
mod chain_update;
mod content;
#[cfg(test)]
mod double_tests;
mod doubles;
mod finality;
mod finalize;
mod message;
mod overlay;
mod plan;
mod receipt_parents;
mod retention;
mod revert;
#[cfg(test)]
mod row_tests;
mod summary;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod type_tests;
mod verifier;

use alloc::vec::Vec;
use core::{fmt, mem};

use crate::Error;
use crate::config::TrackedShards;
#[cfg(feature = "archive")]
use crate::primitives::BlockHeight;
use crate::primitives::CryptoHash;
use crate::storage::restartable::{Restartable as _, RestartableQuery};
use crate::storage::rows::{BlockPoint, ChainRecord};
use crate::storage::sealed::Sealed;
use crate::storage::{Batch, Key, Query, Row, Snapshot, Step, already_complete, sorted_by_keys};
use crate::views::TypeMismatches;
pub use builder::{BlockHeader, MessageBuilder};
pub use chain_update::JoinedBlock;
pub use chain_update::{ChainUpdate, Change};
use content::BlockContent;
pub use finality::FinalityImport;
use finalize::FinalizeTransactions;
pub use message::{MessageHeader, check_complete, lake_message, read_header};
use overlay::RowChanges;
use plan::{ImportPlan, PlanImport};
pub use verifier::{BlockVerification, BlockVerifier, VerifyMode};

/// When a block is final
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum FinalityRule {
    /// When the head's header names it, or a later block, in `last_final_block`
    ///
    /// The feed is assumed to be one chain: blocks below a gap are final if a block above it is.
    #[default]
    Headers,
    /// As soon as it is imported: for feeds of final blocks only; forks are refused
    All,
}

/// Which canonical blocks are kept
///
/// Each import removes at most 64 blocks, so after retention is lowered the storage shrinks step by
/// step. What is removed is unknown from then on. Keep more blocks than the deepest fork and the
/// longest-lived transaction, and at least three: a header names as final the block two before it
/// at the earliest, and a block that is not kept cannot become final.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Retention {
    /// All blocks
    #[default]
    Everything,
    /// This number of newest blocks
    Blocks(u64),
    /// The blocks of this number of newest epochs
    ///
    /// The chain's row, which every query reads, has 40 bytes for each of them.
    Epochs(u64),
}

/// How blocks are imported
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ImportSettings {
    /// When a block is final
    pub finality: FinalityRule,
    /// Which blocks are kept
    pub retention: Retention,
    /// Whether a known member whose value is not of its type is an error; default no
    ///
    /// A value with one meaning is stored as a node writes it in any case: gas as a number, an
    /// amount of tokens as a decimal string. A value with none is imported as it came and counted
    /// in [`ImportSummary::type_mismatches`], because a protocol upgrade that gives one member
    /// another type must not stop an import. The members that the engine itself reads are checked
    /// in any case: ids, hashes, heights, and the kind of each status; a member that is missing is
    /// an error too.
    pub strict_types: bool,
    /// What retention must not remove yet, because it is not archived; default nothing
    #[cfg(feature = "archive")]
    pub archive_floor: Option<ArchiveFloor>,
    /// The shards whose chunks a message must have; default all of them
    ///
    /// A message may have more: all that is in it is imported.
    pub track_shards: TrackedShards,
}

/// The blocks that retention must not remove, because they are not archived
#[cfg(feature = "archive")]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a height and a bound")]
pub struct ArchiveFloor {
    /// Blocks of this height and above are kept:
    /// [`ArchiveStatus::kept_from`](crate::endpoint::ArchiveStatus::kept_from)
    pub height: BlockHeight,
    /// Maximum number of blocks in the storage: beyond it the oldest are removed although they are
    /// not archived, and counted in [`ImportSummary::evicted_blocks`]
    pub max_blocks: u64,
}

impl ImportSettings {
    /// The same with this rule of finality
    #[must_use]
    pub const fn with_finality(mut self, finality: FinalityRule) -> Self {
        self.finality = finality;
        self
    }

    /// The same with or without strict types
    #[must_use]
    pub const fn with_strict_types(mut self, strict_types: bool) -> Self {
        self.strict_types = strict_types;
        self
    }

    /// The same with what retention must not remove yet
    #[cfg(feature = "archive")]
    #[must_use]
    pub const fn with_archive_floor(mut self, floor: ArchiveFloor) -> Self {
        self.archive_floor = Some(floor);
        self
    }

    /// The same for a feed of these shards
    #[must_use]
    pub const fn with_track_shards(mut self, track_shards: TrackedShards) -> Self {
        self.track_shards = track_shards;
        self
    }

    /// The shards whose chunks a message must have
    const fn required_shards(&self) -> TrackedShards {
        self.track_shards
    }

    /// The same with this retention
    #[must_use]
    pub const fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }
}

/// The position of a block after its import
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum BlockPosition {
    /// It is the new head of the canonical chain
    Head,
    /// It was imported before; nothing changed
    Known,
    /// It is on a fork that is not canonical
    Fork,
}

/// The result of importing a block message
///
/// Its debug form has the number of items in place of each list.
#[derive(Clone, Eq, PartialEq)]
#[non_exhaustive]
pub struct ImportSummary {
    /// The block of the message
    pub block: BlockPoint,
    /// Its position now
    pub position: BlockPosition,
    /// Blocks that it removed from the canonical chain, newest first
    pub reverted: Vec<BlockPoint>,
    /// Fork blocks that joined the canonical chain with it, oldest first
    pub reapplied: Vec<BlockPoint>,
    /// The newest final block now
    pub last_final: Option<BlockPoint>,
    /// Transactions in the block
    pub transactions: usize,
    /// Hashes of the transactions in the block, in ascending order
    pub transaction_hashes: Vec<CryptoHash>,
    /// Execution outcomes in the block, including those of transactions
    pub outcomes: usize,
    /// Receipts whose bodies are in the block
    pub receipts: usize,
    /// Known members whose values are not of their type, if types are not strict, and transactions
    /// and outcomes that the block lists again, which were skipped; a block that was imported
    /// before has them too
    pub type_mismatches: TypeMismatches,
    /// Number of blocks that were removed although they were not archived
    #[cfg(feature = "archive")]
    pub evicted_blocks: u64,
    /// Whether the block agrees with its hash; `None` if it was not checked
    pub verification: Option<BlockVerification>,
    /// What pending requests have to be notified of once the batch is committed
    pub chain_update: ChainUpdate,
}

impl fmt::Debug for ImportSummary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("ImportSummary");
        debug
            .field("block", &self.block)
            .field("position", &self.position)
            .field("reverted", &self.reverted.len())
            .field("reapplied", &self.reapplied.len())
            .field("last_final", &self.last_final)
            .field("transactions", &self.transactions)
            .field("outcomes", &self.outcomes)
            .field("receipts", &self.receipts)
            .field("type_mismatches", &self.type_mismatches);
        #[cfg(feature = "archive")]
        debug.field("evicted_blocks", &self.evicted_blocks);
        debug
            .field("verification", &self.verification)
            .field("chain_update", &self.chain_update)
            .finish_non_exhaustive()
    }
}

/// The query for the changes that a block message makes
///
/// The output is a batch and a summary. Commit the batch before the next block is imported.
///
/// ```
/// use milepost::import::{BlockImport, BlockPosition, ImportSettings};
/// use milepost::storage::{MemoryStorage, Storage, run};
///
/// let message = br#"{"block":{"header":{"height":7,"epoch_id":"11111111111111111111111111111111",
///     "hash":"11111111111111111111111111111117","prev_hash":"11111111111111111111111111111116"}},
///     "shards":[]}"#;
/// let mut storage = MemoryStorage::new();
/// let mut import = BlockImport::new(message, ImportSettings::default())?;
/// let (batch, summary) = run(&mut import, &storage)?;
/// assert_eq!((summary.position, summary.block.height), (BlockPosition::Head, 7));
/// storage.commit(batch)?;
///
/// let error = BlockImport::new(br#"{"block":{"header":{}}}"#, ImportSettings::default());
/// assert_eq!(error.unwrap_err().path(), "block.header");
/// # Ok::<(), milepost::Error>(())
/// ```
pub struct BlockImport(Stage);

enum Stage {
    Plan(RestartableQuery<PlanImport>),
    Finalize(RestartableQuery<FinalizeTransactions>),
    Complete,
}

impl BlockImport {
    /// Reads a block message
    ///
    /// # Errors
    ///
    /// What is wrong with the message, and where.
    pub fn new(message: &[u8], settings: ImportSettings) -> Result<Self, Error> {
        let content = BlockContent::read(message, &settings)?;
        Ok(Self::of_plan(PlanImport::new(content, settings)))
    }

    /// Reads a block message and checks it against its hash; the summary has the result
    ///
    /// # Errors
    ///
    /// Those of [`BlockVerifier::verify`] and of [`Self::new`], in this order.
    pub fn verified(
        message: &[u8],
        settings: ImportSettings,
        verifier: &mut BlockVerifier,
    ) -> Result<Self, Error> {
        verifier.read(message, settings).1
    }

    fn of_plan(plan: PlanImport) -> Self {
        Self(Stage::Plan(RestartableQuery::new(plan)))
    }

    /// Runs to the end over a local storage; faster than [`run`](crate::storage::run)
    ///
    /// # Errors
    ///
    /// Those of the storage and of the query.
    pub fn run(self, rows: &(impl Snapshot + ?Sized)) -> Result<(Batch, ImportSummary), Error> {
        let (Stage::Plan(plan), rows) = (self.0, &rows) else { return Err(already_complete()) };
        let plan = plan.into_function().run_over(rows)?;
        if plan.chain.is_none() {
            return Ok((Batch::new(), plan.summary));
        }
        let finalize = FinalizeTransactions(plan);
        let (finalized, chain) = finalize.run_over(rows)?;
        Ok(finalize.0.into_batch(finalized, &chain))
    }

    /// Runs until rows are needed, which is `None`, or to the end
    fn advance(&mut self) -> Result<Option<(Batch, ImportSummary)>, Error> {
        if let Stage::Plan(plan) = &mut self.0
            && let Some(plan) = plan.advance()?
        {
            if plan.chain.is_none() {
                self.0 = Stage::Complete;
                return Ok(Some((Batch::new(), plan.summary)));
            }
            self.0 = Stage::Finalize(RestartableQuery::new(FinalizeTransactions(plan)));
        }
        let Stage::Finalize(finalize) = &mut self.0 else { return Ok(None) };
        let Some((finalized, chain)) = finalize.advance()? else { return Ok(None) };
        let Stage::Finalize(finalize) = mem::replace(&mut self.0, Stage::Complete) else {
            return Ok(None);
        };
        Ok(Some(finalize.into_function().0.into_batch(finalized, &chain)))
    }
}

impl ImportPlan {
    /// The batch and the summary, given what was finalized on top of the plan
    fn into_batch(mut self, finalized: RowChanges, chain: &ChainRecord) -> (Batch, ImportSummary) {
        self.changes.reserve(finalized.len());
        for (key, row) in finalized {
            self.changes.insert(key, row);
        }
        self.changes.insert(ChainRecord::key(), Some(chain.encode().into()));
        let changes: Vec<(Key, Option<Row>)> = self.changes.into_iter().collect();
        // Sorted, because storages in files write adjacent keys faster, and so that every host gets
        // the same batch.
        (Batch::from_changes(sorted_by_keys(changes, |(key, _)| *key)), self.summary)
    }
}

impl fmt::Debug for BlockImport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BlockImport").finish_non_exhaustive()
    }
}

impl Sealed for BlockImport {}

impl Query for BlockImport {
    type Output = (Batch, ImportSummary);

    fn poll(&mut self) -> Result<Step<'_, Self::Output>, Error> {
        if let Some(output) = self.advance()? {
            return Ok(Step::Done(output));
        }
        match &self.0 {
            Stage::Plan(plan) => Ok(Step::NeedRows(plan.needed_keys())),
            Stage::Finalize(finalize) => Ok(Step::NeedRows(finalize.needed_keys())),
            Stage::Complete => Err(already_complete()),
        }
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        match &mut self.0 {
            Stage::Plan(plan) => plan.supply_rows(rows),
            Stage::Finalize(finalize) => finalize.supply_rows(rows),
            Stage::Complete => Err(already_complete()),
        }
    }
}
