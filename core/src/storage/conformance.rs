//! Tests of the guarantees that every storage gives, for authors of storages.
//!
//! Call [`check_shared`] for a storage that is read while it is changed, as databases are, and
//! [`check`], a part of it, where a snapshot keeps commits out, as a borrow does; the [`Passed`] of
//! each names the requirements it left out. Nothing panics: a failed test is a [`Violation`] that
//! names the requirement, the key and the finding, so adapters in other languages run the same
//! tests. All input is from fixed seeds. That a commit is whole after a crash takes a test that
//! kills the process.

pub(crate) mod call;
#[cfg(test)]
mod calls_tests;
mod isolation;
mod model;
pub(crate) mod probe;
mod requirements;
pub(crate) mod script;
pub(crate) mod side_by_side;
#[cfg(test)]
pub(crate) mod tests;
mod threads;
mod violation;

use core::fmt;

use self::call::Local;
pub use self::call::{Answer, Call};
use self::probe::{Probe, StorageCalls};
pub use self::script::{Run, Step};
pub use self::side_by_side::SideBySide;
pub use self::violation::{Requirement, Violation};
use super::{Isolation, MemoryStorage, Snapshot, Storage};
use crate::{Error, ErrorKind};

/// The result for a storage, or an archive, that met all requirements that were checked
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Passed<R: 'static = Requirement> {
    left_out: &'static [R],
}

impl<R> Passed<R> {
    /// A check that has left out these requirements
    pub(crate) const fn without(left_out: &'static [R]) -> Self {
        Self { left_out }
    }

    /// The requirements that were not checked
    pub const fn left_out(&self) -> &'static [R] {
        self.left_out
    }
}

impl<R: fmt::Display> fmt::Display for Passed<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("all requirements that were checked are met; not checked: ")?;
        for (position, requirement) in self.left_out.iter().enumerate() {
            let separator = if position == 0 { "" } else { "; " };
            write!(formatter, "{separator}{requirement}")?;
        }
        Ok(())
    }
}

/// Checks a storage that is read while it is changed
///
/// All of [`check`], and that every query reads one state, whatever is committed meanwhile: batches
/// are committed before, between and after the reads of a query, step by step. With
/// [`Isolation::ReadCommitted`] a query may start again, and has to end with one state too.
///
/// `make` returns a new, empty storage, and a function that takes snapshots of its newest state
/// from beside it; it is called fewer than 32 times. At most about 16 MiB of rows are stored at a
/// time. A host that has threads passes a function that runs two others side by side; then one
/// thread also commits while another one reads. Without threads this part is left out, which
/// [`Passed::left_out`] says: a storage that applies a commit row by row can pass.
///
/// ```
/// use std::sync::{Arc, RwLock};
/// use std::thread;
///
/// use milepost::Error;
/// use milepost::storage::{
///     Batch, Isolation, Key, MemoryStorage, Row, Snapshot, Storage, conformance,
/// };
///
/// /// One lock around all rows, which each read takes anew
/// #[derive(Clone, Default)]
/// struct Locked(Arc<RwLock<MemoryStorage>>);
///
/// impl Snapshot for Locked {
///     fn isolation(&self) -> Isolation {
///         Isolation::ReadCommitted
///     }
///
///     fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
///         self.0.read().unwrap().get(key)
///     }
/// }
///
/// impl Storage for Locked {
///     type Snapshot<'a> = Self;
///
///     fn snapshot(&self) -> Result<Self, Error> {
///         Ok(self.clone())
///     }
///
///     fn commit(&mut self, batch: Batch) -> Result<(), Error> {
///         self.0.write().unwrap().commit(batch)
///     }
/// }
///
/// let make = || {
///     let storage = Locked::default();
///     let reader = storage.clone();
///     (storage, move || reader.snapshot())
/// };
/// let passed = conformance::check_shared(
///     make,
///     Some(&|one, other| {
///         thread::scope(|scope| {
///             scope.spawn(one);
///             other();
///         });
///     }),
/// )?;
/// assert_eq!(passed.left_out(), [conformance::Requirement::Durability]);
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// The first violation, in the order of [`Requirement::ALL`]. An error of the storage violates the
/// requirement that is being checked.
pub fn check_shared<S: Storage + Send, R: Snapshot, O: FnMut() -> Result<R, Error> + Send>(
    mut make: impl FnMut() -> (S, O),
    side_by_side: Option<&SideBySide<'_>>,
) -> Result<Passed, Violation> {
    let isolation = {
        let (_storage, mut open) = make();
        // A snapshot that cannot be taken is a violation later on.
        open().map_or_else(|_| Isolation::default(), |snapshot| snapshot.isolation())
    };
    let mut local = Local::new(|| Ok(make()));
    Run::shared(isolation).complete(|call| local.answer(call))?;
    drop(local);
    let Some(side_by_side) = side_by_side else {
        return Ok(Passed::without(&[Requirement::Threads, Requirement::Durability]));
    };
    let (mut storage, mut open) = make();
    threads::check(&mut storage, &mut open, side_by_side)?;
    Ok(Passed::without(&[Requirement::Durability]))
}

/// Checks a storage whose snapshots keep commits out, as a borrow does
///
/// Leaves out the requirements that [`Passed::left_out`] names: a storage that is
/// changed while a snapshot is read can pass and be wrong. `make` returns a new, empty storage; it
/// is called once per requirement, fewer than 32 times. At most about 16 MiB of rows are stored at
/// a time.
///
/// ```
/// use milepost::storage::{MemoryStorage, conformance};
///
/// let passed = conformance::check(MemoryStorage::new)?;
/// assert!(passed.left_out().contains(&conformance::Requirement::SnapshotIsolation));
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// As [`check_shared`].
pub fn check<S: Storage>(mut make: impl FnMut() -> S) -> Result<Passed, Violation> {
    let mut local = Local::new(|| Ok((make(), opens_none)));
    Run::exclusive().complete(|call| local.answer(call))?;
    Ok(Passed::without(&[
        Requirement::SnapshotIsolation,
        Requirement::ReadCommitted,
        Requirement::Threads,
        Requirement::Durability,
    ]))
}

/// In place of snapshots, of which these checks open none
fn opens_none() -> Result<MemoryStorage, Error> {
    Err(Error::new(ErrorKind::Usage, "snapshots are not opened"))
}

/// Checks that commits survive when the storage is dropped and opened again
///
/// `open` opens the same storage each time. It must be empty at first; rows are left in it.
///
/// ```
/// use milepost::storage::{Batch, Key, MemoryStorage, Row, Snapshot, Storage, conformance};
/// use milepost::Error;
/// use std::{cell::RefCell, rc::Rc};
///
/// /// In place of a storage on disk: the shared part outlives each handle
/// struct SharedStorage(Rc<RefCell<MemoryStorage>>);
///
/// impl Snapshot for SharedStorage {
///     fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
///         self.0.borrow().get(key)
///     }
/// }
///
/// impl Storage for SharedStorage {
///     type Snapshot<'a> = &'a Self;
///
///     fn snapshot(&self) -> Result<&Self, Error> {
///         Ok(self)
///     }
///
///     fn commit(&mut self, batch: Batch) -> Result<(), Error> {
///         self.0.borrow_mut().commit(batch)
///     }
/// }
///
/// let shared = Rc::default();
/// conformance::check_durable(|| Ok(SharedStorage(Rc::clone(&shared))))?;
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// A [`Violation`] of [`Requirement::Durability`], also if `open` fails.
pub fn check_durable<S: Storage>(
    mut open: impl FnMut() -> Result<S, Error>,
) -> Result<(), Violation> {
    let mut local = Local::new(|| Ok((open()?, opens_none)));
    let run: StorageRun = Run::new(|calls| async move { model::check_durable(&calls).await });
    run.complete(|call| local.answer(call))
}

/// A run of the check of a storage whose calls are answered later
pub type StorageRun = Run<Call, Answer, Result<(), Violation>>;

impl StorageRun {
    /// The check of a storage that is not read while it is changed, as by [`check`]
    pub fn exclusive() -> Self {
        Self::new(|calls| async move { check_each(&calls).await })
    }

    /// The check of a storage that is read while it is changed, as by [`check_shared`]
    ///
    /// Reads also begin while a commit was not answered yet, so no threads are needed.
    pub fn shared(isolation: Isolation) -> Self {
        Self::new(move |calls| async move {
            check_each(&calls).await?;
            if isolation == Isolation::Snapshot {
                check_one(&calls, Requirement::SnapshotIsolation).await?;
            }
            isolation::between_reads(&calls, isolation).await?;
            isolation::during_commits(&calls, isolation).await
        })
    }
}

/// Checks the requirements on every storage
async fn check_each(calls: &StorageCalls) -> Result<(), Violation> {
    for requirement in Requirement::ALL {
        if requirement == Requirement::SnapshotIsolation {
            break;
        }
        check_one(calls, requirement).await?;
    }
    Ok(())
}

async fn check_one(calls: &StorageCalls, requirement: Requirement) -> Result<(), Violation> {
    requirements::test(&Probe::of_new_storage(calls, requirement).await?, requirement).await
}
