//! Conformance check of a host's storage, to run before an engine relies on it.
//!
//! The check is `milepost::storage::conformance`, the same in every language. A storage that cannot
//! be created fails the requirement that was being checked.

use core::ffi::c_void;
use std::sync::Arc;
use std::thread;

use milepost::storage::{Batch, Isolation, Storage, conformance};
use milepost::{Error, ErrorKind};

use crate::boundary::ffi_function;
use crate::error::milepost_error;
use crate::storage::{HostSnapshot, HostStorage, milepost_create_fn};

/// A storage of the host, or why it could not be created
#[derive(Clone)]
struct CreatedStorage(Result<Arc<HostStorage>, Error>);

impl CreatedStorage {
    /// Whether it is read while it commits: otherwise the lock of the engine makes the snapshots
    fn is_shared(&self) -> bool {
        self.0.as_ref().is_ok_and(|storage| {
            storage.has_snapshots() || storage.isolation() == Isolation::ReadCommitted
        })
    }
}

impl Storage for CreatedStorage {
    type Snapshot<'a> = HostSnapshot<Arc<HostStorage>>;

    fn snapshot(&self) -> Result<HostSnapshot<Arc<HostStorage>>, Error> {
        HostSnapshot::open(self.0.clone()?)
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.0.clone()?.commit(batch)
    }
}

/// Runs two functions in two threads
pub(crate) fn side_by_side(one: &mut (dyn FnMut() + Send), other: &mut (dyn FnMut() + Send)) {
    thread::scope(|scope| {
        let thread = scope.spawn(one);
        other();
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

fn check(make: impl Fn() -> CreatedStorage) -> Result<(), conformance::Violation> {
    if !make().is_shared() {
        return conformance::check(make).map(drop);
    }
    let make = || {
        let storage = make();
        let reader = storage.clone();
        (storage, move || reader.snapshot())
    };
    conformance::check_shared(make, Some(&side_by_side)).map(drop)
}

ffi_function! {
    /// Checks that a storage meets the requirements of the engine
    ///
    /// A storage that has snapshots, or declares `MILEPOST_ISOLATION_READ_COMMITTED`, is also
    /// changed between two reads of a query, and read by one thread while another one commits.
    /// Others are not, because an engine does not read them meanwhile.
    ///
    /// `create` is called fewer than 32 times with `context`, each time for an empty storage, which
    /// the check ends by its `finalize`. Takes up to two seconds with rows in memory, and some
    /// 16 MiB. `MILEPOST_STATUS_STORAGE` if a requirement is not met; the error's message says
    /// which one, at which key, and the finding. `context` may be NULL.
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
