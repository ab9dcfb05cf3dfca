//! The error of all scalars.
//!
//! It has the byte and the limit. The reader of a larger input adds the path and the offset.

use core::fmt;

use crate::codec::base58::Base58Error;
use crate::codec::base64::Base64Error;

/// Why the text of a scalar is invalid; names the byte and the limit
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ParseError {
    /// Not base58, or the wrong number of bytes
    Base58(Base58Error),
    /// Not base64
    Base64(Base64Error),
    /// An account id of fewer than 2 or more than 64 bytes
    AccountLength {
        /// Bytes of the text
        found: usize,
    },
    /// A byte that an account id cannot have
    AccountByte {
        /// The byte
        byte: u8,
        /// Its offset in the text
        offset: usize,
    },
    /// A separator at an end of an account id, or after another separator
    AccountSeparator {
        /// The separator
        byte: u8,
        /// Its offset in the text
        offset: usize,
    },
    /// A prefix before `:` that is not a signature scheme
    Scheme,
    /// Not a decimal number
    Digit {
        /// The byte
        byte: u8,
        /// Its offset in the text
        offset: usize,
    },
    /// A number without digits
    NoDigits,
    /// Not a number, or not in the range of an `f64`
    Fraction,
    /// A number above the limit of its type
    Overflow {
        /// Bits of the type
        bits: u32,
    },
    /// An ed25519 signature with one of the top three bits of its last byte set
    SignatureBits,
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Base58(error) => error.fmt(formatter),
            Self::Base64(error) => error.fmt(formatter),
            Self::AccountLength { found } => {
                write!(formatter, "account id of {found} bytes, expected 2 to 64")
            }
            Self::AccountByte { byte, offset } if byte.is_ascii_graphic() => write!(
                formatter,
                "'{}' at offset {offset} cannot be in an account id",
                char::from(byte)
            ),
            Self::AccountByte { byte, offset } => {
                write!(formatter, "byte {byte} at offset {offset} cannot be in an account id")
            }
            Self::AccountSeparator { byte, offset } => write!(
                formatter,
                "redundant separator '{}' at offset {offset} of an account id",
                char::from(byte)
            ),
            Self::Scheme => formatter.write_str(
                "unknown signature scheme, expected 'ed25519:', 'secp256k1:' or 'ml-dsa-65:'",
            ),
            Self::Digit { byte, offset } => {
                write!(formatter, "byte {byte} at offset {offset} is not a decimal digit")
            }
            Self::NoDigits => formatter.write_str("a number without digits"),
            Self::Fraction => formatter.write_str("expected a finite number"),
            Self::Overflow { bits } => write!(formatter, "number does not fit {bits} bits"),
            Self::SignatureBits => formatter
                .write_str("ed25519 signature whose last byte has one of its top 3 bits set"),
        }
    }
}

impl core::error::Error for ParseError {}

impl From<Base58Error> for ParseError {
    fn from(error: Base58Error) -> Self {
        Self::Base58(error)
    }
}

impl From<Base64Error> for ParseError {
    fn from(error: Base64Error) -> Self {
        Self::Base64(error)
    }
}
