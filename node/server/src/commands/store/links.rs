//! The links between the rows of a store: the chain, its blocks, and the rows of each block.
//!
//! Every row of a block has to be there, unless the engine removed it when it finalized the
//! transaction, and every row has to belong to a block, which is counted and not remembered: memory
//! does not grow with the file. What was pruned looks like what is missing, so a reference
//! from a newer block to a pruned transaction is accepted once blocks were pruned.

use alloc::collections::BTreeMap;
use core::fmt::Display;

use milepost::Error;
use milepost::primitives::CryptoHash;
use milepost::storage::rows::{
    BlockRecord, ChainRecord, ConfigIndex, ConfigOrigin, ConfigRecord, FinalizedTransaction,
    OutcomeRow, ReceiptParent, RowId, decode_block_hash,
};
use milepost::storage::{Key, Snapshot as _, Table};
use milepost_redb::RedbSnapshot;

use super::check::Problems;

/// Checks the links; an error if a row cannot be read, which was checked before
pub(super) fn check(rows: &RedbSnapshot, problems: &mut Problems) -> Result<(), Error> {
    let chain = ChainRecord::decode(rows.get(&ChainRecord::key())?.as_deref())?;
    let mut links = Links { rows, problems, chain: &chain, counts: BTreeMap::new() };
    links.check_blocks()?;
    links.check_fork_blocks()?;
    links.check_configs()?;
    links.check_references()?;
    links.check_counts()
}

struct Links<'check> {
    rows: &'check RedbSnapshot,
    problems: &'check mut Problems,
    chain: &'check ChainRecord,
    /// Number of rows that belong to blocks
    counts: BTreeMap<Table, u64>,
}

impl Links<'_> {
    fn has(&self, key: &Key) -> Result<bool, Error> {
        let mut is_there = false;
        // Not copied: rows of transactions are large.
        self.rows.get_with(key, &mut |_| {
            is_there = true;
            false
        })?;
        Ok(is_there)
    }

    fn block(&self, hash: CryptoHash) -> Result<Option<BlockRecord>, Error> {
        let row = self.rows.get(&Key::hash(Table::Blocks, hash))?;
        row.map(|row| BlockRecord::decode(&row)).transpose()
    }

    /// The canonical blocks, oldest first
    fn check_blocks(&mut self) -> Result<(), Error> {
        let chain = self.chain;
        let mut previous: Option<CryptoHash> = None;
        for ordinal in chain.first_ordinal..chain.next_ordinal {
            let key = Key::number(Table::Ordinals, ordinal);
            let Some(row) = self.rows.get(&key)? else {
                self.problems.add(format_args!("{key:?}: no row, and the chain has it"));
                previous = None;
                continue;
            };
            let hash = decode_block_hash(Table::Ordinals, &row)?;
            let Some(block) = self.block(hash)? else {
                self.problems.add(format_args!("{key:?}: block {hash} is missing"));
                previous = None;
                continue;
            };
            self.check_block(ordinal, hash, &block, previous)?;
            previous = Some(hash);
        }
        let head = chain.head.map(|head| head.hash);
        if chain.block_count() > 0 && head != previous {
            let key = ChainRecord::key();
            self.problems.add(format_args!("{key:?}: the head is not the newest block"));
        }
        Ok(())
    }

    fn check_block(
        &mut self,
        ordinal: u64,
        hash: CryptoHash,
        block: &BlockRecord,
        previous: Option<CryptoHash>,
    ) -> Result<(), Error> {
        let place = Key::hash(Table::Blocks, hash);
        if block.ordinal != Some(ordinal) {
            self.problems.add(format_args!(
                "{place:?}: has ordinal {}, its row of ordinals says {ordinal}",
                or_none(block.ordinal)
            ));
        }
        let by_height = self.rows.get(&Key::number(Table::Heights, block.height))?;
        let by_height = by_height.map(|row| decode_block_hash(Table::Heights, &row)).transpose()?;
        if by_height != Some(hash) {
            let height = block.height;
            self.problems.add(format_args!(
                "{place:?}: height {height} belongs to block {}",
                or_none(by_height)
            ));
        }
        // Below it the feed may have had gaps.
        let is_linked = block.height > self.chain.complete_from;
        if let Some(previous) = previous.filter(|_| is_linked)
            && previous != block.prev_hash
        {
            let parent = block.prev_hash;
            self.problems
                .add(format_args!("{place:?}: its parent is {parent}, before it is {previous}"));
        }
        // The chain has a transaction of this block twice, and some of its rows are kept there.
        if self.has(&Key::hash(Table::ForkBlocks, hash))? {
            *self.counts.entry(Table::ForkBlocks).or_default() += 1;
        }
        for row_id in &block.rows {
            self.check_row_of_block(hash, row_id)?;
        }
        Ok(())
    }

    fn check_row_of_block(&mut self, block: CryptoHash, row_id: &RowId) -> Result<(), Error> {
        let is_there = self.has(&row_id.key())?;
        *self.counts.entry(row_id.table).or_default() += u64::from(is_there);
        let may_be_gone = match row_id.table {
            Table::Transactions | Table::Outcomes => false,
            // Removed when its transaction was finalized, with the row of its parent.
            Table::Receipts => !is_there && !self.has(&ReceiptParent::key(row_id.id))?,
            _ => true,
        };
        if !is_there && !may_be_gone {
            let key = row_id.key();
            self.problems.add(format_args!("{key:?}: no row, and block {block} has it"));
        }
        Ok(())
    }

    fn check_fork_blocks(&mut self) -> Result<(), Error> {
        for point in &self.chain.fork_blocks {
            let key = Key::hash(Table::ForkBlocks, point.hash);
            if !self.has(&key)? {
                self.problems.add(format_args!("{key:?}: no row, and the chain has the fork"));
            }
            match self.block(point.hash)? {
                None => self.problems.add(format_args!("{key:?}: its block is missing")),
                Some(block) if block.ordinal.is_some() || block.height != point.height => {
                    self.problems.add(format_args!("{key:?}: its block is not on a fork"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn check_configs(&mut self) -> Result<(), Error> {
        let index = ConfigIndex::decode(self.rows.get(&ConfigIndex::key())?.as_deref())?;
        for height in &index.heights {
            let key = ConfigRecord::height_key(*height);
            if !self.has(&key)? {
                self.problems.add(format_args!("{key:?}: no row, and the index has it"));
            }
        }
        let rows = self.rows;
        rows.for_each_row(Table::Configs, &mut |row| {
            let (key, row) = row?;
            // A row of another layout is reported with the rows of its table.
            let Ok(ConfigRecord { origin: ConfigOrigin::Height(height), .. }) =
                ConfigRecord::decode(row)
            else {
                return Ok(());
            };
            if index.heights.binary_search(&height).is_err() {
                self.problems.add(format_args!("{key:?}: height {height} is not in the index"));
            }
            Ok(())
        })
    }

    /// What outcomes and parents of receipts say of transactions
    fn check_references(&mut self) -> Result<(), Error> {
        let was_pruned = self.chain.first_ordinal > 0;
        let rows = self.rows;
        for table in [Table::Outcomes, Table::ReceiptParents] {
            rows.for_each_row(table, &mut |row| {
                let (key, row) = row?;
                let (transaction, must_be_final) = match table {
                    Table::Outcomes => match OutcomeRow::decode(row)? {
                        OutcomeRow::Finalized(transaction) => (transaction, true),
                        OutcomeRow::Outcome(_) => return Ok(()),
                    },
                    _ => (ReceiptParent::decode(row)?.transaction, false),
                };
                let found = rows.get(&Key::hash(Table::Transactions, transaction))?;
                let problem = match &found {
                    None if was_pruned => return Ok(()),
                    None => "is missing",
                    Some(row) if must_be_final && FinalizedTransaction::decode(row)?.is_none() => {
                        "is not final"
                    }
                    Some(_) => return Ok(()),
                };
                self.problems.add(format_args!("{key:?}: transaction {transaction} {problem}"));
                Ok(())
            })?;
        }
        Ok(())
    }

    fn check_counts(self) -> Result<(), Error> {
        let (forks, blocks) = (self.chain.fork_blocks.len() as u64, self.chain.block_count());
        let of_blocks = |table| (table, self.counts.get(&table).copied().unwrap_or_default());
        for (table, expected) in [
            (Table::Blocks, blocks + forks),
            (Table::Heights, blocks),
            (Table::Ordinals, blocks),
            of_blocks(Table::Transactions),
            of_blocks(Table::Outcomes),
            of_blocks(Table::Receipts),
            (Table::ForkBlocks, forks + of_blocks(Table::ForkBlocks).1),
            of_blocks(Table::ReceiptParents),
        ] {
            let found = self.rows.table_size(table)?.rows;
            if found != expected {
                self.problems
                    .add(format_args!("{}: {found} rows, the chain has {expected}", table.name()));
            }
        }
        Ok(())
    }
}

/// A value, or `none`
fn or_none(value: Option<impl Display>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}
