//! Concurrent readers and writers: each snapshot is one state, and states never go back.

use core::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use milepost::storage::{Batch, Key, Row, Snapshot, Storage, Table};
use milepost_redb::{Options, RedbSnapshot, RedbStorage};

const fn assert_shareable<T: Send + Sync>() {}

const _: () = {
    assert_shareable::<RedbStorage>();
    assert_shareable::<RedbSnapshot>();
};

fn keys() -> Vec<Key> {
    (0..40_usize).map(|number| Key::number(Table::ALL[number % 9], number as u64)).collect()
}

/// The state in the rows; asserts that all rows have one state
fn state_of(rows: &[Option<Row>]) -> u64 {
    assert!(rows.windows(2).all(|pair| pair[0] == pair[1]), "rows of different states: {rows:?}");
    let state = rows[0].as_deref().map_or(&[0; 8][..], |row| row.first_chunk::<8>().unwrap());
    u64::from_le_bytes(state.try_into().unwrap())
}

#[test]
fn snapshots_read_one_state_while_batches_are_committed() {
    const COMMITS: u64 = 60;
    let directory = tempfile::tempdir().unwrap();
    let mut storage =
        RedbStorage::open(directory.path().join("chain.milepost"), &Options::default()).unwrap();
    let done = AtomicBool::new(false);
    let readers = [storage.clone(), storage.clone()];
    thread::scope(|scope| {
        let done = &done;
        for reader in readers {
            scope.spawn(move || {
                let keys = keys();
                let mut last = 0;
                while !done.load(Ordering::SeqCst) {
                    let snapshot = reader.snapshot().unwrap();
                    let mut rows = Vec::new();
                    snapshot.get_many(&keys, &mut rows).unwrap();
                    let single_reads = keys.iter().map(|key| snapshot.get(key).unwrap());
                    assert!(rows.iter().cloned().eq(single_reads), "a snapshot changed");
                    let state = state_of(&rows);
                    assert!(state >= last, "state {state} after {last}");

                    rows.clear();
                    reader.snapshot().unwrap().get_many(&keys, &mut rows).unwrap();
                    last = state_of(&rows);
                    assert!(last >= state, "state {last} after {state}");
                }
            });
        }
        for state in 1..=COMMITS {
            let row = [&state.to_le_bytes()[..], &[7; 700]].concat();
            let mut batch = Batch::new();
            keys().into_iter().for_each(|key| batch.put(key, row.as_slice()));
            storage.commit(batch).unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
    let mut rows = Vec::new();
    storage.snapshot().unwrap().get_many(&keys(), &mut rows).unwrap();
    assert_eq!(state_of(&rows), COMMITS);
}

#[test]
fn handles_commit_from_several_threads() {
    let directory = tempfile::tempdir().unwrap();
    let storage =
        RedbStorage::open(directory.path().join("chain.milepost"), &Options::default()).unwrap();
    let key = |thread: u64, number| Key::number(Table::Outcomes, thread * 100 + number);
    thread::scope(|scope| {
        for thread in 0..3 {
            let mut storage = storage.clone();
            scope.spawn(move || {
                for number in 0..15 {
                    let mut batch = Batch::new();
                    batch.put(key(thread, number), number.to_le_bytes().as_slice());
                    storage.commit(batch).unwrap();
                    let snapshot = storage.snapshot().unwrap();
                    assert!(snapshot.get(&key(thread, number)).unwrap().is_some());
                }
            });
        }
    });
    for (thread, number) in (0..3).flat_map(|thread| (0..15).map(move |number| (thread, number))) {
        let row = storage.snapshot().unwrap().get(&key(thread, number)).unwrap();
        assert_eq!(row.as_deref(), Some(&number.to_le_bytes()[..]));
    }
}
