//! `milepost store check`: every row with its checksum and layout, the links, every page.
//!
//! Rows come first, because their errors name what is damaged; pages last, because a damaged one
//! says only that something is. A file whose header or version is refused is reported by that
//! alone. Nothing is repaired, and nothing is written.

use std::path::Path;

use milepost::storage::rows::{
    BlockRecord, ChainRecord, ConfigIndex, ConfigRecord, FinalizedTransaction, ForkBlock,
    OutcomeRow, ReceiptParent, decode_block_hash,
};
use milepost::storage::{Key, Table, TransactionRecord};
use milepost::{Error, ErrorKind};
use milepost_redb::OpenErrorKind;

use serde_json::{Map, Value};

use super::links;

/// Problems that are printed; further ones are counted
const MAX_PRINTED: usize = 100;

/// What is wrong with a store or an archive
#[derive(Debug, Default)]
pub(crate) struct Problems {
    printed: Vec<String>,
    pub(crate) count: u64,
}

impl Problems {
    pub(crate) fn add(&mut self, problem: impl core::fmt::Display) {
        if self.printed.len() < MAX_PRINTED {
            self.printed.push(problem.to_string());
        }
        self.count += 1;
    }

    /// The report about what was checked, of which so many rows were read
    pub(crate) fn report(&self, checked: impl core::fmt::Display, rows: Option<u64>) -> String {
        let mut text = String::new();
        for problem in &self.printed {
            text.push_str(problem);
            text.push('\n');
        }
        let unprinted = self.count - self.printed.len() as u64;
        if unprinted > 0 {
            text.push_str(&format!("and {unprinted} more\n"));
        }
        let read = rows.map_or(String::new(), |rows| format!(", {rows} rows read"));
        text.push_str(&match self.count {
            0 => format!("{checked}: sound{read}\n"),
            count => format!("{checked}: {count} problems{read}\n"),
        });
        text
    }
}

/// The report and the number of problems
pub(super) fn check(path: &Path) -> Result<(String, u64), String> {
    let mut problems = Problems::default();
    let snapshot = match super::read(path, false) {
        Ok(snapshot) => snapshot,
        Err(error) if error.kind() == OpenErrorKind::Damaged => {
            problems.add(error);
            return Ok((problems.report(path.display(), None), problems.count));
        }
        Err(error) => return Err(error.to_string()),
    };
    let mut row_count = 0;
    for table in Table::ALL {
        let read = snapshot.for_each_row(table, &mut |row| {
            row_count += 1;
            if let Err(error) = row.and_then(|(key, row)| check_row(&key, row)) {
                problems.add(error);
            }
            Ok(())
        });
        if let Err(error) = read {
            problems.add(format_args!("{}: {error}", table.name()));
        }
    }
    // Links of rows that cannot be read would repeat what is reported already.
    if problems.count == 0
        && let Err(error) = links::check(&snapshot, &mut problems)
    {
        problems.add(error);
    }
    drop(snapshot);
    if let Err(error) = super::read(path, true) {
        problems.add(error);
    }
    Ok((problems.report(path.display(), Some(row_count)), problems.count))
}

/// Decodes a row whole
pub(crate) fn check_row(key: &Key, row: &[u8]) -> Result<(), Error> {
    let decoded = match key.table() {
        Table::Chain if *key == ChainRecord::key() => ChainRecord::decode(Some(row)).map(drop),
        Table::Chain if *key == ConfigIndex::key() => ConfigIndex::decode(Some(row)).map(drop),
        Table::Blocks => BlockRecord::decode(row).map(drop),
        table @ (Table::Heights | Table::Ordinals) => decode_block_hash(table, row).map(drop),
        Table::Transactions => check_transaction(row),
        Table::Outcomes => OutcomeRow::decode(row).map(drop),
        Table::Receipts => milepost::storage::rows::ReceiptRecord::decode(row).map(drop),
        Table::ForkBlocks => ForkBlock::decode(row).and_then(|block| {
            block.rows.iter().try_for_each(|(row_id, row)| check_row(&row_id.key(), row))
        }),
        Table::Configs => ConfigRecord::decode(row).and_then(|config| check_config(&config)),
        Table::ReceiptParents => ReceiptParent::decode(row).map(drop),
        // Rows that the engine gives no layout that is public.
        _ => Ok(()),
    };
    decoded.map_err(|error| error.at(format_args!("{key:?}")))
}

fn check_config(config: &ConfigRecord<'_>) -> Result<(), Error> {
    let parsed = serde_json::from_slice::<Map<String, Value>>(config.fragment);
    parsed.map(drop).map_err(|error| {
        let detail = format_args!("the configuration is not an object of JSON: {error}");
        Error::new(ErrorKind::Corrupt, detail).with_source(error)
    })
}

fn check_transaction(row: &[u8]) -> Result<(), Error> {
    match FinalizedTransaction::decode(row)? {
        Some(finalized) => finalized.outcomes().try_for_each(|outcome| outcome.map(drop)),
        None => TransactionRecord::decode(row).map(drop),
    }
}
