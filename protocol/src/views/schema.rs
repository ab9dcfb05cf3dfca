//! Schemas of the wire types as tables, for checking a text without building values.
//!
//! A check returns the error that reading the typed view returns, with the same text and offset: it
//! reads the same things in the same order. One interpreter serves all types, where deserializers
//! are code for each type; so a host that only checks has a tenth of the code. The macros that
//! declare the types make the tables.

#[cfg(test)]
pub mod adversarial_tests;
mod repairs;
mod validate;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{GlobalContractIdentifierView, StateInitData};
use crate::codec::{base58, base64};
use crate::primitives::{
    AccountId, Balance, Bytes, CryptoHash, Fraction, Gas, GasText, ParseError, PublicKey, Rational,
    Signature,
};
pub use repairs::{Repairs, TypeMismatches, locate};
pub use validate::{check, check_and_find};

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
    ///
    /// `required` has a bit for each member that is required, the first lowest; it is elsewhere,
    /// because it is as large as all the rest.
    Object {
        name: &'static str,
        #[cfg(feature = "internal-schema-docs")]
        docs: &'static str,
        members: &'static [Member],
        required: &'static u128,
    },
    /// An externally tagged enumeration: a string or an object with one member; unknown ones too
    Enum {
        name: &'static str,
        #[cfg(feature = "internal-schema-docs")]
        docs: &'static str,
        variants: &'static [Variant],
    },
}

/// Whether a variant of this enumeration is a delegate action inside another, which the protocol
/// does not have; any other variant that is not known is kept
pub(crate) fn is_nested_delegate(enumeration: &str, variant: &str) -> bool {
    matches!(variant, "Delegate" | "DelegateV2") && enumeration == "NonDelegateAction"
}

/// The error for one
pub(crate) const NESTED_DELEGATE: &str = "a delegate action inside a delegate action";

/// A bit for each member that is required, the first lowest
pub const fn required_bits(members: &[bool]) -> u128 {
    assert!(members.len() <= 128, "there is a bit for each of 128 members");
    let (mut required, mut index) = (0, 0);
    while index < members.len() {
        required |= (members[index] as u128) << index;
        index += 1;
    }
    required
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
    I32,
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
    /// Its name with quotes and colon, as canonical texts have it
    pub key: &'static str,
    #[cfg(feature = "internal-schema-docs")]
    pub docs: &'static str,
    /// Its type in Rust, which may be an alias
    #[cfg(feature = "internal-schema-docs")]
    pub rust_type: &'static str,
    /// Whether only some protocol versions have it
    #[cfg(feature = "internal-schema-docs")]
    pub versioned: bool,
    /// Whether it is required, as its bit in the object says
    #[cfg(feature = "internal-schema-docs")]
    pub required: bool,
    pub schema: &'static Schema,
}

impl Member {
    /// Its name
    pub fn name(&self) -> &'static str {
        self.key.get(1..self.key.len() - 2).unwrap_or_default()
    }
}

/// A variant of an enumeration
#[expect(clippy::exhaustive_structs, reason = "for the engine only")]
pub struct Variant {
    pub name: &'static str,
    #[cfg(feature = "internal-schema-docs")]
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
    ($( $type:ty, $is_valid:expr; )*) => {
        $(
            impl HasSchema for $type {
                const SCHEMA: &'static Schema = &Schema::Text {
                    expected: <$type>::EXPECTED,
                    check: |text| {
                        let is_valid: fn(&str) -> bool = $is_valid;
                        if is_valid(text) { Ok(()) } else { text.parse::<Self>().map(drop) }
                    },
                };
            }
        )*
    };
}

// Each with a test that accepts nearly all valid texts without decoding them.
texts! {
    AccountId, |text| Self::check(text).is_ok();
    Balance, |text| is_short_decimal(text, u128::MAX);
    Bytes, base64::is_valid_fast;
    CryptoHash, base58::is_valid_32_fast;
    PublicKey, |text| text.strip_prefix("ed25519:").is_some_and(base58::is_valid_32_fast);
    Signature, |text| {
        text.strip_prefix("ed25519:").is_some_and(|digits| base58::decode::<64>(digits).is_ok())
    };
}

/// Whether a text has only digits, fewer than the maximum
fn is_short_decimal(text: &str, max: u128) -> bool {
    !text.is_empty()
        && text.len() <= max.ilog10() as usize
        && text.bytes().all(|byte| byte.is_ascii_digit())
}

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
                #[cfg(feature = "internal-schema-docs")]
                docs: $crate::views::schema::docs!($(#[$($meta)*])*),
                variants: &[
                    $(
                        $crate::views::schema::Variant {
                            name: $crate::views::wire::name!($variant $(as $wire)?),
                            #[cfg(feature = "internal-schema-docs")]
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
        const {
            const MEMBERS: &[$crate::views::schema::Member] = &[
                $(
                    $crate::views::schema::Member {
                        key: concat!("\"", stringify!($field), "\":"),
                        #[cfg(feature = "internal-schema-docs")]
                        docs: $crate::views::schema::docs!($(#[$($member_meta)*])*),
                        #[cfg(feature = "internal-schema-docs")]
                        rust_type: stringify!($field_type),
                        #[cfg(feature = "internal-schema-docs")]
                        versioned: $crate::views::schema::versioned!($($mode)?),
                        #[cfg(feature = "internal-schema-docs")]
                        required: $crate::views::schema::required!($($mode)?),
                        schema: $crate::views::schema::member_schema!($field_type $(= $mode)?),
                    },
                )*
            ];
            &$crate::views::schema::Schema::Object {
                name: stringify!($name),
                #[cfg(feature = "internal-schema-docs")]
                docs: $crate::views::schema::docs!($(#[$($meta)*])*),
                members: MEMBERS,
                required: &$crate::views::schema::required_bits(
                    &[$( $crate::views::schema::required!($($mode)?) ),*],
                ),
            }
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

/// Whether only some protocol versions have a member
#[cfg(feature = "internal-schema-docs")]
macro_rules! versioned {
    (versioned) => {
        true
    };
    ($($mode:ident)?) => {
        false
    };
}

/// The schema of the value of a member
macro_rules! member_schema {
    ($field_type:ty = absent) => {
        <$field_type as $crate::views::schema::NeverNull>::SCHEMA
    };
    ($field_type:ty = versioned) => {
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
#[cfg(feature = "internal-schema-docs")]
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

#[cfg(feature = "internal-schema-docs")]
pub(crate) use {docs, versioned};
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
