//! The members of a plain object, found in one pass over the text.
//!
//! Plain is what nearly every request is: keys without escapes, no more than [`MOST_LEVELS`] levels, and
//! no mistake in the grammar. Anything else is left to readers that are slower and say what is wrong.
//! So what is found here is what `serde_json` finds, and nothing here reports an error. Strings are
//! not decoded, numbers are not interpreted, nothing recurses and nothing is allocated.

use super::MOST_LEVELS;

/// Calls `found` with the key and the text of each member of the one object in `text`, in order;
/// none if the text is not plain, and then some members may have been found
///
/// ```
/// use milepost::codec::json::plain_members;
///
/// let mut found = Vec::new();
/// let read = plain_members(r#" {"a": [1, "]"], "b":{}} "#, |key, value| found.push((key, value)));
/// assert_eq!((read, &found[..]), (Some(()), &[("a", r#"[1, "]"]"#), ("b", "{}")][..]));
///
/// assert_eq!(plain_members(r#"{"a":1}}"#, |_, _| ()), None);
/// ```
pub fn plain_members<'text>(
    text: &'text str,
    mut found: impl FnMut(&'text str, &'text str),
) -> Option<()> {
    let bytes = text.as_bytes();
    let mut at = blanks(bytes, 0);
    if *bytes.get(at)? != b'{' {
        return None;
    }
    at = blanks(bytes, at + 1);
    if *bytes.get(at)? != b'}' {
        loop {
            let end = key_end(bytes, at)?;
            let key = text.get(at + 1..end - 1)?;
            if key.contains('\\') {
                return None;
            }
            let start = blanks(bytes, colon_end(bytes, end)?);
            at = value_end(bytes, start)?;
            found(key, text.get(start..at)?);
            at = blanks(bytes, at);
            match *bytes.get(at)? {
                b',' => at = blanks(bytes, at + 1),
                b'}' => break,
                _ => return None,
            }
        }
    }
    (blanks(bytes, at + 1) == bytes.len()).then_some(())
}

/// Where the value ends that begins here
fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    // A bit for each open array or object, the innermost lowest; set for an object.
    let (mut objects, mut levels) = (0_u128, 0);
    'value: loop {
        let first = *bytes.get(at)?;
        match first {
            b'{' | b'[' => {
                levels += 1;
                if levels > MOST_LEVELS {
                    return None;
                }
                let object = first == b'{';
                objects = objects << 1 | u128::from(object);
                at = blanks(bytes, at + 1);
                match (*bytes.get(at)?, object) {
                    (b'}', true) | (b']', false) => {}
                    (_, true) => {
                        at = blanks(bytes, colon_end(bytes, key_end(bytes, at)?)?);
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
            at = blanks(bytes, at);
            match (*bytes.get(at)?, objects & 1 == 1) {
                (b',', false) => {
                    at = blanks(bytes, at + 1);
                    continue 'value;
                }
                (b',', true) => {
                    let key = blanks(bytes, at + 1);
                    at = blanks(bytes, colon_end(bytes, key_end(bytes, key)?)?);
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
fn blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

#[inline]
fn key_end(bytes: &[u8], at: usize) -> Option<usize> {
    if *bytes.get(at)? == b'"' { string_end(bytes, at) } else { None }
}

/// Behind the colon that follows a key
#[inline]
fn colon_end(bytes: &[u8], at: usize) -> Option<usize> {
    let at = blanks(bytes, at);
    (*bytes.get(at)? == b':').then_some(at + 1)
}

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

/// Behind the string whose quote stands here
#[inline]
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += plain_run(bytes.get(at..)?);
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

/// How many bytes from the start need no look: neither quote, backslash nor control character
///
/// Eight bytes at a time: subtracting 1 from a zero byte, or 0x20 from a smaller one, borrows into
/// its top bit; a borrow can only mark bytes above the first true hit, and the first is what counts.
/// Most strings are short, hashes among them; a longer one goes on by 32 bytes, in a form that
/// compilers turn into vector instructions.
#[inline]
pub(super) fn plain_run(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    const LONG: usize = 64;
    let mut length = 0;
    let mut rest = bytes;
    while let Some((chunk, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * 0x22);
        let backslash = word ^ (ONES * 0x5c);
        let hits = ((word.wrapping_sub(ONES * 0x20) & !word)
            | (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash))
            & TOPS;
        if hits != 0 {
            return length + hits.trailing_zeros() as usize / 8;
        }
        length += 8;
        rest = after;
        if length == LONG {
            let (chunks, _) = rest.as_chunks::<32>();
            let run = chunks.iter().take_while(|chunk| is_plain(chunk)).count() * 32;
            length += run;
            rest = rest.get(run..).unwrap_or_default();
        }
    }
    length + rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count()
}

fn is_plain(chunk: &[u8; 32]) -> bool {
    let stops = |byte: u8| u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte < 0x20);
    // Bytes, and no way out before the end: so it becomes a few vector instructions.
    chunk.iter().fold(0, |stop, byte| stop | stops(*byte)) == 0
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};
    use alloc::vec;
    use alloc::vec::Vec;

    use serde::Deserializer as _;
    use serde::de::{MapAccess, Visitor};
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn a_run_stops_at_the_first_byte_that_matters() {
        for length in 0..140_usize {
            for stop in [0_u8, 0x1f, b'"', b'\\'] {
                let mut bytes = vec![0x7f_u8; 144];
                bytes[0] = 0xff;
                bytes[length] = stop;
                bytes[length + 1] = b'"';
                assert_eq!(plain_run(&bytes), length, "{stop}");
                assert_eq!(plain_run(&bytes[..length]), length);
            }
        }
        assert_eq!(plain_run(&[0x80, 0xa0, 0x21, 0x23, 0x5b, 0x5d, 0xdc, 0xa2, 0x20]), 9);
    }

    /// The members as `serde_json` finds them
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
        let member = |key: &str, value: &str| members.push((key.to_string(), value.to_string()));
        plain_members(text, member).map(|()| members)
    }

    #[test]
    fn what_is_found_serde_json_finds_as_well() {
        let base = r#"{"id": "7\n\u00e9", "jsonrpc":"2.0", "params":{"a":[-1.5e+3,0, true , null,[]],
            "long":"0123456789012345678901234567890123456789é012345678901234","b":{ }},"x":false}"#;
        assert_eq!(found(base), expected(base));
        assert!(found(base).is_some_and(|members| members.len() == 4));
        let pieces =
            ["\"", "\\", ",", ":", "{", "}", "[", "]", "0", "-", ".", "e", " ", "\u{1}", "u"];
        // xorshift64 (Marsaglia 2003)
        let mut state = 9_u64;
        let mut random = |limit: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % limit as u64) as usize
        };
        let mut plain = 0;
        for _ in 0..60_000 {
            let mut text = base.to_string();
            for _ in 0..=random(3) {
                let at = text.floor_char_boundary(random(text.len()));
                if random(2) == 0 {
                    text.remove(at);
                }
                if random(2) == 0 {
                    text.insert_str(at, pieces[random(pieces.len())]);
                }
            }
            if let Some(members) = found(&text) {
                plain += 1;
                assert_eq!(Some(members), expected(&text), "{text}");
            }
        }
        assert!(plain > 5_000, "{plain}");
    }

    #[test]
    fn what_is_not_plain_is_left_to_others() {
        let deep = |levels| ["{\"a\":", &"[".repeat(levels), &"]".repeat(levels), "}"].concat();
        assert!(found(&deep(MOST_LEVELS)).is_some());
        assert!(found(&deep(MOST_LEVELS + 1)).is_none());
        for text in
            ["", "[]", "{", "{}x", "{\"a\":01}", "{\"\\u0061\":1}", "{\"a\":1,}", "{\"a\":tru}"]
        {
            assert!(found(text).is_none(), "{text}");
        }
        assert_eq!(found(" {} "), Some(vec![]));
    }
}
