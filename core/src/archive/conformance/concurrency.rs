//! Several threads that put rows of an archive at once; the caller starts the threads.
//!
//! Each puts rows of its own and, in an order of its own, rows that all of them put. Every row has
//! to be there once in the end.

use alloc::format;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};

use super::{Probe, Requirement, Violation, hash_key, row};
use crate::archive::Archive;
use crate::storage::{Key, Row, Table};

/// Number of rows that each thread puts, and of those that all threads put
const ROWS: usize = 400;
const SHARED_ROWS: usize = 100;

/// A check of an archive that is shared by threads, which the caller starts
///
/// ```no_run
/// # use milepost::archive::{MemoryArchive, conformance::ConcurrencyCheck};
/// # fn check(archive: &(impl milepost::archive::Archive + Sync))
/// # -> Result<(), milepost::archive::conformance::Violation> {
/// let check = ConcurrencyCheck::default();
/// std::thread::scope(|scope| {
///     let reader = scope.spawn(|| check.read(archive));
///     let put = |number| {
///         let check = &check;
///         scope.spawn(move || check.put(number, archive))
///     };
///     let writers: Vec<_> = (0..4).map(put).collect();
///     for writer in writers {
///         writer.join().expect("no panic")?;
///     }
///     check.finish(4, archive)?;
///     reader.join().expect("no panic")
/// })
/// # }
/// ```
#[derive(Debug, Default)]
pub struct ConcurrencyCheck {
    is_finished: AtomicBool,
}

/// The rows of a thread, and those that all put, by each thread in another order
fn rows(writer: usize) -> Vec<(Key, Row)> {
    let own = (0..ROWS).map(|number| format!("{writer} {number}"));
    let mut shared: Vec<_> = (0..SHARED_ROWS).map(|number| format!("shared {number}")).collect();
    shared.rotate_left(writer * 7 % SHARED_ROWS);
    let row_of = |name: alloc::string::String| {
        (
            hash_key(Table::ArchivedTransactions, &name),
            row(writer as u64, name.repeat(20).as_bytes()),
        )
    };
    own.chain(shared).map(row_of).collect()
}

impl ConcurrencyCheck {
    /// Puts the rows of the thread of this number, and reads them
    ///
    /// # Errors
    ///
    /// A [`Violation`] of [`Requirement::Concurrency`].
    pub fn put(&self, writer: usize, archive: &impl Archive) -> Result<(), Violation> {
        let probe = Probe { archive, requirement: Requirement::Concurrency };
        for rows in rows(writer).chunks(25) {
            probe.put(rows)?;
            let expected: Vec<_> =
                rows.iter().map(|(key, row)| (*key, Some(row.clone()))).collect();
            probe.expect_many(0, &expected)?;
        }
        Ok(())
    }

    /// Reads until [`finish`](Self::finish): a row is missing or whole
    ///
    /// # Errors
    ///
    /// A [`Violation`] of [`Requirement::Concurrency`].
    pub fn read(&self, archive: &impl Archive) -> Result<(), Violation> {
        let probe = Probe { archive, requirement: Requirement::Concurrency };
        let expected = rows(0);
        let keys: Vec<Key> = expected.iter().map(|(key, _)| *key).collect();
        while !self.is_finished.load(Ordering::Acquire) {
            let mut found = Vec::new();
            archive.get_many(&keys, &mut found).map_err(|error| {
                probe.violation(None, format!("get_many of {} keys: {error}", keys.len()))
            })?;
            for ((key, row), found) in expected.iter().zip(&found) {
                if found.is_some() {
                    probe.compare(*key, Some(row), found.as_ref())?;
                }
            }
        }
        Ok(())
    }

    /// Ends the reader, and checks that the rows of all threads are there
    ///
    /// # Errors
    ///
    /// A [`Violation`] of [`Requirement::Concurrency`].
    pub fn finish(&self, writers: usize, archive: &impl Archive) -> Result<(), Violation> {
        self.is_finished.store(true, Ordering::Release);
        let probe = Probe { archive, requirement: Requirement::Concurrency };
        for writer in 0..writers {
            let expected: Vec<_> =
                rows(writer).into_iter().map(|(key, row)| (key, Some(row))).collect();
            probe.expect_many(0, &expected)?;
        }
        let scanned = probe.scan(Table::ArchivedTransactions, 200)?.len();
        let expected = writers * ROWS + SHARED_ROWS;
        if scanned != expected {
            let detail = format!("a scan lists {scanned} rows of {expected}");
            return Err(probe.violation(None, detail));
        }
        Ok(())
    }
}
