//! How the accounts of a chain are divided into shards.
//!
//! Four versions are known; a layout of a later version is kept as it came. Keys of maps are
//! decimal strings on the wire and numbers here, so they are sorted as texts when written: 10
//! comes before 2. Whether the parts of a layout agree with each other is not checked.

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
use crate::views::recognise::Recognise;
use crate::views::shape::{Shape, Shaped};
use crate::views::wire::{wire_enum, wire_struct};

wire_enum! {
    /// How the accounts are divided into shards, by version of the layout
    ///
    /// `n` boundary accounts make `n + 1` shards: an account belongs to the shard behind the last
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
        /// By boundaries; shards are numbered from 0 in their order
        V1(ShardLayoutV1),
        /// By boundaries; shards have ids of their own
        V2(ShardLayoutV2),
        /// By boundaries; with the history of splits, for dynamic resharding
        V3(ShardLayoutV3),
    }
}

wire_struct! {
    /// Accounts divided by their hash
    pub struct ShardLayoutV0 {
        /// Number of shards
        pub num_shards: u64,
        /// Number of this layout in the history of the chain
        pub version: u32,
    }
}

wire_struct! {
    /// Accounts divided at boundaries, shards numbered from 0
    pub struct ShardLayoutV1 {
        /// First account of each shard but the first
        pub boundary_accounts: Vec<AccountId>,
        /// For each shard of the layout before, the shards it became
        pub shards_split_map: Option<Vec<Vec<ShardId>>> = null,
        /// For each shard, the one of the layout before that it came from
        pub to_parent_shard_map: Option<Vec<ShardId>> = null,
        /// Number of this layout in the history of the chain
        pub version: u32,
    }
}

wire_struct! {
    /// Accounts divided at boundaries, shards with ids of their own
    pub struct ShardLayoutV2 {
        /// First account of each shard but the first
        pub boundary_accounts: Vec<AccountId>,
        /// Place of each shard in the order of accounts
        pub id_to_index_map: ShardMap<u64>,
        /// The shard at each place
        pub index_to_id_map: ShardMap<ShardId>,
        /// The shards in the order of their accounts
        pub shard_ids: Vec<ShardId>,
        /// For each shard, the one of the layout before that it came from
        pub shards_parent_map: Option<ShardMap<ShardId>> = null,
        /// For each shard of the layout before, the shards it became
        pub shards_split_map: Option<ShardMap<Vec<ShardId>>> = null,
        /// Number of this layout in the history of the chain
        pub version: u32,
    }
}

wire_struct! {
    /// Accounts divided at boundaries, with the history of splits
    pub struct ShardLayoutV3 {
        /// First account of each shard but the first
        pub boundary_accounts: Vec<AccountId>,
        /// Place of each shard in the order of accounts
        pub id_to_index_map: ShardMap<u64>,
        /// The shard that was split last
        pub last_split: ShardId,
        /// The shards in the order of their accounts
        pub shard_ids: Vec<ShardId>,
        /// For each shard that was ever split, the shards it became
        pub shards_split_map: ShardMap<Vec<ShardId>>,
    }
}

/// A map from the numbers of shards, or of their places; an object with decimal keys in JSON
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "it is its map")]
pub struct ShardMap<T>(pub BTreeMap<u64, T>);

impl<T> Recognise for ShardMap<T> {}

impl<T: Serialize> Serialize for ShardMap<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members: Vec<(String, &T)> =
            self.0.iter().map(|(key, value)| (key.to_string(), value)).collect();
        members.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        serializer.collect_map(members)
    }
}

impl<T: Shaped> Shaped for ShardMap<T> {
    const SHAPE: &'static Shape = &Shape::Numbered(T::SHAPE);
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
                        A::Error::custom(format_args!("key {key} is no number of a shard: {error}"))
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
