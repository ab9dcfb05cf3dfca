//! Optimistic concurrency control: a query reads one state of a storage without snapshots.
//!
//! Every commit of a block changes the generation in the chain's row. A query that reads this row
//! alone before its first level, with every level, and alone after the last one has read one state
//! of the blocks if the row never differs; the reads of one level may run in any order, so only the
//! reads before and after prove it. Configurations have no generation, but their index only grows,
//! and each of their rows is read again at the end and must not differ. If a row differs, whatever
//! the query has found is discarded, an error too, and it starts again.

use alloc::vec::Vec;
use core::mem;

use super::query::sealed::Sealed;
use super::rows::ChainRecord;
use super::{Isolation, Key, Query, Row, Step, Table, already_complete, check_row_count};
use crate::{Error, ErrorKind};

/// Maximum number of restarts of a query
///
/// With a commit per second, a walk that takes half a second is interrupted more often with a
/// probability of about 2^-17.
const MAX_RESTARTS: usize = 16;

/// A query that starts again if the storage changed while it read
///
/// For hosts that supply rows themselves; [`run`](super::run) does the same. With
/// [`Isolation::Snapshot`] it is the query itself. Otherwise it takes two round trips more than
/// the query, and after 16 restarts it fails with an error of kind
/// [`Storage`](ErrorKind::Storage). Imports are never restarted: while a block is imported, nothing
/// else commits.
///
/// ```
/// use milepost::primitives::CryptoHash;
/// use milepost::status::StatusQuery;
/// use milepost::storage::{Isolation, MemoryStorage, OptimisticQuery, Query, Snapshot, Step};
///
/// let storage = MemoryStorage::new();
/// let query = StatusQuery::new(CryptoHash::ZERO, 1_000);
/// let mut query = OptimisticQuery::new(query, Isolation::ReadCommitted);
/// let mut round_trips = 0;
/// let status = loop {
///     let mut rows = Vec::new();
///     match query.poll()? {
///         Step::Done(status) => break status,
///         Step::NeedRows(keys) => storage.get_many(keys, &mut rows)?,
///     }
///     round_trips += 1;
///     query.supply_rows(&rows)?;
/// };
/// assert!(status.is_none() && round_trips == 3);
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
pub struct OptimisticQuery<Q: Query> {
    query: Q,
    /// The query before its first row; `None` if nothing has to be validated
    initial: Option<Q>,
    phase: Phase<Q::Output>,
    reads: Reads,
}

/// What is read, apart from the query so that it is compiled once
#[derive(Debug, Default)]
struct Reads {
    keys: Vec<Key>,
    /// The rows that must not differ when they are read again
    observed: Vec<(Key, Option<Row>)>,
    restarts: usize,
}

#[derive(Debug)]
enum Phase<Output> {
    /// The generation is read alone
    Start,
    /// The query runs
    Run,
    /// The query has ended; what it observed is read again
    Validate(Result<Output, Error>),
    /// The result is valid
    Complete(Result<Output, Error>),
    Ended,
}

impl<Q: Query> OptimisticQuery<Q> {
    /// Wraps a query that was not polled yet, for a storage with this isolation
    pub fn new(query: Q, isolation: Isolation) -> Self {
        let initial = match isolation {
            Isolation::Snapshot => None,
            Isolation::ReadCommitted => query.restarted(),
        };
        Self { query, initial, phase: Phase::Start, reads: Reads::default() }
    }

    /// The query as it ran last
    pub const fn query(&self) -> &Q {
        &self.query
    }

    /// The query, to be ended if the storage failed
    ///
    /// From [`Isolation::ReadCommitted`] it is the query before its first row, because what it has
    /// read is not validated.
    pub fn into_query(self) -> Q {
        self.initial.unwrap_or(self.query)
    }

    /// The query as it ran last, after its output was returned
    pub(super) fn into_complete(self) -> Q {
        self.query
    }

    /// Whether it failed because it was restarted too often
    #[cfg(any(test, feature = "conformance"))]
    pub(super) const fn is_over_limit(&self) -> bool {
        self.reads.restarts > MAX_RESTARTS
    }

    /// Starts the query again, from the newest of these rows on
    fn restart(&mut self, rows: &[Option<Row>]) {
        let Some(query) = self.initial.as_ref().and_then(Q::restarted) else { return };
        self.query = query;
        self.phase = match self.reads.restart(rows) {
            Ok(()) => Phase::Run,
            Err(error) => Phase::Complete(Err(error)),
        };
    }

    fn validate(&mut self, result: Result<Q::Output, Error>) {
        self.phase = Phase::Validate(result);
        self.reads.repeat();
    }
}

impl Reads {
    /// Reads these rows and that of the generation next
    fn request(&mut self, keys: &[Key]) {
        self.keys.clear();
        self.keys.extend_from_slice(keys);
        self.keys.push(ChainRecord::key());
    }

    /// Reads what was observed again
    fn repeat(&mut self) {
        self.keys.clear();
        self.keys.extend(self.observed.iter().map(|(key, _)| *key));
    }

    /// Compares rows with those that were read before; whether none differs
    fn observe(&mut self, rows: &[Option<Row>]) -> bool {
        self.keys.iter().zip(rows).all(|(key, row)| {
            if !matches!(key.table(), Table::Chain | Table::Configs) {
                return true;
            }
            match self.observed.iter().find(|(observed, _)| observed == key) {
                Some((_, observed)) => observed == row,
                None => {
                    self.observed.push((*key, row.clone()));
                    true
                }
            }
        })
    }

    /// Observes the newest of these rows only
    ///
    /// # Errors
    ///
    /// The query was restarted too often.
    fn restart(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        self.restarts += 1;
        if self.restarts > MAX_RESTARTS {
            let detail = format_args!(
                "the storage changed during {} reads of one state; the limit is {MAX_RESTARTS} \
                 restarts",
                self.restarts
            );
            return Err(Error::new(ErrorKind::Storage, detail));
        }
        // Every other read of this round trip may have been before that of the generation, every
        // read of the next one is after it.
        let chain = ChainRecord::key();
        self.observed.clear();
        self.observed.extend(
            self.keys
                .iter()
                .zip(rows)
                .find(|(key, _)| **key == chain)
                .map(|(_, row)| (chain, row.clone())),
        );
        Ok(())
    }
}

impl<Q: Query> Sealed for OptimisticQuery<Q> {}

impl<Q: Query> Query for OptimisticQuery<Q> {
    type Output = Q::Output;

    fn poll(&mut self) -> Result<Step<'_, Q::Output>, Error> {
        if self.initial.is_none() {
            return self.query.poll();
        }
        match self.phase {
            Phase::Start => self.reads.request(&[]),
            Phase::Run => match self.query.poll() {
                Ok(Step::NeedRows(keys)) => self.reads.request(keys),
                Ok(Step::Done(output)) => self.validate(Ok(output)),
                Err(error) => self.validate(Err(error)),
            },
            Phase::Validate(_) => {}
            Phase::Complete(_) | Phase::Ended => {
                return match mem::replace(&mut self.phase, Phase::Ended) {
                    Phase::Complete(result) => result.map(Step::Done),
                    _ => Err(already_complete()),
                };
            }
        }
        Ok(Step::NeedRows(&self.reads.keys))
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        if self.initial.is_none() {
            return self.query.supply_rows(rows);
        }
        check_row_count(rows.len(), self.reads.keys.len())?;
        if !self.reads.observe(rows) {
            self.restart(rows);
            self.reads.keys.clear();
            return Ok(());
        }
        match mem::replace(&mut self.phase, Phase::Run) {
            Phase::Start => {}
            // The last row is that of the generation.
            Phase::Run => {
                let own = rows.split_last().map_or(rows, |(_, own)| own);
                if let Err(error) = self.query.supply_rows(own) {
                    self.validate(Err(error));
                    return Ok(());
                }
            }
            Phase::Validate(result) => self.phase = Phase::Complete(result),
            Phase::Complete(_) | Phase::Ended => self.phase = Phase::Ended,
        }
        self.reads.keys.clear();
        Ok(())
    }
}
