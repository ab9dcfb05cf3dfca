//! Queries that are suspended where rows are needed.
//!
//! A query names the rows it needs, is resumed with them, and ends in an output. The same state
//! machine serves a thread over a local storage ([`run`](super::run)), an async runtime over a
//! remote one, a C poll loop and a JavaScript promise. It names all keys it knows of at once, so a
//! remote storage costs one round trip per level of a receipt tree.

use super::{Key, Row};
use crate::{Error, ErrorKind};

/// The next need of a query
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a query needs rows or is done")]
pub enum Step<'query, Output> {
    /// The rows of these keys, in this order, by [`Query::supply_rows`]
    NeedRows(&'query [Key]),
    /// Nothing: this is the output
    Done(Output),
}

pub(crate) mod sealed {
    /// Keeps [`Query`](super::Query) from being implemented outside of the crate
    #[expect(unnameable_types, reason = "the trait is sealed by a name that hosts cannot reach")]
    pub trait Sealed: Sized {
        /// The same query before its first row; `None` if it cannot start again
        fn restarted(&self) -> Option<Self> {
            None
        }
    }
}

/// A read of the storage that can be suspended where rows are needed
///
/// Call [`poll`](Self::poll). On [`Step::NeedRows`] fetch the rows, all from one state of the
/// storage, and pass them to [`supply_rows`](Self::supply_rows); repeat until [`Step::Done`]. If
/// the storage has no snapshots, wrap the query in an
/// [`OptimisticQuery`](crate::storage::OptimisticQuery).
/// Hosts call queries and cannot implement the trait.
///
/// ```
/// use milepost::storage::{MemoryStorage, Query, Snapshot, Step};
/// use milepost::primitives::CryptoHash;
/// use milepost::status::StatusQuery;
///
/// let storage = MemoryStorage::new();
/// let mut query = StatusQuery::new(CryptoHash::ZERO, 1_000);
/// let status = loop {
///     let mut rows = Vec::new();
///     match query.poll()? {
///         Step::Done(status) => break status,
///         // The chain, the transaction and its outcome, fetched in whatever way suits.
///         Step::NeedRows(keys) => {
///             for key in keys {
///                 rows.push(storage.get(key)?);
///             }
///         }
///     }
///     query.supply_rows(&rows)?;
/// };
/// assert!(status.is_none());
/// # Ok::<(), milepost::Error>(())
/// ```
pub trait Query: sealed::Sealed {
    /// The result of the query
    type Output;

    /// Returns the next step; names the same keys again until their rows are supplied
    ///
    /// # Errors
    ///
    /// Why the query cannot be completed: a corrupt row, a row of another layout version, a limit.
    /// After an error or an output every further call is an error of kind
    /// [`Usage`](crate::ErrorKind::Usage).
    fn poll(&mut self) -> Result<Step<'_, Self::Output>, Error>;

    /// Supplies the rows of the keys of the last [`Step::NeedRows`], in their order
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) unless there is one entry per key; the query
    /// is unchanged then.
    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error>;
}

/// The error of a query that is polled after its end
pub(crate) fn already_complete() -> Error {
    Error::new(ErrorKind::Usage, "the query is already complete")
}

/// Checks that one entry is supplied for each key that a query asked for
///
/// # Errors
///
/// [`ErrorKind::Usage`] if there are more or fewer.
pub(crate) fn check_row_count(supplied: usize, expected: usize) -> Result<(), Error> {
    if supplied == expected {
        return Ok(());
    }
    let detail = format_args!("{supplied} rows supplied, {expected} asked for");
    Err(Error::new(ErrorKind::Usage, detail))
}
