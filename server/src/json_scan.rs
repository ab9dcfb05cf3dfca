//! Finds one scalar in a JSON text without reading the rest into memory.
//!
//! Feeds order files by the height in their headers, which does not need the whole text parsed. The
//! scan reads the bytes once, keeps no more than one key or scalar, and counts nesting instead of
//! recursing. It does not validate the text; the engine does.

use std::io::{self, BufRead};

/// Maximum length of a key or scalar, in bytes; heights have up to 20 digits
const MAX_LEN: usize = 64;

/// The scalar at this path of object members: the text of a number, `true`, `false` or `null`, or
/// the raw text between the quotes of a string
///
/// `None` if it is missing, not a scalar or longer than 64 bytes, or if the text is not JSON.
///
/// # Errors
///
/// The I/O errors of the reader.
pub(crate) fn scalar_at(reader: impl BufRead, path: &[&str]) -> io::Result<Option<String>> {
    let mut scanner = Scanner { reader };
    let mut token = Vec::with_capacity(MAX_LEN);
    for name in path {
        if !scanner.enter_member(name, &mut token)? {
            return Ok(None);
        }
    }
    let complete = match scanner.peek_token()? {
        Some(b'"') => {
            scanner.bump();
            scanner.string(&mut token)?
        }
        Some(b'{' | b'[') | None => false,
        Some(_) => scanner.literal(&mut token)?,
    };
    Ok(if complete { String::from_utf8(token).ok() } else { None })
}

struct Scanner<R> {
    reader: R,
}

impl<R: BufRead> Scanner<R> {
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

    /// Skips white space and returns the next byte without consuming it
    fn peek_token(&mut self) -> io::Result<Option<u8>> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek()? {
            self.bump();
        }
        self.peek()
    }

    /// Consumes the next token if it starts with this byte
    fn take(&mut self, byte: u8) -> io::Result<bool> {
        let found = self.peek_token()? == Some(byte);
        if found {
            self.bump();
        }
        Ok(found)
    }

    /// Advances to the value of this member of the object that starts here
    fn enter_member(&mut self, name: &str, token: &mut Vec<u8>) -> io::Result<bool> {
        if !self.take(b'{')? {
            return Ok(false);
        }
        loop {
            if !self.take(b'"')? {
                return Ok(false);
            }
            let complete = self.string(token)?;
            if !self.take(b':')? {
                return Ok(false);
            }
            if complete && token.as_slice() == name.as_bytes() {
                return Ok(true);
            }
            if !self.skip_value()? || !self.take(b',')? {
                return Ok(false);
            }
        }
    }

    /// Reads the rest of a string into `token`; false if it is too long or not terminated
    fn string(&mut self, token: &mut Vec<u8>) -> io::Result<bool> {
        token.clear();
        let mut fits = true;
        loop {
            let Some(byte) = self.next()? else { return Ok(false) };
            let escaped = match byte {
                b'"' => return Ok(fits),
                b'\\' => self.next()?,
                _ => None,
            };
            fits &= token.len() + 2 <= MAX_LEN;
            if fits {
                token.push(byte);
                token.extend(escaped);
            }
        }
    }

    /// Reads a number, `true`, `false` or `null` into `token`; false if it is too long
    fn literal(&mut self, token: &mut Vec<u8>) -> io::Result<bool> {
        token.clear();
        while let Some(byte) = self.peek()? {
            if matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n') {
                break;
            }
            if token.len() == MAX_LEN {
                return Ok(false);
            }
            token.push(byte);
            self.bump();
        }
        Ok(!token.is_empty())
    }

    /// Skips one value; false if the text ends before the value does
    fn skip_value(&mut self) -> io::Result<bool> {
        let mut depth = 0usize;
        let mut token = Vec::new();
        loop {
            match self.peek_token()? {
                None => return Ok(false),
                Some(b'"') => {
                    self.bump();
                    self.string(&mut token)?;
                }
                Some(b'{' | b'[') => {
                    self.bump();
                    depth += 1;
                }
                Some(b'}' | b']') => {
                    // The enclosing object ends where a value is expected.
                    let Some(rest) = depth.checked_sub(1) else { return Ok(false) };
                    self.bump();
                    depth = rest;
                }
                Some(b',' | b':') if depth > 0 => {
                    self.bump();
                    continue;
                }
                Some(b',' | b':') => return Ok(false),
                Some(_) => self.skip_literal()?,
            }
            if depth == 0 {
                return Ok(true);
            }
        }
    }

    /// Skips a number, `true`, `false` or `null` of any length
    fn skip_literal(&mut self) -> io::Result<()> {
        while let Some(byte) = self.peek()? {
            if matches!(
                byte,
                b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'{' | b'[' | b':'
            ) {
                break;
            }
            self.bump();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn height(text: &str) -> Option<String> {
        scalar_at(text.as_bytes(), &["block", "header", "height"]).unwrap()
    }

    #[test]
    fn the_scalar_is_found_after_any_other_member() {
        assert_eq!(height(r#"{"block":{"header":{"height":7}}}"#).as_deref(), Some("7"));
        let text = r#" { "shards" : [ {"height":1,"block":{"header":{"height":2}}}, [[]], "}\"{", -1.5e3, null ],
            "block" : { "author":"a\\", "chunks":[], "header" : { "x":{}, "height" : 18446744073709551615 } } }"#;
        assert_eq!(height(text).as_deref(), Some("18446744073709551615"));
        let method =
            scalar_at(&br#"{"id":[{"method":1}],"method":"tx"}"#[..], &["method"]).unwrap();
        assert_eq!(method.as_deref(), Some("tx"));
    }

    #[test]
    fn a_missing_scalar_is_none() {
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
    fn long_tokens_and_deep_nesting_need_no_memory_and_no_stack() {
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
