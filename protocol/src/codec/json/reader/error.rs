//! The error of the JSON reader, with the texts of `serde_json`.
//!
//! It becomes an [`Error`] where the whole text is known, which the path is computed from.

use alloc::borrow::Cow;
use alloc::boxed::Box;

use crate::codec::json::path::path_at;
use crate::codec::json::text::error_with;
use crate::{Error, ErrorKind};

/// Why a text is invalid, and how much of it was read; the size of a pointer, as an [`Error`]
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReadError(Box<ErrorFields>);

#[derive(Clone, Debug, Eq, PartialEq)]
struct ErrorFields {
    kind: ErrorKind,
    read: usize,
    detail: Cow<'static, str>,
}

impl ReadError {
    #[cold]
    pub(super) fn new(kind: ErrorKind, read: usize, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(ErrorFields { kind, read, detail: detail.into() }))
    }

    #[cold]
    pub(super) fn syntax(read: usize, detail: &'static str) -> Self {
        Self::new(ErrorKind::Syntax, read, detail)
    }

    /// The number of bytes read, including the invalid one
    pub fn bytes_read(&self) -> usize {
        self.0.read
    }

    /// The error text
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Whether the text ends too early
    pub fn is_unexpected_end(&self) -> bool {
        self.detail().starts_with("EOF")
    }

    /// Whether an object lacks a member; see [`Reader::required`](super::Reader::required)
    pub fn is_lacking(&self) -> bool {
        self.detail().starts_with("missing field")
    }

    /// Converts it to an error with a path; `text` is the whole text
    pub fn into_error(self, text: &str) -> Error {
        let ErrorFields { kind, read, detail } = *self.0;
        error_with(kind, detail.into_owned()).with_offset(read).at(path_at(text.as_bytes(), read))
    }
}
