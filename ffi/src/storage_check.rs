//! Conformance check of a host's storage, to run before an engine relies on it.
//!
//! The check is `milepost::storage::conformance`, the same in every language. A storage that cannot
//! be created fails the requirement that was being checked.

use core::ffi::c_void;
use std::sync::Arc;

use milepost::storage::{Batch, Isolation, Storage, conformance};
use milepost::{Error, ErrorKind};

use crate::boundary::ffi_function;
use crate::error::milepost_error;
use crate::storage::{HostSnapshot, HostStorage, milepost_create_fn};

/// A storage of the host, or why it could not be created
struct CreatedStorage(Result<Arc<HostStorage>, Error>);

impl Storage for CreatedStorage {
    type Snapshot<'a> = HostSnapshot<Arc<HostStorage>>;

    fn snapshot(&self) -> Result<HostSnapshot<Arc<HostStorage>>, Error> {
        HostSnapshot::open(self.0.clone()?)
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.0.clone()?.commit(batch)
    }
}

fn check(make: impl Fn() -> CreatedStorage) -> Result<(), conformance::Violation> {
    conformance::check(&make)?;
    let storage = make();
    // Without either, the lock of the engine makes the snapshots.
    let is_read_while_committing = |storage: &Arc<HostStorage>| {
        storage.has_snapshots() || storage.isolation() == Isolation::ReadCommitted
    };
    if storage.0.as_ref().is_ok_and(is_read_while_committing) {
        conformance::check_snapshots(|| storage, Storage::snapshot)?;
    }
    Ok(())
}

ffi_function! {
    /// Checks that a storage meets the requirements of the engine
    ///
    /// `create` is called fewer than 32 times with `context`, each time for an empty storage, which
    /// the check ends by its `finalize`. Takes some seconds and some 16 MiB.
    /// `MILEPOST_STATUS_STORAGE` if a requirement is not met; the error's message says which one,
    /// at which key, and what was found. A storage that has snapshots, or declares
    /// `MILEPOST_ISOLATION_READ_COMMITTED`, is also changed between two reads of a query. `context`
    /// may be NULL.
    fn milepost_storage_check(
        create: milepost_create_fn,
        context: *mut c_void,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let make = || CreatedStorage(create.create(context).map(Arc::new));
        check(make).map_err(|violation| Error::new(ErrorKind::Storage, violation))?;
        Ok(())
    }
}
