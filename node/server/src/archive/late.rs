//! An archive that could not be reached when the server started, and is opened once it can be.
//!
//! Until then each read of a request fails, so the request gets `INTERNAL_ERROR` and `Retry-After`.
//! Only the export, which tries again by itself, waits for an attempt to open it.

use std::sync::{Mutex, OnceLock};

use milepost::archive::Archive;
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};
use tracing::info;

use super::SharedArchive;

use crate::locks::lock;

type Open = dyn Fn() -> Result<SharedArchive, Error> + Send + Sync;

/// An archive that is opened later
pub(crate) struct LateArchive {
    /// For a sentence: `the archive PLACE`
    name: String,
    open: Box<Open>,
    opened: OnceLock<SharedArchive>,
    /// Why the last attempt failed; held during an attempt, as there is one at a time
    failure: Mutex<Error>,
}

impl LateArchive {
    /// One that could not be opened for this reason; `open` is the next attempt
    pub(crate) fn new(
        name: String,
        reason: impl core::fmt::Display,
        open: impl Fn() -> Result<SharedArchive, Error> + Send + Sync + 'static,
    ) -> Self {
        let failure = Mutex::new(Error::new(ErrorKind::Storage, reason));
        Self { name, open: Box::new(open), opened: OnceLock::new(), failure }
    }

    /// The archive for a request, which waits for no attempt
    fn for_request(&self) -> Result<&SharedArchive, Error> {
        self.opened.get().ok_or_else(|| {
            let detail = format_args!("{} could not be reached so far", self.name);
            Error::new(ErrorKind::Storage, detail)
        })
    }

    /// The archive for the export; tries to open it
    fn for_export(&self) -> Result<&SharedArchive, Error> {
        if let Some(archive) = self.opened.get() {
            return Ok(archive);
        }
        let mut failure = lock(&self.failure);
        if self.opened.get().is_none() {
            match (self.open)() {
                Ok(archive) => {
                    info!("{} is open now", self.name);
                    let _ = self.opened.set(archive);
                }
                Err(error) => *failure = error,
            }
        }
        self.opened.get().ok_or_else(|| failure.clone())
    }
}

impl Archive for LateArchive {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.for_request()?.get_many(keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.for_export()?.put_many(rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.for_export()?.replace_many(rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.for_export()?.remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        self.for_export()?.scan(table, after, limit, rows)
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use core::sync::atomic::{AtomicBool, Ordering::SeqCst};

    use super::*;
    use crate::archive::{ArchiveLocation, open};

    #[test]
    fn requests_fail_until_the_export_has_opened_it() {
        let is_there = Arc::new(AtomicBool::new(false));
        let there = Arc::clone(&is_there);
        let archive = LateArchive::new("the archive x".to_owned(), "no route", move || match there
            .load(SeqCst)
        {
            true => open(&ArchiveLocation::Memory, true),
            false => Err(Error::new(ErrorKind::Storage, "still no route")),
        });
        let key = Key::number(Table::ArchivedConfigs, 7);
        let get = || archive.get_many(&[key], &mut Vec::new());
        let scan = || archive.scan(Table::ArchivedConfigs, None, 1, &mut Vec::new());
        let failed = get().unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Storage);
        assert_eq!(failed.to_string(), "the archive x could not be reached so far");
        assert_eq!(scan().unwrap_err().to_string(), "still no route");
        is_there.store(true, SeqCst);
        // A request does not try.
        get().unwrap_err();
        scan().unwrap();
        get().unwrap();
    }
}
