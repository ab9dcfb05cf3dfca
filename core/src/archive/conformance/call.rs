//! The calls of a check, and how a local archive answers them.

use alloc::vec::Vec;

use crate::archive::Archive;
use crate::storage::conformance::call::appended;
use crate::storage::{Key, Row, Table};
use crate::{Error, ErrorKind};

/// A call of a check to its host
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to handle each")]
pub enum Call {
    /// Makes an empty archive in place of the one before
    Make,
    /// Reads the row of each key; a host whose reads append to a list has this number of rows in it
    /// before, and they have to stay
    GetMany(Vec<Key>, usize),
    /// Puts rows
    Put(Vec<(Key, Row)>),
    /// Replaces all that the keys hold by these rows
    Replace(Vec<(Key, Row)>),
    /// Removes all that the keys hold
    Remove(Vec<Key>),
    /// Lists about so many rows of a table, those after a key
    Scan(Table, Option<Key>, usize),
}

/// The findings of a call
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "every host makes it")]
pub struct Found {
    /// The row of each key, by [`Call::GetMany`]
    pub rows: Vec<Option<Row>>,
    /// The rows of a page, by [`Call::Scan`]
    pub entries: Vec<(Key, Row)>,
}

/// The findings of a call, or why it failed
pub type Answer = Result<Found, Error>;

/// Answers the calls of a check from a local archive
pub(super) struct Local<M, A> {
    make: M,
    archive: Option<A>,
    /// How often one was made
    count: usize,
}

impl<A: Archive, M: FnMut() -> Result<A, Error>> Local<M, A> {
    pub(super) const fn new(make: M) -> Self {
        Self { make, archive: None, count: 0 }
    }

    pub(super) fn answer(&mut self, call: Call) -> Answer {
        let mut found = Found::default();
        if let Call::Make = call {
            // The one before is ended first: it may be of the same files.
            self.archive = None;
            self.count += 1;
            let count = self.count;
            let failed = |error: Error| {
                Error::new(error.kind(), format_args!("opening number {count} failed: {error}"))
            };
            self.archive = Some((self.make)().map_err(failed)?);
            return Ok(found);
        }
        let archive = self.archive.as_ref();
        let archive = archive.ok_or_else(|| Error::new(ErrorKind::Usage, "no archive was made"))?;
        match call {
            Call::Make => {}
            Call::GetMany(keys, before) => {
                let read = |rows: &mut Vec<Option<Row>>| archive.get_many(&keys, rows);
                found.rows =
                    appended(before, read, |detail| Error::new(ErrorKind::Storage, detail))?;
            }
            Call::Put(rows) => archive.put_many(&rows)?,
            Call::Replace(rows) => archive.replace_many(&rows)?,
            Call::Remove(keys) => archive.remove_many(&keys)?,
            Call::Scan(table, after, limit) => {
                archive.scan(table, after.as_ref(), limit, &mut found.entries)?;
            }
        }
        Ok(found)
    }
}
