//! Checks beside readers, on texts that are made from the shapes themselves and then damaged.
//!
//! What a check says has to be what reading the typed view says: accepted or refused, and refused with
//! the same kind, path, offset and sentence. Every variant of every type occurs, because variants are
//! drawn from the tables.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use milepost_testkit::{Rng, damaged};
use serde::de::DeserializeOwned;

use super::{Leaf, Shape, Shaped, check};
use crate::Error;
use crate::codec::json;
use crate::views::{ExecutionOutcomeWithIdView, ReceiptView, SignedTransactionView};

/// A text of this shape
fn sample(shape: &Shape, rng: &mut Rng) -> String {
    match shape {
        Shape::Text { expected, .. } => format!("\"{}\"", text(expected, rng)),
        Shape::Leaf(leaf) => match leaf {
            Leaf::String => "\"some \\u0074ext\"".to_string(),
            Leaf::Bool => rng.pick(&["true", "false"]).to_string(),
            Leaf::U8 => rng.index(256).to_string(),
            Leaf::U16 => rng.index(1 << 16).to_string(),
            Leaf::U32 => rng.index(1 << 32).to_string(),
            Leaf::U64 => rng.pick(&["0", "7", "18446744073709551615"]).to_string(),
            Leaf::F64 => rng.pick(&["0.5", "1", "1e-3"]).to_string(),
            Leaf::Gas | Leaf::GasText => rng.pick(&["30", "\"30\""]).to_string(),
            Leaf::Rational => "[1,40]".to_string(),
            Leaf::Identifier => {
                rng.pick(&["\"a.near\"", "{\"account_id\":\"a.near\"}"]).to_string()
            }
            Leaf::StateInitData => "{\"AA==\":\"AQ==\",\"\":\"\"}".to_string(),
        },
        Shape::Maybe(inner) => match rng.index(3) {
            0 => "null".to_string(),
            _ => sample(inner, rng),
        },
        Shape::List(inner) => {
            let items: Vec<String> = (0..rng.index(3)).map(|_| sample(inner, rng)).collect();
            format!("[{}]", items.join(", "))
        }
        Shape::Pair([one, other]) => format!("[{},{}]", sample(one, rng), sample(other, rng)),
        Shape::Numbered(inner) => format!("{{\"0\":{},\"12\":{0}}}", sample(inner, rng)),
        Shape::Object { members, .. } => {
            let mut found = Vec::new();
            for member in *members {
                if member.required || rng.index(3) > 0 {
                    found.push(format!("\"{}\":{}", member.name, sample(member.shape, rng)));
                }
            }
            if rng.index(8) == 0 {
                found.push("\"unheard_of\": [1, {\"of\": null}]".to_string());
            }
            format!("{{{}}}", found.join(","))
        }
        Shape::OneOf { variants, .. } => {
            let variant = &variants[rng.index(variants.len())];
            match variant.shape {
                None if rng.index(4) == 0 => format!("{{\"{}\":null}}", variant.name),
                None => format!("\"{}\"", variant.name),
                Some(inner) => format!("{{\"{}\":{}}}", variant.name, sample(inner, rng)),
            }
        }
    }
}

/// A text that the scalar with this expectation is parsed from
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

/// What damage puts into a text
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
];

/// What is said of a number that is cut off depends on who asks for it, and what a fraction is shown as
fn alike(error: Error) -> Error {
    const FRACTION: &str = "floating point `";
    let detail = match error.detail().split_once(FRACTION) {
        _ if error.detail() == "invalid number" => {
            "the text ends while parsing a value".to_string()
        }
        Some((before, rest)) => {
            let behind = rest.split_once('`').map_or(rest, |(_, behind)| behind);
            format!("{before}{FRACTION}…{behind}")
        }
        None => return error,
    };
    Error::new(error.kind(), detail).at(error.path()).with_offset(error.offset().unwrap_or(0))
}

/// Compares the check of a type with its reader; how many damaged texts were refused
pub(crate) fn storm<T: Shaped + DeserializeOwned>(rounds: u64) -> usize {
    let mut refused = 0;
    for round in 1..=rounds {
        let rng = &mut Rng::new(round);
        let mut text = sample(T::SHAPE, rng);
        assert_eq!(check::<T>(&text), Ok(()), "{text}");
        assert!(json::read::<T>(&text).is_ok(), "{text}");
        for _ in 0..4 {
            text = damaged(&text, PIECES, rng);
            let read = json::read::<T>(&text).map(drop);
            refused += usize::from(read.is_err());
            let checked = check::<T>(&text);
            // A member that is not known may come twice, or hold what no reader takes: that is found before.
            if json::canonical(&text, &mut String::new()).is_err() && checked.is_ok() {
                assert!(read.is_err(), "{text}");
            } else {
                assert_eq!(checked.map_err(alike), read.map_err(alike), "{text}");
            }
        }
    }
    refused
}

#[test]
fn a_check_says_what_reading_says() {
    let refused = storm::<SignedTransactionView>(400)
        + storm::<ReceiptView>(400)
        + storm::<ExecutionOutcomeWithIdView>(800);
    assert!(refused > 3_000, "{refused}");
}
