//! The one error of the crate: what was refused, where, and which limit it broke.
//!
//! Every refusal carries a kind (a number that never changes its meaning), a path into the JSON
//! or the name of the thing, an offset where bytes are at fault, and a sentence. Hosts in other
//! languages show the same four facts. Sources are folded into the sentence, because foreign
//! error types would pull their crates into the public interface.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

/// What kind of refusal an [`Error`] is; the numbers are stable across versions and languages
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
#[repr(u8)]
pub enum ErrorKind {
    /// The text is not JSON, or the bytes are not borsh
    Syntax = 1,
    /// The JSON lacks a member, has one too many, or has one of the wrong type
    Shape = 2,
    /// A scalar breaks its rules: a hash of 31 bytes, an account id with an upper-case letter
    Value = 3,
    /// A limit would be exceeded: depth, size, number of items
    Limit = 4,
    /// A block contradicts the chain that is already known
    Chain = 5,
    /// The storage failed
    Storage = 6,
    /// A row in the storage is not what the engine wrote
    Corrupt = 7,
    /// The caller broke the order of calls
    Usage = 8,
}

impl ErrorKind {
    /// The stable number of this kind
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// A refusal: kind, place, offset, sentence
///
/// ```
/// use milepost_protocol::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::Value, "31 bytes after base58, expected 32").at("params.tx_hash");
/// assert_eq!(error.to_string(), "params.tx_hash: 31 bytes after base58, expected 32");
/// assert_eq!(error.kind().code(), 3);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error(Box<Parts>);

/// What an error says, out of the way of those who have none: a result takes no more room for it than a
/// pointer
#[derive(Clone, Debug, Eq, PartialEq)]
struct Parts {
    kind: ErrorKind,
    path: String,
    offset: Option<usize>,
    detail: String,
}

impl Error {
    /// A refusal without a place
    pub fn new(kind: ErrorKind, detail: impl fmt::Display) -> Self {
        let detail = detail.to_string();
        Self(Box::new(Parts { kind, path: String::new(), offset: None, detail }))
    }

    /// The same refusal, at this path; a path that is already there becomes its tail
    ///
    /// ```
    /// use milepost_protocol::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Shape, "missing").at("[2].id").at("actions");
    /// assert_eq!(error.path(), "actions[2].id");
    /// ```
    #[must_use]
    pub fn at(mut self, path: impl fmt::Display) -> Self {
        let mut whole = path.to_string();
        let tail = &mut self.0.path;
        if !tail.is_empty() && !whole.is_empty() && !tail.starts_with('[') {
            whole.push('.');
        }
        whole.push_str(tail);
        *tail = whole;
        self
    }

    /// The same refusal, at this byte of the input
    #[must_use]
    pub fn with_offset(mut self, offset: usize) -> Self {
        self.0.offset = Some(offset);
        self
    }

    /// What kind of refusal this is
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where in the input, as a JSON path such as `shards[1].chunk.header`; empty when the input
    /// as a whole is refused
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The byte of the input at which the refusal was found
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// The sentence alone, without place and offset
    pub fn detail(&self) -> &str {
        &self.0.detail
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { path, offset, detail, .. } = &*self.0;
        match (path.is_empty(), offset) {
            (true, None) => formatter.write_str(detail),
            (true, Some(offset)) => write!(formatter, "byte {offset}: {detail}"),
            (false, None) => write!(formatter, "{path}: {detail}"),
            (false, Some(offset)) => write!(formatter, "{path}: {detail} (byte {offset})"),
        }
    }
}

impl core::error::Error for Error {}
