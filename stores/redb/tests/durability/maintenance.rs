//! Reading every row of a file, sizes of tables, compaction, and copies.

use std::fs;

use milepost::storage::{Batch, Key, Storage as _, Table};
use milepost::{Error, ErrorKind};
use milepost_redb::{FileCopy, Options, RedbSnapshot, RedbStorage};

use crate::{assert_sample_rows, sample_rows, sample_storage, unverified, verified};

/// All rows of all tables, and the errors in between
fn rows_of(snapshot: &RedbSnapshot) -> (Vec<(Key, Vec<u8>)>, Vec<Error>) {
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    for table in Table::ALL {
        let read = snapshot.for_each_row(table, &mut |row| {
            match row {
                Ok((key, row)) => rows.push((key, row.to_vec())),
                Err(error) => errors.push(error),
            }
            Ok(())
        });
        errors.extend(read.err());
    }
    (rows, errors)
}

#[test]
fn every_row_is_visited_once_in_the_order_of_keys() {
    let directory = tempfile::tempdir().unwrap();
    let storage = sample_storage(&directory.path().join("chain.milepost"));
    let snapshot = storage.snapshot().unwrap();
    let (rows, errors) = rows_of(&snapshot);
    assert_eq!(errors, []);
    let mut expected = sample_rows();
    expected.sort_by_key(|(key, _)| (key.table(), key.bytes_in_table().to_vec()));
    assert_eq!(rows, expected);
    for table in Table::ALL {
        let size = snapshot.table_size(table).unwrap();
        let in_table = || rows.iter().filter(|(key, _)| key.table() == table);
        assert_eq!(size.rows, in_table().count() as u64);
        let bytes: usize =
            in_table().map(|(key, row)| key.bytes_in_table().len() + 8 + row.len()).sum();
        assert!(size.stored_bytes >= bytes as u64 && size.page_bytes >= size.stored_bytes);
    }
}

#[test]
fn an_error_of_the_visitor_ends_the_visit() {
    let directory = tempfile::tempdir().unwrap();
    let storage = sample_storage(&directory.path().join("chain.milepost"));
    let mut visits = 0;
    let stopped = storage.snapshot().unwrap().for_each_row(Table::Blocks, &mut |_| {
        visits += 1;
        Err(Error::new(ErrorKind::Storage, "enough"))
    });
    assert_eq!((stopped.unwrap_err().detail(), visits), ("enough", 1));
}

#[test]
fn a_damaged_row_is_an_error_between_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    let mut storage = sample_storage(&path);
    // No other row has its bytes.
    let key = Key::number(Table::Heights, 1 << 40);
    let row: Vec<u8> = (0..1000_u32).map(|position| (position * position % 251) as u8).collect();
    let mut batch = Batch::new();
    batch.put(key, row.as_slice());
    storage.commit(batch).unwrap();
    drop(storage);
    let mut file = fs::read(&path).unwrap();
    let at = file.windows(row.len()).rposition(|bytes| bytes == row).unwrap();
    // Every copy of the row, because it may also be on a page that is free.
    for at in (0..=at).rev() {
        if file[at..].starts_with(&row) {
            file[at + 500] ^= 1;
        }
    }
    fs::write(&path, file).unwrap();

    let storage = RedbStorage::open(&path, &unverified()).unwrap();
    let (rows, errors) = rows_of(&storage.snapshot().unwrap());
    assert_eq!(rows.len(), sample_rows().len());
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].kind(), ErrorKind::Corrupt);
    assert!(errors[0].to_string().contains(&format!("{key:?}")), "{}", errors[0]);
    drop(storage);
    let error = RedbStorage::open(&path, &verified()).unwrap_err();
    assert_eq!(Error::from(error).kind(), ErrorKind::Corrupt);
}

#[test]
fn a_compacted_file_is_smaller_and_has_the_same_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    let mut storage = sample_storage(&path);
    let ballast = |number: u64| Key::number(Table::Heights, (1 << 40) + number);
    let mut batch = Batch::new();
    (0..200).for_each(|number| batch.put(ballast(number), vec![7; 40_000]));
    storage.commit(batch).unwrap();
    let mut batch = Batch::new();
    (0..200).for_each(|number| batch.remove(ballast(number)));
    storage.commit(batch).unwrap();

    let snapshot = storage.snapshot().unwrap();
    assert_eq!(storage.compact().unwrap_err().kind(), ErrorKind::Usage);
    drop(snapshot);
    let before = fs::metadata(&path).unwrap().len();
    storage.compact().unwrap();
    assert_sample_rows(&storage.snapshot().unwrap());
    drop(storage);
    let after = fs::metadata(&path).unwrap().len();
    assert!(after < before / 2, "{before} bytes, then {after}");
    assert_sample_rows(&RedbStorage::open(&path, &verified()).unwrap().snapshot().unwrap());
}

#[test]
fn a_copy_gets_its_name_when_it_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("copy.milepost");
    let copy = || {
        let mut copy = FileCopy::create(&to).unwrap();
        sample_rows().iter().try_for_each(|(key, row)| copy.put(*key, row)).unwrap();
        copy
    };
    drop(copy());
    let abandoned = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(abandoned, 0, "a copy that was abandoned leaves nothing");

    copy().finish().unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    let storage = RedbStorage::open(&to, &Options::default()).unwrap();
    assert_eq!(rows_of(&storage.snapshot().unwrap()).0.len(), sample_rows().len());
    let error = FileCopy::create(&to).unwrap_err();
    assert!(error.to_string().contains("there is a file already"), "{error}");
}

#[test]
fn a_copy_does_not_replace_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let to = directory.path().join("copy.milepost");
    let copy = FileCopy::create(&to).unwrap();
    fs::write(&to, "of another").unwrap();
    assert!(copy.finish().is_err());
    assert_eq!(fs::read(&to).unwrap(), b"of another");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}
