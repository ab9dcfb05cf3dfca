//! The duties of every storage.

use milepost::facts::conformance;
use milepost_redb::{Options, RedbStorage};

#[test]
fn keeps_every_duty() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = 0;
    conformance::check(|| {
        made += 1;
        RedbStorage::open(folder.path().join(made.to_string()), &Options::default()).unwrap()
    })
    .unwrap_or_else(|violation| panic!("{violation}"));
    assert!(made > 10);
}

#[test]
fn keeps_its_rows_when_closed_and_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.milepost");
    conformance::check_durable(|| Ok(RedbStorage::open(&path, &Options::default())?))
        .unwrap_or_else(|violation| panic!("{violation}"));
    let path = folder.path().join("unverified.milepost");
    conformance::check_durable(|| Ok(RedbStorage::open(&path, &crate::unverified())?))
        .unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn keeps_its_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.milepost");
    let make = || RedbStorage::open(&path, &Options::default()).unwrap();
    conformance::check_snapshots(make, RedbStorage::snapshot)
        .unwrap_or_else(|violation| panic!("{violation}"));
}
