//! The options of the server and of imports.
//!
//! Values are checked while they are parsed, so an invalid one is rejected before anything is
//! opened.

mod archive_args;
mod feed_args;
pub(crate) mod value_parsers;

use core::time::Duration;
use std::path::PathBuf;

use clap::Args;
use milepost::endpoint::UnknownTransaction;
use milepost::import::Retention;

pub(crate) use archive_args::{ARCHIVE_BACKLOG, ARCHIVE_MISSES, ArchiveArgs};
pub(crate) use feed_args::{FeedArgs, FeedSourceArgs, FollowArgs, MAX_AGE, START_MARGIN};

use crate::http::{self, BasePath, Cors, StatusMode};
use crate::log::{LogFilter, LogFormat};
use crate::store::StoreLocation;
use value_parsers::either;

/// Headings of the options
const BLOCKS: &str = "Blocks";
const STORE: &str = "Store and archive";
const FEED: &str = "Feed";
const REQUESTS: &str = "Requests and limits";
const HTTP: &str = "HTTP";
const LOGGING: &str = "Settings and logging";

/// Arguments of `milepost serve`
#[derive(Args, Debug)]
#[command(after_help = http::fixed_limits())]
pub(crate) struct ServeArgs {
    /// Address to listen on
    ///
    /// Port 0 takes a free one, which the first line of the output has.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3030")]
    #[arg(help_heading = HTTP)]
    pub(crate) listen: String,
    /// Where blocks are kept: memory, a file, or a directory
    ///
    /// A directory has a file and an archive beside it, so that nothing is lost by `--retention`. A
    /// path that ends with a slash is a directory, which is made if it does not exist.
    #[arg(long, value_name = "PATH|memory", default_value = "memory")]
    #[arg(help_heading = STORE)]
    pub(crate) store: StoreLocation,
    #[command(flatten)]
    pub(crate) kept: StoreArgs,
    /// Block messages to import first; can be repeated
    ///
    /// A file with a block message or an array of them, or a directory of such files or of a lake.
    #[arg(long, value_name = "PATH")]
    #[arg(help_heading = BLOCKS)]
    pub(crate) blocks: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) archive: ArchiveArgs,
    #[command(flatten)]
    pub(crate) follow: FollowArgs,
    #[command(flatten)]
    pub(crate) feed: FeedArgs,
    /// Maximum time that a request waits for its milestone
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value_parsers::duration)]
    #[arg(help_heading = REQUESTS)]
    pub(crate) timeout: Duration,
    /// Maximum time that a request may choose to wait
    ///
    /// A request chooses by `Prefer: wait=SECONDS`.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = value_parsers::duration)]
    #[arg(help_heading = REQUESTS)]
    pub(crate) max_wait: Duration,
    /// Time after SIGTERM in which requests are still accepted
    ///
    /// `/ready` is HTTP status 503 meanwhile, so that a balancer sends no more of them before the
    /// stop. A second signal begins the stop at once.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = value_parsers::duration)]
    #[arg(help_heading = HTTP)]
    pub(crate) drain: Duration,
    /// Maximum number of calls that wait, and of watched transactions
    ///
    /// Each of both. A transaction counts once for each stream of events. Further calls and streams
    /// get HTTP status 503.
    #[arg(long, value_name = "NUMBER", default_value = "100000")]
    #[arg(help_heading = REQUESTS)]
    pub(crate) max_waiting: usize,
    /// Whether a request for an unknown transaction waits
    ///
    /// `immediate` answers UNKNOWN_TRANSACTION.
    #[arg(
        long,
        value_name = "wait|immediate",
        default_value = "wait",
        value_parser = either(
            ("wait", UnknownTransaction::Wait),
            ("immediate", UnknownTransaction::Immediate)
        )
    )]
    #[arg(help_heading = REQUESTS)]
    pub(crate) unknown: UnknownTransaction,
    /// HTTP status codes of JSON-RPC errors
    ///
    /// Those of a `node`, or `always-200`.
    #[arg(long, value_name = "node|always-200", default_value = "node")]
    #[arg(value_parser = either(("node", StatusMode::Node), ("always-200", StatusMode::Always200)))]
    #[arg(help_heading = HTTP)]
    pub(crate) http_status: StatusMode,
    /// Adds the cause and the last status to a TIMEOUT_ERROR
    ///
    /// Node 2.14 does.
    #[arg(long)]
    #[arg(help_heading = REQUESTS)]
    pub(crate) timeout_cause: bool,
    /// Path below which everything is served, such as /near
    #[arg(long, value_name = "PATH", default_value = "/")]
    #[arg(help_heading = HTTP)]
    pub(crate) base_path: BasePath,
    /// Origins of pages that may read responses (CORS)
    ///
    /// `*`, `none`, or a comma-separated list.
    #[arg(long, value_name = "ORIGINS", default_value = "*")]
    #[arg(help_heading = HTTP)]
    pub(crate) cors: Cors,
    /// Maximum size of a request body
    #[arg(long, value_name = "SIZE", default_value = "10MiB", value_parser = value_parsers::bytes)]
    #[arg(help_heading = REQUESTS)]
    pub(crate) body_limit: usize,
    /// Maximum size of all bodies in memory
    ///
    /// It bounds the request bodies that are held, the responses that clients have not read yet,
    /// the unfinished messages of WebSockets, and 8 KiB for each request on HTTP/2 or a WebSocket.
    /// Further requests get HTTP status 503.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = value_parsers::bytes)]
    #[arg(help_heading = REQUESTS)]
    pub(crate) max_buffered: usize,
    /// Maximum number of requests in a batch
    #[arg(long, value_name = "NUMBER", default_value = "50", value_parser = up_to_a_million)]
    #[arg(help_heading = REQUESTS)]
    pub(crate) max_batch: usize,
    /// Maximum number of connections [default: open files - 100]
    ///
    /// The default is 100 fewer than the files that the process may open, at most 65536.
    #[arg(long, value_name = "NUMBER", value_parser = up_to_a_million)]
    #[arg(help_heading = REQUESTS)]
    pub(crate) max_connections: Option<usize>,
}

/// The rows that a store keeps
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = STORE)]
pub(crate) struct StoreArgs {
    /// Accepts once that the store or an archive is lost or damaged
    ///
    /// The start keeps the readable rows, or makes an empty one, and records each loss in the
    /// store. A file that cannot be opened is renamed, to `PATH.damaged.1`. Only on the command
    /// line.
    #[arg(long)]
    pub(crate) accept_loss: bool,
    /// Blocks that are kept [default: everything]
    ///
    /// `everything`, `blocks:N` with at least three, or `epochs:N`. The default is `blocks:1000`
    /// for a feed that is followed into memory.
    #[arg(long, value_name = "WHICH", value_parser = value_parsers::retention)]
    pub(crate) retention: Option<Retention>,
}

/// Options of every command
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = LOGGING)]
pub(crate) struct CommonArgs {
    /// File of settings (TOML)
    ///
    /// It has the options of `serve` by their names, such as `max-wait = "30s"`. A variable such as
    /// `MILEPOST_MAX_WAIT` comes before the file.
    #[arg(long, global = true, value_name = "PATH", env = "MILEPOST_SETTINGS", hide_env = true)]
    pub(crate) settings: Option<PathBuf>,
    /// Messages that are logged to standard error
    ///
    /// A level (`error`, `warn`, `info`, `debug`, `trace`, `off`), and levels of modules, such as
    /// `info,milepost_feeds=debug`. A level without a module is that of this program, and `info` if
    /// there is none; a library is logged if a directive names it, such as `info,h2=debug`.
    #[arg(long, global = true, value_name = "DIRECTIVES", default_value = "info")]
    pub(crate) log: LogFilter,
    /// Format of the log
    ///
    /// With `json` each line is an object, and lines about a request have its `x-request-id` and
    /// `traceparent`.
    #[arg(long, global = true, value_name = "text|json", default_value = "text")]
    #[arg(value_parser = either(("text", LogFormat::Text), ("json", LogFormat::Json)))]
    pub(crate) log_format: LogFormat,
}

/// Arguments of `milepost import`
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// Where blocks are kept: a file, or a directory
    ///
    /// A directory has a file and an archive beside it. A path that ends with a slash is a
    /// directory, which is made if it does not exist.
    #[arg(long, value_name = "PATH", value_parser = StoreLocation::durable)]
    pub(crate) store: StoreLocation,
    #[command(flatten)]
    pub(crate) kept: StoreArgs,
    #[command(flatten)]
    pub(crate) feed: FeedArgs,
    /// Lowest height that is imported
    ///
    /// A lake in an object store needs it.
    #[arg(long, value_name = "HEIGHT")]
    pub(crate) from: Option<u64>,
    /// Block messages: files, directories or lakes
    ///
    /// A file has a block message or an array of them; a directory has such files or a lake. A lake
    /// in an object store is `s3://BUCKET[/PREFIX]` or `file://PATH`.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

fn up_to_a_million(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=1_000_000) => Ok(number),
        _ => Err(format!("`{text}` is not a number from 1 to 1000000")),
    }
}
