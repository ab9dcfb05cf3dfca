//! The newest transactions of the canonical chain, for the list of the page.
//!
//! Blocks are read from the head down, a few at a time, until there are enough transactions or the
//! bound of blocks is reached; so the cost does not depend on the length of the chain. What the
//! transactions are is not read here.

use milepost::Error;
use milepost::primitives::CryptoHash;
use milepost::storage::rows::{BlockRecord, ChainRecord, decode_block_hash};
use milepost::storage::{Key, Snapshot, Table};

use super::block_rows::{HeightAndTime, time};

/// Number of blocks that are read together
const STEP: u64 = 8;
/// Maximum number of blocks that are looked at: the newest minute of a chain
const MAX_BLOCKS: u64 = 96;

/// The newest transactions with the height and the time of the block of each, newest block first:
/// at most `limit`, and those of the newest 96 blocks at most
///
/// All reads of the snapshot have to see one state.
///
/// # Errors
///
/// The error of the store, or a corrupt row.
pub(crate) fn newest_transactions(
    limit: usize,
    snapshot: &impl Snapshot,
) -> Result<Vec<(CryptoHash, HeightAndTime)>, Error> {
    let chain = ChainRecord::decode(snapshot.get(&ChainRecord::key())?.as_deref())?;
    let mut end = chain.next_ordinal;
    let oldest = chain.first_ordinal.max(end.saturating_sub(MAX_BLOCKS));
    let mut newest = Vec::new();
    while end > oldest && newest.len() < limit {
        let ordinals = oldest.max(end.saturating_sub(STEP))..end;
        end = ordinals.start;
        let keys: Vec<_> = ordinals.rev().map(|at| Key::number(Table::Ordinals, at)).collect();
        let (mut rows, mut keys_of_blocks) = (Vec::new(), Vec::new());
        snapshot.get_many(&keys, &mut rows)?;
        for row in rows.drain(..).flatten() {
            let hash = decode_block_hash(Table::Ordinals, &row)?;
            keys_of_blocks.push(Key::hash(Table::Blocks, hash));
        }
        snapshot.get_many(&keys_of_blocks, &mut rows)?;
        for row in rows.into_iter().flatten() {
            let block = BlockRecord::decode(&row)?;
            let transactions = block.rows.iter().filter(|row| row.table == Table::Transactions);
            newest.extend(transactions.map(|row| (row.id, (block.height, time(&block)))));
        }
    }
    newest.truncate(limit);
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use milepost::endpoint::Engine;
    use milepost::import::{BlockPosition, ImportSettings, Retention};
    use milepost::storage::MemoryStorage;
    use milepost_practice::{Practice, Settings};

    use super::*;

    #[test]
    fn the_newest_transactions_are_those_of_the_newest_blocks() {
        let engine = Engine::default();
        let mut storage = MemoryStorage::new();
        assert_eq!(newest_transactions(5, &storage).unwrap(), []);
        let settings = ImportSettings::default().with_retention(Retention::Blocks(20));
        let mut practice = Practice::new(Settings { forks: 100, ..Settings::demo(5) });
        let mut canonical = Vec::new();
        let mut count = 0;
        loop {
            let message = practice.next_message();
            let summary = engine.import_block(&message.json, &settings, &mut storage).unwrap();
            if !message.abandoned && !message.repeated {
                let hashes = message.transactions.iter().map(|one| (one.hash, message.height));
                canonical.push(hashes.collect::<Vec<_>>());
            }
            count += 1;
            // Of a fork that will be abandoned, no block is the head.
            let is_head = summary.position == BlockPosition::Head && !message.abandoned;
            if is_head && count >= 60 {
                break;
            }
        }
        let all = newest_transactions(usize::MAX, &storage).unwrap();
        let heights: Vec<_> = all.iter().map(|(_, (height, _))| *height).collect();
        assert!(heights.is_sorted_by(|a, b| a >= b), "{heights:?}");
        // Those of the blocks that are kept, and no others.
        let sorted = |mut all: Vec<(CryptoHash, u64)>| {
            all.sort_unstable();
            all
        };
        let found = sorted(all.iter().map(|(hash, (height, _))| (*hash, *height)).collect());
        let expected = canonical.iter().rev().take(20).flatten().copied().collect();
        assert_eq!(found, sorted(expected));
        assert_eq!(newest_transactions(7, &storage).unwrap(), all[..7]);
    }
}
