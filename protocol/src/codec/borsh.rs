//! Borsh, the binary encoding of signed transactions: a reader that borrows and a writer.
//!
//! Numbers are little endian; strings, byte strings and sequences start with their length in 32
//! bits. A length is checked against the bytes that are left before it is used, so a reader never
//! allocates more than its input could fill. Every error has the offset of its byte and, by
//! [`Reader::field`] and [`Reader::items`], a path.

use alloc::vec::Vec;
use core::fmt;

use crate::{Error, ErrorKind};

/// Reads borsh from bytes, front to back
///
/// ```
/// use milepost_protocol::codec::borsh::Reader;
///
/// let mut reader = Reader::new(&[2, 0, 0, 0, b'o', b'k', 7]);
/// assert_eq!(reader.text().unwrap(), "ok");
/// let error = reader.field("nonce", Reader::u64).unwrap_err();
/// assert_eq!(error.to_string(), "nonce: ends early, 1 of 8 bytes are there (byte 6)");
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// The number of bytes read
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The bytes that are left
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        // Only `take` and `bytes` move the offset, never past the end.
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    /// The next `count` bytes
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let taken = self.rest().get(..count).ok_or_else(|| self.unexpected_end(count))?;
        self.offset += count;
        Ok(taken)
    }

    #[cold]
    fn unexpected_end(&self, count: usize) -> Error {
        let left = self.rest().len();
        self.error(format_args!("ends early, {left} of {count} bytes are there"))
    }

    /// The next `N` bytes
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// Reads a `u8`
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(u8::from_le_bytes)
    }

    /// Reads a `u16`
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads a `u32`
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads a `u64`
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a `u128`
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn u128(&mut self) -> Result<u128, Error> {
        self.array().map(u128::from_le_bytes)
    }

    /// Reads the number of items of a sequence whose items have at least `min_len` bytes each
    ///
    /// # Errors
    ///
    /// The bytes that are left are too few for the items.
    #[inline]
    pub fn count(&mut self, min_len: usize) -> Result<usize, Error> {
        let start = self.offset;
        let count = self.u32()?;
        let left = self.rest().len();
        // A count that does not fit `usize` is larger than any input.
        usize::try_from(count)
            .ok()
            .filter(|count| count.checked_mul(min_len).is_some_and(|bytes| bytes <= left))
            .ok_or_else(|| too_long(count, left, start))
    }

    /// Reads a byte string and borrows it
    ///
    /// # Errors
    ///
    /// Its length is greater than the number of bytes left.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Error> {
        // One step for the valid case; `incomplete_bytes` finds the error.
        if let Some((length, rest)) = self.rest().split_first_chunk::<4>()
            && let Ok(length) = usize::try_from(u32::from_le_bytes(*length))
            && let Some(bytes) = rest.get(..length)
        {
            self.offset += 4 + length;
            return Ok(bytes);
        }
        self.incomplete_bytes()
    }

    #[cold]
    fn incomplete_bytes(&mut self) -> Result<&'a [u8], Error> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// Reads a string and borrows it
    ///
    /// # Errors
    ///
    /// Its length is greater than the number of bytes left, or it is not UTF-8.
    #[inline]
    pub fn text(&mut self) -> Result<&'a str, Error> {
        let bytes = self.bytes()?;
        core::str::from_utf8(bytes).map_err(|error| {
            let start = self.offset - bytes.len();
            invalid_utf8(start + error.valid_up_to())
        })
    }

    /// Reads an optional value: a byte that is 0 for none or 1 for some, then the value
    ///
    /// # Errors
    ///
    /// The byte is another one, or `read` fails.
    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        match self.tag()? {
            (0, _) => Ok(None),
            (1, _) => read(self).map(Some),
            (tag, offset) => Err(unknown_tag("option", tag, offset)),
        }
    }

    /// Reads the tag of a variant; returns it and its offset
    ///
    /// # Errors
    ///
    /// No byte is left.
    #[inline]
    pub fn tag(&mut self) -> Result<(u8, usize), Error> {
        let offset = self.offset;
        Ok((self.u8()?, offset))
    }

    /// Reads a value with `read`; `name` becomes the path of its errors
    ///
    /// # Errors
    ///
    /// `read` fails.
    #[inline]
    pub fn field<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        read(self).map_err(|error| in_field(error, name))
    }

    /// Reads a sequence of items of at least `min_len` bytes; their indexes become paths of errors
    ///
    /// # Errors
    ///
    /// The bytes that are left are too few for the items, or `read` fails.
    pub fn items<T>(
        &mut self,
        min_len: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        /// Items allocated up front; more only as they are read, so that a false count costs little
        const INITIAL_CAPACITY: usize = 64;

        let count = self.count(min_len)?;
        let mut items = Vec::with_capacity(count.min(INITIAL_CAPACITY));
        self.each(count, |reader| {
            items.push(read(reader)?);
            Ok(())
        })?;
        Ok(items)
    }

    /// Reads `count` items; their indexes become paths of errors
    ///
    /// # Errors
    ///
    /// `read` fails.
    pub fn each(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        (0..count)
            .try_for_each(|index| read(self).map_err(|error| error.at(format_args!("[{index}]"))))
    }

    /// Checks that no bytes are left
    ///
    /// # Errors
    ///
    /// Bytes are left.
    pub fn finish(self) -> Result<(), Error> {
        match self.rest().len() {
            0 => Ok(()),
            left => Err(self.error(format_args!("{left} trailing bytes"))),
        }
    }

    /// A syntax error at the next byte
    pub fn error(&self, detail: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Syntax, detail).with_offset(self.offset)
    }
}

#[cold]
fn too_long(count: u32, left: usize, start: usize) -> Error {
    let detail = format_args!("a length of {count}, but {left} bytes are left");
    Error::new(ErrorKind::Syntax, detail).with_offset(start)
}

#[cold]
fn invalid_utf8(offset: usize) -> Error {
    Error::new(ErrorKind::Value, "not UTF-8").with_offset(offset)
}

#[cold]
fn in_field(error: Error, name: &str) -> Error {
    error.at(name)
}

/// The error of a tag at `offset` that no variant of `what` has
pub fn unknown_tag(what: &str, tag: u8, offset: usize) -> Error {
    Error::new(ErrorKind::Syntax, format_args!("unknown {what} tag {tag}")).with_offset(offset)
}

/// Writes borsh
///
/// ```
/// use milepost_protocol::codec::borsh::Writer;
///
/// let mut writer = Writer::default();
/// writer.text("ok").u8(7);
/// assert_eq!(writer.into_bytes(), [2, 0, 0, 0, b'o', b'k', 7]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// A writer with room for so many bytes
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Writes bytes without a length
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Writes a `u8`
    pub fn u8(&mut self, number: u8) -> &mut Self {
        self.raw(&[number])
    }

    /// Writes a `u16`
    pub fn u16(&mut self, number: u16) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    /// Writes a `u32`
    pub fn u32(&mut self, number: u32) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    /// Writes a `u64`
    pub fn u64(&mut self, number: u64) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    /// Writes a `u128`
    pub fn u128(&mut self, number: u128) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    /// Writes the number of items of a sequence
    ///
    /// # Panics
    ///
    /// There are 2^32 items or more, which borsh cannot encode.
    pub fn count(&mut self, count: usize) -> &mut Self {
        self.u32(u32::try_from(count).expect("borsh counts in 32 bits"))
    }

    /// Writes a byte string
    ///
    /// # Panics
    ///
    /// As [`Self::count`].
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.count(bytes.len()).raw(bytes)
    }

    /// Writes a string
    ///
    /// # Panics
    ///
    /// As [`Self::count`].
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// Writes an optional value
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) -> &mut Self {
        match value {
            None => self.u8(0),
            Some(value) => {
                write(self.u8(1), value);
                self
            }
        }
    }

    /// Writes a sequence; the indexes of its items become paths of errors
    ///
    /// # Errors
    ///
    /// `write` fails.
    ///
    /// # Panics
    ///
    /// As [`Self::count`].
    pub fn items<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.count(items.len());
        items.enumerate().try_for_each(|(index, item)| {
            write(self, item).map_err(|error| error.at(format_args!("[{index}]")))
        })
    }

    /// The written bytes
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn numbers_are_little_endian() {
        let mut writer = Writer::default();
        writer.u8(1).u16(0x0203).u32(0x0405_0607).u64(u64::MAX - 1).u128(1 << 127);
        let bytes = writer.into_bytes();
        assert_eq!(bytes[..7], [1, 3, 2, 7, 6, 5, 4]);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.u8(), Ok(1));
        assert_eq!(reader.u16(), Ok(0x0203));
        assert_eq!(reader.u32(), Ok(0x0405_0607));
        assert_eq!(reader.u64(), Ok(u64::MAX - 1));
        assert_eq!(reader.u128(), Ok(1 << 127));
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn a_length_is_checked_against_the_bytes_left() {
        let mut reader = Reader::new(&[0xff, 0xff, 0xff, 0xff, 1, 2]);
        let error = reader.bytes().unwrap_err();
        assert_eq!(error.to_string(), "byte 0: a length of 4294967295, but 2 bytes are left");
        let mut reader = Reader::new(&[3, 0, 0, 0, 1, 2, 3, 4, 5]);
        assert!(reader.clone().count(1).is_ok());
        assert_eq!(reader.count(2).unwrap_err().offset(), Some(0));
        let mut reader = Reader::new(&[3, 0, 0, 0, 1, 2, 3, 4, 5]);
        assert!(reader.count(usize::MAX).is_err());
    }

    #[test]
    fn errors_have_offset_and_path() {
        let mut reader = Reader::new(&[2, 0, 0, 0, 0, 9, 0xff]);
        let error = reader
            .field("list", |reader| reader.items(1, |reader| reader.option(Reader::u8)))
            .unwrap_err();
        assert_eq!(error.to_string(), "list[1]: unknown option tag 9 (byte 5)");
        let error = Reader::new(&[2, 0, 0, 0, b'a', 0xff]).text().unwrap_err();
        assert_eq!(error.to_string(), "byte 5: not UTF-8");
        let error = Reader::new(&[1, 2]).finish().unwrap_err();
        assert_eq!(error.to_string(), "byte 0: 2 trailing bytes");
    }

    #[test]
    fn options_and_items_round_trip() {
        let mut writer = Writer::default();
        writer.option(Some("a"), |writer, text| _ = writer.text(text));
        writer.option(None::<u8>, |writer, number| _ = writer.u8(number));
        let write = |writer: &mut Writer, number| {
            writer.u16(number);
            Ok(())
        };
        writer.items([5, 6].into_iter(), write).unwrap();
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.option(Reader::text), Ok(Some("a")));
        assert_eq!(reader.option(Reader::u8), Ok(None));
        assert_eq!(reader.items(2, Reader::u16).unwrap(), [5, 6]);
        assert_eq!(reader.finish(), Ok(()));
    }
}
