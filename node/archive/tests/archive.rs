//! The guarantees of both archives through their public API: conformance, damage, crashes.

use core::time::Duration;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;
use std::{env, fs, thread};

use milepost::ErrorKind;
use milepost::archive::conformance;
use milepost::archive::{
    Archive, Compression, Envelope, MemoryArchive, Origin, WriterId, content_hash,
};
use milepost::endpoint::Engine;
use milepost::import::ImportSettings;
use milepost::primitives::CryptoHash;
use milepost::storage::{Key, MemoryStorage, Row, Snapshot as _, Table};
use milepost_archive::{BUILT_IN_DICTIONARY, CompressedArchive, DirectoryArchive, Level};
use milepost_practice::{Practice, Settings};
use milepost_testkit::Rng;
use tempfile::TempDir;

const ORIGIN: Origin = Origin::of(WriterId(7));

/// An archive in a directory that lives as long as the test
fn temporary(directories: &mut Vec<TempDir>) -> DirectoryArchive {
    let directory = tempfile::tempdir().unwrap();
    let archive = DirectoryArchive::open(directory.path()).unwrap();
    directories.push(directory);
    archive
}

/// The rows of the finalized transactions of a practice chain
fn transactions(seed: u64, blocks: usize) -> Vec<(Key, Row)> {
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let mut chain = Practice::new(Settings::demo(seed));
    let mut hashes = Vec::new();
    for _ in 0..blocks {
        let message = chain.next_message();
        engine.import_block(&message.json, &ImportSettings::default(), &mut storage).unwrap();
        hashes.extend(message.transactions.iter().map(|transaction| transaction.hash));
    }
    let row = |hash: CryptoHash| {
        let content = storage.get(&Key::hash(Table::Transactions, hash)).unwrap()?;
        let row = Envelope::plain(ORIGIN, &content).encode();
        Some((Key::hash(Table::ArchivedTransactions, hash), Row::from(row)))
    };
    hashes.into_iter().filter_map(row).collect()
}

fn bytes(rows: &[(Key, Row)]) -> usize {
    rows.iter().map(|(_, row)| row.len()).sum()
}

fn all(archive: &impl Archive, table: Table) -> Vec<(Key, Row)> {
    let (mut all, mut page) = (Vec::new(), Vec::new());
    loop {
        let after = page.last().map(|(key, _): &(Key, Row)| *key);
        page.clear();
        archive.scan(table, after.as_ref(), 50, &mut page).unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page.iter().cloned());
    }
}

/// Runs two functions in two threads
fn threads(one: &mut (dyn FnMut() + Send), other: &mut (dyn FnMut() + Send)) {
    thread::scope(|scope| {
        scope.spawn(one);
        other();
    });
}

#[test]
fn an_archive_in_a_directory_conforms() {
    let mut directories = Vec::new();
    conformance::check_shared(|| temporary(&mut directories), &threads).unwrap();
    let directory = tempfile::tempdir().unwrap();
    conformance::check_durable(|| DirectoryArchive::open(directory.path())).unwrap();
}

#[test]
fn a_compressed_archive_conforms() {
    let mut directories = Vec::new();
    let make = || CompressedArchive::new(temporary(&mut directories), ORIGIN).unwrap();
    conformance::check_shared(make, &threads).unwrap();
    let directory = tempfile::tempdir().unwrap();
    conformance::check_durable(|| {
        CompressedArchive::new(DirectoryArchive::open(directory.path())?, ORIGIN)
    })
    .unwrap();
}

#[test]
fn rows_are_compressed_trained_on_and_compressed_again() {
    let rows = transactions(1, 160);
    let (training, others) = rows.split_at(rows.len() / 2);
    let archive = CompressedArchive::new(MemoryArchive::new(), ORIGIN).unwrap();
    archive.put_many(training).unwrap();
    let built_in = bytes(&all(archive.inner(), Table::ArchivedTransactions));
    assert!(built_in * 2 < bytes(training), "{built_in} of {}", bytes(training));

    assert_eq!(archive.train(64 << 20, 1).unwrap(), 2);
    archive.put_many(others).unwrap();
    let done = archive.recompress(Table::ArchivedTransactions, Level::Thorough).unwrap();
    assert!(done.rows > 0 && done.bytes_after < done.bytes_before, "{done:?}");

    // A reader that has seen no dictionary yet.
    let reader = CompressedArchive::new(archive.inner(), ORIGIN).unwrap();
    let keys: Vec<Key> = rows.iter().map(|(key, _)| *key).collect();
    let mut found = Vec::new();
    reader.get_many(&keys, &mut found).unwrap();
    for ((key, row), found) in rows.iter().zip(found) {
        assert_eq!(found.as_ref(), Some(row), "{key:?}");
    }
    let mut scanned = all(&reader, Table::ArchivedTransactions);
    let mut expected = rows.clone();
    scanned.sort_by_key(|(key, _)| *key);
    expected.sort_by_key(|(key, _)| *key);
    assert_eq!(scanned, expected);
    let dictionaries = all(archive.inner(), Table::ArchiveDictionaries);
    assert_eq!(dictionaries.len(), 2);
    let first = Envelope::decode(Table::ArchiveDictionaries, &dictionaries[0].1).unwrap();
    assert_eq!(first.content().unwrap(), BUILT_IN_DICTIONARY);
}

#[test]
fn a_conflict_is_kept_by_compression() {
    let directory = tempfile::tempdir().unwrap();
    let archive = DirectoryArchive::open(directory.path()).unwrap();
    let archive = CompressedArchive::new(archive, ORIGIN).unwrap();
    let key = Key::hash(Table::ArchivedTransactions, CryptoHash::digest(b"key"));
    let rows =
        [b'a', b'b'].map(|byte| (key, Row::from(Envelope::plain(ORIGIN, &[byte; 1_000]).encode())));
    archive.put_many(&rows[..1]).unwrap();
    archive.put_many(&rows).unwrap();
    let get = || archive.get_many(&[key], &mut Vec::new());
    assert_eq!(get().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(all(&archive, Table::ArchivedTransactions).len(), 2);
    archive.recompress(Table::ArchivedTransactions, Level::Thorough).unwrap();
    assert_eq!(get().unwrap_err().kind(), ErrorKind::Conflict);
    archive.replace_many(&rows[1..]).unwrap();
    get().unwrap();
    assert_eq!(all(&archive, Table::ArchivedTransactions), rows[1..]);
}

#[test]
fn a_damaged_row_is_an_error_and_takes_no_memory() {
    let content = vec![b'x'; 5_000];
    let key = Key::hash(Table::ArchivedTransactions, CryptoHash::digest(b"key"));
    let inner = MemoryArchive::new();
    let archive = CompressedArchive::new(&inner, ORIGIN).unwrap();
    archive.put_many(&[(key, Row::from(Envelope::plain(ORIGIN, &content).encode()))]).unwrap();
    let (_, row) = all(&inner, Table::ArchivedTransactions).remove(0);
    let envelope = Envelope::decode(Table::ArchivedTransactions, &row).unwrap();
    assert!(matches!(envelope.compression, Compression::Zstd { dictionary: 1, .. }));
    let get = |row: Vec<u8>| {
        inner.replace_many(&[(key, Row::from(row))]).unwrap();
        let mut rows = Vec::new();
        archive.get_many(&[key], &mut rows).map(|()| rows.remove(0))
    };
    let longer = Envelope { content_len: 5_001, ..envelope };
    let huge = Envelope { content_len: u32::MAX, ..envelope };
    let cut = Envelope { payload: &envelope.payload[..envelope.payload.len() / 2], ..envelope };
    let zstd = |dictionary, is_packed| {
        let compression = Compression::Zstd { dictionary, is_packed };
        Envelope { compression, ..envelope }
    };
    let (unknown, not_packed) = (zstd(9, false), zstd(1, true));
    for (wrong, text) in [
        (longer, "5000 bytes, its envelope says 5001"),
        (huge, "the limit is 268435456"),
        (cut, "zstd: "),
        (unknown, "there is no dictionary 9"),
        (not_packed, "it cannot be unpacked"),
    ] {
        let error = get(wrong.encode()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.detail().contains(text), "{error}");
    }
    // Any bytes are an error or a row, and never a panic.
    let packed = format!("{{\"args\":\"{}\"}}", "QUJD".repeat(1_000)).into_bytes();
    archive.replace_many(&[(key, Envelope::plain(ORIGIN, &packed).encode().into())]).unwrap();
    let (_, packed_row) = all(&inner, Table::ArchivedTransactions).remove(0);
    let compression = Envelope::decode(key.table(), &packed_row).unwrap().compression;
    assert!(matches!(compression, Compression::Zstd { is_packed: true, .. }));
    let mut rng = Rng::new(5);
    for (row, content) in [(row, content), (packed_row, packed)] {
        for _ in 0..2_000 {
            let mut damaged = row.to_vec();
            let position = rng.index(damaged.len());
            damaged[position] ^= 1 << rng.below(8);
            let _ = get(damaged);
        }
        let found = get(row.to_vec()).unwrap().unwrap();
        assert_eq!(content_hash(&found).unwrap(), content_hash(&row).unwrap());
        assert_eq!(Envelope::decode(key.table(), &found).unwrap().content().unwrap(), content);
    }
}

#[test]
fn a_directory_is_open_once() {
    let directory = tempfile::tempdir().unwrap();
    let archive = DirectoryArchive::open(directory.path()).unwrap();
    let error = DirectoryArchive::open(directory.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    assert_eq!(error.detail(), "the archive is open already, in this process or another");
    drop(archive);
    DirectoryArchive::open(directory.path()).unwrap();
}

#[test]
fn a_table_with_few_rows_is_written_to_a_file_with_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let archive = DirectoryArchive::open(directory.path()).unwrap();
    archive.put_many(&[numbered(0)]).unwrap();
    // Less than makes any of these tables full, and more than all may have.
    let content = Row::from(Envelope::plain(ORIGIN, &[7; 100_000]).encode());
    let large = [Table::ArchivedTransactions, Table::ArchivedReceipts, Table::ArchivedProofs];
    for number in 0..65_u8 {
        let rows =
            large.map(|table| (Key::hash(table, CryptoHash::digest(&[number])), content.clone()));
        archive.put_many(&rows).unwrap();
    }
    let end = Instant::now() + Duration::from_secs(60);
    while archive.table_bytes(Table::ArchivedConfigs) == 0 {
        assert!(Instant::now() < end, "the row is in memory only");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(all(&archive, Table::ArchivedConfigs), [numbered(0)]);
}

/// The directory of the process that is killed
const KILLED: &str = "MILEPOST_ARCHIVE_KILLED";

/// Rows that are put by the process that is killed: one by one, in this order
fn numbered(number: u64) -> (Key, Row) {
    let content = [number as u8; 3_000];
    let key = Key::number(Table::ArchivedConfigs, number);
    (key, Row::from(Envelope::plain(ORIGIN, &content).encode()))
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    if let Some(directory) = env::var_os(KILLED) {
        let archive = DirectoryArchive::open(Path::new(&directory)).unwrap();
        let mut done = File::create(PathBuf::from(&directory).with_extension("done")).unwrap();
        for number in 0_u64.. {
            archive.put_many(&[numbered(number)]).unwrap();
            // Written whole by one call, or not at all.
            done.write_all(&number.to_le_bytes()).unwrap();
        }
    }
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("archive");
    let done = directory.with_extension("done");
    let acknowledged = || {
        let bytes = fs::read(&done).ok()?;
        bytes.as_chunks().0.last().copied().map(u64::from_le_bytes)
    };
    for kill in 1..=5_u64 {
        let _ = fs::remove_file(&done);
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "archive::what_was_acknowledged_survives_a_kill"])
            .env(KILLED, &directory)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while acknowledged().is_none_or(|number| number < 20 * kill) {
            assert!(child.try_wait().unwrap().is_none(), "the process ended by itself");
            thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let last = acknowledged().unwrap();
        let archive = DirectoryArchive::open(&directory).unwrap();
        let expected: Vec<(Key, Row)> = (0..=last).map(numbered).collect();
        let keys: Vec<Key> = expected.iter().map(|(key, _)| *key).collect();
        let mut rows = Vec::new();
        archive.get_many(&keys, &mut rows).unwrap();
        for ((key, row), found) in expected.iter().zip(rows) {
            assert_eq!(found.as_ref(), Some(row), "{key:?} after kill {kill}");
        }
    }
}

/// fjall's own function waited for ever: power-loss runs with failing calls found it
#[test]
fn compaction_ends_when_files_cannot_be_written() {
    let (sender, ended) = mpsc::channel();
    let directory = tempfile::tempdir().unwrap();
    let archive = DirectoryArchive::open(directory.path()).unwrap();
    archive.put_many(&transactions(5, 10)).unwrap();
    for keyspace in fs::read_dir(directory.path().join("rows/keyspaces")).unwrap() {
        fs::remove_dir_all(keyspace.unwrap().path()).unwrap();
    }
    thread::spawn(move || sender.send(archive.compact()));
    let result = ended.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Storage);
}

#[cfg(unix)]
#[test]
fn whether_there_is_an_archive_is_seen_without_making_one() {
    use std::io::{self, ErrorKind as IoErrorKind};
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let io_kind = |error: &milepost::Error| {
        let source = core::error::Error::source(error).unwrap();
        source.downcast_ref::<io::Error>().unwrap().kind()
    };
    assert!(!DirectoryArchive::exists(path("none")).unwrap());
    fs::create_dir(path("empty")).unwrap();
    assert!(!DirectoryArchive::exists(path("empty")).unwrap());
    fs::write(path("file"), "a text").unwrap();
    let error = DirectoryArchive::exists(path("file")).unwrap_err();
    assert_eq!(io_kind(&error), IoErrorKind::NotADirectory);
    symlink(path("elsewhere"), path("link")).unwrap();
    let error = DirectoryArchive::exists(path("link")).unwrap_err();
    assert_eq!(io_kind(&error), IoErrorKind::NotFound);
    drop(DirectoryArchive::open(path("elsewhere")).unwrap());
    assert!(DirectoryArchive::exists(path("link")).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn an_archive_is_put_aside_and_a_new_one_begins() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::number(Table::ArchivedConfigs, 7);
    let row = Row::from(Envelope::plain(ORIGIN, b"content").encode());
    for number in [1, 2] {
        let archive = DirectoryArchive::open(folder.path()).unwrap();
        let mut rows = Vec::new();
        archive.get_many(&[key], &mut rows).unwrap();
        assert_eq!(rows, [None]);
        archive.put_many(&[(key, row.clone())]).unwrap();
        drop(archive);
        let aside = DirectoryArchive::put_aside(folder.path()).unwrap();
        assert_eq!(aside, folder.path().join(format!("rows.damaged.{number}")));
        assert!(aside.is_dir() && !folder.path().join("rows").exists());
    }
}
