//! A cursor over canonical text that checks values against an expected form.
//!
//! The text is known to be canonical, so whitespace, order and grammar are not checked again; only
//! the form of values is. A method succeeds or returns `None`, which says nothing about the text:
//! slower readers then find out what is wrong, if anything is. Nothing recurses and nothing
//! allocates.

use super::borrowed::run_end;

/// A position in a canonical text
#[derive(Clone, Debug)]
pub struct CompactCursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> CompactCursor<'t> {
    /// A cursor at the start of a canonical text
    pub const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The offset of the cursor in the text
    pub const fn offset(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The next byte
    #[inline]
    pub fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Moves past `byte`; `None` if another byte is next
    #[inline]
    pub fn take(&mut self, byte: u8) -> Option<()> {
        self.takes(byte).then_some(())
    }

    /// Moves past `byte` if it is next; returns whether it was
    #[inline]
    pub fn takes(&mut self, byte: u8) -> bool {
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Moves past `text` if it is next; returns whether it was
    #[inline]
    pub fn takes_text(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text.as_bytes());
        if found {
            self.at += text.len();
        }
        found
    }

    /// Reads the string here and returns its content; `None` if it has escapes
    #[inline]
    pub fn plain_string(&mut self) -> Option<&'t str> {
        self.take(b'"')?;
        let start = self.at;
        let end = run_end(self.text.as_bytes(), start);
        self.at = end;
        self.take(b'"')?;
        self.text.get(start..end)
    }

    /// Moves past the string here
    #[inline]
    pub fn string(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            self.at = run_end(self.text.as_bytes(), self.at);
            if self.takes(b'"') {
                return Some(());
            }
            // A backslash and the byte after it; the digits of a code are ordinary bytes.
            self.take(b'\\')?;
            self.at += 1;
        }
    }

    /// Reads the unsigned integer here; `None` if it has a sign, a fraction or an exponent
    #[inline]
    pub fn digits(&mut self) -> Option<&'t str> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match self.byte() {
            Some(b'.' | b'e' | b'E') => None,
            _ => self.text.get(start..self.at).filter(|digits| !digits.is_empty()),
        }
    }

    /// Moves past the value here, of any type
    pub fn skip(&mut self) -> Option<()> {
        let mut levels = 0_usize;
        loop {
            match self.byte()? {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    levels += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    levels = levels.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' => {
                    self.at += 1;
                    continue;
                }
                _ => {
                    while !matches!(self.byte(), None | Some(b',' | b'}' | b']')) {
                        self.at += 1;
                    }
                }
            }
            if levels == 0 {
                return Some(());
            }
        }
    }

    /// Moves past the `{` of an object, to its first member or its end
    #[inline]
    pub fn open(&mut self) -> Option<()> {
        self.take(b'{')
    }

    /// Moves to the value of the member `name`, past members that sort before it; returns false if
    /// the open object has no such member
    ///
    /// `quoted` is the name with quotes and colon.
    #[inline]
    pub fn member(&mut self, name: &str, quoted: &str) -> Option<bool> {
        if self.takes_text(quoted) {
            return Some(true);
        }
        self.later_member(name, quoted)
    }

    /// The same, when another member is next
    fn later_member(&mut self, name: &str, quoted: &str) -> Option<bool> {
        while self.byte()? != b'}' {
            let mut ahead = self.clone();
            // Escaped keys sort by their decoded text, which is not decoded here.
            if ahead.plain_string()? > name {
                return Some(false);
            }
            ahead.take(b':')?;
            ahead.skip()?;
            *self = ahead;
            self.next_member()?;
            if self.takes_text(quoted) {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Moves from the end of a value to the next member, or to the end of the object
    #[inline]
    pub fn next_member(&mut self) -> Option<()> {
        (self.takes(b',') || self.byte() == Some(b'}')).then_some(())
    }

    /// Moves past the end of the open object, past all remaining members
    #[inline]
    pub fn close(&mut self) -> Option<()> {
        while !self.takes(b'}') {
            self.string()?;
            self.take(b':')?;
            self.skip()?;
            self.next_member()?;
        }
        Some(())
    }

    /// Reads the array here; `item` must move past each item
    #[inline]
    pub fn items(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.takes(b']') {
            return Some(());
        }
        loop {
            item(self)?;
            if !self.takes(b',') {
                return self.take(b']');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"a":[1,{"b":"]\"}"},null],"c":{},"e":-1.5e3,"g":"x"}"#;

    #[test]
    fn members_are_found_after_others() {
        for (name, quoted, value) in [
            ("a", "\"a\":", Some(r#"[1,{"b":"]\"}"},null]"#)),
            ("b", "\"b\":", None),
            ("e", "\"e\":", Some("-1.5e3")),
            ("f", "\"f\":", None),
            ("g", "\"g\":", Some("\"x\"")),
            ("h", "\"h\":", None),
        ] {
            let mut cursor = CompactCursor::new(TEXT);
            cursor.open().unwrap();
            let found = cursor.member(name, quoted).unwrap();
            assert_eq!(found, value.is_some(), "{name}");
            if found {
                let start = cursor.offset();
                cursor.skip().unwrap();
                assert_eq!(TEXT.get(start..cursor.offset()), value);
                cursor.next_member().unwrap();
            }
            cursor.close().unwrap();
            assert_eq!(cursor.offset(), TEXT.len());
        }
    }

    #[test]
    fn a_member_is_found_after_a_missing_one() {
        let mut cursor = CompactCursor::new(TEXT);
        cursor.open().unwrap();
        assert_eq!(cursor.member("b", "\"b\":"), Some(false));
        assert_eq!(cursor.member("c", "\"c\":"), Some(true));
    }

    #[test]
    fn unsupported_values_return_none() {
        assert_eq!(CompactCursor::new("1.0").digits(), None);
        assert_eq!(CompactCursor::new("1e1").digits(), None);
        assert_eq!(CompactCursor::new("-1").digits(), None);
        assert_eq!(CompactCursor::new("17]").digits(), Some("17"));
        assert_eq!(CompactCursor::new(r#""a\n""#).plain_string(), None);
        assert_eq!(CompactCursor::new(r#"{"\n":1,"a":2}"#).clone().member("a", "\"a\":"), None);
    }
}
