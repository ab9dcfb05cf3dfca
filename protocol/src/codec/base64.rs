//! Base64 in the standard alphabet: arguments, code, values and signed transactions.
//!
//! Encoding always pads. Bytes inside results may lack their padding, as for the node; a submitted
//! transaction may not. With the feature `simd-base64` both directions use vector instructions
//! where the processor has them; a text that fails to decode is decoded again without them, so that
//! the error is the same everywhere.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};

const STRICT: GeneralPurpose = GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new());
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The same engines with vector instructions, if the processor has them
#[cfg(all(feature = "simd-base64", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod simd {
    use std::sync::LazyLock;

    use base64::engine::{DecodePaddingMode, GeneralPurposeConfig, Simd};

    use super::Padding;

    pub(super) static STRICT: LazyLock<Simd> =
        LazyLock::new(|| Simd::standard(GeneralPurposeConfig::new()));
    static LENIENT: LazyLock<Simd> = LazyLock::new(|| {
        let padding = DecodePaddingMode::Indifferent;
        Simd::standard(GeneralPurposeConfig::new().with_decode_padding_mode(padding))
    });

    pub(super) fn engine(padding: Padding) -> &'static Simd {
        match padding {
            Padding::Required => &STRICT,
            Padding::Optional => &LENIENT,
        }
    }
}

/// Whether padding is required
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "padding is present or absent")]
pub enum Padding {
    /// `=` is required, as in a submitted transaction
    Required,
    /// `=` may be missing, as in bytes inside results
    Optional,
}

/// Why a base64 text is invalid
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Base64Error {
    /// A byte outside the alphabet
    Byte {
        /// The byte
        byte: u8,
        /// Its offset in the text
        offset: usize,
    },
    /// The last symbol has bits that belong to no byte and are not zero
    TrailingBits {
        /// The symbol
        symbol: u8,
        /// Its offset in the text
        offset: usize,
    },
    /// No base64 text has this number of symbols
    Length {
        /// Characters of the text
        characters: usize,
    },
    /// `=` is missing or misplaced
    Padding,
}

impl fmt::Display for Base64Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Byte { byte, offset } if byte.is_ascii_graphic() => {
                write!(formatter, "'{}' at offset {offset} is not base64", char::from(byte))
            }
            Self::Byte { byte, offset } => {
                write!(formatter, "byte {byte} at offset {offset} is not base64")
            }
            Self::TrailingBits { symbol, offset } => write!(
                formatter,
                "the trailing bits of the last symbol '{}' at offset {offset} are not zero",
                char::from(symbol)
            ),
            Self::Length { characters } => {
                write!(formatter, "{characters} characters is no length of a base64 text")
            }
            Self::Padding => formatter.write_str("base64 padding is missing or misplaced"),
        }
    }
}

impl core::error::Error for Base64Error {}

/// Appends the padded base64 text of `bytes`
pub fn encode(bytes: &[u8], text: &mut String) {
    #[cfg(all(feature = "simd-base64", any(target_arch = "x86_64", target_arch = "aarch64")))]
    simd::STRICT.encode_string(bytes, text);
    #[cfg(not(all(
        feature = "simd-base64",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    STRICT.encode_string(bytes, text);
}

/// Decodes a base64 text; the result is at most three quarters of its length
///
/// # Errors
///
/// A byte outside the alphabet, bits after the last byte, an impossible length, or wrong padding;
/// see [`Base64Error`].
///
/// ```
/// use milepost_protocol::codec::base64::{Base64Error, Padding, decode};
///
/// assert_eq!(decode("AA", Padding::Optional), Ok(vec![0]));
/// assert_eq!(decode("AA", Padding::Required), Err(Base64Error::Padding));
/// ```
pub fn decode(text: &str, padding: Padding) -> Result<Vec<u8>, Base64Error> {
    #[cfg(all(feature = "simd-base64", any(target_arch = "x86_64", target_arch = "aarch64")))]
    if let Ok(bytes) = decode_with(simd::engine(padding), text) {
        return Ok(bytes);
    }
    decode_scalar(text, padding)
}

/// Decodes into memory that is not zeroed first
///
/// [`base64::Engine::decode`] allocates zeroed memory. For a megabyte of it allocators map fresh
/// pages, which costs five times as much as decoding (jemalloc 5.3).
fn decode_with(engine: &impl base64::Engine, text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    let mut bytes = Vec::with_capacity(base64::decoded_len_estimate(text.len()));
    engine.decode_vec(text, &mut bytes).map(|()| bytes)
}

/// Decodes without vector instructions, for the result or for the error
fn decode_scalar(text: &str, padding: Padding) -> Result<Vec<u8>, Base64Error> {
    let engine = match padding {
        Padding::Required => &STRICT,
        Padding::Optional => &LENIENT,
    };
    decode_with(engine, text).map_err(|error| match error {
        base64::DecodeError::InvalidByte(offset, byte) => Base64Error::Byte { byte, offset },
        base64::DecodeError::InvalidLastSymbol { offset, symbol, .. } => {
            Base64Error::TrailingBits { symbol, offset }
        }
        base64::DecodeError::InvalidLength(_) => Base64Error::Length { characters: text.len() },
        _ => Base64Error::Padding,
    })
}

/// Whether a text is known to be padded base64, without decoding all of it
///
/// Only the last four symbols depend on each other; they are decoded.
pub(crate) fn is_valid_fast(text: &str) -> bool {
    let text = text.as_bytes();
    let Some((before, last)) = text.split_last_chunk::<4>() else { return text.is_empty() };
    let (chunks, rest) = before.as_chunks::<32>();
    let mut decoded = [0; 3];
    rest.len() % 4 == 0
        && chunks.iter().all(|chunk| are_symbols(chunk))
        && are_symbols(rest)
        && STRICT.decode_slice(last, &mut decoded).is_ok()
}

/// Whether all bytes are symbols; no early exit, so that it is vectorized
fn are_symbols(text: &[u8]) -> bool {
    let between = |byte: u8, first: u8, last: u8| byte.wrapping_sub(first) <= last - first;
    let invalid = text.iter().fold(0, |invalid, &byte| {
        // `/` and the digits are adjacent in ASCII.
        let symbol = between(byte | 0x20, b'a', b'z') | between(byte, b'/', b'9') | (byte == b'+');
        invalid | u8::from(!symbol)
    });
    invalid == 0
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    /// Valid and damaged texts of all lengths at which vectors begin and end
    #[test]
    fn vector_and_scalar_decoding_agree() {
        let mut rejected = 0;
        for length in (0..200_usize).chain([383, 384, 385, 1_000]) {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 151 + length) as u8).collect();
            let (mut text, mut plain) = (String::new(), String::new());
            encode(&bytes, &mut text);
            STRICT.encode_string(&bytes, &mut plain);
            assert_eq!(text, plain);
            assert_eq!(decode(&text, Padding::Required), Ok(bytes));
            for at in (0..text.len()).step_by(1 + length / 40) {
                for other in ["", "=", "A", "-", "é", "\u{1}", "B"] {
                    let mut damaged = text.clone();
                    damaged.replace_range(at..=at, other);
                    for padding in [Padding::Required, Padding::Optional] {
                        let decoded = decode(&damaged, padding);
                        rejected += u32::from(decoded.is_err());
                        assert_eq!(decoded, decode_scalar(&damaged, padding), "{damaged}");
                    }
                }
            }
        }
        assert!(rejected > 10_000, "{rejected}");
    }

    #[test]
    fn bits_after_the_last_byte_are_not_called_a_wrong_symbol() {
        for (text, offset) in [("AB==", 1), ("AAB=", 2), ("AAAAAB==", 5)] {
            let error = decode(text, Padding::Required);
            assert_eq!(error, Err(Base64Error::TrailingBits { symbol: b'B', offset }));
            assert_eq!(
                alloc::format!("{}", error.unwrap_err()),
                alloc::format!(
                    "the trailing bits of the last symbol 'B' at offset {offset} are not zero"
                )
            );
        }
        let byte = Base64Error::Byte { byte: b'!', offset: 1 };
        assert_eq!(decode("A!==", Padding::Required), Err(byte));
    }

    #[test]
    fn fast_validation_accepts_only_base64() {
        let mut accepted = 0;
        for length in 0..100_usize {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 37 + length) as u8).collect();
            let mut text = String::new();
            encode(&bytes, &mut text);
            assert!(is_valid_fast(&text), "{text}");
            for at in 0..text.len() {
                for other in
                    ["", "=", "A", "/", "+", "-", "_", "é", "@", "[", "`", "{", "\u{1}", "B"]
                {
                    let mut damaged = text.clone();
                    damaged.replace_range(at..=at, other);
                    if is_valid_fast(&damaged) {
                        accepted += 1;
                        assert!(decode(&damaged, Padding::Required).is_ok(), "{damaged}");
                    }
                }
            }
        }
        assert!(accepted > 10_000, "{accepted}");
    }
}
