//! Tests of the duties of an [`Archive`], for authors of archives.
//!
//! Call [`check_shared`], because threads share archives; [`check`] is the part that needs none,
//! and the [`Passed`] of each names the requirements it left out. Nothing panics: a failed test is
//! a [`Violation`] that names the requirement, the key and the finding. Rows are plain envelopes;
//! an archive that compresses may return another encoding, so contents are compared. That rows
//! survive when the process is killed cannot be tested from inside it.

mod call;
#[cfg(test)]
mod calls_tests;
mod probe;
mod requirements;
#[cfg(test)]
mod tests;
mod threads;

use core::fmt;

use self::call::Local;
pub use self::call::{Answer, Call, Found};
use self::probe::Probe;
use super::Archive;
use crate::Error;
use crate::storage::conformance::{Passed, Run, SideBySide};

/// A requirement of the engine on an archive
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Requirement {
    /// A row that was never put is `None` and not an error
    MissingRow,
    /// All rows that were put can be read, in the order of the keys
    Put,
    /// `get_many` appends to the vector, takes repeated keys, thousands of keys and none
    GetMany,
    /// The same bytes in two tables are two keys, and so are keys of which one begins the other
    DistinctKeys,
    /// Rows of 8 MiB, and of any bytes, are read back unchanged
    LargeRow,
    /// A put of rows that are there changes nothing, in whatever order they come
    Idempotence,
    /// A row with the content of one that is there, by another writer, is no conflict
    SameContent,
    /// A key with two rows that differ in content is an error of kind `Conflict`, others are not
    Conflict,
    /// A replace removes all that the key held, and nothing else
    Replace,
    /// A removal removes all that the keys held, and nothing else; they can be put again
    Remove,
    /// A scan lists every row of its table once, page by page, in an order that stays
    Scan,
    /// Rows whose puts begin before others have ended are all there
    Concurrency,
    /// Rows that several threads put at once are all there
    Threads,
    /// Rows survive closing and opening the archive
    Durability,
}

impl Requirement {
    /// The requirements that are checked step by step, in their order
    const ALL: [Self; 12] = [
        Self::MissingRow,
        Self::Put,
        Self::GetMany,
        Self::DistinctKeys,
        Self::LargeRow,
        Self::Idempotence,
        Self::SameContent,
        Self::Conflict,
        Self::Replace,
        Self::Remove,
        Self::Scan,
        Self::Concurrency,
    ];
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::MissingRow => "a missing row is `None` and not an error",
            Self::Put => "rows that were put are read in the order of the keys",
            Self::GetMany => "get_many appends, and takes any number of keys",
            Self::DistinctKeys => "keys of all tables and lengths are distinct",
            Self::LargeRow => "rows of 8 MiB are read back unchanged",
            Self::Idempotence => "rows can be put again, in any order",
            Self::SameContent => "the same content by another writer is no conflict",
            Self::Conflict => "a key with two contents is an error of kind Conflict",
            Self::Replace => "a replace removes all that the key held",
            Self::Remove => "a removal removes all that the keys held",
            Self::Scan => "a scan lists every row of its table once",
            Self::Concurrency => "rows of puts at the same time are all there",
            Self::Threads => "rows that threads put at once are all there",
            Self::Durability => "rows survive closing and opening the archive",
        })
    }
}

/// A violated requirement of an archive
pub type Violation = crate::storage::conformance::Violation<Requirement>;

/// Checks an archive that threads share
///
/// All of [`check`], and that two threads can put and read rows at once; `side_by_side` runs a
/// function in each. `make` returns an empty archive; it is called once per requirement, fewer than
/// 20 times. At most about 32 MiB of rows are put at a time.
///
/// ```
/// use std::sync::Mutex;
/// use std::thread;
///
/// use milepost::archive::conformance;
/// # use milepost::Error;
/// # use milepost::archive::{Archive, MemoryArchive};
/// # use milepost::storage::{Key, Row, Table};
/// # #[derive(Default)]
/// # struct Locked(Mutex<MemoryArchive>);
/// # impl Archive for Locked {
/// #     fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
/// #         self.0.lock().unwrap().get_many(keys, rows)
/// #     }
/// #     fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
/// #         self.0.lock().unwrap().put_many(rows)
/// #     }
/// #     fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
/// #         self.0.lock().unwrap().replace_many(rows)
/// #     }
/// #     fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
/// #         self.0.lock().unwrap().remove_many(keys)
/// #     }
/// #     fn scan(&self, table: Table, after: Option<&Key>, limit: usize,
/// #             rows: &mut Vec<(Key, Row)>) -> Result<(), Error> {
/// #         self.0.lock().unwrap().scan(table, after, limit, rows)
/// #     }
/// # }
///
/// let passed = conformance::check_shared(Locked::default, &|one, other| {
///     thread::scope(|scope| {
///         scope.spawn(one);
///         other();
///     });
/// })?;
/// assert_eq!(passed.left_out(), [conformance::Requirement::Durability]);
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// The first violation. An error of the archive violates the requirement that is being checked.
pub fn check_shared<A: Archive + Sync>(
    mut make: impl FnMut() -> A,
    side_by_side: &SideBySide<'_>,
) -> Result<Passed<Requirement>, Violation> {
    check(&mut make)?;
    threads::check(&make(), side_by_side)?;
    Ok(Passed::without(&[Requirement::Durability]))
}

/// Checks an archive that one thread uses
///
/// Leaves out the requirements that [`Passed::left_out`] names. `make` returns an
/// empty archive; it is called once per requirement, fewer than 20 times. At most about 32 MiB of
/// rows are put at a time.
///
/// ```
/// use milepost::archive::{MemoryArchive, conformance};
///
/// conformance::check(MemoryArchive::new)?;
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// As [`check_shared`].
pub fn check<A: Archive>(mut make: impl FnMut() -> A) -> Result<Passed<Requirement>, Violation> {
    let mut local = Local::new(|| Ok(make()));
    ArchiveRun::all(true).complete(|call| local.answer(call))?;
    Ok(Passed::without(&[Requirement::Threads, Requirement::Durability]))
}

/// Checks that rows survive when the archive is dropped and opened again
///
/// `open` opens the same archive each time. It must be empty at first; rows are left in it.
///
/// ```
/// use milepost::archive::{MemoryArchive, conformance};
///
/// // In place of an archive on disk: the archive outlives each handle.
/// let archive = MemoryArchive::new();
/// conformance::check_durable(|| Ok(&archive))?;
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// A [`Violation`] of [`Requirement::Durability`], also if `open` fails.
pub fn check_durable<A: Archive>(
    mut open: impl FnMut() -> Result<A, Error>,
) -> Result<(), Violation> {
    let mut local = Local::new(&mut open);
    let run = ArchiveRun::new(|calls| async move { requirements::durability(&calls).await });
    run.complete(|call| local.answer(call))
}

/// A run of the check of an archive whose calls are answered later
pub type ArchiveRun = Run<Call, Answer, Result<(), Violation>>;

impl ArchiveRun {
    /// The check by [`check`], without removals for hosts that have none
    ///
    /// Puts also begin while others were not answered yet, so no threads are needed.
    pub fn all(removes: bool) -> Self {
        Self::new(move |calls| async move {
            for requirement in Requirement::ALL {
                if removes || requirement != Requirement::Remove {
                    let probe = Probe::of_new_archive(&calls, requirement).await?;
                    requirements::test(&probe, requirement).await?;
                }
            }
            Ok(())
        })
    }
}
