//! Packing: base64 texts in a content, as the bytes that they encode.
//!
//! Arguments of calls and returned values are base64 in JSON. Its characters do not align with the
//! bytes that repeat, so zstd finds less in them: rows of real transactions become a tenth smaller.
//! A text is packed only if its bytes encode to exactly this text, so every content is restored. A
//! packed content is the length of a list, the list, and the content with bytes in place of these
//! texts; the list has, of each text, the number of bytes since the one before, and of its own.

use milepost::codec::base64::{Padding, decode, encode};

/// What comes before a text that may be base64: the member's name with its quotes and the colon
const MEMBERS: [&[u8]; 4] =
    [b"\"args\":\"", b"\"SuccessValue\":\"", b"\"data\":\"", b"\"code\":\""];
/// Characters of the shortest text that is packed: its bytes save more than its place in the list
const MIN_TEXT_LEN: usize = 24;
/// Bytes of the largest number: 28 bits, which no length of a content exceeds
const MAX_NUMBER_LEN: usize = 4;
/// By how much a packed content may be longer: the length of its list
pub(crate) const MAX_GROWTH: usize = MAX_NUMBER_LEN;

/// The packed content; `None` if there is no text to pack, or if it is longer than 256 MiB
pub(crate) fn pack(content: &[u8]) -> Option<Vec<u8>> {
    if content.len() >> (7 * MAX_NUMBER_LEN) != 0 {
        return None;
    }
    let (mut list, mut data) = (Vec::new(), Vec::with_capacity(content.len()));
    let (mut end, mut searched, mut data_end) = (0, 0, 0);
    while let Some((start, text)) = next_text(content, searched) {
        searched = start + text.len();
        let Some(bytes) = bytes_of(text) else { continue };
        data.extend_from_slice(content.get(end..start)?);
        push_number(&mut list, data.len() - data_end);
        push_number(&mut list, bytes.len());
        data.extend_from_slice(&bytes);
        (end, data_end) = (searched, data.len());
    }
    if list.is_empty() {
        return None;
    }
    data.extend_from_slice(content.get(end..)?);
    let mut packed = Vec::with_capacity(MAX_NUMBER_LEN + list.len() + data.len());
    push_number(&mut packed, list.len());
    packed.append(&mut list);
    packed.append(&mut data);
    Some(packed)
}

/// The content of this length that was packed; `None` if it is damaged
pub(crate) fn unpack(packed: &[u8], content_len: usize) -> Option<Vec<u8>> {
    let (list_len, rest) = split_number(packed)?;
    let (mut list, mut data) = rest.split_at_checked(list_len)?;
    let (mut content, mut text) = (Vec::with_capacity(content_len), String::new());
    while !list.is_empty() {
        let (before, after) = split_number(list)?;
        let (length, after) = split_number(after)?;
        let (plain, rest) = data.split_at_checked(before)?;
        let (bytes, rest) = rest.split_at_checked(length)?;
        text.clear();
        encode(bytes, &mut text);
        content.extend_from_slice(plain);
        content.extend_from_slice(text.as_bytes());
        // A damaged list makes it at most a third longer than what was packed.
        (list, data) = (after, rest);
    }
    content.extend_from_slice(data);
    (content.len() == content_len).then_some(content)
}

/// The next text from `from` on that one of the members has, and where it starts
fn next_text(content: &[u8], mut from: usize) -> Option<(usize, &[u8])> {
    loop {
        // The colon between a name and a text.
        let colon = from + content.get(from..)?.iter().position(|byte| *byte == b':')?;
        from = colon + 1;
        let start = from + 1;
        let before = content.get(..start)?;
        if MEMBERS.iter().any(|member| before.ends_with(member)) {
            let text = content.get(start..)?;
            let length = text.iter().position(|byte| *byte == b'"')?;
            return Some((start, text.get(..length)?));
        }
    }
}

/// The bytes that a text encodes, if it is long enough and the only text that encodes them
fn bytes_of(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() < MIN_TEXT_LEN {
        return None;
    }
    decode(core::str::from_utf8(text).ok()?, Padding::Required).ok()
}

/// Appends a number below 2^28: seven bits a byte, the lowest first, with a bit that more follow
fn push_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The number at the start, and what is after it
fn split_number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0;
    for (index, byte) in bytes.iter().take(MAX_NUMBER_LEN).enumerate() {
        number |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(index + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use milepost_testkit::Rng;

    use super::*;

    fn text_of(bytes: &[u8]) -> String {
        let mut text = String::new();
        encode(bytes, &mut text);
        text
    }

    #[test]
    fn base64_texts_are_packed_and_restored() {
        let long = text_of(&[7; 5_000]);
        for length in [18, 19, 20, 100, 127, 128, 20_000] {
            let args = text_of(&vec![b'a'; length]);
            let content = format!(
                r#"x{{"actions":[{{"FunctionCall":{{"args":"{args}","deposit":"1"}}}}],"code":"{long}","data":"{long}","status":{{"SuccessValue":"{args}"}}}}"#
            );
            let packed = pack(content.as_bytes()).unwrap();
            let saved = 2 * (args.len() - length) + 2 * (long.len() - 5_000);
            assert!(packed.len() <= content.len() - saved + 30, "{length}");
            assert_eq!(unpack(&packed, content.len()).unwrap(), content.as_bytes());
        }
    }

    #[test]
    fn other_texts_are_left_alone() {
        let hash = "4reLvkAWfqk5fsqio1KLudk46cqRz9erQdaHkWZKMJDZ";
        let (short, unpadded) = (text_of(b"fifteen bytes ."), text_of(&[1; 40]).replace('=', ""));
        // The last symbol has bits that encode nothing.
        let ambiguous = format!("{}B=", text_of(&[0; 20]).trim_end_matches("A="));
        for value in [short, unpadded, ambiguous, "not base64, but as long as one".to_owned()] {
            let content = format!(r#"{{"id":"{hash}","args":"{value}","logs":[":\"args\":\""]}}"#);
            assert_eq!(pack(content.as_bytes()), None, "{content}");
        }
        for content in [r#""args":"#, r#""args":""#, r#""args":"AAAA"#, ":", "", r#"":""#] {
            assert_eq!(pack(content.as_bytes()), None, "{content}");
        }
    }

    #[test]
    fn any_bytes_are_restored_and_not_much_longer() {
        let mut rng = Rng::new(5);
        let mut packed_contents = 0;
        for _ in 0..3_000 {
            let mut content = Vec::new();
            for _ in 0..rng.below(12) {
                match rng.below(4) {
                    0 => content.extend_from_slice(MEMBERS[rng.below(4) as usize]),
                    1 => content.extend((0..rng.below(60)).map(|_| rng.below(256) as u8)),
                    2 => content.extend_from_slice(b"\":"),
                    _ => {
                        let bytes: Vec<u8> =
                            (0..rng.below(90)).map(|_| rng.below(256) as u8).collect();
                        content.extend_from_slice(MEMBERS[rng.below(4) as usize]);
                        content.extend_from_slice(text_of(&bytes).as_bytes());
                        content.push(b'"');
                    }
                }
            }
            let Some(packed) = pack(&content) else { continue };
            packed_contents += 1;
            assert!(packed.len() <= content.len() + MAX_GROWTH);
            assert_eq!(unpack(&packed, content.len()).unwrap(), content);
            for length in [content.len() + 1, content.len() - 1, 0] {
                assert_eq!(unpack(&packed, length), None);
            }
        }
        assert!(packed_contents > 1_000, "{packed_contents}");
    }

    #[test]
    fn damaged_bytes_are_no_content_or_one_of_its_length() {
        let content = format!(r#"{{"args":"{}","data":null}}"#, text_of(&[9; 60]));
        let packed = pack(content.as_bytes()).unwrap();
        for end in 0..packed.len() {
            assert_eq!(unpack(&packed[..end], content.len()), None);
        }
        for index in 0..packed.len() {
            for bit in 0..8 {
                let mut damaged = packed.clone();
                damaged[index] ^= 1 << bit;
                let found = unpack(&damaged, content.len());
                assert!(found.is_none_or(|found| found.len() == content.len()));
            }
        }
        assert_eq!(unpack(&[0xff; 8], 8), None);
    }
}
