//! The blocks that leave the canonical chain, and with them their rows.
//!
//! They become fork blocks, whose rows are kept in one row each, and the rows whose place theirs
//! had taken come back. Requests that wait for reverted rows are woken, also for orphans below them
//! that no sound chain has.

use alloc::vec::Vec;

use hashbrown::HashMap;

use super::canonical_blocks::{CanonicalBlock, block_key, canonical_blocks};
use super::chain_update::{ChainUpdate, Change};
use super::doubles::{self, ChangedRecords};
use super::overlay::WriteOverlay;
use super::plan::{MAX_FORK_BLOCKS, add_fork_point, chain_error};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::storage::restartable::Suspend;
use crate::storage::rows::{
    BlockPoint, BlockRecord, ChainRecord, EpochStart, ForkBlock, OutcomeRow, RowId,
};
use crate::storage::{Key, Table};

/// Maximum number of blocks that one batch reverts: as many as there can be fork blocks
const MAX_REVERTED: u64 = MAX_FORK_BLOCKS as u64;

/// Limits on following orphans, which no sound chain has: in round trips and in number
const MAX_ORPHAN_LEVELS: usize = 4;
const MAX_ORPHANS: usize = 4096;

/// Reverts every canonical block after this one, newest first; they become fork blocks
pub(super) fn revert_after(
    root: &CanonicalBlock,
    chain: &mut ChainRecord,
    overlay: &mut WriteOverlay<'_, '_>,
    update: &mut ChainUpdate,
) -> Result<Vec<BlockPoint>, Suspend> {
    let ordinals = root.ordinal.saturating_add(1)..chain.next_ordinal;
    if ordinals.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(last) = chain.last_final.filter(|last| root.record.height < last.height) {
        return chain_error(format_args!(
            "its branch starts after block {} at height {} and would revert block {} at height {}, \
             which is final",
            root.hash, root.record.height, last.hash, last.height
        ));
    }
    let count = ordinals.end - ordinals.start;
    if count > MAX_REVERTED {
        return chain_error(format_args!(
            "its branch would revert {count} blocks after block {}, the limit is {MAX_REVERTED}",
            root.hash
        ));
    }
    let blocks = canonical_blocks(ordinals, overlay)?;
    let mut keys = Vec::new();
    for block in &blocks {
        keys.extend(block.record.rows.iter().map(RowId::key));
        keys.push(Key::hash(Table::ForkBlocks, block.hash));
    }
    overlay.prefetch(keys)?;
    let mut records = ChangedRecords::default();
    let mut reverted = Vec::with_capacity(blocks.len());
    for CanonicalBlock { hash, ordinal, record } in blocks.into_iter().rev() {
        let point = BlockPoint { height: record.height, hash };
        let mut record = records.take(record.height).unwrap_or(record);
        let mut fork_block = ForkBlock::default();
        for row_id in record.rows.drain(..) {
            if let Some(row) = overlay.row(row_id.key())? {
                overlay.remove(row_id.key());
                // Parents are recorded again when the block is reapplied.
                if row_id.table != Table::ReceiptParents {
                    update.add_reverted_row(&row_id, &row)?;
                    fork_block.rows.push((row_id, row));
                }
            }
        }
        for (row_id, row) in doubles::restore(point, &mut fork_block, &mut records, overlay)? {
            update.add_row(&row_id, &row)?;
        }
        record.ordinal = None;
        overlay.put(block_key(hash), record.encode());
        overlay.put(Key::hash(Table::ForkBlocks, hash), fork_block.encode());
        overlay.remove(Key::number(Table::Heights, record.height));
        overlay.remove(Key::number(Table::Ordinals, ordinal));
        chain.next_ordinal = ordinal;
        add_fork_point(chain, point);
        reverted.push(point);
    }
    records.put(overlay);
    update.reverted_above = Some(root.record.height);
    add_orphans(update, overlay)?;
    let next = chain.next_ordinal;
    chain.epochs.retain(|epoch| epoch.ordinal < next);
    if chain.epochs.is_empty() {
        // Every listed epoch is reverted, and the start of the one before is not known. Starting it
        // at the oldest block keeps more than retention asks for and never less; of blocks below
        // the root nothing is said.
        let ordinal = chain.first_ordinal;
        let BlockRecord { epoch_id, height, .. } = root.record;
        chain.epochs.push(EpochStart { epoch_id, ordinal, height });
    }
    Ok(reverted)
}

/// Lists also the orphans: outcomes below a reverted outcome that are not reverted themselves
///
/// A sound chain has none, because a receipt is executed after the outcome that generated it and is
/// reverted with it. A feed may still contain them, and requests that wait for them must be woken.
/// Beyond the limits, all requests are.
fn add_orphans(
    update: &mut ChainUpdate,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<(), Suspend> {
    let mut followed: HashMap<(Table, CryptoHash), usize, HashBuilder> = HashMap::default();
    let (mut first, mut level) = (0, 0);
    let max_changes = update.changes.len() + MAX_ORPHANS;
    while first < update.changes.len() {
        if level > MAX_ORPHAN_LEVELS || update.changes.len() > max_changes {
            update.overflowed = true;
            return Ok(());
        }
        level += 1;
        let mut ids = Vec::new();
        for change in &update.changes[first..] {
            if let Change::Outcome(id) = change
                && followed.insert((Table::Outcomes, *id), 0).is_none()
            {
                ids.push(*id);
            }
        }
        first = update.changes.len();
        let key = |id: &CryptoHash| Key::hash(Table::Outcomes, *id);
        overlay.prefetch(ids.iter().map(key))?;
        for id in &ids {
            let Some(row) = overlay.row(key(id))? else { continue };
            // Everything below a finalized outcome is executed, so no request waits for it.
            if let OutcomeRow::Outcome(outcome) = OutcomeRow::decode(&row)? {
                update.changes.extend(outcome.receipts().map(Change::Outcome));
            }
        }
    }
    Ok(())
}
