//! The id of a request: any JSON value, kept as the text it came in.
//!
//! An answer carries the id byte for byte, so that `12.5`, `1e3` and `18446744073709551616` come
//! back as they were sent. Only what would break the reader of the answer is refused: a text that
//! is too long, too deep, or that strict readers reject.

use alloc::borrow::Cow;
use alloc::string::ToString;
use core::fmt;

use serde_json::value::RawValue;

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
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct RequestId(Cow<'static, str>);

impl RequestId {
    /// The id of an answer to a request whose own id could not be read
    pub const fn null() -> Self {
        Self(Cow::Borrowed("null"))
    }

    /// The id as JSON text
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// The id in `value`, if it is one that can be sent back
    pub(super) fn read(value: &RawValue) -> Result<Self, Error> {
        let bytes = value.get().len();
        if bytes > Limits::ID_BYTES {
            let detail = alloc::format!("{bytes} bytes, the limit is {}", Limits::ID_BYTES);
            return Err(Error::new(ErrorKind::Limit, detail));
        }
        read::check(value, Limits::ID_DEPTH)?;
        Ok(Self(Cow::Owned(value.get().to_string())))
    }
}

impl Default for RequestId {
    fn default() -> Self {
        Self(Cow::Borrowed("\"dontcare\""))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}
