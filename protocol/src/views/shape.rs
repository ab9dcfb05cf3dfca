//! The shapes of the wire as tables, for checking a text without building what it says.
//!
//! A check refuses what reading the typed view would refuse, with the same words at the same place:
//! it asks for the same things in the same order, and only leaves out the values. One interpreter serves
//! all types, where readers of types are code for each of them; so a host that only checks carries a
//! tenth of it. The tables are made by the macros that declare the types.

#[cfg(test)]
pub mod storm;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{GlobalContractIdentifierView, StateInitData};
use crate::Error;
use crate::codec::json::{self, Fault, Number, Reader, Scalar};
use crate::primitives::{
    AccountId, Balance, Bytes, CryptoHash, Gas, GasText, PublicKey, Rational, ScalarError,
    Signature,
};

/// What a value has to look like
pub enum Shape {
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
pub enum Leaf {
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
pub struct Member {
    pub name: &'static str,
    pub required: bool,
    pub shape: &'static Shape,
}

/// A variant of an enumeration
pub struct Variant {
    pub name: &'static str,
    /// Its name in the code, which sentences say
    pub label: &'static str,
    /// What stands under its name; nothing for a bare word
    pub shape: Option<&'static Shape>,
}

/// A type whose shape is known
pub trait Shaped {
    /// The shape
    const SHAPE: &'static Shape;
}

/// An option that is absent or there, and never `null`
pub trait NeverNull {
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
pub const fn ascending(names: &[&str]) -> bool {
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
/// Whether an object has a member twice that `T` does not know is not looked at: texts are made canonical
/// before, and that finds it everywhere.
///
/// # Errors
///
/// Those of [`json::read`](crate::codec::json::read) with `T`.
pub fn check<T: Shaped>(text: &str) -> Result<(), Error> {
    let mut reader = Reader::new(text);
    let looked = look(T::SHAPE, &mut reader).and_then(|()| reader.end());
    looked.map_err(|fault| fault.of(text))
}

/// Goes behind the value that is next, if it is of this shape; recurses as deep as the types of the wire do
fn look(shape: &Shape, reader: &mut Reader<'_>) -> Result<(), Fault> {
    match shape {
        Shape::Text { expected, check } => {
            let text = reader.text(expected)?;
            check(&text).map_err(|error| reader.refuse(error))
        }
        Shape::Maybe(shape) => {
            if reader.null()? {
                return Ok(());
            }
            look(shape, reader)
        }
        Shape::List(shape) => {
            reader.open_array("a sequence")?;
            let mut first = true;
            while reader.item(first)? {
                first = false;
                look(shape, reader)?;
            }
            Ok(())
        }
        Shape::Pair(shapes) => {
            reader.open_array(PAIR)?;
            for (shape, index) in shapes.iter().zip(0..) {
                item(reader, index, PAIR)?;
                look(shape, reader)?;
            }
            reader.end_array()
        }
        Shape::Numbered(shape) => numbered(shape, reader),
        Shape::Object { name, members } => {
            reader.open_object(&format!("an object for {name}"))?;
            object(members, reader)
        }
        Shape::OneOf { name, variants } => match reader.scalar()? {
            Scalar::String(text) => match variants.iter().find(|known| known.name == text) {
                Some(Variant { shape: Some(_), label, .. }) => Err(reader.refuse(format_args!(
                    "invalid type: unit variant, expected a value for {label}"
                ))),
                _ => Ok(()),
            },
            Scalar::Object => variant(variants, reader),
            other => Err(reader.wrong_kind(&other, format_args!("a variant of {name}"))),
        },
        Shape::Leaf(leaf) => leaf.look(reader),
    }
}

const PAIR: &str = "a tuple of size 2";

/// Goes to an item that has to be there
fn item(reader: &mut Reader<'_>, index: usize, expected: &str) -> Result<(), Fault> {
    if reader.item(index == 0)? {
        return Ok(());
    }
    Err(reader.refuse(format_args!("invalid length {index}, expected {expected}")))
}

fn object(members: &[Member], reader: &mut Reader<'_>) -> Result<(), Fault> {
    // A bit for each member that was seen; no object of the wire has more than 128, which the macro
    // checks.
    let mut seen = 0_u128;
    let mut first = true;
    while let Some(name) = reader.key(first)? {
        first = false;
        let place = members.binary_search_by(|member| member.name.cmp(&*name));
        if place.is_ok_and(|place| seen >> place & 1 == 1) {
            let name = json::write(&name);
            return Err(reader.refuse_key(format_args!("duplicate member {name}")));
        }
        reader.colon()?;
        match place {
            Err(_) => drop(reader.raw()?),
            Ok(place) => {
                // Just found there.
                look(members[place].shape, reader)?;
                seen |= 1 << place;
            }
        }
    }
    for (member, place) in members.iter().zip(0_u32..) {
        if member.required && seen >> place & 1 == 0 {
            return Err(reader.refuse(format_args!("missing field `{}`", member.name)));
        }
    }
    Ok(())
}

/// The variant in the object that begins here
fn variant(variants: &[Variant], reader: &mut Reader<'_>) -> Result<(), Fault> {
    const ONE: &str = "one variant";
    reader.open_object(ONE)?;
    let Some(name) = reader.key(true)? else {
        return Err(reader.refuse(format_args!("invalid length 0, expected {ONE}")));
    };
    reader.colon()?;
    match variants.iter().find(|known| known.name == name) {
        Some(Variant { shape: Some(shape), .. }) => look(shape, reader)?,
        Some(_) => {
            if !reader.null()? {
                let found = reader.scalar()?;
                return Err(reader.wrong(&found, "unit"));
            }
        }
        None => drop(reader.raw()?),
    }
    match reader.key(false)? {
        None => Ok(()),
        Some(second) => {
            let second = json::write(&second);
            Err(reader.refuse_key(format_args!("{ONE} expected, found {second} as well")))
        }
    }
}

/// The keys of an object that were seen: a map of the one kind that signed transactions bring along
type Seen = BTreeMap<Bytes, Bytes>;

fn numbered(shape: &Shape, reader: &mut Reader<'_>) -> Result<(), Fault> {
    reader.open_object("an object with decimal keys")?;
    let mut seen = Seen::new();
    while let Some(key) = reader.key(seen.is_empty())? {
        let number: u64 = match key.parse() {
            Ok(number) => number,
            Err(error) => {
                let key = json::write(&key);
                let detail = format!("key {key} is no number of a shard: {error}");
                return Err(reader.refuse_key(detail));
            }
        };
        if seen.insert(Bytes(number.to_be_bytes().into()), Bytes::default()).is_some() {
            return Err(reader.refuse_key(format_args!("duplicate key {number}")));
        }
        reader.colon()?;
        look(shape, reader)?;
    }
    Ok(())
}

impl Leaf {
    fn look(&self, reader: &mut Reader<'_>) -> Result<(), Fault> {
        let number =
            |largest: u64, name, reader: &mut Reader<'_>| reader.unsigned(largest, name).map(drop);
        match self {
            Self::String => reader.text("a string").map(drop),
            Self::Bool => match reader.scalar()? {
                Scalar::Bool(_) => Ok(()),
                other => Err(reader.wrong(&other, "a boolean")),
            },
            Self::U8 => number(u8::MAX.into(), "u8", reader),
            Self::U16 => number(u16::MAX.into(), "u16", reader),
            Self::U32 => number(u32::MAX.into(), "u32", reader),
            Self::U64 => number(u64::MAX, "u64", reader),
            Self::F64 => match reader.scalar()? {
                Scalar::Number(_) => Ok(()),
                other => Err(reader.wrong(&other, "f64")),
            },
            Self::Gas | Self::GasText => gas(reader),
            Self::Rational => rational(reader),
            Self::Identifier => identifier(reader),
            Self::StateInitData => state(reader),
        }
    }
}

fn gas(reader: &mut Reader<'_>) -> Result<(), Fault> {
    const EXPECTED: &str = "an amount of gas, as a number or a decimal string";
    match reader.scalar()? {
        Scalar::Number(Number::Unsigned(_)) => Ok(()),
        Scalar::String(text) => text.parse::<Gas>().map(drop).map_err(|error| reader.refuse(error)),
        found @ Scalar::Number(Number::Negative(_)) => {
            Err(reader.refuse(format_args!("invalid value: {found}, expected {EXPECTED}")))
        }
        other => Err(reader.wrong_kind(&other, EXPECTED)),
    }
}

fn rational(reader: &mut Reader<'_>) -> Result<(), Fault> {
    reader.open_array("tuple struct Rational")?;
    for index in 0..2 {
        item(reader, index, "tuple struct Rational with 2 elements")?;
        let found = reader.scalar()?;
        let fits = match found {
            Scalar::Number(Number::Unsigned(number)) => i32::try_from(number).is_ok(),
            Scalar::Number(Number::Negative(number)) => i32::try_from(number).is_ok(),
            _ => return Err(reader.wrong(&found, "i32")),
        };
        if !fits {
            return Err(reader.refuse(format_args!("invalid value: {found}, expected i32")));
        }
    }
    reader.end_array()
}

fn identifier(reader: &mut Reader<'_>) -> Result<(), Fault> {
    const VARIANTS: &[Variant] = &[
        Variant { name: "hash", label: "Hash", shape: Some(CryptoHash::SHAPE) },
        Variant { name: "account_id", label: "AccountId", shape: Some(AccountId::SHAPE) },
    ];
    const EXPECTED: &str = "a published contract, by hash or account id";
    match reader.scalar()? {
        Scalar::Object => variant(VARIANTS, reader),
        Scalar::String(text) => {
            if text.parse::<CryptoHash>().is_ok() || AccountId::check(&text).is_ok() {
                return Ok(());
            }
            let found = Scalar::String(text);
            Err(reader.refuse(format_args!("invalid value: {found}, expected {EXPECTED}")))
        }
        other => Err(reader.wrong_kind(&other, EXPECTED)),
    }
}

fn state(reader: &mut Reader<'_>) -> Result<(), Fault> {
    reader.open_object("an object of base64 keys and base64 values")?;
    // By what they mean: keys that differ as texts may be the same bytes.
    let mut seen = Seen::new();
    while let Some(key) = reader.key(seen.is_empty())? {
        let key: Bytes = match key.parse() {
            Ok(key) => key,
            Err(error) => return Err(reader.refuse_key(error)),
        };
        let shown = format!("duplicate member \"{key}\"");
        if seen.insert(key, Bytes::default()).is_some() {
            return Err(reader.refuse_key(shown));
        }
        reader.colon()?;
        look(Bytes::SHAPE, reader)?;
    }
    Ok(())
}
