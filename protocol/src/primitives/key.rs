//! Public keys and signatures of the three schemes of the protocol.
//!
//! The text is `scheme:base58`; a text without a scheme is ed25519. Lengths are checked before
//! decoding, because an ml-dsa-65 key has 1,952 bytes and base58 takes quadratic time.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use core::fmt;
use core::str::FromStr;

use super::ParseError;
use super::text::text_serde;
use crate::codec::base58;

/// A signature scheme; the number is its tag in borsh
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
#[repr(u8)]
pub enum Scheme {
    /// Ed25519 (RFC 8032)
    Ed25519 = 0,
    /// ECDSA over secp256k1 with a recoverable signature
    Secp256k1 = 1,
    /// ML-DSA-65 (FIPS 204), from protocol version 85 on
    MlDsa65 = 2,
}

impl Scheme {
    /// The names, each at the index of its tag
    const NAMES: [&str; 3] = ["ed25519", "secp256k1", "ml-dsa-65"];

    /// The scheme of a borsh tag
    pub const fn from_tag(tag: u8) -> Option<Self> {
        match tag {
            0 => Some(Self::Ed25519),
            1 => Some(Self::Secp256k1),
            2 => Some(Self::MlDsa65),
            _ => None,
        }
    }

    /// The name, which precedes the colon in texts
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Length of a public key in bytes; secp256k1 is x then y, without the leading 04
    pub const fn key_length(self) -> usize {
        match self {
            Self::Ed25519 => 32,
            Self::Secp256k1 => 64,
            Self::MlDsa65 => 1952,
        }
    }

    /// Length of a signature in bytes; secp256k1 is r, s and the recovery id
    pub const fn signature_length(self) -> usize {
        match self {
            Self::Ed25519 => 64,
            Self::Secp256k1 => 65,
            Self::MlDsa65 => 3309,
        }
    }

    /// Splits `scheme:base58`; the name of the scheme is case-insensitive
    fn split(text: &str) -> Result<(Self, &str), ParseError> {
        let Some((name, rest)) = text.split_once(':') else {
            return Ok((Self::Ed25519, text));
        };
        let index = Self::NAMES.iter().position(|known| known.eq_ignore_ascii_case(name));
        let scheme = index.and_then(|index| Self::from_tag(index as u8));
        scheme.map(|scheme| (scheme, rest)).ok_or(ParseError::Scheme)
    }
}

/// Defines a type of a scheme and its bytes
macro_rules! scheme_bytes {
    ($(#[$doc:meta])* $type:ident, $length:ident, $expecting:literal) => {
        $(#[$doc])*
        #[derive(Clone, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $type {
            scheme: Scheme,
            bytes: Box<[u8]>,
        }

        impl $type {
            /// A value of this scheme; `None` if the scheme has another length
            pub fn new(scheme: Scheme, bytes: &[u8]) -> Option<Self> {
                (bytes.len() == scheme.$length()).then(|| Self::new_unchecked(scheme, bytes))
            }

            /// A value of this scheme whose length was checked
            pub(crate) fn new_unchecked(scheme: Scheme, bytes: &[u8]) -> Self {
                debug_assert_eq!(bytes.len(), scheme.$length());
                Self { scheme, bytes: bytes.into() }
            }

            /// The signature scheme
            pub const fn scheme(&self) -> Scheme {
                self.scheme
            }

            /// The bytes, in the length of the scheme
            pub fn as_bytes(&self) -> &[u8] {
                &self.bytes
            }
        }

        impl FromStr for $type {
            type Err = ParseError;

            fn from_str(text: &str) -> Result<Self, ParseError> {
                let (scheme, digits) = Scheme::split(text)?;
                let mut bytes = vec![0; scheme.$length()].into_boxed_slice();
                base58::decode_slice(digits, &mut bytes)?;
                Ok(Self { scheme, bytes })
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let max_len = base58::max_encoded_len(self.bytes.len());
                let mut text = String::with_capacity(10 + max_len);
                text.push_str(self.scheme.name());
                text.push(':');
                base58::encode(&self.bytes, &mut text);
                formatter.pad(&text)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, formatter)
            }
        }

        text_serde!($type, $expecting);
    };
}

scheme_bytes! {
    /// A public key: scheme and bytes
    ///
    /// ```
    /// use milepost_protocol::primitives::{PublicKey, Scheme};
    ///
    /// let key: PublicKey = "ED25519:11111111111111111111111111111111".parse().unwrap();
    /// assert_eq!(key.scheme(), Scheme::Ed25519);
    /// assert_eq!(key.to_string(), "ed25519:11111111111111111111111111111111");
    /// ```
    PublicKey, key_length, "a public key, as scheme and base58"
}

scheme_bytes! {
    /// A signature: scheme and bytes
    Signature, signature_length, "a signature, as scheme and base58"
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn the_error_for_one_byte_has_both_lengths() {
        let error = "ed25519:1".parse::<PublicKey>().unwrap_err();
        assert_eq!(error.to_string(), "1 bytes after base58, expected 32");
        assert_eq!("foo:1".parse::<PublicKey>(), Err(ParseError::Scheme));
    }

    #[test]
    fn every_scheme_round_trips() {
        for scheme in [Scheme::Ed25519, Scheme::Secp256k1, Scheme::MlDsa65] {
            assert_eq!(Scheme::from_tag(scheme as u8), Some(scheme));
            let key = PublicKey::new(scheme, &vec![7; scheme.key_length()]).unwrap();
            assert_eq!(key.to_string().parse(), Ok(key));
            let signature = Signature::new(scheme, &vec![9; scheme.signature_length()]).unwrap();
            assert_eq!(signature.to_string().parse(), Ok(signature));
        }
    }
}
