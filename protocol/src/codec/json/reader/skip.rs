//! Moving past a value of any depth, by the grammar.
//!
//! Nothing recurses: a bit is kept for each open level.

use alloc::vec::Vec;

use super::{ReadError, Reader};
use crate::ErrorKind;
use crate::codec::json::depth::TOO_DEEP;

impl Reader<'_> {
    /// Moves past the next value, of any depth
    pub(super) fn skip(&mut self) -> Result<(), ReadError> {
        self.skip_within(usize::MAX)
    }

    /// Moves past the next value, of at most `max_depth` levels
    #[inline]
    pub(in crate::codec::json) fn skip_within(
        &mut self,
        max_depth: usize,
    ) -> Result<(), ReadError> {
        match self.peek_value()? {
            b'[' | b'{' => self.skip_nested(max_depth),
            first => self.skip_scalar(first),
        }
    }

    /// Moves past the string, number or word here, by its first byte
    #[inline]
    fn skip_scalar(&mut self, first: u8) -> Result<(), ReadError> {
        match first {
            b'"' => self.skip_string(),
            b'-' | b'0'..=b'9' => self.skip_number(),
            _ => self.literal(first),
        }
    }

    fn skip_nested(&mut self, max_depth: usize) -> Result<(), ReadError> {
        let mut open = OpenLevels::default();
        loop {
            let first = self.peek_value()?;
            let mut ended = true;
            match first {
                b'[' | b'{' => {
                    if open.count >= max_depth {
                        return Err(ReadError::new(ErrorKind::Limit, self.at, TOO_DEEP));
                    }
                    self.at += 1;
                    open.push(first == b'{');
                    ended = false;
                }
                _ => self.skip_scalar(first)?,
            }
            loop {
                let Some(object) = open.innermost_is_object() else { return Ok(()) };
                match self.peek() {
                    Some(b',') if ended => {
                        self.at += 1;
                        break;
                    }
                    Some(b']') if !object => {}
                    Some(b'}') if object => {}
                    Some(_) if !ended => break,
                    _ => return Err(self.separator_error(object)),
                }
                self.at += 1;
                open.pop();
                ended = true;
            }
            if open.innermost_is_object() == Some(true) {
                match self.peek() {
                    Some(b'"') => self.skip_string()?,
                    _ => return Err(self.no_key_error()),
                }
                self.colon()?;
            }
        }
    }

    /// The error of a byte, or the end, after a value in an array or an object
    #[cold]
    pub(in crate::codec::json) fn separator_error(&self, in_object: bool) -> ReadError {
        self.error_at_next(match (self.byte(), in_object) {
            (Some(_), true) => "expected `,` or `}`",
            (Some(_), false) => "expected `,` or `]`",
            (None, true) => "EOF while parsing an object",
            (None, false) => "EOF while parsing a list",
        })
    }

    /// The error of a byte, or the end, in place of a key
    #[cold]
    pub(in crate::codec::json) fn no_key_error(&self) -> ReadError {
        self.error_at_next(match self.byte() {
            Some(_) => "key must be a string",
            None => "EOF while parsing an object",
        })
    }
}

/// The open arrays and objects, of any number
#[derive(Default)]
struct OpenLevels {
    /// A bit for each of the innermost levels, the innermost lowest; set for an object
    objects: u64,
    count: usize,
    /// The bits of the levels around them, 64 at a time
    outer: Vec<u64>,
}

impl OpenLevels {
    #[inline]
    fn push(&mut self, object: bool) {
        if self.count > 0 && self.count.is_multiple_of(64) {
            self.outer.push(self.objects);
        }
        self.objects = self.objects << 1 | u64::from(object);
        self.count += 1;
    }

    #[inline]
    fn pop(&mut self) {
        self.objects >>= 1;
        self.count = self.count.saturating_sub(1);
        if self.count.is_multiple_of(64) {
            self.objects = self.outer.pop().unwrap_or_default();
        }
    }

    #[inline]
    const fn innermost_is_object(&self) -> Option<bool> {
        if self.count == 0 { None } else { Some(self.objects & 1 == 1) }
    }
}
