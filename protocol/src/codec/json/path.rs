//! The path of an offset in a JSON text, such as `shards[1].chunk.receipts[0]`, for errors.
//!
//! The scan goes from the start of the text to the offset. It checks nothing, because the text was
//! rejected already. The number of levels and the length of a key are limited.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::depth::MAX_DEPTH;

/// Maximum length of a key in a path, in bytes
const MAX_KEY_LEN: usize = 64;

/// An open array or object
enum Level {
    Array { index: usize },
    Object { key: Option<(usize, usize)> },
}

/// The path of the value that a reader is at after `offset` bytes of `text`
///
/// That is the value that ends there, or else the value that is being read or is about to begin. A
/// member begins after its key. The text may be malformed. The path of the root is empty; keys
/// longer than 64 bytes and levels beyond 127 are shown as `…`.
///
/// ```
/// use milepost_protocol::codec::json::path_at;
///
/// let text = br#"{"a": [1, {"b": 2}]}"#;
/// assert_eq!(path_at(text, 7), "a[0]");
/// assert_eq!(path_at(text, 16), "a[1].b");
/// assert_eq!(path_at(text, 18), "a[1]");
/// assert_eq!(path_at(text, 20), "");
/// ```
pub fn path_at(text: &[u8], offset: usize) -> String {
    let text_read = &text[..offset.min(text.len())];
    let mut levels: Vec<Level> = Vec::new();
    // The number of open levels that are too deep to be in the path.
    let mut hidden_levels = 0_usize;
    let mut at = 0;
    while let Some(&byte) = text_read.get(at) {
        at += 1;
        match byte {
            b'"' => {
                let begin = at;
                let closed = loop {
                    match text_read.get(at) {
                        Some(b'"') => break true,
                        Some(b'\\') => at += 2,
                        Some(_) => at += 1,
                        None => break false,
                    }
                };
                if let Some(Level::Object { key: key @ None }) = levels.last_mut()
                    && hidden_levels == 0
                    && closed
                {
                    *key = Some((begin, at));
                }
                at += 1;
            }
            b'{' | b'[' if levels.len() == MAX_DEPTH => hidden_levels += 1,
            b'{' => levels.push(Level::Object { key: None }),
            b'[' => levels.push(Level::Array { index: 0 }),
            b'}' | b']' if hidden_levels > 0 => hidden_levels -= 1,
            b'}' | b']' => drop(levels.pop()),
            b',' if hidden_levels == 0 => match levels.last_mut() {
                Some(Level::Array { index }) => *index += 1,
                Some(Level::Object { key }) => *key = None,
                None => {}
            },
            _ => {}
        }
    }
    render(text, &levels, hidden_levels > 0)
}

fn render(text: &[u8], levels: &[Level], truncated: bool) -> String {
    let mut path = String::new();
    for level in levels {
        match level {
            Level::Array { index } => {
                // Writing to a string cannot fail.
                let _ = write!(path, "[{index}]");
            }
            Level::Object { key: Some((begin, end)) } => push_key(&mut path, &text[*begin..*end]),
            Level::Object { key: None } => {}
        }
    }
    if truncated {
        path.push('…');
    }
    path
}

/// Appends `.key`, or `["key"]` when the key is not a plain word
fn push_key(path: &mut String, key: &[u8]) {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let key_text = String::from_utf8_lossy(&key[..key.len().min(MAX_KEY_LEN)]);
    let key_text =
        if key.len() > MAX_KEY_LEN { key_text.trim_end_matches('\u{fffd}') } else { &key_text };
    let ellipsis = if key.len() > MAX_KEY_LEN { "…" } else { "" };
    if !key.is_empty() && key.iter().take(MAX_KEY_LEN).all(plain) {
        let dot = if path.is_empty() { "" } else { "." };
        let _ = write!(path, "{dot}{key_text}{ellipsis}");
    } else {
        let _ = write!(path, "[\"{key_text}{ellipsis}\"]");
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    fn at(text: &str, offset: usize) -> String {
        path_at(text.as_bytes(), offset)
    }

    #[test]
    fn a_path_names_a_value_from_the_end_of_its_key_to_its_end() {
        let text = r#"{"shards":[{},{"chunk":{"receipts":[{"receipt":"x"}]}}]}"#;
        let end = text.find("\"x\"").unwrap() + 3;
        assert_eq!(at(text, end), "shards[1].chunk.receipts[0].receipt");
        assert_eq!(at(text, end - 2), "shards[1].chunk.receipts[0].receipt");
        assert_eq!(at(text, end + 1), "shards[1].chunk.receipts[0]");
        assert_eq!(at(text, 1), "");
        assert_eq!(at(text, 9), "shards");
        assert_eq!(at(text, 4), "");
        assert_eq!(at(text, usize::MAX), "");
    }

    #[test]
    fn malformed_text_has_paths_too() {
        assert_eq!(at("]}],,{\"a\":", 10), "a");
        assert_eq!(at("[1,[\"\\", 6), "[1][0]");
        assert_eq!(at("{\"a.b\":\"", 8), "[\"a.b\"]");
        assert_eq!(path_at(b"{\"\xff\":1", 6), "[\"\u{fffd}\"]");
        assert_eq!(at("", 7), "");
    }

    #[test]
    fn depth_and_keys_are_bounded() {
        let deep = vec![b'['; 1_000_000];
        assert_eq!(path_at(&deep, deep.len()), "[0]".repeat(MAX_DEPTH) + "…");
        let long = "{\"".to_string() + &"k".repeat(100_000) + "\":1";
        assert_eq!(at(&long, long.len()), "k".repeat(64) + "…");
        // A character of two bytes that the limit splits is left out.
        let split = "{\"".to_string() + &"k".repeat(63) + "ééé\":1";
        assert_eq!(at(&split, split.len()), "[\"".to_string() + &"k".repeat(63) + "…\"]");
    }

    #[test]
    fn a_key_is_shortened_and_items_are_not_counted_below_the_limit_of_levels() {
        for (length, expected) in [(64, "k".repeat(64)), (65, "k".repeat(64) + "…")] {
            let text = ["{\"", &"k".repeat(length), "\":1"].concat();
            assert_eq!(at(&text, usize::MAX), expected, "{length}");
        }
        // The innermost level is hidden; the comma there is not one of the level that is shown.
        let text = ["[0,".repeat(MAX_DEPTH), "[1,2,".into()].concat();
        assert_eq!(at(&text, usize::MAX), "[1]".repeat(MAX_DEPTH) + "…");
    }
}
