//! Queries while batches are committed: each must read one state.
//!
//! The rows of a state name those of the next level, as the outcomes of a receipt tree do. Each
//! batch replaces all of them and moves every second one to another key, so a walk over two states
//! finds rows of both or misses a row.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicBool, Ordering};

use super::probe::{Probe, key};
use super::{Requirement, Violation};
use crate::storage::restartable::{Restartable, RestartableQuery, RowCache, Suspend};
use crate::storage::rows::ChainRecord;
use crate::storage::{Batch, Isolation, Key, OptimisticQuery, Row, Snapshot, Storage, Table, run};
use crate::{Error, ErrorKind};

/// Number of rows of each level below the chain's row
const LEVELS: [u64; 4] = [1, 3, 9, 4];
/// Number of batches that a [`ConcurrencyCheck`] commits
const COMMITS: u64 = 100;

/// The key of a row; every second one depends on the state
fn row_key(state: u64, level: u64, index: u64) -> Key {
    let state = if index.is_multiple_of(2) { state } else { 0 };
    let bytes = [level, index, state].map(u64::to_be_bytes);
    key(Table::Outcomes, bytes.as_flattened())
}

fn keys(state: u64, level: u64, count: u64) -> impl Iterator<Item = Key> + Clone {
    (0..count).map(move |index| row_key(state, level, index))
}

/// The batch that leads from the state before to this one
fn batch(state: u64) -> Batch {
    let mut batch = Batch::new();
    batch.put(ChainRecord::key(), ChainRecord { generation: state, ..Default::default() }.encode());
    for (level, count) in (0..).zip(LEVELS) {
        keys(state - 1, level, count).for_each(|key| batch.remove(key));
        keys(state, level, count).for_each(|key| batch.put(key, &state.to_be_bytes()[..]));
    }
    batch
}

/// Reads the rows level by level and returns the state of each
#[derive(Debug)]
struct Walk;

impl Restartable for Walk {
    type Output = Vec<u64>;

    fn run(&self, rows: &mut RowCache<'_>) -> Result<Vec<u64>, Suspend> {
        let chain = rows.row(ChainRecord::key())?;
        let mut state = ChainRecord::decode(chain.map(|row| &**row))?.generation;
        let mut states = vec![state];
        if state == 0 {
            return Ok(states);
        }
        for (level, count) in (0..).zip(LEVELS) {
            let keys = keys(state, level, count);
            rows.prefetch(keys.clone())?;
            for key in keys {
                let row = rows.row(key)?.and_then(|row| row.first_chunk().copied());
                let missing = || Error::new(ErrorKind::Corrupt, "a row of the walk is missing");
                state =
                    u64::from_be_bytes(row.ok_or_else(|| missing().at(format_args!("{key:?}")))?);
                states.push(state);
            }
        }
        Ok(states)
    }

    fn restarted(&self) -> Option<Self> {
        Some(Self)
    }
}

/// A snapshot of a storage to which a batch is committed before one of the reads
struct Interleaved<'test, S, R> {
    snapshot: &'test R,
    storage: RefCell<&'test mut S>,
    batch: Cell<Option<Batch>>,
    reads_before: Cell<usize>,
    /// Whether the rows of `get_many` are read one by one, with a commit between any two
    one_by_one: bool,
}

impl<S: Storage, R> Interleaved<'_, S, R> {
    fn before_read(&self) -> Result<(), Error> {
        match self.reads_before.get().checked_sub(1) {
            Some(fewer) => self.reads_before.set(fewer),
            None => {
                if let Some(batch) = self.batch.take() {
                    self.storage.borrow_mut().commit(batch)?;
                }
            }
        }
        Ok(())
    }
}

impl<S: Storage, R: Snapshot> Snapshot for Interleaved<'_, S, R> {
    fn isolation(&self) -> Isolation {
        self.snapshot.isolation()
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.before_read()?;
        self.snapshot.get(key)
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        if self.one_by_one {
            return keys.iter().try_for_each(|key| {
                rows.push(self.get(key)?);
                Ok(())
            });
        }
        self.before_read()?;
        self.snapshot.get_many(keys, rows)
    }
}

/// The requirement that a mixture of states violates
const fn requirement(isolation: Isolation) -> Requirement {
    match isolation {
        Isolation::Snapshot => Requirement::SnapshotIsolation,
        Isolation::ReadCommitted => Requirement::ReadCommitted,
    }
}

/// Walks with a commit before each of their reads
pub(super) fn interleavings<S: Storage, R: Snapshot>(
    storage: &mut S,
    snapshot: &mut impl FnMut(&S) -> Result<R, Error>,
) -> Result<(), Violation> {
    let mut state = 1;
    Probe::new(storage, Requirement::SnapshotIsolation).commit(batch(state))?;
    for one_by_one in [true, false] {
        for position in 0.. {
            let snapshot = snapshot(storage).map_err(|error| Violation {
                requirement: Requirement::SnapshotIsolation,
                key: None,
                detail: format!("taking a snapshot failed: {error}"),
            })?;
            let interleaved = Interleaved {
                snapshot: &snapshot,
                storage: RefCell::new(&mut *storage),
                batch: Cell::new(Some(batch(state + 1))),
                reads_before: Cell::new(position),
                one_by_one,
            };
            let result = run(&mut RestartableQuery::new(Walk), &interleaved);
            let has_committed = interleaved.batch.take().is_none();
            let (isolation, before) = (snapshot.isolation(), state);
            state += u64::from(has_committed);
            let expected = match isolation {
                Isolation::Snapshot => before,
                Isolation::ReadCommitted => state,
            };
            let violation = |found: String| Violation {
                requirement: requirement(isolation),
                key: None,
                detail: format!(
                    "with a commit before read {position} of a walk, expected state {expected}, \
                     found {found}"
                ),
            };
            let states = result.map_err(|error| violation(format!("the error {error}")))?;
            if states.iter().any(|state| *state != expected) {
                return Err(violation(format!("states {states:?}")));
            }
            if !has_committed {
                break;
            }
        }
    }
    Ok(())
}

/// Checks that queries read one state while another thread commits
///
/// For storages that are shared by threads. The kit makes no threads: one thread of the caller
/// calls [`write`](Self::write), the others call [`read`](Self::read), once each. It is most likely
/// to find a violation if there are more threads than processors.
///
/// ```
/// use std::sync::RwLock;
/// use std::thread;
///
/// use milepost::Error;
/// use milepost::storage::{
///     Batch, Isolation, Key, MemoryStorage, Row, Snapshot, Storage, conformance::ConcurrencyCheck,
/// };
///
/// /// One lock around all rows, which each read takes anew
/// struct Locked<'rows>(&'rows RwLock<MemoryStorage>);
///
/// impl Snapshot for Locked<'_> {
///     fn isolation(&self) -> Isolation {
///         Isolation::ReadCommitted
///     }
///
///     fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
///         self.0.read().unwrap().get(key)
///     }
/// }
///
/// impl<'rows> Storage for Locked<'rows> {
///     type Snapshot<'a> = Locked<'rows> where Self: 'a;
///
///     fn snapshot(&self) -> Result<Locked<'rows>, Error> {
///         Ok(Locked(self.0))
///     }
///
///     fn commit(&mut self, batch: Batch) -> Result<(), Error> {
///         self.0.write().unwrap().commit(batch)
///     }
/// }
///
/// let (rows, check) = (RwLock::default(), ConcurrencyCheck::new());
/// thread::scope(|scope| {
///     let reader = scope.spawn(|| check.read(|| Locked(&rows).snapshot()));
///     check.write(&mut Locked(&rows))?;
///     reader.join().unwrap()
/// })?;
/// # Ok::<(), milepost::storage::conformance::Violation>(())
/// ```
#[derive(Debug, Default)]
pub struct ConcurrencyCheck {
    has_ended: AtomicBool,
}

impl ConcurrencyCheck {
    /// A check over a storage that is empty
    pub const fn new() -> Self {
        Self { has_ended: AtomicBool::new(false) }
    }

    /// Commits 100 batches, each of which changes all rows
    ///
    /// # Errors
    ///
    /// A [`Violation`] if a commit fails.
    pub fn write(&self, storage: &mut impl Storage) -> Result<(), Violation> {
        /// Ends the readers, also after a panic of the storage
        struct End<'check>(&'check AtomicBool);

        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }

        let _end = End(&self.has_ended);
        let mut probe = Probe::new(storage, Requirement::ReadCommitted);
        (1..=COMMITS).try_for_each(|state| probe.commit(batch(state)))
    }

    /// Reads snapshots until [`write`](Self::write) has returned
    ///
    /// # Errors
    ///
    /// A [`Violation`] of [`Requirement::SnapshotIsolation`] or [`Requirement::ReadCommitted`],
    /// depending on the isolation of the snapshots, if a query reads several states or an older one
    /// than the query before it.
    pub fn read<R: Snapshot>(
        &self,
        mut snapshot: impl FnMut() -> Result<R, Error>,
    ) -> Result<(), Violation> {
        let mut newest = 0;
        loop {
            // Before the snapshot: the last one is taken after the last commit.
            let is_last = self.has_ended.load(Ordering::SeqCst);
            let snapshot = snapshot().map_err(|error| Violation {
                requirement: Requirement::SnapshotIsolation,
                key: None,
                detail: format!("taking a snapshot failed: {error}"),
            })?;
            let isolation = snapshot.isolation();
            let mut query = OptimisticQuery::new(RestartableQuery::new(Walk), isolation);
            let result = run(&mut query, &snapshot);
            if query.is_over_limit() {
                continue;
            }
            let violation = |found: String| Violation {
                requirement: requirement(isolation),
                key: None,
                detail: format!("expected one state, not before {newest}, found {found}"),
            };
            let states = result.map_err(|error| violation(format!("the error {error}")))?;
            let state = states.first().copied().unwrap_or_default();
            if state < newest || states.iter().any(|other| *other != state) {
                return Err(violation(format!("states {states:?}")));
            }
            newest = state;
            if is_last {
                return Ok(());
            }
        }
    }
}
