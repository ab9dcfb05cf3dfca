//! `wire_struct!` and `wire_enum!`: types that read and write the JSON of the wire.
//!
//! What they generate keeps four promises: members are written sorted, and so declared (checked
//! when compiling); members and variants that are not known survive; a second member of one name,
//! or a second variant, is refused; nothing is buffered to try another reading of it.

use serde::de::{Error as _, MapAccess};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::extra::Name;
use crate::codec::json;

/// Defines a structure with its reader and writer
///
/// Members are declared in the order of their names. Behind the type may stand what a missing
/// member means:
///
/// - nothing: the member is required;
/// - `= default`: the default of its type, which is written out;
/// - `= null` (an `Option`): none, written as `null`;
/// - `= omitted` (an `Option`): none, and nothing is written for none;
/// - `= absent` (an `Option`): the same, but `null` is refused.
///
/// `null` is read as none for `= null` and `= omitted`, and refused elsewhere. A member
/// `extra: Extra` for what is not known is added at the end. Attributes and docs are passed on;
/// `Clone`, `Debug` and `PartialEq` are derived.
///
/// ```ignore
/// wire_struct! {
///     /// What a gas profile says of one cost
///     pub struct CostGasUsed {
///         /// Name of the cost
///         pub cost: String,
///         /// Gas used by it
///         pub gas_used: GasText,
///         /// Who said so
///         pub source: Option<String> = omitted,
///     }
/// }
/// ```
macro_rules! wire_struct {
    (
        $(#[$meta:meta])*
        pub struct $type:ident {
            $( $(#[$field_meta:meta])* pub $field:ident : $field_type:ty $(= $mode:ident)? , )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[expect(
            clippy::exhaustive_structs,
            reason = "hosts make views as well, and `extra` takes what is new on the wire"
        )]
        pub struct $type {
            $( $(#[$field_meta])* pub $field: $field_type, )*
            /// Members that are not known
            pub extra: $crate::views::Extra,
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::views::wire::read_members!(
                    deserializer, $type, stringify!($type),
                    { $( $field: $field_type $(= $mode)? , )* }
                )
            }
        }

        impl $crate::views::recognise::Recognise for $type {
            fn recognise(cursor: &mut $crate::codec::json::Compact<'_>) -> Option<()> {
                Self::recognise_members(cursor, |_, _| Some(false))
            }
        }

        impl $type {
            /// Recognises an object; `own` is asked before the value of each known member that is there,
            /// and says whether it went behind that value itself
            #[inline]
            #[doc(hidden)]
            pub fn recognise_members<'t>(
                cursor: &mut $crate::codec::json::Compact<'t>,
                mut own: impl FnMut(&str, &mut $crate::codec::json::Compact<'t>) -> Option<bool>,
            ) -> Option<()> {
                $crate::views::wire::recognise_members!(
                    cursor, own, { $( $field: $field_type $(= $mode)? , )* }
                )
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::views::wire::write_members!(
                    serializer, self, { $( $field $(= $mode)? , )* }
                )
            }
        }

        $crate::views::shape::shaped_struct!($type { $( $field: $field_type $(= $mode)? , )* });
    };
}

/// Defines an externally tagged enumeration with its reader and writer
///
/// Variants are bare words (`Name`), carry one value (`Name(Type)`) or members
/// (`Name { member: Type }`, with the rules of [`wire_struct!`]). `Name as "wire"` is a variant
/// whose name on the wire differs. A variant `Other` keeps what is not known. `{"Name": null}` is
/// read as the bare word; a known name in the wrong form is refused. `Clone`, `Debug` and
/// `PartialEq` are derived, and the enumeration is `non_exhaustive`.
///
/// ```ignore
/// wire_enum! {
///     /// How it went
///     pub enum Verdict {
///         /// Not known yet
///         Unknown,
///         /// Well
///         Success as "success"(Bytes),
///         /// Badly
///         Failure {
///             /// Why
///             reason: String,
///         },
///     }
/// }
/// ```
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $(
                $(#[$variant_meta:meta])*
                $variant:ident $(as $wire:literal)?
                $( ( $value:ty ) )?
                $( { $( $(#[$field_meta:meta])* $field:ident : $field_type:ty $(= $mode:ident)? , )* } )?
                ,
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $type {
            $(
                $(#[$variant_meta])*
                $variant
                $( ($value) )?
                $( {
                    $( $(#[$field_meta])* $field: $field_type, )*
                    /// Members that are not known
                    extra: $crate::views::Extra,
                } )?
                ,
            )*
            /// A variant that is not known
            Other($crate::views::UnknownVariant),
        }

        impl $type {
            /// The name of the variant on the wire
            pub fn name(&self) -> &str {
                match self {
                    $( Self::$variant { .. } => $crate::views::wire::name!($variant $(as $wire)?), )*
                    Self::Other(unknown) => &unknown.name,
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Variants;

                impl<'de> serde::de::Visitor<'de> for Variants {
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
                                        $type, $variant $( ($value) )? $( { $( $field )* } )?
                                    )
                                }
                            )*
                            _ => Ok($type::Other($crate::views::UnknownVariant {
                                name: name.into(),
                                value: None,
                            })),
                        }
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$type, A::Error> {
                        let Some($crate::views::extra::Name(name)) = map.next_key()? else {
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
                            _ => $type::Other($crate::views::UnknownVariant {
                                name: (&*name).into(),
                                value: Some(map.next_value()?),
                            }),
                        };
                        $crate::views::wire::end_of_variant(&mut map)?;
                        Ok(value)
                    }
                }

                deserializer.deserialize_any(Variants)
            }
        }

        impl $crate::views::recognise::Recognise for $type {
            fn recognise(cursor: &mut $crate::codec::json::Compact<'_>) -> Option<()> {
                let word = cursor.byte()? == b'"';
                if !word {
                    cursor.open()?;
                }
                match cursor.plain_string()? {
                    $(
                        $crate::views::wire::name!($variant $(as $wire)?) => {
                            $crate::views::wire::recognise_variant!(
                                cursor, word
                                $( ($value) )?
                                $( { $( $field: $field_type $(= $mode)? , )* } )?
                            )
                        }
                    )*
                    _ if word => {}
                    _ => {
                        cursor.take(b':')?;
                        cursor.skip()?;
                    }
                }
                if word { Some(()) } else { cursor.take(b'}') }
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(
                        Self::$variant
                        $( ($crate::views::wire::bind!(value, $value)) )?
                        $( { $( $field, )* extra } )?
                        => $crate::views::wire::write_variant!(
                            serializer,
                            $crate::views::wire::name!($variant $(as $wire)?),
                            $( value ($value) )?
                            $( extra { $( $field: $field_type $(= $mode)? , )* } )?
                        ),
                    )*
                    Self::Other(unknown) => unknown.serialize(serializer),
                }
            }
        }

        $crate::views::shape::shaped_enum!($type {
            $(
                $variant $(as $wire)? $( ($value) )? $( { $( $field: $field_type $(= $mode)? , )* } )?,
            )*
        });
    };
}

/// The name of a variant on the wire
macro_rules! name {
    ($variant:ident) => {
        stringify!($variant)
    };
    ($variant:ident as $wire:literal) => {
        $wire
    };
}

/// A pattern that binds the value of a variant; the type is there to repeat with it
macro_rules! bind {
    ($name:ident, $value:ty) => {
        $name
    };
}

/// A bare word: the variant, or the refusal of a variant that wants a value
macro_rules! read_word {
    ($type:ident, $variant:ident) => {
        Ok($type::$variant)
    };
    ($type:ident, $variant:ident $rest:tt) => {
        Err(serde::de::Error::invalid_type(
            serde::de::Unexpected::UnitVariant,
            &concat!("a value for ", stringify!($variant)),
        ))
    };
}

/// The value under the name of a variant
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
            extra: $crate::views::Extra,
        }

        impl<'de> serde::Deserialize<'de> for Body {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::views::wire::read_members!(
                    deserializer, Body, stringify!($variant),
                    { $( $field: $field_type $(= $mode)? , )* }
                )
            }
        }

        let Body { $( $field, )* extra } = $map.next_value()?;
        $type::$variant { $( $field, )* extra }
    }};
}

/// Recognises what stands behind the name of a variant
macro_rules! recognise_variant {
    ($cursor:ident, $word:ident) => {
        if !$word {
            $cursor.take(b':')?;
            <() as $crate::views::recognise::Recognise>::recognise($cursor)?;
        }
    };
    ($cursor:ident, $word:ident ($value:ty)) => {{
        // A bare word that wants a value is refused elsewhere, for it has no colon.
        $cursor.take(b':')?;
        <$value as $crate::views::recognise::Recognise>::recognise($cursor)?;
    }};
    (
        $cursor:ident, $word:ident
        { $( $field:ident : $field_type:ty $(= $mode:ident)? , )* }
    ) => {{
        $cursor.take(b':')?;
        let body: Option<()> = (|| {
            $crate::views::wire::recognise_members!(
                $cursor, { $( $field: $field_type $(= $mode)? , )* }
            )
        })();
        body?;
    }};
}

/// Recognises an object with these members
macro_rules! recognise_members {
    ($cursor:ident, { $( $field:ident : $field_type:ty $(= $mode:ident)? , )* }) => {{
        let mut own = |_: &str, _: &mut $crate::codec::json::Compact<'_>| Some(false);
        $crate::views::wire::recognise_members!(
            $cursor, own, { $( $field: $field_type $(= $mode)? , )* }
        )
    }};
    ($cursor:ident, $own:ident, { $( $field:ident : $field_type:ty $(= $mode:ident)? , )* }) => {{
        let _ = &mut $own;
        $cursor.open()?;
        $(
            if $cursor.member(stringify!($field), concat!("\"", stringify!($field), "\":"))? {
                if !$own(stringify!($field), $cursor)? {
                    <$crate::views::wire::recognised!($field_type $(= $mode)?)
                        as $crate::views::recognise::Recognise>::recognise($cursor)?;
                }
                $cursor.next()?;
            } else {
                $crate::views::wire::recognise_missing!($($mode)?);
            }
        )*
        $cursor.close()
    }};
}

/// The type that is recognised for a member
macro_rules! recognised {
    (Option<$field_type:ty> = absent) => {
        $field_type
    };
    ($field_type:ty $(= $mode:ident)?) => {
        $field_type
    };
}

/// What it means for recognition that a member is missing
macro_rules! recognise_missing {
    () => {
        return None
    };
    ($mode:ident) => {};
}

/// Writes a variant: its word, or an object with its name and value
macro_rules! write_variant {
    ($serializer:ident, $name:expr,) => {
        $serializer.serialize_str($name)
    };
    ($serializer:ident, $name:expr, $bound:ident ($value:ty)) => {
        $crate::views::wire::write_entry($serializer, $name, $bound)
    };
    (
        $serializer:ident, $name:expr,
        $extra:ident { $( $field:ident : $field_type:ty $(= $mode:ident)? , )* }
    ) => {{
        struct Body<'a> {
            $( $field: &'a $field_type, )*
            extra: &'a $crate::views::Extra,
        }

        impl serde::Serialize for Body<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::views::wire::write_members!(
                    serializer, self, { $( $field $(= $mode)? , )* }
                )
            }
        }

        $crate::views::wire::write_entry($serializer, $name, &Body { $( $field, )* extra: $extra })
    }};
}

/// Reads an object with these members into `$type`
macro_rules! read_members {
    (
        $deserializer:ident, $type:ident, $name:expr,
        { $( $field:ident : $field_type:ty $(= $mode:ident)? , )* }
    ) => {{
        const _: () = assert!(
            $crate::views::shape::ascending(&[$( stringify!($field) ),*]),
            "members must be declared in the order of their names"
        );

        struct Members;

        impl<'de> serde::de::Visitor<'de> for Members {
            type Value = $type;

            fn expecting(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                formatter.write_str(concat!("an object for ", $name))
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<$type, A::Error> {
                $( let mut $field: Option<$field_type> = None; )*
                let mut extra = $crate::views::Extra::new();
                while let Some($crate::views::extra::Name(name)) = map.next_key()? {
                    match &*name {
                        $(
                            stringify!($field) => {
                                if $field.is_some() {
                                    return Err($crate::views::extra::duplicate(&name));
                                }
                                $field = Some($crate::views::wire::read_value!(map $($mode)?));
                            }
                        )*
                        _ => extra.read(&name, &mut map)?,
                    }
                }
                Ok($type {
                    $( $field: $crate::views::wire::read_missing!($field $($mode)?), )*
                    extra,
                })
            }
        }

        $deserializer.deserialize_map(Members)
    }};
}

/// The value of a member that is there
macro_rules! read_value {
    ($map:ident absent) => {
        Some($map.next_value()?)
    };
    ($map:ident $($mode:ident)?) => {
        $map.next_value()?
    };
}

/// What a member is that may be missing
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
}

/// Writes an object of these members of `$body` and of `$body.extra`
macro_rules! write_members {
    ($serializer:ident, $body:ident, { $( $field:ident $(= $mode:ident)? , )* }) => {{
        use serde::ser::SerializeMap as _;

        let mut map = $serializer.serialize_map(None)?;
        #[allow(unused_mut, reason = "there are objects without known members")]
        let mut extra = $body.extra.merge();
        $( $crate::views::wire::write_member!(map, extra, $body, $field $($mode)?); )*
        extra.rest(&mut map)?;
        map.end()
    }};
}

/// Writes one member, and those of `extra` that come before it
macro_rules! write_member {
    ($map:ident, $extra:ident, $body:ident, $field:ident absent) => {
        $crate::views::wire::write_member!($map, $extra, $body, $field omitted);
    };
    ($map:ident, $extra:ident, $body:ident, $field:ident omitted) => {
        if $body.$field.is_some() {
            $crate::views::wire::write_member!($map, $extra, $body, $field);
        }
    };
    ($map:ident, $extra:ident, $body:ident, $field:ident $($mode:ident)?) => {
        $extra.before(stringify!($field), &mut $map)?;
        $map.serialize_entry(stringify!($field), &$body.$field)?;
    };
}

pub(crate) use {
    bind, name, read_members, read_missing, read_value, read_variant, read_word, recognise_members,
    recognise_missing, recognise_variant, recognised, wire_enum, wire_struct, write_member,
    write_members, write_variant,
};

/// Refuses a second variant in the object of an enumeration
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
