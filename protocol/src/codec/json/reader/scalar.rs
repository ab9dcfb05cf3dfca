//! A JSON scalar, or the start of an array or an object.
//!
//! Integers keep all 64 bits; any other number keeps its text, because none is calculated with.

use alloc::borrow::Cow;
use core::{fmt, iter};

use crate::codec::json::write;

/// A number
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "for the engine, which matches all variants")]
pub enum Number<'t> {
    /// An integer of 64 bits without sign, fraction and exponent
    Unsigned(u64),
    /// A negative integer of 64 bits
    Negative(i64),
    /// Any other number, as text
    Fraction(&'t str),
}

/// A scalar, or the start of an array or an object
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "for the engine, which matches all variants")]
pub enum Scalar<'t> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number
    Number(Number<'t>),
    /// A string, with its escapes decoded
    String(Cow<'t, str>),
    /// The start of an array
    Array,
    /// The start of an object
    Object,
}

impl fmt::Display for Scalar<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Bool(value) => write!(formatter, "boolean `{value}`"),
            Self::Number(Number::Unsigned(number)) => write!(formatter, "integer `{number}`"),
            Self::Number(Number::Negative(number)) => write!(formatter, "integer `{number}`"),
            Self::Number(Number::Fraction(text)) => write!(formatter, "floating point `{text}`"),
            Self::String(text) => write!(formatter, "string {}", write(text)),
            Self::Array => formatter.write_str("array"),
            Self::Object => formatter.write_str("object"),
        }
    }
}

/// Whether the magnitude of a number is greater than that of any finite `f64`
pub(crate) fn is_out_of_range(text: &str) -> bool {
    // 1.797...e308, the first number that is rounded up to infinity.
    exceeds(text, b"17976931348623158079", 308)
}

/// Whether the magnitude of a number is greater than 1
pub(crate) fn exceeds_one(text: &str) -> bool {
    exceeds(text, b"1", 0)
}

/// Whether the magnitude of a number is greater than that of these digits, of which the first is
/// `limit_magnitude` positions before the last of its integer
fn exceeds(text: &str, limit: &[u8], limit_magnitude: i64) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let whole = mantissa.trim_start_matches('-').bytes().position(|byte| byte == b'.');
    let digits = || mantissa.bytes().filter(u8::is_ascii_digit);
    let Some(first) = digits().position(|digit| digit != b'0') else { return false };
    // An exponent of this size outweighs a text of any length.
    const MAX: u64 = u64::MAX / 8;
    let negative = exponent.starts_with('-');
    let exponent = exponent.trim_start_matches(['+', '-']).parse().unwrap_or(MAX).min(MAX) as i64;
    let exponent = if negative { -exponent } else { exponent };
    // Lengths are below 2^62.
    let whole = whole.unwrap_or_else(|| digits().count());
    let magnitude = exponent + whole as i64 - 1 - first as i64;
    // A number that continues after the digits of the limit is not greater if only zeros follow.
    let limit = limit.iter().copied().chain(iter::repeat(b'0'));
    magnitude > limit_magnitude || magnitude == limit_magnitude && digits().skip(first).gt(limit)
}
