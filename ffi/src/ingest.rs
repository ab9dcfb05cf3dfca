//! Blocks for hosts whose storage is not at hand, and what became of a block.
//!
//! A [`milepost_ingest`] says which rows a block message or a protocol configuration needs, is resumed
//! with them, and ends in the changes to commit. It keeps nothing of the storage; committing is the
//! host's.

use core::mem;

use milepost::config::PutQuestion;
use milepost::facts::record::BlockPoint;
use milepost::facts::{Batch, Question as _, Step};
use milepost::ingest::{IngestQuestion, Ingested, Place};

use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Fixed, Handle};
use crate::error::milepost_error;
use crate::exchange::{MILEPOST_STEP_DONE, MILEPOST_STEP_NEED_ROWS, milepost_step_t};
use crate::settings::{Chosen, milepost_settings};
use crate::status::Refusal;
use crate::storage::{self, FlatBatch, FlatKeys, milepost_change, milepost_row};
use crate::value::{milepost_bytes, milepost_hash};

/// What became of a block message
pub struct milepost_ingested {
    _private: (),
}

impl Handle for milepost_ingested {
    type Value = Ingested;
    type Ownership = Fixed;
    const NAME: &'static str = "milepost_ingested";
}

/// A block message, or a protocol configuration, on its way into a storage that is not at hand
pub struct milepost_ingest {
    _private: (),
}

impl Handle for milepost_ingest {
    type Value = Ingesting;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_ingest";
}

/// A block by height and hash
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct milepost_point {
    /// Its height
    pub height: u64,
    /// Its hash
    pub hash: milepost_hash,
}

impl From<BlockPoint> for milepost_point {
    fn from(point: BlockPoint) -> Self {
        Self { height: point.height, hash: point.hash.into() }
    }
}

/// Where a block stands after it came in
pub type milepost_place_t = i32;

/// It is the new head of the canonical chain
pub const MILEPOST_PLACE_HEAD: milepost_place_t = 1;
/// It was in before; nothing changed
pub const MILEPOST_PLACE_KNOWN: milepost_place_t = 2;
/// It is on a fork that is not canonical; its facts are parked
pub const MILEPOST_PLACE_ASIDE: milepost_place_t = 3;
/// Something that this library has no number for
pub const MILEPOST_PLACE_OTHER: milepost_place_t = 255;

/// What became of a block message, in numbers
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_summary {
    /// The block of the message
    pub block: milepost_point,
    /// The newest final block, as of now, if `has_last_final`
    pub last_final: milepost_point,
    /// Whether any block is final: 0 or 1
    pub has_last_final: i32,
    /// Where the block stands now: `MILEPOST_PLACE_...`
    pub place: milepost_place_t,
    /// Transactions in the block
    pub transactions: usize,
    /// Execution outcomes in the block, those of transactions included
    pub outcomes: usize,
    /// Receipts whose bodies the block carries
    pub receipts: usize,
    /// How many blocks left the canonical chain because of it
    pub undone: usize,
    /// How many parked blocks joined the canonical chain with it
    pub redone: usize,
}

/// A block message or a configuration, as far as it has come
#[derive(Default)]
pub struct Ingesting {
    stage: Stage,
    /// What the host was asked for last
    keys: FlatKeys,
}

#[derive(Default)]
enum Stage {
    Block(Box<IngestQuestion>),
    Config(Box<PutQuestion>),
    /// What a block changes comes with what became of it
    Done(FlatBatch, Option<Box<Ingested>>),
    #[default]
    Failed,
}

/// What a question needs next
enum Next {
    Rows(FlatKeys),
    Done(Batch, Option<Box<Ingested>>),
}

impl Stage {
    /// Asks what is needed next; a question that refuses is over
    fn poll(&mut self) -> Result<Next, Refusal> {
        Ok(match self {
            Self::Block(question) => match question.poll()? {
                Step::Need(keys) => Next::Rows(FlatKeys::of(keys)),
                Step::Done((batch, ingested)) => Next::Done(batch, Some(Box::new(ingested))),
            },
            Self::Config(question) => match question.poll()? {
                Step::Need(keys) => Next::Rows(FlatKeys::of(keys)),
                Step::Done(batch) => Next::Done(batch, None),
            },
            Self::Done(..) | Self::Failed => return Err(over()),
        })
    }
}

fn over() -> Refusal {
    Refusal::usage("it is done, or failed before")
}

impl Ingesting {
    fn new(stage: Stage) -> Self {
        Self { stage, keys: FlatKeys::default() }
    }

    fn poll(&mut self) -> Result<milepost_step_t, Refusal> {
        if matches!(self.stage, Stage::Done(..)) {
            return Err(over());
        }
        let mut stage = mem::take(&mut self.stage);
        match stage.poll()? {
            Next::Rows(keys) => {
                (self.stage, self.keys) = (stage, keys);
                Ok(MILEPOST_STEP_NEED_ROWS)
            }
            Next::Done(batch, ingested) => {
                *self = Self::new(Stage::Done(FlatBatch::of(batch), ingested));
                Ok(MILEPOST_STEP_DONE)
            }
        }
    }

    fn done(&self) -> Result<(&FlatBatch, Option<&Ingested>), Refusal> {
        match &self.stage {
            Stage::Done(batch, ingested) => Ok((batch, ingested.as_deref())),
            Stage::Block(_) | Stage::Config(_) | Stage::Failed => {
                Err(Refusal::usage("it is not done"))
            }
        }
    }
}

ffi_function! {
    /// Reads a block message that is to go into a storage that is not at hand
    ///
    /// `settings` may be NULL for the defaults. Poll it next.
    fn milepost_ingest_new(
        #[optional] settings: *const milepost_settings,
        message: *const u8,
        message_len: usize,
        ingest: *mut *mut milepost_ingest,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let chosen = Chosen::or_default(settings);
        let question = IngestQuestion::new(message.bytes(message_len)?, chosen.ingest)?;
        ingest.put(Ingesting::new(Stage::Block(Box::new(question))));
        Ok(())
    }
}

ffi_function! {
    /// Reads a protocol configuration that is to be put in force from this height on, in a storage that is not at hand
    ///
    /// As `milepost_engine_put_config`. Poll it next; nothing becomes of it but its changes.
    fn milepost_ingest_new_config(
        height: u64,
        config: *const u8,
        config_len: usize,
        ingest: *mut *mut milepost_ingest,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let question = PutQuestion::new(height, config.text(config_len)?)?;
        ingest.put(Ingesting::new(Stage::Config(Box::new(question))));
        Ok(())
    }
}

ffi_function! {
    /// Says what the block message or configuration needs next
    ///
    /// `MILEPOST_STEP_NEED_ROWS`: the rows of `keys`, all from one state of the storage, by `milepost_ingest_supply`;
    /// they are asked for again until they are supplied. `MILEPOST_STEP_DONE`: that `milepost_ingest_changes` are
    /// committed before any other message is asked about. After a refusal only freeing is left.
    fn milepost_ingest_poll(
        ingest: *mut milepost_ingest,
        step: *mut milepost_step_t,
        keys: *mut *const milepost_bytes,
        keys_len: *mut usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        step.put(ingest.poll()?);
        let spans = ingest.keys.spans();
        keys.put(spans.as_ptr());
        keys_len.put(spans.len());
        Ok(())
    }
}

ffi_function! {
    /// Supplies the rows of the keys last asked for, in their order; they are copied
    ///
    /// `MILEPOST_STATUS_USAGE` unless there is one for each key, and nothing is changed then.
    fn milepost_ingest_supply(
        ingest: *mut milepost_ingest,
        rows: *const milepost_row,
        rows_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let rows = storage::rows(rows.items(rows_len)?)?;
        match &mut ingest.stage {
            Stage::Block(question) => Ok(question.supply(&rows)?),
            Stage::Config(question) => Ok(question.supply(&rows)?),
            Stage::Done(..) | Stage::Failed => Err(over()),
        }
    }
}

ffi_function! {
    /// The changes to commit, all or none, once the message is done; they belong to `ingest`
    ///
    /// None when the block was known. Their order has no meaning: no key is there twice.
    fn milepost_ingest_changes(
        ingest: *const milepost_ingest,
        changes: *mut *const milepost_change,
        changes_len: *mut usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let found = ingest.done()?.0.changes();
        changes.put(found.as_ptr());
        changes_len.put(found.len());
        Ok(())
    }
}

ffi_function! {
    /// What became of the message once it is done, for a desk to hear of after the commit
    fn milepost_ingest_result(
        ingest: *const milepost_ingest,
        ingested: *mut *mut milepost_ingested,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let known = ingest.done()?.1.ok_or_else(|| Refusal::usage("a configuration is no block"))?;
        ingested.put(known.clone());
        Ok(())
    }
}

ffi_function! {
    /// Frees a block message or configuration, done or not
    fn milepost_ingest_free(ingest: *mut milepost_ingest);
}

ffi_function! {
    /// What became of a block message, in numbers
    fn milepost_ingested_read(ingested: *const milepost_ingested, summary: *mut milepost_summary) -> milepost_status_t {
        summary.put(milepost_summary {
            block: ingested.block.into(),
            last_final: ingested.last_final.map_or_else(Default::default, Into::into),
            has_last_final: i32::from(ingested.last_final.is_some()),
            place: match ingested.place {
                Place::Head => MILEPOST_PLACE_HEAD,
                Place::Known => MILEPOST_PLACE_KNOWN,
                Place::Aside => MILEPOST_PLACE_ASIDE,
                _ => MILEPOST_PLACE_OTHER,
            },
            transactions: ingested.transactions,
            outcomes: ingested.outcomes,
            receipts: ingested.receipts,
            undone: ingested.undone.len(),
            redone: ingested.redone.len(),
        });
        Ok(())
    }
}

ffi_function! {
    /// A block that left the canonical chain, newest first
    fn milepost_ingested_undone(
        ingested: *const milepost_ingested,
        index: usize,
        block: *mut milepost_point,
    ) -> milepost_status_t {
        block.put(point(&ingested.undone, index)?);
        Ok(())
    }
}

ffi_function! {
    /// A parked block that joined the canonical chain, oldest first
    fn milepost_ingested_redone(
        ingested: *const milepost_ingested,
        index: usize,
        block: *mut milepost_point,
    ) -> milepost_status_t {
        block.put(point(&ingested.redone, index)?);
        Ok(())
    }
}

ffi_function! {
    /// Frees what became of a block message
    fn milepost_ingested_free(ingested: *mut milepost_ingested);
}

fn point(points: &[BlockPoint], index: usize) -> Result<milepost_point, Refusal> {
    let found = points.get(index).ok_or_else(|| Refusal::index(index, points.len()))?;
    Ok((*found).into())
}
