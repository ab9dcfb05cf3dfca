//! The one interpreter of schemas: checks a text against a schema and finds members in it.
//!
//! It reads a text in any order and form, and expects that of canonical text, where the next key is
//! nearly always that of the next member in the table. It recurses as deep as the wire types nest.
//! With [`Repairs`] it is stricter than the typed views: it also stops at a value that they read
//! but that a node writes in another form. What happens to such a value is decided in `repairs`.

use alloc::collections::BTreeMap;
use alloc::format;

use super::repairs::{Repairs, recover};
use super::{
    HasSchema, Member, NESTED_DELEGATE, ScalarSchema, Schema, Variant, is_nested_delegate,
    is_short_decimal,
};
use crate::Error;
use crate::codec::json::{self, Number, ReadError, Reader, Scalar};
use crate::primitives::{AccountId, Balance, Bytes, CryptoHash, Gas, ParseError};
use crate::views::GlobalContractIdentifier;

/// Checks that a text is JSON of the schema of `T`
///
/// Duplicate unknown members are not detected: making a text canonical, which comes first, does.
///
/// # Errors
///
/// Those of [`json::read`](crate::codec::json::read) with `T`.
pub fn check<T: HasSchema>(text: &str) -> Result<(), Error> {
    check_and_find(T::SCHEMA, text, &[], &mut [], None)
}

/// Checks as [`check`], and finds readers at the values of these members of the object or of an
/// object in it
///
/// With `repairs`, values of another form are collected there, as its settings say. Not generic,
/// because that would make code for each type.
///
/// # Errors
///
/// As [`check`].
pub fn check_and_find<'t>(
    schema: &Schema,
    text: &'t str,
    names: &[&str],
    found: &mut [Option<Reader<'t>>],
    repairs: Option<&mut Repairs>,
) -> Result<(), Error> {
    let mut visit = |name: &str, reader: &Reader<'t>| {
        let found = names.iter().zip(&mut *found).find(|(known, _)| **known == name);
        if let Some((_, found)) = found {
            *found = Some(*reader);
        }
    };
    // Members of the object, and of objects in it.
    let levels = if names.is_empty() { 0 } else { 2 };
    let mut visitor = Visitor { levels, visit: &mut visit, repairs };
    validate_whole(schema, text, &mut visitor).map_err(|error| error.into_error(text))
}

/// Checks that a text is one value of this schema
pub(super) fn validate_whole<'t>(
    schema: &Schema,
    text: &'t str,
    visitor: &mut Visitor<'_, 't>,
) -> Result<(), ReadError> {
    let mut reader = Reader::new(text);
    validate(schema, &mut reader, visitor)?;
    reader.end()
}

/// Gets each known member of the outer objects of a value, before its value is read
pub(super) struct Visitor<'v, 't> {
    /// The number of levels of objects whose members it gets
    pub(super) levels: usize,
    pub(super) visit: &'v mut dyn FnMut(&str, &Reader<'t>),
    /// Values that do not have the form that a node writes; `None` to accept what typed views read
    pub(super) repairs: Option<&'v mut Repairs>,
}

impl Visitor<'_, '_> {
    /// Refuses a value that typed views read, but that a node writes in another form
    fn check_form(&self, reader: &Reader<'_>, is_written: bool) -> Result<(), ReadError> {
        #[cold]
        #[inline(never)]
        fn error(reader: &Reader<'_>) -> ReadError {
            reader.schema_error("not in the form that a node writes")
        }
        if is_written || self.repairs.is_none() { Ok(()) } else { Err(error(reader)) }
    }

    /// Refuses a value whatever the settings of the repairs are
    #[cold]
    fn refuse(&mut self, error: ReadError) -> ReadError {
        if let Some(repairs) = &mut self.repairs {
            repairs.refuse();
        }
        error
    }
}

/// Moves past the next value if it is of this schema; recurses as deep as the wire types nest
fn validate<'t>(
    schema: &Schema,
    reader: &mut Reader<'t>,
    visitor: &mut Visitor<'_, 't>,
) -> Result<(), ReadError> {
    let start = reader.offset();
    validate_value(schema, reader, visitor)
        .or_else(|error| recover(schema, reader, start, error, visitor))
}

/// Moves past the next value if it is of this schema
fn validate_value<'t>(
    schema: &Schema,
    reader: &mut Reader<'t>,
    visitor: &mut Visitor<'_, 't>,
) -> Result<(), ReadError> {
    match schema {
        Schema::Text { expected, check } => {
            let text = reader.text(expected)?;
            check(&text).map_err(|error| reader.schema_error(error))?;
            let is_padded = matches!(text.as_bytes(), [b'+', ..] | [b'0', _, ..]);
            visitor.check_form(reader, !is_padded || *expected != Balance::EXPECTED)
        }
        Schema::Nullable(schema) => {
            if reader.null()? {
                return Ok(());
            }
            validate(schema, reader, visitor)
        }
        Schema::Array(schema) => {
            reader.open_array("an array")?;
            let mut first = true;
            while reader.item(first)? {
                first = false;
                validate(schema, reader, visitor)?;
            }
            Ok(())
        }
        Schema::Pair(schemas) => {
            reader.open_array(PAIR)?;
            for (schema, index) in schemas.iter().zip(0..) {
                item(reader, index, PAIR)?;
                validate(schema, reader, visitor)?;
            }
            reader.end_array()
        }
        Schema::IntegerKeys(schema) => integer_keys(schema, reader, visitor),
        Schema::Object { name, members, required, .. } => {
            reader.open_object(format_args!("an object for {name}"))?;
            object(members, **required, reader, visitor)
        }
        Schema::Enum { name, variants, .. } => match reader.scalar()? {
            Scalar::String(text) => match variants.iter().find(|known| known.name == text) {
                Some(Variant { schema: Some(_), .. }) => Err(reader.schema_error(format_args!(
                    "invalid type: unit variant, expected a value for {text}"
                ))),
                None if is_nested_delegate(name, &text) => {
                    Err(visitor.refuse(reader.schema_error(NESTED_DELEGATE)))
                }
                _ => Ok(()),
            },
            Scalar::Object => variant(name, variants, reader, visitor),
            other => Err(reader.untyped_error(&other, format_args!("a variant of {name}"))),
        },
        Schema::Scalar(scalar) => scalar.validate(reader, visitor),
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

fn object<'t>(
    members: &[Member],
    required: u128,
    reader: &mut Reader<'t>,
    visitor: &mut Visitor<'_, 't>,
) -> Result<(), ReadError> {
    let levels = visitor.levels;
    // A bit for each member that was read; the macro checks that there are at most 128.
    let mut seen = 0_u128;
    let mut first = true;
    // In canonical text the next key is nearly always that of one of the next members.
    const PREDICTED: usize = 4;
    let mut next = 0;
    loop {
        let end = members.len().min(next + PREDICTED);
        let mut predicted = members.get(next..end).unwrap_or_default().iter();
        let predicted = predicted.position(|member| reader.takes_key(member.key, first));
        let index = if let Some(skipped) = predicted {
            next + skipped
        } else {
            let Some(name) = reader.key(first)? else { break };
            let index = members.binary_search_by(|member| member.name().cmp(&*name));
            if index.is_ok_and(|index| seen >> index & 1 == 1) {
                let name = json::write(&name);
                return Err(reader.key_error(format_args!("duplicate member {name}")));
            }
            reader.colon()?;
            let Ok(index) = index else {
                first = false;
                reader.raw()?;
                continue;
            };
            index
        };
        first = false;
        // Once members are out of order, none is predicted: it may have been read already.
        next = if index >= next { index + 1 } else { members.len() };
        let member = &members[index];
        if levels > 0 {
            (visitor.visit)(member.name(), reader);
            let is_object = matches!(member.schema, Schema::Object { .. });
            visitor.levels = if is_object { levels - 1 } else { 0 };
        }
        validate(member.schema, reader, visitor)?;
        visitor.levels = levels;
        seen |= 1 << index;
    }
    match required & !seen {
        0 => Ok(()),
        missing => {
            let name = members[missing.trailing_zeros() as usize].name();
            Err(visitor.refuse(reader.schema_error(format_args!("missing field `{name}`"))))
        }
    }
}

/// Reads the object of an enumeration
fn variant<'t>(
    enumeration: &str,
    variants: &[Variant],
    reader: &mut Reader<'t>,
    visitor: &mut Visitor<'_, 't>,
) -> Result<(), ReadError> {
    const ONE: &str = "one variant";
    reader.open_object(ONE)?;
    let Some(name) = reader.key(true)? else {
        return Err(reader.schema_error(format_args!("invalid length 0, expected {ONE}")));
    };
    if is_nested_delegate(enumeration, &name) {
        return Err(visitor.refuse(reader.key_error(NESTED_DELEGATE)));
    }
    reader.colon()?;
    match variants.iter().find(|known| known.name == name) {
        Some(Variant { schema: Some(schema), .. }) => validate(schema, reader, visitor)?,
        Some(_) => {
            if !reader.null()? {
                let found = reader.scalar()?;
                return Err(reader.type_error(&found, "unit"));
            }
            visitor.check_form(reader, false)?;
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

fn integer_keys<'t>(
    schema: &Schema,
    reader: &mut Reader<'t>,
    visitor: &mut Visitor<'_, 't>,
) -> Result<(), ReadError> {
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
        validate(schema, reader, visitor)?;
    }
    Ok(())
}

impl ScalarSchema {
    fn validate<'t>(
        &self,
        reader: &mut Reader<'t>,
        visitor: &mut Visitor<'_, 't>,
    ) -> Result<(), ReadError> {
        let number = |max: u64, name, reader: &mut Reader<'_>| reader.unsigned(max, name).map(drop);
        match self {
            Self::String => reader.skip_text("a string"),
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
            Self::I32 => int32(reader),
            Self::Gas => {
                let is_number = reader.peek_value()? != b'"';
                gas(reader)?;
                visitor.check_form(reader, is_number)
            }
            Self::GasText => {
                let rest = reader.rest().as_bytes();
                gas(reader)?;
                let is_padded = !matches!(rest, [b'"', b'1'..=b'9', ..] | [b'"', b'0', b'"', ..]);
                visitor.check_form(reader, !is_padded)
            }
            Self::Rational => rational(reader, visitor),
            Self::Identifier => identifier(reader, visitor),
            Self::StateInitData => state(reader, visitor),
        }
    }
}

fn gas(reader: &mut Reader<'_>) -> Result<(), ReadError> {
    const EXPECTED: &str = "an amount of gas, as a number or a decimal string";
    match reader.scalar()? {
        Scalar::Number(Number::Unsigned(_)) => Ok(()),
        Scalar::String(text) if is_short_decimal(&text, u64::MAX.into()) => Ok(()),
        Scalar::String(text) => {
            text.parse::<Gas>().map(drop).map_err(|error| reader.schema_error(error))
        }
        found @ Scalar::Number(Number::Negative(_)) => {
            Err(reader.schema_error(format_args!("invalid value: {found}, expected {EXPECTED}")))
        }
        other => Err(reader.untyped_error(&other, EXPECTED)),
    }
}

fn int32(reader: &mut Reader<'_>) -> Result<(), ReadError> {
    let found = reader.scalar()?;
    let fits = match found {
        Scalar::Number(Number::Unsigned(number)) => i32::try_from(number).is_ok(),
        Scalar::Number(Number::Negative(number)) => i32::try_from(number).is_ok(),
        _ => return Err(reader.type_error(&found, "i32")),
    };
    if fits {
        return Ok(());
    }
    Err(reader.schema_error(format_args!("invalid value: {found}, expected i32")))
}

fn rational<'t>(reader: &mut Reader<'t>, visitor: &mut Visitor<'_, 't>) -> Result<(), ReadError> {
    reader.open_array("tuple struct Rational")?;
    for index in 0..2 {
        item(reader, index, "tuple struct Rational with 2 elements")?;
        validate(&Schema::Scalar(ScalarSchema::I32), reader, visitor)?;
    }
    reader.end_array()
}

fn identifier<'t>(reader: &mut Reader<'t>, visitor: &mut Visitor<'_, 't>) -> Result<(), ReadError> {
    const VARIANTS: &[Variant] = match GlobalContractIdentifier::SCHEMA {
        Schema::Enum { variants, .. } => variants,
        _ => panic!("not an enumeration"),
    };
    const EXPECTED: &str = "a global contract, by hash or account id";
    match reader.scalar()? {
        Scalar::Object => variant("", VARIANTS, reader, visitor),
        Scalar::String(text) => {
            if text.parse::<CryptoHash>().is_ok() || AccountId::check(&text).is_ok() {
                return visitor.check_form(reader, false);
            }
            let found = Scalar::String(text);
            Err(reader.schema_error(format_args!("invalid value: {found}, expected {EXPECTED}")))
        }
        other => Err(reader.untyped_error(&other, EXPECTED)),
    }
}

fn state<'t>(reader: &mut Reader<'t>, visitor: &mut Visitor<'_, 't>) -> Result<(), ReadError> {
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
        validate(Bytes::SCHEMA, reader, visitor)?;
    }
    Ok(())
}
