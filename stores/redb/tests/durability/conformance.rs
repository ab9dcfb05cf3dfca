//! The conformance tests of every storage that is read while it commits.

use std::thread;

use milepost::storage::{Storage as _, conformance};
use milepost_redb::{Options, RedbStorage};

#[test]
fn storage_is_conformant() {
    let directory = tempfile::tempdir().unwrap();
    let mut count = 0;
    let make = || {
        count += 1;
        let path = directory.path().join(count.to_string());
        let storage = RedbStorage::open(path, &Options::default()).unwrap();
        let reader = storage.clone();
        (storage, move || reader.snapshot())
    };
    let side_by_side: &conformance::SideBySide<'_> = &|one, other| {
        thread::scope(|scope| {
            scope.spawn(one);
            other();
        });
    };
    let passed = conformance::check_shared(make, Some(side_by_side))
        .unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(passed.left_out(), [conformance::Requirement::Durability]);
    assert!(count > 20);
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
