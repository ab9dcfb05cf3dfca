//! Bytes whose JSON form is base64.
//!
//! Writing pads; reading accepts missing padding, as the node does.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use core::str::FromStr;

use super::ParseError;
use super::text::text_serde;
use crate::codec::base64::{self, Padding};

/// Bytes; padded base64 in JSON, where padding may be missing when read
#[derive(Clone, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "a newtype of bytes")]
pub struct Bytes(pub Vec<u8>);

impl FromStr for Bytes {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
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
