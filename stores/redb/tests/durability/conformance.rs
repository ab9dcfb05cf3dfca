//! The conformance tests of every storage.

use std::thread;

use milepost::storage::conformance::ConcurrencyCheck;
use milepost::storage::{Storage, conformance};
use milepost_redb::{Options, RedbStorage};

#[test]
fn storage_is_conformant() {
    let directory = tempfile::tempdir().unwrap();
    let mut count = 0;
    conformance::check(|| {
        count += 1;
        RedbStorage::open(directory.path().join(count.to_string()), &Options::default()).unwrap()
    })
    .unwrap_or_else(|violation| panic!("{violation}"));
    assert!(count > 10);
}

#[test]
fn rows_are_kept_after_closing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    conformance::check_durable(|| Ok(RedbStorage::open(&path, &Options::default())?))
        .unwrap_or_else(|violation| panic!("{violation}"));
    let path = directory.path().join("unverified.milepost");
    conformance::check_durable(|| Ok(RedbStorage::open(&path, &crate::unverified())?))
        .unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn snapshots_are_conformant() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    let open = || RedbStorage::open(&path, &Options::default()).unwrap();
    conformance::check_snapshots(open, RedbStorage::snapshot)
        .unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn snapshots_of_other_threads_are_of_one_state() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("chain.milepost");
    let mut storage = RedbStorage::open(&path, &Options::default()).unwrap();
    let (reader, check) = (storage.clone(), ConcurrencyCheck::new());
    thread::scope(|scope| {
        let readers = [(); 2].map(|()| scope.spawn(|| check.read(|| reader.snapshot())));
        check.write(&mut storage).unwrap_or_else(|violation| panic!("{violation}"));
        for reader in readers {
            reader.join().unwrap().unwrap_or_else(|violation| panic!("{violation}"));
        }
    });
}
