//! Damage to a file that is not verified when it is opened: what a verification of its tables
//! passes has every row as it was put. Every damage is repeated by its seed.

use std::fs;
use std::path::Path;

use milepost::primitives::CryptoHash;
use milepost::storage::{Batch, Key, Snapshot as _, Storage as _, Table};
use milepost::{Error, ErrorKind};
use milepost_redb::{Options, RedbSnapshot, RedbStorage};
use milepost_testkit::Rng;

/// Number of rows, so many that pages of keys are two levels high
const ROWS: u64 = 6_000;
const SEEDS: u64 = 150;
const PAGE: usize = 4_096;

fn row(number: u64) -> (Key, Vec<u8>) {
    let hash = CryptoHash::digest(&number.to_le_bytes());
    (Key::hash(Table::Outcomes, hash), vec![number as u8; 20 + (number % 200) as usize])
}

fn open(path: &Path) -> Result<RedbStorage, Error> {
    let mut options = Options::default();
    options.verify_bytes = 0;
    Ok(RedbStorage::open(path, &options)?)
}

fn verify(snapshot: &RedbSnapshot) -> Result<u64, Error> {
    let mut bytes = 0;
    for table in Table::ALL {
        snapshot.verify_table(table, &mut |row| {
            bytes += row;
            Ok(())
        })?;
    }
    Ok(bytes)
}

/// The first row that is missing or another one
fn differing<'rows>(
    snapshot: &RedbSnapshot,
    rows: &'rows [(Key, Vec<u8>)],
) -> Option<&'rows (Key, Vec<u8>)> {
    let is_there = |key: &Key, row: &[u8]| matches!(snapshot.get(key), Ok(Some(it)) if *it == *row);
    rows.iter().find(|(key, row)| !is_there(key, row))
}

#[test]
fn what_passes_has_every_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("original");
    let mut storage = RedbStorage::open(&path, &Options::default()).unwrap();
    assert!(storage.is_verified());
    let rows: Vec<_> = (0..ROWS).map(row).collect();
    for rows in rows.chunks(1_000) {
        let mut batch = Batch::new();
        for (key, row) in rows {
            batch.put(*key, row.as_slice());
        }
        storage.commit(batch).unwrap();
    }
    let bytes: usize = rows.iter().map(|(key, row)| key.bytes_in_table().len() + row.len()).sum();
    drop(storage);
    assert!(RedbStorage::open(&path, &Options::default()).unwrap().is_verified());
    let storage = open(&path).unwrap();
    assert!(!storage.is_verified());
    assert_eq!(verify(&storage.snapshot().unwrap()).unwrap(), bytes as u64);
    drop(storage);

    let (original, damaged) = (fs::read(&path).unwrap(), directory.path().join("damaged"));
    let (mut refused, mut missing) = (0, 0);
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let mut file = original.clone();
        let mut place = rng.index(file.len());
        if rng.one_in(2) {
            // What is at the start of a page says where its keys and rows, or further pages, are.
            place = place / PAGE * PAGE + rng.index(64);
        }
        file[place] ^= 1 << rng.below(8);
        fs::write(&damaged, &file).unwrap();
        let Ok(storage) = open(&damaged) else { continue };
        let Ok(snapshot) = storage.snapshot() else { continue };
        let differing = differing(&snapshot, &rows);
        match verify(&snapshot) {
            Ok(_) => assert_eq!(differing, None, "seed {seed}, byte {place}"),
            Err(error) => {
                assert!(
                    [ErrorKind::Corrupt, ErrorKind::Storage].contains(&error.kind()),
                    "{error}"
                );
                refused += 1;
                missing += u64::from(differing.is_some());
            }
        }
    }
    assert!(refused > SEEDS / 5 && missing > SEEDS / 5, "{refused} refused, {missing} with effect");
}

#[test]
fn a_verification_ends_when_its_caller_wants() {
    let directory = tempfile::tempdir().unwrap();
    let mut storage = open(&directory.path().join("file")).unwrap();
    let mut batch = Batch::new();
    for (key, row) in (0..10).map(row) {
        batch.put(key, row);
    }
    storage.commit(batch).unwrap();
    let mut rows = 0;
    let error = storage.snapshot().unwrap().verify_table(Table::Outcomes, &mut |_| {
        rows += 1;
        if rows < 3 { Ok(()) } else { Err(Error::new(ErrorKind::Usage, "enough")) }
    });
    assert_eq!((error.unwrap_err().detail(), rows), ("enough", 3));
}
