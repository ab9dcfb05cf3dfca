//! What the types do not know, kept: unknown members, unknown variants, as canonical text.
//!
//! A node upgrade adds members and variants before this crate learns of them. What comes in goes
//! out unchanged, at its sorted place. The empty case, which is nearly every case, allocates
//! nothing.

use alloc::borrow::{Cow, ToOwned as _};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::{self, Entry};
use alloc::string::String;
use core::fmt;
use core::iter::Peekable;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::codec::json;
use crate::{Error, ErrorKind};

/// Any JSON value, kept as its canonical text
///
/// ```
/// use milepost_protocol::views::Raw;
///
/// let raw = Raw::from_text(r#"{"b": 1e2, "a": []}"#).unwrap();
/// assert_eq!(raw.as_str(), r#"{"a":[],"b":1e2}"#);
/// ```
#[derive(Clone)]
pub struct Raw(Box<RawValue>);

impl Raw {
    /// The value in `text`
    ///
    /// # Errors
    ///
    /// As [`json::canonical`].
    pub fn from_text(text: &str) -> Result<Self, Error> {
        let mut canonical = String::new();
        json::canonical(text, &mut canonical)?;
        RawValue::from_string(canonical)
            .map(Self)
            .map_err(|error| Error::new(ErrorKind::Syntax, error))
    }

    /// The canonical text
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Raw {}

impl fmt::Debug for Raw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        // Offset and path inside the value would be read as those of the whole text.
        Self::from_text(value.get()).map_err(|error| D::Error::custom(error.detail()))
    }
}

/// The members of an object that its type does not know: name and value, sorted by name
///
/// A member whose name the type does know is not written, since the type writes its own.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Extra(BTreeMap<Box<str>, Raw>);

impl Extra {
    /// No members; allocates nothing
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Whether there are no members
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many members there are
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The value of this member
    pub fn find(&self, name: &str) -> Option<&Raw> {
        self.0.get(name)
    }

    /// Sets a member; the value it had
    pub fn insert(&mut self, name: &str, value: Raw) -> Option<Raw> {
        self.0.insert(name.into(), value)
    }

    /// Removes a member; the value it had
    pub fn remove(&mut self, name: &str) -> Option<Raw> {
        self.0.remove(name)
    }

    /// The members in the order of their names
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Raw)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// Reads the value of a member that the type does not know
    pub(crate) fn read<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        match self.0.entry(name.into()) {
            Entry::Occupied(entry) => Err(duplicate(entry.key())),
            Entry::Vacant(entry) => {
                entry.insert(map.next_value()?);
                Ok(())
            }
        }
    }

    /// A walk along the members, to be merged with the sorted members of a type
    pub(crate) fn merge(&self) -> Merge<'_> {
        Merge(self.0.iter().peekable())
    }
}

/// The refusal of a second member of one name
pub(crate) fn duplicate<E: serde::de::Error>(name: &str) -> E {
    E::custom(format_args!("duplicate member {}", json::write(name)))
}

/// Members of an [`Extra`] that are still to be written
pub(crate) struct Merge<'e>(Peekable<btree_map::Iter<'e, Box<str>, Raw>>);

impl Merge<'_> {
    /// Writes the members before `name`, and passes over one that has this very name
    pub(crate) fn before<M: SerializeMap>(
        &mut self,
        name: &'static str,
        map: &mut M,
    ) -> Result<(), M::Error> {
        while let Some((extra, value)) = self.0.next_if(|(extra, _)| ***extra < *name) {
            map.serialize_entry(extra, value)?;
        }
        self.0.next_if(|(extra, _)| ***extra == *name);
        Ok(())
    }

    /// Writes the members behind the last of the type's
    pub(crate) fn rest<M: SerializeMap>(self, map: &mut M) -> Result<(), M::Error> {
        for (name, value) in self.0 {
            map.serialize_entry(name, value)?;
        }
        Ok(())
    }
}

/// A variant that its enumeration does not know: name, and value unless it is a bare word
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "external tagging has these two parts")]
pub struct UnknownVariant {
    /// The name of the variant
    pub name: Box<str>,
    /// The value under the name; `None` for a bare word
    pub value: Option<Raw>,
}

impl Serialize for UnknownVariant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            None => serializer.serialize_str(&self.name),
            Some(value) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(&self.name, value)?;
                map.end()
            }
        }
    }
}

/// The name of a member, borrowed from the text when it has no escapes
pub(crate) struct Name<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a member")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Text)
    }
}
