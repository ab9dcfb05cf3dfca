//! Counts of events, which fail a run if the generator produces one of them too rarely.
//!
//! The minimum of a counter is about 40 % of its value over 20,000 seeds; 0 is no minimum.

/// The counters, each with its minimum per 1000 seeds
macro_rules! counted {
    ($($name:ident $text:literal $minimum:literal,)*) => {
        /// A counted event
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub(crate) enum Counter {
            $($name,)*
        }

        const TEXTS: &[(&str, u64)] = &[$(($text, $minimum),)*];
    };
}

counted! {
    Blocks "blocks" 13_000,
    ForkBlocks "fork blocks" 1_500,
    Known "known blocks" 520,
    Rejected "rejected blocks" 96,
    Reorganisations "reorganisations" 480,
    DeepReorganisations "reorganisations of several blocks that reapply others" 160,
    Reapplied "reapplied fork blocks" 710,
    IncludedAgain "transactions included again, on another fork" 460,
    IncludedLower "of these, at a lower height" 78,
    LateBodies "bodies of refunds without their execution" 1_300,
    Requests "requests" 11_000,
    Batches "batches suspended" 1_300,
    Immediate "requests ready at once" 5_800,
    Suspended "requests suspended" 5_200,
    Reached "requests that reached their milestone" 1_400,
    ReachedByReorganisation "of these, by a block that reverted others" 93,
    Expired "requests expired" 2_400,
    Cancelled "requests cancelled" 710,
    CancelledReached "of these, with their milestone reached" 16,
    OverLimit "requests over the limit" 440,
    UnknownImmediate "unknown transactions reported at once" 450,
    Signed "requests by signed transaction" 130,
    InvalidSignature "of these, with an invalid signature" 33,
    PendingRefunds "results with pending refunds" 200,
    None "reached NONE" 57,
    Included "reached INCLUDED" 300,
    ExecutedOptimistic "reached EXECUTED_OPTIMISTIC" 560,
    IncludedFinal "reached INCLUDED_FINAL" 370,
    Executed "reached EXECUTED" 330,
    Final "reached FINAL" 300,
    Reopened "storages reopened" 440,
    Files "storages in a file" 1,
    Restarts "endpoints restarted" 200,
    LateUpdates "chain updates handled late" 2_000,
    DroppedUpdates "chain updates dropped" 28,
    HostSuspended "evaluated by the host: requests suspended" 1_700,
    RetriedAtFirst "evaluated again before they were suspended" 580,
    StaleSuspended "suspended with stale rows" 46,
    Wakeups "woken" 2_200,
    Retried "of these, evaluated again" 170,
    DeferredExpired "expired while they were evaluated" 160,
    DeferredCancelled "cancelled while they were evaluated" 70,
    SuspendedAgain "suspended again" 1_000,
    RowEvaluations "evaluated by the endpoint: evaluations" 2_800,
    RowsSuspended "requests suspended" 560,
    TooManyRestarts "interrupted too often by commits" 0,
    Shutdowns "endpoints shut down" 97,
    NextTimeouts "advances to the next timeout" 470,
}

/// The counts of a run or of several
#[derive(Clone, Debug)]
pub struct Coverage {
    seeds: u64,
    counts: [u64; TEXTS.len()],
}

impl Default for Coverage {
    fn default() -> Self {
        Self { seeds: 0, counts: [0; TEXTS.len()] }
    }
}

impl Coverage {
    pub(crate) const fn one_seed() -> Self {
        Self { seeds: 1, counts: [0; TEXTS.len()] }
    }

    pub(crate) const fn add(&mut self, counter: Counter) {
        self.add_if(counter, true);
    }

    pub(crate) const fn add_if(&mut self, counter: Counter, happened: bool) {
        self.counts[counter as usize] += happened as u64;
    }

    pub(crate) const fn add_many(&mut self, counter: Counter, count: usize) {
        self.counts[counter as usize] += count as u64;
    }

    /// Adds the counts of another run
    pub fn merge(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
    }

    /// The counters below their minimum; none for fewer than 1000 seeds
    pub fn missing(&self) -> Vec<String> {
        if self.seeds < 1000 {
            return Vec::new();
        }
        let minimum = |per_thousand: u64| per_thousand * (self.seeds / 1000);
        let lines = TEXTS.iter().zip(self.counts);
        lines
            .filter(|((_, per_thousand), count)| *count < minimum(*per_thousand))
            .map(|((text, per_thousand), count)| {
                format!("{text}: {count}, expected at least {}", minimum(*per_thousand))
            })
            .collect()
    }
}

impl core::fmt::Display for Coverage {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(formatter, "{:>12} seeds", self.seeds)?;
        for ((text, _), count) in TEXTS.iter().zip(self.counts) {
            writeln!(formatter, "{count:>12} {text}")?;
        }
        Ok(())
    }
}
