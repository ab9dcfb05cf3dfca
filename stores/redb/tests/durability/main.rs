//! Tests of the storage's guarantees through its public API: conformance, opening, damage, crashes.

mod conformance;
mod damage;
mod kill;
mod maintenance;
mod opening;
mod snapshots;
mod verification;

use std::path::Path;

use milepost::storage::{Batch, Key, Snapshot, Storage, Table};
use milepost_redb::{Options, RedbStorage};

/// Number of rows in each commit of the sample except the last
const ROWS_PER_COMMIT: usize = 23;

/// Options that verify every file
fn verified() -> Options {
    let mut options = Options::default();
    options.verify_bytes = u64::MAX;
    options
}

/// Options that verify no file
fn unverified() -> Options {
    let mut options = Options::default();
    options.verify_bytes = 0;
    options
}

/// Rows of all tables and of many lengths, from empty to several pages
fn sample_rows() -> Vec<(Key, Vec<u8>)> {
    let lengths = [0, 1, 40, 300, 1000, 2000, 5000];
    (0..160_usize)
        .map(|number| {
            let table = Table::ALL[number % Table::ALL.len()];
            let mut bytes = [number as u8; 32];
            bytes[0] = (number * 37) as u8;
            let length = lengths[number / 9 % lengths.len()];
            let row = (0..length).map(|position| (position * 7 + number) as u8).collect();
            (Key::new(table, &bytes[..1 + number % 32]).unwrap(), row)
        })
        .collect()
}

/// Creates a storage at this path with the sample rows, written by several commits
fn sample_storage(path: &Path) -> RedbStorage {
    let mut storage = RedbStorage::open(path, &Options::default()).unwrap();
    for rows in sample_rows().chunks(ROWS_PER_COMMIT) {
        let mut batch = Batch::new();
        rows.iter().for_each(|(key, row)| batch.put(*key, row.as_slice()));
        storage.commit(batch).unwrap();
    }
    storage
}

fn assert_sample_rows(snapshot: &impl Snapshot) {
    for (key, row) in sample_rows() {
        assert_eq!(snapshot.get(&key).unwrap().as_deref(), Some(row.as_slice()), "{key:?}");
    }
}
