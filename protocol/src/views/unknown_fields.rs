//! Unknown members and variants, kept as canonical text.
//!
//! A node upgrade adds members and variants before this crate has types for them. They are written
//! unchanged and in sorted order. Nothing is allocated if there are none, which is the common case.

use alloc::borrow::{Cow, ToOwned as _};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::string::String;
use core::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::schema::{NESTED_DELEGATE, is_nested_delegate};
use crate::codec::json;
use crate::{Error, ErrorKind};

/// Any JSON value, as canonical text
///
/// ```
/// use milepost_protocol::views::RawJson;
///
/// let raw = RawJson::from_text(r#"{"b": 1e2, "a": []}"#).unwrap();
/// assert_eq!(raw.as_str(), r#"{"a":[],"b":1e2}"#);
/// ```
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
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

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        // Only the text of the error: its offset and path are relative to the value.
        Self::from_text(value.get()).map_err(|error| D::Error::custom(error.detail()))
    }
}

/// The members of an object that are unknown to its type, sorted by name
///
/// A member with a name that the type knows is not written, because the type writes its own.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct UnknownFields(BTreeMap<Box<str>, RawJson>);

impl UnknownFields {
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
    pub fn find(&self, name: &str) -> Option<&RawJson> {
        self.0.get(name)
    }

    /// Sets a member and returns its previous value
    pub fn insert(&mut self, name: &str, value: RawJson) -> Option<RawJson> {
        self.0.insert(name.into(), value)
    }

    /// Adds the members of another object, which replace those of the same name
    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Removes a member and returns its value
    pub fn remove(&mut self, name: &str) -> Option<RawJson> {
        self.0.remove(name)
    }

    /// The members, sorted by name
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// Reads the value of an unknown member
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

    /// Writes an object of the members of these names and of the unknown ones, all of them sorted
    ///
    /// Members without a value are left out.
    pub(crate) fn write<S: Serializer>(
        &self,
        serializer: S,
        names: &[&'static str],
        values: &[Option<&dyn Member<S::SerializeMap>>],
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut unknown_fields = self.0.iter().peekable();
        for (name, value) in names.iter().zip(values) {
            let Some(value) = value else { continue };
            while let Some((unknown, value)) =
                unknown_fields.next_if(|(unknown, _)| ***unknown < **name)
            {
                map.serialize_entry(unknown, value)?;
            }
            unknown_fields.next_if(|(unknown, _)| ***unknown == **name);
            value.write(name, &mut map)?;
        }
        for (name, value) in unknown_fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The value of a member, behind a pointer: the members of all types are written by one function
pub(crate) trait Member<M: SerializeMap> {
    /// Writes the member
    fn write(&self, name: &'static str, map: &mut M) -> Result<(), M::Error>;
}

impl<M: SerializeMap, T: Serialize> Member<M> for T {
    fn write(&self, name: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(name, self)
    }
}

/// The error for a second member of one name
pub(crate) fn duplicate<E: serde::de::Error>(name: &str) -> E {
    E::custom(format_args!("duplicate member {}", json::write(name)))
}

/// An unknown variant of an enumeration: its name, and its value unless it is a string
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "an externally tagged variant has these two parts")]
pub struct UnknownVariant {
    /// The name of the variant
    pub name: Box<str>,
    /// The value; `None` for a variant that is only a string
    pub value: Option<RawJson>,
}

impl UnknownVariant {
    /// The variant of an enumeration that has no such one, unless it is refused there
    pub(crate) fn of<E: serde::de::Error>(
        enumeration: &str,
        name: &str,
        value: impl FnOnce() -> Result<Option<RawJson>, E>,
    ) -> Result<Box<Self>, E> {
        if is_nested_delegate(enumeration, name) {
            return Err(E::custom(NESTED_DELEGATE));
        }
        value().map(|value| Self::new(name, value))
    }

    /// The variant, boxed: it is larger than most others, and rare
    pub(crate) fn new(name: &str, value: Option<RawJson>) -> Box<Self> {
        Box::new(Self { name: name.into(), value })
    }
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

/// The name of a member, borrowed from the text if it has no escapes
pub(crate) struct Name<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> Visitor<'de> for NameVisitor {
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

        deserializer.deserialize_str(NameVisitor)
    }
}
