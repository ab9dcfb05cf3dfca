//! Whether a storage of the host's keeps its duties, before an engine relies on it.
//!
//! The check is the engine's own (`milepost::facts::conformance`), the same in every language. A
//! storage that cannot be made breaks the duty that was being checked.

use core::ffi::c_void;

use milepost::facts::{Batch, Key, Row, Rows, Storage, conformance};
use milepost::{Error, ErrorKind};

use crate::boundary::ffi_function;
use crate::error::milepost_error;
use crate::storage::{HostStorage, milepost_make_fn};

/// A storage that was made, or why it was not
struct Made(Result<HostStorage, Error>);

impl Made {
    fn storage(&self) -> Result<&HostStorage, Error> {
        self.0.as_ref().map_err(Error::clone)
    }
}

impl Rows for Made {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.storage()?.get(key)
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.storage()?.get_many(keys, rows)
    }
}

impl Storage for Made {
    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.0.as_mut().map_err(|error| error.clone())?.commit(batch)
    }
}

ffi_function! {
    /// Checks the duties that every storage has
    ///
    /// `make` is called fewer than 32 times with `context`, each time for an empty storage, whose `finalize` ends it. Takes some
    /// seconds and some 16 MiB. `MILEPOST_STATUS_STORAGE` when a duty is broken; the error's sentence says which one, at
    /// which key, and what was found. `context` may be NULL.
    fn milepost_storage_check(
        make: milepost_make_fn,
        context: *mut c_void,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        conformance::check(|| Made(make.make(context)))
            .map_err(|violation| Error::new(ErrorKind::Storage, violation))?;
        Ok(())
    }
}
