//! `milepost serve` and `milepost ingest`: everything put together, started and stopped.
//!
//! The address is taken before a long ingest and opened after it, so a port that is in use is
//! known at once, and nobody is served half a chain. SIGTERM and SIGINT end both commands the same way:
//! the block at hand is finished, waits are answered, and the exit code is 0.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::path::PathBuf;
use std::process::{self, ExitCode};

use milepost::engine::{ChainStatus, Engine, Settings};
use milepost::ingest::Retention;
use tokio::net::{TcpListener, TcpSocket, lookup_host};
use tokio::runtime::{Builder, Runtime};
use tokio::task;
use tokio::time::{self, MissedTickBehavior};
use tracing::{error, info, warn};

use crate::board::Board;
use crate::cli::{FeedArgs, IngestArgs, ServeArgs};
use crate::disk;
use crate::feed::{self, Fed, PracticeFeed};
use crate::files;
use crate::http;
use crate::log::say;
use crate::node::{Node, Patience};
use crate::store::Store;
use crate::units::Place;
use crate::waiting;

/// From one practice block to the next: what a shard of a live network takes
const PRACTICE_INTERVAL: Duration = Duration::from_millis(600);
/// What is kept of a practice chain in memory, so that it can run for weeks: ten minutes, which
/// take some 150 MB
const PRACTICE_RETENTION: Retention = Retention::Blocks(1_000);
/// How long work beside the serving threads may take to end: one commit
const LAST_COMMIT: Duration = Duration::from_secs(5);
/// Clients that may queue in the kernel before they are accepted: what Linux allows (its
/// `net.core.somaxconn` since 5.4), because who comes when the queue is full tries again a second later
const BACKLOG: u32 = 4096;

/// The runtime of a command, with a thread for each processor or with so many
pub(crate) fn runtime(threads: Option<usize>) -> Result<Runtime, String> {
    let mut builder = Builder::new_multi_thread();
    if let Some(threads) = threads {
        builder.worker_threads(threads);
    }
    builder.enable_all().build().map_err(|error| format!("no threads to run on: {error}"))
}

/// Serves until it is told to stop
pub(crate) fn serve(args: ServeArgs) -> Result<ExitCode, String> {
    let runtime = runtime((args.store != Place::Memory).then(disk::serving_threads))?;
    let served = runtime.block_on(run(args));
    runtime.shutdown_timeout(LAST_COMMIT);
    served.map(|()| ExitCode::SUCCESS)
}

/// Takes in blocks and ends
pub(crate) fn ingest(args: &IngestArgs) -> Result<ExitCode, String> {
    let runtime = runtime(None)?;
    let store = Store::open(&Place::File(args.store.clone()))?;
    // Nobody can ask, so nobody waits.
    let patience = Patience { timeout: Duration::ZERO, limit: 0 };
    let node = Arc::new(Node::new(Engine::default(), store, args.feed.settings(), patience));
    let _signals = runtime.enter();
    stop_on_signals(&node)?;
    let fed = take_in(&node, &args.feed, &args.paths)?;
    say(fed);
    if fed.stopped {
        info!("stopped before the last message");
    }
    Ok(ExitCode::SUCCESS)
}

async fn run(args: ServeArgs) -> Result<(), String> {
    let socket = bind(&args.listen).await?;
    let connections = places(args.max_connections);
    let settings =
        Settings::default().with_timeout_cause(args.timeout_cause).with_unknown(args.unknown);
    let store = Store::open(&args.store)?;
    let mut feed = args.feed.settings();
    if args.blocks.is_empty() && args.store == Place::Memory && args.feed.retention.is_none() {
        feed.retention = PRACTICE_RETENTION;
    }
    let patience = Patience { timeout: args.wait_timeout, limit: args.max_waiting };
    let node = Arc::new(Node::new(Engine::new(settings), store, feed, patience));
    stop_on_signals(&node)?;

    let practice = {
        let node = Arc::clone(&node);
        let (feed, blocks) = (args.feed.clone(), args.blocks.clone());
        let prepare = move || {
            let fed = take_in(&node, &feed, &blocks)?;
            if !blocks.is_empty() {
                info!("{fed}");
            }
            let chain = node.chain_now().map_err(|error| error.to_string())?;
            let plays = blocks.is_empty() && PracticeFeed::belongs_to(&chain);
            plays.then(|| PracticeFeed::start(&node, args.seed, &chain)).transpose()
        };
        beside(prepare).await?
    };
    if node.is_stopping() {
        return Ok(());
    }
    let listener = listen(socket)?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let url = format!("http://{address}");
    say(format_args!("milepost listens on {url}"));
    let chain = node.chain().await.map_err(|error| error.to_string())?;
    info!("{}", describe(&chain));
    let board = practice.is_some().then(|| Arc::new(Board::default()));
    if let (Some(practice), Some(board)) = (practice, &board) {
        tokio::spawn(play(Arc::clone(&node), practice, Arc::clone(board), url));
    }
    tokio::spawn(waiting::keep_time(Arc::clone(&node)));
    let options = http::Options {
        cors: args.cors,
        statuses: args.http_status,
        body_limit: args.body_limit,
        connections,
    };
    http::serve(listener, Arc::clone(&node), board, options).await;
    info!("stopped");
    Ok(())
}

/// How many connections may be open at a time, if there are files for them
fn places(wanted: Option<usize>) -> usize {
    let files = files::raise();
    if let Some(wanted) = wanted.filter(|wanted| *wanted >= files) {
        warn!("{wanted} connections are allowed, but only {files} files may be open");
    }
    wanted.unwrap_or_else(|| files::connections(files))
}

/// Takes in what the command line names, configurations first
fn take_in(node: &Node, feed: &FeedArgs, blocks: &[PathBuf]) -> Result<Fed, String> {
    if let Some(directory) = &feed.configs {
        let count = feed::put_configs(node, directory)?;
        info!("protocol configurations taken in: {count}");
    }
    feed::ingest(node, blocks)
}

/// Plays the practice chain until the node stops, after a word on what can be asked
async fn play(node: Arc<Node>, mut practice: PracticeFeed, board: Arc<Board>, url: String) {
    board.put_up(practice.notices());
    let examples = {
        let node = Arc::clone(&node);
        beside(move || Ok((practice.examples(&node, &url), practice))).await
    };
    let Ok((lines, played)) = examples else { return };
    practice = played;
    lines.iter().for_each(say);
    let mut ticks = time::interval_at(time::Instant::now() + PRACTICE_INTERVAL, PRACTICE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = node.stopping() => return,
            _ = ticks.tick() => {}
        }
        let step = {
            let node = Arc::clone(&node);
            beside(move || practice.step(&node).map(|()| practice)).await
        };
        match step {
            Ok(played) => {
                practice = played;
                board.put_up(practice.notices());
            }
            Err(text) => {
                // What is in the store is still true, so it is served on.
                error!("the practice chain ended: {text}");
                return;
            }
        }
    }
}

/// Runs work that takes long beside the threads that serve sockets
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    task::spawn_blocking(work).await.unwrap_or_else(|error| Err(format!("a bug: {error}")))
}

/// Takes an address without opening it yet
async fn bind(address: &str) -> Result<TcpSocket, String> {
    let refused = |error: &dyn core::fmt::Display| format!("cannot listen on {address}: {error}");
    let mut found = lookup_host(address).await.map_err(|error| refused(&error))?;
    let resolved = found.next().ok_or_else(|| refused(&"the name has no address"))?;
    let socket = match resolved {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let socket = socket.map_err(|error| refused(&error))?;
    // A service that is started anew must not wait for the last connections of the old one.
    #[cfg(unix)]
    socket.set_reuseaddr(true).map_err(|error| refused(&error))?;
    socket.bind(resolved).map_err(|error| refused(&error))?;
    Ok(socket)
}

fn listen(socket: TcpSocket) -> Result<TcpListener, String> {
    socket.listen(BACKLOG).map_err(|error| format!("cannot listen: {error}"))
}

fn describe(chain: &ChainStatus) -> String {
    let name = chain.chain_id.as_deref().unwrap_or("a chain without a configuration");
    match (chain.earliest, chain.head) {
        (Some(earliest), Some(head)) => {
            let blocks = chain.blocks;
            format!("serving {name}: {blocks} blocks, {} to {}", earliest.height, head.height)
        }
        _ => "serving an empty store".to_owned(),
    }
}

/// Stops the node on SIGTERM or SIGINT; a second one ends the program at once
fn stop_on_signals(node: &Arc<Node>) -> Result<(), String> {
    let mut signals = Signals::new().map_err(|error| format!("no signals: {error}"))?;
    let node = Arc::clone(node);
    tokio::spawn(async move {
        signals.next().await;
        info!("stopping");
        node.stop();
        signals.next().await;
        process::exit(1);
    });
    Ok(())
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // No way to be told: run until the process is ended.
            core::future::pending::<()>().await;
        }
    }
}
