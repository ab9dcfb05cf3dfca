//! Transactions that the chain has twice: an execution takes the place of a refusal.
//!
//! A transaction that was refused when it was included can be included again, and be executed. Of
//! its inclusions on the canonical chain, the first execution is the one that is stored; a refusal,
//! or an inclusion without an outcome, is stored while there is no execution. The rows whose place
//! an execution has taken are kept in the row of fork blocks of its own block, and come back when
//! that block is reverted. Each row is listed by one block, whose removal removes it. The outcome
//! of a later execution is kept there too: its receipts lead to the transaction as well.

use alloc::vec::Vec;

use hashbrown::HashMap;

use super::canonical_blocks::block_key;
use super::overlay::WriteOverlay;
use crate::Error;
use crate::primitives::{BlockHeight, CryptoHash, HashBuilder};
use crate::storage::restartable::Suspend;
use crate::storage::rows::{
    BlockPoint, BlockRecord, FinalizedTransaction, ForkBlock, OutcomeRecord, OutcomeRow,
    OutcomeStatus, RowId, TransactionRecord, decode_block_hash,
};
use crate::storage::{Key, Row, Table};

/// The transactions of a block that the chain has twice
#[derive(Default)]
pub(super) struct Doubles {
    /// The outcomes of those that were executed before
    pub(super) later: Vec<(RowId, Row)>,
    /// The rows whose place this block's took
    replaced: Vec<(RowId, Row)>,
}

/// What a block has of an id of which a row is repeated
struct Inclusion<'row> {
    id: CryptoHash,
    /// The transaction, if it is repeated
    repeated: Option<&'row (RowId, Row)>,
    /// Whether the transaction joins
    joins: bool,
    /// The outcome that joins
    outcome: Option<Row>,
}

/// Moves executions of this block to the rows that join, in place of those of an ancestor
///
/// `repeated` are the rows of transactions and outcomes whose keys an ancestor or this block has as
/// well.
pub(super) fn replace(
    repeated: &[(RowId, Row)],
    joining: &mut Vec<(RowId, Row)>,
    records: &mut ChangedRecords,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<Doubles, Suspend> {
    let mut doubles = Doubles::default();
    let mut inclusions = Inclusions::new(repeated, joining);
    // Of those of receipts, which were not fetched with the block.
    let mut keys = Vec::new();
    for inclusion in &inclusions.list {
        if !inclusion.joins && inclusion.repeated.is_none() {
            keys.push(Key::hash(Table::Transactions, inclusion.id));
        }
    }
    overlay.prefetch(keys)?;
    let mut heights = Vec::new();
    let mut replaced: HashMap<(Table, CryptoHash), usize, HashBuilder> = HashMap::default();
    for (row_id, row) in repeated {
        let RowId { table, id } = *row_id;
        let Some(inclusion) = inclusions.get_mut(id) else { continue };
        let mut new = Vec::new();
        if table == Table::Outcomes {
            // No sound chain has the outcome of a receipt twice.
            if !is_execution(&OutcomeRecord::decode(row)?)
                || !inclusion.joins && overlay.row(Key::hash(Table::Transactions, id))?.is_none()
            {
                continue;
            }
            if inclusion.outcome.is_some() || has_executed(id, overlay)? {
                doubles.later.push((*row_id, row.clone()));
                continue;
            }
            new.push((*row_id, row.clone()));
        } else {
            let Some(outcome) = &inclusion.outcome else { continue };
            if !is_execution(&OutcomeRecord::decode(outcome)?) || inclusion.joins {
                continue;
            }
        }
        // With its outcome, unless that is of an inclusion that is not stored any more.
        let Some(included) = inclusion.repeated else { continue };
        new.push(included.clone());
        inclusion.joins = true;
        inclusion.outcome.get_or_insert_with(|| row.clone());
        for (row_id, _) in &new {
            let Some(row) = overlay.row(row_id.key())? else { continue };
            heights.push(height_of(*row_id, &row)?);
            replaced.insert((row_id.table, id), doubles.replaced.len());
            doubles.replaced.push((*row_id, row));
        }
        joining.extend(new);
    }
    // All at once: a message may have any number of them.
    for height in records.read(heights, overlay)? {
        if let Ok(index) = records.find(height) {
            let rows = &mut records.0[index].record.rows;
            rows.retain(|it| !replaced.contains_key(&(it.table, it.id)));
        }
    }
    Ok(doubles)
}

/// What a block has of the ids of its repeated rows, so that none is searched for
#[derive(Default)]
struct Inclusions<'row> {
    list: Vec<Inclusion<'row>>,
    /// By the keys of their transactions
    indices: HashMap<(Table, CryptoHash), usize, HashBuilder>,
}

impl<'row> Inclusions<'row> {
    fn new(repeated: &'row [(RowId, Row)], joining: &[(RowId, Row)]) -> Self {
        let mut inclusions = Self::default();
        for row in repeated {
            let id = row.0.id;
            if inclusions.get_mut(id).is_none() {
                inclusions.indices.insert((Table::Transactions, id), inclusions.list.len());
                inclusions.list.push(Inclusion { id, repeated: None, joins: false, outcome: None });
            }
            if row.0.table == Table::Transactions
                && let Some(inclusion) = inclusions.get_mut(id)
            {
                inclusion.repeated.get_or_insert(row);
            }
        }
        for (row_id, row) in joining {
            let Some(inclusion) = inclusions.get_mut(row_id.id) else { continue };
            match row_id.table {
                Table::Transactions => inclusion.joins = true,
                Table::Outcomes => drop(inclusion.outcome.get_or_insert_with(|| row.clone())),
                _ => {}
            }
        }
        inclusions
    }

    fn get_mut(&mut self, id: CryptoHash) -> Option<&mut Inclusion<'row>> {
        self.list.get_mut(*self.indices.get(&(Table::Transactions, id))?)
    }
}

impl Doubles {
    /// Keeps with the block the outcomes of later executions, then the rows whose place it took
    pub(super) fn keep(self, block: CryptoHash, overlay: &mut WriteOverlay<'_, '_>) {
        let mut rows = self.later;
        rows.extend(self.replaced);
        if !rows.is_empty() {
            overlay.put(Key::hash(Table::ForkBlocks, block), ForkBlock { rows }.encode());
        }
    }
}

/// Puts back the rows whose place a block took, which has left the chain, and returns them; its own
/// outcomes of later executions are added to the rows of the fork block that it becomes
///
/// Not those of a block that retention has removed since.
pub(super) fn restore(
    block: BlockPoint,
    fork_block: &mut ForkBlock,
    records: &mut ChangedRecords,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<Vec<(RowId, Row)>, Suspend> {
    let Some(row) = overlay.row(Key::hash(Table::ForkBlocks, block.hash))? else {
        return Ok(Vec::new());
    };
    let (mut restored, mut rows) = (Vec::new(), ForkBlock::decode(&row)?.rows);
    let is_later = |(row_id, row): &&(RowId, Row)| {
        row_id.table == Table::Outcomes
            && OutcomeRecord::decode(row).is_ok_and(|outcome| outcome.height == block.height)
    };
    let later = rows.iter().take_while(is_later).count();
    // After the first outcome, as in a message.
    fork_block.rows.extend(rows.drain(..later));
    let mut heights = Vec::new();
    for (row_id, row) in &rows {
        heights.push(height_of(*row_id, row)?);
    }
    records.read(heights.clone(), overlay)?;
    let mut heights = &heights[..];
    // The outcome of a transaction, if it has one, is before it, and comes back with it.
    for rows in rows.split_inclusive(|(row_id, _)| row_id.table == Table::Transactions) {
        let (own, rest) = heights.split_at(rows.len());
        heights = rest;
        let Ok(included_in) = records.find(own.last().copied().unwrap_or(IN_TRANSACTION)) else {
            continue;
        };
        for ((row_id, row), height) in rows.iter().zip(own) {
            // Its own block lists it, unless that is not known or retention has removed it.
            let listed_in = records.find(*height).unwrap_or(included_in);
            records.0[listed_in].record.rows.push(*row_id);
            overlay.put(row_id.key(), row.clone());
        }
        restored.extend_from_slice(rows);
    }
    Ok(restored)
}

/// The records of canonical blocks whose rows change, by ascending height
///
/// Each is read and written once in a batch, however many of its rows give way or come back.
#[derive(Default)]
pub(super) struct ChangedRecords(Vec<ChangedRecord>);

struct ChangedRecord {
    height: BlockHeight,
    key: Key,
    record: BlockRecord,
}

impl ChangedRecords {
    /// Reads the records of the canonical blocks of these heights, in two round trips; returns the
    /// heights, each once
    fn read(
        &mut self,
        mut heights: Vec<BlockHeight>,
        overlay: &mut WriteOverlay<'_, '_>,
    ) -> Result<Vec<BlockHeight>, Suspend> {
        heights.sort_unstable();
        heights.dedup();
        let height_key = |height: &BlockHeight| Key::number(Table::Heights, *height);
        overlay.prefetch(heights.iter().map(height_key).collect::<Vec<_>>())?;
        let (mut blocks, mut keys) = (Vec::new(), Vec::new());
        for height in &heights {
            if self.find(*height).is_err()
                && let Some(row) = overlay.row(height_key(height))?
            {
                let key = block_key(decode_block_hash(Table::Heights, &row)?);
                blocks.push((*height, key));
                keys.push(key);
            }
        }
        overlay.prefetch(keys)?;
        for (height, key) in blocks {
            if let Some(row) = overlay.row(key)? {
                self.0.push(ChangedRecord { height, key, record: BlockRecord::decode(&row)? });
            }
        }
        self.0.sort_unstable_by_key(|changed| changed.height);
        Ok(heights)
    }

    fn find(&self, height: BlockHeight) -> Result<usize, usize> {
        self.0.binary_search_by_key(&height, |changed| changed.height)
    }

    /// The record of the block of this height, which leaves the chain, if rows came back to it
    pub(super) fn take(&mut self, height: BlockHeight) -> Option<BlockRecord> {
        self.find(height).ok().map(|index| self.0.remove(index).record)
    }

    /// Writes the records
    pub(super) fn put(self, overlay: &mut WriteOverlay<'_, '_>) {
        for ChangedRecord { key, record, .. } in self.0 {
            overlay.put(key, record.encode());
        }
    }
}

/// In place of the height of an outcome that is in the row of its transaction
const IN_TRANSACTION: BlockHeight = BlockHeight::MAX;

/// The height of the block that has a transaction or an outcome, if that is known
fn height_of(row_id: RowId, row: &[u8]) -> Result<BlockHeight, Error> {
    if row_id.table == Table::Transactions {
        return Ok(TransactionRecord::decode(row)?.height);
    }
    Ok(match OutcomeRow::decode(row)? {
        OutcomeRow::Outcome(outcome) => outcome.height,
        OutcomeRow::Finalized(_) => IN_TRANSACTION,
    })
}

/// Whether the stored outcome of a transaction is an execution
fn has_executed(id: CryptoHash, overlay: &mut WriteOverlay<'_, '_>) -> Result<bool, Suspend> {
    let Some(row) = overlay.row(outcome_id(id).key())? else { return Ok(false) };
    Ok(match OutcomeRow::decode(&row)? {
        // An outcome that generated receipts was no refusal, whatever its status says.
        OutcomeRow::Outcome(outcome) => is_execution(&outcome) || !outcome.receipt_ids.is_empty(),
        OutcomeRow::Finalized(transaction) => {
            let row = overlay.row(Key::hash(Table::Transactions, transaction))?;
            let finalized = row.as_deref().map(FinalizedTransaction::decode).transpose()?.flatten();
            finalized.is_some_and(|finalized| !finalized.is_refusal())
        }
    })
}

/// Whether this is the outcome of a transaction that was executed
const fn is_execution(outcome: &OutcomeRecord<'_>) -> bool {
    matches!(outcome.status, OutcomeStatus::SuccessReceiptId(_) | OutcomeStatus::SuccessValue)
}

const fn outcome_id(id: CryptoHash) -> RowId {
    RowId { table: Table::Outcomes, id }
}
