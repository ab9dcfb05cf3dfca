//! JSON values whose numbers keep their digits, read by `serde_json`: what our reader is compared
//! with.
//!
//! The crate's own feature for such numbers would change how every other crate reads them.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Error, from_str};

/// Levels that `serde_json` reads
const MAX_DEPTH: usize = 127;

/// A value; of two members of one name the last one
#[derive(Debug, PartialEq)]
pub(crate) enum ExactJson {
    /// A number, `null`, `true` or `false`, as it is written
    Plain(String),
    Text(String),
    Array(Vec<Self>),
    Object(BTreeMap<String, Self>),
}

impl ExactJson {
    /// Reads a text; nothing if it is not JSON or too deep
    pub(crate) fn read(text: &str) -> Option<Self> {
        from_str::<&RawValue>(text).and_then(|value| Self::of(value, MAX_DEPTH)).ok().flatten()
    }

    /// Nothing if it has more levels than these
    fn of(value: &RawValue, levels: usize) -> Result<Option<Self>, Error> {
        let text = value.get();
        let inner = levels.checked_sub(1);
        Ok(match (text.as_bytes().first(), inner) {
            (Some(b'[' | b'{'), None) => None,
            (Some(b'['), Some(inner)) => {
                let items = from_str::<Vec<&RawValue>>(text)?.into_iter();
                let items: Result<Option<_>, _> = items.map(|item| Self::of(item, inner)).collect();
                items?.map(Self::Array)
            }
            (Some(b'{'), Some(inner)) => {
                let members = from_str::<BTreeMap<String, &RawValue>>(text)?.into_iter();
                let member = |(name, value)| Ok(Self::of(value, inner)?.map(|value| (name, value)));
                let members: Result<Option<_>, Error> = members.map(member).collect();
                members?.map(Self::Object)
            }
            (Some(b'"'), _) => Some(Self::Text(from_str(text)?)),
            _ => Some(Self::Plain(text.to_owned())),
        })
    }

    /// The members of all objects in it
    pub(crate) fn members(&self) -> usize {
        match self {
            Self::Array(items) => items.iter().map(Self::members).sum(),
            Self::Object(members) => members.values().map(|it| 1 + it.members()).sum(),
            Self::Plain(_) | Self::Text(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ExactJson;

    #[test]
    fn numbers_keep_their_digits_and_depth_is_bounded() {
        assert_ne!(ExactJson::read("[1e999]"), ExactJson::read("[1e998]"));
        assert_ne!(ExactJson::read("1.0"), ExactJson::read("1.00"));
        assert_eq!(ExactJson::read(r#"{"a":1,"a":2}"#), ExactJson::read(r#" {"\u0061" : 2} "#));
        assert_eq!(ExactJson::read(r#"["\ud800"]"#), None);
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(ExactJson::read(&nested(127)).is_some() && ExactJson::read(&nested(128)).is_none());
    }
}
