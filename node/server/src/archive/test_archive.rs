//! An archive for tests of what happens while it is slow or down.
//!
//! A read that is held has read its rows already, so what is put meanwhile is not among them.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread;

use milepost::archive::Archive;
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};

use super::{ArchiveLocation, SharedArchive, open};

/// An archive in memory that can be down, or hold its readers with what they have read
pub(crate) struct TestArchive {
    archive: SharedArchive,
    pub(crate) is_down: AtomicBool,
    /// Rows can be put and not read
    pub(crate) is_unreadable: AtomicBool,
    pub(crate) reads: AtomicU64,
    is_held: Mutex<bool>,
    released: Condvar,
}

impl TestArchive {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            archive: open(&ArchiveLocation::Memory, true).unwrap(),
            is_down: AtomicBool::default(),
            is_unreadable: AtomicBool::default(),
            reads: AtomicU64::default(),
            is_held: Mutex::default(),
            released: Condvar::new(),
        })
    }

    pub(crate) fn hold(&self, is_held: bool) {
        *self.is_held.lock().unwrap() = is_held;
        self.released.notify_all();
    }

    /// Waits until this many reads have begun
    pub(crate) fn until_reads(&self, count: u64) {
        while self.reads.load(SeqCst) < count {
            thread::yield_now();
        }
    }

    fn check(&self) -> Result<(), Error> {
        match self.is_down.load(SeqCst) {
            true => Err(Error::new(ErrorKind::Storage, "no replica is alive")),
            false => Ok(()),
        }
    }
}

impl Archive for TestArchive {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.reads.fetch_add(1, SeqCst);
        let read = self.archive.get_many(keys, rows);
        let held = self.is_held.lock().unwrap();
        drop(self.released.wait_while(held, |is_held| *is_held).unwrap());
        if self.is_unreadable.load(SeqCst) {
            return Err(Error::new(ErrorKind::Storage, "no replica is alive"));
        }
        self.check().and(read)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.check()?;
        self.archive.put_many(rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.check()?;
        self.archive.replace_many(rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.check()?;
        self.archive.remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        self.check()?;
        self.archive.scan(table, after, limit, rows)
    }
}
