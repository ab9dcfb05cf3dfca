//! Fast validation: checks that a canonical text is a value of a type, without building the value.
//!
//! Block messages are large and nearly always valid, so their values are validated in place first.
//! Only a text that fast validation does not accept is checked by its schema, which finds the
//! error, if there is one. Invariant, which tests check: a text that fast validation accepts is
//! read into its view without an error. The converse need not hold.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{GlobalContractIdentifierView, RawJson, StateInitData};
use crate::codec::base58;
use crate::codec::base64;
use crate::codec::json::CompactCursor;
use crate::primitives::{
    AccountId, Balance, Bytes, CryptoHash, Fraction, Gas, GasText, PublicKey, Rational, Signature,
};

/// A type with fast validation
pub trait FastValidate {
    /// Moves past the value here if it is known to be of this type; `None` by default
    fn validate_fast(_: &mut CompactCursor<'_>) -> Option<()> {
        None
    }
}

impl<T: FastValidate> FastValidate for Option<T> {
    #[inline]
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        if cursor.takes_text("null") { Some(()) } else { T::validate_fast(cursor) }
    }
}

impl<T: FastValidate> FastValidate for Box<T> {
    #[inline]
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        T::validate_fast(cursor)
    }
}

impl<T: FastValidate> FastValidate for Vec<T> {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        cursor.items(T::validate_fast)
    }
}

impl<A: FastValidate, B: FastValidate> FastValidate for (A, B) {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        cursor.take(b'[')?;
        A::validate_fast(cursor)?;
        cursor.take(b',')?;
        B::validate_fast(cursor)?;
        cursor.take(b']')
    }
}

impl FastValidate for () {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        cursor.takes_text("null").then_some(())
    }
}

impl FastValidate for bool {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        (cursor.takes_text("true") || cursor.takes_text("false")).then_some(())
    }
}

impl FastValidate for String {
    #[inline]
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        cursor.string()
    }
}

impl FastValidate for RawJson {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        cursor.skip()
    }
}

/// Integers: accepts those with fewer digits than the maximum
macro_rules! integers {
    ($($type:ty),*) => {$(
        impl FastValidate for $type {
            #[inline]
            fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
                const DIGITS: usize = <$type>::MAX.ilog10() as usize;
                cursor.digits().filter(|digits| digits.len() <= DIGITS).map(drop)
            }
        }
    )*};
}

integers!(u8, u16, u32, u64);

/// A decimal string with fewer digits than the maximum
#[inline]
fn decimal(cursor: &mut CompactCursor<'_>, max: u128) -> Option<()> {
    let text = cursor.plain_string()?;
    let is_valid = !text.is_empty()
        && text.len() <= max.ilog10() as usize
        && text.bytes().all(|byte| byte.is_ascii_digit());
    is_valid.then_some(())
}

impl FastValidate for Balance {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        decimal(cursor, u128::MAX)
    }
}

impl FastValidate for Gas {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        if cursor.byte()? == b'"' {
            decimal(cursor, u64::MAX.into())
        } else {
            u64::validate_fast(cursor)
        }
    }
}

impl FastValidate for GasText {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        Gas::validate_fast(cursor)
    }
}

impl FastValidate for AccountId {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        Self::check(cursor.plain_string()?).ok()
    }
}

impl FastValidate for CryptoHash {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        let text = cursor.plain_string()?;
        if base58::is_valid_32_fast(text) { Some(()) } else { text.parse::<Self>().ok().map(drop) }
    }
}

impl FastValidate for Bytes {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        base64::is_valid_fast(cursor.plain_string()?).then_some(())
    }
}

impl FastValidate for PublicKey {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        let text = cursor.plain_string()?;
        match text.strip_prefix("ed25519:") {
            Some(digits) if base58::is_valid_32_fast(digits) => Some(()),
            _ => text.parse::<Self>().ok().map(drop),
        }
    }
}

impl FastValidate for Signature {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        let text = cursor.plain_string()?;
        match text.strip_prefix("ed25519:") {
            Some(digits) => base58::decode::<64>(digits).ok().map(drop),
            None => text.parse::<Self>().ok().map(drop),
        }
    }
}

impl FastValidate for GlobalContractIdentifierView {
    fn validate_fast(cursor: &mut CompactCursor<'_>) -> Option<()> {
        cursor.open()?;
        if cursor.takes_text("\"hash\":") {
            CryptoHash::validate_fast(cursor)?;
        } else if cursor.takes_text("\"account_id\":") {
            AccountId::validate_fast(cursor)?;
        } else {
            return None;
        }
        cursor.take(b'}')
    }
}

/// Not supported: keys that differ as texts may be the same bytes
impl FastValidate for StateInitData {}

/// Not supported: rare in blocks
impl FastValidate for Fraction {}

/// Not supported: only in configurations, which are rare
impl FastValidate for Rational {}
