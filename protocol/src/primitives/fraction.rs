//! Numbers with a fraction, read exactly from their digits.
//!
//! `serde_json` rounds some fractions to a neighbor of the nearest `f64` unless its feature
//! `float_roundtrip` is on, which every other crate of a host would share. So the raw digits are
//! parsed here, whatever features `serde_json` has.

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::ParseError;

/// A number with a fraction: the `f64` nearest to its decimal digits
///
/// ```
/// use milepost_protocol::codec::json;
/// use milepost_protocol::primitives::Fraction;
///
/// let fraction: Fraction = json::read("0.8").unwrap();
/// assert_eq!(fraction, Fraction(0.8));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize)]
#[expect(clippy::exhaustive_structs, reason = "a scalar is its number")]
pub struct Fraction(pub f64);

impl FromStr for Fraction {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        // Rust also reads a plus sign, `.5`, `inf` and `nan`; JSON does not.
        if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return Err(ParseError::Fraction);
        }
        text.parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .map(Self)
            .ok_or(ParseError::Fraction)
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer)?.get().parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;

    #[test]
    fn digits_are_read_exactly() {
        // `serde_json` without `float_roundtrip` reads each of them as a neighboring `f64`.
        for text in ["0.19844004278856286", "0.9796215956506859", "0.9868100332987975"] {
            let fraction: Fraction = json::read(text).unwrap();
            assert_eq!(json::write(&fraction), text);
        }
    }

    #[test]
    fn only_finite_json_numbers_are_fractions() {
        assert_eq!("-0.5e-3".parse(), Ok(Fraction(-0.0005)));
        for text in ["", "+1", ".5", "inf", "-inf", "nan", "-nan", "1e309", "\"1\"", "null"] {
            assert_eq!(text.parse::<Fraction>(), Err(ParseError::Fraction), "{text}");
        }
        let error = json::read::<Fraction>("[1]").unwrap_err();
        assert_eq!(error.detail(), "expected a finite number");
    }
}
