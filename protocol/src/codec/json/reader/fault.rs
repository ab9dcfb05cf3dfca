//! Why a text was refused: in the words of `serde_json`, with how much of the text was read.
//!
//! An [`Error`] is made of it once the whole text is at hand, which the path needs.

use alloc::borrow::Cow;
use alloc::boxed::Box;

use crate::codec::json::path::path_at;
use crate::codec::json::text::refused;
use crate::{Error, ErrorKind};

/// Why a text was refused, and how much of it was read; behind one pointer, as in an [`Error`]
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault(Box<Parts>);

#[derive(Clone, Debug, Eq, PartialEq)]
struct Parts {
    kind: ErrorKind,
    read: usize,
    detail: Cow<'static, str>,
}

impl Fault {
    #[cold]
    pub(super) fn new(kind: ErrorKind, read: usize, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Parts { kind, read, detail: detail.into() }))
    }

    #[cold]
    pub(super) fn syntax(read: usize, detail: &'static str) -> Self {
        Self::new(ErrorKind::Syntax, read, detail)
    }

    /// How many bytes were read, the one at fault included
    pub fn read(&self) -> usize {
        self.0.read
    }

    /// What is wrong
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Whether the text ended too early
    pub fn is_end(&self) -> bool {
        self.detail().starts_with("EOF")
    }

    /// The error in this text, with its path
    pub fn of(self, text: &str) -> Error {
        let Parts { kind, read, detail } = *self.0;
        refused(kind, detail.into_owned()).with_offset(read).at(path_at(text.as_bytes(), read))
    }
}
