//! A cursor over plain JSON: finds objects, arrays and values in one pass and borrows them.
//!
//! "Plain" text has keys without escapes, at most [`MAX_DEPTH`] levels and no syntax error, as
//! nearly every request has. For any other text the cursor returns `None`, and a slower reader
//! reports the error. What is found here is what `serde_json` finds. Strings are not decoded,
//! numbers are not interpreted, nothing recurses and nothing allocates.

use super::depth::MAX_DEPTH;

/// The content between the quotes of a string that has no escapes
pub fn plain_string(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    (run_end(inside.as_bytes(), 0) == inside.len()).then_some(inside)
}

/// A cursor over JSON text that is assumed to be plain
///
/// A method finds what `serde_json` finds or returns `None`; some members may have been visited
/// before that.
pub struct BorrowedReader<'text> {
    text: &'text str,
    at: usize,
}

impl<'text> BorrowedReader<'text> {
    /// A cursor at the start of a text
    pub const fn new(text: &'text str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads the object here; `member` must move past the value of each key
    #[inline]
    pub fn object(
        &mut self,
        mut member: impl FnMut(&'text str, &mut Self) -> Option<()>,
    ) -> Option<()> {
        self.list(b'{', b'}', |cursor| {
            let key = cursor.key()?;
            member(key, cursor)
        })
    }

    /// Reads the object here; `member` gets the index of each key in `names`, or `None` for other
    /// keys, and must move past the value
    #[inline]
    pub fn members<const N: usize>(
        &mut self,
        names: &[&str; N],
        mut member: impl FnMut(Option<usize>, &mut Self) -> Option<()>,
    ) -> Option<()> {
        self.list(b'{', b'}', |cursor| {
            // The key is compared in place: the processor predicts which name matches and goes on
            // from its end before a search for the closing quote would have finished.
            let rest = cursor.text.as_bytes().get(cursor.at..)?.strip_prefix(b"\"")?;
            let index = names.iter().position(|name| {
                let after = rest.strip_prefix(name.as_bytes());
                after.is_some_and(|after| after.first() == Some(&b'"'))
            });
            match index.and_then(|index| names.get(index)) {
                Some(name) => cursor.go_to_value(cursor.at + 1 + name.len())?,
                None => cursor.key().map(drop)?,
            }
            member(index, cursor)
        })
    }

    /// Reads the key here and its colon, and returns the key
    #[inline]
    fn key(&mut self) -> Option<&'text str> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        if *bytes.get(self.at)? != b'"' {
            return None;
        }
        // A run also ends at a backslash, and then the key is not plain.
        let end = run_end(bytes, start);
        if *bytes.get(end)? != b'"' {
            return None;
        }
        let key = self.text.get(start..end)?;
        self.go_to_value(end)?;
        Some(key)
    }

    /// Moves past the colon that follows a key, whose closing quote is at `quote`
    #[inline]
    fn go_to_value(&mut self, quote: usize) -> Option<()> {
        let bytes = self.text.as_bytes();
        self.at = skip_whitespace(bytes, colon_end(bytes, quote + 1)?);
        Some(())
    }

    #[inline]
    fn list(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        let bytes = self.text.as_bytes();
        self.at = skip_whitespace(bytes, self.at);
        if *bytes.get(self.at)? != open {
            return None;
        }
        self.at = skip_whitespace(bytes, self.at + 1);
        if *bytes.get(self.at)? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            self.at = skip_whitespace(bytes, self.at);
            let byte = *bytes.get(self.at)?;
            self.at += 1;
            if byte == close {
                return Some(());
            }
            if byte != b',' {
                return None;
            }
            self.at = skip_whitespace(bytes, self.at);
        }
    }

    /// Reads the value here and returns its text
    #[inline]
    pub fn value(&mut self) -> Option<&'text str> {
        let start = self.at;
        self.at = value_end(self.text.as_bytes(), start)?;
        self.text.get(start..self.at)
    }

    /// Reads the value here; returns its text and whether it is a string without escapes
    #[inline]
    pub fn value_or_string(&mut self) -> Option<(&'text str, bool)> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        if bytes.get(start) == Some(&b'"') {
            let end = run_end(bytes, start + 1);
            if bytes.get(end) == Some(&b'"') {
                self.at = end + 1;
                return self.text.get(start..self.at).map(|text| (text, true));
            }
        }
        self.value().map(|text| (text, false))
    }

    /// The text from the cursor on
    pub fn rest(&self) -> &'text str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// `Some` if only whitespace is left
    pub fn end(&self) -> Option<()> {
        let bytes = self.text.as_bytes();
        (skip_whitespace(bytes, self.at) == bytes.len()).then_some(())
    }
}

/// The end of the value that starts at `at`
fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    // One bit per open array or object, the innermost lowest; set for an object.
    let (mut objects, mut levels) = (0_u128, 0);
    'value: loop {
        let first = *bytes.get(at)?;
        match first {
            b'{' | b'[' => {
                levels += 1;
                if levels > MAX_DEPTH {
                    return None;
                }
                let object = first == b'{';
                objects = objects << 1 | u128::from(object);
                at = skip_whitespace(bytes, at + 1);
                match (*bytes.get(at)?, object) {
                    (b'}', true) | (b']', false) => {}
                    (_, true) => {
                        at = skip_whitespace(bytes, colon_end(bytes, key_end(bytes, at)?)?);
                        continue 'value;
                    }
                    (_, false) => continue 'value,
                }
            }
            b'"' => at = string_end(bytes, at)?,
            b'-' | b'0'..=b'9' => at = number_end(bytes, at)?,
            b't' => at = word_end(bytes, at, b"true")?,
            b'f' => at = word_end(bytes, at, b"false")?,
            b'n' => at = word_end(bytes, at, b"null")?,
            _ => return None,
        }
        while levels > 0 {
            at = skip_whitespace(bytes, at);
            match (*bytes.get(at)?, objects & 1 == 1) {
                (b',', false) => {
                    at = skip_whitespace(bytes, at + 1);
                    continue 'value;
                }
                (b',', true) => {
                    let key = skip_whitespace(bytes, at + 1);
                    at = skip_whitespace(bytes, colon_end(bytes, key_end(bytes, key)?)?);
                    continue 'value;
                }
                (b']', false) | (b'}', true) => {
                    levels -= 1;
                    objects >>= 1;
                    at += 1;
                }
                _ => return None,
            }
        }
        return Some(at);
    }
}

#[inline]
fn skip_whitespace(bytes: &[u8], mut at: usize) -> usize {
    // One comparison in the common case of no whitespace.
    while bytes.get(at).is_some_and(|byte| *byte <= b' ') {
        if !matches!(bytes[at], b' ' | b'\n' | b'\r' | b'\t') {
            break;
        }
        at += 1;
    }
    at
}

#[inline]
fn key_end(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? == b'"' { string_end(bytes, at) } else { None }
}

/// The offset after the colon that follows a key
#[inline]
fn colon_end(bytes: &[u8], at: usize) -> Option<usize> {
    let at = skip_whitespace(bytes, at);
    (*bytes.get(at)? == b':').then_some(at + 1)
}

#[inline]
fn word_end(bytes: &[u8], at: usize, word: &[u8]) -> Option<usize> {
    bytes.get(at..)?.starts_with(word).then_some(at + word.len())
}

fn number_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    at = match bytes.get(at)? {
        b'0' => at + 1,
        _ => digits_end(bytes, at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits_end(bytes, at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = digits_end(bytes, at)?;
    }
    Some(at)
}

fn digits_end(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then_some(at + digits)
}

/// The offset after the string whose opening quote is at `at`
#[inline]
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at = run_end(bytes, at);
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match *bytes.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                b'u' => {
                    let digits = bytes.get(at + 2..at + 6)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    at += 6;
                }
                _ => return None,
            },
            _ => return None,
        }
    }
}

/// The offset of the next quote, backslash or control character, or the end of the text
///
/// Sixteen bytes at a time, see [`stops`]; most strings are short, for example hashes.
#[inline]
pub(super) fn run_end(bytes: &[u8], mut at: usize) -> usize {
    const ROUNDS: usize = 4;
    for _ in 0..ROUNDS {
        let Some([first, second]) = words(bytes, at) else {
            return last_run_end(bytes, at);
        };
        let stops_first = stops(first);
        if stops_first != 0 {
            return at + stops_first.trailing_zeros() as usize / 8;
        }
        let stops_second = stops(second);
        if stops_second != 0 {
            return at + 8 + stops_second.trailing_zeros() as usize / 8;
        }
        at += 16;
    }
    long_run_end(bytes, at)
}

/// The next `N` words, or `None` if fewer are left
#[inline]
fn words<const N: usize>(bytes: &[u8], at: usize) -> Option<[u64; N]> {
    let (words, _) = bytes.get(at..)?.as_chunks::<8>();
    words.first_chunk::<N>().map(|words| words.map(u64::from_le_bytes))
}

/// The end of a long run: steps of 128 bytes, then of 32, in a form that compilers vectorize
fn long_run_end(bytes: &[u8], at: usize) -> usize {
    let at = at + plain_chunks::<128>(bytes.get(at..).unwrap_or_default());
    let at = at + plain_chunks::<32>(bytes.get(at..).unwrap_or_default());
    last_run_end(bytes, at)
}

/// The length of the leading chunks of `N` bytes that are all plain
fn plain_chunks<const N: usize>(bytes: &[u8]) -> usize {
    let (chunks, _) = bytes.as_chunks::<N>();
    chunks.iter().take_while(|chunk| is_plain(chunk)).count() * N
}

/// The end of a run in the last bytes of a text
#[cold]
fn last_run_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some([word]) = words(bytes, at) {
        let stops = stops(word);
        if stops != 0 {
            return at + stops.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count()
}

/// Sets the top bit of each byte that is a quote, a backslash or a control character; bits above
/// the lowest one set may be wrong
///
/// Subtracting 1 from a zero byte, or 0x21 from a smaller one, borrows into its top bit; a borrow
/// can only mark bytes above the first true hit. With the bit 0x02 flipped, the quote is 0x20 and
/// spaces and exclamation marks are above it, so one subtraction finds it with the control
/// characters.
#[inline]
const fn stops(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let low = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * 0x5c)).wrapping_sub(ONES);
    (low | backslash) & !word & (ONES * 0x80)
}

fn is_plain<const N: usize>(chunk: &[u8; N]) -> bool {
    // No early exit, and one bit for all bytes, so that it becomes a few vector instructions. With
    // the bit 0x02 flipped, the quote is 0x20 and spaces and exclamation marks are above it.
    let stops = |byte: u8| u8::from(byte ^ 0x02 <= 0x20) | u8::from(byte == b'\\');
    chunk.iter().fold(0, |any, byte| any | stops(*byte)) == 0
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

    #[test]
    fn a_run_ends_at_the_first_special_byte() {
        for length in 0..400_usize {
            for stop in [0_u8, 0x1f, b'"', b'\\'] {
                let mut bytes = vec![0x7f_u8; 404];
                bytes[0] = 0xff;
                bytes[length] = stop;
                bytes[length + 1] = b'"';
                assert_eq!(run_end(&bytes, 0), length, "{stop}");
                assert_eq!(run_end(&bytes[..length], length / 3), length);
            }
        }
        assert_eq!(run_end(&[0x80, 0xa0, 0x21, 0x23, 0x5b, 0x5d, 0xdc, 0xa2, 0x20], 0), 9);
    }

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
        cursor.object(|key, cursor| {
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
}
