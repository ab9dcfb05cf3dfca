//! What rows of an archive say of others: a receipt of its transaction, a transaction of its
//! receipts and of the height of its block, a height of its block, a block of its height and of its
//! parent.
//!
//! Only heights count that are complete by the progress of the writers; rows of others may be on
//! their way, or be removed just now. A row that is wrong is there: it is a problem already. Takes
//! memory for each range of heights, and for the links of a page.

use alloc::collections::BTreeMap;

use milepost::archive::{
    Archive, ArchivedBlock, ArchivedProof, ArchivedReceipt, Envelope, HeightRanges, WriterProgress,
};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::rows::FinalizedTransaction;
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};

use crate::commands::store::Problems;

/// Rows that are read at a time
const PAGE: usize = 256;
/// The same of transactions, which can have megabytes
const TRANSACTIONS: usize = 16;

/// The links that are checked next, and what is known of the parents of blocks
#[derive(Default)]
pub(super) struct Links {
    complete: HeightRanges,
    /// A key that has to be there, and the row that says so
    needed: Vec<(Key, Key)>,
    /// The parent of a block, with its height
    parents: Vec<(BlockHeight, Key, Key)>,
    /// By the first height of a range: the lowest block in it
    lowest: BTreeMap<BlockHeight, BlockHeight>,
    /// By the first height of a range: the lowest block whose parent is missing; that of the lowest
    /// block is below the range
    orphans: BTreeMap<BlockHeight, (BlockHeight, Key, Key)>,
}

impl Links {
    /// The links of an archive in the heights that are complete
    pub(super) fn new(archive: &impl Archive) -> Result<Self, Error> {
        match WriterProgress::read_union(archive) {
            Ok(progress) => Ok(Self { complete: progress.heights, ..Self::default() }),
            Err(error) if error.kind() == ErrorKind::Storage => Err(error),
            // Progress that cannot be read is a problem by itself.
            Err(_) => Ok(Self::default()),
        }
    }

    /// Notes what a row says of others; it has been checked, and is not compressed
    pub(super) fn add(&mut self, key: &Key, row: &Row) -> Result<(), Error> {
        match key.table() {
            Table::ArchivedTransactions => self.add_transaction(key, row),
            Table::ArchivedReceipts => {
                let ArchivedReceipt { transaction, height } = ArchivedReceipt::decode(row)?;
                if self.complete.contains(height) {
                    let transaction = Key::hash(Table::ArchivedTransactions, transaction);
                    self.needed.push((transaction, *key));
                }
                Ok(())
            }
            Table::ArchivedHeights => {
                let height = key.bytes_in_table().try_into().map(u64::from_be_bytes);
                if height.is_ok_and(|height| self.complete.contains(height)) {
                    let block = ArchivedBlock::key(ArchivedBlock::decode_hash(row)?);
                    self.needed.push((block, *key));
                }
                Ok(())
            }
            Table::ArchivedProofs => {
                let header = ArchivedProof::decode(row)?.header;
                if self.complete.contains(header.height) {
                    self.needed.push((ArchivedBlock::key(header.hash()), *key));
                }
                Ok(())
            }
            Table::ArchivedBlocks => {
                let ArchivedBlock { height, prev_hash, .. } = ArchivedBlock::decode(row)?;
                if let Some(range) = self.complete.range_of(height) {
                    self.needed.push((ArchivedBlock::height_key(height), *key));
                    self.parents.push((height, ArchivedBlock::key(prev_hash), *key));
                    let lowest = self.lowest.entry(*range.start()).or_insert(height);
                    *lowest = height.min(*lowest);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn add_transaction(&mut self, key: &Key, row: &Row) -> Result<(), Error> {
        let content = Envelope::decode(key.table(), row)?.content()?;
        let Some(transaction) = FinalizedTransaction::decode(content)? else { return Ok(()) };
        if !self.complete.contains(transaction.height) {
            return Ok(());
        }
        self.needed.push((ArchivedBlock::height_key(transaction.height), *key));
        for outcome in transaction.outcomes() {
            let id: CryptoHash = outcome?.id;
            if key.bytes_in_table() != id.as_bytes() {
                self.needed.push((ArchivedReceipt::key(id), *key));
            }
        }
        Ok(())
    }

    /// Looks for the rows of the links so far
    pub(super) fn check(
        &mut self,
        archive: &impl Archive,
        problems: &mut Problems,
    ) -> Result<(), Error> {
        let needed = core::mem::take(&mut self.needed);
        let keys: Vec<Key> = needed.iter().map(|(key, _)| *key).collect();
        for ((key, by), is_absent) in needed.iter().zip(absent(archive, &keys)?) {
            if is_absent {
                problems.add(format_args!("{key:?}: no row, and {by:?} names it"));
            }
        }
        let parents = core::mem::take(&mut self.parents);
        let keys: Vec<Key> = parents.iter().map(|(_, key, _)| *key).collect();
        for (parent, is_absent) in parents.into_iter().zip(absent(archive, &keys)?) {
            let Some(range) = self.complete.range_of(parent.0).filter(|_| is_absent) else {
                continue;
            };
            // Of two blocks the higher one is not the lowest of the range.
            let first = self.orphans.remove(range.start()).unwrap_or(parent);
            let (lower, higher) =
                if parent.0 < first.0 { (parent, first) } else { (first, parent) };
            if higher.0 > lower.0 {
                add_orphan(&higher, problems);
            }
            self.orphans.insert(*range.start(), lower);
        }
        Ok(())
    }

    /// Reports the blocks whose parents are missing, once all blocks were read
    pub(super) fn finish(&self, problems: &mut Problems) {
        for (range, orphan) in &self.orphans {
            if self.lowest.get(range).is_some_and(|lowest| *lowest < orphan.0) {
                add_orphan(orphan, problems);
            }
        }
    }
}

fn add_orphan((_, parent, block): &(BlockHeight, Key, Key), problems: &mut Problems) {
    problems.add(format_args!("{parent:?}: no row, and {block:?} has it as its parent"));
}

/// Which of these keys have no row
fn absent(archive: &impl Archive, keys: &[Key]) -> Result<Vec<bool>, Error> {
    let mut found = Vec::new();
    let is_large = keys.iter().any(|key| key.table() == Table::ArchivedTransactions);
    for page in keys.chunks(if is_large { TRANSACTIONS } else { PAGE }) {
        let mut rows = Vec::new();
        match archive.get_many(page, &mut rows) {
            Ok(()) => found.extend(rows.iter().map(Option::is_none)),
            Err(error) if error.kind() == ErrorKind::Storage => return Err(error),
            // One of them has two contents, or cannot be read.
            Err(_) => {
                for key in page {
                    rows.clear();
                    let is_absent = archive.get_many(&[*key], &mut rows).is_ok();
                    found.push(is_absent && rows == [None]);
                }
            }
        }
    }
    Ok(found)
}
