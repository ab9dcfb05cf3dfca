//! Assignment of the accounts of a chain to shards.
//!
//! Four versions are known; a layout of a later version is kept unchanged. Keys of maps are decimal
//! strings in JSON and integers here, so they are sorted as texts when written: 10 is before 2.
//! Whether the parts of a layout are consistent is not checked.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::codec::json;
use crate::primitives::{AccountId, ShardId};
use crate::views::schema::{HasSchema, Schema};
use crate::views::wire::{wire_enum, wire_struct};

wire_enum! {
    /// Assignment of accounts to shards, by version of the layout
    ///
    /// `n` boundary accounts make `n + 1` shards: an account belongs to the shard after the last
    /// boundary that is not greater than its id, compared by bytes.
    ///
    /// ```
    /// use milepost_protocol::config::ShardLayout;
    ///
    /// let text = r#"{"V9":{"shards":[1,2]}}"#;
    /// let layout: ShardLayout = milepost_protocol::codec::json::read(text).unwrap();
    /// assert_eq!(layout.name(), "V9");
    /// assert_eq!(milepost_protocol::codec::json::write(&layout), text);
    /// ```
    pub enum ShardLayout {
        /// By a hash of the account id
        V0(ShardLayoutV0),
        /// By boundaries; shards are numbered from 0
        V1(ShardLayoutV1),
        /// By boundaries; shards have separate ids
        V2(ShardLayoutV2),
        /// By boundaries; with the history of splits, for dynamic resharding
        V3(ShardLayoutV3),
    }
}

wire_struct! {
    /// Accounts assigned by a hash of their id
    pub struct ShardLayoutV0 {
        /// Number of shards
        pub num_shards: u64,
        /// Version number of this layout on the chain
        pub version: u32,
    }
}

wire_struct! {
    /// Accounts assigned by boundaries, shards numbered from 0
    pub struct ShardLayoutV1 {
        /// First account of each shard except the first
        pub boundary_accounts: Vec<AccountId>,
        /// For each shard of the previous layout, its successors
        pub shards_split_map: Option<Vec<Vec<ShardId>>> = null,
        /// For each shard, its parent in the previous layout
        pub to_parent_shard_map: Option<Vec<ShardId>> = null,
        /// Version number of this layout on the chain
        pub version: u32,
    }
}

wire_struct! {
    /// Accounts assigned by boundaries, shards with separate ids
    pub struct ShardLayoutV2 {
        /// First account of each shard except the first
        pub boundary_accounts: Vec<AccountId>,
        /// Index of each shard in the order of accounts
        pub id_to_index_map: ShardMap<u64>,
        /// The shard at each index
        pub index_to_id_map: ShardMap<ShardId>,
        /// The shards, in the order of accounts
        pub shard_ids: Vec<ShardId>,
        /// For each shard, its parent in the previous layout
        pub shards_parent_map: Option<ShardMap<ShardId>> = null,
        /// For each shard of the previous layout, its successors
        pub shards_split_map: Option<ShardMap<Vec<ShardId>>> = null,
        /// Version number of this layout on the chain
        pub version: u32,
    }
}

wire_struct! {
    /// Accounts assigned by boundaries, with the history of splits
    pub struct ShardLayoutV3 {
        /// First account of each shard except the first
        pub boundary_accounts: Vec<AccountId>,
        /// Index of each shard in the order of accounts
        pub id_to_index_map: ShardMap<u64>,
        /// The shard that was split last
        pub last_split: ShardId,
        /// The shards, in the order of accounts
        pub shard_ids: Vec<ShardId>,
        /// For each shard that was ever split, its successors
        pub shards_split_map: ShardMap<Vec<ShardId>>,
    }
}

/// A map from shard ids or indexes; an object with decimal keys in JSON
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "a newtype of a map")]
pub struct ShardMap<T>(pub BTreeMap<u64, T>);

impl<T: Serialize> Serialize for ShardMap<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members: Vec<(String, &T)> =
            self.0.iter().map(|(key, value)| (key.to_string(), value)).collect();
        members.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        serializer.collect_map(members)
    }
}

impl<T: HasSchema> HasSchema for ShardMap<T> {
    const SCHEMA: &'static Schema = &Schema::IntegerKeys(T::SCHEMA);
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ShardMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = ShardMap<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object with decimal keys")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = BTreeMap::new();
                while let Some(key) = map.next_key::<String>()? {
                    let number: u64 = key.parse().map_err(|error| {
                        let key = json::write(&key);
                        A::Error::custom(format_args!("key {key} is not a shard id: {error}"))
                    })?;
                    match members.entry(number) {
                        Entry::Vacant(entry) => entry.insert(map.next_value()?),
                        Entry::Occupied(_) => {
                            return Err(A::Error::custom(format_args!("duplicate key {number}")));
                        }
                    };
                }
                Ok(ShardMap(members))
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}
