//! The newest transactions of the canonical chain, for lists of them.
//!
//! Blocks are read from the head down, a few at a time, until there are enough transactions or the
//! bound of blocks is reached; so the cost does not depend on the length of the chain. What the
//! transactions are is not read: their statuses are requested one by one.

use alloc::vec::Vec;

use crate::primitives::CryptoHash;
use crate::storage::restartable::{Restartable, RowCache, Suspend};
use crate::storage::rows::{BlockPoint, ChainRecord, decode_block_hash};
use crate::storage::{Key, Table};

/// Number of blocks that are read together
const STEP: u64 = 8;
/// Maximum number of blocks that are looked at: the newest minute of a chain
const MAX_BLOCKS: u64 = 96;

/// Reads the hashes of at most this number of transactions, and the block of each
#[derive(Debug)]
pub(super) struct ReadNewest(pub(super) usize);

impl Restartable for ReadNewest {
    type Output = Vec<(CryptoHash, BlockPoint)>;

    fn restarted(&self) -> Option<Self> {
        Some(Self(self.0))
    }

    fn run(&self, rows: &mut RowCache<'_>) -> Result<Self::Output, Suspend> {
        let chain = ChainRecord::decode(rows.row(ChainRecord::key())?.map(|row| &**row))?;
        let mut end = chain.next_ordinal;
        let oldest = chain.first_ordinal.max(end.saturating_sub(MAX_BLOCKS));
        let mut newest = Vec::new();
        while end > oldest && newest.len() < self.0 {
            let ordinals = oldest.max(end.saturating_sub(STEP))..end;
            end = ordinals.start;
            rows.prefetch(ordinals.clone().map(|number| Key::number(Table::Ordinals, number)))?;
            let mut hashes = Vec::new();
            for ordinal in ordinals.rev() {
                if let Some(row) = rows.row(Key::number(Table::Ordinals, ordinal))? {
                    hashes.push(decode_block_hash(Table::Ordinals, row)?);
                }
            }
            rows.prefetch(hashes.iter().map(|hash| Key::hash(Table::Blocks, *hash)))?;
            for hash in hashes {
                let Some(block) = rows.block(hash)? else { continue };
                let point = BlockPoint { height: block.height, hash };
                let transactions = block.rows.iter().filter(|row| row.table == Table::Transactions);
                newest.extend(transactions.map(|row| (row.id, point)));
            }
        }
        newest.truncate(self.0);
        Ok(newest)
    }
}

#[cfg(test)]
mod tests {
    use milepost_practice::{Practice, Settings};

    use super::*;
    use crate::endpoint::Engine;
    use crate::import::{BlockPosition, ImportSettings, Retention};
    use crate::storage::{MemoryStorage, Storage as _};

    #[test]
    fn the_newest_transactions_are_those_of_the_newest_blocks() {
        let engine = Engine::default();
        let mut storage = MemoryStorage::new();
        assert_eq!(engine.newest_transactions(5, &storage).unwrap(), []);
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
        let snapshot = storage.snapshot().unwrap();
        let all = engine.newest_transactions(usize::MAX, &snapshot).unwrap();
        let heights: Vec<_> = all.iter().map(|(_, block)| block.height).collect();
        assert!(heights.is_sorted_by(|a, b| a >= b), "{heights:?}");
        // Those of the blocks that are kept, and no others.
        let sorted = |mut all: Vec<(CryptoHash, u64)>| {
            all.sort_unstable();
            all
        };
        let found = sorted(all.iter().map(|(hash, block)| (*hash, block.height)).collect());
        let expected = canonical.iter().rev().take(20).flatten().copied().collect();
        assert_eq!(found, sorted(expected));
        assert_eq!(engine.newest_transactions(7, &snapshot).unwrap(), all[..7]);
    }
}
