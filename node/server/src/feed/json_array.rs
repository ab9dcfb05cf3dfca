//! The items of a JSON array in a file: where each of them starts and ends.
//!
//! The file is read once, in pieces, so an array may be larger than memory. Only strings and the
//! depth of brackets are looked at; whether an item is JSON is checked by who reads it. There is no
//! recursion, whatever the nesting.

use core::ops::Range;
use std::io::{self, BufRead};

/// The byte ranges of the items of an array
///
/// # Errors
///
/// The I/O errors of the reader; `InvalidData` if the text is no array, or not a whole one.
pub(super) fn items(mut reader: impl BufRead) -> io::Result<Vec<Range<u64>>> {
    let mut scan = Scan::default();
    loop {
        let bytes = reader.fill_buf()?;
        let length = bytes.len();
        if length == 0 {
            break;
        }
        for byte in bytes {
            scan.step(*byte)?;
        }
        reader.consume(length);
    }
    if !scan.is_complete {
        return Err(invalid(scan.position, "the array does not end"));
    }
    Ok(scan.items)
}

/// The state between two bytes of the text
#[derive(Default)]
struct Scan {
    position: u64,
    /// Open brackets; 1 between the items
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    /// Without the white space around it
    item: Option<Range<u64>>,
    items: Vec<Range<u64>>,
    is_complete: bool,
}

impl Scan {
    fn step(&mut self, byte: u8) -> io::Result<()> {
        let position = self.position;
        self.position += 1;
        if self.in_string {
            self.extend_item(position);
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return Ok(());
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => return Ok(()),
            _ if self.is_complete => return Err(invalid(position, "text after the array")),
            b'[' if self.depth == 0 => {
                self.depth = 1;
                return Ok(());
            }
            _ if self.depth == 0 => return Err(invalid(position, "expected an array")),
            b',' if self.depth == 1 => return self.end_item(position),
            b']' if self.depth == 1 => {
                self.is_complete = true;
                // An array without items has nothing to end.
                let is_empty = self.items.is_empty() && self.item.is_none();
                return if is_empty { Ok(()) } else { self.end_item(position) };
            }
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' if self.depth > 1 => self.depth -= 1,
            b'"' => self.in_string = true,
            _ => {}
        }
        self.extend_item(position);
        Ok(())
    }

    fn extend_item(&mut self, position: u64) {
        self.item.get_or_insert(position..position).end = position + 1;
    }

    fn end_item(&mut self, position: u64) -> io::Result<()> {
        let item = self.item.take().ok_or_else(|| invalid(position, "expected a value"))?;
        self.items.push(item);
        Ok(())
    }
}

fn invalid(position: u64, text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("byte {position}: {text}"))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::items;

    /// The items of a text, read in pieces of one byte
    fn texts(text: &str) -> Result<Vec<&str>, String> {
        let reader = BufReader::with_capacity(1, text.as_bytes());
        let items = items(reader).map_err(|error| error.to_string())?;
        Ok(items.iter().map(|item| &text[item.start as usize..item.end as usize]).collect())
    }

    #[test]
    fn items_are_found_without_the_white_space_around_them() {
        assert_eq!(texts(" [\n] "), Ok(vec![]));
        assert_eq!(texts("[1]"), Ok(vec!["1"]));
        assert_eq!(
            texts(r#"[ {"a": [1, 2], "b": "]}\"\\"} ,null, "," ,[[]] ]"#),
            Ok(vec![r#"{"a": [1, 2], "b": "]}\"\\"}"#, "null", r#"",""#, "[[]]"])
        );
        let deep = format!("[{}{}]", "[".repeat(1 << 20), "]".repeat(1 << 20));
        assert_eq!(texts(&deep).map(|items| items.len()), Ok(1));
    }

    #[test]
    fn a_text_that_is_not_a_whole_array_is_refused_with_the_place() {
        for (text, expected) in [
            ("", "byte 0: the array does not end"),
            ("[{}", "byte 3: the array does not end"),
            ("[\"]", "byte 3: the array does not end"),
            (" {}", "byte 1: expected an array"),
            ("[1,]", "byte 3: expected a value"),
            ("[,1]", "byte 1: expected a value"),
            ("[1] 2", "byte 4: text after the array"),
        ] {
            assert_eq!(texts(text), Err(expected.to_owned()), "{text}");
        }
    }
}
