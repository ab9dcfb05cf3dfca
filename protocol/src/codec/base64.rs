//! Base64 in the standard alphabet: arguments, code, values and signed transactions.
//!
//! Writers always pad. Readers of answers forgive missing padding, as the node does; the reader of
//! a submitted transaction does not. With the feature `quick-base64` both work by vector instructions
//! where the processor has them; what they refuse is read once more without, so that a refusal is the
//! same everywhere.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};

const STRICT: GeneralPurpose = GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new());
const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The same engines by vector instructions, if the processor turns out to have them
#[cfg(all(feature = "quick-base64", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod quick {
    use std::sync::LazyLock;

    use base64::engine::{DecodePaddingMode, GeneralPurposeConfig, Simd};

    use super::Padding;

    pub(super) static STRICT: LazyLock<Simd> =
        LazyLock::new(|| Simd::standard(GeneralPurposeConfig::new()));
    static FORGIVING: LazyLock<Simd> = LazyLock::new(|| {
        let padding = DecodePaddingMode::Indifferent;
        Simd::standard(GeneralPurposeConfig::new().with_decode_padding_mode(padding))
    });

    pub(super) fn engine(padding: Padding) -> &'static Simd {
        match padding {
            Padding::Required => &STRICT,
            Padding::Optional => &FORGIVING,
        }
    }
}

/// Whether missing padding is forgiven
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "padding is there or it is not")]
pub enum Padding {
    /// `=` must be there: the rule for a submitted transaction
    Required,
    /// `=` may be missing: the rule for bytes inside results
    Optional,
}

/// Why a base64 text was refused
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Base64Error {
    /// A byte outside the alphabet, or a last symbol with stray bits
    Byte {
        /// The byte
        byte: u8,
        /// Where it stands in the text
        offset: usize,
    },
    /// The number of symbols cannot be a base64 text
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
            Self::Length { characters } => {
                write!(formatter, "{characters} characters are no length of base64")
            }
            Self::Padding => formatter.write_str("base64 padding is missing or misplaced"),
        }
    }
}

impl core::error::Error for Base64Error {}

/// Appends the padded base64 text of `bytes`
pub fn encode(bytes: &[u8], text: &mut String) {
    #[cfg(all(feature = "quick-base64", any(target_arch = "x86_64", target_arch = "aarch64")))]
    quick::STRICT.encode_string(bytes, text);
    #[cfg(not(all(
        feature = "quick-base64",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    STRICT.encode_string(bytes, text);
}

/// Decodes a base64 text; the result is at most three quarters of its length
///
/// # Errors
///
/// A byte outside the alphabet, an impossible length, or padding against the rule.
///
/// ```
/// use milepost_protocol::codec::base64::{Base64Error, Padding, decode};
///
/// assert_eq!(decode("AA", Padding::Optional), Ok(vec![0]));
/// assert_eq!(decode("AA", Padding::Required), Err(Base64Error::Padding));
/// ```
pub fn decode(text: &str, padding: Padding) -> Result<Vec<u8>, Base64Error> {
    #[cfg(all(feature = "quick-base64", any(target_arch = "x86_64", target_arch = "aarch64")))]
    if let Ok(bytes) = decode_by(quick::engine(padding), text) {
        return Ok(bytes);
    }
    plain_decode(text, padding)
}

/// Decodes into memory that was not asked for zeroed
///
/// For a megabyte of that, as [`base64::Engine::decode`] takes, allocators turn to the system, whose fresh
/// pages cost five times what decoding costs (jemalloc 5.3).
fn decode_by(engine: &impl base64::Engine, text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    let mut bytes = Vec::with_capacity(base64::decoded_len_estimate(text.len()));
    engine.decode_vec(text, &mut bytes).map(|()| bytes)
}

/// The same without vector instructions
fn plain_decode(text: &str, padding: Padding) -> Result<Vec<u8>, Base64Error> {
    let engine = match padding {
        Padding::Required => &STRICT,
        Padding::Optional => &FORGIVING,
    };
    decode_by(engine, text).map_err(|error| match error {
        base64::DecodeError::InvalidByte(offset, byte)
        | base64::DecodeError::InvalidLastSymbol { offset, symbol: byte, .. } => {
            Base64Error::Byte { byte, offset }
        }
        base64::DecodeError::InvalidLength(_) => Base64Error::Length { characters: text.len() },
        _ => Base64Error::Padding,
    })
}

/// Whether a text is surely base64 with its padding; without decoding it
///
/// Whatever has padding is decided by its last four symbols alone, which are decoded.
pub(crate) fn is_surely_base64(text: &str) -> bool {
    let text = text.as_bytes();
    let Some((before, last)) = text.split_last_chunk::<4>() else { return text.is_empty() };
    let (chunks, rest) = before.as_chunks::<32>();
    let mut decoded = [0; 3];
    rest.len() % 4 == 0
        && chunks.iter().all(|chunk| are_symbols(chunk))
        && are_symbols(rest)
        && STRICT.decode_slice(last, &mut decoded).is_ok()
}

/// Whether all of these are symbols; without a way out before the end, so it becomes vector instructions
fn are_symbols(text: &[u8]) -> bool {
    let between = |byte: u8, first: u8, last: u8| byte.wrapping_sub(first) <= last - first;
    let others = text.iter().fold(0, |others, &byte| {
        // `/` and the digits are neighbours in ASCII.
        let symbol = between(byte | 0x20, b'a', b'z') | between(byte, b'/', b'9') | (byte == b'+');
        others | u8::from(!symbol)
    });
    others == 0
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    /// Texts of all lengths that vectors begin and end at, sound and damaged
    #[test]
    fn both_ways_give_and_refuse_the_same() {
        let mut refused = 0;
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
                        refused += u32::from(decoded.is_err());
                        assert_eq!(decoded, plain_decode(&damaged, padding), "{damaged}");
                    }
                }
            }
        }
        assert!(refused > 10_000, "{refused}");
    }

    #[test]
    fn what_is_surely_base64_is() {
        let mut sure = 0;
        for length in 0..100_usize {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 37 + length) as u8).collect();
            let mut text = String::new();
            encode(&bytes, &mut text);
            assert!(is_surely_base64(&text), "{text}");
            for at in 0..text.len() {
                for other in
                    ["", "=", "A", "/", "+", "-", "_", "é", "@", "[", "`", "{", "\u{1}", "B"]
                {
                    let mut damaged = text.clone();
                    damaged.replace_range(at..=at, other);
                    if is_surely_base64(&damaged) {
                        sure += 1;
                        assert!(decode(&damaged, Padding::Required).is_ok(), "{damaged}");
                    }
                }
            }
        }
        assert!(sure > 10_000, "{sure}");
    }
}
