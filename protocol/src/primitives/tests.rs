//! The texts of scalars and of their errors, and the hasher of keys: literal values that any change
//! of a constant, an offset or a format alters.

use alloc::string::{String, ToString as _};
use alloc::{format, vec};
use core::borrow::Borrow as _;
use core::fmt::{Debug, Display};
use core::hash::Hasher as _;

use super::*;
use crate::codec::base64::Base64Error;
use crate::codec::json;

const HASH: &str = "GKot5hBsd81kMupNCXHaqbhv3huEbxAFMLnpcX2hniwn";

/// A scalar's text, aligned in a width, and its text for debugging
fn texts(scalar: impl Display + Debug) -> [String; 3] {
    [scalar.to_string(), format!("{scalar:>7}"), format!("{scalar:?}")]
}

#[test]
fn scalars_are_written_in_a_width_and_for_debugging() {
    let account: AccountId = "alice".parse().unwrap();
    assert_eq!(texts(&account), ["alice", "  alice", "\"alice\""]);
    assert_eq!(texts(Bytes(vec![0, 1])), ["AAE=", "   AAE=", "AAE="]);
    assert_eq!(texts(Balance(10)), ["10", "     10", "Balance(10)"]);
    assert_eq!(texts(Gas(12)), ["12", "     12", "Gas(12)"]);
    assert_eq!(texts(Fraction(0.5)), ["0.5", "    0.5", "Fraction(0.5)"]);
    let hash = CryptoHash::digest(b"");
    assert_eq!(format!("{hash:>46}"), format!("  {HASH}"));
    assert_eq!(format!("{hash:?}"), HASH);
    assert_eq!(CryptoHash::from(*hash.as_bytes()), hash);
}

#[test]
fn scalars_lend_their_content() {
    let account: AccountId = "alice".parse().unwrap();
    let borrowed: &str = account.borrow();
    assert_eq!((account.as_str(), &*account, borrowed), ("alice", "alice", "alice"));
    assert!(!account.is_system());
    assert!("system".parse::<AccountId>().unwrap().is_system());
    assert_eq!(*Bytes(vec![7, 8]), [7, 8]);
    let ratio = Rational(3, 10);
    assert_eq!((ratio.numerator(), ratio.denominator()), (3, 10));
}

#[test]
fn gas_is_a_number_or_a_decimal_text() {
    assert_eq!(json::read("7"), Ok(Gas(7)));
    assert_eq!(json::read("\"18446744073709551615\""), Ok(Gas(u64::MAX)));
    assert_eq!(json::read("\"+8\""), Ok(GasText(8)));
    assert_eq!((json::write(&Gas(9)), json::write(&GasText(9))), ("9".into(), "\"9\"".into()));
    for (text, expected) in [
        (
            "-1",
            "invalid value: integer `-1`, expected an amount of gas, as a number or a decimal string",
        ),
        ("\"18446744073709551616\"", "number does not fit 64 bits"),
        ("\"\"", "a number without digits"),
        ("\"+1x\"", "byte 120 at offset 2 is not a decimal digit"),
        ("\"12x\"", "byte 120 at offset 2 is not a decimal digit"),
    ] {
        assert_eq!(json::read::<Gas>(text).unwrap_err().detail(), expected, "{text}");
    }
    let largest = u128::MAX.to_string();
    assert_eq!(largest.parse(), Ok(Balance(u128::MAX)));
    let error = "340282366920938463463374607431768211456".parse::<Balance>();
    assert_eq!(error, Err(ParseError::Overflow { bits: 128 }));
}

#[test]
fn errors_name_what_was_found() {
    for (error, expected) in [
        (ParseError::AccountLength { found: 65 }, "account id of 65 bytes, expected 2 to 64"),
        (
            ParseError::AccountByte { byte: b'!', offset: 3 },
            "'!' at offset 3 cannot be in an account id",
        ),
        (
            ParseError::AccountByte { byte: 0x7f, offset: 4 },
            "byte 127 at offset 4 cannot be in an account id",
        ),
        (
            ParseError::AccountSeparator { byte: b'-', offset: 5 },
            "redundant separator '-' at offset 5 of an account id",
        ),
        (
            ParseError::Scheme,
            "unknown signature scheme, expected 'ed25519:', 'secp256k1:' or 'ml-dsa-65:'",
        ),
        (
            ParseError::SignatureBits,
            "ed25519 signature whose last byte has one of its top 3 bits set",
        ),
    ] {
        assert_eq!(error.to_string(), expected);
    }
    for (error, expected) in [
        (Base64Error::Byte { byte: b'!', offset: 3 }, "'!' at offset 3 is not base64"),
        (Base64Error::Byte { byte: 0x20, offset: 4 }, "byte 32 at offset 4 is not base64"),
        (
            Base64Error::TrailingBits { symbol: b'B', offset: 1 },
            "the trailing bits of the last symbol 'B' at offset 1 are not zero",
        ),
        (Base64Error::Length { characters: 5 }, "5 characters is no length of a base64 text"),
        (Base64Error::Padding, "base64 padding is missing or misplaced"),
    ] {
        assert_eq!(ParseError::Base64(error).to_string(), expected);
    }
}

#[test]
fn a_hasher_takes_the_first_bytes_and_mixes_in_numbers() {
    let hash = |write: &dyn Fn(&mut IdentityHasher)| {
        let mut hasher = IdentityHasher::default();
        write(&mut hasher);
        hasher.finish()
    };
    let bytes: [u8; 9] = core::array::from_fn(|index| index as u8 + 1);
    assert_eq!(hash(&|hasher| hasher.write(&bytes)), 0x0807_0605_0403_0201);
    let twice = |hasher: &mut IdentityHasher| {
        hasher.write_u64(0x0807_0605_0403_0201);
        hasher.write(&bytes);
    };
    // 0x0807060504030201 * MULTIPLIER, by exclusive or with the first eight bytes
    let mixed = 0x0807_0605_0403_0201_u64.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    assert_eq!(hash(&twice), mixed ^ 0x0807_0605_0403_0201);
    assert_eq!(hash(&|hasher| hasher.write_u8(5)), 0x1715_609f_7c74_6c69);
    let two = |hasher: &mut IdentityHasher| {
        hasher.write_u64(5);
        hasher.write_usize(6);
    };
    assert_eq!(hash(&two), 0x037a_1ca6_ea62_03f4);
    assert_eq!(hash(&|hasher| hasher.write(&[1, 2, 3])), 0x415c_20d2_cbb2_2646);
}
