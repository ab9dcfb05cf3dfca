//! The options about new blocks: feeds, the nodes that belong to them, and the import.
//!
//! Several commands share them, so each group is a structure of its own.

use core::time::Duration;
use std::path::PathBuf;

use clap::Args;
use milepost::config::TrackedShards;
use milepost::import::{FinalityRule, ImportSettings, VerifyMode};
use milepost_feeds::Start;

use super::{BLOCKS, FEED};
use crate::cli::value_parsers::{self, FeedName, either};
use crate::upstream::Upstream;

/// Heights before the last final block of a feed at which an empty store starts, by default
pub(crate) const START_MARGIN: u64 = 250;
/// Maximum age of the newest block of a ready server, by default
pub(crate) const MAX_AGE: Duration = Duration::from_secs(60);

/// Tokens, limits and nodes of live feeds
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = FEED)]
pub(crate) struct FeedSourceArgs {
    /// File with the token of the first feed
    ///
    /// Without it, the variable `MILEPOST_FEED_TOKEN` is read.
    #[arg(long, value_name = "PATH", requires = "follow")]
    pub(crate) feed_token_file: Option<PathBuf>,
    /// Maximum requests in a minute [default: 170, to a node 6000]
    ///
    /// For each feed. The public feeds allow 180 for an address.
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "follow",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub(crate) feed_requests: Option<u32>,
    /// Node with the protocol configurations; can be repeated
    ///
    /// `none` takes those of `--configs` only. By default `mainnet` and `testnet` have a public
    /// node, and a node serves its own configurations. Each comes from the first node that has it.
    #[arg(long, value_name = "URL|none", requires = "follow")]
    pub(crate) upstream: Vec<Upstream>,
    /// File with the token of an upstream; can be repeated
    ///
    /// The n-th file has the token of the n-th `--upstream`.
    #[arg(long, value_name = "PATH", requires = "upstream")]
    pub(crate) upstream_token_file: Vec<PathBuf>,
}

/// How `milepost serve` follows a live feed
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = FEED)]
pub(crate) struct FollowArgs {
    /// Feed to follow; can be repeated
    ///
    /// `mainnet`, `testnet`, `neardata+https://HOST[/PATH]`, or a node, `node+http://HOST:PORT`.
    /// Where the first feed fails, the next one is asked. `practice` runs the practice chain, for
    /// demonstrations and tests, and cannot be combined with another feed; `practice:N` has the
    /// seed N instead of 1. Without a feed the server serves its store, archive and blocks; without
    /// these too, it runs the practice chain in memory.
    #[arg(long, value_name = "FEED")]
    pub(crate) follow: Vec<FeedName>,
    #[command(flatten)]
    pub(crate) sources: FeedSourceArgs,
    /// Where an empty store starts
    ///
    /// `resume` is `--start-margin` heights before the last final block of the feed, `final` is
    /// that block. A store with blocks continues after its head, whatever is given.
    #[arg(
        long,
        value_name = "HEIGHT|final|resume",
        default_value = "resume",
        requires = "follow",
        value_parser = value_parsers::start
    )]
    pub(crate) from: Start,
    /// Heights before the last final block to start at [default: 250]
    ///
    /// Only an empty store starts so, so that transactions in flight are whole: a promise that is
    /// yielded resumes within 200 blocks.
    #[arg(long, value_name = "HEIGHTS", requires = "follow")]
    pub(crate) start_margin: Option<u64>,
    /// Height of a block that no feed has
    ///
    /// The next block is imported without it: complete heights end before it and begin after it. If
    /// the first block of all feeds is above the head, all heights up to this one are given up.
    #[arg(long, value_name = "HEIGHT", requires = "follow")]
    pub(crate) skip: Option<u64>,
    /// Forwards other public methods to the upstream
    ///
    /// Also submits transactions to it. Where the first upstream fails, the next one is asked.
    #[arg(long, requires = "follow")]
    pub(crate) forward: bool,
    /// Asks the upstream for transactions that are not here
    ///
    /// These are in no block here, such as those older than the retention.
    #[arg(long, requires = "forward")]
    pub(crate) upstream_history: bool,
    /// Serves blocks to other servers, from this much memory
    ///
    /// The newest messages are served at the URLs of neardata. The size bounds the messages
    /// that are kept, compressed. By default none are served.
    #[arg(long, value_name = "SIZE", requires = "follow", value_parser = value_parsers::bytes)]
    pub(crate) serve_feed: Option<usize>,
    /// Maximum age of a ready server's newest block [default: 60s]
    ///
    /// `/ready` and `/health` are positive up to this age.
    #[arg(
        long,
        value_name = "TIME",
        requires = "follow",
        value_parser = value_parsers::duration
    )]
    pub(crate) max_age: Option<Duration>,
}

/// How blocks are imported
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = BLOCKS)]
pub(crate) struct FeedArgs {
    /// When a block is final [default: headers]
    ///
    /// As the `headers` of later blocks declare, or `all` at once, in a feed of final blocks only.
    /// `all` also makes the stored blocks final. By default it is the rule by which the store was
    /// filled, and `headers` for an empty store or with `--follow`.
    #[arg(long, value_name = "headers|all")]
    #[arg(value_parser = either(("headers", FinalityRule::Headers), ("all", FinalityRule::All)))]
    pub(crate) finality: Option<FinalityRule>,
    /// Refuses a member that is not of its type
    ///
    /// This is about members of blocks and configurations. By default they are served as they came,
    /// counted in a metric and logged once.
    #[arg(long)]
    pub(crate) strict_types: bool,
    /// Ids of the shards that the blocks have [default: all]
    ///
    /// For a feed that has some shards only; the ids are separated by commas. Their chunks have to
    /// be there, and requests about accounts of other shards are answered with
    /// DOES_NOT_TRACK_SHARD, by the protocol configuration in force.
    #[arg(
        long,
        value_name = "IDS",
        default_value = "",
        hide_default_value = true,
        value_parser = value_parsers::shards
    )]
    pub(crate) track_shards: TrackedShards,
    /// Check of block hashes [default: report with a feed]
    ///
    /// Each block is checked against its own hash, and outcomes against the blocks after them.
    /// `report` counts each error, and logs it once; `strict` refuses a wrong block. The default
    /// is `report` with `--follow` and for an archive, otherwise `off`.
    #[arg(long, value_name = "off|report|strict")]
    pub(crate) verify: Option<VerifyMode>,
    /// Highest height that is imported
    ///
    /// Above it a server imports nothing, and continues to serve. `import` needs it for a lake in
    /// an object store.
    #[arg(long, value_name = "HEIGHT")]
    pub(crate) until: Option<u64>,
    /// Directory of protocol configurations
    ///
    /// Its files are `<epoch id>.json`, each of its epoch, or `<height>.json`, each effective from
    /// its height on in epochs without one of their own.
    #[arg(long, value_name = "DIR")]
    pub(crate) configs: Option<PathBuf>,
}

impl FeedArgs {
    /// Whether `--until` is at this height or above, which is that of `option`
    pub(crate) fn check_until(&self, option: &str, height: u64) -> Result<(), String> {
        match self.until {
            Some(until) if until < height => {
                Err(format!("--until {until} is below {option} {height}"))
            }
            _ => Ok(()),
        }
    }

    /// The import settings of the engine, with the rule of finality for the store
    pub(crate) fn import_settings(&self, finality: FinalityRule) -> ImportSettings {
        ImportSettings::default()
            .with_finality(finality)
            .with_strict_types(self.strict_types)
            .with_track_shards(self.track_shards)
    }
}
