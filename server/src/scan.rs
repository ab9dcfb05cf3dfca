//! One scalar out of a JSON text, without reading the rest into memory.
//!
//! Feeds order files by the height in their headers, and metrics tell requests apart by their
//! method; neither needs the whole text parsed. The scan goes over the bytes once, keeps no more
//! than a key or a scalar, and counts nesting instead of recursing. It checks no more of the text than
//! it must walk over: the engine judges texts, this only finds one place in them.

use std::io::{self, BufRead};

/// The longest key or scalar that is looked at; heights have 20 digits and methods fewer than 40
const LONGEST: usize = 64;

/// The scalar at this path of object members: the text of a number, `true`, `false`, `null`, or
/// what is between the quotes of a string
///
/// `None` when it is not there, is no scalar, is longer than 64 bytes, or the text is no JSON.
///
/// # Errors
///
/// Those of the reader.
pub(crate) fn scalar_at(reader: impl BufRead, path: &[&str]) -> io::Result<Option<String>> {
    let mut scan = Scan { reader };
    let mut word = Vec::with_capacity(LONGEST);
    for name in path {
        if !scan.enter_member(name, &mut word)? {
            return Ok(None);
        }
    }
    let whole = match scan.peek_mark()? {
        Some(b'"') => {
            scan.bump();
            scan.string(&mut word)?
        }
        Some(b'{' | b'[') | None => false,
        Some(_) => scan.bare(&mut word)?,
    };
    Ok(if whole { String::from_utf8(word).ok() } else { None })
}

struct Scan<R> {
    reader: R,
}

impl<R: BufRead> Scan<R> {
    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.reader.fill_buf() {
                Ok(buffer) => return Ok(buffer.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn bump(&mut self) {
        self.reader.consume(1);
    }

    fn next(&mut self) -> io::Result<Option<u8>> {
        let byte = self.peek()?;
        if byte.is_some() {
            self.bump();
        }
        Ok(byte)
    }

    /// The next byte that is no white space, left in place
    fn peek_mark(&mut self) -> io::Result<Option<u8>> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek()? {
            self.bump();
        }
        self.peek()
    }

    /// Takes the next mark if it is this one
    fn take(&mut self, mark: u8) -> io::Result<bool> {
        let found = self.peek_mark()? == Some(mark);
        if found {
            self.bump();
        }
        Ok(found)
    }

    /// Goes to the value of this member of the object that starts here
    fn enter_member(&mut self, name: &str, word: &mut Vec<u8>) -> io::Result<bool> {
        if !self.take(b'{')? {
            return Ok(false);
        }
        loop {
            if !self.take(b'"')? {
                return Ok(false);
            }
            let whole = self.string(word)?;
            if !self.take(b':')? {
                return Ok(false);
            }
            if whole && word.as_slice() == name.as_bytes() {
                return Ok(true);
            }
            if !self.skip_value()? || !self.take(b',')? {
                return Ok(false);
            }
        }
    }

    /// Reads the rest of a string into `word`; false when it is too long to keep or never ends
    fn string(&mut self, word: &mut Vec<u8>) -> io::Result<bool> {
        word.clear();
        let mut fits = true;
        loop {
            let Some(byte) = self.next()? else { return Ok(false) };
            let escaped = match byte {
                b'"' => return Ok(fits),
                b'\\' => self.next()?,
                _ => None,
            };
            fits &= word.len() + 2 <= LONGEST;
            if fits {
                word.push(byte);
                word.extend(escaped);
            }
        }
    }

    /// Reads a scalar without quotes into `word`; false when it is too long to keep
    fn bare(&mut self, word: &mut Vec<u8>) -> io::Result<bool> {
        word.clear();
        while let Some(byte) = self.peek()? {
            if matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n') {
                break;
            }
            if word.len() == LONGEST {
                return Ok(false);
            }
            word.push(byte);
            self.bump();
        }
        Ok(!word.is_empty())
    }

    /// Skips one value with everything in it; false when the text ends before the value does
    fn skip_value(&mut self) -> io::Result<bool> {
        let mut depth = 0usize;
        let mut word = Vec::new();
        loop {
            match self.peek_mark()? {
                None => return Ok(false),
                Some(b'"') => {
                    self.bump();
                    self.string(&mut word)?;
                }
                Some(b'{' | b'[') => {
                    self.bump();
                    depth += 1;
                }
                Some(b'}' | b']') => {
                    // The end of the enclosing object where a value should be: no JSON.
                    let Some(rest) = depth.checked_sub(1) else { return Ok(false) };
                    self.bump();
                    depth = rest;
                }
                Some(b',' | b':') if depth > 0 => {
                    self.bump();
                    continue;
                }
                Some(b',' | b':') => return Ok(false),
                Some(_) => while_bare(self)?,
            }
            if depth == 0 {
                return Ok(true);
            }
        }
    }
}

/// Skips a scalar without quotes, however long
fn while_bare<R: BufRead>(scan: &mut Scan<R>) -> io::Result<()> {
    while let Some(byte) = scan.peek()? {
        if matches!(
            byte,
            b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'{' | b'[' | b':'
        ) {
            break;
        }
        scan.bump();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn height(text: &str) -> Option<String> {
        scalar_at(text.as_bytes(), &["block", "header", "height"]).unwrap()
    }

    #[test]
    fn the_scalar_is_found_behind_anything() {
        assert_eq!(height(r#"{"block":{"header":{"height":7}}}"#).as_deref(), Some("7"));
        let text = r#" { "shards" : [ {"height":1,"block":{"header":{"height":2}}}, [[]], "}\"{", -1.5e3, null ],
            "block" : { "author":"a\\", "chunks":[], "header" : { "x":{}, "height" : 18446744073709551615 } } }"#;
        assert_eq!(height(text).as_deref(), Some("18446744073709551615"));
        let method =
            scalar_at(&br#"{"id":[{"method":1}],"method":"tx"}"#[..], &["method"]).unwrap();
        assert_eq!(method.as_deref(), Some("tx"));
    }

    #[test]
    fn what_is_not_there_is_none() {
        for text in [
            "",
            "[]",
            "{}",
            "{",
            r#"{"block"}"#,
            r#"{"block":}"#,
            r#"{"block":7}"#,
            r#"{"block":{"header":{}}}"#,
            r#"{"block":{"header":{"height":{}}}}"#,
            r#"{"block":{"header":{"height":"#,
            r#"{"a":[[[[[[[["#,
            r#"{"a":]}"#,
            r#"{"a":1 2,"block":{"header":{"height":1}}}"#,
        ] {
            assert_eq!(height(text), None, "{text}");
        }
    }

    #[test]
    fn long_words_and_deep_nesting_cost_no_memory_and_no_stack() {
        let deep = format!(
            r#"{{"a":{}{},"block":{{"header":{{"height":3}}}}}}"#,
            "[".repeat(1 << 20),
            "]".repeat(1 << 20)
        );
        assert_eq!(height(&deep).as_deref(), Some("3"));
        let long = format!(r#"{{"block":{{"header":{{"height":{}}}}}}}"#, "1".repeat(1 << 20));
        assert_eq!(height(&long), None);
    }
}
