//! Runs queries over a local storage, where reads block.
//!
//! A query reads one state: that of the snapshot, or one that optimistic concurrency control
//! validates. Hosts whose reads do not block drive queries themselves.

use alloc::vec::Vec;

use super::{Isolation, OptimisticQuery, Query, Row, Snapshot, Step, failed_read};
use crate::Error;

/// Runs a query over a local storage to its end and returns its output
///
/// Over a storage without snapshots, the query is run as an
/// [`OptimisticQuery`](crate::storage::OptimisticQuery).
///
/// # Errors
///
/// Those of the storage and of the query.
pub fn run<Q: Query>(
    query: &mut Q,
    snapshot: &(impl Snapshot + ?Sized),
) -> Result<Q::Output, Error> {
    run_with_rows(query, snapshot, &mut Vec::new())
}

/// [`run`] with a reused list for the rows, which is empty after an output but not after an error
pub(crate) fn run_with_rows<Q: Query>(
    query: &mut Q,
    snapshot: &(impl Snapshot + ?Sized),
    rows: &mut Vec<Option<Row>>,
) -> Result<Q::Output, Error> {
    if snapshot.isolation() == Isolation::Snapshot {
        return drive(query, snapshot, rows);
    }
    let Some(initial) = query.restarted() else { return drive(query, snapshot, rows) };
    let mut optimistic = OptimisticQuery::new(initial, Isolation::ReadCommitted);
    match drive(&mut optimistic, snapshot, rows) {
        Ok(output) => {
            *query = optimistic.into_complete();
            Ok(output)
        }
        Err(error) => {
            *query = optimistic.into_query();
            Err(error)
        }
    }
}

fn drive<Q: Query>(
    query: &mut Q,
    snapshot: &(impl Snapshot + ?Sized),
    rows: &mut Vec<Option<Row>>,
) -> Result<Q::Output, Error> {
    loop {
        rows.clear();
        match query.poll()? {
            Step::Done(output) => return Ok(output),
            Step::NeedRows(keys) => snapshot
                .get_many(keys, rows)
                .map_err(|error| failed_read(error, "get_many", keys))?,
        }
        query.supply_rows(rows)?;
    }
}
