//! Amounts: a balance is a string because it needs 128 bits, gas is a number.
//!
//! Values are read exactly: a sign, a fraction or an exponent is an error. There is no arithmetic.

use core::fmt;
use core::str::FromStr;

use serde::de::{Deserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::ParseError;
use super::text::{decimal, text_serde};

/// An amount of the native token in yoctoNEAR (10^-24 NEAR); a decimal string in JSON
///
/// A JSON number is an error, because most JSON readers would round it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "a scalar is its number")]
pub struct Balance(pub u128);

impl FromStr for Balance {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        decimal(text, 128).map(Self)
    }
}

impl fmt::Display for Balance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

text_serde!(Balance, "a decimal string of an amount");

/// An amount of gas; a number in JSON, which may also be a decimal string when read
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "a scalar is its number")]
pub struct Gas(pub u64);

impl FromStr for Gas {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        // `decimal` has checked that it fits 64 bits.
        decimal(text, 64).map(|number| Self(number as u64))
    }
}

impl fmt::Display for Gas {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl Serialize for Gas {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Gas {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct GasVisitor;

        impl Visitor<'_> for GasVisitor {
            type Value = Gas;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an amount of gas, as a number or a decimal string")
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Gas, E> {
                Ok(Gas(number))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Gas, E> {
                u64::try_from(number)
                    .map(Gas)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Gas, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(GasVisitor)
    }
}

/// An amount of gas that is written as a decimal string, as in a gas profile
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[expect(clippy::exhaustive_structs, reason = "a scalar is its number")]
pub struct GasText(pub u64);

impl Serialize for GasText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str::<dyn fmt::Display>(&self.0)
    }
}

impl<'de> Deserialize<'de> for GasText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Gas::deserialize(deserializer).map(|gas| Self(gas.0))
    }
}
