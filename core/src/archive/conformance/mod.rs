//! Tests of the duties of an [`Archive`], for authors of archives.
//!
//! Nothing here panics: a failed test is a [`Violation`] that names the requirement, the key and
//! what was found. All rows are plain envelopes; an archive that compresses may return another
//! encoding of a row, so contents are compared. Left out is what cannot be tested from inside a
//! process: that rows survive when it is killed.

mod concurrency;
mod requirements;
#[cfg(test)]
mod tests;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

pub use self::concurrency::ConcurrencyCheck;
use super::envelope::plain_row;
use super::{Archive, Envelope, Origin, WriterId};
use crate::Error;
use crate::primitives::CryptoHash;
use crate::storage::{Key, Row, Table};

/// What the engine requires of an archive
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Requirement {
    /// A row that was never put is `None` and not an error
    MissingRow,
    /// All rows that were put can be read, in the order of the keys
    Put,
    /// `get_many` appends to the vector, takes repeated keys, thousands of keys and none
    GetMany,
    /// The same bytes in two tables are two keys, and so are keys of which one begins the other
    DistinctKeys,
    /// Rows of 8 MiB, and of any bytes, are read back unchanged
    LargeRow,
    /// A put of rows that are there changes nothing, in whatever order they come
    Idempotence,
    /// A row with the content of one that is there, by another writer, is no conflict
    SameContent,
    /// A key with two rows that differ in content is an error of kind `Conflict`, others are not
    Conflict,
    /// A replace removes all that the key held, and nothing else
    Replace,
    /// A removal removes all that the keys held, and nothing else; they can be put again
    Remove,
    /// A scan lists every row of its table once, page by page, in an order that stays
    Scan,
    /// Rows that several threads put at once are all there
    Concurrency,
    /// Rows survive closing and opening the archive
    Durability,
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::MissingRow => "a missing row is `None` and not an error",
            Self::Put => "rows that were put are read in the order of the keys",
            Self::GetMany => "get_many appends, and takes any number of keys",
            Self::DistinctKeys => "keys of all tables and lengths are distinct",
            Self::LargeRow => "rows of 8 MiB are read back unchanged",
            Self::Idempotence => "rows can be put again, in any order",
            Self::SameContent => "the same content by another writer is no conflict",
            Self::Conflict => "a key with two contents is an error of kind Conflict",
            Self::Replace => "a replace removes all that the key held",
            Self::Remove => "a removal removes all that the keys held",
            Self::Scan => "a scan lists every row of its table once",
            Self::Concurrency => "rows that threads put at once are all there",
            Self::Durability => "rows survive closing and opening the archive",
        })
    }
}

/// A violated requirement: which one, at which key, and what was found
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Violation {
    requirement: Requirement,
    key: Option<Key>,
    detail: String,
}

impl Violation {
    /// The violated requirement
    pub const fn requirement(&self) -> Requirement {
        self.requirement
    }

    /// The key that was read; `None` if it concerns a call as a whole
    pub const fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// What was expected and what was found
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "violated requirement \"{}\": ", self.requirement)?;
        if let Some(key) = &self.key {
            write!(formatter, "{key:?}: ")?;
        }
        formatter.write_str(&self.detail)
    }
}

impl core::error::Error for Violation {}

/// Checks the requirements on every archive
///
/// `make` returns an empty archive; it is called once per requirement, fewer than 16 times. At most
/// about 32 MiB of rows are put at a time. For archives that are shared by threads, see also
/// [`ConcurrencyCheck`].
///
/// ```
/// use milepost::archive::{MemoryArchive, conformance};
///
/// conformance::check(MemoryArchive::new)?;
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// The first violation. An error of the archive violates the requirement that is being checked.
pub fn check<A: Archive>(mut make: impl FnMut() -> A) -> Result<(), Violation> {
    for (requirement, test) in requirements::in_order() {
        test(&Probe { archive: &make(), requirement })?;
    }
    Ok(())
}

/// Checks that rows survive when the archive is dropped and opened again
///
/// `open` opens the same archive each time. It must be empty at first; rows are left in it.
///
/// ```
/// use milepost::archive::{MemoryArchive, conformance};
///
/// // In place of an archive on disk: the archive outlives each handle.
/// let archive = MemoryArchive::new();
/// conformance::check_durable(|| Ok(&archive))?;
/// # Ok::<(), conformance::Violation>(())
/// ```
///
/// # Errors
///
/// A [`Violation`] of [`Requirement::Durability`], also if `open` fails.
pub fn check_durable<A: Archive>(
    mut open: impl FnMut() -> Result<A, Error>,
) -> Result<(), Violation> {
    requirements::durability(&mut open)
}

/// Access to a tested archive: calls that turn a wrong result into a [`Violation`]
struct Probe<'archive, A> {
    archive: &'archive A,
    requirement: Requirement,
}

impl<A: Archive> Probe<'_, A> {
    fn put(&self, rows: &[(Key, Row)]) -> Result<(), Violation> {
        let put = self.archive.put_many(rows);
        put.map_err(|error| {
            self.violation(None, format!("put_many of {} rows: {error}", rows.len()))
        })
    }

    fn replace(&self, rows: &[(Key, Row)]) -> Result<(), Violation> {
        let replaced = self.archive.replace_many(rows);
        replaced.map_err(|error| {
            self.violation(None, format!("replace_many of {} rows: {error}", rows.len()))
        })
    }

    fn remove(&self, keys: &[Key]) -> Result<(), Violation> {
        let removed = self.archive.remove_many(keys);
        removed.map_err(|error| {
            self.violation(None, format!("remove_many of {} keys: {error}", keys.len()))
        })
    }

    /// Reads rows in one call into a vector with `before` rows, which must stay
    fn expect_many(&self, before: usize, expected: &[(Key, Option<Row>)]) -> Result<(), Violation> {
        let keys: Vec<Key> = expected.iter().map(|(key, _)| *key).collect();
        let mark = Row::from(&b"before the call"[..]);
        let mut rows: Vec<Option<Row>> = Vec::new();
        rows.resize(before, Some(mark.clone()));
        self.archive.get_many(&keys, &mut rows).map_err(|error| {
            self.violation(None, format!("get_many of {} keys: {error}", keys.len()))
        })?;
        let (kept, found) = rows.split_at_checked(before).unwrap_or_default();
        if kept.len() != before || kept.iter().any(|row| row.as_ref() != Some(&mark)) {
            return Err(self.violation(None, format!("get_many changed the {before} rows before")));
        }
        if found.len() != keys.len() {
            let detail = format!("get_many returned {} rows for {} keys", found.len(), keys.len());
            return Err(self.violation(None, detail));
        }
        for ((key, expected), found) in expected.iter().zip(found) {
            self.compare(*key, expected.as_ref(), found.as_ref())?;
        }
        Ok(())
    }

    fn expect(&self, key: Key, expected: Option<&Row>) -> Result<(), Violation> {
        self.expect_many(0, &[(key, expected.cloned())])
    }

    /// Checks that two rows have one content, which is not compressed
    fn compare(
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
        let length = |row: Option<&Row>| match row {
            None => String::from("no row"),
            Some(row) => format!("a row of {} bytes", row.len()),
        };
        let detail = format!("expected {}, found {}", length(expected), length(found));
        Err(self.violation(Some(key), detail))
    }

    /// All rows of a table, by pages of about this many; each page must go on after the one before
    fn scan(&self, table: Table, limit: usize) -> Result<Vec<(Key, Row)>, Violation> {
        let (mut rows, mut page): (Vec<(Key, Row)>, _) = (Vec::new(), Vec::new());
        loop {
            page.clear();
            let after = rows.last().map(|(key, _)| *key);
            self.archive.scan(table, after.as_ref(), limit, &mut page).map_err(|error| {
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

    const fn violation(&self, key: Option<Key>, detail: String) -> Violation {
        Violation { requirement: self.requirement, key, detail }
    }
}

/// The row of a writer with this content
fn row(writer: u64, content: &[u8]) -> Row {
    plain_row(Origin::of(WriterId(writer)), content)
}

/// The key of a hash of this name
fn hash_key(table: Table, name: &str) -> Key {
    Key::hash(table, CryptoHash::digest(name.as_bytes()))
}
