//! Block imports for hosts with remote storage, and summaries of imports.
//!
//! A [`milepost_block_import`] returns the keys of the rows that a block message or a protocol
//! configuration needs, is resumed with the rows, and ends in the changes to commit. It has no
//! access to the storage; the host commits.

use core::mem;

use milepost::config::ConfigImport;
use milepost::import::{BlockImport, BlockPosition, ImportSummary};
use milepost::storage::{Batch, BlockPoint, Query as _, Step};

use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Handle, Immutable};
use crate::error::milepost_error;
use crate::pending_request::{MILEPOST_STEP_DONE, MILEPOST_STEP_NEED_ROWS, milepost_step_t};
use crate::settings::{HostSettings, milepost_settings};
use crate::status::CallError;
use crate::storage::{self, FlatBatch, FlatKeys, milepost_change, milepost_row};
use crate::value::{milepost_bytes, milepost_hash};

/// What the import of a block message did
pub struct milepost_import_summary {
    _private: (),
}

impl Handle for milepost_import_summary {
    type Value = ImportSummary;
    type Ownership = Immutable;
    const NAME: &'static str = "milepost_import_summary";
}

/// Import of a block message, or of a protocol configuration, into a remote storage
pub struct milepost_block_import {
    _private: (),
}

impl Handle for milepost_block_import {
    type Value = ImportState;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_block_import";
}

/// A block by height and hash
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct milepost_block_point {
    /// Its height
    pub height: u64,
    /// Its hash
    pub hash: milepost_hash,
}

impl From<BlockPoint> for milepost_block_point {
    fn from(point: BlockPoint) -> Self {
        Self { height: point.height, hash: point.hash.into() }
    }
}

/// Position of a block in the chain after its import
pub type milepost_block_position_t = i32;

/// New head of the canonical chain
pub const MILEPOST_BLOCK_POSITION_HEAD: milepost_block_position_t = 1;
/// Imported before; nothing changed
pub const MILEPOST_BLOCK_POSITION_KNOWN: milepost_block_position_t = 2;
/// On a fork that is not canonical; stored as a fork block
pub const MILEPOST_BLOCK_POSITION_FORK: milepost_block_position_t = 3;
/// A position that this library has no number for
pub const MILEPOST_BLOCK_POSITION_OTHER: milepost_block_position_t = 255;

/// Members of an import summary
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_import_summary_view {
    /// Block of the message
    pub block: milepost_block_point,
    /// Newest final block after the import, if `has_last_final`
    pub last_final: milepost_block_point,
    /// Whether a block is final: 0 or 1
    pub has_last_final: i32,
    /// Position of the block after the import: `MILEPOST_BLOCK_POSITION_...`
    pub position: milepost_block_position_t,
    /// Number of transactions in the block
    pub transactions: usize,
    /// Number of execution outcomes in the block, those of transactions included
    pub outcomes: usize,
    /// Number of receipts whose bodies are in the block
    pub receipts: usize,
    /// Number of blocks that the import reverted: they left the canonical chain
    pub reverted: usize,
    /// Number of fork blocks that the import applied again: they joined the canonical chain
    pub reapplied: usize,
}

/// Stage of an import, and the keys that it returned last
#[derive(Default)]
pub struct ImportState {
    stage: Stage,
    keys: FlatKeys,
}

#[derive(Default)]
enum Stage {
    Block(Box<BlockImport>),
    Config(Box<ConfigImport>),
    /// A block has a summary, a configuration has none
    Done(FlatBatch, Option<Box<ImportSummary>>),
    #[default]
    Failed,
}

/// Next step of an import of either kind
enum ImportStep {
    NeedRows(FlatKeys),
    Done(Batch, Option<Box<ImportSummary>>),
}

impl Stage {
    fn poll(&mut self) -> Result<ImportStep, CallError> {
        Ok(match self {
            Self::Block(import) => match import.poll()? {
                Step::NeedRows(keys) => ImportStep::NeedRows(FlatKeys::new(keys)),
                Step::Done((batch, summary)) => ImportStep::Done(batch, Some(Box::new(summary))),
            },
            Self::Config(import) => match import.poll()? {
                Step::NeedRows(keys) => ImportStep::NeedRows(FlatKeys::new(keys)),
                Step::Done(batch) => ImportStep::Done(batch, None),
            },
            Self::Done(..) | Self::Failed => return Err(ended()),
        })
    }
}

fn ended() -> CallError {
    CallError::usage("the import is done or has failed")
}

impl ImportState {
    fn new(stage: Stage) -> Self {
        Self { stage, keys: FlatKeys::default() }
    }

    /// Advances the import; one that fails stays failed
    fn poll(&mut self) -> Result<milepost_step_t, CallError> {
        if matches!(self.stage, Stage::Done(..)) {
            return Err(ended());
        }
        let mut stage = mem::take(&mut self.stage);
        match stage.poll()? {
            ImportStep::NeedRows(keys) => {
                (self.stage, self.keys) = (stage, keys);
                Ok(MILEPOST_STEP_NEED_ROWS)
            }
            ImportStep::Done(batch, summary) => {
                *self = Self::new(Stage::Done(FlatBatch::new(batch), summary));
                Ok(MILEPOST_STEP_DONE)
            }
        }
    }

    fn done(&self) -> Result<(&FlatBatch, Option<&ImportSummary>), CallError> {
        match &self.stage {
            Stage::Done(batch, summary) => Ok((batch, summary.as_deref())),
            Stage::Block(_) | Stage::Config(_) | Stage::Failed => {
                Err(CallError::usage("the import is not done"))
            }
        }
    }
}

ffi_function! {
    /// Creates the import of a block message into a remote storage; poll it next
    ///
    /// `settings` may be NULL for the defaults.
    fn milepost_block_import_new(
        #[optional] settings: *const milepost_settings,
        message: *const u8,
        message_len: usize,
        block_import: *mut *mut milepost_block_import,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let settings = HostSettings::or_default(settings);
        let import = BlockImport::new(message.bytes(message_len)?, settings.import)?;
        block_import.write(ImportState::new(Stage::Block(Box::new(import))));
        Ok(())
    }
}

ffi_function! {
    /// Creates the import of a protocol configuration into a remote storage; poll it next
    ///
    /// As `milepost_engine_put_config`. It ends in changes and has no summary.
    fn milepost_block_import_new_config(
        height: u64,
        config: *const u8,
        config_len: usize,
        block_import: *mut *mut milepost_block_import,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let import = ConfigImport::new(height, config.text(config_len)?)?;
        block_import.write(ImportState::new(Stage::Config(Box::new(import))));
        Ok(())
    }
}

ffi_function! {
    /// Advances the import and returns what it needs next
    ///
    /// `MILEPOST_STEP_NEED_ROWS`: supply the rows of `keys`, all from one state of the storage, by
    /// `milepost_block_import_supply_rows`; polling before that returns the same keys.
    /// `MILEPOST_STEP_DONE`: commit `milepost_block_import_changes` before polling any other
    /// import. After an error the import can only be freed. The keys belong to `block_import`.
    fn milepost_block_import_poll(
        block_import: *mut milepost_block_import,
        step: *mut milepost_step_t,
        keys: *mut *const milepost_bytes,
        keys_len: *mut usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        step.write(block_import.poll()?);
        let spans = block_import.keys.spans();
        keys.write(spans.as_ptr());
        keys_len.write(spans.len());
        Ok(())
    }
}

ffi_function! {
    /// Supplies the rows of the keys that the last poll returned, in their order; they are copied
    ///
    /// `MILEPOST_STATUS_USAGE` unless there is one row for each key; nothing is changed then.
    fn milepost_block_import_supply_rows(
        block_import: *mut milepost_block_import,
        rows: *const milepost_row,
        rows_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let rows = storage::copy_rows(rows.items(rows_len)?)?;
        match &mut block_import.stage {
            Stage::Block(import) => Ok(import.supply_rows(&rows)?),
            Stage::Config(import) => Ok(import.supply_rows(&rows)?),
            Stage::Done(..) | Stage::Failed => Err(ended()),
        }
    }
}

ffi_function! {
    /// The changes to commit, all or none, once the import is done; they belong to `block_import`
    ///
    /// None for a known block. No key occurs twice, so their order does not matter.
    fn milepost_block_import_changes(
        block_import: *const milepost_block_import,
        changes: *mut *const milepost_change,
        changes_len: *mut usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let batch = block_import.done()?.0.changes();
        changes.write(batch.as_ptr());
        changes_len.write(batch.len());
        Ok(())
    }
}

ffi_function! {
    /// Returns the summary of a block import that is done
    ///
    /// Pass it to `milepost_endpoint_handle_chain_update` after the commit.
    fn milepost_block_import_summary(
        block_import: *const milepost_block_import,
        summary: *mut *mut milepost_import_summary,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let no_summary = || CallError::usage("the import of a configuration has no summary");
        summary.write(block_import.done()?.1.ok_or_else(no_summary)?.clone());
        Ok(())
    }
}

ffi_function! {
    /// Frees an import, done or not
    fn milepost_block_import_free(block_import: *mut milepost_block_import);
}

ffi_function! {
    /// Returns the members of an import summary
    fn milepost_import_summary_read(
        summary: *const milepost_import_summary,
        view: *mut milepost_import_summary_view,
    ) -> milepost_status_t {
        view.write(milepost_import_summary_view {
            block: summary.block.into(),
            last_final: summary.last_final.map_or_else(Default::default, Into::into),
            has_last_final: i32::from(summary.last_final.is_some()),
            position: match summary.position {
                BlockPosition::Head => MILEPOST_BLOCK_POSITION_HEAD,
                BlockPosition::Known => MILEPOST_BLOCK_POSITION_KNOWN,
                BlockPosition::Fork => MILEPOST_BLOCK_POSITION_FORK,
                _ => MILEPOST_BLOCK_POSITION_OTHER,
            },
            transactions: summary.transactions,
            outcomes: summary.outcomes,
            receipts: summary.receipts,
            reverted: summary.reverted.len(),
            reapplied: summary.reapplied.len(),
        });
        Ok(())
    }
}

ffi_function! {
    /// A block that left the canonical chain, newest first
    fn milepost_import_summary_reverted(
        summary: *const milepost_import_summary,
        index: usize,
        block: *mut milepost_block_point,
    ) -> milepost_status_t {
        block.write(point(&summary.reverted, index)?);
        Ok(())
    }
}

ffi_function! {
    /// A fork block that joined the canonical chain, oldest first
    fn milepost_import_summary_reapplied(
        summary: *const milepost_import_summary,
        index: usize,
        block: *mut milepost_block_point,
    ) -> milepost_status_t {
        block.write(point(&summary.reapplied, index)?);
        Ok(())
    }
}

ffi_function! {
    /// Frees an import summary
    fn milepost_import_summary_free(summary: *mut milepost_import_summary);
}

fn point(points: &[BlockPoint], index: usize) -> Result<milepost_block_point, CallError> {
    let point = points.get(index).ok_or_else(|| CallError::index(index, points.len()))?;
    Ok((*point).into())
}
