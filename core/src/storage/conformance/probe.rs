//! Access to a tested storage: reads and commits that turn a wrong result into a [`Violation`].
//!
//! A probe tests one requirement, and all violations it finds are of that requirement. Its reads
//! are of a snapshot each; a [`Reader`] reads one snapshot.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{Requirement, Violation};
use crate::Error;
use crate::storage::{Batch, Key, Row, Snapshot, Storage, Table};

/// A storage and the requirement it is tested for
pub(super) struct Probe<'storage, S> {
    storage: &'storage mut S,
    requirement: Requirement,
}

impl<'storage, S: Storage> Probe<'storage, S> {
    pub(super) const fn new(storage: &'storage mut S, requirement: Requirement) -> Self {
        Self { storage, requirement }
    }

    /// Commits a batch, which must succeed
    pub(super) fn commit(&mut self, batch: Batch) -> Result<(), Violation> {
        let changes = batch.changes().len();
        self.storage.commit(batch).map_err(|error| {
            let detail = format!("commit of {changes} changes failed: {error}");
            Violation { requirement: self.requirement, key: None, detail }
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

    /// A reader of the newest state
    fn reader(&self) -> Result<Reader<S::Snapshot<'_>>, Violation> {
        Reader::new(self.storage.snapshot(), self.requirement)
    }

    /// Reads a row, which must be the expected one
    pub(super) fn expect(&self, key: Key, expected: Option<&[u8]>) -> Result<(), Violation> {
        self.reader()?.expect(key, expected)
    }

    /// Reads a row, which must be the expected one, and returns it
    pub(super) fn read(&self, key: Key, expected: Option<&[u8]>) -> Result<Option<Row>, Violation> {
        self.reader()?.read(key, expected)
    }

    /// Reads many rows in one call, as [`Reader::expect_many`]
    pub(super) fn expect_many<'row>(
        &self,
        before: usize,
        keys: &[Key],
        expected: impl Fn(&Key) -> Option<&'row [u8]>,
    ) -> Result<(), Violation> {
        self.reader()?.expect_many(before, keys, expected)
    }
}

/// A snapshot and the requirement it is tested for
pub(super) struct Reader<R> {
    snapshot: R,
    requirement: Requirement,
}

impl<R: Snapshot> Reader<R> {
    /// A reader of a snapshot, which must have been taken without an error
    pub(super) fn new(
        snapshot: Result<R, Error>,
        requirement: Requirement,
    ) -> Result<Self, Violation> {
        let snapshot = snapshot.map_err(|error| {
            let detail = format!("taking a snapshot failed: {error}");
            Violation { requirement, key: None, detail }
        })?;
        Ok(Self { snapshot, requirement })
    }

    /// Reads a row, which must be the expected one
    pub(super) fn expect(&self, key: Key, expected: Option<&[u8]>) -> Result<(), Violation> {
        self.read(key, expected).map(drop)
    }

    /// Reads a row, which must be the expected one, and returns it
    pub(super) fn read(&self, key: Key, expected: Option<&[u8]>) -> Result<Option<Row>, Violation> {
        let found = self
            .snapshot
            .get(&key)
            .map_err(|error| self.violation(Some(key), format!("get failed: {error}")))?;
        compare(self.requirement, key, expected, found.as_deref())?;
        self.expect_get_with(key, expected)?;
        Ok(found)
    }

    /// Reads a row with `get_with`, kept or not, which must be the expected one
    fn expect_get_with(&self, key: Key, expected: Option<&[u8]>) -> Result<(), Violation> {
        for keep in [false, true] {
            let mut rows: Vec<Row> = Vec::new();
            let mut reader = |row: &[u8]| {
                rows.push(row.into());
                keep
            };
            let kept = self
                .snapshot
                .get_with(&key, &mut reader)
                .map_err(|error| self.violation(Some(key), format!("get_with failed: {error}")))?;
            let returned = usize::from(kept.is_some());
            if rows.len() > 1 || returned != if keep { rows.len() } else { 0 } {
                let passed = rows.len();
                let detail =
                    format!("get_with passed {passed} rows, keep {keep}, and returned {returned}");
                return Err(self.violation(Some(key), detail));
            }
            compare(self.requirement, key, expected, rows.first().map(|row| &**row))?;
            if keep {
                compare(self.requirement, key, expected, kept.as_deref())?;
            }
        }
        Ok(())
    }

    /// Reads many rows in one call into a vector with `before` rows, which must stay
    pub(super) fn expect_many<'row>(
        &self,
        before: usize,
        keys: &[Key],
        expected: impl Fn(&Key) -> Option<&'row [u8]>,
    ) -> Result<(), Violation> {
        let mark = Row::from(&b"before the call"[..]);
        let mut rows: Vec<Option<Row>> = Vec::new();
        rows.resize(before, Some(mark.clone()));
        self.snapshot.get_many(keys, &mut rows).map_err(|error| {
            self.violation(None, format!("get_many of {} keys failed: {error}", keys.len()))
        })?;

        let kept = rows.iter().take(before).filter(|row| row.as_ref() == Some(&mark)).count();
        if kept != before {
            return Err(self.violation(None, format!("get_many kept {kept} of {before} rows")));
        }
        if rows.len() - before != keys.len() {
            let detail =
                format!("get_many returned {} rows for {} keys", rows.len() - before, keys.len());
            return Err(self.violation(None, detail));
        }
        for (key, found) in keys.iter().zip(rows.iter().skip(before)) {
            compare(self.requirement, *key, expected(key), found.as_deref())?;
        }
        Ok(())
    }

    const fn violation(&self, key: Option<Key>, detail: String) -> Violation {
        Violation { requirement: self.requirement, key, detail }
    }
}

/// Checks that a row is the expected one
pub(super) fn compare(
    requirement: Requirement,
    key: Key,
    expected: Option<&[u8]>,
    found: Option<&[u8]>,
) -> Result<(), Violation> {
    if expected == found {
        return Ok(());
    }
    let mut detail = format!("expected {}, found {}", RowLength(expected), RowLength(found));
    if let (Some(expected), Some(found)) = (expected, found) {
        let same = expected.iter().zip(found).take_while(|(left, right)| left == right);
        detail.push_str(&format!(", which differ at byte {}", same.count()));
    }
    Err(Violation { requirement, key: Some(key), detail })
}

/// Displays the length of a row, because its bytes may be many
struct RowLength<'row>(Option<&'row [u8]>);

impl fmt::Display for RowLength<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => formatter.write_str("no row"),
            Some(row) => write!(formatter, "a row of {} bytes", row.len()),
        }
    }
}

/// Maximum number of bytes of a key within its table
pub(super) const MAX_LEN_IN_TABLE: usize = Key::MAX_LEN - 1;

/// The key of the first 32 of these bytes; without any, the key of the number zero
pub(super) fn key(table: Table, bytes: &[u8]) -> Key {
    let bytes = bytes.get(..MAX_LEN_IN_TABLE).unwrap_or(bytes);
    Key::new(table, bytes).unwrap_or_else(|| Key::number(table, 0))
}

/// A deterministic generator of pseudorandom numbers
///
/// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which must not be zero
    pub(super) const fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// A row of this length
    pub(super) fn row(&mut self, length: usize) -> Vec<u8> {
        let mut row = Vec::with_capacity(length + 7);
        while row.len() < length {
            row.extend_from_slice(&self.next().to_le_bytes());
        }
        row.truncate(length);
        row
    }
}
