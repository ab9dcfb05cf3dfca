//! Damaged files: each is refused, or opens and gives no wrong row.
//!
//! Files are damaged as a clean end leaves them and as a crash does. Verified when opened, a file
//! that opens gives every row; unverified, a row may be refused or missing, never wrong.

use std::fs;
use std::path::Path;

use milepost::facts::Rows;
use milepost::{Error, ErrorKind};
use milepost_redb::{OpenErrorKind, RedbStorage};

use crate::{assert_sample_rows, sample_rows, sample_storage, unverified, verified};

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

/// Offsets of the header, and of every page that is not all zeros: some of each
fn offsets(file: &[u8]) -> Vec<usize> {
    let mut offsets: Vec<usize> = (0..320).step_by(3).collect();
    for (number, page) in file.chunks(4096).enumerate().skip(1) {
        if page.iter().any(|byte| *byte != 0) {
            // The start of a page says what it is; the rest is rows and keys.
            offsets.extend([0, 2, 5 + number % 40].map(|offset| number * 4096 + offset));
            offsets.extend((1..3).map(|part| number * 4096 + (part * 1361 + number * 97) % 4096));
        }
    }
    offsets.retain(|offset| *offset < file.len());
    offsets
}

fn flip_bytes(attempt: fn(&Path, &[u8], &mut Tally, &str), stride: usize) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.milepost");
    let mut tally = Tally::default();
    for (end, mut file) in ["clean", "crash"].into_iter().zip(sample_files()) {
        attempt(&path, &file, &mut Tally::default(), "undamaged");
        for (number, offset) in offsets(&file).into_iter().step_by(stride).enumerate() {
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
    let tally = flip_bytes(try_verified, 1);
    println!("{tally:?}");
    assert!(tally.refused > 100 && tally.right > 10, "{tally:?}");
}

#[test]
fn flipped_bytes_never_give_a_wrong_row() {
    let tally = flip_bytes(try_unverified, 1);
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
