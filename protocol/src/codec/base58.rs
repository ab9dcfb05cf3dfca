//! Base58 in the Bitcoin alphabet: the text form of hashes, keys and signatures.
//!
//! Decoding takes time quadratic in the length of the text, so a text longer than any encoding of
//! the expected number of bytes is rejected before a digit is read. Values of 32 bytes (hashes,
//! ed25519 keys) and 64 bytes (signatures) are decoded by words of ten digits and encoded by
//! `five8`. `bs58` does the rest, and reports the errors of all.

use alloc::string::String;
use core::fmt;

/// Why a base58 text is invalid
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Base58Error {
    /// A byte outside the alphabet
    Byte {
        /// The byte
        byte: u8,
        /// Its offset in the text
        offset: usize,
    },
    /// The text decodes to another number of bytes than expected
    Length {
        /// Bytes after decoding
        found: usize,
        /// Bytes that were expected
        expected: usize,
    },
    /// The expected number of bytes in hexadecimal digits
    Hex {
        /// Digits of the text
        digits: usize,
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
            Self::Byte { byte: b' ', offset } => {
                write!(formatter, "the blank at offset {offset} is not base58")
            }
            Self::Byte { byte, offset } => {
                write!(formatter, "byte {byte} at offset {offset} is not base58")
            }
            Self::Hex { digits } => {
                write!(formatter, "{digits} hexadecimal digits, expected base58")
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

/// The maximum length of the text of `bytes` bytes: `bytes * ln 256 / ln 58`, rounded up
pub const fn max_encoded_len(bytes: usize) -> usize {
    // ln 256 / ln 58 = 1.36566
    bytes * 13_657 / 10_000 + 1
}

/// Appends the base58 text of `bytes`
///
/// ```
/// let mut text = String::from("hash ");
/// milepost_protocol::codec::base58::encode(&[0, 0, 1], &mut text);
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
    // Base58 digits are ASCII, and the buffer has room for the maximum number of them.
    let digits = digits.get(..usize::from(length)).map(str::from_utf8);
    text.push_str(digits.and_then(Result::ok).unwrap_or_default());
}

/// Decodes the text of exactly `N` bytes
///
/// # Errors
///
/// A byte outside the alphabet, hexadecimal, or another length; see [`Base58Error`].
pub fn decode<const N: usize>(text: &str) -> Result<[u8; N], Base58Error> {
    let mut bytes = [0; N];
    decode_slice(text, &mut bytes)?;
    Ok(bytes)
}

/// Decodes the text of exactly `bytes.len()` bytes into `bytes`
///
/// # Errors
///
/// As [`decode`].
pub fn decode_slice(text: &str, bytes: &mut [u8]) -> Result<(), Base58Error> {
    let expected = bytes.len();
    if text.len() > max_encoded_len(expected) {
        return Err(too_long(text, expected));
    }
    let decoded = match expected {
        32 => decode_words::<4, 44>(text, bytes),
        64 => decode_words::<8, 88>(text, bytes),
        _ => None,
    };
    if decoded.is_some() {
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
        // The buffer was too small for the decoded bytes. Bounded by the length check above.
        Err(_) => Err(Base58Error::Length {
            found: bs58::decode(text).into_vec().unwrap_or_default().len(),
            expected,
        }),
    }
}

/// The error for a text that is too long: often it is hexadecimal or has whitespace around it
///
/// Looks at a bounded part of the text.
#[cold]
fn too_long(text: &str, expected: usize) -> Base58Error {
    let bytes = text.as_bytes();
    // It is not empty, because it is too long.
    let offset = if bytes[0].is_ascii_whitespace() { 0 } else { bytes.len() - 1 };
    if bytes[offset].is_ascii_whitespace() {
        return Base58Error::Byte { byte: bytes[offset], offset };
    }
    if bytes.len() == 2 * expected && bytes.iter().all(u8::is_ascii_hexdigit) {
        return Base58Error::Hex { digits: bytes.len() };
    }
    Base58Error::TooLong { characters: text.len(), expected }
}

/// The value in [`DIGITS`] of a byte that is not a digit
const INVALID_DIGIT: u8 = 0x80;

/// The value of each byte as a digit, or [`INVALID_DIGIT`]
const DIGITS: [u8; 256] = {
    let alphabet = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let (mut digits, mut value) = ([INVALID_DIGIT; 256], 0);
    while value < alphabet.len() {
        digits[alphabet[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

/// Decodes the text of 32 or 64 bytes; `None` if it is invalid
///
/// Ten digits make a word, because `58^10 < 2^59`. 32 bytes take at most four digits and four such
/// words, 64 bytes twice as many. The words are joined as digits of base `58^10`, which takes 16
/// and 64 multiplications.
///
/// With `five8::decode_32` (1.0) a request by hash takes 29 % more instructions and the import of a
/// block 9 % more, as `cargo xtask gate` counts them.
fn decode_words<const LIMBS: usize, const MAX_LEN: usize>(
    text: &str,
    bytes: &mut [u8],
) -> Option<()> {
    const BASE: u128 = 58_u128.pow(10);

    // Leading zeros do not change the number.
    let mut padded = [b'1'; MAX_LEN];
    padded.get_mut(MAX_LEN.checked_sub(text.len())?..)?.copy_from_slice(text.as_bytes());
    let mut seen = 0;
    let mut word = |text: &[u8]| {
        text.iter().fold(0, |word: u64, byte| {
            let digit = DIGITS[usize::from(*byte)];
            seen |= digit;
            word.wrapping_mul(58).wrapping_add(u64::from(digit))
        })
    };
    let (first, words) = padded.as_rchunks::<10>();
    let (mut limbs, mut overflow) = ([0; LIMBS], 0);
    limbs[0] = word(first);
    for digits in words {
        let mut carry = word(digits);
        for limb in &mut limbs {
            let product = u128::from(*limb) * BASE + u128::from(carry);
            // The lower half stays, the upper half is the carry.
            (*limb, carry) = (product as u64, (product >> 64) as u64);
        }
        overflow |= carry;
    }
    if overflow != 0 || seen & INVALID_DIGIT != 0 {
        return None;
    }
    let (chunks, _) = bytes.as_chunks_mut();
    let chunks: &mut [[u8; 8]; LIMBS] = chunks.try_into().ok()?;
    for (chunk, limb) in chunks.iter_mut().zip(limbs.iter().rev()) {
        *chunk = limb.to_be_bytes();
    }
    // Each leading zero byte is one leading digit `1`, so their numbers must be equal.
    let ones = text.bytes().take_while(|byte| *byte == b'1').count();
    let zeros = chunks.as_flattened().iter().take_while(|byte| **byte == 0).count();
    (ones == zeros).then_some(())
}

/// The text of the largest value of 32 bytes
const LARGEST_32: &[u8; 44] = b"JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG";

/// Whether a text is known to be the base58 of 32 bytes, without decoding it; false for some that
/// are
///
/// Base58 digits sort as ASCII. 43 digits make 32 bytes from a first digit of 4 on, because
/// `4 * 58^42 > 2^248`; and 44 digits, which are at least `58^43 > 2^248`, up to the largest.
pub(crate) fn is_valid_32_fast(text: &str) -> bool {
    let text = text.as_bytes();
    let in_range = match text.len() {
        // The digit 4 is written as 5.
        43 => text[0] >= b'5',
        44 => text[0] > b'1' && text <= LARGEST_32,
        _ => return false,
    };
    let (Some(start), Some(end)) = (text.first_chunk::<32>(), text.last_chunk::<16>()) else {
        return false;
    };
    in_range && are_digits(start) && are_digits(end)
}

/// Whether all bytes are digits; no early exit, so that it is vectorized
fn are_digits<const N: usize>(text: &[u8; N]) -> bool {
    let between = |byte: u8, first: u8, last: u8| byte.wrapping_sub(first) <= last - first;
    let invalid = text.iter().fold(0, |invalid, &byte| {
        let letter =
            between(byte | 0x20, b'a', b'z') & (byte != b'I') & (byte != b'O') & (byte != b'l');
        invalid | u8::from(!(letter | between(byte, b'1', b'9')))
    });
    invalid == 0
}

#[cfg(test)]
mod tests {
    use milepost_testkit::Rng;

    use super::*;

    #[test]
    fn digits_are_those_of_the_alphabet() {
        let alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
        for byte in 0..=u8::MAX {
            let is_digit = alphabet.as_bytes().contains(&byte);
            assert_eq!(are_digits(&[b'1', byte, b'z']), is_digit, "{byte}");
            assert_eq!(DIGITS[usize::from(byte)] != INVALID_DIGIT, is_digit, "{byte}");
        }
        assert!(alphabet.bytes().map(|byte| DIGITS[usize::from(byte)]).eq(0..58));
    }

    #[test]
    fn texts_of_32_bytes_are_decoded_without_bs58() {
        let mut one = [0; 32];
        one[31] = 1;
        for (text, expected) in [
            ("11111111111111111111111111111111", Some([0; 32])),
            ("11111111111111111111111111111112", Some(one)),
            ("YMN9Qj5jPNp7j14VPcML1B6xGgcPWVZUGLFU3Mnyfaf", Some([8; 32])),
            ("JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG", Some([0xff; 32])),
            // 2^256, and a digit more
            ("JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFH", None),
            ("1JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG", None),
            ("1111111111111111111111111111111", None),
            ("111111111111111111111111111111111", None),
            ("1111111111111111111111111111111l", None),
            ("", None),
        ] {
            let mut bytes = [0; 32];
            let decoded = decode_words::<4, 44>(text, &mut bytes);
            assert_eq!(decoded.map(|()| bytes), expected, "{text}");
        }
    }

    #[test]
    fn texts_of_64_bytes_are_decoded_without_bs58() {
        let decoded = |text: &str| {
            let mut bytes = [0; 64];
            decode_words::<8, 88>(text, &mut bytes).map(|()| bytes)
        };
        let mut rng = Rng::new(6);
        for zeros in 0..=64 {
            for fill in [8, 0xff] {
                let mut bytes = [0; 64];
                bytes[zeros..].fill(fill);
                bytes[zeros..].iter_mut().skip(1).for_each(|byte| *byte ^= rng.next_u64() as u8);
                let text = bs58::encode(bytes).into_string();
                assert_eq!(decoded(&text), Some(bytes), "{text}");
                assert_eq!(decoded(&(String::from("1") + &text)), None, "{text}");
            }
        }
        let largest = bs58::encode([0xff; 64]).into_string();
        assert_eq!(decoded(&largest), Some([0xff; 64]));
        let mut next = [0; 65];
        next[0] = 1;
        let next = bs58::encode(next).into_string();
        assert_eq!((next.len(), decoded(&next)), (largest.len(), None));
    }

    #[test]
    fn fast_validation_accepts_only_32_bytes() {
        let mut accepted = 0;
        let mut check = |text: &str| {
            if is_valid_32_fast(text) {
                accepted += 1;
                assert!(decode::<32>(text).is_ok(), "{text}");
            }
        };
        let mut rng = Rng::new(5);
        for round in 0..4_000 {
            let mut bytes = [0; 32];
            for byte in &mut bytes[usize::from(round % 5 == 0) * (round % 3)..] {
                *byte = if round % 7 == 0 { 0xff } else { rng.next_u64() as u8 };
            }
            let mut text = String::new();
            encode(&bytes, &mut text);
            check(&text);
            for other in ["", "1", "z", "0", "l", "I", "O", "@", "[", "`", "{", "/", ":", "5", "J"]
            {
                let at = rng.index(text.len());
                let mut damaged = text.clone();
                damaged.replace_range(at..=at, other);
                check(&damaged);
                damaged = text.clone();
                damaged.replace_range(..1, other);
                check(&damaged);
            }
        }
        for first in "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".chars() {
            for length in 42..=44 {
                check(&alloc::format!("{first}{}", "1".repeat(length)));
                check(&alloc::format!("{first}{}", "z".repeat(length)));
            }
        }
        assert!(accepted > 20_000, "{accepted}");
        let mut largest = String::new();
        encode(&[0xff; 32], &mut largest);
        assert!(largest.as_bytes() == LARGEST_32 && is_valid_32_fast(&largest));
    }

    #[test]
    fn errors_have_lengths_and_offsets() {
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

    #[test]
    fn hexadecimal_and_blanks_are_named() {
        let mut text = String::new();
        encode(&[0xff; 32], &mut text);
        let hex = "0f".repeat(32);
        for (text, expected) in [
            (alloc::format!(" {text}"), "the blank at offset 0 is not base58"),
            (alloc::format!("{text} "), "the blank at offset 44 is not base58"),
            (alloc::format!("{text}\n"), "byte 10 at offset 44 is not base58"),
            (" 11".into(), "the blank at offset 0 is not base58"),
            (hex.clone(), "64 hexadecimal digits, expected base58"),
            (hex.to_uppercase(), "64 hexadecimal digits, expected base58"),
            (alloc::format!("{hex}0"), "65 characters of base58, more than 32 bytes can have"),
            ("g".repeat(64), "64 characters of base58, more than 32 bytes can have"),
        ] {
            let error = decode::<32>(&text).unwrap_err();
            assert_eq!(alloc::format!("{error}"), expected, "{text}");
        }
    }

    /// Both directions, and damaged texts
    #[test]
    fn fast_paths_match_bs58() {
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
        let mut rng = Rng::new(1);
        for round in 0..120 {
            let mut bytes = [0; 64];
            for byte in &mut bytes[round % 40..] {
                *byte = if round % 7 == 0 { 0xff } else { rng.next_u64() as u8 };
            }
            check(bytes);
            check::<32>(*bytes.first_chunk().unwrap());
            check::<32>(*bytes.last_chunk().unwrap());
        }
    }

    #[test]
    fn the_maximum_length_is_enough() {
        for bytes in [0_usize, 1, 2, 20, 31, 32, 33, 64, 65, 1952, 3309] {
            let mut text = String::new();
            encode(&alloc::vec![0xff; bytes], &mut text);
            assert!(text.len() <= max_encoded_len(bytes), "{bytes} bytes take {}", text.len());
            assert!(max_encoded_len(bytes) <= text.len() + 2);
        }
    }

    #[test]
    fn texts_of_43_and_44_digits_are_known_to_be_valid() {
        for (text, expected) in [
            ("YMN9Qj5jPNp7j14VPcML1B6xGgcPWVZUGLFU3Mnyfaf", true),
            ("5MN9Qj5jPNp7j14VPcML1B6xGgcPWVZUGLFU3Mnyfaf", true),
            ("4MN9Qj5jPNp7j14VPcML1B6xGgcPWVZUGLFU3Mnyfaf", false),
            ("JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG", true),
            ("JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFH", false),
            ("2EKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG", true),
            ("1EKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG", false),
            ("JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFl", false),
            ("lMN9Qj5jPNp7j14VPcML1B6xGgcPWVZUGLFU3Mnyfaf", false),
            ("11111111111111111111111111111111", false),
        ] {
            assert_eq!(is_valid_32_fast(text), expected, "{text}");
        }
    }
}
