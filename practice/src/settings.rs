//! The settings of a practice chain.
//!
//! The chain follows from its settings: equal settings result in equal bytes. Probabilities are in
//! thousandths, because integers are the same on every platform.

use alloc::string::String;
use core::ops::RangeInclusive;

use crate::config;

/// The settings of a practice chain
///
/// Start from [`Settings::demo`] or [`Settings::simulation`] and change fields:
///
/// ```
/// use milepost_practice::Settings;
///
/// let settings = Settings { shards: 2, forks: 100, ..Settings::demo(7) };
/// assert_eq!(settings.chain_id, "practice");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "made to be written with `..Settings::demo(seed)`")]
pub struct Settings {
    /// The seed of the random numbers and of every key
    pub seed: u64,
    /// The chain id; also the top-level account of all accounts
    pub chain_id: String,
    /// Number of shards, at least 1 and at most [`Settings::MAX_SHARDS`]
    pub shards: usize,
    /// Height of the first block
    pub genesis_height: u64,
    /// Time of the first block, in nanoseconds since 1970
    pub genesis_time: u64,
    /// Milliseconds between blocks
    pub interval: RangeInclusive<u64>,
    /// Number of new transactions per block
    pub transactions: RangeInclusive<u64>,
    /// Number of blocks of an epoch
    pub epoch_length: u64,
    /// Protocol version before the upgrade
    pub protocol_version: u32,
    /// Protocol version from the upgrade on
    pub upgraded_version: u32,
    /// The first epoch of the upgraded version, counted from 0
    pub upgrade_epoch: u64,
    /// Probability that a height has no block, in thousandths
    pub skips: u16,
    /// Probability that a chunk is missing, in thousandths
    pub missing_chunks: u16,
    /// Probability that all chunks of a block are missing, in thousandths
    pub empty_blocks: u16,
    /// The epoch with whose first block a shard is split in two, counted from 0
    ///
    /// The two parts have new ids, as on a network. The configurations of
    /// [`protocol_config`](config::protocol_config) have the shards before it. Nothing is split in
    /// epoch 0, or with [`MAX_SHARDS`](Self::MAX_SHARDS) shards.
    pub split_epoch: Option<u64>,
    /// Probability that a receipt is delayed by 3 to 8 blocks, in thousandths
    pub delays: u16,
    /// Probability that the outcome of a transaction is two blocks later, in thousandths
    ///
    /// Such a transaction has `"outcome": null` in its chunk. Its outcome is in
    /// `receipt_execution_outcomes` of the later block, with `"receipt": null` and its own hash as
    /// `tx_hash`. No node writes this form; it makes "included, but not executed" observable.
    /// Strict readers of block messages reject it, so set 0 for them.
    pub late_outcomes: u16,
    /// Probability that a block has a fork of 1 to 3 blocks, which is abandoned, in thousandths
    pub forks: u16,
    /// Probability that a message is delivered a second time, in thousandths
    pub repeats: u16,
    /// Maximum number of transactions that [`Practice::recent`](crate::Practice::recent) returns
    pub recent: usize,
}

impl Settings {
    /// Maximum number of shards: one per first letter of an account id
    pub const MAX_SHARDS: usize = 26;

    /// A chain with every kind of transaction and without forks
    pub fn demo(seed: u64) -> Self {
        Self {
            seed,
            chain_id: "practice".into(),
            shards: 4,
            genesis_height: 100_000_000,
            // The nanoseconds of `config::GENESIS_TIME`.
            genesis_time: 1_767_225_600_000_000_000,
            interval: 600..=700,
            transactions: 4..=10,
            epoch_length: config::EPOCH_LENGTH,
            protocol_version: config::FIRST_PROTOCOL_VERSION,
            upgraded_version: config::SECOND_PROTOCOL_VERSION,
            upgrade_epoch: 2,
            skips: 10,
            missing_chunks: 10,
            empty_blocks: 0,
            split_epoch: None,
            delays: 60,
            late_outcomes: 30,
            forks: 0,
            repeats: 0,
            recent: 256,
        }
    }

    /// A chain with many forks, repeated messages, skipped heights and missing chunks
    pub fn simulation(seed: u64) -> Self {
        Self {
            transactions: 0..=6,
            skips: 80,
            missing_chunks: 60,
            delays: 120,
            forks: 120,
            repeats: 50,
            ..Self::demo(seed)
        }
    }

    /// The protocol version of an epoch, counted from 0
    pub const fn protocol_version_of(&self, epoch: u64) -> u32 {
        if epoch < self.upgrade_epoch { self.protocol_version } else { self.upgraded_version }
    }

    /// The number of shards: [`shards`](Self::shards), clamped to its limits
    pub const fn shard_count(&self) -> usize {
        if self.shards == 0 {
            1
        } else if self.shards > Self::MAX_SHARDS {
            Self::MAX_SHARDS
        } else {
            self.shards
        }
    }

    /// The first account id of every shard except the first, in order
    ///
    /// ```
    /// let settings = milepost_practice::Settings::demo(1);
    /// assert!(settings.boundary_accounts().eq(["g0", "n0", "t0"]));
    /// ```
    pub fn boundary_accounts(&self) -> impl Iterator<Item = String> {
        let shards = self.shard_count();
        (1..shards).map(move |shard| {
            let letter = b'a' + (shard * 26).div_euclid(shards) as u8;
            [char::from(letter), '0'].into_iter().collect()
        })
    }

    /// The index of the shard that is split with this epoch, the middle one, and the first account
    /// id of its second part
    pub(crate) fn split_in(&self, epoch: u64) -> Option<(usize, String)> {
        let shards = self.shard_count();
        let index = shards / 2;
        let letter = |shard: usize| b'a' + (shard * 26).div_euclid(shards) as u8;
        let middle = letter(index).midpoint(letter(index + 1));
        // Between the names of one letter, if there is no other.
        let second = if middle > letter(index) { '0' } else { 'i' };
        let is_due = epoch > 0 && self.split_epoch == Some(epoch) && shards < Self::MAX_SHARDS;
        is_due.then(|| (index, [char::from(middle), second].into_iter().collect()))
    }

    /// The shard of an account: the number of boundaries that are not greater than its id
    ///
    /// In blocks before a shard is split, this is the id of the shard.
    pub fn shard_of(&self, account_id: &str) -> usize {
        self.boundary_accounts().filter(|boundary| boundary.as_str() <= account_id).count()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::demo(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_between_the_boundaries_of_their_shard() {
        let settings = Settings::demo(1);
        for (account, shard) in [("0a", 0), ("alice", 0), ("g0", 1), ("grace", 1), ("zoe", 3)] {
            assert_eq!(settings.shard_of(account), shard, "{account}");
        }
        assert_eq!(Settings { shards: 0, ..Settings::demo(1) }.shard_of("zoe"), 0);
        assert_eq!(Settings { shards: 99, ..Settings::demo(1) }.shard_of("zoe"), 25);
    }
}
