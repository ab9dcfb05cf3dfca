//! The shapes of the wire as tables, for checking a text without building what it says.
//!
//! A check refuses what reading the typed view would refuse, with the same words at the same place:
//! it asks the same reader for the same things in the same order, and only leaves out the values. One
//! interpreter serves all types, where readers of types are code for each of them; so a host that only
//! checks carries a fifth of it. The tables are made by the macros that declare the types.

#[cfg(test)]
pub(crate) mod storm;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor,
};

use super::extra::{Name, duplicate};
use super::wire::end_of_variant;
use super::{Extra, GlobalContractIdentifierView, Raw, StateInitData};
use crate::Error;
use crate::codec::json;
use crate::primitives::{
    AccountId, Balance, Bytes, CryptoHash, Gas, GasText, PublicKey, Rational, ScalarError,
    Signature,
};

/// What a value has to look like
pub(crate) enum Shape {
    /// A string that some scalar can be parsed from
    Text { expected: &'static str, check: fn(&str) -> Result<(), ScalarError> },
    /// A value that a type of no parts reads
    Leaf(Leaf),
    /// A value or `null`
    Maybe(&'static Self),
    /// An array of such values
    List(&'static Self),
    /// An array of these two
    Pair(&'static [&'static Self; 2]),
    /// An object whose keys are numbers of 64 bits
    Numbered(&'static Self),
    /// An object with these members, in the order of their names, and any others
    Object { name: &'static str, members: &'static [Member] },
    /// A bare word, or an object with one member; unknown ones as well
    OneOf { name: &'static str, variants: &'static [Variant] },
}

/// The types without parts
pub(crate) enum Leaf {
    String,
    Bool,
    U8,
    U16,
    U32,
    U64,
    F64,
    Gas,
    GasText,
    Rational,
    Identifier,
    StateInitData,
}

/// A member of an object
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) shape: &'static Shape,
}

/// A variant of an enumeration
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    /// Its name in the code, which sentences say
    pub(crate) label: &'static str,
    /// What stands under its name; nothing for a bare word
    pub(crate) shape: Option<&'static Shape>,
}

/// A type whose shape is known
pub(crate) trait Shaped {
    /// The shape
    const SHAPE: &'static Shape;
}

/// An option that is absent or there, and never `null`
pub(crate) trait NeverNull {
    /// The shape of what is there
    const SHAPE: &'static Shape;
}

impl<T: Shaped> NeverNull for Option<T> {
    const SHAPE: &'static Shape = T::SHAPE;
}

impl<T: Shaped> Shaped for Option<T> {
    const SHAPE: &'static Shape = &Shape::Maybe(T::SHAPE);
}

impl<T: Shaped> Shaped for Vec<T> {
    const SHAPE: &'static Shape = &Shape::List(T::SHAPE);
}

impl<T: Shaped> Shaped for Box<T> {
    const SHAPE: &'static Shape = T::SHAPE;
}

impl<T: Shaped, U: Shaped> Shaped for (T, U) {
    const SHAPE: &'static Shape = &Shape::Pair(&[T::SHAPE, U::SHAPE]);
}

macro_rules! leaves {
    ($( $type:ty => $leaf:ident, )*) => {
        $(
            impl Shaped for $type {
                const SHAPE: &'static Shape = &Shape::Leaf(Leaf::$leaf);
            }
        )*
    };
}

leaves! {
    String => String,
    bool => Bool,
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    f64 => F64,
    Gas => Gas,
    GasText => GasText,
    Rational => Rational,
    GlobalContractIdentifierView => Identifier,
    StateInitData => StateInitData,
}

macro_rules! texts {
    ($( $type:ty, )*) => {
        $(
            impl Shaped for $type {
                const SHAPE: &'static Shape = &Shape::Text {
                    expected: <$type>::EXPECTED,
                    check: |text| text.parse::<Self>().map(drop),
                };
            }
        )*
    };
}

texts! { AccountId, Balance, Bytes, CryptoHash, PublicKey, Signature, }

/// Gives a structure its shape
macro_rules! shaped_struct {
    ($type:ident { $( $members:tt )* }) => {
        impl $crate::views::shape::Shaped for $type {
            const SHAPE: &'static $crate::views::shape::Shape =
                $crate::views::shape::object_shape!($type { $( $members )* });
        }
    };
}

/// Gives an enumeration its shape
macro_rules! shaped_enum {
    (
        $type:ident {
            $( $variant:ident $(as $wire:literal)? $( ($value:ty) )? $( { $( $members:tt )* } )? , )*
        }
    ) => {
        impl $crate::views::shape::Shaped for $type {
            const SHAPE: &'static $crate::views::shape::Shape = &$crate::views::shape::Shape::OneOf {
                name: stringify!($type),
                variants: &[
                    $(
                        $crate::views::shape::Variant {
                            name: $crate::views::wire::name!($variant $(as $wire)?),
                            label: stringify!($variant),
                            shape: $crate::views::shape::variant_shape!(
                                $variant $( ($value) )? $( { $( $members )* } )?
                            ),
                        },
                    )*
                ],
            };
        }
    };
}

/// The shape of an object with these members
macro_rules! object_shape {
    ($name:ident { $( $field:ident : $field_type:ty $(= $mode:ident)? , )* }) => {
        &$crate::views::shape::Shape::Object {
            name: stringify!($name),
            members: const {
                const MEMBERS: &[$crate::views::shape::Member] = &[
                    $(
                        $crate::views::shape::member_shape!($field: $field_type $(= $mode)?),
                    )*
                ];
                assert!(MEMBERS.len() <= 128, "a check has a bit for each of 128 members");
                MEMBERS
            },
        }
    };
}

/// The shape of a member
macro_rules! member_shape {
    ($field:ident : $field_type:ty) => {
        $crate::views::shape::Member {
            name: stringify!($field),
            required: true,
            shape: <$field_type as $crate::views::shape::Shaped>::SHAPE,
        }
    };
    ($field:ident : $field_type:ty = absent) => {
        $crate::views::shape::Member {
            name: stringify!($field),
            required: false,
            shape: <$field_type as $crate::views::shape::NeverNull>::SHAPE,
        }
    };
    ($field:ident : $field_type:ty = $mode:ident) => {
        $crate::views::shape::Member {
            name: stringify!($field),
            required: false,
            shape: <$field_type as $crate::views::shape::Shaped>::SHAPE,
        }
    };
}

/// The shape of what stands under the name of a variant
macro_rules! variant_shape {
    ($variant:ident) => {
        None
    };
    ($variant:ident ($value:ty)) => {
        Some(<$value as $crate::views::shape::Shaped>::SHAPE)
    };
    ($variant:ident { $( $members:tt )* }) => {
        Some($crate::views::shape::object_shape!($variant { $( $members )* }))
    };
}

pub(crate) use {member_shape, object_shape, shaped_enum, shaped_struct, variant_shape};

/// Whether each name is behind the one before it
pub(crate) const fn ascending(names: &[&str]) -> bool {
    let mut index = 1;
    while index < names.len() {
        if !less(names[index - 1].as_bytes(), names[index].as_bytes()) {
            return false;
        }
        index += 1;
    }
    true
}

/// Whether `left` is before `right`; comparing slices is not `const` yet
const fn less(left: &[u8], right: &[u8]) -> bool {
    let mut index = 0;
    while index < left.len() && index < right.len() {
        if left[index] != right[index] {
            return left[index] < right[index];
        }
        index += 1;
    }
    left.len() < right.len()
}

/// Checks that a text is JSON of the shape of `T`
///
/// # Errors
///
/// Those of [`json::read`] with `T`.
pub(crate) fn check<T: Shaped>(text: &str) -> Result<(), Error> {
    json::read_seed(Look(T::SHAPE), text)
}

/// A look at a value
#[derive(Clone, Copy)]
struct Look(&'static Shape);

/// Reads a value and drops it
fn pass<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    T::deserialize(deserializer).map(drop)
}

impl<'de> DeserializeSeed<'de> for Look {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0 {
            Shape::Text { .. } => deserializer.deserialize_str(self),
            Shape::Maybe(_) => deserializer.deserialize_option(self),
            Shape::List(_) => deserializer.deserialize_seq(self),
            Shape::Pair(_) => deserializer.deserialize_tuple(2, self),
            Shape::Numbered(_) | Shape::Object { .. } => deserializer.deserialize_map(self),
            Shape::OneOf { .. } => deserializer.deserialize_any(self),
            Shape::Leaf(leaf) => match leaf {
                Leaf::String => pass::<String, D>(deserializer),
                Leaf::Bool => pass::<bool, D>(deserializer),
                Leaf::U8 => pass::<u8, D>(deserializer),
                Leaf::U16 => pass::<u16, D>(deserializer),
                Leaf::U32 => pass::<u32, D>(deserializer),
                Leaf::U64 => pass::<u64, D>(deserializer),
                Leaf::F64 => pass::<f64, D>(deserializer),
                Leaf::Gas => pass::<Gas, D>(deserializer),
                Leaf::GasText => pass::<GasText, D>(deserializer),
                Leaf::Rational => pass::<Rational, D>(deserializer),
                Leaf::Identifier => pass::<GlobalContractIdentifierView, D>(deserializer),
                Leaf::StateInitData => pass::<StateInitData, D>(deserializer),
            },
        }
    }
}

impl<'de> Visitor<'de> for Look {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            Shape::Object { name, .. } => return write!(formatter, "an object for {name}"),
            Shape::OneOf { name, .. } => return write!(formatter, "a variant of {name}"),
            Shape::Text { expected, .. } => expected,
            Shape::Maybe(_) => "option",
            Shape::List(_) => "a sequence",
            Shape::Pair(_) => "a tuple of size 2",
            Shape::Numbered(_) => "an object with decimal keys",
            // Has visitors of its own.
            Shape::Leaf(_) => "a value",
        })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        match self.0 {
            Shape::Text { check, .. } => check(text).map_err(E::custom),
            Shape::OneOf { variants, .. } => match variants.iter().find(|known| known.name == text)
            {
                Some(Variant { shape: Some(_), label, .. }) => {
                    let expected = alloc::format!("a value for {label}");
                    Err(E::invalid_type(Unexpected::UnitVariant, &expected.as_str()))
                }
                _ => Ok(()),
            },
            _ => Err(E::invalid_type(Unexpected::Str(text), &self)),
        }
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        match self.0 {
            Shape::Maybe(_) => Ok(()),
            _ => Err(E::invalid_type(Unexpected::Unit, &self)),
        }
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0 {
            Shape::Maybe(shape) => Self(shape).deserialize(deserializer),
            _ => Err(D::Error::invalid_type(Unexpected::Option, &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        match self.0 {
            Shape::List(shape) => {
                while seq.next_element_seed(Self(shape))?.is_some() {}
                Ok(())
            }
            Shape::Pair(shapes) => {
                for (shape, index) in shapes.iter().zip(0..) {
                    if seq.next_element_seed(Self(shape))?.is_none() {
                        return Err(A::Error::invalid_length(index, &self));
                    }
                }
                Ok(())
            }
            _ => Err(A::Error::invalid_type(Unexpected::Seq, &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        match self.0 {
            Shape::Object { members, .. } => object(members, map),
            Shape::OneOf { variants, .. } => variant(variants, map),
            Shape::Numbered(shape) => numbered(shape, map),
            _ => Err(A::Error::invalid_type(Unexpected::Map, &self)),
        }
    }
}

fn object<'de, A: MapAccess<'de>>(members: &[Member], mut map: A) -> Result<(), A::Error> {
    // A bit for each member that was seen; no object of the wire has more than 128, which the macro
    // checks.
    let mut seen = 0_u128;
    let mut extra = Extra::new();
    while let Some(Name(name)) = map.next_key()? {
        match members.binary_search_by(|member| member.name.cmp(&*name)) {
            Err(_) => extra.read(&name, &mut map)?,
            Ok(place) if seen >> place & 1 == 1 => return Err(duplicate(&name)),
            Ok(place) => {
                // Just found there.
                map.next_value_seed(Look(members[place].shape))?;
                seen |= 1 << place;
            }
        }
    }
    for (member, place) in members.iter().zip(0_u32..) {
        if member.required && seen >> place & 1 == 0 {
            return Err(A::Error::missing_field(member.name));
        }
    }
    Ok(())
}

fn variant<'de, A: MapAccess<'de>>(variants: &[Variant], mut map: A) -> Result<(), A::Error> {
    let Some(Name(name)) = map.next_key()? else {
        return Err(A::Error::invalid_length(0, &"one variant"));
    };
    match variants.iter().find(|known| known.name == name) {
        Some(Variant { shape: Some(shape), .. }) => map.next_value_seed(Look(shape))?,
        Some(_) => map.next_value::<()>()?,
        None => drop(map.next_value::<Raw>()?),
    }
    end_of_variant(&mut map)
}

fn numbered<'de, A: MapAccess<'de>>(shape: &'static Shape, mut map: A) -> Result<(), A::Error> {
    let mut seen = BTreeSet::new();
    while let Some(key) = map.next_key::<String>()? {
        let number: u64 = key.parse().map_err(|error| {
            A::Error::custom(format_args!("key {key:?} is no number of a shard: {error}"))
        })?;
        if !seen.insert(number) {
            return Err(A::Error::custom(format_args!("duplicate key {number}")));
        }
        map.next_value_seed(Look(shape))?;
    }
    Ok(())
}
