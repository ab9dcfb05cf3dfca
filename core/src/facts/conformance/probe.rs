//! A storage under examination: reads and commits that turn what is wrong into a [`Violation`].
//!
//! Each probe examines one duty, which every violation it finds is one of. It leaves the choice
//! of rows to the duties.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{Duty, Violation};
use crate::facts::{Batch, Key, Row, Rows, Storage, Table};

/// A storage and the duty it is examined for
pub(super) struct Probe<'storage, S> {
    storage: &'storage mut S,
    duty: Duty,
}

impl<S: Storage> Probe<'_, S> {
    /// Commits a batch, which must not be refused
    pub(super) fn commit(&mut self, batch: Batch) -> Result<(), Violation> {
        let changes = batch.changes().len();
        self.storage.commit(batch).map_err(|error| {
            self.broken(None, format!("a batch of {changes} changes was refused: {error}"))
        })
    }

    /// Commits these rows in one batch
    pub(super) fn put(&mut self, rows: &[(Key, &[u8])]) -> Result<(), Violation> {
        let mut batch = Batch::new();
        for (key, row) in rows {
            batch.put(*key, *row);
        }
        self.commit(batch)
    }

    /// Removes these rows in one batch
    pub(super) fn remove(&mut self, keys: &[Key]) -> Result<(), Violation> {
        let mut batch = Batch::new();
        keys.iter().for_each(|key| batch.remove(*key));
        self.commit(batch)
    }
}

impl<'storage, S: Rows> Probe<'storage, S> {
    pub(super) const fn new(storage: &'storage mut S, duty: Duty) -> Self {
        Self { storage, duty }
    }

    /// The row of this key, which must be this one
    pub(super) fn expect(&self, key: Key, expected: Option<&[u8]>) -> Result<(), Violation> {
        self.read(key, expected).map(drop)
    }

    /// The row of this key, which must be this one, to be held
    pub(super) fn read(&self, key: Key, expected: Option<&[u8]>) -> Result<Option<Row>, Violation> {
        let found = self
            .storage
            .get(&key)
            .map_err(|error| self.broken(Some(key), format!("get was refused: {error}")))?;
        self.compare(key, expected, found.as_deref())?;
        self.expect_shown(key, expected)?;
        Ok(found)
    }

    /// The row of this key as it is shown, which must be this one
    fn expect_shown(&self, key: Key, expected: Option<&[u8]>) -> Result<(), Violation> {
        let mut shown: Vec<Row> = Vec::new();
        let there = self
            .storage
            .read(&key, &mut |row| shown.push(row.into()))
            .map_err(|error| self.broken(Some(key), format!("read was refused: {error}")))?;
        if shown.len() != usize::from(there) {
            let detail = format!("read showed {} rows and said {there}", shown.len());
            return Err(self.broken(Some(key), detail));
        }
        self.compare(key, expected, shown.first().map(|row| &**row))
    }

    /// The rows of these keys in one call, appended to `before` rows of another content
    pub(super) fn expect_many<'row>(
        &self,
        before: usize,
        keys: &[Key],
        expected: impl Fn(&Key) -> Option<&'row [u8]>,
    ) -> Result<(), Violation> {
        let mark = Row::from(&b"was here before"[..]);
        let mut rows: Vec<Option<Row>> = Vec::new();
        rows.resize(before, Some(mark.clone()));
        self.storage.get_many(keys, &mut rows).map_err(|error| {
            self.broken(None, format!("get_many of {} keys was refused: {error}", keys.len()))
        })?;

        let kept = rows.iter().take(before).filter(|row| row.as_ref() == Some(&mark)).count();
        if kept != before {
            return Err(self.broken(None, format!("get_many kept {kept} of {before} rows")));
        }
        if rows.len() - before != keys.len() {
            let detail =
                format!("get_many gave {} rows for {} keys", rows.len() - before, keys.len());
            return Err(self.broken(None, detail));
        }
        for (key, found) in keys.iter().zip(rows.iter().skip(before)) {
            self.compare(*key, expected(key), found.as_deref())?;
        }
        Ok(())
    }

    /// Whether a row that was found is the row that was expected
    pub(super) fn compare(
        &self,
        key: Key,
        expected: Option<&[u8]>,
        found: Option<&[u8]>,
    ) -> Result<(), Violation> {
        if expected == found {
            return Ok(());
        }
        let mut detail = format!("expected {}, found {}", Sight(expected), Sight(found));
        if let (Some(expected), Some(found)) = (expected, found) {
            let same = expected.iter().zip(found).take_while(|(left, right)| left == right);
            detail.push_str(&format!(", which differ from byte {} on", same.count()));
        }
        Err(self.broken(Some(key), detail))
    }

    const fn broken(&self, key: Option<Key>, detail: String) -> Violation {
        Violation { duty: self.duty, key, detail }
    }
}

/// What is said of a row: its length, since its bytes may be many
struct Sight<'row>(Option<&'row [u8]>);

impl fmt::Display for Sight<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => formatter.write_str("no row"),
            Some(row) => write!(formatter, "a row of {} bytes", row.len()),
        }
    }
}

/// The key of these bytes, of which the first 32 count; of no bytes it is a number zero
pub(super) fn key(table: Table, bytes: &[u8]) -> Key {
    let bytes = bytes.get(..Key::LONGEST).unwrap_or(bytes);
    Key::from_bytes(table, bytes).unwrap_or_else(|| Key::number(table, 0))
}

/// A generator of numbers that look random and are the same in every run
///
/// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is above zero
    pub(super) const fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// A row of this many bytes
    pub(super) fn row(&mut self, length: usize) -> Vec<u8> {
        let mut row = Vec::with_capacity(length + 7);
        while row.len() < length {
            row.extend_from_slice(&self.next().to_le_bytes());
        }
        row.truncate(length);
        row
    }
}
