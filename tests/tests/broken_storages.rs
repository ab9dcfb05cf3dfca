//! Broken storages, each under each isolation, and the verdict of the conformance kit on them.
//!
//! The verdicts are those of the table in `docs/CONFORMANCE.md`. Programs in C and C++ and a test
//! in JavaScript have the same storages. No storage waits for its
//! reader: half a commit is shown for as long as the other half takes to be written twice.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, RwLock};
use std::thread;

use milepost::Error;
use milepost::storage::conformance::{self, Violation};
use milepost::storage::{Batch, Isolation, Key, MemoryStorage, Row, Snapshot, Storage};
use milepost_tests::conformance_table;

/// The defect of a storage
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Defect {
    LockPerRow,
    TornCommit,
    VisibleEarly,
    LostWrite,
    StaleSnapshot,
    SharedSnapshot,
    ReorderedKeys,
    ForgottenDelete,
    WrongLength,
    TruncatedKey,
    SwallowedError,
    OffByOne,
    None,
}

/// The defects by their names in the table
const DEFECTS: [(&str, Defect); 13] = [
    ("one lock per row", Defect::LockPerRow),
    ("torn commit", Defect::TornCommit),
    ("commit visible early", Defect::VisibleEarly),
    ("lost write", Defect::LostWrite),
    ("stale snapshot", Defect::StaleSnapshot),
    ("shared snapshot", Defect::SharedSnapshot),
    ("reordered keys", Defect::ReorderedKeys),
    ("forgotten delete", Defect::ForgottenDelete),
    ("wrong length of get_many", Defect::WrongLength),
    ("truncated key", Defect::TruncatedKey),
    ("error swallowed", Defect::SwallowedError),
    ("range off by one", Defect::OffByOne),
    ("correct", Defect::None),
];

/// How a storage is read while it changes, in the order of the table's columns
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    Exclusive,
    Snapshots,
    ReadCommitted,
}

/// A row with its lock
type LockedRow = Arc<Mutex<Option<Row>>>;

/// The rows of a storage with one of the defects
#[derive(Default)]
struct Rows {
    /// Under one lock
    rows: RwLock<Arc<MemoryStorage>>,
    /// With one lock for each
    locked: RwLock<BTreeMap<Key, LockedRow>>,
    /// The copy of stale snapshots
    copy: Mutex<Arc<MemoryStorage>>,
}

/// A handle of a storage, or a reader of it
#[derive(Clone)]
struct Broken {
    rows: Arc<Rows>,
    /// The rows of a snapshot; without, the newest ones are read
    snapshot: Option<Arc<MemoryStorage>>,
    defect: Defect,
    mode: Mode,
    commits: usize,
}

impl Broken {
    fn new(defect: Defect, mode: Mode) -> Self {
        Self { rows: Arc::default(), snapshot: None, defect, mode, commits: 0 }
    }

    /// A copy of all rows as they are now
    fn copy(&self) -> Arc<MemoryStorage> {
        let newest = || Arc::clone(&self.rows.rows.read().unwrap());
        match self.defect {
            Defect::LockPerRow => {
                let mut copy = Batch::new();
                for (key, row) in self.rows.locked.read().unwrap().iter() {
                    if let Some(row) = &*row.lock().unwrap() {
                        copy.put(*key, row.clone());
                    }
                }
                let mut rows = MemoryStorage::new();
                rows.commit(copy).unwrap();
                Arc::new(rows)
            }
            Defect::StaleSnapshot => {
                let (newest, mut copy) = (newest(), self.rows.copy.lock().unwrap());
                if newest.len() != copy.len() {
                    *copy = newest;
                }
                Arc::clone(&copy)
            }
            _ => newest(),
        }
    }

    fn key(&self, key: &Key) -> Key {
        let bytes = key.bytes_in_table();
        match self.defect {
            Defect::TruncatedKey => {
                Key::new(key.table(), bytes.get(..31).unwrap_or(bytes)).unwrap()
            }
            _ => *key,
        }
    }

    /// Changes rows under the lock of all of them
    fn apply(&self, changes: impl IntoIterator<Item = (Key, Option<Row>)>) {
        let is_applied =
            |row: &Option<Row>| row.is_some() || self.defect != Defect::ForgottenDelete;
        let changes = changes.into_iter().filter(|(_, row)| is_applied(row));
        let batch = changes.map(|(key, row)| (self.key(&key), row)).collect();
        Arc::make_mut(&mut *self.rows.rows.write().unwrap()).commit(batch).unwrap();
    }
}

impl Snapshot for Broken {
    fn isolation(&self) -> Isolation {
        match self.mode {
            Mode::ReadCommitted => Isolation::ReadCommitted,
            Mode::Exclusive | Mode::Snapshots => Isolation::Snapshot,
        }
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        let key = self.key(key);
        if let Some(snapshot) = &self.snapshot {
            return snapshot.get(&key);
        }
        match self.defect {
            Defect::LockPerRow => {
                let row = self.rows.locked.read().unwrap().get(&key).cloned();
                Ok(row.and_then(|row| row.lock().unwrap().clone()))
            }
            Defect::StaleSnapshot => self.copy().get(&key),
            _ => self.rows.rows.read().unwrap().get(&key),
        }
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        let mut keys = keys.to_vec();
        if self.defect == Defect::ReorderedKeys {
            keys.sort();
        }
        for (position, key) in keys.iter().enumerate() {
            let row = self.get(key)?;
            match self.defect {
                Defect::WrongLength if row.is_none() => {}
                Defect::OffByOne if position % 100 == 99 => rows.push(None),
                _ => rows.push(row),
            }
        }
        Ok(())
    }
}

impl Storage for Broken {
    type Snapshot<'a> = Self;

    fn snapshot(&self) -> Result<Self, Error> {
        let is_copied = self.mode == Mode::Snapshots && self.defect != Defect::SharedSnapshot;
        Ok(Self { snapshot: is_copied.then(|| self.copy()), ..self.clone() })
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.commits += 1;
        let is_large =
            |(_, row): &(Key, Option<Row>)| row.as_ref().is_some_and(|row| row.len() > 1 << 20);
        let mut changes = batch.into_iter();
        match self.defect {
            Defect::LostWrite if self.commits.is_multiple_of(7) => {}
            Defect::SwallowedError if changes.as_slice().iter().any(is_large) => {}
            Defect::LockPerRow => {
                for (key, row) in changes {
                    let slot =
                        Arc::clone(self.rows.locked.write().unwrap().entry(key).or_default());
                    *slot.lock().unwrap() = row;
                }
            }
            Defect::TornCommit | Defect::VisibleEarly => {
                let half = changes.len() / 2;
                let shown = if self.defect == Defect::TornCommit { half } else { 1 };
                self.apply(changes.by_ref().take(shown));
                // Writes the others where no reader sees them, as a log does.
                let mut log = MemoryStorage::new();
                log.commit(changes.as_slice().iter().cloned().collect())?;
                self.apply(changes);
            }
            _ => self.apply(changes),
        }
        Ok(())
    }
}

/// One run of the kit
fn run(defect: Defect, mode: Mode) -> Result<(), Violation> {
    if mode == Mode::Exclusive {
        return conformance::check(|| Broken::new(defect, mode)).map(drop);
    }
    let make = || {
        let storage = Broken::new(defect, mode);
        let reader = storage.clone();
        (storage, move || reader.snapshot())
    };
    let threads: &conformance::SideBySide<'_> = &|one, other| {
        thread::scope(|scope| {
            scope.spawn(one);
            other();
        });
    };
    conformance::check_shared(make, Some(threads)).map(drop)
}

/// Compares runs with the table: these numbers for a verdict of "refuse", for one of "pass", and on
/// the storage that is correct
fn compare(refuse: usize, pass: usize, correct: usize) {
    let table = conformance_table::storages();
    assert_eq!(table.len(), DEFECTS.len());
    for (name, verdicts) in table {
        let (_, defect) = DEFECTS.iter().find(|(other, _)| *other == name).expect(&name);
        let modes = [Mode::Exclusive, Mode::Snapshots, Mode::ReadCommitted];
        for (mode, verdict) in modes.into_iter().zip(&verdicts) {
            let runs = match &verdict[..] {
                "–" => continue,
                "refuse" => refuse,
                _ if *defect == Defect::None => correct,
                _ => pass,
            };
            let refused: Vec<String> = (0..runs)
                .filter_map(|_| run(*defect, mode).err().map(|violation| violation.to_string()))
                .collect();
            let expected = if verdict == "refuse" { runs } else { 0 };
            assert_eq!(refused.len(), expected, "{name}, {mode:?}: {:?}", refused.first());
            println!("{name}, {mode:?}, {runs} runs: {:?}", refused.first());
        }
    }
}

#[test]
fn ten_runs_of_the_kit_have_the_verdicts_of_the_table() {
    compare(10, 1, 2);
}

#[test]
#[ignore = "100 minutes with those of all languages: `cargo xtask verify conformance`"]
fn a_hundred_runs_have_the_verdicts_of_the_table() {
    // A thousand under three isolations.
    compare(100, 10, 334);
}

#[test]
#[ignore = "100 minutes with those of all languages: `cargo xtask verify conformance`"]
fn a_hundred_runs_on_one_processor_have_the_verdicts_of_the_table() {
    let program = std::env::current_exe().expect("the path of this program");
    let name = "broken_storages::only_broken_storages_a_hundred_times";
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(program).args(["--ignored", "--exact", name, "--nocapture"]);
    assert!(command.status().expect("taskset runs").success());
}

#[test]
#[ignore = "a part of `cargo xtask verify conformance`"]
fn only_broken_storages_a_hundred_times() {
    compare(100, 1, 10);
}

#[test]
#[ignore = "100 minutes with those of all languages: `cargo xtask verify conformance`"]
fn a_hundred_runs_in_javascript_have_the_verdicts_of_the_table() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bindings/js");
    assert!(package.join("dist").is_dir(), "`cargo xtask test wasm` builds the package");
    let mut command = Command::new("node");
    command.args(["--test", "test/conformance.test.js"]).env("MILEPOST_KIT_RUNS", "100");
    assert!(command.current_dir(package).status().expect("Node.js runs").success());
}
