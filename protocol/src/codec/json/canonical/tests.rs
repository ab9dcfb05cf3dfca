//! Canonical text compared with `serde_json`, on fixed and on generated texts.

use alloc::format;
use alloc::string::{String, ToString};

use milepost_testkit::Rng;
use serde_json::Value;

use super::*;

fn canonical_of(text: &str) -> Result<String, Error> {
    let mut out = String::from("before");
    let result = canonical(text, &mut out);
    let rest = out.strip_prefix("before").expect("the earlier content is kept").to_string();
    match result {
        Ok(()) => Ok(rest),
        Err(error) => {
            assert_eq!(rest, "", "an error leaves the output unchanged");
            Err(error)
        }
    }
}

/// Generates random texts
struct Random(Rng);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn whitespace(&mut self, out: &mut String) {
        while self.below(6) == 0 {
            out.push([' ', '\n', '\r', '\t'][self.below(4) as usize]);
        }
    }

    fn string(&mut self, out: &mut String) {
        out.push('"');
        for _ in 0..self.below(12) {
            match self.below(14) {
                0 => out.push_str("\\/"),
                1 => out
                    .push_str(["\\n", "\\t", "\\\"", "\\\\", "\\b", "\\f"][self.below(6) as usize]),
                2 => out.push_str(&format!("\\u{:04x}", self.below(0x80))),
                3 => out.push_str(&format!("\\u{:04X}", 0xe000 + self.below(0x1000))),
                4 => out.push_str(&format!(
                    "\\ud8{:02x}\\uDC{:02x}",
                    self.below(256),
                    self.below(256)
                )),
                5 => out.push_str(["é", "字", "🦀", "\u{7f}", "\u{2028}"][self.below(5) as usize]),
                _ => out.push(char::from(b'a' + self.below(4) as u8)),
            }
        }
        out.push('"');
    }

    fn value(&mut self, depth: u64, out: &mut String) {
        self.whitespace(out);
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => out.push_str(["true", "false", "null"][self.below(3) as usize]),
            1 => out.push_str(&(self.below(u64::MAX) as i64).to_string()),
            2 => out.push_str(&self.below(u64::MAX).to_string()),
            3 | 4 => self.string(out),
            5 | 6 => {
                out.push('[');
                self.whitespace(out);
                for index in 0..self.below(5) {
                    if index > 0 {
                        out.push(',');
                    }
                    self.value(depth - 1, out);
                }
                out.push(']');
            }
            _ => {
                out.push('{');
                self.whitespace(out);
                for index in 0..self.below(7) {
                    if index > 0 {
                        out.push(',');
                    }
                    self.whitespace(out);
                    self.string(out);
                    self.whitespace(out);
                    out.push(':');
                    self.value(depth - 1, out);
                }
                out.push('}');
            }
        }
        self.whitespace(out);
    }
}

#[test]
fn generated_values_are_written_as_by_serde_json() {
    let mut random = Random(Rng::new(7));
    let mut canonicalizer = Canonicalizer::new();
    let (mut accepted, mut duplicates) = (0, 0);
    for _ in 0..20_000 {
        let mut text = String::new();
        random.value(5, &mut text);
        let value: Value = serde_json::from_str(&text).expect(&text);
        let mut out = String::new();
        match canonicalizer.append(&text, &mut out) {
            Ok(()) => {
                assert_eq!(out, value.to_string(), "{text}");
                assert_eq!(canonical_of(&out).unwrap(), out, "a fixed point");
                accepted += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Schema, "{error}: {text}");
                duplicates += 1;
            }
        }
    }
    assert!(accepted > 10_000 && duplicates > 100, "{accepted} {duplicates}");
}

#[test]
fn damaged_texts_are_rejected_exactly_when_serde_json_rejects_them() {
    let mut random = Random(Rng::new(11));
    let (mut rejected, mut accepted, mut compared) = (0, 0, 0);
    for _ in 0..60_000 {
        let mut text = String::new();
        random.value(3, &mut text);
        let at = text.floor_char_boundary(random.below(text.len() as u64 + 1) as usize);
        match random.below(3) {
            0 => text.truncate(at),
            1 => text.insert_str(
                at,
                ["\"", "\\", ",", "{", "]", "0", "-", "\u{1}", "e1", "\\ud800"]
                    [random.below(10) as usize],
            ),
            _ => drop(text.pop()),
        }
        let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        // `IgnoredAny` does not check surrogates; `Value` does, but limits numbers.
        let theirs = theirs.and_then(|_| match serde_json::from_str::<Value>(&text) {
            Err(error) if error.to_string().starts_with("number out of range") => Ok(Value::Null),
            other => other,
        });
        match canonical_of(&text) {
            Ok(_) => {
                assert!(theirs.is_ok(), "{theirs:?}: {text}");
                accepted += 1;
            }
            // A duplicate member before the damage.
            Err(error) if error.kind() == ErrorKind::Schema => {}
            Err(error) => {
                assert!(theirs.is_err(), "{error}: {text}");
                // Skipping a string finds less than reading it, as in `serde_json`.
                if !text.contains("\\u") && !error.detail().starts_with("control") {
                    let read = Reader::new(&text).whole();
                    assert_eq!(error, read.unwrap_err().into_error(&text), "{text}");
                    compared += 1;
                }
                rejected += 1;
            }
        }
    }
    assert!(
        rejected > 10_000 && accepted > 1_000 && compared > 5_000,
        "{rejected} {accepted} {compared}"
    );
}

#[test]
fn numbers_keep_their_text() {
    for number in ["-0", "0.0", "1E+5", "18446744073709551616", "1e999", "-0.10e-05"] {
        assert_eq!(canonical_of(&format!("[ {number} ]")).unwrap(), format!("[{number}]"));
    }
    for number in ["01", "-", "1.", ".5", "1e", "1e+", "+1", "0x1", "--1", "1.e1", "NaN"] {
        assert_eq!(canonical_of(number).unwrap_err().kind(), ErrorKind::Syntax, "{number}");
    }
}

#[test]
fn keys_sort_by_their_decoded_bytes() {
    // '"' is 0x22, below '#', although its escape begins with 0x5c.
    assert_eq!(
        canonical_of(r##"{"#":1,"\"":2,"é":3,"\u0065":4,"":5,"\ud83e\udd80":6,"\uffff":7}"##)
            .unwrap(),
        "{\"\":5,\"\\\"\":2,\"#\":1,\"e\":4,\"é\":3,\"\u{ffff}\":7,\"🦀\":6}"
    );
}

#[test]
fn a_duplicate_member_is_rejected_with_its_path() {
    for (text, path, offset) in [
        (r#"{"x":[{"b":1,"a":2,"b":3}]}"#, "x[0].b", 19),
        (r#"{"x":[{"a":2,"b":1, "\u0062":3}]}"#, "x[0][\"\\u0062\"]", 20),
        (r#"[{"a":1,"b":{},"b":2}]"#, "[0].b", 15),
    ] {
        let error = canonical_of(text).unwrap_err();
        assert_eq!(
            (error.kind(), error.path(), error.offset()),
            (ErrorKind::Schema, path, Some(offset))
        );
        assert_eq!(error.detail(), "duplicate member \"b\"");
    }
}

#[test]
fn levels_are_limited_as_in_serde_json() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(canonical_of(&nested(MAX_DEPTH)).is_ok());
    assert!(serde_json::from_str::<Value>(&nested(MAX_DEPTH)).is_ok());
    assert!(serde_json::from_str::<Value>(&nested(MAX_DEPTH + 1)).is_err());
    assert_eq!(canonical_of(&nested(MAX_DEPTH + 1)).unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(canonical_of(&"[".repeat(1_000_000)).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn a_long_key_with_escapes_is_decoded_once() {
    // Sorting may compare a key with all others and must not decode it each time.
    let long = "\\u006d".repeat(200_000);
    let mut text = String::from("{");
    for number in (0..40_000).rev() {
        if number == 20_000 {
            text.push_str(&["\"", &long, "\":0,"].concat());
        }
        text.push_str(&format!("\"{}{number}\":0,", if number < 20_000 { 'a' } else { 'z' }));
    }
    text.push_str("\"\":0}");
    let mut out = String::new();
    canonical(&text, &mut out).unwrap();
    assert!(out.starts_with("{\"\":0,\"a0\":0,"), "{}", &out[..20]);
    assert!(out.contains(&["\"a9999\":0,\"", &"m".repeat(200_000), "\":0,\"z20000\":0"].concat()));
}

#[test]
fn a_prefix_sorts_as_the_first_eight_bytes() {
    for (text, length, expected) in [
        ("abcdefgh", 8, 0x6162_6364_6566_6768),
        ("abcdefghij", 10, 0x6162_6364_6566_6768),
        ("abcdefgh", 3, 0x6162_6300_0000_0000),
        ("abcdefgh", 1, 0x6100_0000_0000_0000),
        ("abcdefgh", 0, 0),
        ("abc", 3, 0x6162_6300_0000_0000),
        ("abc", 2, 0x6162_0000_0000_0000),
        ("", 0, 0),
    ] {
        assert_eq!(prefix(text.as_bytes(), length), expected, "{length} of {text}");
    }
}
