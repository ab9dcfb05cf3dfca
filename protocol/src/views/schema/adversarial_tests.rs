//! Schema checks compared with deserializers, on texts generated from the schemas and then damaged.
//!
//! A check must give the result of reading the typed view: success, or an error with the same kind,
//! path, offset and text. Every variant of every type occurs, because variants are drawn from the
//! tables.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use milepost_testkit::{Rng, damaged};
use serde::de::DeserializeOwned;

use super::{HasSchema, Repairs, ScalarSchema, Schema, check, check_and_find};
use crate::Error;
use crate::codec::json;
use crate::views::{ExecutionOutcomeWithIdView, ReceiptView, SignedTransactionView};

/// A text of this schema
fn sample(schema: &Schema, rng: &mut Rng) -> String {
    match schema {
        Schema::Text { expected, .. } => format!("\"{}\"", text(expected, rng)),
        Schema::Scalar(scalar) => match scalar {
            ScalarSchema::String => "\"some \\u0074ext\"".to_string(),
            ScalarSchema::Bool => rng.pick(&["true", "false"]).to_string(),
            ScalarSchema::U8 => rng.index(256).to_string(),
            ScalarSchema::U16 => rng.index(1 << 16).to_string(),
            ScalarSchema::U32 => rng.below(1 << 32).to_string(),
            ScalarSchema::I32 => "-1".to_string(),
            ScalarSchema::U64 => rng.pick(&["0", "7", "18446744073709551615"]).to_string(),
            ScalarSchema::Fraction => rng.pick(&["0.5", "1", "1e-3"]).to_string(),
            ScalarSchema::Gas | ScalarSchema::GasText => rng.pick(&["30", "\"30\""]).to_string(),
            ScalarSchema::Rational => "[1,40]".to_string(),
            ScalarSchema::Identifier => {
                rng.pick(&["\"a.near\"", "{\"account_id\":\"a.near\"}"]).to_string()
            }
            ScalarSchema::StateInitData => "{\"AA==\":\"AQ==\",\"\":\"\"}".to_string(),
        },
        Schema::Nullable(inner) => match rng.index(3) {
            0 => "null".to_string(),
            _ => sample(inner, rng),
        },
        Schema::Array(inner) => {
            let items: Vec<String> = (0..rng.index(3)).map(|_| sample(inner, rng)).collect();
            format!("[{}]", items.join(", "))
        }
        Schema::Pair([one, other]) => format!("[{},{}]", sample(one, rng), sample(other, rng)),
        Schema::IntegerKeys(inner) => format!("{{\"0\":{},\"12\":{0}}}", sample(inner, rng)),
        Schema::Object { members, required, .. } => {
            let mut found = Vec::new();
            for (index, member) in members.iter().enumerate() {
                if **required >> index & 1 == 1 || rng.index(3) > 0 {
                    found.push(format!("\"{}\":{}", member.name(), sample(member.schema, rng)));
                }
            }
            if rng.index(8) == 0 {
                found.push("\"unheard_of\": [1, {\"of\": null}]".to_string());
            }
            format!("{{{}}}", found.join(","))
        }
        Schema::Enum { variants, .. } => {
            let variant = &variants[rng.index(variants.len())];
            match variant.schema {
                None if rng.index(4) == 0 => format!("{{\"{}\":null}}", variant.name),
                None => format!("\"{}\"", variant.name),
                Some(inner) => format!("{{\"{}\":{}}}", variant.name, sample(inner, rng)),
            }
        }
    }
}

/// The text of a scalar, by the expected value in its errors
fn text(expected: &str, rng: &mut Rng) -> String {
    let scheme = |length| format!("ed25519:{}", "1".repeat(length));
    match expected {
        _ if expected.contains("hash") => "1".repeat(32),
        _ if expected.contains("account") => "a.near".to_string(),
        _ if expected.contains("base64") => rng.pick(&["AQ==", "", "AA"]).to_string(),
        _ if expected.contains("amount") => "340282366920938463463374607431768211455".to_string(),
        _ if expected.contains("signature") => scheme(64),
        _ => scheme(32),
    }
}

/// Pieces that are inserted as damage
const PIECES: &[&str] = &[
    "\"",
    "\\",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "0",
    "-",
    "1.5",
    "null",
    "true",
    " ",
    "{}",
    "[]",
    "\"x\"",
    "\"x\":1,",
    "\u{e9}",
    "18446744073709551616",
    "\"Unknown\"",
    "{\"Unknown\":null}",
    "+",
    "\"7\"",
    "{\"Delegate\":{}}",
    "\"Delegate\"",
];

/// Removes differences: the error for a truncated number, and how a fraction is printed
fn normalized(error: Error) -> Error {
    const FRACTION: &str = "floating point `";
    let detail = match error.detail().split_once(FRACTION) {
        _ if error.detail() == "invalid number" => {
            "the text ends while parsing a value".to_string()
        }
        Some((before, rest)) => {
            let after = rest.split_once('`').map_or(rest, |(_, after)| after);
            format!("{before}{FRACTION}…{after}")
        }
        None => return error,
    };
    Error::new(error.kind(), detail).at(error.path()).with_offset(error.offset().unwrap_or(0))
}

/// Checks that strict types accept what the deserializer reads, that it reads what they accept once
/// it is repaired, and that there is nothing to repair in that
fn check_repairs<T: HasSchema + DeserializeOwned>(text: &str, is_read: bool) {
    let mut canonical = String::new();
    if json::canonical(text, &mut canonical).is_err() {
        return;
    }
    let mut repairs = Repairs::new(true);
    let accepted = check_and_find(T::SCHEMA, &canonical, &[], &mut [], Some(&mut repairs)).is_ok();
    assert!(accepted || !is_read, "{text}");
    if !accepted {
        return;
    }
    let repaired = repairs.repaired(&canonical);
    assert!(repaired.is_some() || is_read, "{text}");
    if let Some(repaired) = repaired {
        let mut repairs = Repairs::new(true);
        assert!(
            check_and_find(T::SCHEMA, &repaired, &[], &mut [], Some(&mut repairs)).is_ok(),
            "{text}"
        );
        assert_eq!(repairs.repaired(&repaired), None, "{text}");
        assert!(json::read::<T>(&repaired).is_ok(), "{text}");
        json::canonical(&repaired, &mut String::new()).expect("a JSON value");
    }
}

/// Compares the check of a type with its deserializer; returns how many damaged texts are rejected
pub(crate) fn check_damaged<T: HasSchema + DeserializeOwned>(rounds: u64) -> usize {
    let mut rejected = 0;
    for round in 1..=rounds {
        let rng = &mut Rng::new(round);
        let mut text = sample(T::SCHEMA, rng);
        assert_eq!(check::<T>(&text), Ok(()), "{text}");
        assert!(json::read::<T>(&text).is_ok(), "{text}");
        for _ in 0..4 {
            text = damaged(&text, PIECES, rng);
            let read = json::read::<T>(&text).map(drop);
            rejected += usize::from(read.is_err());
            let checked = check::<T>(&text);
            check_repairs::<T>(&text, read.is_ok());
            // Making the text canonical finds duplicate and malformed unknown members first.
            if json::canonical(&text, &mut String::new()).is_err() && checked.is_ok() {
                assert!(read.is_err(), "{text}");
            } else {
                assert_eq!(checked.map_err(normalized), read.map_err(normalized), "{text}");
            }
        }
    }
    rejected
}

#[test]
fn checks_match_deserializers() {
    let rejected = check_damaged::<SignedTransactionView>(400)
        + check_damaged::<ReceiptView>(400)
        + check_damaged::<ExecutionOutcomeWithIdView>(800);
    assert!(rejected > 3_000, "{rejected}");
}
