//! Retention: which blocks an import removes from the storage.
//!
//! The oldest ones are removed, a bounded number with each import, so what is kept has no gap.
//! Where blocks go to an archive, none is removed before it is there, up to a bound of its own.

#[cfg(feature = "archive")]
use super::ArchiveFloor;
use super::canonical_blocks::{CanonicalBlock, block_key, canonical_blocks};
use super::overlay::WriteOverlay;
use super::{ImportSettings, ImportSummary, Retention};
#[cfg(feature = "archive")]
use crate::primitives::BlockHeight;
use crate::storage::restartable::Suspend;
use crate::storage::rows::ChainRecord;
use crate::storage::{Key, Table};

/// Maximum number of blocks that one batch prunes
const MAX_PRUNED: u64 = 64;
/// Number of epochs that are listed if retention needs none. Nodes keep five epochs; with these,
/// retention by epochs can be switched on without waiting for new epochs.
const MIN_LISTED_EPOCHS: usize = 16;

/// Prunes the oldest blocks that retention does not keep, and shortens the list of epochs
pub(super) fn prune(
    settings: &ImportSettings,
    chain: &mut ChainRecord,
    overlay: &mut WriteOverlay<'_, '_>,
    summary: &mut ImportSummary,
) -> Result<(), Suspend> {
    let mut listed = MIN_LISTED_EPOCHS;
    let keep_from = match settings.retention {
        Retention::Everything => 0,
        // The head is always kept.
        Retention::Blocks(blocks) => chain.next_ordinal.saturating_sub(blocks.max(1)),
        Retention::Epochs(epochs) => {
            let kept = usize::try_from(epochs.max(1)).unwrap_or(usize::MAX);
            listed = listed.max(kept);
            // While fewer are listed, the start of the first one to keep is not known.
            let first = chain.epochs.len().checked_sub(kept);
            first.and_then(|first| chain.epochs.get(first)).map_or(0, |epoch| epoch.ordinal)
        }
    };
    let surplus = chain.epochs.len().saturating_sub(listed);
    chain.epochs.drain(..surplus);
    let end = keep_from.min(chain.first_ordinal.saturating_add(MAX_PRUNED));
    // While the oldest block is held, the others are not read.
    #[cfg(feature = "archive")]
    let end = match settings.archive_floor {
        Some(_) => {
            let oldest = chain.first_ordinal..end.min(chain.first_ordinal + 1);
            match canonical_blocks(oldest, overlay)?.first() {
                Some(block) if is_held(settings, chain, block.record.height) => chain.first_ordinal,
                _ => end,
            }
        }
        None => end,
    };
    for CanonicalBlock { hash, ordinal, record } in
        canonical_blocks(chain.first_ordinal..end, overlay)?
    {
        #[cfg(feature = "archive")]
        {
            if is_held(settings, chain, record.height) {
                break;
            }
            summary.evicted_blocks += u64::from(!is_archived(settings, record.height));
        }
        for row_id in &record.rows {
            summary.chain_update.add_pruned_row(row_id);
            overlay.remove(row_id.key());
        }
        overlay.remove(block_key(hash));
        // Of a canonical block, the rows whose place it took.
        overlay.remove(Key::hash(Table::ForkBlocks, hash));
        overlay.remove(Key::number(Table::Heights, record.height));
        overlay.remove(Key::number(Table::Ordinals, ordinal));
        chain.first_ordinal = ordinal + 1;
        chain.complete_from = chain.complete_from.max(record.height.saturating_add(1));
    }
    let first = chain.first_ordinal;
    let started = chain.epochs.partition_point(|epoch| epoch.ordinal <= first);
    chain.epochs.drain(..started.saturating_sub(1));
    Ok(())
}

/// Whether retention may remove a block of this height because it is archived
#[cfg(feature = "archive")]
fn is_archived(settings: &ImportSettings, height: BlockHeight) -> bool {
    settings.archive_floor.is_none_or(|floor| height < floor.height)
}

/// Whether a block of this height has to be kept until it is archived
#[cfg(feature = "archive")]
fn is_held(settings: &ImportSettings, chain: &ChainRecord, height: BlockHeight) -> bool {
    let is_within = |floor: ArchiveFloor| chain.block_count() <= floor.max_blocks;
    !is_archived(settings, height) && settings.archive_floor.is_some_and(is_within)
}
