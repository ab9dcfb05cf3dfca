//! Schemas of the wire types as tables, for checking a text without building values.
//!
//! A check returns the error that reading the typed view returns, with the same text and offset: it
//! reads the same things in the same order. One interpreter serves all types, where deserializers
//! are code for each type; so a host that only checks has a tenth of the code. The macros that
//! declare the types make the tables.

#[cfg(test)]
pub mod adversarial;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{GlobalContractIdentifier, GlobalContractIdentifierView, StateInitData};
use crate::Error;
use crate::codec::json::{self, Number, ReadError, Reader, Scalar};
use crate::primitives::{
    AccountId, Balance, Bytes, CryptoHash, Fraction, Gas, GasText, ParseError, PublicKey, Rational,
    Signature,
};

/// The schema of a value
#[expect(clippy::exhaustive_enums, reason = "for the engine only")]
pub enum Schema {
    /// A string that is the text of a scalar
    Text { expected: &'static str, check: fn(&str) -> Result<(), ParseError> },
    /// A value of a type without parts
    Scalar(ScalarSchema),
    /// A value or `null`
    Nullable(&'static Self),
    /// An array of values of one schema
    Array(&'static Self),
    /// An array of two values
    Pair(&'static [&'static Self; 2]),
    /// An object whose keys are integers of 64 bits
    IntegerKeys(&'static Self),
    /// An object with these members, sorted by name, and unknown ones
    Object {
        name: &'static str,
        #[cfg(feature = "schema-docs")]
        docs: &'static str,
        members: &'static [Member],
    },
    /// An externally tagged enumeration: a string or an object with one member; unknown ones too
    Enum {
        name: &'static str,
        #[cfg(feature = "schema-docs")]
        docs: &'static str,
        variants: &'static [Variant],
    },
}

/// The schema of a type without parts
#[expect(clippy::exhaustive_enums, reason = "for the engine only")]
pub enum ScalarSchema {
    String,
    Bool,
    U8,
    U16,
    U32,
    U64,
    Fraction,
    Gas,
    GasText,
    Rational,
    Identifier,
    StateInitData,
}

/// A member of an object
#[expect(clippy::exhaustive_structs, reason = "for the engine only")]
pub struct Member {
    pub name: &'static str,
    #[cfg(feature = "schema-docs")]
    pub docs: &'static str,
    /// Its type in Rust, which may be an alias
    #[cfg(feature = "schema-docs")]
    pub rust_type: &'static str,
    pub required: bool,
    pub schema: &'static Schema,
}

/// A variant of an enumeration
#[expect(clippy::exhaustive_structs, reason = "for the engine only")]
pub struct Variant {
    pub name: &'static str,
    /// Its name in Rust, for errors
    pub label: &'static str,
    #[cfg(feature = "schema-docs")]
    pub docs: &'static str,
    /// The schema of its value; `None` for a unit variant
    pub schema: Option<&'static Schema>,
}

/// A type with a schema
pub trait HasSchema {
    /// The schema
    const SCHEMA: &'static Schema;
}

/// An optional member that may be absent, but not `null`
pub trait NeverNull {
    /// The schema of the value
    const SCHEMA: &'static Schema;
}

impl<T: HasSchema> NeverNull for Option<T> {
    const SCHEMA: &'static Schema = T::SCHEMA;
}

impl<T: HasSchema> HasSchema for Option<T> {
    const SCHEMA: &'static Schema = &Schema::Nullable(T::SCHEMA);
}

impl<T: HasSchema> HasSchema for Vec<T> {
    const SCHEMA: &'static Schema = &Schema::Array(T::SCHEMA);
}

impl<T: HasSchema> HasSchema for Box<T> {
    const SCHEMA: &'static Schema = T::SCHEMA;
}

impl<T: HasSchema, U: HasSchema> HasSchema for (T, U) {
    const SCHEMA: &'static Schema = &Schema::Pair(&[T::SCHEMA, U::SCHEMA]);
}

macro_rules! scalars {
    ($( $type:ty => $scalar:ident, )*) => {
        $(
            impl HasSchema for $type {
                const SCHEMA: &'static Schema = &Schema::Scalar(ScalarSchema::$scalar);
            }
        )*
    };
}

scalars! {
    String => String,
    bool => Bool,
    u8 => U8,
    u16 => U16,
    u32 => U32,
    u64 => U64,
    Fraction => Fraction,
    Gas => Gas,
    GasText => GasText,
    Rational => Rational,
    GlobalContractIdentifierView => Identifier,
    StateInitData => StateInitData,
}

macro_rules! texts {
    ($( $type:ty, )*) => {
        $(
            impl HasSchema for $type {
                const SCHEMA: &'static Schema = &Schema::Text {
                    expected: <$type>::EXPECTED,
                    check: |text| text.parse::<Self>().map(drop),
                };
            }
        )*
    };
}

texts! { AccountId, Balance, Bytes, CryptoHash, PublicKey, Signature, }

/// Implements `HasSchema` for a structure
macro_rules! schema_struct {
    ($(#[$($meta:tt)*])* $type:ident { $( $members:tt )* }) => {
        impl $crate::views::schema::HasSchema for $type {
            const SCHEMA: &'static $crate::views::schema::Schema =
                $crate::views::schema::object_schema!($(#[$($meta)*])* $type { $( $members )* });
        }
    };
}

/// Implements `HasSchema` for an enumeration
macro_rules! schema_enum {
    (
        $(#[$($meta:tt)*])*
        $type:ident {
            $(
                $(#[$($variant_meta:tt)*])*
                $variant:ident $(as $wire:literal)? $( ($value:ty) )? $( { $( $members:tt )* } )? ,
            )*
        }
    ) => {
        impl $crate::views::schema::HasSchema for $type {
            const SCHEMA: &'static $crate::views::schema::Schema = &$crate::views::schema::Schema::Enum {
                name: stringify!($type),
                #[cfg(feature = "schema-docs")]
                docs: $crate::views::schema::docs!($(#[$($meta)*])*),
                variants: &[
                    $(
                        $crate::views::schema::Variant {
                            name: $crate::views::wire::name!($variant $(as $wire)?),
                            label: stringify!($variant),
                            #[cfg(feature = "schema-docs")]
                            docs: $crate::views::schema::docs!($(#[$($variant_meta)*])*),
                            schema: $crate::views::schema::variant_schema!(
                                $variant $( ($value) )? $( { $( $members )* } )?
                            ),
                        },
                    )*
                ],
            };
        }
    };
}

/// The schema of an object with these members
macro_rules! object_schema {
    (
        $(#[$($meta:tt)*])*
        $name:ident {
            $( $(#[$($member_meta:tt)*])* $field:ident : $field_type:ty $(= $mode:ident)? , )*
        }
    ) => {
        &$crate::views::schema::Schema::Object {
            name: stringify!($name),
            #[cfg(feature = "schema-docs")]
            docs: $crate::views::schema::docs!($(#[$($meta)*])*),
            members: const {
                const MEMBERS: &[$crate::views::schema::Member] = &[
                    $(
                        $crate::views::schema::Member {
                            name: stringify!($field),
                            #[cfg(feature = "schema-docs")]
                            docs: $crate::views::schema::docs!($(#[$($member_meta)*])*),
                            #[cfg(feature = "schema-docs")]
                            rust_type: stringify!($field_type),
                            required: $crate::views::schema::required!($($mode)?),
                            schema: $crate::views::schema::member_schema!($field_type $(= $mode)?),
                        },
                    )*
                ];
                assert!(MEMBERS.len() <= 128, "validation has a bit for each of 128 members");
                MEMBERS
            },
        }
    };
}

/// Whether a member is required
macro_rules! required {
    () => {
        true
    };
    ($mode:ident) => {
        false
    };
}

/// The schema of the value of a member
macro_rules! member_schema {
    ($field_type:ty = absent) => {
        <$field_type as $crate::views::schema::NeverNull>::SCHEMA
    };
    ($field_type:ty $(= $mode:ident)?) => {
        <$field_type as $crate::views::schema::HasSchema>::SCHEMA
    };
}

/// The schema of the value of a variant
macro_rules! variant_schema {
    ($variant:ident) => {
        None
    };
    ($variant:ident ($value:ty)) => {
        Some(<$value as $crate::views::schema::HasSchema>::SCHEMA)
    };
    ($variant:ident { $( $members:tt )* }) => {
        Some($crate::views::schema::object_schema!($variant { $( $members )* }))
    };
}

/// The lines of the doc comments among these attributes
#[cfg(feature = "schema-docs")]
macro_rules! docs {
    () => {
        ""
    };
    (#[doc = $line:literal] $($rest:tt)*) => {
        concat!($line, "\n", $crate::views::schema::docs!($($rest)*))
    };
    (#[$($other:tt)*] $($rest:tt)*) => {
        $crate::views::schema::docs!($($rest)*)
    };
}

#[cfg(feature = "schema-docs")]
pub(crate) use docs;
pub(crate) use {
    member_schema, object_schema, required, schema_enum, schema_struct, variant_schema,
};

/// Whether the names are strictly ascending
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

/// Whether `left < right`; comparing slices is not `const` yet
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

/// Checks that a text is JSON of the schema of `T`
///
/// Duplicate unknown members are not detected: making a text canonical, which comes first, does.
///
/// # Errors
///
/// Those of [`json::read`](crate::codec::json::read) with `T`.
pub fn check<T: HasSchema>(text: &str) -> Result<(), Error> {
    let mut reader = Reader::new(text);
    let result = validate(T::SCHEMA, &mut reader).and_then(|()| reader.end());
    result.map_err(|error| error.into_error(text))
}

/// Moves past the next value if it is of this schema; recurses as deep as the wire types nest
fn validate(schema: &Schema, reader: &mut Reader<'_>) -> Result<(), ReadError> {
    match schema {
        Schema::Text { expected, check } => {
            let text = reader.text(expected)?;
            check(&text).map_err(|error| reader.schema_error(error))
        }
        Schema::Nullable(schema) => {
            if reader.null()? {
                return Ok(());
            }
            validate(schema, reader)
        }
        Schema::Array(schema) => {
            reader.open_array("a sequence")?;
            let mut first = true;
            while reader.item(first)? {
                first = false;
                validate(schema, reader)?;
            }
            Ok(())
        }
        Schema::Pair(schemas) => {
            reader.open_array(PAIR)?;
            for (schema, index) in schemas.iter().zip(0..) {
                item(reader, index, PAIR)?;
                validate(schema, reader)?;
            }
            reader.end_array()
        }
        Schema::IntegerKeys(schema) => integer_keys(schema, reader),
        Schema::Object { name, members, .. } => {
            reader.open_object(&format!("an object for {name}"))?;
            object(members, reader)
        }
        Schema::Enum { name, variants, .. } => match reader.scalar()? {
            Scalar::String(text) => match variants.iter().find(|known| known.name == text) {
                Some(Variant { schema: Some(_), label, .. }) => Err(reader.schema_error(
                    format_args!("invalid type: unit variant, expected a value for {label}"),
                )),
                _ => Ok(()),
            },
            Scalar::Object => variant(variants, reader),
            other => Err(reader.untyped_error(&other, format_args!("a variant of {name}"))),
        },
        Schema::Scalar(scalar) => scalar.validate(reader),
    }
}

const PAIR: &str = "a tuple of size 2";

/// Moves to a required item
fn item(reader: &mut Reader<'_>, index: usize, expected: &str) -> Result<(), ReadError> {
    if reader.item(index == 0)? {
        return Ok(());
    }
    Err(reader.schema_error(format_args!("invalid length {index}, expected {expected}")))
}

fn object(members: &[Member], reader: &mut Reader<'_>) -> Result<(), ReadError> {
    // A bit for each member that was read; the macro checks that there are at most 128.
    let mut seen = 0_u128;
    let mut first = true;
    while let Some(name) = reader.key(first)? {
        first = false;
        let index = members.binary_search_by(|member| member.name.cmp(&*name));
        if index.is_ok_and(|index| seen >> index & 1 == 1) {
            let name = json::write(&name);
            return Err(reader.key_error(format_args!("duplicate member {name}")));
        }
        reader.colon()?;
        match index {
            Err(_) => drop(reader.raw()?),
            Ok(index) => {
                validate(members[index].schema, reader)?;
                seen |= 1 << index;
            }
        }
    }
    for (member, index) in members.iter().zip(0_u32..) {
        if member.required && seen >> index & 1 == 0 {
            return Err(reader.schema_error(format_args!("missing field `{}`", member.name)));
        }
    }
    Ok(())
}

/// Reads the object of an enumeration
fn variant(variants: &[Variant], reader: &mut Reader<'_>) -> Result<(), ReadError> {
    const ONE: &str = "one variant";
    reader.open_object(ONE)?;
    let Some(name) = reader.key(true)? else {
        return Err(reader.schema_error(format_args!("invalid length 0, expected {ONE}")));
    };
    reader.colon()?;
    match variants.iter().find(|known| known.name == name) {
        Some(Variant { schema: Some(schema), .. }) => validate(schema, reader)?,
        Some(_) => {
            if !reader.null()? {
                let found = reader.scalar()?;
                return Err(reader.type_error(&found, "unit"));
            }
        }
        None => drop(reader.raw()?),
    }
    match reader.key(false)? {
        None => Ok(()),
        Some(second) => {
            let second = json::write(&second);
            Err(reader.key_error(format_args!("{ONE} expected, found {second} as well")))
        }
    }
}

/// The keys read so far; a type of map that the code of signed transactions contains anyway
type SeenKeys = BTreeMap<Bytes, Bytes>;

fn integer_keys(schema: &Schema, reader: &mut Reader<'_>) -> Result<(), ReadError> {
    reader.open_object("an object with decimal keys")?;
    let mut seen = SeenKeys::new();
    while let Some(key) = reader.key(seen.is_empty())? {
        let number: u64 = match key.parse() {
            Ok(number) => number,
            Err(error) => {
                let key = json::write(&key);
                let detail = format!("key {key} is not a shard id: {error}");
                return Err(reader.key_error(detail));
            }
        };
        if seen.insert(Bytes(number.to_be_bytes().into()), Bytes::default()).is_some() {
            return Err(reader.key_error(format_args!("duplicate key {number}")));
        }
        reader.colon()?;
        validate(schema, reader)?;
    }
    Ok(())
}

impl ScalarSchema {
    fn validate(&self, reader: &mut Reader<'_>) -> Result<(), ReadError> {
        let number = |max: u64, name, reader: &mut Reader<'_>| reader.unsigned(max, name).map(drop);
        match self {
            Self::String => reader.text("a string").map(drop),
            Self::Bool => match reader.scalar()? {
                Scalar::Bool(_) => Ok(()),
                other => Err(reader.type_error(&other, "a boolean")),
            },
            Self::U8 => number(u8::MAX.into(), "u8", reader),
            Self::U16 => number(u16::MAX.into(), "u16", reader),
            Self::U32 => number(u32::MAX.into(), "u32", reader),
            Self::U64 => number(u64::MAX, "u64", reader),
            Self::Fraction => {
                // Parsing a float needs tables, which are 14 kB of the wasm module.
                let text = reader.raw()?;
                let is_number = matches!(text.as_bytes(), [b'-' | b'0'..=b'9', ..]);
                if is_number && !json::is_out_of_range(text) {
                    Ok(())
                } else {
                    Err(reader.schema_error(ParseError::Fraction))
                }
            }
            Self::Gas | Self::GasText => gas(reader),
            Self::Rational => rational(reader),
            Self::Identifier => identifier(reader),
            Self::StateInitData => state(reader),
        }
    }
}

fn gas(reader: &mut Reader<'_>) -> Result<(), ReadError> {
    const EXPECTED: &str = "an amount of gas, as a number or a decimal string";
    match reader.scalar()? {
        Scalar::Number(Number::Unsigned(_)) => Ok(()),
        Scalar::String(text) => {
            text.parse::<Gas>().map(drop).map_err(|error| reader.schema_error(error))
        }
        found @ Scalar::Number(Number::Negative(_)) => {
            Err(reader.schema_error(format_args!("invalid value: {found}, expected {EXPECTED}")))
        }
        other => Err(reader.untyped_error(&other, EXPECTED)),
    }
}

fn rational(reader: &mut Reader<'_>) -> Result<(), ReadError> {
    reader.open_array("tuple struct Rational")?;
    for index in 0..2 {
        item(reader, index, "tuple struct Rational with 2 elements")?;
        let found = reader.scalar()?;
        let fits = match found {
            Scalar::Number(Number::Unsigned(number)) => i32::try_from(number).is_ok(),
            Scalar::Number(Number::Negative(number)) => i32::try_from(number).is_ok(),
            _ => return Err(reader.type_error(&found, "i32")),
        };
        if !fits {
            return Err(reader.schema_error(format_args!("invalid value: {found}, expected i32")));
        }
    }
    reader.end_array()
}

fn identifier(reader: &mut Reader<'_>) -> Result<(), ReadError> {
    const VARIANTS: &[Variant] = match GlobalContractIdentifier::SCHEMA {
        Schema::Enum { variants, .. } => variants,
        _ => panic!("not an enumeration"),
    };
    const EXPECTED: &str = "a global contract, by hash or account id";
    match reader.scalar()? {
        Scalar::Object => variant(VARIANTS, reader),
        Scalar::String(text) => {
            if text.parse::<CryptoHash>().is_ok() || AccountId::check(&text).is_ok() {
                return Ok(());
            }
            let found = Scalar::String(text);
            Err(reader.schema_error(format_args!("invalid value: {found}, expected {EXPECTED}")))
        }
        other => Err(reader.untyped_error(&other, EXPECTED)),
    }
}

fn state(reader: &mut Reader<'_>) -> Result<(), ReadError> {
    reader.open_object("an object of base64 keys and base64 values")?;
    // Decoded, because keys that differ as texts may be the same bytes.
    let mut seen = SeenKeys::new();
    while let Some(key) = reader.key(seen.is_empty())? {
        let key: Bytes = match key.parse() {
            Ok(key) => key,
            Err(error) => return Err(reader.key_error(error)),
        };
        let detail = format!("duplicate member \"{key}\"");
        if seen.insert(key, Bytes::default()).is_some() {
            return Err(reader.key_error(detail));
        }
        reader.colon()?;
        validate(Bytes::SCHEMA, reader)?;
    }
    Ok(())
}
