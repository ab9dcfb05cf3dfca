//! Reads of one archive by several clients at once: what is shared, remembered and refused.
//!
//! An archive that holds its readers decides which reads overlap, so no test depends on how long
//! something takes.

use core::net::Ipv4Addr;
use core::sync::atomic::Ordering::SeqCst;
use std::thread;

use milepost::archive::{Archive as _, Envelope, Origin, WriterId};
use milepost::storage::Table;
use tokio::time;

use super::*;
use crate::archive::test_archive::TestArchive;
use crate::archive::{ArchiveLocation, open};

fn key(number: u64) -> Key {
    Key::number(Table::ArchivedHeights, number)
}

fn lookups() -> Lookups {
    let archive = open(&ArchiveLocation::Memory, true).unwrap();
    let row = Envelope::plain(Origin::of(WriterId(1)), b"content").encode();
    archive.put_many(&[(key(0), row.into())]).unwrap();
    Lookups::new(archive, NonZero::new(5).unwrap())
}

/// A client without a limit of its own
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Whether each of these is found
fn found(lookups: &Lookups, keys: &[Key]) -> Result<Vec<bool>, ErrorKind> {
    let mut rows = Vec::new();
    lookups.get_many(keys, &mut rows, CLIENT).map_err(|error| error.kind())?;
    Ok(rows.iter().map(Option::is_some).collect())
}

#[tokio::test(start_paused = true)]
async fn reads_that_miss_are_limited_in_each_second() {
    let lookups = lookups();
    for _ in 0..3 {
        for number in 1..=5 {
            assert_eq!(found(&lookups, &[key(number)]), Ok(vec![false]));
        }
        assert_eq!(found(&lookups, &[key(6)]), Err(ErrorKind::Limit));
        assert_eq!(found(&lookups, &[key(0)]), Err(ErrorKind::Limit));
        assert_eq!(found(&lookups, &[key(7), key(0)]), Err(ErrorKind::Limit));
        // What is remembered costs no read.
        assert_eq!(found(&lookups, &[key(3)]), Ok(vec![false]));
        assert_eq!(found(&lookups, &[key(3), key(4)]), Ok(vec![false; 2]));
        time::advance(Duration::from_secs(1)).await;
    }
    assert_eq!(found(&lookups, &[key(0), key(1), key(0)]), Ok(vec![true, false, true]));
    for _ in 0..20 {
        assert_eq!(found(&lookups, &[key(0)]), Ok(vec![true]));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_remembered_for_a_second_or_until_rows_are_put() {
    let lookups = lookups();
    let row = Envelope::plain(Origin::of(WriterId(1)), b"content").encode();
    assert_eq!(found(&lookups, &[key(1)]), Ok(vec![false]));
    lookups.archive().put_many(&[(key(1), row.clone().into())]).unwrap();
    assert_eq!(found(&lookups, &[key(1)]), Ok(vec![false]));
    lookups.forget_misses();
    assert_eq!(found(&lookups, &[key(1)]), Ok(vec![true]));
    assert_eq!(found(&lookups, &[key(2)]), Ok(vec![false]));
    lookups.archive().put_many(&[(key(2), row.into())]).unwrap();
    time::advance(MISS_TTL).await;
    assert_eq!(found(&lookups, &[key(2)]), Ok(vec![true]));
}

#[tokio::test(start_paused = true)]
async fn a_client_has_a_limit_of_its_own() {
    let lookups = lookups().with_address_limit(NonZero::new(2));
    let [one, other] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
    let get = |number: u64, client| {
        let mut rows = Vec::new();
        let read = lookups.get_many(&[key(number)], &mut rows, client);
        read.map_err(|error| error.detail().to_owned())
    };
    assert_eq!((get(2, one), get(3, one)), (Ok(()), Ok(())));
    let refused = get(4, one).unwrap_err();
    assert!(refused.starts_with("more than 2 reads of one address"), "{refused}");
    // What is there is refused as well: that is not known before it is read.
    assert!(get(0, one).is_err());
    assert_eq!((get(4, other), get(5, CLIENT), get(0, other)), (Ok(()), Ok(()), Ok(())));
    time::advance(Duration::from_secs(2)).await;
    assert_eq!(get(6, one), Ok(()));
}

#[test]
fn a_read_that_began_before_rows_were_put_is_neither_remembered_nor_joined() {
    let archive = TestArchive::new();
    let shared: SharedArchive = Arc::<TestArchive>::clone(&archive);
    let lookups = Lookups::new(shared, NonZero::new(5).unwrap());
    let row = Envelope::plain(Origin::of(WriterId(1)), b"content").encode();
    for (number, keys) in (0..).zip([&[key(1)][..], &[key(2), key(3)]]) {
        archive.hold(true);
        thread::scope(|scope| {
            let reads = 2 * number;
            let before = scope.spawn(|| found(&lookups, keys));
            archive.until_reads(reads + 1);
            let rows: Vec<_> = keys.iter().map(|key| (*key, row.clone().into())).collect();
            archive.put_many(&rows).unwrap();
            lookups.forget_misses();
            let after = scope.spawn(|| found(&lookups, &keys[..1]));
            archive.until_reads(reads + 2);
            archive.hold(false);
            assert_eq!(before.join().unwrap(), Ok(vec![false; keys.len()]));
            assert_eq!(after.join().unwrap(), Ok(vec![true]));
        });
        assert!(lock(&lookups.state).missing.is_empty());
    }
    assert!(lock(&lookups.state).running.is_empty());
}

/// Reads of an archive in which the keys 0 and 3 have a row, 8 has one of a newer format version,
/// and 9 has two contents
fn held_lookups() -> (Arc<TestArchive>, Lookups) {
    let archive = TestArchive::new();
    let put = |number, content: &[u8]| {
        let row = Envelope::plain(Origin::of(WriterId(1)), content).encode();
        archive.put_many(&[(key(number), row.into())]).unwrap();
    };
    [0, 3, 8, 9].iter().for_each(|number| put(*number, b"content"));
    put(9, b"other");
    let mut newer = Envelope::plain(Origin::of(WriterId(1)), b"content").encode().to_vec();
    newer[0] += 1;
    archive.replace_many(&[(key(8), newer.into())]).unwrap();
    let shared: SharedArchive = Arc::<TestArchive>::clone(&archive);
    (archive, Lookups::new(shared, NonZero::new(100).unwrap()))
}

fn until_coalesced(lookups: &Lookups, count: u64) {
    while lookups.counters.coalesced.get() < count {
        thread::yield_now();
    }
}

#[test]
fn a_client_over_its_limit_is_refused_also_what_another_reads_and_the_other_is_not() {
    let (archive, lookups) = held_lookups();
    let lookups = lookups.with_address_limit(NonZero::new(2));
    let [one, other] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
    let get = |keys: &[Key], client| {
        let mut rows = Vec::new();
        let read = lookups.get_many(keys, &mut rows, client).map_err(|error| error.kind());
        read.map(|()| rows.iter().map(Option::is_some).collect())
    };
    assert_eq!(get(&[key(1), key(2)], one), Ok(vec![false; 2]));
    for keys in [&[key(3)][..], &[key(4), key(0)]] {
        archive.hold(true);
        let reads = archive.reads.load(SeqCst);
        let coalesced = lookups.counters.coalesced.get();
        thread::scope(|scope| {
            let readers = [(); 2].map(|()| scope.spawn(|| get(keys, other)));
            until_coalesced(&lookups, coalesced + keys.len() as u64);
            archive.until_reads(reads + 1);
            assert_eq!(get(keys, one), Err(ErrorKind::Limit));
            assert_eq!(get(&keys[..1], one), Err(ErrorKind::Limit));
            archive.hold(false);
            let expected: Vec<bool> = keys.iter().map(|it| *it != key(4)).collect();
            for reader in readers {
                assert_eq!(reader.join().unwrap(), Ok(expected.clone()));
            }
        });
        assert_eq!(archive.reads.load(SeqCst), reads + 1);
    }
}

#[test]
fn batches_read_what_others_do_not_read_and_wait_for_the_rest() {
    let (archive, lookups) = held_lookups();
    archive.hold(true);
    thread::scope(|scope| {
        let first = scope.spawn(|| found(&lookups, &[key(0), key(1)]));
        archive.until_reads(1);
        let second = scope.spawn(|| found(&lookups, &[key(2), key(1), key(3), key(2)]));
        archive.until_reads(2);
        let third = scope.spawn(|| found(&lookups, &[key(3), key(0), key(4)]));
        archive.until_reads(3);
        let fourth = scope.spawn(|| found(&lookups, &[key(2)]));
        until_coalesced(&lookups, 4);
        archive.hold(false);
        assert_eq!(first.join().unwrap(), Ok(vec![true, false]));
        assert_eq!(second.join().unwrap(), Ok(vec![false, false, true, false]));
        assert_eq!(third.join().unwrap(), Ok(vec![true, true, false]));
        assert_eq!(fourth.join().unwrap(), Ok(vec![false]));
    });
    assert_eq!(archive.reads.load(SeqCst), 3);
    assert!(lock(&lookups.state).running.is_empty());
}

#[test]
fn batches_with_keys_in_common_end_whatever_their_order() {
    let (_, lookups) = held_lookups();
    thread::scope(|scope| {
        for offset in 0..4 {
            let lookups = &lookups;
            scope.spawn(move || {
                for round in 0..500 {
                    let keys: Vec<Key> =
                        (0..4).map(|it| key((it * 3 + offset + round) % 5)).collect();
                    let expected = keys.iter().map(|it| [key(0), key(3)].contains(it));
                    let expected: Vec<bool> = expected.collect();
                    if round % 7 == offset {
                        lookups.forget_misses();
                    }
                    match found(lookups, &keys) {
                        Ok(found) => assert_eq!(found, expected),
                        Err(kind) => assert_eq!(kind, ErrorKind::Limit),
                    }
                }
            });
        }
    });
    assert!(lock(&lookups.state).running.is_empty());
}

#[test]
fn a_row_that_cannot_be_served_fails_those_that_need_it_and_no_others() {
    for (number, kind) in [(8, ErrorKind::Version), (9, ErrorKind::Conflict)] {
        check_row_that_cannot_be_served(number, kind);
    }
}

fn check_row_that_cannot_be_served(number: u64, kind: ErrorKind) {
    let (archive, lookups) = held_lookups();
    archive.hold(true);
    thread::scope(|scope| {
        let batch = scope.spawn(|| found(&lookups, &[key(number), key(0), key(1)]));
        archive.until_reads(1);
        let others = [0, 1, number].map(|number| {
            let lookups = &lookups;
            scope.spawn(move || found(lookups, &[key(number)]))
        });
        until_coalesced(&lookups, 3);
        archive.hold(false);
        assert_eq!(batch.join().unwrap(), Err(kind));
        let [first, second, third] = others.map(|it| it.join().unwrap());
        assert_eq!((first, second), (Ok(vec![true]), Ok(vec![false])));
        assert_eq!(third, Err(kind));
    });
    // The batch, and each of its keys.
    assert_eq!(archive.reads.load(SeqCst), 4);
    let counters = &lookups.counters;
    assert_eq!((counters.failed.get(), counters.found.get()), (1, 1));
}
