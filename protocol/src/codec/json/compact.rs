//! A cursor over canonical text: members in order, strings and numbers where they are expected.
//!
//! The text is known to be canonical, so blanks, order and grammar are not looked at again; what is
//! asked is only whether a value has the expected form. Every step is sure or gives up with
//! `None`, and then says nothing about the text: readers that say what is wrong are elsewhere. Nothing
//! recurses here and nothing is allocated.

use super::plain::run_end;

/// A place in a canonical text
#[derive(Clone, Debug)]
pub struct Compact<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Compact<'t> {
    /// The start of a canonical text
    pub const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// How many bytes of the text lie behind
    pub const fn at(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The byte that is next
    #[inline]
    pub fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes behind this byte
    #[inline]
    pub fn take(&mut self, byte: u8) -> Option<()> {
        self.takes(byte).then_some(())
    }

    /// Goes behind this byte if it is next
    #[inline]
    pub fn takes(&mut self, byte: u8) -> bool {
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Goes behind this text if it is next
    #[inline]
    pub fn takes_text(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text.as_bytes());
        if found {
            self.at += text.len();
        }
        found
    }

    /// Goes behind the string that begins here, and gives what is between its quotes, unless it has
    /// escapes
    #[inline]
    pub fn plain_string(&mut self) -> Option<&'t str> {
        self.take(b'"')?;
        let start = self.at;
        let end = run_end(self.text.as_bytes(), start);
        self.at = end;
        self.take(b'"')?;
        self.text.get(start..end)
    }

    /// Goes behind the string that begins here
    #[inline]
    pub fn string(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            self.at = run_end(self.text.as_bytes(), self.at);
            if self.takes(b'"') {
                return Some(());
            }
            // A backslash and whatever it escapes; the digits of a code are like any other.
            self.take(b'\\')?;
            self.at += 1;
        }
    }

    /// Goes behind the whole number that begins here, if it has no sign, fraction or exponent
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

    /// Goes behind the value that begins here, whatever it is
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

    /// Goes behind the `{` of an object, to its first member or its end
    #[inline]
    pub fn open(&mut self) -> Option<()> {
        self.take(b'{')
    }

    /// Goes to the value of the member of this name, past those that come before it by their order; false if
    /// the object that is open here has none
    ///
    /// `quoted` is the name with quotes and colon.
    #[inline]
    pub fn member(&mut self, name: &str, quoted: &str) -> Option<bool> {
        if self.takes_text(quoted) {
            return Some(true);
        }
        self.member_behind(name, quoted)
    }

    /// The member of this name is not the next one
    fn member_behind(&mut self, name: &str, quoted: &str) -> Option<bool> {
        while self.byte()? != b'}' {
            let mut ahead = self.clone();
            // Escaped keys are in order by what they mean, which is not looked at here.
            if ahead.plain_string()? > name {
                return Some(false);
            }
            ahead.take(b':')?;
            ahead.skip()?;
            *self = ahead;
            self.next()?;
            if self.takes_text(quoted) {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Goes from the end of a value to the next member, or to the end of the object
    #[inline]
    pub fn next(&mut self) -> Option<()> {
        (self.takes(b',') || self.byte() == Some(b'}')).then_some(())
    }

    /// Goes behind the object that is open here, past the members that are left
    #[inline]
    pub fn close(&mut self) -> Option<()> {
        while !self.takes(b'}') {
            self.string()?;
            self.take(b':')?;
            self.skip()?;
            self.next()?;
        }
        Some(())
    }

    /// Goes behind the array that begins here, item by item
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
    fn members_are_found_past_others() {
        for (name, quoted, value) in [
            ("a", "\"a\":", Some(r#"[1,{"b":"]\"}"},null]"#)),
            ("b", "\"b\":", None),
            ("e", "\"e\":", Some("-1.5e3")),
            ("f", "\"f\":", None),
            ("g", "\"g\":", Some("\"x\"")),
            ("h", "\"h\":", None),
        ] {
            let mut cursor = Compact::new(TEXT);
            cursor.open().unwrap();
            let found = cursor.member(name, quoted).unwrap();
            assert_eq!(found, value.is_some(), "{name}");
            if found {
                let start = cursor.at();
                cursor.skip().unwrap();
                assert_eq!(TEXT.get(start..cursor.at()), value);
                cursor.next().unwrap();
            }
            cursor.close().unwrap();
            assert_eq!(cursor.at(), TEXT.len());
        }
    }

    #[test]
    fn a_member_stands_behind_one_that_is_missing() {
        let mut cursor = Compact::new(TEXT);
        cursor.open().unwrap();
        assert_eq!(cursor.member("b", "\"b\":"), Some(false));
        assert_eq!(cursor.member("c", "\"c\":"), Some(true));
    }

    #[test]
    fn what_is_not_sure_is_none() {
        assert_eq!(Compact::new("1.0").digits(), None);
        assert_eq!(Compact::new("1e1").digits(), None);
        assert_eq!(Compact::new("-1").digits(), None);
        assert_eq!(Compact::new("17]").digits(), Some("17"));
        assert_eq!(Compact::new(r#""a\n""#).plain_string(), None);
        assert_eq!(Compact::new(r#"{"\n":1,"a":2}"#).clone().member("a", "\"a\":"), None);
    }
}
