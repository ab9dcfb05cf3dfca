//! The reader compared with `serde_json` on damaged texts.
//!
//! Both must give the same values, and the same errors at the same offsets.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use milepost_testkit::{Rng, damaged};
use serde_json::value::RawValue;

use super::*;
use crate::Error;
use crate::codec::json;

const BASE: &str = r#"{"id": "7\n\u00e9\ud83d\ude00/", "a":[-1.5e+3,0, true , null,[],-0,
    12E-2,1e400],"long":"0123456789012345678901234567890123456789é012345678901234","b":{ },"x":false}"#;

/// Pieces that are inserted as damage
const PIECES: &[&str] = &[
    "\"", "\\", ",", ":", "{", "}", "[", "]", "0", "-", ".", "e", " ", "\u{1}", "\\u", "\\ud800",
    "\n", "true", "nul", "9",
];

fn whole(text: &str) -> Result<String, Error> {
    Reader::new(text).whole().map(str::to_string).map_err(|error| error.into_error(text))
}

#[test]
fn skipped_text_is_valid_for_serde_json() {
    let mut rng = Rng::new(1);
    let mut rejected = 0;
    for _ in 0..60_000 {
        let text = damaged(BASE, PIECES, &mut rng);
        let expected = json::read::<&RawValue>(&text).map(|value| value.get().to_string());
        let found = whole(&text);
        rejected += usize::from(found.is_err());
        let normalized = |error| normalized(error, &text);
        assert_eq!(found.map_err(normalized), expected.map_err(normalized), "{text}");
    }
    assert!(rejected > 30_000, "{rejected}");
}

/// The error without the differences to `serde_json` that are accepted: its error for a truncated
/// number depends on the type that is read, and where an exponent does not fit it reports the digit
/// at which it overflowed, the reader the end of the number
fn normalized(error: Error, text: &str) -> Error {
    let offset = error.offset().unwrap_or(0);
    let (detail, offset) = match error.detail() {
        "invalid number" => ("the text ends while parsing a value", offset),
        "number out of range" => {
            let rest = text.as_bytes().get(offset..).unwrap_or_default();
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            ("number out of range", offset + digits)
        }
        _ => return error,
    };
    Error::new(error.kind(), detail).at(error.path()).with_offset(offset)
}

/// The tokens of a text, with fractions as one token
fn tokens(reader: &mut Reader<'_>, out: &mut Vec<String>) -> Result<(), ReadError> {
    match reader.scalar()? {
        Scalar::Array => {
            out.push("[".into());
            reader.open_array("")?;
            let mut first = true;
            while reader.item(first)? {
                first = false;
                tokens(reader, out)?;
            }
        }
        Scalar::Object => {
            out.push("{".into());
            reader.open_object("")?;
            let mut first = true;
            while let Some(key) = reader.key(first)? {
                first = false;
                out.push(key.into_owned());
                reader.colon()?;
                tokens(reader, out)?;
            }
        }
        Scalar::String(text) => out.push(text.into_owned()),
        Scalar::Number(Number::Fraction(_)) => out.push("fraction".into()),
        other => out.push(other.to_string()),
    }
    Ok(())
}

fn expected_tokens(value: &serde_json::Value, out: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(items) => {
            out.push("[".into());
            items.iter().for_each(|item| expected_tokens(item, out));
        }
        serde_json::Value::Object(members) => {
            out.push("{".into());
            for (key, value) in members {
                out.push(key.clone());
                expected_tokens(value, out);
            }
        }
        serde_json::Value::String(text) => out.push(text.clone()),
        serde_json::Value::Null => out.push("null".into()),
        serde_json::Value::Bool(value) => out.push(format!("boolean `{value}`")),
        serde_json::Value::Number(number) if number.is_f64() => out.push("fraction".into()),
        serde_json::Value::Number(number) => out.push(format!("integer `{number}`")),
    }
}

#[test]
fn values_match_those_of_serde_json() {
    // Sorted, and without the number that is out of range.
    let base = BASE.replace(",1e400", "");
    let mut canonical = String::new();
    json::canonical(&base, &mut canonical).unwrap();
    let mut rng = Rng::new(7);
    let (mut read, mut rejected) = (0, 0);
    for round in 0..60_000 {
        let text =
            if round == 0 { canonical.clone() } else { damaged(&canonical, PIECES, &mut rng) };
        let mut reader = Reader::new(&text);
        let mut found = Vec::new();
        let result = tokens(&mut reader, &mut found).and_then(|()| reader.end());
        match (json::read::<serde_json::Value>(&text), result) {
            (Ok(value), Ok(())) => {
                let mut expected = Vec::new();
                expected_tokens(&value, &mut expected);
                // In serde_json a second member of one name replaces the first.
                if found.len() == expected.len() {
                    read += 1;
                    found.sort();
                    expected.sort();
                    assert_eq!(found, expected, "{text}");
                }
            }
            (Err(expected), Err(error)) => {
                rejected += 1;
                let found = normalized(error.into_error(&text), &text);
                assert_eq!(found, normalized(expected, &text), "{text}");
            }
            (expected, found) => panic!("{expected:?} but {found:?}: {text}"),
        }
    }
    assert!(read > 3_000 && rejected > 30_000, "{read} {rejected}");
}

#[test]
fn numbers_out_of_range_are_rejected() {
    for (text, rejected) in [
        ("1e308", false),
        ("1e309", true),
        ("-1e309", true),
        ("17e307", false),
        ("18e307", true),
        ("0.00001e313", false),
        ("0.00001e314", true),
        ("0e999999999999999999999", false),
        ("0.0e5", false),
        ("1e-999999999999999999999", false),
        ("1e999999999999999999999", true),
        ("1e9223372036854775807", true),
        ("1e-9223372036854775807", false),
        ("1.7976931348623157e308", false),
        ("1.7976931348623159e308", true),
        ("-0", false),
        ("18446744073709551616", false),
    ] {
        let found = Reader::new(text).scalar();
        assert_eq!(found.is_err(), rejected, "{text}");
        assert_eq!(serde_json::from_str::<f64>(text).is_err(), rejected, "{text}");
    }
}

#[test]
fn magnitudes_are_compared_with_one() {
    for (text, exceeds) in [
        ("0", false),
        ("0.999999999999999999999999", false),
        ("1", false),
        ("1.000", false),
        ("1.0001", true),
        ("1.0000000000000000000000001", true),
        ("2", true),
        ("10", true),
        ("10e-1", false),
        ("11e-1", true),
        ("0.01e2", false),
        ("0.011e2", true),
        ("1e400", true),
        ("1e-400", false),
        ("1e9223372036854775807", true),
        ("0e9223372036854775807", false),
    ] {
        assert_eq!(exceeds_one(text), exceeds, "{text}");
    }
}

#[test]
fn skipped_values_may_be_deep() {
    let text = ["{\"a\":", &"[".repeat(100_000), &"]".repeat(100_000), ",\"b\":1}"].concat();
    let [found] = Reader::new(&text).members(["b"], "").unwrap();
    assert_eq!(found.unwrap().raw(), Ok("1"));
}

#[test]
fn a_key_is_taken_only_where_it_is_next() {
    let text = r#"{"ab":1,"b":2 ,"c":3}"#;
    for (at, key, first, taken) in [
        (1, r#""ab":"#, true, Some(6)),
        (1, r#""ab":"#, false, None),
        (1, r#""b":"#, true, None),
        (1, r#""ax":"#, true, None),
        (7, r#""b":"#, false, Some(12)),
        (7, r#""b":"#, true, None),
        (8, r#""b":"#, true, Some(12)),
        (13, r#""c":"#, false, None),
        (14, r#""c":"#, false, Some(19)),
        (14, r#""c":3}more"#, false, None),
    ] {
        let mut reader = Reader { at, ..Reader::new(text) };
        assert_eq!(reader.takes_key(key, first), taken.is_some(), "{key} at {at}");
        assert_eq!(reader.at, taken.unwrap_or(at), "{key} at {at}");
    }
}

#[test]
fn the_error_for_any_other_type_is_behind_the_bracket() {
    for (text, read, detail) in [
        ("[]", 2, "invalid type: array, expected a thing"),
        ("[1]", 1, "invalid type: array, expected a thing"),
        ("{}", 2, "invalid type: object, expected a thing"),
        ("{\"a\":1}", 1, "invalid type: object, expected a thing"),
        ("[}", 1, "invalid type: array, expected a thing"),
        ("7", 1, "invalid type: integer `7`, expected a thing"),
    ] {
        let mut reader = Reader::new(text);
        let found = reader.scalar().unwrap();
        let error = reader.untyped_error(&found, "a thing");
        assert_eq!((error.bytes_read(), error.detail()), (read, detail), "{text}");
    }
}

#[test]
fn errors_know_what_they_are_about() {
    let error = Reader::new("[1").whole().unwrap_err();
    assert!(error.is_unexpected_end() && !error.is_lacking());
    assert_eq!(error.detail(), "EOF while parsing a list");
    let error = Reader::new("{}").required::<()>(None, "id").unwrap_err();
    assert!(error.is_lacking() && !error.is_unexpected_end());
    assert_eq!(error.detail(), "missing field `id`");
}

#[test]
fn levels_are_closed_as_they_were_opened_at_any_depth() {
    for depth in [1, 63, 64, 65, 127, 128, 129, 200] {
        for opens_object in [|_| true, |_| false, |level| level % 2 == 0, |level: usize| level < 64]
        {
            let open = |level| if opens_object(level) { "{\"a\":" } else { "[" };
            let close = |level| if opens_object(level) { "}" } else { "]" };
            let levels = || 0..depth;
            let opened: String = levels().map(open).collect();
            let closed: String = levels().rev().map(close).collect();
            let text = format!("{opened}1{closed}");
            assert_eq!(whole(&text), Ok(text.clone()), "{depth}");
            let open = &closed[..depth - 1];
            assert!(whole(&format!("{opened}1{open}")).is_err(), "{depth}");
        }
    }
}

#[test]
fn a_string_is_borrowed_unless_it_has_escapes() {
    let mut reader = Reader::new(r#""plain" "#);
    assert!(matches!(reader.string(), Ok(Cow::Borrowed("plain"))));
    let mut reader = Reader::new(r#""a\n" "#);
    assert!(matches!(reader.string(), Ok(Cow::Owned(text)) if text == "a\n"));
    for (text, end) in [
        (r#""plain" "#, Some(7)),
        (r#""\"\\\/\b\f\n\r\t" "#, Some(18)),
        (r#""\u00e9" "#, Some(8)),
        (r#""\ud83d\ude00" "#, Some(14)),
        (r#""\ud800" "#, None),
        (r#""\x" "#, None),
        ("\"\u{1}\"", None),
        ("\"", None),
        ("\"\\", None),
        ("7", None),
    ] {
        let mut reader = Reader::new(text);
        let skipped = reader.skip_text("a text").ok().map(|()| reader.at);
        assert_eq!(skipped, end, "{text}");
    }
}
