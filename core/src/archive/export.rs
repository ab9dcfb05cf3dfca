//! The rows of an archive that the final blocks of a storage give.
//!
//! Blocks are taken in the order of the chain, a few at a time. A block gives its own rows and one
//! row for each of its transactions that is finalized, with one for each receipt of it; the others
//! are open, and are looked at again with the blocks after them. Nothing is put here, and nothing
//! is removed from the storage.

use alloc::vec::Vec;

use super::envelope::plain_row;
use super::{
    ArchiveWriter, ArchivedBlock, ArchivedProof, ArchivedReceipt, Envelope, OpenTransaction, Origin,
};
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::restartable::{Restartable, RestartableQuery, RowCache, Suspend};
use crate::storage::rows::{
    BlockPoint, BlockRecord, ChainRecord, ConfigIndex, ConfigRecord, FinalizedTransaction,
    ReceiptParent, decode_block_hash,
};
use crate::storage::sealed::Sealed;
use crate::storage::{Key, Query, Row, Step, Table};

/// Maximum number of blocks of an export
const MAX_BLOCKS: u64 = 16;

/// The rows that the final blocks of a storage give to an archive
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Export {
    /// The rows to put; their order has no meaning
    pub rows: Vec<(Key, Row)>,
    /// The newest block of the export
    pub last: Option<BlockPoint>,
    /// Number of transactions among the rows
    pub transactions: usize,
    /// The writer when all rows are durable
    pub(crate) next: ArchiveWriter,
    /// Whether the last write, of its progress, was taken
    pub(super) has_progress: bool,
}

/// The query for an [`Export`]; `None` if there is nothing to export
#[derive(Debug)]
pub struct ExportQuery(RestartableQuery<ArchiveWriter>);

impl ExportQuery {
    pub(super) fn new(from: ArchiveWriter) -> Self {
        Self(RestartableQuery::new(from))
    }
}

impl Sealed for ExportQuery {
    fn restarted(&self) -> Option<Self> {
        self.0.restarted().map(Self)
    }
}

impl Query for ExportQuery {
    type Output = Option<Export>;

    fn poll(&mut self) -> Result<Step<'_, Self::Output>, Error> {
        self.0.poll()
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        self.0.supply_rows(rows)
    }
}

/// A canonical block
struct Block {
    hash: CryptoHash,
    record: BlockRecord,
}

/// The canonical block of this ordinal, in two round trips
fn block_at(ordinal: u64, rows: &mut RowCache<'_>) -> Result<Option<Block>, Suspend> {
    let Some(row) = rows.row(Key::number(Table::Ordinals, ordinal))? else { return Ok(None) };
    let hash = decode_block_hash(Table::Ordinals, row)?;
    Ok(rows.block(hash)?.map(|record| Block { hash, record }))
}

impl ArchiveWriter {
    /// The ordinal of the first block of these that is not in the range of heights that has the
    /// first of them
    fn first_ordinal(
        &self,
        mut first: u64,
        mut end: u64,
        rows: &mut RowCache<'_>,
    ) -> Result<u64, Suspend> {
        let Some(earliest) = block_at(first, rows)? else { return Ok(first) };
        let Some(range) = self.progress.heights.range_of(earliest.record.height) else {
            return Ok(first);
        };
        // Heights ascend with ordinals.
        while first < end {
            let middle = first + (end - first) / 2;
            match block_at(middle, rows)? {
                Some(block) if block.record.height <= *range.end() => first = middle + 1,
                _ => end = middle,
            }
        }
        Ok(first)
    }

    /// Adds the row of a transaction if it is finalized; whether it is
    fn add_transaction(
        &self,
        hash: CryptoHash,
        rows: &mut RowCache<'_>,
        export: &mut Export,
    ) -> Result<bool, Suspend> {
        let Some(row) = rows.row(Key::hash(Table::Transactions, hash))? else { return Ok(false) };
        let Some(finalized) = FinalizedTransaction::decode(row)? else { return Ok(false) };
        export.transactions += 1;
        let receipt = ArchivedReceipt { transaction: hash, height: finalized.height }.encode();
        for outcome in finalized.outcomes() {
            let id = outcome?.id;
            if id != hash {
                export
                    .rows
                    .push((ArchivedReceipt::key(id), plain_row(Origin::of(self.id), &receipt)));
            }
        }
        let key = Key::hash(Table::ArchivedTransactions, hash);
        let refused_at = finalized.is_refusal().then_some(finalized.height);
        let envelope = Envelope { refused_at, ..Envelope::plain(Origin::of(self.id), row) };
        export.rows.push((key, envelope.encode().into()));
        Ok(true)
    }

    /// Adds the receipts of later executions of this block, which their transactions do not list
    fn add_later_receipts(
        &self,
        record: &BlockRecord,
        rows: &mut RowCache<'_>,
        export: &mut Export,
    ) -> Result<(), Suspend> {
        rows.prefetch(record.later_receipts().map(ReceiptParent::key))?;
        for receipt in record.later_receipts() {
            let Some(row) = rows.row(ReceiptParent::key(receipt))? else { continue };
            let parent = ReceiptParent::decode(row)?;
            if parent.is_later {
                let content =
                    ArchivedReceipt { transaction: parent.transaction, height: record.height };
                let row = plain_row(Origin::of(self.id), &content.encode());
                export.rows.push((ArchivedReceipt::key(receipt), row));
            }
        }
        Ok(())
    }

    fn add_block(&self, block: &Block, export: &mut Export) {
        let Block { hash, record } = block;
        let archived = ArchivedBlock {
            height: record.height,
            prev_hash: record.prev_hash,
            epoch_id: record.epoch_id,
            protocol_version: record.protocol_version,
        };
        let row = plain_row(Origin::of(self.id), &archived.encode());
        export.rows.push((ArchivedBlock::key(*hash), row));
        let row = plain_row(Origin::of(self.id), hash.as_bytes());
        export.rows.push((ArchivedBlock::height_key(record.height), row));
        if !record.proof.as_bytes().is_empty() {
            let row = plain_row(Origin::of(self.id), record.proof.as_bytes());
            export.rows.push((ArchivedProof::key(*hash), row));
        }
        export.last = Some(BlockPoint { height: record.height, hash: *hash });
    }

    /// Adds the configurations of these epochs and those that are in force from a height up to
    /// `height` on, unless they were exported
    ///
    /// An epoch without one of its own is asked for again with its next blocks.
    fn add_configs(
        &self,
        height: BlockHeight,
        epochs: &[CryptoHash],
        rows: &mut RowCache<'_>,
        export: &mut Export,
    ) -> Result<(), Suspend> {
        let index = ConfigIndex::decode(rows.row(ConfigIndex::key())?.map(|row| &**row))?;
        let mut keys: Vec<Key> =
            epochs.iter().map(|epoch_id| ConfigRecord::epoch_key(*epoch_id)).collect();
        export.next.config = self.config;
        for first in index.heights {
            if first <= height && self.config.is_none_or(|exported| first > exported) {
                keys.push(ConfigRecord::height_key(first));
                export.next.config = Some(first);
            }
        }
        rows.prefetch(keys.iter().copied())?;
        for key in keys {
            let Some(row) = rows.row(key)? else { continue };
            let archived = Key::new(Table::ArchivedConfigs, key.bytes_in_table());
            if let Some(archived) = archived {
                export.rows.push((archived, plain_row(Origin::of(self.id), row)));
            }
        }
        for epoch_id in epochs {
            let archived = Key::hash(Table::ArchivedConfigs, *epoch_id);
            if export.rows.iter().any(|(key, _)| *key == archived) {
                export.next.epoch_id = Some(*epoch_id);
            }
        }
        Ok(())
    }
}

impl Restartable for ArchiveWriter {
    type Output = Option<Export>;

    fn restarted(&self) -> Option<Self> {
        Some(self.clone())
    }

    fn run(&self, rows: &mut RowCache<'_>) -> Result<Option<Export>, Suspend> {
        rows.prefetch([ChainRecord::key(), ConfigIndex::key()])?;
        let chain = ChainRecord::decode(rows.row(ChainRecord::key())?.map(|row| &**row))?;
        // Of the blocks below, every transaction that is final is finalized.
        let end = chain.next_finalized.min(chain.next_ordinal);
        if chain.first_ordinal >= end {
            return Ok(None);
        }
        let first = match self.ordinal {
            Some(ordinal) => ordinal.max(chain.first_ordinal),
            None => self.first_ordinal(chain.first_ordinal, end, rows)?,
        };
        let end = end.min(first.saturating_add(MAX_BLOCKS));
        let before = first.saturating_sub(1).max(chain.first_ordinal);
        let mut ordinals: Vec<u64> = (before..end).collect();
        ordinals.push(chain.first_ordinal);
        rows.prefetch(ordinals.iter().map(|ordinal| Key::number(Table::Ordinals, *ordinal)))?;
        let mut blocks = Vec::new();
        let mut previous = match first > chain.first_ordinal {
            true => block_at(before, rows)?,
            false => None,
        };
        let (mut next_ordinal, mut has_ended) = (end, self.has_ended);
        for ordinal in first..end {
            let Some(block) = block_at(ordinal, rows)? else { continue };
            if block.record.height > self.until {
                (next_ordinal, has_ended) = (ordinal, true);
                break;
            }
            blocks.push(block);
        }
        let mut next = self.clone();
        next.ordinal = Some(next_ordinal);
        next.has_ended = has_ended;
        next.progress.open.clear();
        let mut export =
            Export { rows: Vec::new(), last: None, transactions: 0, next, has_progress: false };
        let mut epochs = Vec::new();
        for block in &blocks {
            let epoch_id = block.record.epoch_id;
            if Some(epoch_id) != self.epoch_id && epochs.last() != Some(&epoch_id) {
                epochs.push(epoch_id);
            }
        }
        // What was open below the oldest block is not in the storage any more, and stays open.
        let earliest = rows.earliest(&chain)?.map_or(0, |earliest| earliest.height);
        let mut candidates = Vec::new();
        for open in &self.progress.open {
            let still_open = &mut export.next.progress.open;
            let list = if open.height < earliest { still_open } else { &mut candidates };
            list.push(*open);
        }
        for Block { record, .. } in &blocks {
            for row in &record.rows {
                if row.table == Table::Transactions {
                    candidates.push(OpenTransaction { height: record.height, hash: row.id });
                }
            }
        }
        rows.prefetch(candidates.iter().map(|one| Key::hash(Table::Transactions, one.hash)))?;
        for candidate in candidates {
            if !self.add_transaction(candidate.hash, rows, &mut export)? {
                export.next.progress.open.push(candidate);
            }
        }
        OpenTransaction::sort(&mut export.next.progress.open);
        for block in blocks {
            self.add_later_receipts(&block.record, rows, &mut export)?;
            self.add_block(&block, &mut export);
            let height = block.record.height;
            // Heights that the chain has skipped are complete too, unless the feed had a gap here.
            let start = match &previous {
                Some(parent) if parent.hash == block.record.prev_hash => {
                    parent.record.height.saturating_add(1).min(height)
                }
                _ => height,
            };
            export.next.progress.heights.insert(start..=height);
            previous = Some(block);
        }
        if let Some(last) = export.last {
            self.add_configs(last.height, &epochs, rows, &mut export)?;
        }
        // The end is an export of its own: the writer continues after it.
        let is_new = has_ended != self.has_ended;
        let is_empty = export.rows.is_empty() && export.last.is_none();
        Ok((is_new || !is_empty).then_some(export))
    }
}
