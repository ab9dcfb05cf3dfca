//! The calls of a check, which are the same in each run and each language, and what its two writers
//! do, one at a time.
//!
//! The digests are literals: a change of a key, a row or an order is a change of the kit.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::sync::atomic::Ordering::SeqCst;

use super::call::Local;
use super::threads::{self, Progress};
use super::*;
use crate::archive::MemoryArchive;
use crate::primitives::CryptoHash;
use crate::storage::{Key, Row, Table};

/// The calls on each archive that a check makes: their number, that of keys and rows in them, and
/// the first characters of a digest of all their arguments
fn trace(run: ArchiveRun) -> Vec<(usize, usize, String)> {
    let (mut local, mut traces) = (Local::new(|| Ok(MemoryArchive::new())), Vec::new());
    run.complete(|call| {
        let (kind, keys, rows, more) = match &call {
            Call::Make => {
                traces.push((0, 0, Vec::new()));
                return local.answer(call);
            }
            Call::GetMany(keys, before) => (1, keys.clone(), &[][..], format!("{before}")),
            Call::Put(rows) => (2, vec![], &rows[..], String::new()),
            Call::Replace(rows) => (3, vec![], &rows[..], String::new()),
            Call::Remove(keys) => (4, keys.clone(), &[][..], String::new()),
            Call::Scan(table, after, limit) => {
                (5, Vec::from_iter(*after), &[][..], format!("{} {limit}", table.name()))
            }
        };
        let (calls, count, bytes) = traces.last_mut().unwrap();
        *calls += 1;
        *count += keys.len() + rows.len();
        bytes.push(kind);
        bytes.extend_from_slice(more.as_bytes());
        keys.iter().for_each(|key| bytes.extend_from_slice(key.as_bytes()));
        for (key, row) in rows {
            bytes.extend_from_slice(key.as_bytes());
            bytes.extend_from_slice(CryptoHash::digest(row).as_bytes());
        }
        local.answer(call)
    })
    .unwrap();
    let digest = |bytes: &[u8]| CryptoHash::digest(bytes).to_string()[..6].to_string();
    traces.iter().map(|(calls, count, bytes)| (*calls, *count, digest(bytes))).collect()
}

#[test]
fn every_run_makes_the_same_calls() {
    let all = trace(ArchiveRun::all(true));
    let found: Vec<_> = all.iter().map(|(calls, count, text)| (*calls, *count, &**text)).collect();
    assert_eq!(
        found,
        [
            (14, 7, "4uQqro"),
            (15, 49, "GVTZQx"),
            (8, 6600, "GUQTdg"),
            (2, 160, "2pVbn9"),
            (16, 16, "8tchaH"),
            (49, 770, "FPB2K5"),
            (3, 15, "HSBLms"),
            (17, 23, "HYpSuN"),
            (12, 16, "EXB746"),
            (77, 875, "9YQUQT"),
            (476, 784, "6dRNbp"),
            (29, 453, "85VLu1"),
        ]
    );
    // Without the removals nothing else changes.
    let mut without = all.clone();
    without.remove(9);
    assert_eq!(trace(ArchiveRun::all(false)), without);
}

/// An archive that counts a put of the other writer with each of its own
struct Busy<'progress>(MemoryArchive, &'progress Progress);

impl Archive for Busy<'_> {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.0.get_many(keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.1.puts[1].fetch_add(1, SeqCst);
        self.0.put_many(rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.0.replace_many(rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.0.remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        self.0.scan(table, after, limit, rows)
    }
}

#[test]
fn a_writer_ends_when_it_was_beside_the_other_one_often_enough() {
    let progress = Progress::default();
    progress.has_begun[1].store(true, SeqCst);
    // After 40 puts beside others, at the next multiple of 16
    assert_eq!(threads::write(0, &Busy(MemoryArchive::new(), &progress), &progress).unwrap(), 48);
    assert_eq!(progress.puts[0].load(SeqCst), 48);
    assert!(progress.has_begun[0].load(SeqCst) && progress.has_ended[0].load(SeqCst));
    // The other one puts nothing more.
    let archive = MemoryArchive::new();
    assert_eq!(threads::write(0, &archive, &progress).unwrap(), 2_000);
    // Two rows each
    assert_eq!((archive.len(), threads::scan(&archive).unwrap()), (4_000, 4_000));
    progress.has_ended[1].store(true, SeqCst);
    assert_eq!(threads::write(0, &archive, &progress).unwrap(), 16);
    // The second one also puts the rows of the first one's puts of the same numbers.
    let progress = Progress::default();
    progress.has_begun[0].store(true, SeqCst);
    progress.has_ended[0].store(true, SeqCst);
    assert_eq!(threads::write(1, &archive, &progress).unwrap(), 16);
    assert_eq!(archive.len(), 4_000 + 32);
}

#[test]
fn rows_of_both_writers_are_shared_by_their_number() {
    for number in [0, 5] {
        let [one, other] = [0, 1].map(|writer| threads::rows(writer, number));
        assert_eq!((one.len(), other.len()), (2, 4));
        assert_eq!([&other[3], &other[2]], [&one[0], &one[1]], "in another order");
        let next = threads::rows(0, number + 1);
        assert!(one.iter().chain(&other).all(|row| !next.contains(row)));
    }
}

#[test]
fn a_row_that_a_writer_does_not_find_is_a_violation() {
    let archive = MemoryArchive::new();
    let [put, missing] = [0, 1].map(|number| threads::rows(0, number));
    archive.put_many(&put).unwrap();
    threads::expect(&archive, &put).unwrap();
    let violation = threads::expect(&archive, &[&put[..], &missing].concat()).unwrap_err();
    let expected = "found no row, which was put while another thread put rows";
    assert!(violation.to_string().contains(expected), "{violation}");
    let other = [(put[0].0, put[1].1.clone())];
    let violation = threads::expect(&archive, &other).unwrap_err();
    assert!(violation.to_string().contains(&Requirement::Threads.to_string()), "{violation}");
    let expected = "found another row than was put while another thread put rows";
    assert!(violation.to_string().contains(expected), "{violation}");
}
