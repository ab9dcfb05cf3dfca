//! Which faults a feed has, and when.
//!
//! Each request draws its faults from the seed and its number, each height from the seed and the
//! height: equal requests in equal order have equal faults. Probabilities are in thousandths.

use milepost_testkit::mix;

/// The faults of a feed; none by default
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "made to be written with `..Faults::default()`")]
pub struct Faults {
    /// The seed
    pub seed: u64,
    /// Responses that are up to two seconds late
    pub delays: u64,
    /// 500 in place of a response
    pub failures: u64,
    /// 429 with `Retry-After` in place of a response
    pub too_many: u64,
    /// 404 from a cache that is too high, for a block that exists
    pub stale: u64,
    /// Bodies that end early, at the length that was promised for the whole
    pub cut: u64,
    /// Bodies whose length promises less than is sent
    pub short_length: u64,
    /// Redirects to the same path of this host
    pub redirects: u64,
    /// Redirects to another name of this host
    pub host_redirects: u64,
    /// Redirects without an end
    pub loops: u64,
    /// Heights with a block whose responses are `null` as long as caches may answer
    pub cached_nulls: u64,
    /// Heights with a block whose responses are 404 `BLOCK_DOES_NOT_EXIST` for some requests
    pub unknown_nulls: u64,
    /// Heights at which caches serve the block of a fork as final
    pub cached_forks: u64,
    /// Errors `BUSY` of a node in place of a whole block
    pub busy: u64,
    /// Errors `DATA_UNAVAILABLE` of a node in place of one of its last whole blocks
    pub unavailable: u64,
    /// Responses of a node with the id of another request
    pub wrong_ids: u64,
    /// Responses of a node that is some blocks behind, as one of several at an address may be
    pub behind: u64,
    /// Whether a node lacks the method of whole blocks
    pub is_disabled: bool,
    /// Whether a node does not save what whole blocks need
    pub is_unsupported: bool,
    /// The height below which a node has not saved what whole blocks need
    pub first_saved: u64,
    /// Until when a node has the genesis alone, at height 0, in milliseconds since the start
    pub synchronised_at: u64,
    /// Whether there are no archives, as at a server that serves the feed that it follows
    pub lacks_archives: bool,
    /// Objects that a lake has lost, such as `000000000007/shard_1.json`
    pub lost_objects: Vec<String>,
    /// When the feed has no new block: from, to, in milliseconds since its start
    pub stalls: Vec<(u64, u64)>,
    /// When each response is 500: from, to, in milliseconds since the start
    pub outages: Vec<(u64, u64)>,
    /// Whether each response is a page of HTML, as that of another service at the address
    pub is_page: bool,
    /// From when on each response is 401, in milliseconds since the start, as with an expired key
    pub expired_at: Option<u64>,
    /// Requests of one minute after which further ones get 429
    pub limit: Option<u32>,
}

impl Faults {
    /// All of them, some at every few blocks
    pub fn all(seed: u64) -> Self {
        Self {
            seed,
            delays: 40,
            failures: 30,
            too_many: 4,
            stale: 20,
            cut: 20,
            short_length: 10,
            redirects: 30,
            host_redirects: 20,
            loops: 5,
            cached_nulls: 15,
            unknown_nulls: 8,
            cached_forks: 200,
            busy: 50,
            unavailable: 100,
            wrong_ids: 10,
            behind: 50,
            is_disabled: false,
            is_unsupported: false,
            first_saved: 0,
            synchronised_at: 0,
            lacks_archives: false,
            lost_objects: Vec::new(),
            stalls: vec![(40_000, 75_000), (300_000, 302_000)],
            outages: Vec::new(),
            is_page: false,
            expired_at: None,
            limit: None,
        }
    }

    /// The same with probabilities of so many percent, and without stalls of the chain
    #[must_use]
    pub fn scaled(self, percent: u64) -> Self {
        let scale = |per_mille: u64| per_mille * percent / 100;
        Self {
            delays: scale(self.delays),
            failures: scale(self.failures),
            too_many: scale(self.too_many),
            stale: scale(self.stale),
            cut: scale(self.cut),
            short_length: scale(self.short_length),
            redirects: scale(self.redirects),
            host_redirects: scale(self.host_redirects),
            loops: scale(self.loops),
            cached_nulls: scale(self.cached_nulls),
            unknown_nulls: scale(self.unknown_nulls),
            cached_forks: scale(self.cached_forks),
            busy: scale(self.busy),
            unavailable: scale(self.unavailable),
            wrong_ids: scale(self.wrong_ids),
            behind: scale(self.behind),
            stalls: Vec::new(),
            ..self
        }
    }

    /// Whether this fault of this probability happens to a request or at a height
    pub(crate) const fn happens(&self, fault: FaultKind, number: u64, per_mille: u64) -> bool {
        self.draw(fault, number) % 1000 < per_mille
    }

    /// A random number for a fault
    pub(crate) const fn draw(&self, fault: FaultKind, number: u64) -> u64 {
        mix(mix(self.seed ^ ((fault as u64) << 56)).wrapping_add(number))
    }

    /// Whether there is an outage at a time since the start
    pub(crate) fn is_out(&self, now: u64) -> bool {
        self.outages.iter().any(|(from, to)| (*from..*to).contains(&now))
    }

    /// The time at which a chain is that stood still, at a time since its start
    pub(crate) fn chain_time(&self, now: u64) -> u64 {
        let lost = |(from, to): &(u64, u64)| now.min(*to).saturating_sub(*from);
        now.saturating_sub(self.stalls.iter().map(lost).sum())
    }
}

/// The number of a fault, which separates its random numbers from those of others
#[derive(Clone, Copy, Debug)]
pub(crate) enum FaultKind {
    Delay = 1,
    Failure,
    TooMany,
    Stale,
    Cut,
    ShortLength,
    Redirect,
    HostRedirect,
    Loop,
    CachedNull,
    UnknownNull,
    CachedFork,
    Busy,
    Unavailable,
    WrongId,
    Behind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_that_stands_still_goes_on_later() {
        let faults = Faults { stalls: vec![(10, 20), (40, 45)], ..Faults::default() };
        let times = [5, 10, 15, 20, 40, 44, 50].map(|now| faults.chain_time(now));
        assert_eq!(times, [5, 10, 10, 10, 30, 30, 35]);
    }
}
