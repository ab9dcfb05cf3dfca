//! Damaged files: each is rejected, or opens and returns no wrong row.
//!
//! Both a file that was closed and one that a crash left are damaged. A file that opens with
//! verification returns every row; without it, a row may be an error or missing, never wrong.

use std::fs;
use std::path::{Path, PathBuf};

use milepost::storage::{Batch, Snapshot, Storage};
use milepost::{Error, ErrorKind};
use milepost_redb::{OpenErrorKind, RedbStorage};

use crate::{assert_sample_rows, sample_rows, sample_storage, unverified, verified};

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
fn a_file_with_damaged_flags_is_not_older_than_what_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("damaged.milepost");
    let storage = sample_storage(&path);
    let note = fs::read(acknowledged(&path)).unwrap();
    let crashed = fs::read(&path).unwrap();
    drop(storage);
    let closed = fs::read(&path).unwrap();
    let (mut opened, mut older) = (0, 0);
    for (state, mut file) in [("closed", closed), ("crashed", crashed)] {
        for mask in (1..8).chain([8, 16, 32, 64, 128]) {
            let what = format!("{state} file, flags ^ {mask:#04x}");
            file[9] ^= mask;
            for attempt in [try_verified, try_unverified] {
                let mut counts = Counts::default();
                fs::write(acknowledged(&path), &note).unwrap();
                attempt(&path, &file, &mut counts, &what);
                assert_eq!((counts.row_errors, counts.rows_missing), (0, 0), "{what}: {counts:?}");
                opened += counts.opened;
            }
            file[9] ^= mask;
            if let Err(error) = RedbStorage::open(&path, &verified())
                && error.detail().contains(" was acknowledged, and ")
            {
                assert_eq!(error.kind(), OpenErrorKind::Damaged);
                older += 1;
            }
        }
    }
    assert!(opened > 10 && older > 0, "{opened} opened, {older} were older");
}

#[test]
fn an_older_copy_is_refused_until_the_note_about_the_newer_one_is_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    let mut storage = RedbStorage::open(&path, &unverified()).unwrap();
    let mut commit = || {
        let mut batch = Batch::new();
        sample_rows().into_iter().for_each(|(key, row)| batch.put(key, row));
        storage.commit(batch).unwrap();
        fs::read(&path).unwrap()
    };
    let (older, newer) = (commit(), commit());
    drop(storage);
    fs::write(&path, &older).unwrap();
    let error = RedbStorage::open(&path, &unverified()).unwrap_err();
    assert_eq!(error.kind(), OpenErrorKind::Damaged);
    let text = error.to_string();
    assert!(text.contains("commit 2 was acknowledged, and 1 is the last one"), "{text}");
    let note = acknowledged(&path);
    assert!(text.contains(&format!("delete {}", note.display())), "{text}");
    assert_eq!(fs::read(&path).unwrap(), older, "a refused file is not changed");

    // A damaged note says nothing.
    let whole = fs::read(&note).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&note, damaged).unwrap();
        assert_sample_rows(&RedbStorage::open(&path, &unverified()).unwrap().snapshot().unwrap());
        fs::write(&path, &older).unwrap();
    }
    fs::remove_file(&note).unwrap();
    drop(RedbStorage::open(&path, &unverified()).unwrap());

    fs::write(&path, newer).unwrap();
    fs::write(&note, whole).unwrap();
    drop(RedbStorage::open(&path, &unverified()).unwrap());
}

#[test]
fn a_note_about_another_file_at_the_path_says_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    drop(sample_storage(&path));
    let note = fs::read(acknowledged(&path)).unwrap();
    fs::remove_file(&path).unwrap();
    let mut storage = RedbStorage::open(&path, &unverified()).unwrap();
    assert_eq!(fs::read(acknowledged(&path)).unwrap(), note);
    let mut batch = Batch::new();
    let (key, row) = sample_rows().swap_remove(0);
    batch.put(key, row);
    storage.commit(batch).unwrap();
    assert_ne!(fs::read(acknowledged(&path)).unwrap(), note);
    drop(storage);
    drop(RedbStorage::open(&path, &unverified()).unwrap());
}

/// The file beside a storage with the number of its last commit
fn acknowledged(path: &Path) -> PathBuf {
    path.with_extension("milepost.acknowledged")
}
