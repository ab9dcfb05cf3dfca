//! Whether a canonical text is surely a value of a type, found out without making the value.
//!
//! Block messages are large and nearly always right, so their facts are recognised where they stand, and
//! only what is not recognised is checked by its shape, which then says what is wrong or shows that
//! nothing is. The law, which tests hold the facts of blocks to: what is recognised is read into its view
//! without a refusal. The other way round need not be.

use alloc::string::String;
use alloc::vec::Vec;

use super::{GlobalContractIdentifierView, Raw, StateInitData};
use crate::codec::base58;
use crate::codec::base64;
use crate::codec::json::Compact;
use crate::primitives::{
    AccountId, Balance, Bytes, CryptoHash, Gas, GasText, PublicKey, Rational, Signature,
};

/// A type whose values can be recognised
pub trait Recognise {
    /// Goes behind the value that begins here, if it is surely one of this type; by default none is
    fn recognise(_: &mut Compact<'_>) -> Option<()> {
        None
    }
}

impl<T: Recognise> Recognise for Option<T> {
    #[inline]
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        if cursor.takes_text("null") { Some(()) } else { T::recognise(cursor) }
    }
}

impl<T: Recognise> Recognise for Vec<T> {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        cursor.items(T::recognise)
    }
}

impl<A: Recognise, B: Recognise> Recognise for (A, B) {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        cursor.take(b'[')?;
        A::recognise(cursor)?;
        cursor.take(b',')?;
        B::recognise(cursor)?;
        cursor.take(b']')
    }
}

impl Recognise for () {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        cursor.takes_text("null").then_some(())
    }
}

impl Recognise for bool {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        (cursor.takes_text("true") || cursor.takes_text("false")).then_some(())
    }
}

impl Recognise for String {
    #[inline]
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        cursor.string()
    }
}

impl Recognise for Raw {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        cursor.skip()
    }
}

/// Numbers: sure are those with fewer digits than the largest has
macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Recognise for $type {
            #[inline]
            fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
                const DIGITS: usize = <$type>::MAX.ilog10() as usize;
                cursor.digits().filter(|digits| digits.len() <= DIGITS).map(drop)
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64);

/// A decimal string with fewer digits than the largest number has
#[inline]
fn decimal(cursor: &mut Compact<'_>, largest: u128) -> Option<()> {
    let text = cursor.plain_string()?;
    let sure = !text.is_empty()
        && text.len() <= largest.ilog10() as usize
        && text.bytes().all(|byte| byte.is_ascii_digit());
    sure.then_some(())
}

impl Recognise for Balance {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        decimal(cursor, u128::MAX)
    }
}

impl Recognise for Gas {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        if cursor.byte()? == b'"' {
            decimal(cursor, u64::MAX.into())
        } else {
            u64::recognise(cursor)
        }
    }
}

impl Recognise for GasText {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        Gas::recognise(cursor)
    }
}

impl Recognise for AccountId {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        Self::check(cursor.plain_string()?).ok()
    }
}

impl Recognise for CryptoHash {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        let text = cursor.plain_string()?;
        if base58::is_surely_32(text) { Some(()) } else { text.parse::<Self>().ok().map(drop) }
    }
}

impl Recognise for Bytes {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        base64::is_surely_base64(cursor.plain_string()?).then_some(())
    }
}

impl Recognise for PublicKey {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        let text = cursor.plain_string()?;
        match text.strip_prefix("ed25519:") {
            Some(digits) if base58::is_surely_32(digits) => Some(()),
            _ => text.parse::<Self>().ok().map(drop),
        }
    }
}

impl Recognise for Signature {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        let text = cursor.plain_string()?;
        match text.strip_prefix("ed25519:") {
            Some(digits) => base58::decode::<64>(digits).ok().map(drop),
            None => text.parse::<Self>().ok().map(drop),
        }
    }
}

impl Recognise for GlobalContractIdentifierView {
    fn recognise(cursor: &mut Compact<'_>) -> Option<()> {
        cursor.open()?;
        if cursor.takes_text("\"hash\":") {
            CryptoHash::recognise(cursor)?;
        } else if cursor.takes_text("\"account_id\":") {
            AccountId::recognise(cursor)?;
        } else {
            return None;
        }
        cursor.take(b'}')
    }
}

/// Keys that differ as texts may be the same bytes
impl Recognise for StateInitData {}

/// Only in a failure of old blocks
impl Recognise for f64 {}

/// Only in configurations, which come one at a time
impl Recognise for Rational {}
