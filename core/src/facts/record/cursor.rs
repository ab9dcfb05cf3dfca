//! Reads and writes the fields of a row.
//!
//! A read that would leave the row is an error of kind `Corrupt` that names the table; nothing is
//! allocated by a length that the row cannot hold.

use alloc::vec::Vec;

use super::VERSION;
use crate::facts::Table;
use crate::primitives::CryptoHash;
use crate::{Error, ErrorKind};

/// Reads a row from its start
pub(super) struct Cursor<'row> {
    table: Table,
    row: &'row [u8],
    position: usize,
}

impl<'row> Cursor<'row> {
    /// A cursor behind the version byte of a row of this table
    pub(super) fn open(table: Table, row: &'row [u8]) -> Result<Self, Error> {
        let mut cursor = Self { table, row, position: 0 };
        match cursor.u8()? {
            VERSION => Ok(cursor),
            other => Err(Error::new(
                ErrorKind::Corrupt,
                format_args!("row of layout {other}, this engine reads layout {VERSION}"),
            )
            .at(table.name())),
        }
    }

    /// A cursor at the start of a part of a row, which has no version of its own
    pub(super) const fn within(table: Table, part: &'row [u8]) -> Self {
        Self { table, row: part, position: 0 }
    }

    /// A part of what is left
    pub(super) fn part(&self, (start, end): (u32, u32)) -> Option<&'row [u8]> {
        self.row.get(self.position..)?.get(start as usize..end as usize)
    }

    fn corrupt(&self, what: &str) -> Error {
        Error::new(ErrorKind::Corrupt, what).at(self.table.name()).with_offset(self.position)
    }

    /// The next `length` bytes
    pub(super) fn take(&mut self, length: usize) -> Result<&'row [u8], Error> {
        let end = self.position.checked_add(length);
        match end.and_then(|end| self.row.get(self.position..end)) {
            Some(bytes) => {
                self.position += length;
                Ok(bytes)
            }
            None => Err(self.corrupt("row ends too early")),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Error> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn hash(&mut self) -> Result<CryptoHash, Error> {
        self.array().map(CryptoHash::new)
    }

    /// A count of items of at least `size` bytes each, all of which must still fit the row
    pub(super) fn count(&mut self, size: usize) -> Result<usize, Error> {
        let count = self.u32()? as usize;
        match count.checked_mul(size) {
            Some(bytes) if bytes <= self.row.len() - self.position => Ok(count),
            _ => Err(self.corrupt("more items than the row can hold")),
        }
    }

    /// `read`, or nothing, by a byte that says which
    pub(super) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match self.u8()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(self.corrupt("neither present nor absent")),
        }
    }

    /// `read` as often as a count in front says
    pub(super) fn list<T>(
        &mut self,
        size: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let count = self.count(size)?;
        (0..count).map(|_| read(self)).collect()
    }

    /// Bytes with their number in front
    pub(super) fn bytes(&mut self) -> Result<&'row [u8], Error> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// Whatever is left
    pub(super) fn rest(mut self) -> &'row [u8] {
        let rest = self.row.get(self.position..).unwrap_or_default();
        self.position = self.row.len();
        rest
    }

    /// An error unless the row ends here
    pub(super) fn end(self) -> Result<(), Error> {
        if self.position == self.row.len() { Ok(()) } else { Err(self.corrupt("row is too long")) }
    }

    /// An error of this row, at this place
    pub(super) fn refuse<T>(&self, what: &str) -> Result<T, Error> {
        Err(self.corrupt(what))
    }
}

/// Builds a row
pub(super) struct Builder(Vec<u8>);

impl Builder {
    /// A row that holds its version byte
    pub(super) fn new(capacity: usize) -> Self {
        let mut row = Vec::with_capacity(capacity + 1);
        row.push(VERSION);
        Self(row)
    }

    pub(super) fn u8(mut self, number: u8) -> Self {
        self.0.push(number);
        self
    }

    pub(super) fn u32(mut self, number: u32) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(super) fn u64(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(super) fn hash(self, hash: &CryptoHash) -> Self {
        self.raw(hash.as_bytes())
    }

    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Bytes with their number in front; rows are far below 4 GiB, as block messages are
    pub(super) fn bytes(self, bytes: &[u8]) -> Self {
        self.u32(bytes.len() as u32).raw(bytes)
    }

    pub(super) fn option<T>(self, value: Option<&T>, write: impl FnOnce(Self, &T) -> Self) -> Self {
        match value {
            None => self.u8(0),
            Some(value) => write(self.u8(1), value),
        }
    }

    pub(super) fn list<T>(self, items: &[T], write: impl FnMut(Self, &T) -> Self) -> Self {
        items.iter().fold(self.u32(items.len() as u32), write)
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}
