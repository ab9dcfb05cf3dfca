//! Why a text was refused: in the words of `serde_json`, with how much of the text was read.
//!
//! An [`Error`] is made of it once the whole text is at hand, which the path needs.

use alloc::borrow::Cow;

use crate::codec::json::path::path_at;
use crate::codec::json::text::refused;
use crate::{Error, ErrorKind};

/// Why a text was refused, and how much of it was read
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    /// How many bytes were read, the one at fault included
    pub(crate) read: usize,
    pub(crate) detail: Cow<'static, str>,
}

impl Fault {
    pub(super) const fn syntax(read: usize, detail: &'static str) -> Self {
        Self { kind: ErrorKind::Syntax, read, detail: Cow::Borrowed(detail) }
    }

    /// Whether the text ended too early
    pub(crate) fn is_end(&self) -> bool {
        self.detail.starts_with("EOF")
    }

    /// The error in this text, with its path
    pub(crate) fn of(self, text: &str) -> Error {
        let error = refused(self.kind, self.detail.into_owned());
        error.with_offset(self.read).at(path_at(text.as_bytes(), self.read))
    }
}
