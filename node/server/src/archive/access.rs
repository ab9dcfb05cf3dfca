//! The rows that a query reads: those of the store and those of the archive.
//!
//! A query runs on a thread that serves sockets as long as it needs no archive. Where it does, the
//! read fails, which is noted, and the query starts again on a thread that may block: there every
//! read of the store sees its newest state, so that no commit waits for the archive.

use core::cell::Cell;
use core::net::IpAddr;

use milepost::archive::{Archive, WithArchive};
use milepost::endpoint::{RequestQuery, RequestState};
use milepost::storage::{Key, Query as _, Row, Snapshot as _, Step, Table};
use milepost::{Error, ErrorKind};

use super::Lookups;
use crate::store::{Store, StoreSnapshot};

/// The rows of the store, and those of the archive if there is one
pub(crate) type QuerySnapshot<'store> = WithArchive<StoreSnapshot<'store>, ArchiveAccess<'store>>;

/// The rows of the archive, or that they cannot be read on this thread
pub(crate) struct ArchiveAccess<'store> {
    /// Where it is read and for whom; `None` on a thread that may not block
    lookups: Option<(&'store Lookups, IpAddr)>,
    state: Cell<AccessState>,
}

/// What became of the reads of the archive
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum AccessState {
    /// There was none, or all went well
    #[default]
    Fine,
    /// There would have been one, on a thread that may not block
    Needed,
    /// One failed
    Failed,
}

impl ArchiveAccess<'_> {
    pub(crate) const fn state(&self) -> AccessState {
        self.state.get()
    }
}

impl Archive for ArchiveAccess<'_> {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        let Some((lookups, client)) = self.lookups else {
            self.state.set(AccessState::Needed);
            return Err(unsupported("the archive is read on another thread"));
        };
        let read = lookups.get_many(keys, rows, client);
        read.inspect_err(|_| self.state.set(AccessState::Failed))
    }

    fn put_many(&self, _: &[(Key, Row)]) -> Result<(), Error> {
        Err(unsupported("queries do not write"))
    }

    fn replace_many(&self, _: &[(Key, Row)]) -> Result<(), Error> {
        Err(unsupported("queries do not write"))
    }

    fn remove_many(&self, _: &[Key]) -> Result<(), Error> {
        Err(unsupported("queries do not write"))
    }

    fn scan(
        &self,
        _: Table,
        _: Option<&Key>,
        _: usize,
        _: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        Err(unsupported("queries do not scan"))
    }
}

fn unsupported(detail: &str) -> Error {
    Error::new(ErrorKind::Usage, detail)
}

/// The rows for a query on a thread that may not wait for the archive
pub(crate) fn without_archive(store: &Store) -> QuerySnapshot<'_> {
    let archive = ArchiveAccess { lookups: None, state: Cell::default() };
    WithArchive { snapshot: store.snapshot(), archive }
}

/// The rows for a query on a thread that may block
pub(crate) fn with_archive<'store>(
    store: &'store Store,
    lookups: &'store Lookups,
    client: IpAddr,
) -> QuerySnapshot<'store> {
    let archive = ArchiveAccess { lookups: Some((lookups, client)), state: Cell::default() };
    WithArchive { snapshot: StoreSnapshot::Newest(store), archive }
}

/// Runs the query of a request; suspended before it reads the archive unless it `may_block`
pub(crate) fn run_request(
    mut query: RequestQuery,
    snapshot: &QuerySnapshot<'_>,
    may_block: bool,
) -> Result<RequestState, Box<RequestQuery>> {
    let mut rows = Vec::new();
    loop {
        rows.clear();
        let read = match query.poll() {
            Ok(Step::Done(state)) => return Ok(state),
            Ok(Step::NeedRows(keys)) => {
                // The keys of the archive are asked for alone.
                if !may_block && keys.first().is_some_and(|key| key.table().is_archive()) {
                    return Err(Box::new(query));
                }
                snapshot.get_many(keys, &mut rows)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = read.and_then(|()| query.supply_rows(&rows)) {
            return Ok(RequestState::Ready(query.fail(&error)));
        }
    }
}
