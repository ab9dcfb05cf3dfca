//! The canonical form against `serde_json`, on fixed and on generated texts.

use alloc::format;
use alloc::string::{String, ToString};

use milepost_testkit::Rng;
use serde_json::Value;

use super::*;

fn canonical_of(text: &str) -> Result<String, Error> {
    let mut out = String::from("before");
    let result = canonical(text, &mut out);
    let rest = out.strip_prefix("before").expect("what was there stays").to_string();
    match result {
        Ok(()) => Ok(rest),
        Err(error) => {
            assert_eq!(rest, "", "an error leaves nothing behind");
            Err(error)
        }
    }
}

/// Texts at random
struct Random(Rng);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn blanks(&mut self, out: &mut String) {
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
        self.blanks(out);
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 => out.push_str(["true", "false", "null"][self.below(3) as usize]),
            1 => out.push_str(&(self.below(u64::MAX) as i64).to_string()),
            2 => out.push_str(&self.below(u64::MAX).to_string()),
            3 | 4 => self.string(out),
            5 | 6 => {
                out.push('[');
                self.blanks(out);
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
                self.blanks(out);
                for index in 0..self.below(7) {
                    if index > 0 {
                        out.push(',');
                    }
                    self.blanks(out);
                    self.string(out);
                    self.blanks(out);
                    out.push(':');
                    self.value(depth - 1, out);
                }
                out.push('}');
            }
        }
        self.blanks(out);
    }
}

#[test]
fn generated_values_come_out_as_serde_json_writes_them() {
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
                assert_eq!(error.kind(), ErrorKind::Shape, "{error}: {text}");
                duplicates += 1;
            }
        }
    }
    assert!(accepted > 10_000 && duplicates > 100, "{accepted} {duplicates}");
}

#[test]
fn damaged_texts_are_refused_exactly_when_serde_json_refuses_them() {
    let mut random = Random(Rng::new(11));
    let (mut refused, mut kept) = (0, 0);
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
        // Ignoring skips the check of surrogates; reading a value makes it, but limits numbers.
        let theirs = theirs.and_then(|_| match serde_json::from_str::<Value>(&text) {
            Err(error) if error.to_string().starts_with("number out of range") => Ok(Value::Null),
            other => other,
        });
        match canonical_of(&text) {
            Ok(_) => {
                assert!(theirs.is_ok(), "{theirs:?}: {text}");
                kept += 1;
            }
            // Refused before the damage was reached.
            Err(error) if error.kind() == ErrorKind::Shape => {}
            Err(error) => {
                assert!(theirs.is_err(), "{error}: {text}");
                refused += 1;
            }
        }
    }
    assert!(refused > 10_000 && kept > 1_000, "{refused} {kept}");
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
    // '"' is 0x22, below '#', though its escape begins with 0x5c.
    assert_eq!(
        canonical_of(r##"{"#":1,"\"":2,"é":3,"\u0065":4,"":5,"\ud83e\udd80":6,"\uffff":7}"##)
            .unwrap(),
        "{\"\":5,\"\\\"\":2,\"#\":1,\"e\":4,\"é\":3,\"\u{ffff}\":7,\"🦀\":6}"
    );
}

#[test]
fn a_duplicate_member_is_refused_with_its_place() {
    for (text, path, offset) in [
        (r#"{"x":[{"b":1,"a":2,"b":3}]}"#, "x[0].b", 19),
        (r#"{"x":[{"a":2,"b":1, "\u0062":3}]}"#, "x[0][\"\\u0062\"]", 20),
        (r#"[{"a":1,"b":{},"b":2}]"#, "[0].b", 15),
    ] {
        let error = canonical_of(text).unwrap_err();
        assert_eq!(
            (error.kind(), error.path(), error.offset()),
            (ErrorKind::Shape, path, Some(offset))
        );
        assert_eq!(error.detail(), "duplicate member \"b\"");
    }
}

#[test]
fn levels_are_limited_as_in_serde_json() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(canonical_of(&nested(MOST_LEVELS)).is_ok());
    assert!(serde_json::from_str::<Value>(&nested(MOST_LEVELS)).is_ok());
    assert!(serde_json::from_str::<Value>(&nested(MOST_LEVELS + 1)).is_err());
    assert_eq!(canonical_of(&nested(MOST_LEVELS + 1)).unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(canonical_of(&"[".repeat(1_000_000)).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn a_long_key_with_escapes_is_decoded_once() {
    // Sorting may compare a key with all others, and is not to decode it anew each time.
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

/// What is written quickly, which has to be what is written with care
fn rewritten(rewriter: &mut Rewriter, text: &str) -> Option<String> {
    let text = format!("{text}, \"and what stands behind it\"");
    let (written, end) = rewriter.rewrite(&text, 0)?;
    assert_eq!(canonical_of(&text[..end]).as_deref(), Ok(written), "{text}");
    Some(written.to_string())
}

#[test]
fn what_is_written_quickly_is_canonical() {
    let mut random = Random(Rng::new(13));
    // It learns keys from all of them, sound and damaged.
    let mut rewriter = Rewriter::new(MOST_LEVELS);
    let (mut sound, mut damaged) = (0, 0);
    for _ in 0..40_000 {
        let mut text = String::new();
        random.value(4, &mut text);
        let text = text.trim_end();
        if let Some(written) = rewritten(&mut rewriter, text) {
            assert_eq!(Ok(written), canonical_of(text));
            sound += 1;
        }
        let at = text.floor_char_boundary(random.below(text.len() as u64 + 1) as usize);
        let piece = ["\"", "\\", ",", "{", "]", ":", "0", "-", "\u{1}", "e1", " "];
        let text = format!("{}{}{}", &text[..at], piece[random.below(11) as usize], &text[at..]);
        damaged += usize::from(rewritten(&mut rewriter, &text).is_some());
    }
    assert!(sound > 10_000 && damaged > 5_000, "{sound} {damaged}");
}

#[test]
fn a_fact_is_written_quickly() {
    let outcome = r#"{"id": "a", "outcome": {"logs": ["x\n\u0007 \"y\"", "a log of more than some chunks:
        its text goes on and on and on, as those of contracts do, and comes to an end after that"],
        "gas_burnt": 223182562500, "gas": 0, "long": 123456789012345678901234567890, "part": -1.5e+3,
        "tokens_burnt": "22318256250000000000", "status": {"SuccessValue": ""}, "nothing": null,
        "metadata": {"version": 3, "gas_profile": [{"cost": "A", "gas_used": "1"}, true, false]}},
        "block_hash": "b", "proof": [{"hash": "c", "direction": "Left"}, {"hash": "d", "direction":
        "Right"}], "outcom": {}, "a key that is longer than a chunk": [], "": [[]]}"#
        .replace("and on,\n        as", "and on, as")
        .replace(":\n        its", ": its");
    let mut rewriter = Rewriter::new(MOST_LEVELS);
    for _ in 0..3 {
        let written = rewritten(&mut rewriter, &outcome);
        assert_eq!(written, canonical_of(&outcome).ok());
        assert!(written.is_some_and(|written| written.starts_with(r#"{"":[[]],"a key"#)));
    }
    let compact = canonical_of(&outcome).unwrap();
    assert_eq!(rewritten(&mut rewriter, &compact), Some(compact));
}

#[test]
fn keys_are_written_quickly_whether_they_are_kept_or_not() {
    let mut rewriter = Rewriter::new(MOST_LEVELS);
    for round in 0..60 {
        // More than are kept for a place and altogether, and longer ones, in an order that changes.
        let member = |number: usize| {
            let number = (number * 7 + round) % 60;
            format!(
                r#""key {number}{}":{{"{round}":0,"b":[{{"{number}":1}}]}}"#,
                "-".repeat(number)
            )
        };
        let text = format!("{{{}}}", (0..60).map(member).collect::<Vec<_>>().join(","));
        assert_eq!(rewritten(&mut rewriter, &text), canonical_of(&text).ok());
        let twice = format!("{{{},{}}}", text.trim_matches(['{', '}']), member(round % 60));
        assert_eq!(rewritten(&mut rewriter, &twice), None);
    }
    for keys in [["a", "a\0"], ["abcdefgh", "abcdefghi"], ["abcdefgz", "abcdefgh"], ["é", "z"]] {
        for [one, other] in [keys, [keys[1], keys[0]]] {
            let text = json_object(one, other);
            assert_eq!(rewritten(&mut rewriter, &text).is_some(), !text.contains("\\u"), "{text}");
        }
    }
}

fn json_object(one: &str, other: &str) -> String {
    let quoted = |key| serde_json::to_string(key).unwrap();
    format!("{{{}:1,{}:2}}", quoted(one), quoted(other))
}

#[test]
fn levels_that_are_written_quickly_are_limited() {
    let deep = |levels| ["[".repeat(levels), "]".repeat(levels)].concat();
    let mut rewriter = Rewriter::new(MOST_LEVELS_INSIDE);
    assert!(rewritten(&mut rewriter, &deep(MOST_LEVELS_INSIDE)).is_some());
    assert!(rewritten(&mut rewriter, &deep(MOST_LEVELS_INSIDE + 1)).is_none());
}

#[test]
fn a_text_of_any_length_is_written_quickly() {
    let mut rewriter = Rewriter::new(MOST_LEVELS);
    for length in (0..200).chain([20_000, 100_000]) {
        let text =
            format!(r#"{{"{0}":"{0}","z":[{1}1]}}"#, "y".repeat(length), "0,".repeat(length));
        assert_eq!(rewritten(&mut rewriter, &text), Some(text));
    }
}
