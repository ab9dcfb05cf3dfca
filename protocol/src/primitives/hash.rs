//! SHA-256 hashes: the ids of blocks, transactions, receipts and code.
//!
//! A hash is uniformly distributed already, so the hasher for maps keyed by hashes takes its first
//! eight bytes.

use alloc::string::String;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{BuildHasherDefault, Hash, Hasher};
use core::str::FromStr;

use sha2::{Digest as _, Sha256};

use super::ParseError;
use super::text::text_serde;
use crate::codec::base58;

/// A SHA-256 digest; base58 in JSON
///
/// ```
/// use milepost_protocol::primitives::CryptoHash;
///
/// let hash: CryptoHash = "11111111111111111111111111111112".parse().unwrap();
/// assert_eq!(hash.as_bytes()[31], 1);
/// assert_eq!(hash.to_string(), "11111111111111111111111111111112");
/// ```
#[derive(Clone, Copy, Default, Eq, PartialEq)]
pub struct CryptoHash([u8; 32]);

impl CryptoHash {
    /// The hash whose bytes are all zero: "no block" in a header
    pub const ZERO: Self = Self([0; 32]);

    /// The hash with these bytes
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The SHA-256 of `bytes`
    pub fn digest(bytes: &[u8]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(bytes);
        Self(hasher.finalize_reset().into())
    }

    /// Reads the text of a hash in place; zero if it is none
    pub(crate) fn read(&mut self, text: &str) -> Result<(), ParseError> {
        base58::decode_slice(text, &mut self.0).map_err(|error| {
            *self = Self::ZERO;
            error.into()
        })
    }

    /// The bytes of the hash
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The order of the bytes; the first eight decide for nearly all hashes, without a call
impl Ord for CryptoHash {
    fn cmp(&self, other: &Self) -> Ordering {
        let first = |Self([a, b, c, d, e, f, g, h, ..]): &Self| {
            u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h])
        };
        first(self).cmp(&first(other)).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for CryptoHash {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<[u8; 32]> for CryptoHash {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl FromStr for CryptoHash {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Ok(Self(base58::decode(text)?))
    }
}

impl fmt::Display for CryptoHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(base58::max_encoded_len(32));
        base58::encode(&self.0, &mut text);
        formatter.pad(&text)
    }
}

impl fmt::Debug for CryptoHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Hash for CryptoHash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

text_serde!(CryptoHash, "a base58 hash of 32 bytes");

/// Builds [`IdentityHasher`]s
pub type HashBuilder = BuildHasherDefault<IdentityHasher>;

/// A hasher for keys that contain a hash: takes the hash's first eight bytes
///
/// Other numbers of the key (a table, a height) are mixed in by a multiplication with 2^64 / golden
/// ratio, which spreads consecutive heights.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdentityHasher(u64);

/// 2^64 divided by the golden ratio, made odd (Knuth, The Art of Computer Programming 6.4)
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        match bytes.first_chunk::<8>() {
            Some(first) => self.0 ^= u64::from_le_bytes(*first),
            None => bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte))),
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(MULTIPLIER);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn the_error_for_31_bytes_has_both_lengths() {
        let error = "1111111111111111111111111111111".parse::<CryptoHash>().unwrap_err();
        assert_eq!(error.to_string(), "31 bytes after base58, expected 32");
    }

    #[test]
    fn a_digest_is_sha_256() {
        assert_eq!(
            CryptoHash::digest(b"").to_string(),
            "GKot5hBsd81kMupNCXHaqbhv3huEbxAFMLnpcX2hniwn"
        );
    }
}
