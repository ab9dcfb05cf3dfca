//! A block message becomes one atomic change of the storage.
//!
//! A message is read, checked and rendered without looking at the storage (`Content`); then a
//! plan is made from the rows that say where the block stands (`Plan`): it extends the head,
//! wins over a fork, is parked aside, or was known; and transactions that become final with it
//! are settled (`Settle`). All of it ends in one [`Batch`]; a message that is malformed or contradicts
//! the chain ends in an error and changes nothing.

mod brief;
mod builder;
mod changes;
mod content;
mod message;
mod origins;
mod overlay;
mod plan;
mod settle;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;
use core::mem;

use crate::facts::record::{BlockPoint, ChainRecord};
use crate::facts::replay::Replay as _;
use crate::facts::replay::Replayed;
use crate::facts::{Batch, Key, Question, Row, Rows, Step, sorted_by_keys};
use crate::{Error, ErrorKind};
pub use builder::{BlockHeader, MessageBuilder};
pub use changes::{Change, Changes};
use content::Content;
pub use message::lake_message;
use overlay::Changed;
use plan::{Plan, Planned};
use settle::Settle;

/// When a block counts as final
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Finality {
    /// When the head's header names it, or a later block, in `last_final_block`
    ///
    /// The feed is taken for one chain: blocks below a gap are final when a block above it is.
    #[default]
    Headers,
    /// When it comes in: for feeds that carry final blocks only, where forks are refused
    All,
}

/// How many canonical blocks are kept
///
/// At most 64 blocks are removed with each block that comes in, so a store that starts to forget
/// does so step by step. What is removed is unknown from then on; keep more blocks than the
/// deepest fork and the longest-lived transaction, and never fewer than three: a header names as
/// final the block two before it at the earliest, and one that is not kept cannot become final.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Retention {
    /// All of them
    #[default]
    Everything,
    /// So many of the newest blocks
    Blocks(u64),
    /// The blocks of so many of the newest epochs
    ///
    /// The row about the chain, which every question reads, has 40 bytes for each of them.
    Epochs(u64),
}

/// How blocks are taken in
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct IngestSettings {
    /// When a block counts as final
    pub finality: Finality,
    /// How many blocks are kept
    pub retention: Retention,
}

impl IngestSettings {
    /// Settings with this rule of finality
    #[must_use]
    pub const fn with_finality(mut self, finality: Finality) -> Self {
        self.finality = finality;
        self
    }

    /// Settings with this retention
    #[must_use]
    pub const fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }
}

/// Where a block stands after it came in
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Place {
    /// It is the new head of the canonical chain
    Head,
    /// It was in before; nothing changed
    Known,
    /// It is on a fork that is not canonical; its facts are parked
    Aside,
}

/// What became of a block message
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Ingested {
    /// The block of the message
    pub block: BlockPoint,
    /// Where it stands now
    pub place: Place,
    /// Blocks that left the canonical chain because of it, newest first
    pub undone: Vec<BlockPoint>,
    /// Parked blocks that joined the canonical chain with it, oldest first
    pub redone: Vec<BlockPoint>,
    /// The newest final block, as of now
    pub last_final: Option<BlockPoint>,
    /// Transactions in the block
    pub transactions: usize,
    /// Execution outcomes in the block, those of transactions included
    pub outcomes: usize,
    /// Receipts whose bodies the block carries
    pub receipts: usize,
    /// What those who wait must hear of, once the batch is committed
    pub changes: Changes,
}

/// What does this block message change?
///
/// The answer is a batch that is to be committed before the next message is asked about, and what
/// it means.
///
/// ```
/// use milepost::facts::{MemoryStorage, Storage, drive};
/// use milepost::ingest::{IngestQuestion, IngestSettings, Place};
///
/// let message = br#"{"block":{"header":{"height":7,"epoch_id":"11111111111111111111111111111111",
///     "hash":"11111111111111111111111111111117","prev_hash":"11111111111111111111111111111116"}},
///     "shards":[]}"#;
/// let mut storage = MemoryStorage::new();
/// let mut question = IngestQuestion::new(message, IngestSettings::default())?;
/// let (batch, ingested) = drive(&mut question, &storage)?;
/// assert_eq!((ingested.place, ingested.block.height), (Place::Head, 7));
/// storage.commit(batch)?;
///
/// let error = IngestQuestion::new(br#"{"block":{"header":{}}}"#, IngestSettings::default());
/// assert_eq!(error.unwrap_err().path(), "block.header");
/// # Ok::<(), milepost::Error>(())
/// ```
pub struct IngestQuestion(Stage);

enum Stage {
    Plan(Replayed<Plan>),
    Settle(Replayed<Settle>),
    Over,
}

impl IngestQuestion {
    /// Reads a block message
    ///
    /// # Errors
    ///
    /// What is wrong with the message, and where.
    pub fn new(message: &[u8], settings: IngestSettings) -> Result<Self, Error> {
        Ok(Self(Stage::Plan(Replayed::new(Plan::new(Content::read(message)?, settings)))))
    }

    /// Answers over a storage that is at hand: the same as [`drive`](crate::facts::drive), and faster
    ///
    /// # Errors
    ///
    /// Those of the storage and of the question.
    pub fn drive(self, rows: &(impl Rows + ?Sized)) -> Result<(Batch, Ingested), Error> {
        let (Stage::Plan(plan), rows) = (self.0, &rows) else { return Err(over()) };
        let planned = plan.into_function().run(rows)?;
        if planned.chain.is_none() {
            return Ok((Batch::new(), planned.ingested));
        }
        let settle = Settle(planned);
        let (settled, chain) = settle.run(rows)?;
        Ok(settle.0.into_batch(settled, &chain))
    }

    /// Goes on to where rows are needed, or to the end
    fn run(&mut self) -> Result<Option<(Batch, Ingested)>, Error> {
        if let Stage::Plan(plan) = &mut self.0
            && let Some(planned) = plan.run()?
        {
            if planned.chain.is_none() {
                self.0 = Stage::Over;
                return Ok(Some((Batch::new(), planned.ingested)));
            }
            self.0 = Stage::Settle(Replayed::new(Settle(planned)));
        }
        let Stage::Settle(settle) = &mut self.0 else { return Ok(None) };
        let Some((settled, chain)) = settle.run()? else { return Ok(None) };
        let Stage::Settle(settle) = mem::replace(&mut self.0, Stage::Over) else {
            return Ok(None);
        };
        Ok(Some(settle.into_function().0.into_batch(settled, &chain)))
    }
}

impl Planned {
    /// What is to be committed once this was settled on top of the plan
    fn into_batch(mut self, settled: Changed, chain: &ChainRecord) -> (Batch, Ingested) {
        self.changed.extend(settled);
        self.changed.insert(ChainRecord::key(), Some(chain.encode().into()));
        let changes: Vec<(Key, Option<Row>)> = self.changed.into_iter().collect();
        // Storages in files like neighbours beside each other, and every host gets the same batch.
        (Batch::of(sorted_by_keys(changes, |(key, _)| *key)), self.ingested)
    }
}

fn over() -> Error {
    Error::new(ErrorKind::Usage, "the question is answered already")
}

impl core::fmt::Debug for IngestQuestion {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("IngestQuestion").finish_non_exhaustive()
    }
}

impl Question for IngestQuestion {
    type Answer = (Batch, Ingested);

    fn poll(&mut self) -> Result<Step<'_, Self::Answer>, Error> {
        if let Some(answer) = self.run()? {
            return Ok(Step::Done(answer));
        }
        match &self.0 {
            Stage::Plan(plan) => Ok(Step::Need(plan.wanted())),
            Stage::Settle(settle) => Ok(Step::Need(settle.wanted())),
            Stage::Over => Err(over()),
        }
    }

    fn supply(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        match &mut self.0 {
            Stage::Plan(plan) => plan.supply(rows),
            Stage::Settle(settle) => settle.supply(rows),
            Stage::Over => Err(over()),
        }
    }
}
