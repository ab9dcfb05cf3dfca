//! How often something happened, so that a generator that stops making a thing is noticed.
//!
//! The least numbers are some 40 % of what 20,000 seeds showed. Zero says that the number is of interest
//! and no less for being small.

/// What is counted; for each the least number that 1000 seeds show
macro_rules! counted {
    ($($name:ident $text:literal $least:literal,)*) => {
        /// Something that is counted
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub(crate) enum Seen {
            $($name,)*
        }

        const TEXTS: &[(&str, u64)] = &[$(($text, $least),)*];
    };
}

counted! {
    Blocks "blocks" 13_000,
    Aside "blocks put aside" 1_500,
    Known "blocks fed twice" 520,
    Refused "blocks refused" 96,
    Reorganisations "forks that won" 480,
    Deep "forks that won over several blocks" 160,
    Redone "parked blocks that came back" 710,
    IncludedAgain "transactions included on another fork as well" 460,
    IncludedLower "of these, at a lower height than before" 78,
    LateBodies "refunds whose body came by itself" 1_300,
    Requests "requests" 11_000,
    Batches "batches that waited" 1_300,
    AtOnce "requests answered at once" 5_800,
    Waited "requests that waited" 5_200,
    Reached "requests that waited and were answered" 1_400,
    Fork "of these, by a block that undid others" 93,
    Expired "requests whose time was up" 2_400,
    Cancelled "requests that were cancelled" 710,
    CancelledReached "of these, with their milestone reached" 16,
    Full "requests refused at the limit" 440,
    Immediate "unknown transactions answered at once" 450,
    Signed "requests by signed bytes" 130,
    BadlySigned "requests with a wrong signature" 33,
    Unbodied "answers about a receipt without a body" 5,
    LateRefunds "answers before all refunds" 200,
    None "waits for NONE" 57,
    Included "waits for INCLUDED that ended" 300,
    ExecutedOptimistic "waits for EXECUTED_OPTIMISTIC that ended" 560,
    IncludedFinal "waits for INCLUDED_FINAL that ended" 370,
    Executed "waits for EXECUTED that ended" 330,
    Final "waits for FINAL that ended" 300,
    Reopened "storages opened again" 440,
    Files "storages in a file" 1,
    Restarts "desks that lost their clients" 200,
    Unhandled "blocks whose changes were handed in late" 2_000,
    LeftOut "blocks whose changes were left out" 28,
    Admitted "requests admitted from outside" 1_600,
    Again "admissions asked again, for a block came in" 290,
    Behind "requests admitted with rows that are behind" 46,
    Away "wakes that were looked at outside" 2_200,
    AwayAgain "of these, asked again, for a block came in" 120,
    AwayExpired "of these, whose time was up meanwhile" 110,
    AwayCancelled "of these, cancelled meanwhile" 17,
    InVain "of these, asleep again" 0,
    Stopped "desks that stopped" 97,
    Followed "deadlines followed one by one" 470,
}

/// Counts by what was seen
#[derive(Clone, Debug)]
pub struct Tally {
    seeds: u64,
    counts: [u64; TEXTS.len()],
}

impl Default for Tally {
    fn default() -> Self {
        Self { seeds: 0, counts: [0; TEXTS.len()] }
    }
}

impl Tally {
    pub(crate) const fn one_seed() -> Self {
        Self { seeds: 1, counts: [0; TEXTS.len()] }
    }

    pub(crate) const fn add(&mut self, what: Seen) {
        self.add_if(what, true);
    }

    pub(crate) const fn add_if(&mut self, what: Seen, happened: bool) {
        self.counts[what as usize] += happened as u64;
    }

    pub(crate) const fn add_many(&mut self, what: Seen, times: usize) {
        self.counts[what as usize] += times as u64;
    }

    /// Adds what others counted
    pub fn merge(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
    }

    /// What was seen too rarely for so many seeds; fewer than 1000 seeds promise nothing
    pub fn missing(&self) -> Vec<String> {
        if self.seeds < 1000 {
            return Vec::new();
        }
        let least = |least: u64| least * (self.seeds / 1000);
        let lines = TEXTS.iter().zip(self.counts);
        lines
            .filter(|((_, per_thousand), count)| *count < least(*per_thousand))
            .map(|((text, per_thousand), count)| {
                format!("{text}: {count}, at least {} expected", least(*per_thousand))
            })
            .collect()
    }
}

impl core::fmt::Display for Tally {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(formatter, "{:>12} seeds", self.seeds)?;
        for ((text, _), count) in TEXTS.iter().zip(self.counts) {
            writeln!(formatter, "{count:>12} {text}")?;
        }
        Ok(())
    }
}
