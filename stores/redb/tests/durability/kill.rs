//! Crashes: a process that commits batch after batch is killed, repeatedly.
//!
//! The process is this test binary, run with one test and an environment variable. It prints the
//! number of each batch after its commit returned. Every batch that it printed must be in the file,
//! complete; the next one may be, complete.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write, stdout};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

use milepost::storage::{Batch, Key, Snapshot, Storage, Table};
use milepost_redb::{OpenErrorKind, Options, RedbStorage};
use milepost_testkit::mix;

use crate::{unverified, verified};

const PATH: &str = "MILEPOST_KILL_TEST_PATH";
const ROUNDS: u64 = 48;
/// Number of batches that are kept: a later batch removes the rows of the one this much earlier
const RETAINED: u64 = 25;

fn rows_of(number: u64) -> Vec<(Key, Vec<u8>)> {
    let tables = [Table::Blocks, Table::Transactions, Table::Outcomes, Table::Receipts];
    (0..8_u64)
        .map(|row| {
            let length =
                if (number + row).is_multiple_of(13) { 30_000 } else { 200 + row as usize * 90 };
            // Distributed like hashes, so that a batch changes many pages.
            let key = mix(number * 8 + row);
            let bytes = (0..length).map(|position| (position as u64 * 3 + number + row) as u8);
            (Key::number(tables[row as usize % 4], key), bytes.collect())
        })
        .collect()
}

/// The row that every batch replaces; it has the number of the batch
const fn counter() -> (Table, u64) {
    (Table::Chain, 0)
}

fn count(storage: &RedbStorage) -> u64 {
    let (table, number) = counter();
    let row = storage.snapshot().unwrap().get(&Key::number(table, number)).unwrap();
    row.map_or(0, |row| u64::from_le_bytes(row[..].try_into().unwrap()))
}

/// Not a test: the process that is killed
#[test]
fn child_commits_until_killed() {
    let Some(path) = env::var_os(PATH) else { return };
    let mut storage = RedbStorage::open(path, &unverified()).unwrap();
    for number in count(&storage) + 1.. {
        let mut batch = Batch::new();
        for (key, row) in rows_of(number) {
            batch.put(key, row);
        }
        if number > RETAINED {
            rows_of(number - RETAINED).into_iter().for_each(|(key, _)| batch.remove(key));
        }
        let (table, key) = counter();
        batch.put(Key::number(table, key), number.to_le_bytes().as_slice());
        storage.commit(batch).unwrap();
        writeln!(stdout(), "\ncommitted {number}").unwrap();
    }
}

/// The process, which is killed at the latest when the test ends
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // An error if it ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(path: &Path) -> (KillOnDrop, BufReader<ChildStdout>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "kill::child_commits_until_killed", "--nocapture"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (KillOnDrop(child), output)
}

fn acknowledged(line: &str) -> Option<u64> {
    line.strip_prefix("committed ")?.trim_end().parse().ok()
}

/// Asserts that the file contains all acknowledged batches, and at most one more; returns their
/// count
fn assert_complete(storage: &RedbStorage, last: u64) -> u64 {
    let (count, snapshot) = (count(storage), storage.snapshot().unwrap());
    assert!(count == last || count == last + 1, "{count} batches, {last} acknowledged");
    for number in 1..=count + 1 {
        let is_present = number <= count && number + RETAINED > count;
        for (key, row) in rows_of(number) {
            let expected = is_present.then_some(row.as_slice());
            assert_eq!(
                snapshot.get(&key).unwrap().as_deref(),
                expected,
                "batch {number} of {count}"
            );
        }
    }
    count
}

#[test]
fn every_acknowledged_batch_survives_a_kill_at_any_moment() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    let mut last = 0;
    for round in 0..ROUNDS {
        let (mut child, output) = start(&path);
        let mut lines = output.lines().map(Result::unwrap);
        // Some rounds end before the first line, some while the file is being opened.
        for number in lines.by_ref().filter_map(|line| acknowledged(&line)).take(round as usize % 7)
        {
            assert_eq!(number, last + 1);
            last = number;
        }
        // A different delay each time.
        for _ in 0..round * 131 % 40 {
            thread::yield_now();
        }
        if round == 6 {
            let error = RedbStorage::open(&path, &verified()).unwrap_err();
            assert_eq!(error.kind(), OpenErrorKind::Locked, "{error}");
        }
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        // A line is written at once or not at all, because it is shorter than `PIPE_BUF`.
        for number in lines.filter_map(|line| acknowledged(&line)) {
            assert_eq!(number, last + 1);
            last = number;
        }

        if !fs::exists(&path).unwrap() {
            assert_eq!(last, 0, "the file is gone");
            continue;
        }
        // Alternately: the next process opens the file first, or this one.
        if round % 3 != 0 {
            let options = if round % 2 == 0 { verified() } else { unverified() };
            last = assert_complete(&RedbStorage::open(&path, &options).unwrap(), last);
        } else {
            last = count(&RedbStorage::open(&path, &Options::default()).unwrap());
        }
    }
    assert!(last > ROUNDS, "only {last} batches were committed");
}

#[test]
fn a_kill_during_creation_leaves_no_file_or_a_complete_one() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..24 {
        let path = directory.path().join(format!("{round}.milepost"));
        let (mut child, output) = start(&path);
        // Until the first line of the test harness, then a little later each time.
        let mut lines = output.lines().map(Result::unwrap);
        lines.next();
        for _ in 0..round {
            thread::yield_now();
            fs::exists(&path).unwrap();
        }
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        let last = lines.filter_map(|line| acknowledged(&line)).last().unwrap_or(0);
        assert_complete(&RedbStorage::open(&path, &verified()).unwrap(), last);
    }
}
