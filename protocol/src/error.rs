//! The error of both crates: what is invalid, where, and which limit it exceeds.
//!
//! Every error has a kind (a stable number), a path in the JSON or the name of the value, the
//! offset of the invalid byte if there is one, and a text. Bindings to other languages have the
//! same four parts, so the text says all; the error that a storage failed with is kept beside it,
//! for hosts that want to tell its errors apart.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;

/// The kind of an [`Error`]; its number is the same in all versions and languages
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
#[repr(u8)]
pub enum ErrorKind {
    /// The text is not JSON, or the bytes are not borsh
    Syntax = 1,
    /// The JSON lacks a member, has one twice, or has one of the wrong type
    Schema = 2,
    /// A scalar is invalid: a hash of 31 bytes, an account id with an upper-case letter
    Value = 3,
    /// A limit is exceeded: depth, size, number of items
    Limit = 4,
    /// A block contradicts the known chain
    Chain = 5,
    /// The storage failed
    Storage = 6,
    /// A row in the storage is not one that the engine wrote
    Corrupt = 7,
    /// The caller did not follow the order of calls
    Usage = 8,
    /// A stored row or file has a format version that this release does not read
    Version = 9,
    /// An archive holds two rows of one key whose content differs
    Conflict = 10,
}

impl ErrorKind {
    /// The number of this kind
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// The invalid value: kind, path, offset and text
///
/// ```
/// use milepost_protocol::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::Value, "31 bytes after base58, expected 32");
/// let error = error.at("params.tx_hash");
/// assert_eq!(error.to_string(), "params.tx_hash: 31 bytes after base58, expected 32");
/// assert_eq!(error.kind().code(), 3);
/// ```
///
/// Two errors are equal if these four are; their sources are not compared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error(Box<ErrorFields>);

/// The content of an error, boxed so that a result needs no more space for it than a pointer
#[derive(Clone, Debug, Eq, PartialEq)]
struct ErrorFields {
    kind: ErrorKind,
    path: String,
    offset: Option<usize>,
    detail: String,
    source: Source,
}

/// The cause of an error, if it is known; equal to every other
#[derive(Clone, Debug, Default)]
struct Source(Option<Arc<dyn core::error::Error + Send + Sync>>);

impl Eq for Source {}

impl PartialEq for Source {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Error {
    /// An error without path and offset
    pub fn new(kind: ErrorKind, detail: impl fmt::Display) -> Self {
        Self::with_detail(kind, detail.to_string())
    }

    fn with_detail(kind: ErrorKind, detail: String) -> Self {
        let source = Source::default();
        Self(Box::new(ErrorFields { kind, path: String::new(), offset: None, detail, source }))
    }

    /// Puts `path` before the error's path
    ///
    /// ```
    /// use milepost_protocol::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Schema, "missing").at("[2].id").at("actions");
    /// assert_eq!(error.path(), "actions[2].id");
    /// ```
    #[must_use]
    pub fn at(self, path: impl fmt::Display) -> Self {
        self.below(path.to_string())
    }

    fn below(mut self, mut whole: String) -> Self {
        let tail = &mut self.0.path;
        if !tail.is_empty() && !whole.is_empty() && !tail.starts_with('[') {
            whole.push('.');
        }
        whole.push_str(tail);
        *tail = whole;
        self
    }

    /// Sets the offset of the invalid byte in the input
    #[must_use]
    pub fn with_offset(mut self, offset: usize) -> Self {
        self.0.offset = Some(offset);
        self
    }

    /// Keeps the error that caused this one, for [`core::error::Error::source`]
    ///
    /// The text has to say what is wrong by itself: a source is not sent to clients and not passed
    /// to other languages.
    ///
    /// ```
    /// use std::error::Error as _;
    /// use std::io;
    ///
    /// use milepost_protocol::{Error, ErrorKind};
    ///
    /// let full = io::Error::from(io::ErrorKind::StorageFull);
    /// let error = Error::new(ErrorKind::Storage, &full).with_source(full);
    /// let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    /// assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::StorageFull));
    /// ```
    #[must_use]
    pub fn with_source(mut self, source: impl core::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Source(Some(Arc::new(source)));
        self
    }

    /// The kind of the error
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The path in the input, such as `shards[1].chunk.header`; empty for the input as a whole
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The offset in the input at which the error was found
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// The text without path and offset
    pub fn detail(&self) -> &str {
        &self.0.detail
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ErrorFields { path, offset, detail, .. } = &*self.0;
        match (path.is_empty(), offset) {
            (true, None) => formatter.write_str(detail),
            (true, Some(offset)) => write!(formatter, "byte {offset}: {detail}"),
            (false, None) => write!(formatter, "{path}: {detail}"),
            (false, Some(offset)) => write!(formatter, "{path}: {detail} (byte {offset})"),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        let source = self.0.source.0.as_deref()?;
        Some(source)
    }
}

#[cfg(test)]
mod tests {
    use core::error::Error as _;

    use super::*;

    #[test]
    fn kinds_have_their_numbers() {
        let kinds = [ErrorKind::Syntax, ErrorKind::Schema, ErrorKind::Version, ErrorKind::Conflict];
        assert_eq!(kinds.map(ErrorKind::code), [1, 2, 9, 10]);
    }

    #[test]
    fn the_text_has_the_path_and_the_offset_that_are_known() {
        let error = || Error::new(ErrorKind::Value, "wrong");
        assert_eq!(error().to_string(), "wrong");
        assert_eq!(error().with_offset(7).to_string(), "byte 7: wrong");
        assert_eq!(error().at("a").to_string(), "a: wrong");
        assert_eq!(error().at("[1]").at("a").with_offset(7).to_string(), "a[1]: wrong (byte 7)");
        assert_eq!(error().at("b").at("a").at("").path(), "a.b");
    }

    #[test]
    fn the_source_is_the_error_that_caused_it() {
        let cause = Error::new(ErrorKind::Storage, "full");
        assert!(cause.source().is_none());
        let error = Error::new(ErrorKind::Storage, "put").with_source(cause.clone());
        assert_eq!(error.source().unwrap().to_string(), "full");
        assert_eq!(error, Error::new(ErrorKind::Storage, "put"), "sources are not compared");
    }
}
