//! Access to a tested storage: calls that turn a wrong answer into a [`Violation`].
//!
//! A probe tests one requirement, and all violations it finds name that requirement. Each of its
//! reads takes a snapshot, or uses one that the probe opened.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;

use super::call::{Answer, Call};
use super::script::{Calls, Pending};
use super::{Requirement, Violation};
use crate::storage::{Batch, Key, Row, Table};

/// Maximum number of rows of one commit that are also read one by one
///
/// A read can cost a round trip, or a copy of all rows.
const MAX_SINGLE_READS: usize = 32;

/// The calls of a storage's check
pub(super) type StorageCalls = Calls<Call, Answer>;

/// A storage and the requirement it is tested for
pub(super) struct Probe<'calls> {
    calls: &'calls StorageCalls,
    requirement: Requirement,
    /// Number of snapshots that were opened
    snapshots: Cell<u32>,
}

impl<'calls> Probe<'calls> {
    /// A probe of a new, empty storage
    pub(super) async fn of_new_storage(
        calls: &'calls StorageCalls,
        requirement: Requirement,
    ) -> Result<Self, Violation> {
        let probe = Self { calls, requirement, snapshots: Cell::new(0) };
        probe.answer(None, Call::Make).await?;
        Ok(probe)
    }

    /// The answer to a call that must not fail
    async fn answer(&self, key: Option<Key>, call: Call) -> Result<Vec<Option<Row>>, Violation> {
        self.calls.call(call).await.map_err(|detail| self.violation(key, detail))
    }

    /// Starts to commit a batch; reads may begin before it has ended
    pub(super) fn start_commit(&self, batch: Batch) -> Pending<'calls, Call, Answer> {
        self.calls.call(Call::Commit(batch))
    }

    /// Lets the calls that were started proceed
    pub(super) async fn pause(&self, is_long: bool) -> Result<(), Violation> {
        self.answer(None, Call::Pause { is_long }).await.map(drop)
    }

    /// Commits a batch, which must succeed
    pub(super) async fn commit(&self, batch: Batch) -> Result<(), Violation> {
        self.answer(None, Call::Commit(batch)).await.map(drop)
    }

    /// Commits these rows in one batch
    pub(super) async fn put(&self, rows: &[(Key, &[u8])]) -> Result<(), Violation> {
        let mut batch = Batch::new();
        for (key, row) in rows {
            batch.put(*key, *row);
        }
        self.commit(batch).await
    }

    /// Removes these rows in one batch
    pub(super) async fn remove(&self, keys: &[Key]) -> Result<(), Violation> {
        let mut batch = Batch::new();
        keys.iter().for_each(|key| batch.remove(*key));
        self.commit(batch).await
    }

    /// Opens a snapshot
    pub(super) async fn open(&self) -> Result<u32, Violation> {
        let number = self.snapshots.get();
        self.snapshots.set(number + 1);
        self.answer(None, Call::Open(number)).await?;
        Ok(number)
    }

    /// Closes a snapshot
    pub(super) async fn close(&self, snapshot: u32) -> Result<(), Violation> {
        self.answer(None, Call::Close(snapshot)).await.map(drop)
    }

    /// Reads a row, which must be the expected one
    pub(super) async fn expect(&self, key: Key, expected: Option<&[u8]>) -> Result<(), Violation> {
        self.read(None, key, expected).await.map(drop)
    }

    /// Reads these rows: all of them in calls of a thousand, and some of them one by one
    pub(super) async fn expect_each(&self, rows: &[(Key, &[u8])]) -> Result<(), Violation> {
        for (key, row) in rows.iter().step_by(rows.len().div_ceil(MAX_SINGLE_READS).max(1)) {
            self.expect(*key, Some(row)).await?;
        }
        for rows in rows.chunks(1000) {
            let keys: Vec<Key> = rows.iter().map(|(key, _)| *key).collect();
            let expected: BTreeMap<Key, &[u8]> = rows.iter().copied().collect();
            self.expect_many(&keys, |key| expected.get(key).copied()).await?;
        }
        Ok(())
    }

    /// Reads rows that must not be there, as [`expect_each`](Self::expect_each)
    pub(super) async fn expect_none_of(&self, keys: &[Key]) -> Result<(), Violation> {
        for key in keys.iter().step_by(keys.len().div_ceil(MAX_SINGLE_READS).max(1)) {
            self.expect(*key, None).await?;
        }
        for keys in keys.chunks(1000) {
            self.expect_many(keys, |_| None).await?;
        }
        Ok(())
    }

    /// Reads a row, which must be the expected one, and returns it
    pub(super) async fn read(
        &self,
        snapshot: Option<u32>,
        key: Key,
        expected: Option<&[u8]>,
    ) -> Result<Option<Row>, Violation> {
        let rows = self.answer(Some(key), Call::Get(snapshot, key)).await?;
        let found = rows.into_iter().next().flatten();
        compare(self.requirement, key, expected, found.as_deref())?;
        Ok(found)
    }

    /// Reads many rows in one call, which must be the expected ones
    pub(super) async fn expect_many<'row>(
        &self,
        keys: &[Key],
        expected: impl Fn(&Key) -> Option<&'row [u8]>,
    ) -> Result<(), Violation> {
        self.read_many(None, keys, 0, expected).await
    }

    /// Reads many rows in one call, of this snapshot or of a new one, after `before` rows
    pub(super) async fn read_many<'row>(
        &self,
        snapshot: Option<u32>,
        keys: &[Key],
        before: usize,
        expected: impl Fn(&Key) -> Option<&'row [u8]>,
    ) -> Result<(), Violation> {
        let rows = self.answer(None, Call::GetMany(snapshot, keys.to_vec(), before)).await?;
        self.check_count(rows.len(), keys.len())?;
        for (key, found) in keys.iter().zip(&rows) {
            compare(self.requirement, *key, expected(key), found.as_deref())?;
        }
        Ok(())
    }

    /// Reads rows for a query, in one call or one by one
    ///
    /// # Errors
    ///
    /// The text says why the storage failed; the error of the query decides.
    pub(super) async fn rows(
        &self,
        snapshot: Option<u32>,
        keys: &[Key],
        one_by_one: bool,
    ) -> Result<Vec<Option<Row>>, Violation> {
        if !one_by_one {
            let rows = self.answer(None, Call::GetMany(snapshot, keys.to_vec(), 0)).await?;
            self.check_count(rows.len(), keys.len())?;
            return Ok(rows);
        }
        let mut rows = vec![];
        for key in keys {
            rows.extend(self.answer(Some(*key), Call::Get(snapshot, *key)).await?);
        }
        Ok(rows)
    }

    fn check_count(&self, rows: usize, keys: usize) -> Result<(), Violation> {
        if rows == keys {
            return Ok(());
        }
        Err(self.violation(None, format!("get_many returned {rows} rows for {keys} keys")))
    }

    pub(super) const fn violation(&self, key: Option<Key>, detail: String) -> Violation {
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
pub(crate) struct RowLength<'row>(pub(crate) Option<&'row [u8]>);

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
