//! Serde implementations for scalars whose JSON form is a string.
//!
//! `text_serde!` implements `Serialize` by `Display` and `Deserialize` by `FromStr`, without an
//! intermediate `String`. Decimal numbers are parsed here, because the standard parsers do not
//! report the offset of an invalid byte.

use super::ParseError;

/// Implements serde by `Display` and `FromStr`; `$expecting` is the expected value in errors
macro_rules! text_serde {
    ($type:ty, $expecting:literal) => {
        impl $type {
            /// The expected value in errors
            #[doc(hidden)]
            pub const EXPECTED: &'static str = $expecting;
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str::<dyn core::fmt::Display>(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;

                impl serde::de::Visitor<'_> for Text {
                    type Value = $type;

                    fn expecting(
                        &self,
                        formatter: &mut core::fmt::Formatter<'_>,
                    ) -> core::fmt::Result {
                        formatter.write_str(<$type>::EXPECTED)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }

                deserializer.deserialize_str(Text)
            }
        }
    };
}

pub(crate) use text_serde;

/// Parses decimal digits with an optional leading `+`, as the node does
pub(super) fn decimal(text: &str, bits: u32) -> Result<u128, ParseError> {
    let skipped = usize::from(text.starts_with('+'));
    let digits = &text.as_bytes()[skipped..];
    if digits.is_empty() {
        return Err(ParseError::NoDigits);
    }
    let limit = u128::MAX >> (128 - bits);
    digits.iter().enumerate().try_fold(0_u128, |number, (index, &byte)| {
        if !byte.is_ascii_digit() {
            return Err(ParseError::Digit { byte, offset: skipped + index });
        }
        number
            .checked_mul(10)
            .and_then(|number| number.checked_add(u128::from(byte - b'0')))
            .filter(|number| *number <= limit)
            .ok_or(ParseError::Overflow { bits })
    })
}
