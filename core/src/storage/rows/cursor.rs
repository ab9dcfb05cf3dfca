//! Reads and writes the fields of a row.
//!
//! A row that ends too early or holds an impossible value is an error that names the table and the
//! byte; no allocation is sized by a count that the row cannot hold. The error is small and built
//! late, so that decoding a valid row, with which every response begins, costs a few comparisons.

use alloc::vec::Vec;

use super::version;
use crate::primitives::CryptoHash;
use crate::storage::Table;
use crate::{Error, ErrorKind};

/// Why a row cannot be decoded
#[derive(Clone, Copy, Debug)]
pub(crate) enum DecodeError {
    /// It has this layout version, which this release does not read
    Version(u8),
    /// The error and the byte at which it is
    Corrupt(&'static str, usize),
}

impl DecodeError {
    /// The error about a row of this table
    #[cold]
    fn in_table(self, table: Table) -> Error {
        match self {
            Self::Version(found) => Error::new(
                ErrorKind::Version,
                format_args!(
                    "row has layout version {found}, this release reads version {}",
                    version(table)
                ),
            )
            .at(table.name()),
            Self::Corrupt(what, offset) => {
                Error::new(ErrorKind::Corrupt, what).at(table.name()).with_offset(offset)
            }
        }
    }
}

/// Checks the version of a row of this table and returns what `read` reads after it
#[inline(always)]
pub(crate) fn decode<'row, T>(
    table: Table,
    row: &'row [u8],
    read: impl FnOnce(&mut Cursor<'row>) -> Result<T, DecodeError>,
) -> Result<T, Error> {
    let mut cursor = Cursor::new(row);
    let decoded = match cursor.u8() {
        Ok(found) if found == version(table) => read(&mut cursor),
        Ok(found) => Err(DecodeError::Version(found)),
        Err(error) => Err(error),
    };
    decoded.map_err(|error| error.in_table(table))
}

/// Returns what `read` reads from a part of a row of this table, which has no version of its own
pub(crate) fn decode_part<'row, T>(
    table: Table,
    part: &'row [u8],
    read: impl FnOnce(&mut Cursor<'row>) -> Result<T, DecodeError>,
) -> Result<T, Error> {
    read(&mut Cursor::new(part)).map_err(|error| error.in_table(table))
}

/// Reads a row from its start
pub(crate) struct Cursor<'row> {
    rest: &'row [u8],
    /// Length of the whole row
    length: usize,
}

impl<'row> Cursor<'row> {
    #[inline]
    const fn new(row: &'row [u8]) -> Self {
        Self { rest: row, length: row.len() }
    }

    /// A range of the bytes that are left
    #[inline]
    pub(crate) fn range(&self, (start, end): (u32, u32)) -> Option<&'row [u8]> {
        self.rest.get(start as usize..end as usize)
    }

    /// The error that this is wrong at the current byte
    #[inline]
    pub(crate) const fn error(&self, what: &'static str) -> DecodeError {
        DecodeError::Corrupt(what, self.length - self.rest.len())
    }

    const fn too_short(&self) -> DecodeError {
        self.error("row ends too early")
    }

    /// The next `length` bytes
    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'row [u8], DecodeError> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.too_short())?;
        self.rest = rest;
        Ok(bytes)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(|| self.too_short())?;
        self.rest = rest;
        Ok(*bytes)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub(crate) fn hash(&mut self) -> Result<CryptoHash, DecodeError> {
        self.array().map(CryptoHash::new)
    }

    /// A count of items of at least `size` bytes each, which must fit the rest of the row
    #[inline]
    pub(crate) fn count(&mut self, size: usize) -> Result<usize, DecodeError> {
        let count = self.u32()? as usize;
        match count.checked_mul(size) {
            Some(bytes) if bytes <= self.rest.len() => Ok(count),
            _ => Err(self.error("more items than the row can hold")),
        }
    }

    /// A tag byte, and what `read` reads if the tag is 1
    #[inline]
    pub(crate) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Option<T>, DecodeError> {
        match self.u8()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(self.error("option tag is neither 0 nor 1")),
        }
    }

    /// A count, and what `read` reads that many times
    pub(crate) fn list<T>(
        &mut self,
        size: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.count(size)?;
        // Not collected: each type would have an iterator of its own.
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(read(self)?);
        }
        Ok(items)
    }

    /// A length, and that many bytes
    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'row [u8], DecodeError> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// All bytes that are left
    #[inline]
    pub(crate) const fn rest(&mut self) -> &'row [u8] {
        let rest = self.rest;
        self.rest = &[];
        rest
    }

    /// An error unless the row ends here
    #[inline]
    pub(crate) const fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.error("row is too long")) }
    }
}

/// Writes a row
pub(crate) struct RowWriter(Vec<u8>);

impl RowWriter {
    /// A row of this table that holds its version byte
    pub(crate) fn new(table: Table, capacity: usize) -> Self {
        Self::reuse(table, Vec::with_capacity(capacity + 1))
    }

    /// The same in a reused buffer, whose content is discarded
    pub(crate) fn reuse(table: Table, mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        buffer.push(version(table));
        Self(buffer)
    }

    /// A part of a row, which has no version of its own
    #[cfg(feature = "archive")]
    pub(crate) fn part(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    pub(crate) fn u8(mut self, number: u8) -> Self {
        self.0.push(number);
        self
    }

    pub(crate) fn u32(mut self, number: u32) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(crate) fn u64(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(crate) fn hash(self, hash: &CryptoHash) -> Self {
        self.raw(hash.as_bytes())
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// The length of these bytes, and the bytes; rows are far below 4 GiB, as block messages are
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        self.u32(bytes.len() as u32).raw(bytes)
    }

    pub(crate) fn option<T>(self, value: Option<&T>, write: impl FnOnce(Self, &T) -> Self) -> Self {
        match value {
            None => self.u8(0),
            Some(value) => write(self.u8(1), value),
        }
    }

    pub(crate) fn list<T>(self, items: &[T], write: impl FnMut(Self, &T) -> Self) -> Self {
        items.iter().fold(self.u32(items.len() as u32), write)
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}
