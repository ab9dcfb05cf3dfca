//! The command line: what can be said, and what it means.
//!
//! Values are checked while they are read, so a bad one is refused with its text before anything
//! is opened. Exit codes: 0 done or found; 1 not found, or the service failed; 2 not understood,
//! or a question could not be asked.

use core::time::Duration;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use milepost::engine::Unknown;
use milepost::ingest::{Finality, IngestSettings, Retention};
use milepost::primitives::{AccountId, CryptoHash};
use milepost::status::Milestone;

use crate::http::{Cors, StatusMode};
use crate::units::{self, Place};
use crate::{ask, serve};

/// Tells how far along the road a NEAR transaction is
///
/// Without a command, this is `milepost serve`; without blocks to serve, it plays a practice chain
/// and prints requests to try.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves transaction statuses and protocol configurations over HTTP
    Serve(ServeArgs),
    /// Takes in block messages and ends
    Ingest(IngestArgs),
    /// Shows the status of a transaction as a tree of receipts
    Status(StatusArgs),
    /// Shows a protocol configuration
    Config(ConfigArgs),
}

/// What `milepost serve` takes
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3030")]
    pub(crate) listen: String,
    /// `memory`, or the file of a durable store
    #[arg(long, value_name = "PATH|memory", default_value = "memory")]
    pub(crate) store: Place,
    /// Message file, directory of message files, or lake directory; can be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) blocks: Vec<PathBuf>,
    /// Seed of the practice chain that runs when there is nothing to serve
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) feed: FeedArgs,
    /// How long a request may wait for its milestone
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::duration)]
    pub(crate) wait_timeout: Duration,
    /// The most calls that wait for a milestone at a time; one more is answered by HTTP status 503
    #[arg(long, value_name = "NUMBER", default_value = "100000")]
    pub(crate) max_waiting: usize,
    /// A request about a transaction that nobody has seen: `wait` for it, or answer
    /// UNKNOWN_TRANSACTION at once, which is `immediate`
    #[arg(long, value_name = "wait|immediate", default_value = "wait", value_parser = units::unknown)]
    pub(crate) unknown: Unknown,
    /// HTTP statuses of errors: those of a `node`, or `always-200`
    #[arg(long, value_name = "node|always-200", default_value = "node")]
    pub(crate) http_status: StatusMode,
    /// Says in a TIMEOUT_ERROR why, and shows the last status, as node 2.14 does
    #[arg(long)]
    pub(crate) timeout_cause: bool,
    /// Web pages that may read answers: `*`, `none`, or origins with commas between
    #[arg(long, value_name = "ORIGINS", default_value = "*")]
    pub(crate) cors: Cors,
    /// The most bytes of a request body
    #[arg(long, value_name = "SIZE", default_value = "10MiB", value_parser = units::bytes)]
    pub(crate) body_limit: usize,
    /// The most connections at a time [default: 100 fewer than the files that the process may
    /// open, at most 65536]
    #[arg(long, value_name = "NUMBER", value_parser = up_to_a_million)]
    pub(crate) max_connections: Option<usize>,
}

/// How blocks are taken in
#[derive(Args, Clone, Debug)]
pub(crate) struct FeedArgs {
    /// When a block is final: as `headers` say, or at once in a feed of `final` blocks
    #[arg(long, value_name = "headers|final", default_value = "headers", value_parser = units::finality)]
    pub(crate) finality: Finality,
    /// Blocks that are kept: `all` (the default), `blocks:N` or `epochs:N`
    #[arg(long, value_name = "WHICH", value_parser = units::retention)]
    pub(crate) retention: Option<Retention>,
    /// Directory of protocol configurations, `<height>.json`, each in force from its height on
    #[arg(long, value_name = "DIR")]
    pub(crate) configs: Option<PathBuf>,
}

impl FeedArgs {
    /// These arguments in the words of the engine
    pub(crate) fn settings(&self) -> IngestSettings {
        IngestSettings::default()
            .with_finality(self.finality)
            .with_retention(self.retention.unwrap_or_default())
    }
}

/// What `milepost ingest` takes
#[derive(Args, Debug)]
pub(crate) struct IngestArgs {
    /// The file of the durable store
    #[arg(long, value_name = "PATH")]
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) feed: FeedArgs,
    /// Message files, directories of message files, or lake directories
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

/// Where a question is asked
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct WhereArgs {
    /// Asks the durable store in this file
    #[arg(long, value_name = "PATH")]
    pub(crate) store: Option<PathBuf>,
    /// Asks the node at this address
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:3030")]
    pub(crate) url: String,
}

/// What `milepost status` takes
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// Hash of the transaction
    pub(crate) hash: CryptoHash,
    /// Account that signed it; only nodes that do not keep every shard need to know
    pub(crate) sender: Option<AccountId>,
    #[command(flatten)]
    pub(crate) at: WhereArgs,
    /// Milestone to wait for
    #[arg(long, value_name = "MILESTONE", default_value = "NONE", value_parser = milestone)]
    pub(crate) wait_until: Milestone,
    /// Prints the answer as it is
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `milepost config` takes
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    pub(crate) at: WhereArgs,
    #[command(flatten)]
    pub(crate) block: BlockArgs,
}

/// Which block a configuration is asked for
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct BlockArgs {
    /// Height or hash of a block
    #[arg(long, value_name = "HEIGHT|HASH")]
    pub(crate) block_id: Option<String>,
    /// The newest block that is so final: optimistic, near-final or final (the default)
    #[arg(long, value_name = "FINALITY", value_parser = ["optimistic", "near-final", "final"])]
    pub(crate) finality: Option<String>,
    /// An old block: genesis or earliest_available
    #[arg(long, value_name = "CHECKPOINT", value_parser = ["genesis", "earliest_available"])]
    pub(crate) sync_checkpoint: Option<String>,
}

impl Cli {
    /// Does what was asked for
    pub(crate) fn run(self) -> ExitCode {
        let done = match self.command.unwrap_or(Command::Serve(self.serve)) {
            Command::Serve(args) => serve::serve(args).map_err(|text| (text, 1)),
            Command::Ingest(args) => serve::ingest(&args).map_err(|text| (text, 1)),
            Command::Status(args) => ask::status(&args).map_err(|text| (text, 2)),
            Command::Config(args) => ask::config(&args).map_err(|text| (text, 2)),
        };
        match done {
            Ok(code) => code,
            Err((text, code)) => {
                eprintln!("milepost: {text}");
                ExitCode::from(code)
            }
        }
    }
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
        _ => Err(format!("`{text}` is no number from 1 to 1000000")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_command_is_serve() {
        let cli = Cli::try_parse_from(["milepost", "--listen", "127.0.0.1:0"]).unwrap();
        assert!(cli.command.is_none());
        assert_eq!(cli.serve.listen, "127.0.0.1:0");
        assert_eq!(cli.serve.store, Place::Memory);
    }
}
