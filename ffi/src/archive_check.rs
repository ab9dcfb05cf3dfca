//! Conformance check of a host's archive, to run before an engine relies on it.
//!
//! The check is `milepost::archive::conformance`, the same for every archive, with threads that put
//! and read at once. An archive that cannot be created fails the requirement that was being
//! checked.

use core::ffi::c_void;

use milepost::archive::{Archive, conformance};
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};

use crate::archive::{HostArchive, milepost_archive_create_fn};
use crate::boundary::ffi_function;
use crate::error::milepost_error;
use crate::storage_check::side_by_side;

/// An archive of the host, or why it could not be created
struct CreatedArchive(Result<HostArchive, Error>);

impl CreatedArchive {
    fn archive(&self) -> Result<&HostArchive, Error> {
        self.0.as_ref().map_err(Clone::clone)
    }
}

impl Archive for CreatedArchive {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.archive()?.get_many(keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.archive()?.put_many(rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.archive()?.replace_many(rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.archive()?.remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        self.archive()?.scan(table, after, limit, rows)
    }
}

ffi_function! {
    /// Checks that an archive meets the requirements of the engine
    ///
    /// `create` is called fewer than 20 times with `context`, each time for an empty archive, which
    /// the check ends by its `finalize`; the last one is used by two threads. At most about
    /// 32 MiB of rows are in an archive at a time. `MILEPOST_STATUS_STORAGE` if a requirement is
    /// not met; the error's message says which one, at which key, and what was found. `context` may
    /// be NULL.
    fn milepost_archive_check(
        create: milepost_archive_create_fn,
        context: *mut c_void,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let make = || CreatedArchive(create.create(context));
        let checked = conformance::check_shared(make, &side_by_side);
        checked.map_err(|violation| Error::new(ErrorKind::Storage, violation))?;
        Ok(())
    }
}
