//! A cursor over plain JSON: finds objects, arrays and values in one pass and borrows them.
//!
//! "Plain" text has keys without escapes, at most [`MAX_DEPTH`] levels and no syntax error, as
//! nearly every request has. For any other text the cursor returns `None`, and a slower reader
//! reports the error. What is found here is what `serde_json` finds. Strings are not decoded,
//! numbers are not interpreted, nothing recurses and nothing allocates.

use super::depth::MAX_DEPTH;
use super::reader::{Reader, whitespace_end};
use super::run::run_end;

/// The content between the quotes of a string that has no escapes
pub fn plain_string(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    (run_end(inside.as_bytes(), 0) == inside.len()).then_some(inside)
}

/// A cursor over JSON text that is assumed to be plain
///
/// A method finds what `serde_json` finds or returns `None`; some members may have been visited
/// before that.
pub struct BorrowedReader<'text>(Reader<'text>);

impl<'text> BorrowedReader<'text> {
    /// A cursor at the start of a text
    pub const fn new(text: &'text str) -> Self {
        Self(Reader::new(text))
    }

    /// Reads the object here; `member` gets the index of each key in `names`, or `None` for other
    /// keys, and must move past the value
    #[inline]
    pub fn members<const N: usize>(
        &mut self,
        names: &[&str; N],
        mut member: impl FnMut(Option<usize>, &mut Self) -> Option<()>,
    ) -> Option<()> {
        self.object(|cursor| {
            // The key is compared in place: the processor predicts which name matches and continues
            // from its end before a search for the closing quote would have finished.
            let rest = cursor.0.bytes().get(cursor.0.at..)?.strip_prefix(b"\"")?;
            let index = names.iter().position(|name| {
                let after = rest.strip_prefix(name.as_bytes());
                after.is_some_and(|after| after.first() == Some(&b'"'))
            });
            match index.and_then(|index| names.get(index)) {
                Some(name) => cursor.go_to_value(cursor.0.at + 1 + name.len())?,
                None => cursor.key().map(drop)?,
            }
            member(index, cursor)
        })
    }

    /// Reads the key here and its colon, and returns the key
    #[inline]
    fn key(&mut self) -> Option<&'text str> {
        let start = self.0.at + 1;
        if self.0.byte()? != b'"' {
            return None;
        }
        // A run also ends at a backslash, and then the key is not plain.
        let end = run_end(self.0.bytes(), start);
        if *self.0.bytes().get(end)? != b'"' {
            return None;
        }
        let key = self.0.text.get(start..end)?;
        self.go_to_value(end)?;
        Some(key)
    }

    /// Moves past the colon that follows a key, whose closing quote is at `quote`
    #[inline]
    fn go_to_value(&mut self, quote: usize) -> Option<()> {
        let bytes = self.0.bytes();
        let colon = whitespace_end(bytes, quote + 1);
        if *bytes.get(colon)? != b':' {
            return None;
        }
        self.0.at = whitespace_end(bytes, colon + 1);
        Some(())
    }

    /// Reads the object here; `member` must move past each of its members
    #[inline]
    fn object(&mut self, mut member: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let bytes = self.0.bytes();
        let open = whitespace_end(bytes, self.0.at);
        if *bytes.get(open)? != b'{' {
            return None;
        }
        self.0.at = whitespace_end(bytes, open + 1);
        if *bytes.get(self.0.at)? == b'}' {
            self.0.at += 1;
            return Some(());
        }
        loop {
            member(self)?;
            let end = whitespace_end(bytes, self.0.at);
            match *bytes.get(end)? {
                b',' => self.0.at = whitespace_end(bytes, end + 1),
                b'}' => {
                    self.0.at = end + 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Reads the value here and returns its text
    #[inline]
    pub fn value(&mut self) -> Option<&'text str> {
        let start = self.0.at;
        self.0.skip_within(MAX_DEPTH).ok()?;
        self.0.text.get(start..self.0.at)
    }

    /// Reads the value here; returns its text and whether it is a string without escapes
    #[inline]
    pub fn value_or_string(&mut self) -> Option<(&'text str, bool)> {
        let (bytes, start) = (self.0.bytes(), self.0.at);
        if bytes.get(start) == Some(&b'"') {
            let end = run_end(bytes, start + 1);
            if bytes.get(end) == Some(&b'"') {
                self.0.at = end + 1;
                return self.0.text.get(start..self.0.at).map(|text| (text, true));
            }
        }
        self.value().map(|text| (text, false))
    }

    /// The text from the cursor on
    pub fn rest(&self) -> &'text str {
        self.0.rest()
    }

    /// `Some` if only whitespace is left
    pub fn end(&mut self) -> Option<()> {
        self.0.end().ok()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};
    use alloc::vec;
    use alloc::vec::Vec;

    use milepost_testkit::{Rng, damaged};
    use serde::Deserializer as _;
    use serde::de::{MapAccess, Visitor};
    use serde_json::value::RawValue;

    use super::*;

    /// The members that `serde_json` finds
    fn expected(text: &str) -> Option<Vec<(String, String)>> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Vec<(String, String)>;

            fn expecting(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = vec![];
                while let Some(key) = map.next_key::<String>()? {
                    members.push((key, map.next_value::<&RawValue>()?.get().to_string()));
                }
                Ok(members)
            }
        }

        let mut reader = serde_json::Deserializer::from_str(text);
        let members = reader.deserialize_map(Members).ok()?;
        reader.end().ok().map(|()| members)
    }

    fn found(text: &str) -> Option<Vec<(String, String)>> {
        let mut members = vec![];
        let mut cursor = BorrowedReader::new(text);
        cursor.object(|cursor| {
            let key = cursor.key()?;
            members.push((key.to_string(), cursor.value()?.to_string()));
            Some(())
        })?;
        cursor.end().map(|()| members)
    }

    #[test]
    fn members_match_those_of_serde_json() {
        let base = r#"{"id": "7\n\u00e9", "jsonrpc":"2.0", "params":{"a":[-1.5e+3,0, true , null,[]],
            "long":"0123456789012345678901234567890123456789é012345678901234","b":{ }},"x":false}"#;
        assert_eq!(found(base), expected(base));
        assert!(found(base).is_some_and(|members| members.len() == 4));
        let pieces =
            ["\"", "\\", ",", ":", "{", "}", "[", "]", "0", "-", ".", "e", " ", "\u{1}", "u"];
        let mut rng = Rng::new(9);
        let mut plain = 0;
        for _ in 0..60_000 {
            let text = damaged(base, &pieces, &mut rng);
            if let Some(members) = found(&text) {
                plain += 1;
                assert_eq!(Some(members), expected(&text), "{text}");
            }
        }
        assert!(plain > 5_000, "{plain}");
    }

    #[test]
    fn text_that_is_not_plain_returns_none() {
        let deep = |levels| ["{\"a\":", &"[".repeat(levels), &"]".repeat(levels), "}"].concat();
        assert!(found(&deep(MAX_DEPTH)).is_some());
        assert!(found(&deep(MAX_DEPTH + 1)).is_none());
        for text in
            ["", "[]", "{", "{}x", "{\"a\":01}", "{\"\\u0061\":1}", "{\"a\":1,}", "{\"a\":tru}"]
        {
            assert!(found(text).is_none(), "{text}");
        }
        assert_eq!(found(" {} "), Some(vec![]));
    }

    #[test]
    fn members_are_found_by_name_and_others_in_between() {
        let text = r#" {"id" : "a\n", "other":[1] ,"ids":"b","i":{},"id":7} rest"#;
        let (mut cursor, mut found) = (BorrowedReader::new(text), vec![]);
        let members = cursor.members(&["ids", "id"], |index, cursor| {
            found.push((index, cursor.value_or_string()?));
            Some(())
        });
        assert_eq!((members, cursor.rest(), cursor.end()), (Some(()), " rest", None));
        assert_eq!(
            found,
            [
                (Some(1), (r#""a\n""#, false)),
                (None, ("[1]", false)),
                (Some(0), (r#""b""#, true)),
                (None, ("{}", false)),
                (Some(1), ("7", false)),
            ]
        );
        assert_eq!(BorrowedReader::new("7").members(&["id"], |_, _| Some(())), None);
        assert_eq!(BorrowedReader::new(r#"{"id":7}"#).members(&["id"], |_, _| None), None);
        assert_eq!(BorrowedReader::new("\"a").value_or_string(), None);
    }

    #[test]
    fn a_plain_string_has_no_escapes() {
        for (text, expected) in [
            (r#""ab""#, Some("ab")),
            (r#""""#, Some("")),
            (r#""a\n""#, None),
            (r#""a"b""#, None),
            (r#"ab""#, None),
            (r#""ab"#, None),
        ] {
            assert_eq!(plain_string(text), expected, "{text}");
        }
    }
}
