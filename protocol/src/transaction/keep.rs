//! What becomes of the parts of a transaction while it is read: all are kept, or none.
//!
//! Reading refuses the same bytes in the same words either way. Parts are built by closures that a
//! reader which keeps nothing never calls, so it allocates nothing.

use alloc::vec::Vec;

use crate::Error;
use crate::codec::borsh::Reader;

/// Where the parts of a transaction go
pub(super) trait Keep {
    /// What is left of a part
    type Kept<T>;

    /// Keeps a part
    fn keep<T>(make: impl FnOnce() -> T) -> Self::Kept<T>;

    /// Keeps an entry of a map; `is_next` tells that its key is above the one before
    fn keep_entry<T>(is_next: bool, make: impl FnOnce() -> T) -> Self::Kept<T>;

    /// Makes a part of another one
    fn map<T, U>(kept: Self::Kept<T>, make: impl FnOnce(T) -> U) -> Self::Kept<U>;

    /// Reads a sequence whose items take at least `smallest` bytes each
    fn items<'a, T>(
        reader: &mut Reader<'a>,
        smallest: usize,
        read: impl FnMut(&mut Reader<'a>) -> Result<Self::Kept<T>, Error>,
    ) -> Result<Self::Kept<Vec<T>>, Error>;
}

/// All is kept
pub(super) struct Parts;

impl Keep for Parts {
    type Kept<T> = T;

    fn keep<T>(make: impl FnOnce() -> T) -> T {
        make()
    }

    fn keep_entry<T>(_: bool, make: impl FnOnce() -> T) -> T {
        make()
    }

    fn map<T, U>(kept: T, make: impl FnOnce(T) -> U) -> U {
        make(kept)
    }

    fn items<'a, T>(
        reader: &mut Reader<'a>,
        smallest: usize,
        read: impl FnMut(&mut Reader<'a>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        reader.items(smallest, read)
    }
}

/// Nothing is kept but whether writing the parts would give the bytes that were read
pub(super) struct Canonical(pub(super) bool);

impl Keep for Canonical {
    type Kept<T> = Self;

    fn keep<T>(_: impl FnOnce() -> T) -> Self {
        Self(true)
    }

    fn keep_entry<T>(is_next: bool, _: impl FnOnce() -> T) -> Self {
        Self(is_next)
    }

    fn map<T, U>(kept: Self, _: impl FnOnce(T) -> U) -> Self {
        kept
    }

    fn items<'a, T>(
        reader: &mut Reader<'a>,
        smallest: usize,
        mut read: impl FnMut(&mut Reader<'a>) -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        let (count, mut all) = (reader.count(smallest)?, true);
        reader.each(count, |reader| {
            all &= read(reader)?.0;
            Ok(())
        })?;
        Ok(Self(all))
    }
}
