//! The shards of a chain: their ids, and the accounts that divide them.
//!
//! A shard has an index, its position among the accounts, and an id, which is never used again: the
//! two parts of a shard that is split get new ids.

use alloc::string::String;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, ShardId};

use crate::Settings;

/// The shards of a chain, in the order of their accounts
#[derive(Clone, Debug)]
pub(crate) struct ShardLayout {
    /// The first account id of every shard except the first
    boundaries: Vec<String>,
    pub(crate) ids: Vec<ShardId>,
}

impl ShardLayout {
    /// The layout of the first block
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            boundaries: settings.boundary_accounts().collect(),
            ids: (0..settings.shard_count() as ShardId).collect(),
        }
    }

    /// The index of the shard of an account
    pub(crate) fn index_of(&self, account_id: &AccountId) -> usize {
        self.boundaries.partition_point(|boundary| boundary.as_str() <= account_id.as_str())
    }

    /// The shard at this index is split at this account
    pub(crate) fn split(&mut self, index: usize, boundary: String) {
        let next = self.ids.iter().max().map_or(0, |id| id + 1);
        self.ids.splice(index..=index, [next, next + 1]);
        self.boundaries.insert(index, boundary);
    }
}
