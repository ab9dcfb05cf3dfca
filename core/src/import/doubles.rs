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

use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};

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
#[derive(Default)]
struct Inclusion<'row> {
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
    let mut inclusions = inclusions(repeated, joining);
    // Of those of receipts, which were not fetched with the block.
    let has_transaction = |it: &Inclusion<'_>| it.joins || it.repeated.is_some();
    let ids = repeated.iter().map(|(row_id, _)| row_id.id);
    let unknown = ids.filter(|id| !inclusions.get(id).is_some_and(has_transaction));
    overlay.prefetch(unknown.map(|id| Key::hash(Table::Transactions, id)))?;
    let mut removed = Vec::new();
    for (row_id, row) in repeated {
        let RowId { table, id } = *row_id;
        let Some(inclusion) = inclusions.get_mut(&id) else { continue };
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
        if let Some(changed) = records.0.get_mut(&height) {
            changed.removed.insert(key);
        }
    }
    Ok(doubles)
}

/// What a block has of the ids of its repeated rows, so that none is searched for
fn inclusions<'row>(
    repeated: &'row [(RowId, Row)],
    joining: &[(RowId, Row)],
) -> HashMap<CryptoHash, Inclusion<'row>, HashBuilder> {
    let mut inclusions: HashMap<_, Inclusion<'_>, _> = HashMap::default();
    for row in repeated {
        let inclusion = inclusions.entry(row.0.id).or_default();
        if row.0.table == Table::Transactions {
            inclusion.repeated.get_or_insert(row);
        }
    }
    for (row_id, row) in joining {
        let Some(inclusion) = inclusions.get_mut(&row_id.id) else { continue };
        match row_id.table {
            Table::Transactions => inclusion.joins = true,
            Table::Outcomes => drop(inclusion.outcome.get_or_insert_with(|| row.clone())),
            _ => {}
        }
    }
    inclusions
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
        let is_stored = |height: &BlockHeight| records.0.contains_key(height);
        let Some(included_at) = own.last().copied().flatten().filter(is_stored) else { continue };
        for ((row_id, row), height) in rows.iter().zip(own) {
            // Its own block lists it, unless that is not known or retention has removed it.
            let is_stored = |height: &BlockHeight| records.0.contains_key(height);
            let height = height.filter(is_stored).unwrap_or(included_at);
            if let Some(changed) = records.0.get_mut(&height) {
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
    let outcomes = rows.iter().filter(|(row_id, _)| row_id.table == Table::Outcomes);
    let mut following: HashMap<CryptoHash, Vec<_>, HashBuilder> =
        outcomes.map(|(row_id, _)| (row_id.id, Vec::new())).collect();
    for row in later {
        match following.entry(row.0.id) {
            Entry::Occupied(mut following) => following.get_mut().push(row),
            Entry::Vacant(first) => {
                first.insert(Vec::new());
                rows.push(row);
            }
        }
    }
    for row in mem::take(rows) {
        let is_outcome = row.0.table == Table::Outcomes;
        let following = is_outcome.then(|| following.remove(&row.0.id)).flatten();
        rows.push(row);
        rows.extend(following.into_iter().flatten().rev());
    }
}

/// The records of canonical blocks whose rows change, by height
///
/// Each is read and written once, however many of its rows give way or come back.
#[derive(Default)]
pub(super) struct ChangedRecords(HashMap<BlockHeight, ChangedRecord, HashBuilder>);

struct ChangedRecord {
    key: Key,
    record: BlockRecord,
    /// The rows that it does not list any more
    removed: HashSet<Key, HashBuilder>,
}

impl ChangedRecords {
    /// Reads the records of the canonical blocks of these heights, in two round trips
    fn read(
        &mut self,
        mut heights: Vec<BlockHeight>,
        overlay: &mut WriteOverlay<'_, '_>,
    ) -> Result<(), Suspend> {
        heights.retain(|height| !self.0.contains_key(height));
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
                let (record, removed) = (BlockRecord::decode(&row)?, HashSet::default());
                self.0.insert(height, ChangedRecord { key, record, removed });
            }
        }
        Ok(())
    }

    /// The record of the block of this height, which leaves the chain, if rows came back to it
    pub(super) fn take(&mut self, height: BlockHeight) -> Option<BlockRecord> {
        self.0.remove(&height).map(|changed| changed.record)
    }

    /// Writes the records
    pub(super) fn put(self, overlay: &mut WriteOverlay<'_, '_>) {
        for ChangedRecord { key, mut record, removed } in self.0.into_values() {
            record.rows.retain(|row_id| !removed.contains(&row_id.key()));
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
