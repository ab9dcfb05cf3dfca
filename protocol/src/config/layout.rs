//! Assignment of the accounts of a chain to shards.
//!
//! Four versions are known; a layout of a later version is kept unchanged. Keys of maps are decimal
//! strings in JSON and integers here, so they are sorted as texts when written: 10 is before 2.
//! Whether the parts of a layout are consistent is not checked when it is read; a layout whose
//! boundaries do not decide assigns an account to no shard.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::codec::json;
use crate::primitives::{AccountId, CryptoHash, ShardId};
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

impl ShardLayout {
    /// The id of the shard that `account_id` belongs to
    ///
    /// `None` if this layout does not say so: its version is not known, it has no shard, its
    /// boundaries are not in ascending order, or it does not have one shard id more than
    /// boundaries. Takes time linear in the number of boundaries.
    ///
    /// ```
    /// use milepost_protocol::config::ShardLayout;
    ///
    /// let text = r#"{"V1":{"boundary_accounts":["aurora"],"version":1}}"#;
    /// let layout: ShardLayout = milepost_protocol::codec::json::read(text)?;
    /// assert_eq!(layout.shard_of(&"alice.near".parse().unwrap()), Some(0));
    /// assert_eq!(layout.shard_of(&"aurora".parse().unwrap()), Some(1));
    /// # Ok::<(), milepost_protocol::Error>(())
    /// ```
    pub fn shard_of(&self, account_id: &AccountId) -> Option<ShardId> {
        match self {
            Self::V0(layout) => shard_by_hash(layout.num_shards, account_id.as_str()),
            Self::V1(layout) => {
                ShardId::try_from(shard_index(&layout.boundary_accounts, account_id)?).ok()
            }
            Self::V2(layout) => shard_at(&layout.shard_ids, &layout.boundary_accounts, account_id),
            Self::V3(layout) => shard_at(&layout.shard_ids, &layout.boundary_accounts, account_id),
            Self::Other(_) => None,
        }
    }
}

/// The shard of `account_id` by the hash of its id, if there is a shard
pub(super) fn shard_by_hash(num_shards: u64, account_id: &str) -> Option<ShardId> {
    let digest = CryptoHash::digest(account_id.as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h]).checked_rem(num_shards)
}

/// The position of the shard of `account_id` in the order of accounts, if boundaries are in order
fn shard_index(boundaries: &[AccountId], account_id: &AccountId) -> Option<usize> {
    let ordered = boundaries.is_sorted_by(|left, right| left < right);
    ordered.then(|| boundaries.partition_point(|boundary| boundary <= account_id))
}

/// The id of the shard of `account_id`, if there is one id for each shard
fn shard_at(ids: &[ShardId], boundaries: &[AccountId], account_id: &AccountId) -> Option<ShardId> {
    if ids.len() != boundaries.len() + 1 {
        return None;
    }
    ids.get(shard_index(boundaries, account_id)?).copied()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ShardAssignment;

    fn shards<const N: usize>(layout: &str, accounts: [&str; N]) -> [Option<ShardId>; N] {
        let config = alloc::format!(r#"{{"a":1,"shard_layout":{layout}}}"#);
        let assignment = ShardAssignment::read(&config).unwrap();
        let layout: ShardLayout = json::read(layout).unwrap();
        accounts.map(|account| {
            let account_id = account.parse().unwrap();
            let shard = layout.shard_of(&account_id);
            assert_eq!(assignment.shard_of(account).ok(), shard, "{account} in {config}");
            shard
        })
    }

    fn v2(boundaries: &str, ids: &str) -> String {
        alloc::format!(
            r#"{{"V2":{{"boundary_accounts":{boundaries},"shard_ids":{ids},"version":3,
                "id_to_index_map":{{}},"index_to_id_map":{{}}}}}}"#
        )
    }

    /// The expected shards: the first eight bytes of the SHA-256 of the id, as a little-endian
    /// number, modulo the number of shards
    #[test]
    fn the_first_layout_assigns_by_the_hash_of_the_account() {
        let layout = r#"{"V0":{"num_shards":4,"version":0}}"#;
        let accounts = ["aurora", "alice.near", "kkuuue2akv_1630967379.near", "zz"];
        assert_eq!(shards(layout, accounts), [Some(3), Some(1), Some(3), Some(2)]);
        let layout = r#"{"V0":{"num_shards":7,"version":0}}"#;
        assert_eq!(shards(layout, accounts), [Some(1), Some(6), Some(2), Some(3)]);
    }

    /// The layout of mainnet at protocol version 48
    #[test]
    fn a_boundary_account_is_the_first_of_its_shard() {
        let layout = r#"{"V1":{"version":1,
            "boundary_accounts":["aurora","aurora-0","kkuuue2akv_1630967379.near"]}}"#;
        assert_eq!(
            shards(layout, ["00", "auror", "aurora", "aurora-0", "ba", "zz"]),
            [Some(0), Some(0), Some(1), Some(2), Some(2), Some(3)],
        );
        assert_eq!(shards(layout, ["kkuuue2akv_1630967379.near"]), [Some(3)]);
    }

    /// The layout of mainnet at protocol version 88
    #[test]
    fn ids_of_shards_are_not_their_indexes() {
        let layout = r#"{"V3":{"last_split":3,"id_to_index_map":{},"shards_split_map":{},
            "boundary_accounts":["650","aurora","aurora-0","earn.kaiching","game.hot.tg",
                "game.hot.tg-0","kkuuue2akv_1630967379.near","m.near","tge-lockup.sweat"],
            "shard_ids":[10,11,1,8,9,6,7,12,13,5]}}"#;
        let accounts = ["649", "650", "aurora", "ba", "game.hot.tg", "lz", "m.near", "zz"];
        assert_eq!(
            shards(layout, accounts),
            [Some(10), Some(11), Some(1), Some(8), Some(6), Some(12), Some(13), Some(5)],
        );
        assert_eq!(shards(&v2(r#"["mm"]"#, "[5,3]"), ["aa", "mm"]), [Some(5), Some(3)]);
        assert_eq!(shards(&v2("[]", "[7]"), ["aa"]), [Some(7)]);
    }

    #[test]
    fn a_layout_that_does_not_decide_has_no_shard() {
        for layout in [
            r#"{"V0":{"num_shards":0,"version":0}}"#,
            r#"{"V1":{"boundary_accounts":["mm","aa"],"version":1}}"#,
            r#"{"V1":{"boundary_accounts":["aa","aa"],"version":1}}"#,
            r#"{"V4":{"boundary_accounts":["mm"]}}"#,
            &v2(r#"["mm"]"#, "[5]"),
            &v2(r#"["mm"]"#, "[5,3,4]"),
            &v2("[]", "[]"),
            &v2(r#"["mm","aa"]"#, "[5,3,4]"),
        ] {
            assert_eq!(shards(layout, ["aa", "zz"]), [None, None], "{layout}");
        }
    }
}
