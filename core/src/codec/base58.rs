//! Base58 in the Bitcoin alphabet: the text form of hashes, keys and signatures.
//!
//! Decoding costs time quadratic in the length of the text, so a text longer than any encoding of
//! the expected number of bytes is refused before a single digit is read. Hashes and ed25519 keys (32
//! bytes) and signatures (64) take the short way of five8; all else, and whatever that refuses, the
//! general way of bs58, which says what is wrong.

use alloc::string::String;
use core::fmt;

/// Why a base58 text was refused
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Base58Error {
    /// A byte outside the alphabet
    Byte {
        /// The byte
        byte: u8,
        /// Where it stands in the text
        offset: usize,
    },
    /// The text decodes to another number of bytes than expected
    Length {
        /// Bytes after decoding
        found: usize,
        /// Bytes that were expected
        expected: usize,
    },
    /// The text is longer than any encoding of the expected number of bytes
    TooLong {
        /// Characters of the text
        characters: usize,
        /// Bytes that were expected
        expected: usize,
    },
}

impl fmt::Display for Base58Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Byte { byte, offset } if byte.is_ascii_graphic() => {
                write!(formatter, "'{}' at offset {offset} is not base58", char::from(byte))
            }
            Self::Byte { byte, offset } => {
                write!(formatter, "byte {byte} at offset {offset} is not base58")
            }
            Self::Length { found, expected } => {
                write!(formatter, "{found} bytes after base58, expected {expected}")
            }
            Self::TooLong { characters, expected } => write!(
                formatter,
                "{characters} characters of base58, more than {expected} bytes can have"
            ),
        }
    }
}

impl core::error::Error for Base58Error {}

/// The most characters that `bytes` bytes can take: `bytes * ln 256 / ln 58`, rounded up
pub const fn longest(bytes: usize) -> usize {
    // ln 256 / ln 58 = 1.36566
    bytes * 13_657 / 10_000 + 1
}

/// Appends the base58 text of `bytes`
///
/// ```
/// let mut text = String::from("hash ");
/// milepost::codec::base58::encode(&[0, 0, 1], &mut text);
/// assert_eq!(text, "hash 112");
/// ```
pub fn encode(bytes: &[u8], text: &mut String) {
    if let Ok(bytes) = bytes.try_into() {
        let mut digits = [0; five8::BASE58_ENCODED_32_MAX_LEN];
        let length = five8::encode_32(bytes, &mut digits);
        push_digits(&digits, length, text);
    } else if let Ok(bytes) = bytes.try_into() {
        let mut digits = [0; five8::BASE58_ENCODED_64_MAX_LEN];
        let length = five8::encode_64(bytes, &mut digits);
        push_digits(&digits, length, text);
    } else {
        text.push_str(&bs58::encode(bytes).into_string());
    }
}

fn push_digits(digits: &[u8], length: u8, text: &mut String) {
    // Digits of base58 are ASCII, and there are no more of them than there is room.
    let digits = digits.get(..usize::from(length)).map(str::from_utf8);
    text.push_str(digits.and_then(Result::ok).unwrap_or_default());
}

/// Decodes a text that must hold exactly `N` bytes
///
/// # Errors
///
/// A byte outside the alphabet, or another length; see [`Base58Error`].
pub fn decode<const N: usize>(text: &str) -> Result<[u8; N], Base58Error> {
    let mut bytes = [0; N];
    decode_slice(text, &mut bytes)?;
    Ok(bytes)
}

/// Decodes a text that must fill `bytes` exactly
///
/// # Errors
///
/// As [`decode`].
pub fn decode_slice(text: &str, bytes: &mut [u8]) -> Result<(), Base58Error> {
    let expected = bytes.len();
    if text.len() > longest(expected) {
        return Err(Base58Error::TooLong { characters: text.len(), expected });
    }
    let short = if let Ok(bytes) = (&mut *bytes).try_into() {
        five8::decode_32(text, bytes).is_ok()
    } else if let Ok(bytes) = (&mut *bytes).try_into() {
        five8::decode_64(text, bytes).is_ok()
    } else {
        false
    };
    if short {
        return Ok(());
    }
    match bs58::decode(text).onto(&mut *bytes) {
        Ok(found) if found == expected => Ok(()),
        Ok(found) => Err(Base58Error::Length { found, expected }),
        Err(bs58::decode::Error::InvalidCharacter { index, .. }) => {
            Err(Base58Error::Byte { byte: text.as_bytes()[index], offset: index })
        }
        Err(bs58::decode::Error::NonAsciiCharacter { index }) => {
            Err(Base58Error::Byte { byte: text.as_bytes()[index], offset: index })
        }
        // The buffer was too small: the text holds more bytes. Bounded by `longest` above.
        Err(_) => Err(Base58Error::Length {
            found: bs58::decode(text).into_vec().map_or(expected + 1, |all| all.len()),
            expected,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_offsets_are_named() {
        assert_eq!(decode::<3>("112"), Ok([0, 0, 1]));
        assert_eq!(decode::<4>("112"), Err(Base58Error::Length { found: 3, expected: 4 }));
        assert_eq!(decode::<2>("112"), Err(Base58Error::Length { found: 3, expected: 2 }));
        assert_eq!(decode::<3>("1O2"), Err(Base58Error::Byte { byte: b'O', offset: 1 }));
        assert_eq!(decode::<3>("1é2"), Err(Base58Error::Byte { byte: 0xc3, offset: 1 }));
        assert_eq!(
            decode::<2>("zzzzzzz"),
            Err(Base58Error::TooLong { characters: 7, expected: 2 })
        );
    }

    /// Both ways, from bytes to text and back, and texts that are damaged
    #[test]
    fn the_short_way_is_the_general_way() {
        fn check<const N: usize>(bytes: [u8; N]) {
            let mut text = String::new();
            encode(&bytes, &mut text);
            assert_eq!(text, bs58::encode(bytes).into_string());
            assert_eq!(decode(&text), Ok(bytes));
            for at in 0..text.len() {
                for other in ["", "1", "z", "0", "é", "\u{7f}"] {
                    let mut damaged = text.clone();
                    damaged.replace_range(at..=at, other);
                    let general = bs58::decode(&damaged).into_vec().ok();
                    let general = general.and_then(|bytes| <[u8; N]>::try_from(bytes).ok());
                    assert_eq!(decode(&damaged).ok(), general, "{damaged}");
                }
            }
        }
        let mut state: u64 = 1;
        for round in 0..120 {
            let mut bytes = [0; 64];
            for byte in &mut bytes[round % 40..] {
                state =
                    state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                *byte = if round % 7 == 0 { 0xff } else { (state >> 56) as u8 };
            }
            check(bytes);
            check::<32>(*bytes.first_chunk().unwrap());
            check::<32>(*bytes.last_chunk().unwrap());
        }
    }

    #[test]
    fn longest_is_never_too_short() {
        for bytes in [0_usize, 1, 2, 20, 31, 32, 33, 64, 65, 1952, 3309] {
            let mut text = String::new();
            encode(&alloc::vec![0xff; bytes], &mut text);
            assert!(text.len() <= longest(bytes), "{bytes} bytes take {}", text.len());
            assert!(longest(bytes) <= text.len() + 2);
        }
    }
}
