//! What a read of an archive in a cluster costs as it grows.
//!
//! An archive is filled with small transactions and read at random, one at a time; every row has to
//! be the one that was put. Times are printed and no verdict.

use std::thread;
use std::time::Instant;

use milepost::archive::{Archive as _, Envelope, Origin, WriterId};
use milepost::storage::{Key, Row, Table};
use milepost_cassandra::CassandraArchive;

use milepost_testing::small_transactions::{answer, key};

const ORIGIN: Origin = Origin::of(WriterId(1));
/// Rows that are put at a time: those of a busy block
const BATCH: u64 = 200;

/// Fills an archive with so many transactions, by all of these handles, and reads some by one of
/// them; prints a line of a table
pub(crate) fn measure(archives: &[CassandraArchive], size: u64, reads: u64) {
    let (start, writers) = (Instant::now(), archives.len() as u64);
    thread::scope(|scope| {
        for (writer, archive) in (0..writers).zip(archives) {
            scope.spawn(move || {
                for first in (writer * BATCH..size).step_by((writers * BATCH) as usize) {
                    let row = |number| (key(number), row(number));
                    let rows: Vec<(Key, Row)> = (first..size.min(first + BATCH)).map(row).collect();
                    archive.put_many(&rows).expect("the cluster takes rows");
                }
            });
        }
    });
    let rate = size as f64 / start.elapsed().as_secs_f64();
    let archive = archives.first().expect("a handle");
    let mut times = Vec::new();
    let mut number = 0;
    for _ in 0..reads {
        // Far apart, and each of another token: a prime that divides no size.
        number = (number + 7_368_787) % size;
        let (start, mut rows) = (Instant::now(), Vec::new());
        archive.get_many(&[key(number)], &mut rows).expect("the cluster answers");
        times.push(start.elapsed());
        let row = rows.pop().flatten().expect("what was put is there");
        let envelope = Envelope::decode(Table::ArchivedTransactions, &row).expect("an envelope");
        assert_eq!(envelope.payload, answer(number).as_bytes(), "{number}");
    }
    times.sort_unstable();
    let micros = |share: f64| {
        let index = (times.len() as f64 * share) as usize;
        times.get(index).map_or(0.0, |time| 1e6 * time.as_secs_f64())
    };
    println!("{size:>12} {rate:>9.0} {:>10.0} {:>10.0}", micros(0.5), micros(0.99));
}

/// Prints the head of the table
pub(crate) fn head() {
    println!("{:>12} {:>9} {:>10} {:>10}", "transactions", "put/s", "us median", "us p99");
}

fn row(number: u64) -> Row {
    Envelope::plain(ORIGIN, answer(number).as_bytes()).encode().into()
}
