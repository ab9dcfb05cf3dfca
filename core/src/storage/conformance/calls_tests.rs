//! The calls of a check, which are the same in each run and each language, and what its reader and
//! its writer do, one at a time.
//!
//! The digests are literals: a change of a key, a row or an order is a change of the kit.

use alloc::rc::Rc;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::cell::RefCell;
use core::sync::atomic::Ordering::SeqCst;

use super::isolation::{Ballast, batch, ends, state_of_ends};
use super::threads::{self, Progress};

use super::call::Local;
use super::probe::SplitMix64;
use super::*;
use crate::primitives::CryptoHash;
use crate::storage::rows::ChainRecord;
use crate::storage::{Batch, Key, Row};

/// A storage and its readers; each of them sees the newest rows, or those of one commit
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<MemoryStorage>>, Isolation);

impl Snapshot for Shared {
    fn isolation(&self) -> Isolation {
        self.1
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.0.borrow().get(key)
    }
}

impl Storage for Shared {
    type Snapshot<'a> = Self;

    fn snapshot(&self) -> Result<Self, Error> {
        Ok(match self.1 {
            Isolation::Snapshot => Self(Rc::new(RefCell::new(self.0.borrow().clone())), self.1),
            Isolation::ReadCommitted => self.clone(),
        })
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.0.borrow_mut().commit(batch)
    }
}

/// The calls on each storage that a check makes: their number, that of keys and changes in them,
/// and the first characters of a digest of all their arguments
fn trace(run: StorageRun, isolation: Isolation) -> Vec<(usize, usize, String)> {
    let mut local = Local::new(|| {
        let storage = Shared(Rc::default(), isolation);
        let reader = storage.clone();
        Ok((storage, move || reader.snapshot()))
    });
    let mut traces = Vec::new();
    run.complete(|call| {
        let (keys, more) = match &call {
            Call::Make => {
                traces.push((0, 0, Vec::new()));
                return local.answer(call);
            }
            Call::Commit(batch) => {
                let changes = batch.changes().iter();
                let row_of = |row: &Option<Row>| row.as_ref().map(|row| CryptoHash::digest(row));
                let rows: Vec<_> = changes.clone().map(|(_, row)| row_of(row)).collect();
                (changes.map(|(key, _)| *key).collect(), format!("commit {rows:?}"))
            }
            Call::Open(number) => (vec![], format!("open {number}")),
            Call::Close(number) => (vec![], format!("close {number}")),
            Call::Get(snapshot, key) => (vec![*key], format!("get {snapshot:?}")),
            Call::GetMany(snapshot, keys, before) => {
                (keys.clone(), format!("get {snapshot:?} {before}"))
            }
            Call::Pause { is_long } => (vec![], format!("pause {is_long}")),
        };
        let (calls, count, bytes) = traces.last_mut().unwrap();
        *calls += 1;
        *count += keys.len();
        bytes.extend_from_slice(more.as_bytes());
        keys.iter().for_each(|key| bytes.extend_from_slice(key.as_bytes()));
        local.answer(call)
    })
    .unwrap();
    let digest = |bytes: &[u8]| CryptoHash::digest(bytes).to_string()[..6].to_string();
    traces.iter().map(|(calls, count, bytes)| (*calls, *count, digest(bytes))).collect()
}

fn compared(traces: &[(usize, usize, String)]) -> Vec<(usize, usize, &str)> {
    traces.iter().map(|(calls, count, text)| (*calls, *count, &**text)).collect()
}

#[test]
fn every_run_makes_the_same_calls() {
    let each = trace(StorageRun::exclusive(), Isolation::Snapshot);
    assert_eq!(
        compared(&each),
        [
            (30, 30, "5E2ncT"),
            (11, 20, "7bV29f"),
            (8, 8, "GCRfBQ"),
            (6, 7, "CCMAoa"),
            (5, 5, "DjMsRT"),
            (31, 31, "DUt4vK"),
            (2, 256, "HLvzyU"),
            (2, 256, "E6VvaV"),
            (3, 1, "9aWCeZ"),
            (99, 2670, "G28iuP"),
            (2, 10064, "4jU2G1"),
            (5, 5, "8mfW4L"),
            (7, 15, "9Lkrgq"),
            (8, 14, "DacTat"),
            (12, 28, "8sW3Md"),
            (5, 3, "Dn3vC2"),
            (118, 40096, "DGu6JA"),
            (22, 23, "9mwjgS"),
            (701, 11443, "Ge4rne"),
        ]
    );
    for (isolation, expected) in [
        (
            Isolation::Snapshot,
            &[(481, 968, "892nr3"), (516, 1559, "Hc5uXa"), (105, 408, "2rPLrq")][..],
        ),
        (Isolation::ReadCommitted, &[(1401, 2931, "HvHvxY"), (129, 504, "23LDgu")]),
    ] {
        let all = trace(StorageRun::shared(isolation), isolation);
        assert_eq!(all[..each.len()], each);
        assert_eq!(compared(&all[each.len()..]), expected, "{isolation:?}");
    }
}

#[test]
fn random_numbers_are_those_of_split_mix_64() {
    // The first outputs of the reference implementation for this seed
    let mut rng = SplitMix64(1_234_567);
    let found = [rng.next(), rng.next(), rng.next(), rng.next()];
    assert_eq!(
        found,
        [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
        ]
    );
}

/// A storage that lets the reader make progress with each commit
struct Read<'progress>(MemoryStorage, &'progress Progress, usize);

impl Storage for Read<'_> {
    type Snapshot<'a>
        = &'a MemoryStorage
    where
        Self: 'a;

    fn snapshot(&self) -> Result<&MemoryStorage, Error> {
        Ok(&self.0)
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.1.changes_seen.fetch_add(1, SeqCst);
        self.1.walks.fetch_add(10, SeqCst);
        self.2 += 1;
        self.0.commit(batch)
    }
}

#[test]
fn a_writer_commits_until_the_reader_has_seen_enough() {
    let progress = Progress::default();
    progress.reader_has_begun.store(true, SeqCst);
    let mut storage = Read(MemoryStorage::new(), &progress, 0);
    threads::write(&mut storage, &progress).unwrap();
    // With ten walks per commit: 40 changes, then 10,000 / 11 and 1,000 / 11 steps; and one commit
    // that removes rows after each
    assert_eq!(storage.2, 41 + 911 + 92);
    let generation = ChainRecord::decode(storage.0.get(&ChainRecord::key()).unwrap().as_deref());
    assert_eq!(generation.unwrap().generation, 1_041);
    assert!(progress.writer_has_ended.load(SeqCst));
    // A commit of each phase and one that removes rows, if the reader has ended
    progress.reader_has_ended.store(true, SeqCst);
    let mut storage = Read(MemoryStorage::new(), &progress, 0);
    threads::write(&mut storage, &progress).unwrap();
    assert_eq!(storage.2, 6);
}

/// The rows after these commits
fn state(batches: impl IntoIterator<Item = Batch>) -> MemoryStorage {
    let mut storage = MemoryStorage::new();
    batches.into_iter().for_each(|batch| storage.commit(batch).unwrap());
    storage
}

/// A reader before one of whose reads the next batch is committed
struct Overtaken(RefCell<(MemoryStorage, usize)>, Isolation);

impl Snapshot for Overtaken {
    fn isolation(&self) -> Isolation {
        self.1
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        let (storage, reads_before) = &mut *self.0.borrow_mut();
        if *reads_before == 0 {
            storage.commit(batch(3, &Ballast::default()))?;
        }
        *reads_before = reads_before.wrapping_sub(1);
        storage.get(key)
    }
}

#[test]
fn a_look_that_a_commit_interrupts_counts_only_in_a_snapshot() {
    let two = || state([1, 2].map(|number| batch(number, &Ballast::default())));
    let look = |reads_before, isolation| {
        let reader = Overtaken(RefCell::new((two(), reads_before)), isolation);
        threads::look(&reader, 2).map_err(|violation| violation.detail)
    };
    // Of a snapshot three rows; of the newest commits the chain's row before and after them, too
    for reads_before in 0..6 {
        assert_eq!(look(reads_before, Isolation::ReadCommitted), Ok(()));
        let is_one_state = !(1..3).contains(&reads_before);
        assert_eq!(look(reads_before, Isolation::Snapshot).is_ok(), is_one_state, "{reads_before}");
    }
}

/// A reader that is shown these storages, the last of them again and again, after the writer has
/// ended: its finding, and the changes and walks that it counted
fn read(shown: &[MemoryStorage], isolation: Isolation) -> (Result<(), String>, usize, usize) {
    let progress = Progress::default();
    progress.writer_has_ended.store(true, SeqCst);
    let mut opened = 0;
    let mut open = || {
        let storage = shown.get(opened).or(shown.last()).unwrap().clone();
        opened += 1;
        Ok(Shared(Rc::new(RefCell::new(storage)), isolation))
    };
    let result = threads::read(&mut open, &progress).map_err(|violation| violation.detail);
    assert!(progress.reader_has_ended.load(SeqCst));
    let [changes, walks] = [&progress.changes_seen, &progress.walks].map(|it| it.load(SeqCst));
    (result, changes, walks)
}

#[test]
fn a_reader_sees_whole_states_and_none_that_is_older() {
    let until = |newest: u64| state((1..=newest).map(|it| batch(it, &Ballast::default())));
    let [none, one, two] = [0, 1, 2].map(until);
    let snapshot = |shown: &[MemoryStorage]| read(shown, Isolation::Snapshot);
    // 32 looks before each walk
    assert_eq!(snapshot(&[none.clone(), two.clone()]), (Ok(()), 1, 33));
    assert_eq!(snapshot(core::slice::from_ref(&none)), (Ok(()), 0, 33));
    let newest = "after the last commit, expected state 0 of a reader that was there before the \
                  first, found state 1";
    let found = snapshot(&[one.clone(), two.clone()]);
    assert_eq!(found, (Err(newest.into()), 1, 33));
    let older = "in a snapshot or query while another thread committed, expected one state, 2 or \
                 later, found state 1";
    // By a look, and by a walk after 32 of them
    assert_eq!(snapshot(&[two.clone(), one.clone()]).0, Err(older.into()));
    let mut shown = vec![two.clone(); 33];
    shown.push(one.clone());
    assert_eq!(snapshot(&shown), (Err(older.into()), 0, 0));
    // A row of another state: the first one, which looks find, and one that only walks find
    let torn = |key: Key| {
        let mut storage = two.clone();
        let mut batch = Batch::new();
        batch.put(key, &1_u64.to_be_bytes()[..]);
        storage.commit(batch).unwrap();
        storage
    };
    let [first, chain, last] = ends();
    for key in [first, last] {
        let (found, _, walks) = snapshot(&[none.clone(), torn(key)]);
        let detail = found.unwrap_err();
        assert!(detail.contains("expected one state, 0 or later, found states ["), "{detail}");
        assert_eq!(walks, 0);
    }
    assert_eq!(state_of_ends(&[None]), Err("1 rows of 3".into()));
    let rows = [first, chain, last].map(|key| two.get(&key).unwrap());
    assert_eq!(state_of_ends(&rows), Ok(2));
    // Where each read sees the newest commit, the first reader is no older.
    let committed = |shown: &[MemoryStorage]| read(shown, Isolation::ReadCommitted);
    assert_eq!(committed(core::slice::from_ref(&two)), (Ok(()), 0, 33));
    let stale = "in a snapshot or query while another thread committed, expected one state, 2 or \
                 later, found state 0";
    assert_eq!(committed(&[none, two]), (Err(stale.into()), 1, 33));
}
