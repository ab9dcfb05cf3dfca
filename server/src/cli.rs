//! The command line: subcommands and their arguments.
//!
//! Values are checked while they are parsed, so an invalid one is rejected before anything is
//! opened. What the commands do is in `serve`, `query_commands`, `store_commands`,
//! `archive_commands` and `conformance`.

use core::num::NonZero;
use core::time::Duration;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use milepost::config::TrackedShards;
use milepost::endpoint::UnknownTransaction;
use milepost::import::{FinalityRule, ImportSettings, Retention, VerifyMode};
use milepost::primitives::{AccountId, CryptoHash};
use milepost::status::Milestone;
use milepost_feeds::Start;

use crate::archive::{ArchiveLocation, ArchiveOptions};
use crate::archive_commands::ArchiveCommand;
use crate::http::{self, BasePath, Cors, StatusMode};
use crate::log::{LogFilter, LogFormat};
use crate::store_commands::StoreCommand;
use crate::store_verification::StoreVerification;
use crate::upstream::Upstream;
use crate::value_parsers::{self, FeedName, KeptHeights, StoreLocation};

/// Serves NEAR transaction statuses and protocol configurations from block messages
///
/// Without a command, runs `milepost serve`. Without a store, an archive, blocks and a feed, the
/// server runs the practice chain in memory, as a demonstration.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// Without a command
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serves transaction statuses and protocol configurations over HTTP
    Serve(Box<ServeArgs>),
    /// Imports block messages into a store and exits
    Import(ImportArgs),
    /// Shows the status of a transaction as a tree of receipts
    Status(StatusArgs),
    /// Shows a protocol configuration; `config check` checks settings
    Config(ConfigArgs),
    /// Looks after the file of a store: sizes, a check of all of it, compaction, backup
    #[command(subcommand)]
    Store(StoreCommand),
    /// Looks after an archive: sizes and progress, a check of all of it, copies, dictionaries
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Prints the manual page, in the format of `man`
    Man,
    /// Prints the completions of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Compares the responses of a server with the interface, and prints what differs
    Conformance(ConformanceArgs),
}

/// Arguments of `milepost serve`
#[derive(Args, Debug)]
#[command(after_help = http::fixed_limits())]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 picks a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3030")]
    pub(crate) listen: String,
    /// `memory`, or a durable store: a file, or a directory (`PATH/` for a new one), which has the
    /// file and an archive beside it, so that nothing is lost by `--retention`
    #[arg(long, value_name = "PATH|memory", default_value = "memory")]
    pub(crate) store: StoreLocation,
    /// When the rows of a file above 64 MiB are all read once: in the `background`, while requests
    /// are answered, or `before` the first, as fast as the disk allows
    #[arg(long, value_name = "WHEN", default_value = "background")]
    pub(crate) store_verify: StoreVerification,
    /// File with a block message or an array of them, or a directory of such files or of a lake;
    /// can be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) blocks: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) archive: ArchiveArgs,
    #[command(flatten)]
    pub(crate) follow: FollowArgs,
    #[command(flatten)]
    pub(crate) feed: FeedArgs,
    /// Maximum time that a request waits for its milestone
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value_parsers::duration)]
    pub(crate) timeout: Duration,
    /// Maximum time that a request may choose to wait, by `Prefer: wait=SECONDS`
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = value_parsers::duration)]
    pub(crate) max_wait: Duration,
    /// How long connections and requests are still accepted after SIGTERM, while `/ready` is HTTP
    /// status 503, so that a balancer sends no more of them before the stop; a second signal begins
    /// the stop at once
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = value_parsers::duration)]
    pub(crate) drain: Duration,
    /// Maximum number of calls that wait for a milestone at a time; further ones get HTTP status
    /// 503
    #[arg(long, value_name = "NUMBER", default_value = "100000")]
    pub(crate) max_waiting: usize,
    /// Maximum number of transactions that streams of events watch at a time, each counted for each
    /// stream; further streams get HTTP status 503
    #[arg(long, value_name = "NUMBER", default_value = "100000")]
    pub(crate) max_watches: usize,
    /// A request for an unknown transaction: `wait` for the transaction, or return
    /// UNKNOWN_TRANSACTION immediately (`immediate`)
    #[arg(
        long,
        value_name = "wait|immediate",
        default_value = "wait",
        value_parser = value_parsers::unknown_transaction
    )]
    pub(crate) unknown: UnknownTransaction,
    /// HTTP status codes of JSON-RPC errors: those of a `node`, or `always-200`
    #[arg(long, value_name = "node|always-200", default_value = "node")]
    pub(crate) http_status: StatusMode,
    /// Adds the cause and the last status to a TIMEOUT_ERROR, as node 2.14 does
    #[arg(long)]
    pub(crate) timeout_cause: bool,
    /// Path below which everything is served, such as `/near`
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub(crate) base_path: BasePath,
    /// Origins of web pages that may read responses (CORS): `*`, `none`, or a comma-separated list
    #[arg(long, value_name = "ORIGINS", default_value = "*")]
    pub(crate) cors: Cors,
    /// Maximum size of a request body
    #[arg(long, value_name = "SIZE", default_value = "10MiB", value_parser = value_parsers::bytes)]
    pub(crate) body_limit: usize,
    /// Maximum size of all request bodies that are held, of all responses that clients have not
    /// read yet, of unfinished messages of WebSockets, and of 8 KiB for each request on HTTP/2 or
    /// a WebSocket; further ones get HTTP status 503
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = value_parsers::bytes)]
    pub(crate) max_buffered: usize,
    /// Maximum number of requests in one batch
    #[arg(long, value_name = "NUMBER", default_value = "50", value_parser = up_to_a_million)]
    pub(crate) max_batch: usize,
    /// Maximum length of a request id in bytes
    #[arg(long, value_name = "NUMBER", default_value = "1024", value_parser = up_to_a_million)]
    pub(crate) max_id_bytes: usize,
    /// Maximum number of open connections [default: 100 fewer than the files that the process may
    /// open, at most 65536]
    #[arg(long, value_name = "NUMBER", value_parser = up_to_a_million)]
    pub(crate) max_connections: Option<usize>,
    /// Maximum number of open connections of one address, of which further ones are closed at once;
    /// an IPv6 address counts with its /64. Behind a proxy all clients have its address [default:
    /// no limit of its own]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) address_connections: Option<NonZero<usize>>,
    /// Maximum number of JSON-RPC requests that one address has at a time, those that wait
    /// included, and of transactions that it watches; further ones get INTERNAL_ERROR or 503
    /// [default: no limit of its own]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) address_requests: Option<NonZero<usize>>,
}

/// Options of every command
#[derive(Args, Clone, Debug)]
pub(crate) struct CommonArgs {
    /// File (TOML) with options of `serve` and `import` by their names, such as `max-wait = "30s"`,
    /// and those of other commands in tables, such as `[archive.stats]`; a variable such as
    /// `MILEPOST_MAX_WAIT` or `MILEPOST_ARCHIVE_STATS_JSON` comes before the file
    #[arg(long, global = true, value_name = "PATH")]
    settings: Option<PathBuf>,
    /// What is written to standard error: a level (`error`, `warn`, `info`, `debug`, `trace`), or
    /// directives of the Rust crate `tracing`, such as `info,milepost_feeds=debug`
    #[arg(long, global = true, value_name = "DIRECTIVES", default_value = "info")]
    pub(crate) log: LogFilter,
    /// How standard error is written: `text`, or `json`, one object a line, in which what is logged
    /// about a request has its `x-request-id` and its `traceparent`
    #[arg(long, global = true, value_name = "text|json", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// Maximum number of blocks that a store keeps while its archive does not have them, by default
pub(crate) const ARCHIVE_BACKLOG: u64 = 50_000;
/// Maximum number of reads of an archive in a second about what it does not have, by default
pub(crate) const ARCHIVE_MISSES: NonZero<u32> = NonZero::new(1_000).unwrap();

/// The archive behind the store of `milepost serve`
#[derive(Args, Clone, Debug)]
pub(crate) struct ArchiveArgs {
    /// Where finalized transactions are kept beyond the retention of the store: `memory`, a
    /// directory, or `cassandra://HOST,HOST/KEYSPACE?dc=NAME` in a program that is built with the
    /// feature `cassandra` [default: beside the file of a store in a directory]
    #[arg(long, value_name = "PLACE")]
    pub(crate) archive: Option<ArchiveLocation>,
    /// An archive of earlier heights, which is only read, when `--archive` does not have something;
    /// can be repeated, the newest first
    #[arg(long, value_name = "PLACE")]
    pub(crate) archive_older: Vec<ArchiveLocation>,
    /// Whether this server puts its final blocks into the archive: `on`, or `off` if others do
    /// [default: on]
    #[arg(long, value_name = "on|off", value_parser = value_parsers::switch)]
    pub(crate) archive_write: Option<bool>,
    /// Maximum number of blocks that the store keeps while the archive does not have them; beyond
    /// it the oldest are forgotten, with a warning [default: 50000]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) archive_backlog: Option<u64>,
    /// Maximum number of reads of the archive in a second about what it does not have; further
    /// requests get INTERNAL_ERROR with `Retry-After` [default: 1000]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) archive_misses: Option<NonZero<u32>>,
    /// As `--archive-misses`, of one address; an IPv6 address counts with its /64 [default: no
    /// limit of its own]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) address_misses: Option<NonZero<u32>>,
    /// What an archive in a directory or in memory keeps: `everything`, or `heights:N`, those up to
    /// the newest final block; what is older is removed [default: everything]
    #[arg(long, value_name = "RETENTION", value_parser = value_parsers::kept_heights)]
    pub(crate) archive_retention: Option<KeptHeights>,
}

impl ArchiveArgs {
    /// How an archive at this place is used; none for `None`
    ///
    /// # Errors
    ///
    /// When options are about an archive and there is none, or about one of another kind.
    pub(crate) fn options(
        &self,
        location: Option<&ArchiveLocation>,
    ) -> Result<ArchiveOptions, String> {
        let given = [
            ("--archive-older", !self.archive_older.is_empty()),
            ("--archive-write", self.archive_write.is_some()),
            ("--archive-backlog", self.archive_backlog.is_some()),
            ("--archive-misses", self.archive_misses.is_some()),
            ("--address-misses", self.address_misses.is_some()),
            ("--archive-retention", self.archive_retention.is_some()),
        ];
        let first_given = given.iter().find(|(_, is_given)| *is_given);
        if let (None, Some((name, _))) = (location, first_given) {
            return Err(format!(
                "{name}: there is no archive; --archive or a directory as --store makes one"
            ));
        }
        for (number, older) in self.archive_older.iter().enumerate() {
            if Some(older) == location || self.archive_older[..number].contains(older) {
                return Err(format!("--archive-older: {older} is named twice"));
            }
            if !older.exists() {
                return Err(format!("--archive-older: {older}: no such archive"));
            }
        }
        let writes = self.archive_write.unwrap_or(true);
        let kept_heights = match self.archive_retention {
            None | Some(KeptHeights::Everything) => None,
            Some(KeptHeights::Newest(_)) if !writes => {
                return Err(
                    "--archive-retention: a server that does not write removes nothing".to_owned()
                );
            }
            Some(KeptHeights::Newest(_))
                if !location.is_some_and(ArchiveLocation::is_exclusive) =>
            {
                return Err("--archive-retention: other servers may use this archive; only one in a directory or in memory is shortened".to_owned());
            }
            Some(KeptHeights::Newest(count)) => Some(count),
        };
        let max_blocks = self.archive_backlog.unwrap_or(ARCHIVE_BACKLOG);
        Ok(ArchiveOptions { writes, max_blocks, until: None, kept_heights })
    }
}

/// What belongs to live feeds: tokens, limits, nodes
#[derive(Args, Clone, Debug)]
pub(crate) struct FeedSourceArgs {
    /// File with the token of the first feed; without it, the variable `MILEPOST_FEED_TOKEN` is
    /// read
    #[arg(long, value_name = "PATH", requires = "follow")]
    pub(crate) feed_token_file: Option<PathBuf>,
    /// Maximum number of requests to each feed in a minute; the public feeds allow 180 for an
    /// address [default: 170, to a node 6000]
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "follow",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub(crate) feed_requests: Option<u32>,
    /// Node that serves the protocol configurations of the chain, by JSON-RPC; `none` for those of
    /// `--configs` only. Can be repeated for `--forward`; configurations are those of the first one
    /// [default: `mainnet` and `testnet` have one, a node serves its own]
    #[arg(long, value_name = "URL|none", requires = "follow")]
    pub(crate) upstream: Vec<Upstream>,
    /// File with the token of an upstream; the n-th file is that of the n-th `--upstream`
    #[arg(long, value_name = "PATH", requires = "upstream")]
    pub(crate) upstream_token_file: Vec<PathBuf>,
}

/// How `milepost serve` follows a live feed
#[derive(Args, Clone, Debug)]
pub(crate) struct FollowArgs {
    /// Takes the blocks of a live feed: `mainnet`, `testnet`, `neardata+https://HOST[/PATH]`, or a
    /// node, `node+http://HOST:PORT`; or runs the `practice` chain for demonstrations. Live feeds
    /// can be repeated: where the first one fails, the next one is asked
    #[arg(long, value_name = "FEED")]
    pub(crate) follow: Vec<FeedName>,
    /// Seed of the practice chain [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) sources: FeedSourceArgs,
    /// Where to start: after the head of the store (`resume`; an empty store starts at the last
    /// final block), at the last `final` block, or at a height
    #[arg(
        long,
        value_name = "HEIGHT|final|resume",
        default_value = "resume",
        requires = "follow",
        value_parser = value_parsers::start
    )]
    pub(crate) from: Start,
    /// How many heights before the last final block an empty store starts, so that transactions in
    /// flight are whole: a promise that is yielded resumes within 200 blocks
    #[arg(long, value_name = "HEIGHTS", default_value_t = 250, requires = "follow")]
    pub(crate) start_margin: u64,
    /// Sends requests of the public methods that are not answered here to the upstream, and
    /// submits transactions to it; where the first upstream fails, the next one is asked
    #[arg(long, requires = "follow")]
    pub(crate) forward: bool,
    /// Maximum time that an upstream takes for a response, or for its first 64 KiB
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        requires = "forward",
        value_parser = value_parsers::duration
    )]
    pub(crate) upstream_timeout: Duration,
    /// Asks the upstream for transactions that are in no block here, such as those older than the
    /// retention
    #[arg(long, requires = "forward")]
    pub(crate) upstream_history: bool,
    /// Serves the newest messages to other servers that follow this one, at the URLs of neardata;
    /// the size bounds what is kept of them, compressed, in memory
    #[arg(long, value_name = "SIZE", requires = "follow", value_parser = value_parsers::bytes)]
    pub(crate) serve_feed: Option<usize>,
    /// Age of the newest block up to which `/ready` and `/health` are positive
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        requires = "follow",
        value_parser = value_parsers::duration
    )]
    pub(crate) max_age: Duration,
}

/// How blocks are imported
#[derive(Args, Clone, Debug)]
pub(crate) struct FeedArgs {
    /// When a block is final: as the `headers` of later blocks declare, or `all` at once, in a feed
    /// of final blocks only; `all` also makes final what the store has [default: the rule by which
    /// the store was filled, `headers` for an empty one or with --follow]
    #[arg(long, value_name = "headers|all", value_parser = value_parsers::finality)]
    pub(crate) finality: Option<FinalityRule>,
    /// Blocks that are kept: `everything`, `blocks:N` or `epochs:N` [default: `everything`, but
    /// `blocks:1000` of a feed that is followed into memory]
    #[arg(long, value_name = "WHICH", value_parser = value_parsers::retention)]
    pub(crate) retention: Option<Retention>,
    /// Refuses a block or a configuration with a member that is not of its type; by default it is
    /// served as it came, counted in a metric and logged once
    #[arg(long)]
    pub(crate) strict_types: bool,
    /// Comma-separated ids of the shards that the blocks have, for a feed that has some only: their
    /// chunks have to be there, and requests about accounts of other shards are answered with
    /// DOES_NOT_TRACK_SHARD, by the protocol configuration in force [default: all]
    #[arg(
        long,
        value_name = "IDS",
        default_value = "",
        hide_default_value = true,
        value_parser = value_parsers::shards
    )]
    pub(crate) track_shards: TrackedShards,
    /// Checks each block against its own hash, and the outcomes against the blocks after it: `off`,
    /// `report` (counted, and logged once) or `strict` (a wrong block is refused) [default:
    /// `report` with --follow and for an archive, otherwise `off`]
    #[arg(long, value_name = "off|report|strict")]
    pub(crate) verify: Option<VerifyMode>,
    /// Takes in no block above this height; a server goes on with what it has; needed for a lake
    /// in an object store
    #[arg(long, value_name = "HEIGHT")]
    pub(crate) until: Option<u64>,
    /// Directory of protocol configurations, `<height>.json`, each effective from its height on
    #[arg(long, value_name = "DIR")]
    pub(crate) configs: Option<PathBuf>,
}

impl FeedArgs {
    /// The import settings of the engine, with the rule of finality for the store
    pub(crate) fn import_settings(&self, finality: FinalityRule) -> ImportSettings {
        ImportSettings::default()
            .with_finality(finality)
            .with_strict_types(self.strict_types)
            .with_track_shards(self.track_shards)
            .with_retention(self.retention.unwrap_or_default())
    }
}

/// Arguments of `milepost import`
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// The durable store: a file, or a directory (`PATH/` for a new one), which has the file and an
    /// archive beside it
    #[arg(long, value_name = "PATH", value_parser = StoreLocation::durable)]
    pub(crate) store: StoreLocation,
    #[command(flatten)]
    pub(crate) feed: FeedArgs,
    /// Lowest height that is imported; needed for a lake in an object store
    #[arg(long, value_name = "HEIGHT")]
    pub(crate) from: Option<u64>,
    /// Files with a block message or an array of them, directories of such files or of a lake, or a
    /// lake in an object store, `s3://BUCKET[/PREFIX]` or `file://PATH`
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// What a query is sent to
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct TargetArgs {
    /// Queries the durable store in this file or directory
    #[arg(long, value_name = "PATH", value_parser = StoreLocation::durable)]
    pub(crate) store: Option<StoreLocation>,
    /// Queries the node at this address
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:3030")]
    pub(crate) url: String,
}

/// Arguments of `milepost status`
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// Hash of the transaction
    pub(crate) hash: CryptoHash,
    /// Account that signed it; needed only by nodes that do not track every shard
    pub(crate) sender: Option<AccountId>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Milestone to wait for
    #[arg(long, value_name = "MILESTONE", default_value = "NONE", value_parser = milestone)]
    pub(crate) wait_until: Milestone,
    /// Prints the response as received
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `milepost config`
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) block: BlockArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Says whether variables of the environment and a file are valid settings, and what is wrong
    /// in which line
    Check {
        /// The file [default: that of `MILEPOST_SETTINGS`, or none]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

/// Arguments of `milepost conformance`
#[derive(Args, Debug)]
pub(crate) struct ConformanceArgs {
    /// Address of the server, `https://HOST[/PATH]` or `http://HOST[/PATH]`
    pub(crate) url: String,
    /// Hash of a transaction whose live answers are checked [default: one of the newest blocks, if
    /// the server has the methods `block` and `chunk`, or of the practice chain]
    #[arg(long, value_name = "HASH", requires = "sender")]
    pub(crate) transaction: Option<CryptoHash>,
    /// Account that signed it
    #[arg(long, value_name = "ACCOUNT", requires = "transaction")]
    pub(crate) sender: Option<AccountId>,
    /// File with a token, which is sent as `Authorization: Bearer`
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file: Option<PathBuf>,
    /// Maximum number of requests in a second
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub(crate) rate: u32,
    /// Maximum time of a request, which nodes let wait 10 s for a milestone
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = value_parsers::duration)]
    pub(crate) timeout: Duration,
    /// Prints the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The block whose protocol configuration is queried
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct BlockArgs {
    /// Height or hash of a block
    #[arg(long, value_name = "HEIGHT|HASH")]
    pub(crate) block_id: Option<String>,
    /// The newest block of this finality: optimistic, near-final or final (the default)
    #[arg(long, value_name = "FINALITY", value_parser = ["optimistic", "near-final", "final"])]
    pub(crate) finality: Option<String>,
    /// A checkpoint: genesis or earliest_available
    #[arg(long, value_name = "CHECKPOINT", value_parser = ["genesis", "earliest_available"])]
    pub(crate) sync_checkpoint: Option<String>,
}

fn milestone(text: &str) -> Result<Milestone, String> {
    Milestone::from_name(text).ok_or_else(|| {
        let names = Milestone::ALL.map(Milestone::name).join(", ");
        format!("`{text}` is none of {names}")
    })
}

fn up_to_a_million(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=1_000_000) => Ok(number),
        _ => Err(format!("`{text}` is not a number from 1 to 1000000")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn command_definition_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn serve_is_the_default_command() {
        let cli = Cli::try_parse_from(["milepost", "--listen", "127.0.0.1:0"]).unwrap();
        assert!(cli.command.is_none());
        assert_eq!(cli.serve.listen, "127.0.0.1:0");
        assert_eq!(cli.serve.store, StoreLocation::Memory);
    }
}
