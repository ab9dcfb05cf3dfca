//! Sudden death: a process that commits batch after batch is killed, again and again.
//!
//! The process is this test binary, run again with one test and an environment variable. It says
//! the number of each batch after its commit returned. Whatever it said must be in the file,
//! whole; the batch after it may be, whole.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write, stdout};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

use milepost::facts::{Batch, Key, Rows, Storage, Table};
use milepost_redb::{OpenErrorKind, Options, RedbStorage};
use milepost_testkit::mix;

use crate::{unverified, verified};

const PATH: &str = "MILEPOST_KILL_TEST_PATH";
const ROUNDS: u64 = 48;
/// Batches after which a batch is removed, in the batch that is as much later
const KEPT: u64 = 25;

fn rows_of(number: u64) -> Vec<(Key, Vec<u8>)> {
    let tables = [Table::Blocks, Table::Transactions, Table::Outcomes, Table::Receipts];
    (0..8_u64)
        .map(|row| {
            let length =
                if (number + row).is_multiple_of(13) { 30_000 } else { 200 + row as usize * 90 };
            // Spread like hashes, so that a batch changes many pages.
            let key = mix(number * 8 + row);
            let bytes = (0..length).map(|position| (position as u64 * 3 + number + row) as u8);
            (Key::number(tables[row as usize % 4], key), bytes.collect())
        })
        .collect()
}

/// The row that every batch replaces: its number
const fn counter() -> (Table, u64) {
    (Table::Chain, 0)
}

fn count(storage: &impl Rows) -> u64 {
    let (table, number) = counter();
    let row = storage.get(&Key::number(table, number)).unwrap();
    row.map_or(0, |row| u64::from_le_bytes(row[..].try_into().unwrap()))
}

/// Not a test by itself: the process that is killed
#[test]
fn child_commits_until_killed() {
    let Some(path) = env::var_os(PATH) else { return };
    let mut storage = RedbStorage::open(path, &unverified()).unwrap();
    for number in count(&storage) + 1.. {
        let mut batch = Batch::new();
        for (key, row) in rows_of(number) {
            batch.put(key, row);
        }
        if number > KEPT {
            rows_of(number - KEPT).into_iter().for_each(|(key, _)| batch.remove(key));
        }
        let (table, place) = counter();
        batch.put(Key::number(table, place), number.to_le_bytes().as_slice());
        storage.commit(batch).unwrap();
        writeln!(stdout(), "\ncommitted {number}").unwrap();
    }
}

/// The process, which is killed when the test ends in whatever way
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        // Errors when it is dead already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(path: &Path) -> (Victim, BufReader<ChildStdout>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "kill::child_commits_until_killed", "--nocapture"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (Victim(child), output)
}

fn acknowledged(line: &str) -> Option<u64> {
    line.strip_prefix("committed ")?.trim_end().parse().ok()
}

fn assert_whole(storage: &impl Rows, last: u64) -> u64 {
    let count = count(storage);
    assert!(count == last || count == last + 1, "{count} batches, {last} acknowledged");
    for number in 1..=count + 1 {
        let there = number <= count && number + KEPT > count;
        for (key, row) in rows_of(number) {
            let expected = there.then_some(row.as_slice());
            assert_eq!(
                storage.get(&key).unwrap().as_deref(),
                expected,
                "batch {number} of {count}"
            );
        }
    }
    count
}

#[test]
fn every_acknowledged_batch_survives_a_kill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.milepost");
    let mut last = 0;
    for round in 0..ROUNDS {
        let (mut victim, output) = start(&path);
        let mut lines = output.lines().map(Result::unwrap);
        // Some rounds end before anything is said, some in the middle of opening.
        for number in lines.by_ref().filter_map(|line| acknowledged(&line)).take(round as usize % 7)
        {
            assert_eq!(number, last + 1);
            last = number;
        }
        // Another moment each time, in units of nothing in particular.
        for _ in 0..round * 131 % 40 {
            thread::yield_now();
        }
        if round == 6 {
            let error = RedbStorage::open(&path, &verified()).unwrap_err();
            assert_eq!(error.kind(), OpenErrorKind::Locked, "{error}");
        }
        victim.0.kill().unwrap();
        victim.0.wait().unwrap();
        // A line is written whole or not at all, as it is shorter than a pipe's unit.
        for number in lines.filter_map(|line| acknowledged(&line)) {
            assert_eq!(number, last + 1);
            last = number;
        }

        if !fs::exists(&path).unwrap() {
            assert_eq!(last, 0, "the file is gone");
            continue;
        }
        // By turns: leave the crash to the next process, or open at once.
        if round % 3 != 0 {
            let options = if round % 2 == 0 { verified() } else { unverified() };
            last = assert_whole(&RedbStorage::open(&path, &options).unwrap(), last);
        } else {
            last = count(&RedbStorage::open(&path, &Options::default()).unwrap());
        }
    }
    assert!(last > ROUNDS, "only {last} batches were committed");
}

/// Death while the file is made leaves no half-made file in the way
#[test]
fn a_kill_while_the_file_is_made_leaves_none_or_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..24 {
        let path = folder.path().join(format!("{round}.milepost"));
        let (mut victim, output) = start(&path);
        // Until the test harness speaks, then a little later each time.
        let mut lines = output.lines().map(Result::unwrap);
        lines.next();
        for _ in 0..round {
            thread::yield_now();
            fs::exists(&path).unwrap();
        }
        victim.0.kill().unwrap();
        victim.0.wait().unwrap();
        let last = lines.filter_map(|line| acknowledged(&line)).last().unwrap_or(0);
        assert_whole(&RedbStorage::open(&path, &verified()).unwrap(), last);
    }
}
