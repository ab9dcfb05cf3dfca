//! Borsh, the binary encoding of signed transactions: a reader that borrows and a writer.
//!
//! Numbers are little endian; texts, byte strings and sequences start with their length in 32
//! bits. A length is held against the bytes that are left before anything is done with it, so a
//! reader never allocates more than its input could fill. Every refusal names the byte and, by
//! [`Reader::field`] and [`Reader::items`], the place. Which fields there are is for others to
//! know.

use alloc::vec::Vec;
use core::fmt;

use crate::{Error, ErrorKind};

/// A place in bytes that are read from front to back
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
    /// A reader at the front of `bytes`
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// How many bytes have been read
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The bytes that are left
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        // The offset grows in `take` alone, and never past the end.
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    /// The next `count` bytes
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let taken = self.rest().get(..count).ok_or_else(|| self.ends_early(count))?;
        self.offset += count;
        Ok(taken)
    }

    #[cold]
    fn ends_early(&self, count: usize) -> Error {
        let left = self.rest().len();
        self.refuse(format_args!("ends early, {left} of {count} bytes are there"))
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

    /// A number of 8 bits
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(u8::from_le_bytes)
    }

    /// A number of 16 bits
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_le_bytes)
    }

    /// A number of 32 bits
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    /// A number of 64 bits
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number of 128 bits
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    #[inline]
    pub fn u128(&mut self) -> Result<u128, Error> {
        self.array().map(u128::from_le_bytes)
    }

    /// The number of items of a sequence whose items take at least `smallest` bytes each
    ///
    /// # Errors
    ///
    /// So many items cannot be in the bytes that are left.
    #[inline]
    pub fn count(&mut self, smallest: usize) -> Result<usize, Error> {
        let start = self.offset;
        let count = self.u32()?;
        let left = self.rest().len();
        // A count that does not fit the machine's words is larger than any input.
        usize::try_from(count)
            .ok()
            .filter(|count| count.checked_mul(smallest).is_some_and(|bytes| bytes <= left))
            .ok_or_else(|| too_long(count, left, start))
    }

    /// A byte string, borrowed
    ///
    /// # Errors
    ///
    /// Its length is more than what is left.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Error> {
        // In one step; the steps one by one tell what is wrong.
        if let Some((length, behind)) = self.rest().split_first_chunk::<4>()
            && let Ok(length) = usize::try_from(u32::from_le_bytes(*length))
            && let Some(bytes) = behind.get(..length)
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

    /// A text, borrowed
    ///
    /// # Errors
    ///
    /// Its length is more than what is left, or it is not UTF-8.
    #[inline]
    pub fn text(&mut self) -> Result<&'a str, Error> {
        let bytes = self.bytes()?;
        core::str::from_utf8(bytes).map_err(|error| {
            let start = self.offset - bytes.len();
            not_text(start + error.valid_up_to())
        })
    }

    /// An optional value, behind a byte that is 0 for none and 1 for some
    ///
    /// # Errors
    ///
    /// Another byte, or what `read` refuses.
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

    /// The byte that tells variants apart, and its offset
    ///
    /// # Errors
    ///
    /// Nothing is left.
    #[inline]
    pub fn tag(&mut self) -> Result<(u8, usize), Error> {
        let offset = self.offset;
        Ok((self.u8()?, offset))
    }

    /// What `read` reads, with `name` as the place of its refusals
    ///
    /// # Errors
    ///
    /// What `read` refuses.
    #[inline]
    pub fn field<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        read(self).map_err(|error| in_field(error, name))
    }

    /// A sequence of items of at least `smallest` bytes, with their numbers as places of refusals
    ///
    /// # Errors
    ///
    /// So many items cannot be in the bytes that are left, or `read` refuses one.
    pub fn items<T>(
        &mut self,
        smallest: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        /// More is allocated only as items really come: a false count costs next to nothing
        const AT_FIRST: usize = 64;

        let count = self.count(smallest)?;
        let mut items = Vec::with_capacity(count.min(AT_FIRST));
        self.each(count, |reader| {
            items.push(read(reader)?);
            Ok(())
        })?;
        Ok(items)
    }

    /// So many items, with their numbers as places of refusals
    ///
    /// # Errors
    ///
    /// `read` refuses one.
    pub fn each(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        (0..count)
            .try_for_each(|index| read(self).map_err(|error| error.at(format_args!("[{index}]"))))
    }

    /// Ends the reading
    ///
    /// # Errors
    ///
    /// Bytes are left.
    pub fn finish(self) -> Result<(), Error> {
        match self.rest().len() {
            0 => Ok(()),
            left => Err(self.refuse(format_args!("{left} trailing bytes"))),
        }
    }

    /// A refusal of the bytes that come next
    pub fn refuse(&self, detail: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Syntax, detail).with_offset(self.offset)
    }
}

#[cold]
fn too_long(count: u32, left: usize, start: usize) -> Error {
    let detail = format_args!("a length of {count}, but {left} bytes are left");
    Error::new(ErrorKind::Syntax, detail).with_offset(start)
}

#[cold]
fn not_text(offset: usize) -> Error {
    Error::new(ErrorKind::Value, "not UTF-8").with_offset(offset)
}

#[cold]
fn in_field(error: Error, name: &str) -> Error {
    error.at(name)
}

/// The refusal of a tag at `offset` that no variant of `what` has
pub fn unknown_tag(what: &str, tag: u8, offset: usize) -> Error {
    Error::new(ErrorKind::Syntax, format_args!("unknown {what} tag {tag}")).with_offset(offset)
}

/// Bytes that are written from front to back
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
    /// Writes bytes as they are, without a length
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Writes a number of 8 bits
    pub fn u8(&mut self, number: u8) -> &mut Self {
        self.raw(&[number])
    }

    /// Writes a number of 16 bits
    pub fn u16(&mut self, number: u16) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    /// Writes a number of 32 bits
    pub fn u32(&mut self, number: u32) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    /// Writes a number of 64 bits
    pub fn u64(&mut self, number: u64) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    /// Writes a number of 128 bits
    pub fn u128(&mut self, number: u128) -> &mut Self {
        self.raw(&number.to_le_bytes())
    }

    /// Writes the number of items of a sequence
    ///
    /// # Panics
    ///
    /// There are 2^32 items or more, which borsh cannot say.
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

    /// Writes a text
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

    /// Writes a sequence
    ///
    /// # Panics
    ///
    /// As [`Self::count`].
    pub fn items<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        self.count(items.len());
        items.for_each(|item| write(self, item));
        self
    }

    /// What has been written
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
    fn a_length_is_held_against_what_is_left() {
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
    fn refusals_name_byte_and_place() {
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
    fn options_and_items_come_back() {
        let mut writer = Writer::default();
        writer.option(Some("a"), |writer, text| _ = writer.text(text));
        writer.option(None::<u8>, |writer, number| _ = writer.u8(number));
        writer.items([5_u16, 6].into_iter(), |writer, number| _ = writer.u16(number));
        let bytes = writer.into_bytes();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.option(Reader::text), Ok(Some("a")));
        assert_eq!(reader.option(Reader::u8), Ok(None));
        assert_eq!(reader.items(2, Reader::u16).unwrap(), [5, 6]);
        assert_eq!(reader.finish(), Ok(()));
    }
}
