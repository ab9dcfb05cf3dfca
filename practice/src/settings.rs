//! What a practice chain should be like.
//!
//! Everything that the chain is follows from these settings; two chains with equal settings give
//! equal bytes. Probabilities are in thousandths, because integers are the same everywhere.

use alloc::string::String;
use core::ops::RangeInclusive;

use crate::config;

/// The settings of a practice chain
///
/// Start from [`Settings::demo`] or [`Settings::simulation`] and change what matters:
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
    /// What all chance, and every key, is drawn from
    pub seed: u64,
    /// The name of the chain; it is also the top-level account of everyone on it
    pub chain_id: String,
    /// Shards, at least 1 and at most [`Settings::MOST_SHARDS`]
    pub shards: usize,
    /// Height of the first block
    pub genesis_height: u64,
    /// Time of the first block, in nanoseconds since 1970
    pub genesis_time: u64,
    /// Milliseconds from a block to the next
    pub interval: RangeInclusive<u64>,
    /// New transactions per block
    pub transactions: RangeInclusive<u64>,
    /// Blocks of an epoch
    pub epoch_length: u64,
    /// Protocol version before the upgrade
    pub protocol_version: u32,
    /// Protocol version from the upgrade on
    pub upgraded_version: u32,
    /// Epoch, counted from 0, with which the upgrade comes
    pub upgrade_epoch: u64,
    /// Thousandths of heights that stay without a block
    pub skips: u16,
    /// Thousandths of chunks that are missing from their block
    pub missing_chunks: u16,
    /// Thousandths of receipts that wait 3 to 8 blocks before they are executed
    pub delays: u16,
    /// Thousandths of transactions whose outcome comes two blocks after them
    ///
    /// Such a transaction has `"outcome": null` in its chunk. Its outcome stands in
    /// `receipt_execution_outcomes` of the later block, with `"receipt": null` and its own hash as
    /// `tx_hash`. No node writes this form; it makes "known, but not executed" last long enough to
    /// be looked at. Strict readers of block messages refuse it, so set 0 for them.
    pub late_outcomes: u16,
    /// Thousandths of blocks with a rival: a fork of 1 to 3 blocks that is abandoned
    pub forks: u16,
    /// Thousandths of messages that are delivered a second time, byte for byte
    pub repeats: u16,
    /// How many transactions [`Practice::recent`](crate::Practice::recent) remembers
    pub recent: usize,
}

impl Settings {
    /// The most shards a practice chain can have: one per first letter of an account id
    pub const MOST_SHARDS: usize = 26;

    /// A friendly chain that shows everything and never takes anything back
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
            delays: 60,
            late_outcomes: 30,
            forks: 0,
            repeats: 0,
            recent: 256,
        }
    }

    /// A rough chain: forks, repeated messages, skipped heights and missing chunks are common
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

    /// How many shards there really are: [`shards`](Self::shards), kept within its limits
    pub const fn shard_count(&self) -> usize {
        if self.shards == 0 {
            1
        } else if self.shards > Self::MOST_SHARDS {
            Self::MOST_SHARDS
        } else {
            self.shards
        }
    }

    /// The first account id of every shard but the first, in order
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

    /// The shard of an account: the one after the last boundary that is not above its id
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
    fn accounts_lie_between_their_boundaries() {
        let settings = Settings::demo(1);
        for (account, shard) in [("0a", 0), ("alice", 0), ("g0", 1), ("grace", 1), ("zoe", 3)] {
            assert_eq!(settings.shard_of(account), shard, "{account}");
        }
        assert_eq!(Settings { shards: 0, ..Settings::demo(1) }.shard_of("zoe"), 0);
        assert_eq!(Settings { shards: 99, ..Settings::demo(1) }.shard_of("zoe"), 25);
    }
}
