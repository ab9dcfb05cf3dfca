//! Moving past a value of any depth, by the grammar.
//!
//! Nothing recurses: a bit is kept for each open level.

use alloc::vec::Vec;

use super::{ReadError, Reader};

impl Reader<'_> {
    /// Moves past the next value, of any depth
    pub(super) fn skip(&mut self) -> Result<(), ReadError> {
        let mut open = OpenLevels::default();
        loop {
            let first = self.peek_value()?;
            let mut ended = true;
            match first {
                b'[' | b'{' => {
                    self.at += 1;
                    open.push(first == b'{');
                    ended = false;
                }
                b'"' => self.skip_string()?,
                b'-' | b'0'..=b'9' => self.skip_number()?,
                _ => self.literal(first)?,
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
                    Some(_) if object => return Err(self.error_at_next("expected `,` or `}`")),
                    Some(_) => return Err(self.error_at_next("expected `,` or `]`")),
                    None if object => return Err(self.error_at_next("EOF while parsing an object")),
                    None => return Err(self.error_at_next("EOF while parsing a list")),
                }
                self.at += 1;
                open.pop();
                ended = true;
            }
            if open.innermost_is_object() == Some(true) {
                match self.peek() {
                    Some(b'"') => self.skip_string()?,
                    Some(_) => return Err(self.error_at_next("key must be a string")),
                    None => return Err(self.error_at_next("EOF while parsing an object")),
                }
                self.colon()?;
            }
        }
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
