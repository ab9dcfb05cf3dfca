//! Counts of what happened in runs, for the page of evidence and against seeds that show nothing.

use core::fmt;

/// What may not happen in some hundred runs
pub(super) const RARE: [&str; 2] = [INVALID, REFUSED];
const INVALID: &str = "requests whose transaction became invalid while they waited";
const REFUSED: &str = "connections refused by a server that stops or is down";

/// What is counted, with its name
macro_rules! figures {
    ($($name:ident: $text:expr,)+) => {
        /// How often each thing happened
        #[derive(Clone, Debug, Default)]
        pub(super) struct Figures {
            $(pub(super) $name: u64,)+
        }

        impl Figures {
            /// Adds those of another run
            pub(super) fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)+
            }

            /// What never happened
            pub(super) fn missing(&self) -> Vec<&'static str> {
                let all = [$((self.$name, $text)),+];
                all.into_iter().filter(|(count, _)| *count == 0).map(|(_, text)| text).collect()
            }
        }

        impl fmt::Display for Figures {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let all = [$((self.$name, $text)),+];
                let lines: Vec<_> =
                    all.iter().map(|(count, text)| format!("{count:>12} {text}")).collect();
                formatter.write_str(&lines.join("\n"))
            }
        }
    };
}

figures! {
    seeds: "seeds",
    files: "seeds with a store in a file",
    pairs: "seeds with a second server",
    retentions: "servers with retention",
    blocks: "blocks committed",
    reorganisations: "reorganisations",
    requests: "requests",
    immediate: "requests answered at once",
    waited: "requests answered after a wait",
    timed_out: "requests that timed out",
    invalid: INVALID,
    stopped: "requests answered because the service stopped",
    hung_up: "requests and streams that a client left",
    cut: "requests and streams cut by a kill",
    refused: REFUSED,
    streams: "streams of events",
    events: "events",
    reached: "events that end a transaction",
    un_included: "events that a fork took a block away",
    forgotten: "events that a transaction is forgotten",
    timeouts: "events that a head stays below the block of a client",
    resumed: "streams taken up again",
    moved: "streams taken up again at another server",
    lost_stores: "restarts without the store",
    stops: "stops",
    kills: "kills",
    kills_in_commit: "kills after a commit that was not reported",
    lost_blocks: "kills before a commit, whose blocks are lost",
    jumps: "jumps of the clock",
    retries: "failed requests of the follower",
    seconds: "simulated seconds",
}
