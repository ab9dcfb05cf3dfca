//! The id of a request: any JSON value, kept as its text.
//!
//! A response repeats the id byte for byte, so `12.5`, `1e3` and `18446744073709551616` come back
//! as they were sent. An id is rejected only if it would break the reader of the response: if it is
//! too long, nested too deeply, or rejected by strict JSON readers.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::{Limits, read};
use crate::{Error, ErrorKind};

/// The id of a request, as JSON text; `"dontcare"` by default, as in the interface
///
/// ```
/// use milepost::rpc::RequestId;
///
/// assert_eq!(RequestId::default().as_json(), "\"dontcare\"");
/// assert_eq!(RequestId::null().as_json(), "null");
/// ```
#[derive(Clone)]
pub struct RequestId(Repr);

/// Maximum length of a text that is stored inline: with its length and the tag it fills three
/// words, and numbers and short names are shorter
const MAX_INLINE_LEN: usize = 22;

#[derive(Clone)]
enum Repr {
    Static(&'static str),
    Inline(u8, [u8; MAX_INLINE_LEN]),
    Heap(Box<str>),
}

impl RequestId {
    /// The id of the response to a request whose own id could not be read
    pub const fn null() -> Self {
        Self(Repr::Static("null"))
    }

    /// The id as JSON text
    pub fn as_json(&self) -> &str {
        match &self.0 {
            Repr::Static(text) => text,
            // These bytes were copied from a text.
            Repr::Inline(..) => str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Repr::Heap(text) => text,
        }
    }

    /// The bytes of the JSON text, without the UTF-8 check of [`as_json`](Self::as_json)
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Static(text) => text.as_bytes(),
            Repr::Inline(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or_default(),
            Repr::Heap(text) => text.as_bytes(),
        }
    }

    fn new(json: &str) -> Self {
        let mut bytes = [0; MAX_INLINE_LEN];
        Self(match (bytes.get_mut(..json.len()), u8::try_from(json.len())) {
            (Some(prefix), Ok(length)) => {
                prefix.copy_from_slice(json.as_bytes());
                Repr::Inline(length, bytes)
            }
            _ => Repr::Heap(json.into()),
        })
    }

    /// The id in `value`, if a response can repeat it
    pub(super) fn read(value: read::RawValue<'_>, limits: &Limits) -> Result<Self, Error> {
        let (len, limit) = (value.text().len(), limits.max_id_bytes);
        if len > limit {
            let detail = alloc::format!("{len} bytes, the limit is {limit}");
            return Err(Error::new(ErrorKind::Limit, detail));
        }
        read::validate(value, Limits::MAX_ID_DEPTH)?;
        Ok(Self::new(value.text()))
    }
}

impl Default for RequestId {
    fn default() -> Self {
        Self(Repr::Static("\"dontcare\""))
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
    use core::hash::Hasher as _;

    use super::*;
    use crate::primitives::IdentityHasher;

    #[test]
    fn an_id_is_the_same_inline_and_on_the_heap() {
        assert_eq!(size_of::<RequestId>(), 24);
        for length in [1, MAX_INLINE_LEN - 1, MAX_INLINE_LEN, MAX_INLINE_LEN + 1, 100] {
            let text = String::from("7").repeat(length);
            let id = RequestId::new(&text);
            assert_eq!(id.as_json(), text);
            assert_eq!(id, id.clone());
            assert_eq!(alloc::format!("{id:>101}"), alloc::format!("{text:>101}"));
            assert_eq!(alloc::format!("{id:?}"), alloc::format!("RequestId({text:?})"));
        }
        assert_eq!(RequestId::new("\"dontcare\""), RequestId::default());
        assert_ne!(RequestId::new("null"), RequestId::default());
    }

    #[test]
    fn equal_ids_have_equal_hashes() {
        let hash = |id: RequestId| {
            let mut hasher = IdentityHasher::default();
            id.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash(RequestId::new("\"dontcare\"")), hash(RequestId::default()));
        assert_ne!(hash(RequestId::new("\"7\"")), hash(RequestId::new("\"8\"")));
        assert_ne!(hash(RequestId::new("7")), IdentityHasher::default().finish());
    }
}
