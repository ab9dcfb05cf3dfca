//! Access to a tested archive: calls that turn a wrong answer into a [`Violation`].
//!
//! A probe tests one requirement, and all violations it finds name that requirement.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::call::{Answer, Call, Found};
use super::{Requirement, Violation};
use crate::Error;
use crate::archive::envelope::plain_row;
use crate::archive::{Envelope, Origin, WriterId};
use crate::primitives::CryptoHash;
use crate::storage::conformance::probe::RowLength;
use crate::storage::conformance::script::{Calls, Pending};
use crate::storage::{Key, Row, Table};

/// The calls of an archive's check
pub(super) type ArchiveCalls = Calls<Call, Answer>;

/// An archive and the requirement it is tested for
pub(super) struct Probe<'calls> {
    calls: &'calls ArchiveCalls,
    requirement: Requirement,
}

impl<'calls> Probe<'calls> {
    /// A probe of a new, empty archive
    pub(super) async fn of_new_archive(
        calls: &'calls ArchiveCalls,
        requirement: Requirement,
    ) -> Result<Self, Violation> {
        let probe = Self { calls, requirement };
        let made = calls.call(Call::Make).await;
        made.map_err(|error| probe.violation(None, format!("it cannot be opened: {error}")))?;
        Ok(probe)
    }

    /// Starts to put rows; other calls may begin before that has ended
    pub(super) fn start_put(&self, rows: &[(Key, Row)]) -> Pending<'calls, Call, Answer> {
        self.calls.call(Call::Put(rows.to_vec()))
    }

    /// The rows of some keys, read into a list with `before` rows
    pub(super) async fn get_many(
        &self,
        keys: &[Key],
        before: usize,
    ) -> Result<Vec<Option<Row>>, Error> {
        Ok(self.calls.call(Call::GetMany(keys.to_vec(), before)).await?.rows)
    }

    pub(super) async fn put(&self, rows: &[(Key, Row)]) -> Result<(), Violation> {
        let put = self.start_put(rows).await;
        put.map(drop).map_err(|error| {
            self.violation(None, format!("put_many of {} rows: {error}", rows.len()))
        })
    }

    pub(super) async fn replace(&self, rows: &[(Key, Row)]) -> Result<(), Violation> {
        let replaced = self.calls.call(Call::Replace(rows.to_vec())).await;
        replaced.map(drop).map_err(|error| {
            self.violation(None, format!("replace_many of {} rows: {error}", rows.len()))
        })
    }

    pub(super) async fn remove(&self, keys: &[Key]) -> Result<(), Violation> {
        let removed = self.calls.call(Call::Remove(keys.to_vec())).await;
        removed.map(drop).map_err(|error| {
            self.violation(None, format!("remove_many of {} keys: {error}", keys.len()))
        })
    }

    /// Reads rows in one call into a list with `before` rows, which must stay
    pub(super) async fn expect_many(
        &self,
        before: usize,
        expected: &[(Key, Option<Row>)],
    ) -> Result<(), Violation> {
        let keys: Vec<Key> = expected.iter().map(|(key, _)| *key).collect();
        let found = self.get_many(&keys, before).await.map_err(|error| {
            self.violation(None, format!("get_many of {} keys: {error}", keys.len()))
        })?;
        if found.len() != keys.len() {
            let detail = format!("get_many returned {} rows for {} keys", found.len(), keys.len());
            return Err(self.violation(None, detail));
        }
        for ((key, expected), found) in expected.iter().zip(&found) {
            self.compare(*key, expected.as_ref(), found.as_ref())?;
        }
        Ok(())
    }

    pub(super) async fn expect(&self, key: Key, expected: Option<&Row>) -> Result<(), Violation> {
        self.expect_many(0, &[(key, expected.cloned())]).await
    }

    /// Checks that two rows have one content, which is not compressed
    pub(super) fn compare(
        &self,
        key: Key,
        expected: Option<&Row>,
        found: Option<&Row>,
    ) -> Result<(), Violation> {
        let content = |row: &Row| -> Result<(CryptoHash, Vec<u8>), Error> {
            let envelope = Envelope::decode(key.table(), row)?;
            Ok((envelope.content_hash, envelope.content()?.to_vec()))
        };
        let is_right = match (expected, found) {
            (None, None) => true,
            (Some(expected), Some(found)) => {
                let found = content(found).map_err(|error| {
                    self.violation(Some(key), format!("a row that was not put: {error}"))
                })?;
                Ok(found) == content(expected)
            }
            _ => false,
        };
        if is_right {
            return Ok(());
        }
        let [expected, found] = [expected, found].map(|row| RowLength(row.map(|row| &**row)));
        let detail = format!("expected {expected}, found {found}");
        Err(self.violation(Some(key), detail))
    }

    /// All rows of a table, by pages of about this many; each page must begin after the one before
    pub(super) async fn scan(
        &self,
        table: Table,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>, Violation> {
        let mut rows: Vec<(Key, Row)> = Vec::new();
        loop {
            let after = rows.last().map(|(key, _)| *key);
            let found = self.calls.call(Call::Scan(table, after, limit)).await;
            let Found { entries: mut page, .. } = found.map_err(|error| {
                self.violation(after, format!("scan of {}: {error}", table.name()))
            })?;
            if page.is_empty() {
                return Ok(rows);
            }
            if page.len() > limit.saturating_mul(2).saturating_add(8) {
                let detail = format!("a page of {} rows, the limit is {limit}", page.len());
                return Err(self.violation(after, detail));
            }
            rows.append(&mut page);
            if rows.len() > 1 << 20 {
                return Err(self.violation(after, String::from("a scan without an end")));
            }
        }
    }

    pub(super) const fn violation(&self, key: Option<Key>, detail: String) -> Violation {
        Violation { requirement: self.requirement, key, detail }
    }
}

/// The row of a writer with this content
pub(super) fn row(writer: u64, content: &[u8]) -> Row {
    plain_row(Origin::of(WriterId(writer)), content)
}

/// The row of a writer with this content, as that of a transaction that was refused at height 7
pub(super) fn refusal(writer: u64, content: &[u8]) -> Row {
    let plain = Envelope::plain(Origin::of(WriterId(writer)), content);
    Envelope { refused_at: Some(7), ..plain }.encode().into()
}

/// The key of a hash of this name
pub(super) fn hash_key(table: Table, name: &str) -> Key {
    Key::hash(table, CryptoHash::digest(name.as_bytes()))
}
