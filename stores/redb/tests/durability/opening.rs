//! Which files are opened and which are rejected; a rejected file is not changed.

use core::error::Error as _;
use std::path::Path;
use std::{fs, io};

use milepost::storage::{Batch, Key, Snapshot, Storage, Table};
use milepost::{Error, ErrorKind};
use milepost_redb::{OpenError, OpenErrorKind, Options, RedbSnapshot, RedbStorage};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::{assert_sample_rows, sample_storage, unverified, verified};

const HEADER: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("milepost");

#[track_caller]
fn assert_rejected(path: &Path, kind: OpenErrorKind) -> OpenError {
    let before = fs::read(path).unwrap();
    let error = RedbStorage::open(path, &Options::default()).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert_eq!(error.path(), path);
    assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    assert!(fs::read(path).unwrap() == before, "a rejected file was changed");
    error
}

/// Changes the header row of the storage at this path by redb
fn set_header(path: &Path, header: &[u8]) {
    let database = Database::open(path).unwrap();
    let mut transaction = database.begin_write().unwrap();
    transaction.set_quick_repair(true);
    transaction.open_table(HEADER).unwrap().insert("format", header).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn opening_a_missing_file_creates_it_and_the_file_of_its_commits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    let storage = RedbStorage::open(&path, &Options::default()).unwrap();
    assert_eq!(storage.path(), path);
    drop(storage);
    let mut files: Vec<_> =
        fs::read_dir(&directory).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert_eq!(files, [path.clone(), path.with_extension("milepost.acknowledged")]);
}

#[test]
fn the_file_has_one_redb_table_per_table_and_a_header() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    drop(sample_storage(&path));
    let database = Database::open(&path).unwrap();
    let transaction = database.begin_read().unwrap();
    let mut names: Vec<String> = transaction
        .list_tables()
        .unwrap()
        .map(|table| redb::TableHandle::name(&table).to_owned())
        .collect();
    let mut expected: Vec<&str> = Table::ALL.map(Table::name).to_vec();
    expected.push("milepost");
    expected.sort_unstable();
    names.sort();
    assert_eq!(names, expected);
    let header = transaction.open_table(HEADER).unwrap().get("format").unwrap().unwrap();
    assert_eq!(header.value(), b"milepost storage\x03\0\0\0");
}

#[test]
fn a_missing_directory_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("absent").join("chain.milepost");
    let error = RedbStorage::open(&path, &Options::default()).unwrap_err();
    assert_eq!(error.kind(), OpenErrorKind::Io);
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>()).unwrap();
    assert_eq!(cause.kind(), io::ErrorKind::NotFound);
    let converted = Error::from(error.clone());
    assert_eq!(converted.kind(), ErrorKind::Storage);
    assert_eq!(converted.source().and_then(|cause| cause.downcast_ref()), Some(&error));
}

#[test]
fn other_files_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");

    fs::write(&path, b"").unwrap();
    let error = assert_rejected(&path, OpenErrorKind::NotAStorage);
    assert_eq!(error.detail(), "the file is empty, so it is not or no longer a milepost storage");
    for other in [&b"{}"[..], b"redb", &[0; 1 << 16], b"SQLite format 3\0"] {
        fs::write(&path, other).unwrap();
        assert_rejected(&path, OpenErrorKind::NotAStorage);
    }

    let error = RedbStorage::open(directory.path(), &Options::default()).unwrap_err();
    assert_eq!(error.kind(), OpenErrorKind::NotAStorage, "{error}");
}

#[test]
fn redb_databases_of_other_programs_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other.redb");
    let database = Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    let table = TableDefinition::<u64, u64>::new("blocks");
    transaction.open_table(table).unwrap().insert(1, 2).unwrap();
    transaction.commit().unwrap();
    drop(database);

    let error = assert_rejected(&path, OpenErrorKind::NotAStorage);
    assert_eq!(error.detail(), "the file is a redb database of another program");

    for header in
        [&b"another program's format"[..], b"", b"milepost storage", b"milepost storage\x01"]
    {
        set_header(&path, header);
        assert_rejected(&path, OpenErrorKind::NotAStorage);
    }
}

#[test]
fn other_format_versions_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    drop(sample_storage(&path));
    for version in [0_u32, 2, 4, u32::MAX] {
        set_header(&path, &[b"milepost storage", &version.to_le_bytes()[..]].concat());
        let error = assert_rejected(&path, OpenErrorKind::Version);
        assert_eq!(
            error.detail(),
            format!("the file has format version {version}, this release reads version 3")
        );
        assert_eq!(Error::from(error).kind(), ErrorKind::Version);
    }
    set_header(&path, b"milepost storage\x03\0\0\0");
    let storage = RedbStorage::open(&path, &Options::default()).unwrap();
    assert_sample_rows(&storage.snapshot().unwrap());
}

#[test]
fn an_open_file_is_locked_until_the_last_handle_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    let storage = sample_storage(&path);
    let error = assert_rejected(&path, OpenErrorKind::Locked);
    assert_eq!(error.detail(), "the file is open already, in this process or another");

    let snapshot = storage.clone().snapshot().unwrap();
    drop(storage);
    assert_rejected(&path, OpenErrorKind::Locked);
    assert_sample_rows(&snapshot);
    drop(snapshot);
    let storage = RedbStorage::open(&path, &Options::default()).unwrap();
    assert_sample_rows(&storage.snapshot().unwrap());
}

#[test]
fn a_row_under_the_key_of_another_is_corrupt() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    let [first, second] = [1, 2].map(|number| Key::number(Table::Heights, number));
    let mut storage = RedbStorage::open(&path, &Options::default()).unwrap();
    let mut batch = Batch::new();
    batch.put(first, &b"row"[..]);
    storage.commit(batch).unwrap();
    drop(storage);

    let database = Database::open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    {
        let table = TableDefinition::<&[u8], &[u8]>::new("heights");
        let mut table = transaction.open_table(table).unwrap();
        let row = table.get(first.bytes_in_table()).unwrap().unwrap().value().to_vec();
        table.insert(second.bytes_in_table(), row.as_slice()).unwrap();
        table.insert(&[7_u8][..], &b"short"[..]).unwrap();
    }
    transaction.commit().unwrap();
    drop(database);

    let storage = RedbStorage::open(&path, &Options::default()).unwrap();
    let snapshot = storage.snapshot().unwrap();
    assert_eq!(snapshot.get(&first).unwrap().as_deref(), Some(&b"row"[..]));
    let error = snapshot.get(&second).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(
        error.to_string(),
        "heights/0000000000000002: 11 bytes on disk do not match their checksum"
    );
    let short = Key::new(Table::Heights, &[7]).unwrap();
    assert_eq!(snapshot.get(&short).unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(snapshot.get_many(&[first, second], &mut Vec::new()).is_err());
}

/// Closed, and as a crash leaves it
#[test]
fn a_snapshot_of_a_file_does_not_change_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    let storage = sample_storage(&path);
    let crashed = fs::read(&path).unwrap();
    let error = RedbSnapshot::open(&path, &verified()).unwrap_err();
    assert_eq!(error.kind(), OpenErrorKind::Locked, "{error}");
    drop(storage);
    let closed = fs::read(&path).unwrap();
    assert_ne!(closed, crashed);
    for file in [closed, crashed] {
        fs::write(&path, &file).unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        for options in [verified(), unverified()] {
            let first = RedbSnapshot::open(&path, &options).unwrap();
            let second = RedbSnapshot::open(&path, &options).unwrap();
            assert_sample_rows(&first);
            assert_sample_rows(&second);
            drop(first);
            assert_sample_rows(&second);
        }
        assert!(fs::read(&path).unwrap() == file, "the file has changed");
        fs::remove_file(&path).unwrap();
    }
    let error = RedbSnapshot::open(&path, &verified()).unwrap_err();
    assert_eq!(error.kind(), OpenErrorKind::Io, "{error}");
}

#[test]
fn a_file_that_is_gone_is_known_by_its_note() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    assert_eq!(RedbStorage::is_gone(&path), Ok(false));
    drop(RedbStorage::open(&path, &Options::default()).unwrap());
    // Nothing was acknowledged yet.
    fs::remove_file(&path).unwrap();
    assert_eq!(RedbStorage::is_gone(&path), Ok(false));
    drop(sample_storage(&path));
    assert_eq!(RedbStorage::is_gone(&path), Ok(false));
    fs::remove_file(&path).unwrap();
    assert_eq!(RedbStorage::is_gone(&path), Ok(true));
    RedbStorage::forget_acknowledged(&path).unwrap();
    assert_eq!(RedbStorage::is_gone(&path), Ok(false));
    RedbStorage::forget_acknowledged(&path).unwrap();
}

#[test]
fn what_was_a_storage_is_damaged_and_can_be_put_aside() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    for (number, content) in [(1, ""), (2, "a text")] {
        drop(sample_storage(&path));
        fs::write(&path, content).unwrap();
        assert_rejected(&path, OpenErrorKind::Damaged);
        let aside = RedbStorage::put_aside(&path).unwrap();
        assert_eq!(aside, directory.path().join(format!("chain.milepost.damaged.{number}")));
        assert_eq!(fs::read_to_string(&aside).unwrap(), content);
        assert!(!path.exists());
    }
    let error = RedbStorage::put_aside(&path).unwrap_err();
    assert_eq!(error.kind(), OpenErrorKind::Io);
}
