//! Reading strings and moving past them.
//!
//! A string without escapes is borrowed. Errors in escapes are those of `serde_json`, which depend
//! on whether the string is decoded.

use alloc::borrow::Cow;
use alloc::string::String;

use super::{ReadError, Reader, run_end};

impl<'t> Reader<'t> {
    /// Moves past the string whose opening quote is here, without decoding its escapes
    pub(super) fn skip_string(&mut self) -> Result<(), ReadError> {
        self.at += 1;
        loop {
            self.at = run_end(self.bytes(), self.at);
            match self.byte() {
                None => return Err(self.error("EOF while parsing a string")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(_) => return Err(self.error(CONTROL)),
            }
        }
    }

    /// Reads an escape after its backslash; returns a character or a UTF-16 code unit
    fn escape(&mut self) -> Result<u16, ReadError> {
        let Some(byte) = self.byte() else {
            return Err(self.error("EOF while parsing a string"));
        };
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => byte.into(),
            b'b' => 8,
            b'f' => 0xc,
            b'n' => 0xa,
            b'r' => 0xd,
            b't' => 9,
            b'u' => {
                let Some(digits) = self.bytes().get(self.at..self.at + 4) else {
                    self.at = self.text.len();
                    return Err(self.error("EOF while parsing a string"));
                };
                self.at += 4;
                let mut unit = 0;
                for digit in digits {
                    let Some(digit) = char::from(*digit).to_digit(16) else {
                        return Err(self.error("invalid escape"));
                    };
                    // Four digits of four bits.
                    unit = unit << 4 | digit as u16;
                }
                unit
            }
            _ => return Err(self.error("invalid escape")),
        })
    }

    /// Reads the string whose opening quote is here
    #[inline]
    pub(in crate::codec::json) fn string(&mut self) -> Result<Cow<'t, str>, ReadError> {
        let start = self.at + 1;
        let end = run_end(self.bytes(), start);
        match self.bytes().get(end) {
            Some(b'"') => {
                self.at = end + 1;
                Ok(Cow::Borrowed(self.text.get(start..end).unwrap_or_default()))
            }
            _ => self.decoded_string(),
        }
    }

    /// The same for a string with escapes
    #[cold]
    fn decoded_string(&mut self) -> Result<Cow<'t, str>, ReadError> {
        self.at += 1;
        let mut decoded = String::new();
        let mut start = self.at;
        loop {
            self.at = run_end(self.bytes(), self.at);
            let run = self.text.get(start..self.at).unwrap_or_default();
            match self.byte() {
                None => return Err(self.error("EOF while parsing a string")),
                Some(b'"') => {
                    self.at += 1;
                    decoded.push_str(run);
                    return Ok(Cow::Owned(decoded));
                }
                Some(b'\\') => {
                    decoded.push_str(run);
                    self.at += 1;
                    decoded.push(self.character()?);
                    start = self.at;
                }
                Some(_) => {
                    self.at += 1;
                    return Err(self.error(CONTROL));
                }
            }
        }
    }

    /// Reads the escape after this backslash, or both escapes of a surrogate pair
    pub(in crate::codec::json) fn character(&mut self) -> Result<char, ReadError> {
        const LONE: &str = "lone leading surrogate in hex escape";
        let first = u32::from(self.escape()?);
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.error(LONE));
        }
        for byte in [b'\\', b'u'] {
            let Some(found) = self.byte() else {
                return Err(self.error("EOF while parsing a string"));
            };
            if found != byte {
                self.at += 1;
                return Err(self.error("unexpected end of hex escape"));
            }
            self.at += 1;
        }
        self.at -= 1;
        let second = u32::from(self.escape()?);
        if !(0xdc00..0xe000).contains(&second) {
            return Err(self.error(LONE));
        }
        // Ten bits of each half.
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(code).ok_or_else(|| self.error(LONE))
    }

    /// Moves past a string; checks what reading it checks
    pub fn skip_text(&mut self, expected: &str) -> Result<(), ReadError> {
        let start = *self;
        if self.peek_value()? != b'"' {
            return Err(self.mismatch(&expected));
        }
        self.at += 1;
        loop {
            self.at = run_end(self.bytes(), self.at);
            match (self.byte(), self.bytes().get(self.at + 1)) {
                (Some(b'"'), _) => {
                    self.at += 1;
                    return Ok(());
                }
                (Some(b'\\'), Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) => {
                    self.at += 2;
                }
                _ => break,
            }
        }
        // Codes of characters are decoded, because they may be half of a surrogate pair.
        *self = start;
        self.text(expected).map(drop)
    }
}

const CONTROL: &str = "control character (\\u0000-\\u001F) found while parsing a string";
