//! The use of the values that the transaction reader reads: to build them, or only to check them.
//!
//! Both return the same errors. Values are built by closures, which the checking reader never
//! calls, so it does not allocate.

use alloc::vec::Vec;

use crate::Error;
use crate::codec::borsh::Reader;

/// Builds the values of a transaction, or a substitute for them
pub(super) trait Builder {
    /// The result for a value of type `T`
    type Output<T>;

    /// Builds a value
    fn build<T>(make: impl FnOnce() -> T) -> Self::Output<T>;

    /// Builds an entry of a map; `ascending` is whether its key is greater than the previous one
    fn build_entry<T>(ascending: bool, make: impl FnOnce() -> T) -> Self::Output<T>;

    /// Converts a value
    fn map<T, U>(value: Self::Output<T>, make: impl FnOnce(T) -> U) -> Self::Output<U>;

    /// Reads a sequence of items of at least `min_len` bytes each
    fn items<'a, T>(
        reader: &mut Reader<'a>,
        min_len: usize,
        read: impl FnMut(&mut Reader<'a>) -> Result<Self::Output<T>, Error>,
    ) -> Result<Self::Output<Vec<T>>, Error>;
}

/// Builds the values
pub(super) struct OwnedParts;

impl Builder for OwnedParts {
    type Output<T> = T;

    fn build<T>(make: impl FnOnce() -> T) -> T {
        make()
    }

    fn build_entry<T>(_: bool, make: impl FnOnce() -> T) -> T {
        make()
    }

    fn map<T, U>(value: T, make: impl FnOnce(T) -> U) -> U {
        make(value)
    }

    fn items<'a, T>(
        reader: &mut Reader<'a>,
        min_len: usize,
        read: impl FnMut(&mut Reader<'a>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        reader.items(min_len, read)
    }
}

/// Builds nothing; records whether the encoding is canonical: writing the values gives the same
/// bytes
pub(super) struct CanonicalCheck(pub(super) bool);

impl Builder for CanonicalCheck {
    type Output<T> = Self;

    fn build<T>(_: impl FnOnce() -> T) -> Self {
        Self(true)
    }

    fn build_entry<T>(ascending: bool, _: impl FnOnce() -> T) -> Self {
        Self(ascending)
    }

    fn map<T, U>(value: Self, _: impl FnOnce(T) -> U) -> Self {
        value
    }

    fn items<'a, T>(
        reader: &mut Reader<'a>,
        min_len: usize,
        mut read: impl FnMut(&mut Reader<'a>) -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        let (count, mut all) = (reader.count(min_len)?, true);
        reader.each(count, |reader| {
            all &= read(reader)?.0;
            Ok(())
        })?;
        Ok(Self(all))
    }
}
