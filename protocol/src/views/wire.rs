//! `wire_struct!` and `wire_enum!`: define types with their JSON deserializer and serializer.
//!
//! The generated code has four properties: members are written sorted, and must be declared so
//! (checked at compile time); unknown members and variants are kept; a duplicate member and a
//! second variant are errors; nothing is buffered to be read in two ways.

use serde::de::{Error as _, MapAccess};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::unknown_fields::Name;
use crate::codec::json;

/// Defines a structure with its deserializer and serializer
///
/// Members are declared in the order of their names. A mode after the type says what a missing
/// member means:
///
/// - no mode: the member is required;
/// - `= default`: the default of its type, which is written;
/// - `= null` (an `Option`): `None`, written as `null`;
/// - `= omitted` (an `Option`): `None`, which is not written;
/// - `= absent` (an `Option`): as `omitted`, but `null` is an error;
/// - `= versioned` (an `Option`): as `absent`, for a member that only some protocol versions have.
///
/// `null` is read as `None` for `= null` and `= omitted`, and is an error elsewhere. A member
/// `unknown_fields: UnknownFields` is added at the end. Attributes and docs are passed on; `Clone`,
/// `Debug` and `PartialEq` are derived. The structure is `non_exhaustive`, because protocol
/// upgrades add members. A `pub exhaustive struct` is not, and is `Eq`: the protocol never changes
/// a structure that it signs.
///
/// ```ignore
/// wire_struct! {
///     /// An entry of a gas profile
///     pub struct CostGasUsed {
///         /// Name of the cost
///         pub cost: String,
///         /// Gas used
///         pub gas_used: GasText,
///         /// Optional source
///         pub source: Option<String> = omitted,
///     }
/// }
/// ```
macro_rules! wire_struct {
    ($(#[$($meta:tt)*])* pub struct $($rest:tt)*) => {
        $crate::views::wire::wire_struct! { $(#[$($meta)*])* #[non_exhaustive] struct $($rest)* }
    };
    ($(#[$($meta:tt)*])* pub exhaustive struct $($rest:tt)*) => {
        $crate::views::wire::wire_struct! {
            $(#[$($meta)*])*
            #[derive(Eq)]
            #[expect(clippy::exhaustive_structs, reason = "borsh fixes the fields")]
            struct $($rest)*
        }
    };
    (
        $(#[$($meta:tt)*])*
        struct $type:ident {
            $( $(#[$($field_meta:tt)*])* pub $field:ident : $field_type:ty $(= $mode:ident)? , )*
        }
    ) => {
        $(#[$($meta)*])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $type {
            $( $(#[$($field_meta)*])* pub $field: $field_type, )*
            /// Unknown members
            pub unknown_fields: $crate::views::UnknownFields,
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::views::wire::read_members!(
                    deserializer, $type, stringify!($type),
                    { $( $field: $field_type $(= $mode)? , )* }
                )
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self { $( $field, )* unknown_fields } = self;
                $crate::views::wire::write_members!(
                    serializer, unknown_fields, { $( $field $(= $mode)? , )* }
                )
            }
        }

        $crate::views::schema::schema_struct!($(#[$($meta)*])* $type {
            $( $(#[$($field_meta)*])* $field: $field_type $(= $mode)? , )*
        });
    };
}

/// Defines an externally tagged enumeration with its deserializer and serializer
///
/// A variant is a string (`Name`), has one value (`Name(Type)`) or has members (`Name { member:
/// Type }`, with the rules of [`wire_struct!`]). `Name as "wire"` is a variant with another name in
/// JSON. A variant `Other` keeps unknown variants. `{"Name": null}` is read as the string; a known
/// name in the wrong form is an error. `Clone`, `Debug` and `PartialEq` are derived. The
/// enumeration and its variants with members are `non_exhaustive`.
///
/// ```ignore
/// wire_enum! {
///     /// A status
///     pub enum Status {
///         /// Not executed yet
///         Unknown,
///         /// It succeeded with this value
///         Success as "success"(Bytes),
///         /// It failed
///         Failure {
///             /// Why
///             reason: String,
///         },
///     }
/// }
/// ```
macro_rules! wire_enum {
    (
        $(#[$($meta:tt)*])*
        pub enum $type:ident {
            $(
                $(#[$($variant_meta:tt)*])*
                $variant:ident $(as $wire:literal)?
                $( ( $value:ty ) )?
                $( { $( $(#[$($field_meta:tt)*])* $field:ident : $field_type:ty $(= $mode:ident)? , )* } )?
                ,
            )*
        }
    ) => {
        $(#[$($meta)*])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $type {
            $(
                $(#[$($variant_meta)*])*
                // The empty docs repeat with the fields, so that only variants with fields get the
                // attribute.
                $( #[non_exhaustive] $( #[doc = $crate::views::wire::empty!($field)] )* )?
                $variant
                $( ($value) )?
                $( {
                    $( $(#[$($field_meta)*])* $field: $field_type, )*
                    /// Unknown members
                    unknown_fields: $crate::views::UnknownFields,
                } )?
                ,
            )*
            /// An unknown variant
            Other(alloc::boxed::Box<$crate::views::UnknownVariant>),
        }

        impl $type {
            /// The name of the variant in JSON
            pub fn name(&self) -> &str {
                match self {
                    $( Self::$variant { .. } => $crate::views::wire::name!($variant $(as $wire)?), )*
                    Self::Other(unknown) => &unknown.name,
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct VariantsVisitor;

                impl<'de> serde::de::Visitor<'de> for VariantsVisitor {
                    type Value = $type;

                    fn expecting(
                        &self,
                        formatter: &mut core::fmt::Formatter<'_>,
                    ) -> core::fmt::Result {
                        formatter.write_str(concat!("a variant of ", stringify!($type)))
                    }

                    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<$type, E> {
                        match name {
                            $(
                                $crate::views::wire::name!($variant $(as $wire)?) => {
                                    $crate::views::wire::read_word!(
                                        $type, $variant, [$variant $(as $wire)?]
                                        $( ($value) )? $( { $( $field )* } )?
                                    )
                                }
                            )*
                            _ => $crate::views::UnknownVariant::of(
                                stringify!($type), name, || Ok(None),
                            )
                            .map($type::Other),
                        }
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$type, A::Error> {
                        let Some($crate::views::unknown_fields::Name(name)) = map.next_key()? else {
                            return Err(serde::de::Error::invalid_length(0, &"one variant"));
                        };
                        let value = match &*name {
                            $(
                                $crate::views::wire::name!($variant $(as $wire)?) => {
                                    $crate::views::wire::read_variant!(
                                        map, $type, $variant
                                        $( ($value) )?
                                        $( { $( $field: $field_type $(= $mode)? , )* } )?
                                    )
                                }
                            )*
                            _ => $type::Other($crate::views::UnknownVariant::of(
                                stringify!($type), &name, || map.next_value().map(Some),
                            )?),
                        };
                        $crate::views::wire::end_of_variant(&mut map)?;
                        Ok(value)
                    }
                }

                deserializer.deserialize_any(VariantsVisitor)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(
                        Self::$variant
                        $( ($crate::views::wire::bind!(value, $value)) )?
                        $( { $( $field, )* unknown_fields } )?
                        => $crate::views::wire::write_variant!(
                            serializer,
                            $crate::views::wire::name!($variant $(as $wire)?),
                            $( value ($value) )?
                            $( unknown_fields { $( $field: $field_type $(= $mode)? , )* } )?
                        ),
                    )*
                    Self::Other(unknown) => unknown.serialize(serializer),
                }
            }
        }

        $crate::views::schema::schema_enum!($(#[$($meta)*])* $type {
            $(
                $(#[$($variant_meta)*])*
                $variant $(as $wire)?
                $( ($value) )?
                $( { $( $(#[$($field_meta)*])* $field: $field_type $(= $mode)? , )* } )?
                ,
            )*
        });
    };
}

/// An empty text; repeats with a field
macro_rules! empty {
    ($field:ident) => {
        ""
    };
}

/// The name of a variant in JSON
macro_rules! name {
    ($variant:ident) => {
        stringify!($variant)
    };
    ($variant:ident as $wire:literal) => {
        $wire
    };
}

/// A pattern that binds the value of a variant; repeats with the type
macro_rules! bind {
    ($name:ident, $value:ty) => {
        $name
    };
}

/// Reads a string: the variant, or the error for a variant with a value
macro_rules! read_word {
    ($type:ident, $variant:ident, $name:tt) => {
        Ok($type::$variant)
    };
    ($type:ident, $variant:ident, [$($name:tt)*] $rest:tt) => {
        Err(serde::de::Error::invalid_type(
            serde::de::Unexpected::UnitVariant,
            &concat!("a value for ", $crate::views::wire::name!($($name)*)),
        ))
    };
}

/// Reads the value of a variant
macro_rules! read_variant {
    ($map:ident, $type:ident, $variant:ident) => {{
        $map.next_value::<()>()?;
        $type::$variant
    }};
    ($map:ident, $type:ident, $variant:ident ($value:ty)) => {
        $type::$variant($map.next_value::<$value>()?)
    };
    (
        $map:ident, $type:ident, $variant:ident
        { $( $field:ident : $field_type:ty $(= $mode:ident)? , )* }
    ) => {{
        struct Body {
            $( $field: $field_type, )*
            unknown_fields: $crate::views::UnknownFields,
        }

        impl<'de> serde::Deserialize<'de> for Body {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::views::wire::read_members!(
                    deserializer, Body, stringify!($variant),
                    { $( $field: $field_type $(= $mode)? , )* }
                )
            }
        }

        let Body { $( $field, )* unknown_fields } = $map.next_value()?;
        $type::$variant { $( $field, )* unknown_fields }
    }};
}

/// Writes a variant: a string, or an object with its name and value
macro_rules! write_variant {
    ($serializer:ident, $name:expr,) => {
        $serializer.serialize_str($name)
    };
    ($serializer:ident, $name:expr, $bound:ident ($value:ty)) => {
        $crate::views::wire::write_entry($serializer, $name, $bound)
    };
    (
        $serializer:ident, $name:expr,
        $unknown_fields:ident { $( $field:ident : $field_type:ty $(= $mode:ident)? , )* }
    ) => {{
        struct Body<'a> {
            $( $field: &'a $field_type, )*
            unknown_fields: &'a $crate::views::UnknownFields,
        }

        impl serde::Serialize for Body<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Body { $( $field, )* unknown_fields } = *self;
                $crate::views::wire::write_members!(
                    serializer, unknown_fields, { $( $field $(= $mode)? , )* }
                )
            }
        }

        let body = Body { $( $field, )* unknown_fields: $unknown_fields };
        $crate::views::wire::write_entry($serializer, $name, &body)
    }};
}

/// Reads an object with these members as a `$type`
macro_rules! read_members {
    (
        $deserializer:ident, $type:ident, $name:expr,
        { $( $field:ident : $field_type:ty $(= $mode:ident)? , )* }
    ) => {{
        const _: () = assert!(
            $crate::views::schema::ascending(&[$( stringify!($field) ),*]),
            "members must be declared in the order of their names"
        );

        struct MembersVisitor;

        impl<'de> serde::de::Visitor<'de> for MembersVisitor {
            type Value = $type;

            fn expecting(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                formatter.write_str(concat!("an object for ", $name))
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<$type, A::Error> {
                $( let mut $field: Option<$field_type> = None; )*
                let mut unknown_fields = $crate::views::UnknownFields::new();
                while let Some($crate::views::unknown_fields::Name(name)) = map.next_key()? {
                    match &*name {
                        $(
                            stringify!($field) => {
                                if $field.is_some() {
                                    return Err($crate::views::unknown_fields::duplicate(&name));
                                }
                                $field = Some($crate::views::wire::read_value!(map $($mode)?));
                            }
                        )*
                        _ => unknown_fields.read(&name, &mut map)?,
                    }
                }
                Ok($type {
                    $( $field: $crate::views::wire::read_missing!($field $($mode)?), )*
                    unknown_fields,
                })
            }
        }

        $deserializer.deserialize_map(MembersVisitor)
    }};
}

/// Reads the value of a member
macro_rules! read_value {
    ($map:ident absent) => {
        Some($map.next_value()?)
    };
    ($map:ident versioned) => {
        Some($map.next_value()?)
    };
    ($map:ident $($mode:ident)?) => {
        $map.next_value()?
    };
}

/// The value of a member that may be missing
macro_rules! read_missing {
    ($field:ident) => {
        $field.ok_or_else(|| serde::de::Error::missing_field(stringify!($field)))?
    };
    ($field:ident default) => {
        $field.unwrap_or_default()
    };
    ($field:ident null) => {
        $field.flatten()
    };
    ($field:ident omitted) => {
        $field.flatten()
    };
    ($field:ident absent) => {
        $field.flatten()
    };
    ($field:ident versioned) => {
        $field.flatten()
    };
}

/// Writes an object of these members, which are variables, and of unknown fields
macro_rules! write_members {
    ($serializer:ident, $unknown_fields:ident, { $( $field:ident $(= $mode:ident)? , )* }) => {
        $unknown_fields.write(
            $serializer,
            &[$( stringify!($field) ),*],
            &[$( $crate::views::wire::written!($field $($mode)?) ),*],
        )
    };
}

/// The value of a member that is written; `None` for one that is omitted
macro_rules! written {
    ($field:ident absent) => {
        $crate::views::wire::written!($field omitted)
    };
    ($field:ident versioned) => {
        $crate::views::wire::written!($field omitted)
    };
    ($field:ident omitted) => {
        $field.as_ref().map(|value| value as _)
    };
    ($field:ident $($mode:ident)?) => {
        Some($field)
    };
}

pub(crate) use {
    bind, empty, name, read_members, read_missing, read_value, read_variant, read_word, wire_enum,
    wire_struct, write_members, write_variant, written,
};

/// Returns an error if the object of an enumeration has a second variant
pub(crate) fn end_of_variant<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    match map.next_key::<Name<'_>>()? {
        None => Ok(()),
        Some(Name(second)) => {
            let second = json::write(&*second);
            Err(A::Error::custom(format_args!("one variant expected, found {second} as well")))
        }
    }
}

/// Writes an object of one member
pub(crate) fn write_entry<S: Serializer, T: Serialize + ?Sized>(
    serializer: S,
    name: &'static str,
    value: &T,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(name, value)?;
    map.end()
}
