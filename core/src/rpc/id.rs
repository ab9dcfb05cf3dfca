//! The id of a request: any JSON value, kept as the text it came in.
//!
//! An answer carries the id byte for byte, so that `12.5`, `1e3` and `18446744073709551616` come
//! back as they were sent. Only what would break the reader of the answer is refused: a text that
//! is too long, too deep, or that strict readers reject.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::{Limits, read};
use crate::{Error, ErrorKind};

/// The id of a request, as JSON text; by default `"dontcare"`, as the interface has it
///
/// ```
/// use milepost::rpc::RequestId;
///
/// assert_eq!(RequestId::default().as_json(), "\"dontcare\"");
/// assert_eq!(RequestId::null().as_json(), "null");
/// ```
#[derive(Clone)]
pub struct RequestId(Text);

/// The longest text that is kept without an allocation: with its length it takes the room of a
/// pointer, a length and a word, and numbers and short names are shorter
const SHORT: usize = 22;

#[derive(Clone)]
enum Text {
    Static(&'static str),
    Short(u8, [u8; SHORT]),
    Long(Box<str>),
}

impl RequestId {
    /// The id of an answer to a request whose own id could not be read
    pub const fn null() -> Self {
        Self(Text::Static("null"))
    }

    /// The id as JSON text
    pub fn as_json(&self) -> &str {
        match &self.0 {
            Text::Static(text) => text,
            // These bytes were a text when they were put here.
            Text::Short(..) => str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Text::Long(text) => text,
        }
    }

    /// The bytes of the JSON text, which nobody has to look at again
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Text::Static(text) => text.as_bytes(),
            Text::Short(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or_default(),
            Text::Long(text) => text.as_bytes(),
        }
    }

    fn of(json: &str) -> Self {
        let mut bytes = [0; SHORT];
        Self(match (bytes.get_mut(..json.len()), u8::try_from(json.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(json.as_bytes());
                Text::Short(length, bytes)
            }
            _ => Text::Long(json.into()),
        })
    }

    /// The id in `value`, if it is one that can be sent back
    pub(super) fn read(value: read::Text<'_>) -> Result<Self, Error> {
        let bytes = value.get().len();
        if bytes > Limits::ID_BYTES {
            let detail = alloc::format!("{bytes} bytes, the limit is {}", Limits::ID_BYTES);
            return Err(Error::new(ErrorKind::Limit, detail));
        }
        read::check(value, Limits::ID_DEPTH)?;
        Ok(Self::of(value.get()))
    }
}

impl Default for RequestId {
    fn default() -> Self {
        Self(Text::Static("\"dontcare\""))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_json())
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RequestId").field(&self.as_json()).finish()
    }
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.as_json() == other.as_json()
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_json().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    #[test]
    fn an_id_is_one_text_however_it_is_kept() {
        assert_eq!(size_of::<RequestId>(), 24);
        for length in [1, SHORT - 1, SHORT, SHORT + 1, 100] {
            let text = String::from("7").repeat(length);
            let id = RequestId::of(&text);
            assert_eq!(id.as_json(), text);
            assert_eq!(id, id.clone());
        }
        assert_eq!(RequestId::of("\"dontcare\""), RequestId::default());
        assert_ne!(RequestId::of("null"), RequestId::default());
    }
}
