//! Queries written as plain functions that restart when a row is missing.
//!
//! A function that needs a few rows, in an order that depends on their content, is easiest to
//! read from top to bottom. It reads rows from a [`RowCache`]; where one is missing it returns,
//! the row is fetched, and it runs again from the start with all rows fetched so far. It must
//! therefore depend on nothing but the rows. Walks over large trees are state machines of their
//! own instead.

use alloc::vec::Vec;
use core::{iter, mem};

use hashbrown::HashMap;

use super::query::sealed::Sealed;
use super::rows::{BlockPoint, BlockRecord, ChainRecord, decode_block_hash};
use super::{
    Key, Query, Row, Snapshot, Step, Table, already_complete, check_row_count, failed_read,
};
use crate::primitives::{CryptoHash, HashBuilder};
use crate::{Error, ErrorKind};

/// Why a function returned before its end
pub(crate) enum Suspend {
    /// It needs rows that were not supplied yet
    RowsNeeded,
    /// It failed
    Failed(Error),
}

impl From<Error> for Suspend {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The rows fetched so far, and the keys of those that are needed next
///
/// With a snapshot, missing rows are read from it at once, so the function runs only once.
pub(crate) struct RowCache<'source> {
    fetched: &'source mut FetchedRows,
    snapshot: Option<&'source dyn Snapshot>,
}

/// The state that is kept from one run to the next
#[derive(Debug, Default)]
struct FetchedRows {
    rows: HashMap<Key, Option<Row>, HashBuilder>,
    needed_keys: Vec<Key>,
}

impl RowCache<'_> {
    /// Returns the row of a key
    pub(crate) fn row(&mut self, key: Key) -> Result<Option<&Row>, Suspend> {
        self.prefetch([key])?;
        Ok(self.fetched.rows.get(&key).and_then(Option::as_ref))
    }

    /// Returns a clone of the row of a key, with one lookup if it was fetched already
    pub(crate) fn row_cloned(&mut self, key: Key) -> Result<Option<Row>, Suspend> {
        match self.fetched.rows.get(&key) {
            Some(row) => Ok(row.clone()),
            None => self.row(key).map(|row| row.cloned()),
        }
    }

    /// Fetches the rows of all these keys in one round trip
    pub(crate) fn prefetch(&mut self, keys: impl IntoIterator<Item = Key>) -> Result<(), Suspend> {
        let mut keys = keys.into_iter();
        self.prefetch_each(&mut || keys.next())
    }

    /// Not generic, because that would make code for each kind of iterator
    fn prefetch_each(&mut self, next: &mut dyn FnMut() -> Option<Key>) -> Result<(), Suspend> {
        let FetchedRows { rows, needed_keys } = &mut *self.fetched;
        needed_keys.extend(iter::from_fn(next).filter(|key| !rows.contains_key(key)));
        if needed_keys.is_empty() {
            return Ok(());
        }
        let Some(snapshot) = self.snapshot else { return Err(Suspend::RowsNeeded) };
        let mut found = Vec::new();
        snapshot
            .get_many(needed_keys, &mut found)
            .map_err(|error| failed_read(error, "get_many", needed_keys))?;
        rows.extend(needed_keys.drain(..).zip(found));
        Ok(())
    }
}

impl RowCache<'_> {
    /// Returns the block of a hash
    pub(crate) fn block(&mut self, hash: CryptoHash) -> Result<Option<BlockRecord>, Suspend> {
        let row = self.row(Key::hash(Table::Blocks, hash))?;
        Ok(row.map(|row| BlockRecord::decode(row)).transpose()?)
    }

    /// Returns the oldest canonical block in the storage
    pub(crate) fn earliest(&mut self, chain: &ChainRecord) -> Result<Option<BlockPoint>, Suspend> {
        if chain.block_count() == 0 {
            return Ok(None);
        }
        self.canonical(chain.first_ordinal)
    }

    /// The canonical block of this ordinal
    pub(crate) fn canonical(&mut self, ordinal: u64) -> Result<Option<BlockPoint>, Suspend> {
        let row = self.row(Key::number(Table::Ordinals, ordinal))?;
        let Some(row) = row else { return Ok(None) };
        let hash = decode_block_hash(Table::Ordinals, row)?;
        Ok(self.block(hash)?.map(|block| BlockPoint { height: block.height, hash }))
    }
}

/// A function of rows that can run again from its start
pub(crate) trait Restartable {
    /// Its result
    type Output;

    /// Runs from the start with the rows fetched so far
    fn run(&self, rows: &mut RowCache<'_>) -> Result<Self::Output, Suspend>;

    /// The same function; `None` for imports, which run while nothing else commits
    fn restarted(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Runs once over a local snapshot
    fn run_over(&self, snapshot: &dyn Snapshot) -> Result<Self::Output, Error> {
        let (mut fetched, snapshot) = (FetchedRows::default(), Some(snapshot));
        match self.run(&mut RowCache { fetched: &mut fetched, snapshot }) {
            Ok(output) => Ok(output),
            Err(Suspend::Failed(error)) => Err(error),
            // Unreachable: a snapshot returns a row or `None` for every key, or fails.
            Err(Suspend::RowsNeeded) => Err(Error::new(ErrorKind::Usage, "rows are missing")),
        }
    }
}

/// A [`Query`] that runs a [`Restartable`] function
#[derive(Debug)]
pub(crate) struct RestartableQuery<R> {
    function: R,
    fetched: FetchedRows,
    complete: bool,
}

impl<R: Restartable> RestartableQuery<R> {
    /// The query of this function
    pub(crate) fn new(function: R) -> Self {
        Self { function, fetched: FetchedRows::default(), complete: false }
    }
}

impl<R: Restartable> RestartableQuery<R> {
    /// Runs the function if no rows are missing; `None` if it needs rows
    pub(crate) fn advance(&mut self) -> Result<Option<R::Output>, Error> {
        if self.complete {
            return Err(already_complete());
        }
        if !self.fetched.needed_keys.is_empty() {
            return Ok(None);
        }
        match self.function.run(&mut RowCache { fetched: &mut self.fetched, snapshot: None }) {
            Ok(output) => {
                self.complete = true;
                Ok(Some(output))
            }
            Err(Suspend::RowsNeeded) => Ok(None),
            Err(Suspend::Failed(error)) => {
                self.complete = true;
                Err(error)
            }
        }
    }

    /// The keys of the rows that it needs
    pub(crate) fn needed_keys(&self) -> &[Key] {
        &self.fetched.needed_keys
    }

    /// The function
    pub(crate) fn into_function(self) -> R {
        self.function
    }
}

impl<R: Restartable> Sealed for RestartableQuery<R> {
    fn restarted(&self) -> Option<Self> {
        if self.complete { None } else { self.function.restarted().map(Self::new) }
    }
}

impl<R: Restartable> Query for RestartableQuery<R> {
    type Output = R::Output;

    fn poll(&mut self) -> Result<Step<'_, R::Output>, Error> {
        match self.advance()? {
            Some(output) => Ok(Step::Done(output)),
            None => Ok(Step::NeedRows(self.needed_keys())),
        }
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        check_row_count(rows.len(), self.fetched.needed_keys.len())?;
        let keys = mem::take(&mut self.fetched.needed_keys);
        self.fetched.rows.extend(keys.into_iter().zip(rows.iter().cloned()));
        Ok(())
    }
}
