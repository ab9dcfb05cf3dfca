//! Conformance check of a host's storage, to run before an engine relies on it.
//!
//! The check is `milepost::storage::conformance`, the same in every language. A storage that cannot
//! be created fails the requirement that was being checked.

use core::ffi::c_void;

use milepost::storage::{Batch, Storage, conformance};
use milepost::{Error, ErrorKind};

use crate::boundary::ffi_function;
use crate::error::milepost_error;
use crate::storage::{HostStorage, milepost_create_fn};

/// A storage of the host, or why it could not be created
struct CreatedStorage(Result<HostStorage, Error>);

impl Storage for CreatedStorage {
    type Snapshot<'a> = &'a HostStorage;

    fn snapshot(&self) -> Result<&HostStorage, Error> {
        self.0.as_ref().map_err(Error::clone)
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.0.as_mut().map_err(|error| error.clone())?.commit(batch)
    }
}

ffi_function! {
    /// Checks that a storage meets the requirements of the engine
    ///
    /// `create` is called fewer than 32 times with `context`, each time for an empty storage, which
    /// the check ends by its `finalize`. Takes some seconds and some 16 MiB.
    /// `MILEPOST_STATUS_STORAGE` if a requirement is not met; the error's message says which one,
    /// at which key, and what was found. `context` may be NULL.
    fn milepost_storage_check(
        create: milepost_create_fn,
        context: *mut c_void,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        conformance::check(|| CreatedStorage(create.create(context)))
            .map_err(|violation| Error::new(ErrorKind::Storage, violation))?;
        Ok(())
    }
}
