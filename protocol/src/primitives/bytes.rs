//! Bytes whose JSON form is base64.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

use super::ScalarError;
use super::text::text_serde;
use crate::codec::base64::{self, Padding};

/// Bytes that JSON shows as padded base64; a reader forgives missing padding
#[derive(Clone, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "bytes and nothing else")]
pub struct Bytes(pub Vec<u8>);

impl FromStr for Bytes {
    type Err = ScalarError;

    fn from_str(text: &str) -> Result<Self, ScalarError> {
        Ok(Self(base64::decode(text, Padding::Optional)?))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(self.0.len().div_ceil(3) * 4);
        base64::encode(&self.0, &mut text);
        formatter.pad(&text)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

text_serde!(Bytes, "a base64 string");
