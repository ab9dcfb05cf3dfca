//! The open file, which is opened again after an error of the disk.
//!
//! After an I/O error redb refuses every call until its file is opened again, also when there is
//! room again on a disk that was full. So the database that has failed is closed when its last
//! snapshot is dropped, and the next call opens the file. Every acknowledged commit is there then,
//! and the commit that failed is whole or absent.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::thread;

use milepost::{Error, ErrorKind};
use redb::Database;

use crate::panic_guard::{self, PanicGuard};
use crate::{OpenError, Options, file};

/// How often, and in which steps, it is waited for the snapshots of a database that has failed,
/// whose reads fail at once
const TRIES: u32 = 100;
const STEP: Duration = Duration::from_millis(1);

/// A database, and whether it has failed
pub(crate) struct OpenDatabase {
    database: PanicGuard<Database>,
    has_failed: AtomicBool,
}

impl OpenDatabase {
    pub(crate) const fn new(database: Database) -> Self {
        Self { database: PanicGuard::new(database), has_failed: AtomicBool::new(false) }
    }

    pub(crate) fn value(&self) -> Result<&Database, Error> {
        self.database.value()
    }

    pub(crate) fn value_mut(&mut self) -> Result<&mut Database, Error> {
        self.database.value_mut()
    }

    /// Runs a closure that calls redb, and notes an error of the disk
    pub(crate) fn call<T>(
        &self,
        work: impl FnOnce() -> Result<T, redb::Error>,
    ) -> Result<T, Error> {
        panic_guard::call(work).inspect_err(|error| {
            if error.kind() == ErrorKind::Storage {
                self.has_failed.store(true, Ordering::Release);
            }
        })
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }
}

/// The file of a storage
pub(crate) struct Handle {
    /// `None` if it could not be opened again yet
    database: RwLock<Option<Arc<OpenDatabase>>>,
    path: PathBuf,
    options: Options,
}

impl Handle {
    pub(crate) fn new(database: Database, path: &Path, options: &Options) -> Self {
        // Its pages were verified when it was opened first, if ever.
        let options = Options { verify_bytes: 0, ..options.clone() };
        let database = Some(Arc::new(OpenDatabase::new(database)));
        Self { database: RwLock::new(database), path: path.to_owned(), options }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The database; opens the file again if it has failed
    ///
    /// # Errors
    ///
    /// It cannot be opened, or snapshots of before the error are still there.
    pub(crate) fn database(&self) -> Result<Arc<OpenDatabase>, Error> {
        for _ in 0..TRIES {
            // A thread that panicked has replaced the value or not.
            let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
            match &*database {
                Some(open) if !open.has_failed() => return Ok(Arc::clone(open)),
                _ => drop(database),
            }
            if !self.open_again()? {
                thread::sleep(STEP);
            }
        }
        let detail = "an earlier call failed, and its snapshots are still read";
        Err(Error::new(ErrorKind::Storage, detail))
    }

    /// The only handle to the database; `None` if there are others
    pub(crate) fn only(&mut self) -> Option<&mut OpenDatabase> {
        let database = self.database.get_mut().unwrap_or_else(PoisonError::into_inner);
        database.as_mut().and_then(Arc::get_mut)
    }

    /// Closes a database that has failed and opens the file; `false` if it is still read
    fn open_again(&self) -> Result<bool, OpenError> {
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = database.take() {
            if !open.has_failed() {
                *database = Some(open);
                return Ok(true);
            }
            match Arc::try_unwrap(open) {
                Ok(open) => drop(open),
                Err(open) => {
                    *database = Some(open);
                    return Ok(false);
                }
            }
        }
        let (opened, _) = file::open_existing(&self.path, &self.options)?;
        *database = Some(Arc::new(OpenDatabase::new(opened)));
        Ok(true)
    }
}
