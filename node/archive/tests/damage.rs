//! Damage to the files of an archive in a directory: every row is as it was put, or an error.
//!
//! A file of a closed archive is changed: a bit is flipped, it is cut short, or it is removed. An
//! error is allowed when the directory is opened or a row is read; a row that is missing, or that
//! is another, is not. Every damage is repeated by its seed.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::{fs, io};

use milepost::archive::{Archive, Envelope, Origin, WriterId};
use milepost::primitives::CryptoHash;
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};
use milepost_archive::DirectoryArchive;
use milepost_testkit::Rng;

const ORIGIN: Origin = Origin::of(WriterId(7));
/// Number of damaged directories
const SEEDS: u64 = 400;

/// What is put at once: rows of the tables that are large, of those that are not, and of progress
fn rows(number: u64) -> Vec<(Key, Row)> {
    let row = |table, index: u64, len: usize| {
        let hash = CryptoHash::digest(&[number.to_le_bytes(), index.to_le_bytes()].concat());
        let content: Vec<u8> = hash.as_bytes().iter().copied().cycle().take(len).collect();
        let key = match table {
            Table::ArchivedHeights | Table::ArchiveProgress => Key::number(table, number),
            _ => Key::hash(table, hash),
        };
        (key, Row::from(Envelope::plain(ORIGIN, &content).encode()))
    };
    let mut rows: Vec<_> =
        (0..4).map(|index| row(Table::ArchivedTransactions, index, 200)).collect();
    rows.extend((0..8).map(|index| row(Table::ArchivedReceipts, index, 32)));
    rows.push(row(Table::ArchivedBlocks, 0, 120));
    rows.push(row(Table::ArchivedHeights, 0, 32));
    rows.push(row(Table::ArchiveProgress, 0, 60));
    rows
}

/// Puts what belongs to these numbers, and the rows that are there then
fn put(archive: &DirectoryArchive, numbers: core::ops::Range<u64>, all: &mut Vec<(Key, Row)>) {
    for number in numbers {
        archive.put_many(&rows(number)).unwrap();
        all.extend(rows(number));
    }
}

/// Opens the archive and reads all rows; the first error, or the first row that is not as expected
fn check(directory: &Path, expected: &[(Key, Row)]) -> Result<Option<Error>, String> {
    let archive = match DirectoryArchive::open(directory) {
        Ok(archive) => archive,
        Err(error) => return Ok(Some(error)),
    };
    let (mut found, mut first) = (Vec::new(), None);
    for (key, row) in expected {
        found.clear();
        match archive.get_many(&[*key], &mut found) {
            Ok(()) if found.first().and_then(Option::as_ref) == Some(row) => {}
            Ok(()) => {
                return Err(format!(
                    "{} {key:?} is not as it was put: {found:?}",
                    key.table().name()
                ));
            }
            Err(error) => first = first.or(Some(error)),
        }
    }
    Ok(first)
}

fn files(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { self::files(&path, files)? } else { files.push(path) }
    }
    files.sort();
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?
        } else {
            fs::copy(entry.path(), to).map(drop)?;
        }
    }
    Ok(())
}

fn copy_of(directory: &Path, parent: &Path) -> PathBuf {
    let to = parent.join("copy");
    copy(directory, &to).unwrap();
    to
}

/// Damages one of the files of a directory; what was done
fn damage(directory: &Path, rng: &mut Rng) -> String {
    let mut paths = Vec::new();
    files(directory, &mut paths).unwrap();
    let is_table = |path: &PathBuf| path.parent().unwrap().ends_with("tables");
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|name| name == "jnl");
    // There are a few journals and many tables, and what is in a table has a checksum of fjall.
    match rng.below(4) {
        0 => paths.retain(is_table),
        1 | 2 => paths.retain(is_journal),
        _ => paths.retain(|path| !is_table(path)),
    }
    let path = rng.pick(&paths);
    let mut bytes = fs::read(path).unwrap();
    let place = rng.index(bytes.len());
    // What an older journal had could be in tables, where it is not if its file is there.
    let may_be_removed =
        !is_journal(path) || paths.iter().rfind(|path| is_journal(path)) == Some(path);
    let done = match rng.below(8) {
        0 if may_be_removed => {
            fs::remove_file(path).unwrap();
            "removed".to_owned()
        }
        0..3 => {
            let length = if rng.one_in(4) { 0 } else { place };
            fs::write(path, &bytes[..length]).unwrap();
            format!("cut from {} to {length} bytes", bytes.len())
        }
        _ if bytes.is_empty() => "empty".to_owned(),
        _ => {
            bytes[place] ^= 1 << rng.below(8);
            fs::write(path, &bytes).unwrap();
            format!("bit flipped at {place} of {}", bytes.len())
        }
    };
    format!("{}: {done}", path.strip_prefix(directory).unwrap().display())
}

/// Divides the journal between two batches, as fjall does when it has 64 MB
fn divide_journal(directory: &Path) {
    let path = directory.join("rows/0.jnl");
    let journal = fs::read(&path).unwrap();
    let ends = journal.windows(5).enumerate().filter(|(_, bytes)| bytes == b"FJL\x03\x01");
    let ends: Vec<usize> = ends.map(|(start, _)| start + 4).collect();
    let (older, newer) = journal.split_at(ends[ends.len() * 2 / 3]);
    fs::write(path, older).unwrap();
    fs::write(directory.join("rows/1.jnl"), newer).unwrap();
}

#[test]
fn damage_is_an_error_and_never_a_missing_or_another_row() {
    // In memory where there is such a directory: each opening syncs some files.
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory } else { &std::env::temp_dir() };
    let parent = tempfile::tempdir_in(parent).unwrap();
    let original = parent.path().join("original");
    let mut expected = Vec::new();
    let archive = DirectoryArchive::open(&original).unwrap();
    put(&archive, 0..10, &mut expected);
    archive.compact().unwrap();
    put(&archive, 10..14, &mut expected);
    drop(archive);
    // Opened twice, so that the journal is as long as its batches are.
    let archive = DirectoryArchive::open(&original).unwrap();
    put(&archive, 14..20, &mut expected);
    drop(archive);
    let divided = parent.path().join("divided");
    copy(&original, &divided).unwrap();
    divide_journal(&divided);
    for directory in [&original, &divided] {
        // Of a copy: opening it may change it.
        let directory = &copy_of(directory, parent.path());
        assert!(check(directory, &expected).unwrap().is_none());
        fs::remove_dir_all(directory).unwrap();
    }

    let (mut failures, mut errors) = (Vec::new(), 0);
    for seed in 0..SEEDS {
        let directory = copy_of(if seed % 2 == 0 { &original } else { &divided }, parent.path());
        let done = damage(&directory, &mut Rng::new(seed));
        let result = catch_unwind(AssertUnwindSafe(|| check(&directory, &expected)));
        match result.unwrap_or_else(|_| Err("a panic".to_owned())) {
            Ok(None) => {}
            Ok(Some(error)) => {
                let kinds = [ErrorKind::Corrupt, ErrorKind::Storage, ErrorKind::Version];
                assert!(kinds.contains(&error.kind()), "seed {seed}, {done}: {error}");
                errors += 1;
            }
            Err(failure) => failures.push(format!("seed {seed}, {done}: {failure}")),
        }
        fs::remove_dir_all(&directory).unwrap();
    }
    assert!(failures.is_empty(), "{} of {SEEDS}:\n{}", failures.len(), failures.join("\n"));
    assert!(errors > SEEDS / 4, "{errors} of {SEEDS} were noticed");
}

/// After a power failure the number of an acknowledged put may be an earlier one, or none
#[test]
fn a_batch_that_a_power_failure_tore_is_left_out() {
    let parent = tempfile::tempdir().unwrap();
    let original = parent.path().join("original");
    let archive = DirectoryArchive::open(&original).unwrap();
    let mut expected = Vec::new();
    put(&archive, 0..3, &mut expected);
    let earlier = fs::read(original.join("rows/acknowledged")).unwrap();
    archive.put_many(&rows(3)).unwrap();
    drop(archive);
    let journal = fs::read(original.join("rows/0.jnl")).unwrap();
    let end = journal.iter().rposition(|byte| *byte != 0).unwrap();
    // The end of the batch, or a part within that is shorter than it.
    let mut within = journal.clone();
    within[end - 600..end - 300].fill(0);
    let torn = [[&journal[..end - 10], &[0; 4096]].concat(), within];
    let numbers = [&earlier[..], &earlier[..10], &[]];
    for (torn, acknowledged) in torn.iter().flat_map(|torn| numbers.map(|number| (torn, number))) {
        let directory = copy_of(&original, parent.path());
        fs::write(directory.join("rows/0.jnl"), torn).unwrap();
        let number = directory.join("rows/acknowledged");
        fs::write(&number, acknowledged).unwrap();
        assert!(check(&directory, &expected).unwrap().is_none());
        // The next put continues after the last one that is there.
        let archive = DirectoryArchive::open(&directory).unwrap();
        archive.put_many(&rows(4)).unwrap();
        assert_ne!(fs::read(number).unwrap(), earlier);
        drop(archive);
        assert!(check(&directory, &[&expected[..], &rows(4)].concat()).unwrap().is_none());
        fs::remove_dir_all(directory).unwrap();
    }
    let error = check(&original, &[]).unwrap();
    assert!(error.is_none(), "{error:?}");
}
