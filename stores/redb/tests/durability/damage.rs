//! Damaged files: each is rejected, or opens and returns no wrong row.
//!
//! Both a file that was closed and one that a crash left are damaged. A file that opens with
//! verification returns every row; without it, a row may be an error or missing, never wrong.

use std::fs;
use std::path::Path;

use milepost::storage::{Snapshot, Storage};
use milepost::{Error, ErrorKind};
use milepost_redb::{OpenErrorKind, RedbStorage};

use crate::{
    ROWS_PER_COMMIT, assert_sample_rows, sample_rows, sample_storage, unverified, verified,
};

/// The bytes of a file with the sample rows: closed, and as a crash leaves it
fn sample_files() -> [Vec<u8>; 2] {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    let storage = sample_storage(&path);
    let crashed = fs::read(&path).unwrap();
    drop(storage);
    [fs::read(&path).unwrap(), crashed]
}

/// Counts of files that were rejected or opened, and of rows that were errors or missing
#[derive(Debug, Default)]
struct Counts {
    rejected: usize,
    opened: usize,
    row_errors: usize,
    rows_missing: usize,
}

fn try_verified(path: &Path, file: &[u8], counts: &mut Counts, what: &str) {
    fs::write(path, file).unwrap();
    match RedbStorage::open(path, &verified()) {
        Ok(storage) => {
            for (key, row) in sample_rows() {
                let found = storage.snapshot().and_then(|snapshot| snapshot.get(&key));
                let correct = found.as_ref().is_ok_and(|found| found.as_deref() == Some(&row));
                assert!(correct, "{what}: {key:?}: {found:?}");
            }
            counts.opened += 1;
        }
        Err(error) => count_rejected(&error, counts, what),
    }
}

fn try_unverified(path: &Path, file: &[u8], counts: &mut Counts, what: &str) {
    fs::write(path, file).unwrap();
    let storage = match RedbStorage::open(path, &unverified()) {
        Ok(storage) => storage,
        Err(error) => return count_rejected(&error, counts, what),
    };
    for (key, row) in sample_rows() {
        match storage.snapshot().and_then(|snapshot| snapshot.get(&key)) {
            Ok(Some(found)) => assert!(*found == row, "{what}: {key:?} is wrong"),
            Ok(None) => counts.rows_missing += 1,
            Err(error) => {
                let kind = error.kind();
                assert!(matches!(kind, ErrorKind::Corrupt | ErrorKind::Storage), "{what}: {error}");
                counts.row_errors += 1;
            }
        }
    }
    counts.opened += 1;
}

#[track_caller]
fn count_rejected(error: &milepost_redb::OpenError, counts: &mut Counts, what: &str) {
    let kind = error.kind();
    let expected = matches!(
        kind,
        OpenErrorKind::Damaged | OpenErrorKind::NotAStorage | OpenErrorKind::Version
    );
    assert!(expected, "{what}: {kind:?}: {error}");
    let kind = Error::from(error.clone()).kind();
    assert!(matches!(kind, ErrorKind::Corrupt | ErrorKind::Storage | ErrorKind::Version));
    counts.rejected += 1;
}

/// Offsets in the header and in pages that are not all zeros, some hundred of each
fn offsets(file: &[u8]) -> Vec<usize> {
    let mut offsets = Vec::new();
    for (number, page) in file.chunks(4096).enumerate().skip(1) {
        if page.iter().any(|byte| *byte != 0) {
            // The start of a page is its type; the rest is rows and keys.
            offsets.extend([0, 2, 5 + number % 40].map(|offset| number * 4096 + offset));
            offsets.extend((1..3).map(|part| number * 4096 + (part * 1361 + number * 97) % 4096));
        }
    }
    // A prime stride, so that every kind of offset is included.
    let stride =
        [1, 3, 7, 11, 13, 17, 23, 31, 41].into_iter().find(|stride| offsets.len() / stride < 160);
    let sample = offsets.into_iter().step_by(stride.unwrap_or(53));
    // Every byte of magic and flags, then a sample of the two commit slots.
    let header = (0..12).chain((12..320).step_by(5));
    header.chain(sample).filter(|offset| *offset < file.len()).collect()
}

fn flip_bytes(attempt: fn(&Path, &[u8], &mut Counts, &str)) -> Counts {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.milepost");
    let mut counts = Counts::default();
    for (state, mut file) in ["closed", "crashed"].into_iter().zip(sample_files()) {
        for (number, offset) in offsets(&file).into_iter().enumerate() {
            let mask = [0x01, 0xff, 0x80, 0x10][number % 4];
            let what = format!("{state} file, byte {offset} flipped by {mask:#04x}");
            file[offset] ^= mask;
            attempt(&path, &file, &mut counts, &what);
            file[offset] ^= mask;
        }
    }
    counts
}

#[test]
fn flipped_bytes_are_detected_by_verification() {
    let counts = flip_bytes(try_verified);
    println!("{counts:?}");
    assert!(counts.rejected > 100 && counts.opened > 10, "{counts:?}");
}

#[test]
fn flipped_bytes_never_result_in_a_wrong_row() {
    let counts = flip_bytes(try_unverified);
    println!("{counts:?}");
    assert!(counts.rejected > 10 && counts.opened > 100 && counts.row_errors > 10, "{counts:?}");
}

#[test]
fn truncated_files_are_rejected_or_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.milepost");
    for attempt in [try_verified, try_unverified] {
        let mut counts = Counts::default();
        for (state, file) in ["closed", "crashed"].into_iter().zip(sample_files()) {
            let pages = (0..file.len()).step_by(file.len() / 40);
            let odd = [1, 8, 9, 63, 64, 191, 192, 319, 320, 4095, 4096, 4097, file.len() - 1];
            for length in pages.map(|length| length / 4096 * 4096).chain(odd) {
                let what = format!("{state} file, cut to {length} of {} bytes", file.len());
                attempt(&path, &file[..length], &mut counts, &what);
            }
        }
        println!("{counts:?}");
        assert!(counts.rejected > 50, "{counts:?}");
        assert_eq!((counts.row_errors, counts.rows_missing), (0, 0), "{counts:?}");
    }
}

#[test]
fn a_file_opens_after_a_crash_with_every_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("crashed.milepost");
    let [_, crashed] = sample_files();
    for options in [verified(), unverified()] {
        fs::write(&path, &crashed).unwrap();
        let storage = RedbStorage::open(&path, &options).unwrap();
        assert_sample_rows(&storage.snapshot().unwrap());
    }
}

/// Byte 9 of the file selects the newer of two states, and no checksum covers it; after a crash the
/// older state looks like one whose next commit did not finish
#[test]
fn damaged_flags_select_a_complete_state() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.milepost");
    let [mut closed, mut crashed] = sample_files();
    let rows = sample_rows();
    let (before, last) = rows.split_at(rows.len() / ROWS_PER_COMMIT * ROWS_PER_COMMIT);
    let mut older = 0;
    for mask in 1..8 {
        closed[9] ^= mask;
        try_verified(&path, &closed, &mut Counts::default(), &format!("flags ^ {mask:#04x}"));
        closed[9] ^= mask;

        crashed[9] ^= mask;
        fs::write(&path, &crashed).unwrap();
        crashed[9] ^= mask;
        let Ok(storage) = RedbStorage::open(&path, &verified()) else { continue };
        let snapshot = storage.snapshot().unwrap();
        let present =
            |(key, row): &(_, Vec<u8>)| snapshot.get(key).unwrap().as_deref() == Some(row);
        let missing = |(key, _): &(_, Vec<u8>)| snapshot.get(key).unwrap().is_none();
        assert!(before.iter().all(present), "flags ^ {mask:#04x}");
        assert!(last.iter().all(present) || last.iter().all(missing), "flags ^ {mask:#04x}");
        older += usize::from(last.iter().all(missing));
    }
    assert!(older < 7);
}
