//! The shards whose chunks a partial feed has.
//!
//! A set that is copied with the settings it is part of, so it has a fixed size: ids of shards are
//! small numbers, of which each split of a shard takes the next two.

use crate::primitives::ShardId;
use crate::{Error, ErrorKind};

/// The shards that are tracked: all of them, or those that a partial feed has
///
/// A shard that is split is replaced by its successors, which have to be tracked too.
///
/// ```
/// use milepost::config::TrackedShards;
///
/// assert!(TrackedShards::ALL.contains(3));
/// let shards = TrackedShards::new([0, 5])?;
/// assert!(shards.contains(5) && !shards.contains(3));
/// let error = TrackedShards::new([128]).unwrap_err();
/// assert_eq!(error.to_string(), "shard 128 cannot be tracked, the maximum id is 127");
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TrackedShards {
    /// A bit for each id; none for all shards
    bits: [u64; Self::WORDS],
}

impl TrackedShards {
    const WORDS: usize = 2;
    /// The highest id of a shard that can be tracked
    pub const MAX_ID: ShardId = 64 * Self::WORDS as ShardId - 1;
    /// All shards, whatever their ids
    pub const ALL: Self = Self { bits: [0; Self::WORDS] };

    /// The shards with these ids; all shards if there is none
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Limit`] for an id above [`MAX_ID`](Self::MAX_ID).
    pub fn new(ids: impl IntoIterator<Item = ShardId>) -> Result<Self, Error> {
        ids.into_iter().try_fold(Self::ALL, Self::with_shard)
    }

    /// The shards whose ids are the numbers of the bits that are set, from the lowest bit of the
    /// first word on; all shards if there is none
    pub const fn from_bits(bits: [u64; 2]) -> Self {
        Self { bits }
    }

    /// These shards and this one; this one alone if all were tracked
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Limit`] for an id above [`MAX_ID`](Self::MAX_ID).
    pub fn with_shard(mut self, id: ShardId) -> Result<Self, Error> {
        let index = usize::try_from(id / 64).ok();
        match index.and_then(|index| self.bits.get_mut(index)) {
            Some(word) => *word |= 1 << (id % 64),
            None => {
                let (max, detail) = (Self::MAX_ID, "cannot be tracked, the maximum id is");
                return Err(Error::new(
                    ErrorKind::Limit,
                    format_args!("shard {id} {detail} {max}"),
                ));
            }
        }
        Ok(self)
    }

    /// Whether all shards are tracked
    pub const fn is_all(&self) -> bool {
        matches!(self.bits, [0, 0])
    }

    /// Whether the shard with this id is tracked
    pub fn contains(&self, id: ShardId) -> bool {
        let word = usize::try_from(id / 64).ok().and_then(|index| self.bits.get(index));
        self.is_all() || word.is_some_and(|word| word & (1 << (id % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_shards_that_were_added_and_no_others() {
        let ids = [0, 1, 63, 64, 127];
        let shards = TrackedShards::new(ids).unwrap();
        for id in (0..300).chain([u64::MAX, 1 << 32, (1 << 38) + 1]) {
            assert_eq!(shards.contains(id), ids.contains(&id), "{id}");
            assert!(TrackedShards::ALL.contains(id));
        }
        let bits = [1 | 1 << 1 | 1 << 63, 1 | 1 << 63];
        assert_eq!(TrackedShards::from_bits(bits), shards);
        assert!(!shards.is_all() && TrackedShards::new([]).unwrap().is_all());
        for id in [128, 1 << 38, u64::MAX] {
            assert_eq!(shards.with_shard(id).unwrap_err().kind(), ErrorKind::Limit);
        }
    }
}
