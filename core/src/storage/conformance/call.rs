//! The calls of a check, and how a local storage answers them.
//!
//! A storage is made anew for each requirement. A read names an open snapshot, or takes one for
//! itself. The methods that only Rust has are checked here, where they are called: `get_with`
//! beside `get`, and that `get_many` appends.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::Error;
use crate::storage::{Batch, Key, Row, Snapshot, Storage};

/// A call of a check to its host
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to handle each")]
pub enum Call {
    /// Makes an empty storage in place of the one before, whose snapshots are closed
    Make,
    /// Commits
    Commit(Batch),
    /// Opens the snapshot of this number, of the newest commit
    Open(u32),
    /// Closes a snapshot
    Close(u32),
    /// Reads one row, of this snapshot or of a new one
    Get(Option<u32>, Key),
    /// Reads many rows in one call, of this snapshot or of a new one; a host whose reads append to
    /// a list has this number of rows in it before, and they have to stay
    GetMany(Option<u32>, Vec<Key>, usize),
    /// Lets calls that are under way proceed: the shortest step of the host, or one after all
    /// others
    Pause {
        /// Whether it is one after all others
        is_long: bool,
    },
}

/// The rows of a read, in the order of the keys, and none for other calls; or why a call failed
pub type Answer = Result<Vec<Option<Row>>, String>;

/// Answers the calls of a check from a local storage
pub(super) struct Local<M, S, O, R> {
    make: M,
    /// A storage, and the function that opens snapshots from beside it
    made: Option<(S, O)>,
    /// How often one was made
    count: usize,
    snapshots: Vec<(u32, R)>,
}

impl<M, S, O, R> Local<M, S, O, R>
where
    M: FnMut() -> Result<(S, O), Error>,
    S: Storage,
    O: FnMut() -> Result<R, Error>,
    R: Snapshot,
{
    pub(super) const fn new(make: M) -> Self {
        Self { make, made: None, count: 0, snapshots: Vec::new() }
    }

    pub(super) fn answer(&mut self, call: Call) -> Answer {
        let no_rows = Vec::new();
        match call {
            Call::Make => {
                self.snapshots.clear();
                // The one before is ended first: it may be of the same file.
                self.made = None;
                self.count += 1;
                let made = (self.make)();
                let count = self.count;
                let failed = |error| format!("opening number {count} failed: {error}");
                self.made = Some(made.map_err(failed)?);
                Ok(no_rows)
            }
            Call::Pause { .. } => Ok(no_rows),
            Call::Close(number) => {
                self.snapshots.retain(|(other, _)| *other != number);
                Ok(no_rows)
            }
            Call::Commit(batch) => {
                let changes = batch.changes().len();
                let committed = self.storage()?.commit(batch);
                let failed = |error| format!("commit of {changes} changes failed: {error}");
                committed.map(|()| no_rows).map_err(failed)
            }
            Call::Open(number) => {
                let (_, open) = self.made.as_mut().ok_or_else(no_storage)?;
                self.snapshots.push((number, open().map_err(no_snapshot)?));
                Ok(no_rows)
            }
            Call::Get(None, key) => get(&self.storage()?.snapshot().map_err(no_snapshot)?, &key),
            Call::GetMany(None, keys, before) => {
                get_many(&self.storage()?.snapshot().map_err(no_snapshot)?, &keys, before)
            }
            Call::Get(Some(number), key) => get(self.snapshot(number)?, &key),
            Call::GetMany(Some(number), keys, before) => {
                get_many(self.snapshot(number)?, &keys, before)
            }
        }
    }

    fn storage(&mut self) -> Result<&mut S, String> {
        self.made.as_mut().map(|(storage, _)| storage).ok_or_else(no_storage)
    }

    fn snapshot(&self, number: u32) -> Result<&R, String> {
        let open = self.snapshots.iter().find(|(other, _)| *other == number);
        open.map(|(_, snapshot)| snapshot).ok_or_else(|| String::from("the snapshot is not open"))
    }
}

fn no_storage() -> String {
    String::from("no storage was made")
}

fn no_snapshot(error: Error) -> String {
    format!("taking a snapshot failed: {error}")
}

/// Reads a row by `get` and by `get_with`, kept or not
fn get(snapshot: &impl Snapshot, key: &Key) -> Answer {
    let found = snapshot.get(key).map_err(|error| format!("get failed: {error}"))?;
    for keep in [false, true] {
        let mut rows: Vec<Row> = Vec::new();
        let mut reader = |row: &[u8]| {
            rows.push(row.into());
            keep
        };
        let kept = snapshot
            .get_with(key, &mut reader)
            .map_err(|error| format!("get_with failed: {error}"))?;
        let (passed, returned) = (rows.len(), usize::from(kept.is_some()));
        if passed > 1 || returned != if keep { passed } else { 0 } {
            return Err(format!(
                "get_with passed {passed} rows, keep {keep}, and returned {returned}"
            ));
        }
        if rows.pop() != found || keep && kept != found {
            return Err(String::from("get_with passed another row than get returns"));
        }
    }
    Ok(Vec::from([found]))
}

fn get_many(snapshot: &impl Snapshot, keys: &[Key], before: usize) -> Answer {
    let read = |rows: &mut Vec<Option<Row>>| {
        let failed = |error| format!("get_many of {} keys failed: {error}", keys.len());
        snapshot.get_many(keys, rows).map_err(failed)
    };
    appended(before, read, |detail| detail)
}

/// Reads rows into a vector with `before` rows, which must stay; the rows after them
pub(crate) fn appended<E>(
    before: usize,
    read: impl FnOnce(&mut Vec<Option<Row>>) -> Result<(), E>,
    error_of: impl FnOnce(String) -> E,
) -> Result<Vec<Option<Row>>, E> {
    let mark = Some(Row::from(&b"before the call"[..]));
    let mut rows: Vec<Option<Row>> = Vec::new();
    rows.resize(before, mark.clone());
    read(&mut rows)?;
    let kept = rows.iter().take(before).filter(|row| **row == mark).count();
    if kept != before {
        let detail = format!("get_many kept {kept} of {before} rows that were there before");
        return Err(error_of(detail));
    }
    Ok(rows.split_off(before))
}
