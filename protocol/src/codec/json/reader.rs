//! Reading JSON step by step, for readers that know what they look for and say what is wrong.
//!
//! A reader stands before a value and goes behind it; what it passes over is checked by the grammar, so a
//! text that was read to its end is JSON. Its sentences and places are those of `serde_json`, beside
//! which it is tested: the typed views are read by that, and a host should not have to know which
//! of them refused. Nothing here recurses, decodes what is not asked for or is compiled anew for each type, so
//! a host that only checks stays small.

mod fault;
mod scalar;

use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

pub use fault::Fault;
use scalar::is_out_of_range;
pub use scalar::{Number, Scalar};

use super::plain::run_end;
use crate::ErrorKind;

/// A place in a JSON text
#[derive(Clone, Copy, Debug)]
pub struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    /// The start of a text
    pub const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// How many bytes of the text lie behind
    pub const fn at(&self) -> usize {
        self.at
    }

    fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    fn byte(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    /// A fault at what was read last
    fn fault(&self, detail: &'static str) -> Fault {
        Fault::syntax(self.at, detail)
    }

    /// A fault at the byte that is next
    fn ahead(&self, detail: &'static str) -> Fault {
        Fault::syntax(self.text.len().min(self.at + 1), detail)
    }

    /// A refusal of what was read last
    pub fn refuse(&self, detail: impl fmt::Display) -> Fault {
        Fault::new(ErrorKind::Shape, self.at, detail.to_string())
    }

    /// The byte behind blanks
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    /// The first byte of the value that is next
    pub fn first(&mut self) -> Result<u8, Fault> {
        self.peek().ok_or_else(|| self.ahead("EOF while parsing a value"))
    }

    /// Whether nothing is left but blanks
    pub fn end(&mut self) -> Result<(), Fault> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.ahead("trailing characters")),
        }
    }

    /// Goes behind the value that is next, and gives its text
    pub fn raw(&mut self) -> Result<&'t str, Fault> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// The one value that is left, and nothing behind it
    pub fn whole(mut self) -> Result<&'t str, Fault> {
        let value = self.raw()?;
        self.end().map(|()| value)
    }

    /// Goes behind the value that is next, however deep it is
    fn skip(&mut self) -> Result<(), Fault> {
        // The brackets that are open.
        let mut open: Vec<u8> = Vec::new();
        loop {
            let first = self.first()?;
            let mut ended = true;
            match first {
                b'[' | b'{' => {
                    self.at += 1;
                    open.push(first);
                    ended = false;
                }
                b'"' => self.pass_string()?,
                b'-' | b'0'..=b'9' => self.pass_number()?,
                _ => self.word(first)?,
            }
            loop {
                let Some(bracket) = open.last() else { return Ok(()) };
                let object = *bracket == b'{';
                match self.peek() {
                    Some(b',') if ended => {
                        self.at += 1;
                        break;
                    }
                    Some(b']') if !object => {}
                    Some(b'}') if object => {}
                    Some(_) if !ended => break,
                    Some(_) if object => return Err(self.ahead("expected `,` or `}`")),
                    Some(_) => return Err(self.ahead("expected `,` or `]`")),
                    None if object => return Err(self.ahead("EOF while parsing an object")),
                    None => return Err(self.ahead("EOF while parsing a list")),
                }
                self.at += 1;
                open.pop();
                ended = true;
            }
            if open.last() == Some(&b'{') {
                match self.peek() {
                    Some(b'"') => self.pass_string()?,
                    Some(_) => return Err(self.ahead("key must be a string")),
                    None => return Err(self.ahead("EOF while parsing an object")),
                }
                self.colon()?;
            }
        }
    }

    /// Goes behind a word that begins with this byte
    fn word(&mut self, first: u8) -> Result<(), Fault> {
        let word: &[u8] = match first {
            b'n' => b"null",
            b't' => b"true",
            b'f' => b"false",
            _ => return Err(self.ahead("expected value")),
        };
        for expected in word {
            let Some(byte) = self.byte() else {
                return Err(self.fault("EOF while parsing a value"));
            };
            self.at += 1;
            if byte != *expected {
                return Err(self.fault("expected ident"));
            }
        }
        Ok(())
    }

    /// Goes behind the number that begins here
    fn pass_number(&mut self) -> Result<(), Fault> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
            if matches!(self.byte(), Some(b'0'..=b'9')) {
                return Err(self.ahead("invalid number"));
            }
        } else {
            self.digits(true)?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits(false)?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits(true)?;
        }
        Ok(())
    }

    fn digits(&mut self, taken: bool) -> Result<(), Fault> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start {
            return Ok(());
        }
        match self.byte() {
            None => Err(self.ahead("EOF while parsing a value")),
            Some(_) if taken => {
                self.at += 1;
                Err(self.fault("invalid number"))
            }
            Some(_) => Err(self.ahead("invalid number")),
        }
    }

    /// The number that begins here
    fn number(&mut self) -> Result<Number<'t>, Fault> {
        let start = self.at;
        self.pass_number()?;
        let text = self.text.get(start..self.at).unwrap_or_default();
        let whole = !text.contains(['.', 'e', 'E']);
        if whole && let Ok(number) = text.parse() {
            return Ok(Number::Unsigned(number));
        }
        if whole
            && let Ok(number) = text.parse()
            && number < 0
        {
            return Ok(Number::Negative(number));
        }
        if is_out_of_range(text) {
            Err(self.fault("number out of range"))
        } else {
            Ok(Number::Fraction(text))
        }
    }

    /// Goes behind the string whose quote stands here, without a look at what its escapes mean
    fn pass_string(&mut self) -> Result<(), Fault> {
        self.at += 1;
        loop {
            self.at = run_end(self.bytes(), self.at);
            match self.byte() {
                None => return Err(self.fault("EOF while parsing a string")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(_) => return Err(self.fault(CONTROL)),
            }
        }
    }

    /// Goes behind what follows a backslash; a character, or a unit of UTF-16
    fn escape(&mut self) -> Result<u16, Fault> {
        let Some(byte) = self.byte() else {
            return Err(self.fault("EOF while parsing a string"));
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
                    return Err(self.fault("EOF while parsing a string"));
                };
                self.at += 4;
                let mut unit = 0;
                for digit in digits {
                    let Some(digit) = char::from(*digit).to_digit(16) else {
                        return Err(self.fault("invalid escape"));
                    };
                    // Four digits of four bits.
                    unit = unit << 4 | digit as u16;
                }
                unit
            }
            _ => return Err(self.fault("invalid escape")),
        })
    }

    /// The string whose quote stands here
    fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        self.at += 1;
        let mut decoded = String::new();
        let mut start = self.at;
        loop {
            self.at = run_end(self.bytes(), self.at);
            let run = self.text.get(start..self.at).unwrap_or_default();
            match self.byte() {
                None => return Err(self.fault("EOF while parsing a string")),
                Some(b'"') => {
                    self.at += 1;
                    // Every escape stands for a character.
                    if decoded.is_empty() {
                        return Ok(Cow::Borrowed(run));
                    }
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
                    return Err(self.fault(CONTROL));
                }
            }
        }
    }

    /// The character that the escape behind this backslash means, or two escapes of a pair
    fn character(&mut self) -> Result<char, Fault> {
        const LONE: &str = "lone leading surrogate in hex escape";
        let first = u32::from(self.escape()?);
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(|| self.fault(LONE));
        }
        for byte in [b'\\', b'u'] {
            let Some(found) = self.byte() else {
                return Err(self.fault("EOF while parsing a string"));
            };
            if found != byte {
                self.at += 1;
                return Err(self.fault("unexpected end of hex escape"));
            }
            self.at += 1;
        }
        self.at -= 1;
        let second = u32::from(self.escape()?);
        if !(0xdc00..0xe000).contains(&second) {
            return Err(self.fault(LONE));
        }
        // Ten bits of each half.
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(code).ok_or_else(|| self.fault(LONE))
    }

    /// The value that is next: goes behind one without parts, and stays before an array or an object
    pub fn scalar(&mut self) -> Result<Scalar<'t>, Fault> {
        Ok(match self.first()? {
            b'"' => Scalar::String(self.string()?),
            b'-' | b'0'..=b'9' => Scalar::Number(self.number()?),
            b'[' => Scalar::Array,
            b'{' => Scalar::Object,
            first => {
                self.word(first)?;
                match first {
                    b'n' => Scalar::Null,
                    _ => Scalar::Bool(first == b't'),
                }
            }
        })
    }

    /// The refusal of a value that is of another type
    pub fn wrong(&self, found: &Scalar<'_>, expected: impl fmt::Display) -> Fault {
        self.refuse(format_args!("invalid type: {found}, expected {expected}"))
    }

    /// The same, of a value that could be of several types: a bracket and what follows it are read first
    pub fn wrong_kind(&mut self, found: &Scalar<'_>, expected: impl fmt::Display) -> Fault {
        let close = match found {
            Scalar::Array => b']',
            Scalar::Object => b'}',
            _ => return self.wrong(found, expected),
        };
        self.at += 1;
        if self.peek() == Some(close) {
            self.at += 1;
        }
        self.wrong(found, expected)
    }

    /// A string, and nothing else
    pub fn text(&mut self, expected: &str) -> Result<Cow<'t, str>, Fault> {
        match self.scalar()? {
            Scalar::String(text) => Ok(text),
            other => Err(self.wrong(&other, expected)),
        }
    }

    /// Goes behind a `null` if it is what is next
    pub fn null(&mut self) -> Result<bool, Fault> {
        let null = self.peek() == Some(b'n');
        if null {
            self.word(b'n')?;
        }
        Ok(null)
    }

    /// A whole number up to this one; what it is, is said by the name of a type
    pub fn unsigned(&mut self, largest: u64, expected: &str) -> Result<u64, Fault> {
        match self.scalar()? {
            Scalar::Number(Number::Unsigned(number)) if number <= largest => Ok(number),
            found @ Scalar::Number(Number::Unsigned(_) | Number::Negative(_)) => {
                Err(self.refuse(format_args!("invalid value: {found}, expected {expected}")))
            }
            other => Err(self.wrong(&other, expected)),
        }
    }

    /// Goes behind the bracket of an array
    pub fn open_array(&mut self, expected: &str) -> Result<(), Fault> {
        self.open(b'[', expected)
    }

    /// Goes behind the bracket of an object
    pub fn open_object(&mut self, expected: &str) -> Result<(), Fault> {
        self.open(b'{', expected)
    }

    fn open(&mut self, bracket: u8, expected: &str) -> Result<(), Fault> {
        if self.first()? != bracket {
            let found = self.scalar()?;
            return Err(self.wrong(&found, expected));
        }
        self.at += 1;
        Ok(())
    }

    /// Goes behind the end of the array that is open
    pub fn end_array(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b',' | b']') | None if !self.item(false)? => Ok(()),
            _ => Err(self.ahead("trailing characters")),
        }
    }

    /// Goes to the next item of the array that is open, or behind its end; `first` before its first item
    pub fn item(&mut self, first: bool) -> Result<bool, Fault> {
        match self.peek() {
            Some(b']') => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') if !first => {
                self.at += 1;
                match self.first()? {
                    b']' => Err(self.ahead("trailing comma")),
                    _ => Ok(true),
                }
            }
            Some(_) if first => Ok(true),
            Some(_) => Err(self.ahead("expected `,` or `]`")),
            None => Err(self.ahead("EOF while parsing a list")),
        }
    }

    /// Goes behind the next key of the object that is open, or behind the object's end; `first` before its
    /// first member
    pub fn key(&mut self, first: bool) -> Result<Option<Cow<'t, str>>, Fault> {
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !first => {
                self.at += 1;
                self.first()?;
                if self.byte() == Some(b'}') {
                    return Err(self.ahead("trailing comma"));
                }
            }
            Some(_) if first => {}
            Some(_) => return Err(self.ahead("expected `,` or `}`")),
            None => return Err(self.ahead("EOF while parsing an object")),
        }
        if self.byte() != Some(b'"') {
            return Err(self.ahead("key must be a string"));
        }
        self.string().map(Some)
    }

    /// Goes from behind a key to its value
    pub fn colon(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.ahead("expected `:`")),
            None => Err(self.ahead("EOF while parsing an object")),
        }
    }

    /// The refusal of the key that was read last
    pub fn refuse_key(&mut self, detail: impl fmt::Display) -> Fault {
        self.peek();
        self.refuse(detail)
    }

    /// Goes behind the object that is next; `member` is told the place in `names` of each member that is one
    /// of them, of which each may be there once, and has to go behind its value
    pub fn object(
        &mut self,
        names: &[&str],
        expected: &str,
        member: &mut dyn FnMut(usize, &mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        // A bit for each name that was seen; nobody asks for more than 32.
        let (mut seen, mut first) = (0_u32, true);
        self.open_object(expected)?;
        while let Some(key) = self.key(first)? {
            first = false;
            let Some(place) = names.iter().position(|name| *name == key) else {
                self.colon()?;
                self.skip()?;
                continue;
            };
            if seen >> place & 1 == 1 {
                return Err(self.refuse_key(format_args!("duplicate field `{key}`")));
            }
            seen |= 1 << place;
            self.colon()?;
            self.peek();
            member(place, self)?;
        }
        Ok(())
    }

    /// The values of these members of the object that is next: readers before them
    pub fn members<const N: usize>(
        &mut self,
        names: [&str; N],
        expected: &str,
    ) -> Result<[Option<Self>; N], Fault> {
        let mut found = [None; N];
        self.object(&names, expected, &mut |place, reader| {
            found[place] = Some(*reader);
            reader.skip()
        })?;
        Ok(found)
    }

    /// What was read of a member that has to be there, in the object that ends here
    pub fn required<T>(&self, found: Option<T>, name: &str) -> Result<T, Fault> {
        found.ok_or_else(|| self.refuse(format_args!("missing field `{name}`")))
    }
}

const CONTROL: &str = "control character (\\u0000-\\u001F) found while parsing a string";

#[cfg(test)]
mod tests;
