//! What a value is: a scalar with what it says, or the beginning of an array or an object.
//!
//! Numbers keep all 64 bits; what is no whole number keeps its text, for nobody here calculates with it.

use alloc::borrow::Cow;
use core::fmt;

use crate::codec::json::write;

/// A number as its text says
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number<'t> {
    /// Without sign, fraction and exponent, of 64 bits
    Unsigned(u64),
    /// The same with a minus sign
    Negative(i64),
    /// Any other
    Fraction(&'t str),
}

/// What a value is
#[derive(Clone, Debug)]
pub enum Scalar<'t> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number
    Number(Number<'t>),
    /// A string, without its escapes
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
            Self::Array => formatter.write_str("sequence"),
            Self::Object => formatter.write_str("map"),
        }
    }
}

/// Whether the magnitude of a number is beyond what a number of 64 bits with a floating point can be
pub(super) fn is_out_of_range(text: &str) -> bool {
    // 1.797...e308 is the largest: its first digit stands 308 places before the point.
    const LARGEST: &[u8] = b"17976931348623158079";
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches(['-', '0']);
    let negative = exponent.starts_with('-');
    // So many digits that no length of a text outweighs them are all alike.
    let exponent = exponent.trim_start_matches(['+', '-']).parse().unwrap_or(i64::MAX / 4);
    let exponent = if negative { -exponent } else { exponent };
    let zeroes = fraction.len() - fraction.trim_start_matches('0').len();
    let digits = whole.bytes().chain(fraction.bytes()).skip_while(|digit| *digit == b'0');
    let mut digits = digits.peekable();
    if digits.peek().is_none() {
        return false;
    }
    // Lengths are below 2^62.
    let places = match whole.len() {
        0 => exponent - 1 - zeroes as i64,
        length => exponent + length as i64 - 1,
    };
    places > 308 || places == 308 && digits.gt(LARGEST.iter().copied())
}
