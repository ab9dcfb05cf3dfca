//! Transactions that the chain has twice: an execution takes the place of a refusal.
//!
//! A transaction that was refused when it was included can be included again, and be executed. Of
//! its inclusions on the canonical chain, the first execution is the one that is stored; a refusal,
//! or an inclusion without an outcome, is stored while there is no execution. The rows whose place
//! an execution has taken are kept in the row of fork blocks of its own block, and come back when
//! that block is reverted. Each row is listed by one block, whose removal removes it. The outcome
//! of a later execution is kept there too: its receipts lead to the transaction as well.

use alloc::vec::Vec;
use core::mem;

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
    let unknown = inclusions.list.iter().filter(|it| !it.joins && it.repeated.is_none());
    let unknown = unknown.map(|it| it.id);
    overlay.prefetch(unknown.map(|id| Key::hash(Table::Transactions, id)))?;
    let mut removed = Vec::new();
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
        let (mut listed, mut included_at) = (Vec::new(), None);
        for (row_id, _) in &new {
            let Some(row) = overlay.row(row_id.key())? else { continue };
            let height = height_of(*row_id, &row)?;
            if row_id.table == Table::Transactions {
                included_at = height;
            }
            listed.push((height, row_id.key()));
            doubles.replaced.push((*row_id, row));
        }
        let listed = listed.into_iter();
        removed.extend(listed.filter_map(|(height, key)| Some((height.or(included_at)?, key))));
        joining.extend(new);
    }
    // All at once: a message may have any number of them.
    records.read(removed.iter().map(|(height, _)| *height).collect(), overlay)?;
    for (height, key) in removed {
        if let Some(changed) = records.get_mut(height) {
            changed.removed.push(key);
        }
    }
    Ok(doubles)
}

/// What a block has of the ids of its repeated rows, so that none is searched for
#[derive(Default)]
struct Inclusions<'row> {
    list: Vec<Inclusion<'row>>,
    indices: HashMap<CryptoHash, usize, HashBuilder>,
}

impl<'row> Inclusions<'row> {
    fn new(repeated: &'row [(RowId, Row)], joining: &[(RowId, Row)]) -> Self {
        let mut inclusions = Self::default();
        for row in repeated {
            let id = row.0.id;
            let next = inclusions.list.len();
            let index = *inclusions.indices.entry(id).or_insert(next);
            if index == next {
                inclusions.list.push(Inclusion { id, repeated: None, joins: false, outcome: None });
            }
            if row.0.table == Table::Transactions {
                inclusions.list[index].repeated.get_or_insert(row);
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
        self.list.get_mut(*self.indices.get(&id)?)
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
    let later: Vec<_> = rows.drain(..rows.iter().take_while(is_later).count()).collect();
    if !later.is_empty() {
        add_later(later, &mut fork_block.rows);
    }
    let mut heights = Vec::new();
    for (row_id, row) in &rows {
        heights.push(height_of(*row_id, row)?);
    }
    records.read(heights.iter().copied().flatten().collect(), overlay)?;
    let mut heights = heights.into_iter();
    // The outcome of a transaction, if it has one, is before it, and comes back with it.
    for rows in rows.split_inclusive(|(row_id, _)| row_id.table == Table::Transactions) {
        let own: Vec<_> = heights.by_ref().take(rows.len()).collect();
        let is_stored = |height: &BlockHeight| records.find(*height).is_ok();
        let Some(included_at) = own.last().copied().flatten().filter(is_stored) else { continue };
        for ((row_id, row), height) in rows.iter().zip(own) {
            // Its own block lists it, unless that is not known or retention has removed it.
            let is_stored = |height: &BlockHeight| records.find(*height).is_ok();
            let height = height.filter(is_stored).unwrap_or(included_at);
            if let Some(changed) = records.get_mut(height) {
                changed.record.rows.push(*row_id);
            }
            overlay.put(row_id.key(), row.clone());
        }
        restored.extend_from_slice(rows);
    }
    Ok(restored)
}

/// Adds outcomes of later executions after the first outcome of their transaction, as in a message
fn add_later(later: Vec<(RowId, Row)>, rows: &mut Vec<(RowId, Row)>) {
    let mut first: HashMap<CryptoHash, usize, HashBuilder> = HashMap::default();
    let mut following: Vec<Vec<_>> = Vec::new();
    for (index, (row_id, _)) in rows.iter().enumerate() {
        if row_id.table == Table::Outcomes {
            first.entry(row_id.id).or_insert(index);
        }
    }
    following.resize(rows.len(), Vec::new());
    for row in later {
        let next = rows.len();
        let index = *first.entry(row.0.id).or_insert(next);
        if index == next {
            rows.push(row);
            following.push(Vec::new());
        } else {
            following[index].push(row);
        }
    }
    for (row, following) in mem::take(rows).into_iter().zip(following) {
        rows.push(row);
        rows.extend(following.into_iter().rev());
    }
}

/// The records of canonical blocks whose rows change, by ascending height
///
/// Each is read and written once, however many of its rows give way or come back.
#[derive(Default)]
pub(super) struct ChangedRecords(Vec<ChangedRecord>);

struct ChangedRecord {
    height: BlockHeight,
    key: Key,
    record: BlockRecord,
    /// The rows that it does not list any more
    removed: Vec<Key>,
}

impl ChangedRecords {
    /// Reads the records of the canonical blocks of these heights, in two round trips
    fn read(
        &mut self,
        mut heights: Vec<BlockHeight>,
        overlay: &mut WriteOverlay<'_, '_>,
    ) -> Result<(), Suspend> {
        heights.retain(|height| self.find(*height).is_err());
        heights.sort_unstable();
        heights.dedup();
        let height_key = |height: &BlockHeight| Key::number(Table::Heights, *height);
        overlay.prefetch(heights.iter().map(height_key))?;
        let mut blocks = Vec::new();
        for height in heights {
            if let Some(row) = overlay.row(height_key(&height))? {
                blocks.push((height, block_key(decode_block_hash(Table::Heights, &row)?)));
            }
        }
        overlay.prefetch(blocks.iter().map(|(_, key)| *key))?;
        for (height, key) in blocks {
            if let Some(row) = overlay.row(key)? {
                let (record, removed) = (BlockRecord::decode(&row)?, Vec::new());
                self.0.push(ChangedRecord { height, key, record, removed });
            }
        }
        self.0.sort_unstable_by_key(|changed| changed.height);
        Ok(())
    }

    fn find(&self, height: BlockHeight) -> Result<usize, usize> {
        self.0.binary_search_by_key(&height, |changed| changed.height)
    }

    fn get_mut(&mut self, height: BlockHeight) -> Option<&mut ChangedRecord> {
        self.find(height).ok().and_then(|index| self.0.get_mut(index))
    }

    /// The record of the block of this height, which leaves the chain, if rows came back to it
    pub(super) fn take(&mut self, height: BlockHeight) -> Option<BlockRecord> {
        self.find(height).ok().map(|index| self.0.remove(index).record)
    }

    /// Writes the records
    pub(super) fn put(self, overlay: &mut WriteOverlay<'_, '_>) {
        for ChangedRecord { key, mut record, mut removed, .. } in self.0 {
            removed.sort_unstable();
            record.rows.retain(|row_id| removed.binary_search(&row_id.key()).is_err());
            overlay.put(key, record.encode());
        }
    }
}

/// The height of the block that has a transaction or an outcome; `None` for an outcome that is in
/// the row of its transaction
fn height_of(row_id: RowId, row: &[u8]) -> Result<Option<BlockHeight>, Error> {
    if row_id.table == Table::Transactions {
        return Ok(Some(TransactionRecord::decode(row)?.height));
    }
    Ok(match OutcomeRow::decode(row)? {
        OutcomeRow::Outcome(outcome) => Some(outcome.height),
        OutcomeRow::Finalized(_) => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds one after the other
    fn insert_later(later: &[(RowId, Row)], rows: &mut Vec<(RowId, Row)>) {
        for later in later {
            let first = rows.iter().position(|(row_id, _)| *row_id == later.0);
            rows.insert(first.map_or(rows.len(), |first| first + 1), later.clone());
        }
    }

    #[test]
    fn later_outcomes_have_the_places_that_they_have_if_they_are_inserted_one_by_one() {
        let row = |table, id, number: u8| {
            (RowId { table, id: CryptoHash::new([id; 32]) }, Row::from(&[number][..]))
        };
        // Each list of up to five outcomes of three transactions, of which the block has two.
        let tables = [Table::Outcomes, Table::Outcomes, Table::Transactions];
        let rows = [(0, 1), (1, 2), (2, 0)].map(|(index, id)| row(tables[index], id, 0));
        for numbers in 0..4_u32.pow(5) {
            let digits =
                (1..=5).map(|place| (place, numbers / 4_u32.pow(u32::from(place) - 1) % 4));
            let later: Vec<_> = digits
                .filter(|(_, digit)| *digit < 3)
                .map(|(place, digit)| row(Table::Outcomes, digit as u8, place))
                .collect();
            let [mut expected, mut found] = [rows.to_vec(), rows.to_vec()];
            insert_later(&later, &mut expected);
            add_later(later, &mut found);
            assert_eq!(found, expected);
        }
    }
}
