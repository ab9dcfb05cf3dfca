//! Finds one value in a JSON text, and reads the text no further than that.
//!
//! Feeds order files by the height in their headers, which does not need the whole text read. The
//! values before it are passed over without being kept, whatever their nesting. The text after it
//! is not validated; the engine does that.

use core::fmt;
use core::marker::PhantomData;
use std::io::{self, Read};

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny};
use serde::de::{MapAccess, Visitor};

/// The value at this path of object members
///
/// `None` if it is missing or of another type, or if the text is not JSON.
///
/// # Errors
///
/// The I/O errors of the reader.
pub(crate) fn value_at<T: DeserializeOwned>(
    reader: impl Read,
    path: &[&str],
) -> io::Result<Option<T>> {
    let mut found = None;
    let member = Member { path, found: &mut found, value: PhantomData };
    match member.deserialize(&mut serde_json::Deserializer::from_reader(reader)) {
        Err(error) if error.is_io() => Err(error.into()),
        _ => Ok(found),
    }
}

/// The value at the rest of the path
struct Member<'path, T> {
    path: &'path [&'path str],
    found: &'path mut Option<T>,
    value: PhantomData<T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for Member<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            *self.found = Some(T::deserialize(deserializer)?);
            return Ok(());
        }
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Member<'_, T> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((name, path)) = self.path.split_first() else { return Ok(()) };
        while let Some(key) = map.next_key::<String>()? {
            if key == *name {
                map.next_value_seed(Member { path, ..self })?;
                // Ends the reading: nothing after the value is of interest.
                return Err(A::Error::custom("the value is found"));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn height(text: &str) -> Option<u64> {
        value_at(text.as_bytes(), &["block", "header", "height"]).unwrap()
    }

    #[test]
    fn the_value_is_found_after_any_other_member() {
        assert_eq!(height(r#"{"block":{"header":{"height":7}}}"#), Some(7));
        let text = r#" { "shards" : [ {"height":1,"block":{"header":{"height":2}}}, [[]], "}\"{", -1.5e3, null ],
            "block" : { "author":"a\\", "chunks":[], "header" : { "x":{}, "height" : 18446744073709551615 } } }"#;
        assert_eq!(height(text), Some(u64::MAX));
        let text = &br#"{"id":[{"method":1}],"method":"tx"}"#[..];
        assert_eq!(value_at(text, &["method"]).unwrap(), Some("tx".to_owned()));
    }

    #[test]
    fn a_missing_value_is_none() {
        for text in [
            "",
            "[]",
            "{}",
            "{",
            r#"{"block"}"#,
            r#"{"block":}"#,
            r#"{"block":7}"#,
            r#"{"block":{"header":{}}}"#,
            r#"{"block":{"header":{"height":{}}}}"#,
            r#"{"block":{"header":{"height":"7"}}}"#,
            r#"{"block":{"header":{"height":"#,
            r#"{"a":[[[[[[[["#,
            r#"{"a":]}"#,
            r#"{"a":1 2,"block":{"header":{"height":1}}}"#,
        ] {
            assert_eq!(height(text), None, "{text}");
        }
    }

    #[test]
    fn nothing_is_read_after_the_value() {
        struct Failing;

        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("read on"))
            }
        }

        let start = &br#"{"block":{"header":{"height":7,"#[..];
        let path = ["block", "header", "height"];
        assert_eq!(value_at(start.chain(Failing), &path).unwrap(), Some(7));
        let error = value_at::<u64>(start.chain(Failing), &["shards"]).unwrap_err();
        assert_eq!(error.to_string(), "read on");
    }

    #[test]
    fn deep_nesting_needs_no_stack() {
        let deep = format!(
            r#"{{"a":{}{},"block":{{"header":{{"height":3}}}}}}"#,
            "[".repeat(1 << 20),
            "]".repeat(1 << 20)
        );
        assert_eq!(height(&deep), Some(3));
        let long = format!(r#"{{"block":{{"header":{{"height":{}}}}}}}"#, "1".repeat(1 << 20));
        assert_eq!(height(&long), None);
    }
}
