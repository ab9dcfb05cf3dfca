//! Damaged files: each is refused, or opens and gives no wrong row.
//!
//! Files are damaged as a clean end leaves them and as a crash does. Verified when opened, a file
//! that opens gives every row; unverified, a row may be refused or missing, never wrong.

use std::fs;
use std::path::Path;

use milepost::facts::Rows;
use milepost::{Error, ErrorKind};
use milepost_redb::{OpenErrorKind, RedbStorage};

use crate::{
    ROWS_PER_COMMIT, assert_sample_rows, sample_rows, sample_storage, unverified, verified,
};

/// The bytes of a file with the sample rows after a clean end, and as a crash leaves it
fn sample_files() -> [Vec<u8>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.milepost");
    let storage = sample_storage(&path);
    let crashed = fs::read(&path).unwrap();
    drop(storage);
    [fs::read(&path).unwrap(), crashed]
}

/// How often a damaged file was refused, gave all rows, refused rows, lacked rows
#[derive(Debug, Default)]
struct Tally {
    refused: usize,
    right: usize,
    rows_refused: usize,
    rows_missing: usize,
}

fn try_verified(path: &Path, file: &[u8], tally: &mut Tally, what: &str) {
    fs::write(path, file).unwrap();
    match RedbStorage::open(path, &verified()) {
        Ok(storage) => {
            for (key, row) in sample_rows() {
                let found = storage.get(&key);
                let right = found.as_ref().is_ok_and(|found| found.as_deref() == Some(&row));
                assert!(right, "{what}: {key:?}: {found:?}");
            }
            tally.right += 1;
        }
        Err(error) => refused(&error, tally, what),
    }
}

fn try_unverified(path: &Path, file: &[u8], tally: &mut Tally, what: &str) {
    fs::write(path, file).unwrap();
    let storage = match RedbStorage::open(path, &unverified()) {
        Ok(storage) => storage,
        Err(error) => return refused(&error, tally, what),
    };
    for (key, row) in sample_rows() {
        match storage.get(&key) {
            Ok(Some(found)) => assert!(*found == row, "{what}: {key:?} is wrong"),
            Ok(None) => tally.rows_missing += 1,
            Err(error) => {
                let kind = error.kind();
                assert!(matches!(kind, ErrorKind::Corrupt | ErrorKind::Storage), "{what}: {error}");
                tally.rows_refused += 1;
            }
        }
    }
    tally.right += 1;
}

#[track_caller]
fn refused(error: &milepost_redb::OpenError, tally: &mut Tally, what: &str) {
    let kind = error.kind();
    let expected = matches!(
        kind,
        OpenErrorKind::Damaged | OpenErrorKind::NotAStorage | OpenErrorKind::Version
    );
    assert!(expected, "{what}: {kind:?}: {error}");
    let error = Error::from(error.clone());
    assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Storage));
    tally.refused += 1;
}

/// Offsets in the header, and in pages that are not all zeros: some hundred of each
fn offsets(file: &[u8]) -> Vec<usize> {
    let mut offsets = Vec::new();
    for (number, page) in file.chunks(4096).enumerate().skip(1) {
        if page.iter().any(|byte| *byte != 0) {
            // The start of a page says what it is; the rest is rows and keys.
            offsets.extend([0, 2, 5 + number % 40].map(|offset| number * 4096 + offset));
            offsets.extend((1..3).map(|part| number * 4096 + (part * 1361 + number * 97) % 4096));
        }
    }
    // A prime, so that every kind of place is met.
    let stride =
        [1, 3, 7, 11, 13, 17, 23, 31, 41].into_iter().find(|stride| offsets.len() / stride < 160);
    let some = offsets.into_iter().step_by(stride.unwrap_or(53));
    // Magic and flags each, then the two commit slots.
    (0..12).chain((12..320).step_by(5)).chain(some).filter(|offset| *offset < file.len()).collect()
}

fn flip_bytes(attempt: fn(&Path, &[u8], &mut Tally, &str)) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.milepost");
    let mut tally = Tally::default();
    for (end, mut file) in ["clean", "crash"].into_iter().zip(sample_files()) {
        for (number, offset) in offsets(&file).into_iter().enumerate() {
            let mask = [0x01, 0xff, 0x80, 0x10][number % 4];
            let what = format!("{end} file, byte {offset} flipped by {mask:#04x}");
            file[offset] ^= mask;
            attempt(&path, &file, &mut tally, &what);
            file[offset] ^= mask;
        }
    }
    tally
}

#[test]
fn flipped_bytes_are_found_by_verifying() {
    let tally = flip_bytes(try_verified);
    println!("{tally:?}");
    assert!(tally.refused > 100 && tally.right > 10, "{tally:?}");
}

#[test]
fn flipped_bytes_never_give_a_wrong_row() {
    let tally = flip_bytes(try_unverified);
    println!("{tally:?}");
    assert!(tally.refused > 10 && tally.right > 100 && tally.rows_refused > 10, "{tally:?}");
}

#[test]
fn truncated_files_are_refused_or_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.milepost");
    for attempt in [try_verified, try_unverified] {
        let mut tally = Tally::default();
        for (end, file) in ["clean", "crash"].into_iter().zip(sample_files()) {
            let pages = (0..file.len()).step_by(file.len() / 40);
            let odd = [1, 8, 9, 63, 64, 191, 192, 319, 320, 4095, 4096, 4097, file.len() - 1];
            for length in pages.map(|length| length / 4096 * 4096).chain(odd) {
                let what = format!("{end} file, cut to {length} of {} bytes", file.len());
                attempt(&path, &file[..length], &mut tally, &what);
            }
        }
        println!("{tally:?}");
        assert!(tally.refused > 50, "{tally:?}");
        assert_eq!((tally.rows_refused, tally.rows_missing), (0, 0), "{tally:?}");
    }
}

#[test]
fn a_file_as_a_crash_leaves_it_opens_with_every_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crashed.milepost");
    let [_, crashed] = sample_files();
    for options in [verified(), unverified()] {
        fs::write(&path, &crashed).unwrap();
        assert_sample_rows(&RedbStorage::open(&path, &options).unwrap());
    }
}

/// Byte 9 of the file says which of two states is the newest, and no checksum covers it; after a
/// crash the older one cannot be told from one whose next commit did not end
#[test]
fn damaged_flags_bring_back_a_whole_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.milepost");
    let [mut clean, mut crashed] = sample_files();
    let rows = sample_rows();
    let (before, last) = rows.split_at(rows.len() / ROWS_PER_COMMIT * ROWS_PER_COMMIT);
    let mut older = 0;
    for mask in 1..8 {
        clean[9] ^= mask;
        try_verified(&path, &clean, &mut Tally::default(), &format!("flags ^ {mask:#04x}"));
        clean[9] ^= mask;

        crashed[9] ^= mask;
        fs::write(&path, &crashed).unwrap();
        crashed[9] ^= mask;
        let Ok(storage) = RedbStorage::open(&path, &verified()) else { continue };
        let whole = |(key, row): &(_, Vec<u8>)| storage.get(key).unwrap().as_deref() == Some(row);
        let missing = |(key, _): &(_, Vec<u8>)| storage.get(key).unwrap().is_none();
        assert!(before.iter().all(whole), "flags ^ {mask:#04x}");
        assert!(last.iter().all(whole) || last.iter().all(missing), "flags ^ {mask:#04x}");
        older += usize::from(last.iter().all(missing));
    }
    assert!(older < 7);
}
