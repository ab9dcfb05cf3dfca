//! Reads and writes the fields of a row.
//!
//! A read that would leave the row is a flaw, which becomes an error of kind `Corrupt` that names the
//! table and the byte; nothing is allocated by a length that the row cannot hold. Flaws are a few words,
//! so that reading a sound row, which every answer begins with, is a handful of comparisons.

use alloc::vec::Vec;

use super::VERSION;
use crate::facts::Table;
use crate::primitives::CryptoHash;
use crate::{Error, ErrorKind};

/// Why a row is not what the engine wrote
#[derive(Clone, Copy, Debug)]
pub(super) enum Flaw {
    /// It has another layout
    Layout(u8),
    /// What is wrong, and at which byte
    At(&'static str, usize),
}

impl Flaw {
    /// The error about a row of this table
    #[cold]
    fn of(self, table: Table) -> Error {
        match self {
            Self::Layout(other) => Error::new(
                ErrorKind::Corrupt,
                format_args!("row of layout {other}, this engine reads layout {VERSION}"),
            )
            .at(table.name()),
            Self::At(what, offset) => {
                Error::new(ErrorKind::Corrupt, what).at(table.name()).with_offset(offset)
            }
        }
    }
}

/// What `read` reads from a row of this table, from behind its version byte on
#[inline(always)]
pub(super) fn decode<'row, T>(
    table: Table,
    row: &'row [u8],
    read: impl FnOnce(&mut Cursor<'row>) -> Result<T, Flaw>,
) -> Result<T, Error> {
    let mut cursor = Cursor::within(row);
    let opened = match cursor.u8() {
        Ok(VERSION) => read(&mut cursor),
        Ok(other) => Err(Flaw::Layout(other)),
        Err(flaw) => Err(flaw),
    };
    opened.map_err(|flaw| flaw.of(table))
}

/// What `read` reads from a part of a row of this table, which has no version of its own
pub(super) fn decode_part<'row, T>(
    table: Table,
    part: &'row [u8],
    read: impl FnOnce(&mut Cursor<'row>) -> Result<T, Flaw>,
) -> Result<T, Error> {
    read(&mut Cursor::within(part)).map_err(|flaw| flaw.of(table))
}

/// Reads a row from its start
pub(super) struct Cursor<'row> {
    rest: &'row [u8],
    /// Bytes of the whole row
    length: usize,
}

impl<'row> Cursor<'row> {
    #[inline]
    const fn within(row: &'row [u8]) -> Self {
        Self { rest: row, length: row.len() }
    }

    /// A part of what is left
    #[inline]
    pub(super) fn part(&self, (start, end): (u32, u32)) -> Option<&'row [u8]> {
        self.rest.get(start as usize..end as usize)
    }

    /// The flaw of this place of the row
    #[inline]
    pub(super) const fn flaw(&self, what: &'static str) -> Flaw {
        Flaw::At(what, self.length - self.rest.len())
    }

    const fn too_short(&self) -> Flaw {
        self.flaw("row ends too early")
    }

    /// The next `length` bytes
    #[inline]
    pub(super) fn take(&mut self, length: usize) -> Result<&'row [u8], Flaw> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.too_short())?;
        self.rest = rest;
        Ok(bytes)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Flaw> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(|| self.too_short())?;
        self.rest = rest;
        Ok(*bytes)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, Flaw> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32, Flaw> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Result<u64, Flaw> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub(super) fn hash(&mut self) -> Result<CryptoHash, Flaw> {
        self.array().map(CryptoHash::new)
    }

    /// A count of items of at least `size` bytes each, all of which must still fit the row
    #[inline]
    pub(super) fn count(&mut self, size: usize) -> Result<usize, Flaw> {
        let count = self.u32()? as usize;
        match count.checked_mul(size) {
            Some(bytes) if bytes <= self.rest.len() => Ok(count),
            _ => Err(self.flaw("more items than the row can hold")),
        }
    }

    /// `read`, or nothing, by a byte that says which
    #[inline]
    pub(super) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Flaw>,
    ) -> Result<Option<T>, Flaw> {
        match self.u8()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(self.flaw("neither present nor absent")),
        }
    }

    /// `read` as often as a count in front says
    pub(super) fn list<T>(
        &mut self,
        size: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Flaw>,
    ) -> Result<Vec<T>, Flaw> {
        let count = self.count(size)?;
        (0..count).map(|_| read(self)).collect()
    }

    /// Bytes with their number in front
    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'row [u8], Flaw> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// Whatever is left
    #[inline]
    pub(super) const fn rest(&mut self) -> &'row [u8] {
        let rest = self.rest;
        self.rest = &[];
        rest
    }

    /// A flaw unless the row ends here
    #[inline]
    pub(super) const fn end(&self) -> Result<(), Flaw> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.flaw("row is too long")) }
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

    /// The same in a buffer that was used before
    pub(super) fn over(mut row: Vec<u8>) -> Self {
        row.clear();
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
