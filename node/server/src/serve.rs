//! `milepost serve` and `milepost import`: startup, main loop and shutdown.
//!
//! The address is bound before a long import and opened after it: a port that is in use is reported
//! at once, and requests are accepted only when all blocks are imported. SIGTERM and SIGINT end
//! both commands alike, `serve` after the time of `--drain`: the current block is completed,
//! pending requests are answered, and the exit code is 0.

#[cfg(unix)]
pub(crate) mod backups;
mod contents;
mod file_limit;
mod lines;
pub(crate) mod losses;
pub(crate) mod options;
pub(crate) mod row_stream;
mod stored_chain;
pub(crate) mod table;
mod verification;

use alloc::sync::Arc;
use core::fmt::Display;
use core::hash::BuildHasher as _;
use core::net::SocketAddr;
use core::num::NonZero;
use core::time::Duration;
use std::hash::RandomState;
use std::path::PathBuf;
use std::process::{self, ExitCode};

use milepost::Error;
use milepost::endpoint::{Engine, Settings, WaitConfig};
use milepost::import::{FinalityRule, Retention, VerifyMode};
use milepost::primitives::BlockHeight;
use tokio::net::{TcpListener, TcpSocket, lookup_host};
use tokio::runtime::{Builder, Runtime};
use tokio::task;
use tokio::time::{self, MissedTickBehavior};
use tracing::{error, info, warn};

use crate::archive::{self, ArchiveLocation, ArchiveOptions, Lookups, SharedArchive};
use crate::chain::{Chain, Exporter, Phase, run_exporter};
use crate::cli::{ARCHIVE_BACKLOG, ARCHIVE_MISSES, ArchiveArgs, FeedArgs, ImportArgs, ServeArgs};
use crate::errors::Failure;
use crate::feed::{self, DemoIndex, FeedSummary, HeightRange, PracticeFeed};
use crate::follow::Follow;
use crate::http;
use crate::log::print_line;
use crate::queries::{Queries, observing, waiting};
use crate::store::{StoreLocation, finality, io_budget};
use lines::StartLines;
use options::{Checked, Live};
use stored_chain::{NewBlocks, Places, StoredChain};
use table::Place;
use verification::verify_store;

/// Time between practice blocks: about the block time of a live network
const PRACTICE_INTERVAL: Duration = Duration::from_millis(600);
/// How long a thread that reads the store stays without work
///
/// They get work by turns, so with the 10 s of the runtime all that were ever needed at a time stay
/// for ever, each with memory that its allocator keeps for it; starting one takes 30 us.
const THREAD_KEEP_ALIVE: Duration = Duration::from_millis(200);
/// Retention of an endless chain in memory, so that it can run for weeks: ten minutes, 65 MB of
/// rows of a practice chain
const MEMORY_RETENTION: Retention = Retention::Blocks(1_000);
/// Maximum time that the blocking thread pool may take to end: one commit
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Length of the kernel's accept queue: the maximum of Linux (`net.core.somaxconn` since 5.4), as a
/// client that finds the queue full retries only a second later
const BACKLOG: u32 = 4096;

/// The runtime of a command, with this number of threads or one for each processor
pub(crate) fn runtime(threads: Option<usize>) -> Result<Runtime, String> {
    let mut builder = Builder::new_multi_thread();
    if let Some(threads) = threads {
        builder.worker_threads(threads);
    }
    builder.thread_keep_alive(THREAD_KEEP_ALIVE);
    builder.enable_all().build().map_err(|error| format!("cannot start threads: {error}"))
}

/// Serves until a signal arrives
pub(crate) fn serve(args: ServeArgs) -> Result<ExitCode, Failure> {
    let is_file = args.store != StoreLocation::Memory;
    let runtime = runtime(is_file.then(io_budget::serving_threads))?;
    let served = runtime.block_on(run(args));
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    served.map(|()| ExitCode::SUCCESS)
}

/// Imports blocks into a store
pub(crate) fn import(args: &ImportArgs) -> Result<ExitCode, Failure> {
    if let Some(from) = args.from {
        args.feed.check_until("--from", from).map_err(Failure::usage)?;
    }
    let runtime = runtime(None)?;
    let places = Places {
        store: args.store.clone(),
        archives: ArchiveLocation::beside(&args.store)
            .map(|archive| (Place::Beside, archive))
            .into_iter()
            .collect(),
        writes: true,
        configs: args.feed.configs.clone(),
        accept_loss: args.kept.accept_loss,
    };
    let mut stored = StoredChain::read(places);
    stored.check(NewBlocks::Files)?;
    let accepted = stored.accept()?;
    let store = stored.open_store()?;
    losses::record(&store, &accepted)?;
    let archive = stored.archives()?.pop().map(|archive| {
        let lookups = Lookups::new(archive, NonZero::<u32>::MAX);
        Arc::new(Exporter::new(lookups, ArchiveOptions::writing(ARCHIVE_BACKLOG)))
    });
    let engine = Engine::default();
    let finality = finality::rule_of_store(&engine, &store, args.feed.finality)?;
    let retention = args.kept.retention.unwrap_or_default();
    let import_settings = args.feed.import_settings(finality).with_retention(retention);
    let chain = Chain::new(engine, store, import_settings, WaitConfig::default());
    let chain = chain.with_verify_mode(args.feed.verify.unwrap_or_default());
    let chain = Arc::new(chain.with_archive(archive.clone()));
    let _guard = runtime.enter();
    shutdown_on_signals(&chain)?;
    let failed = |error: Error| Failure::of_kind(error.kind(), format!("the archive: {error}"));
    // Retention removes what is archived, so blocks are archived while others are imported.
    if let Some(archive) = &archive {
        archive.begin(&chain).map_err(failed)?;
        runtime.spawn(run_exporter(Arc::clone(&chain), Arc::clone(archive)));
    }
    let summary = import_feeds(&chain, &args.feed, &args.paths, args.from)?;
    if let Some(archive) = archive {
        archive.step(&chain).map_err(failed)?;
    }
    print_line(summary)?;
    if summary.interrupted {
        info!("stopped before the last message");
    }
    Ok(ExitCode::SUCCESS)
}

/// The archives with their columns of the table of a start, the one that is written first;
/// `location` is that of the command line, or that of the store
fn archive_places(
    args: &ArchiveArgs,
    location: Option<ArchiveLocation>,
) -> Vec<(Place, ArchiveLocation)> {
    let place = match &location {
        _ if args.archive.is_none() => Place::Beside,
        Some(location) if !location.is_exclusive() => Place::Cluster,
        _ => Place::Directory,
    };
    let older = args.archive_older.iter().cloned().map(|older| (Place::Older, older));
    location.map(|location| (place, location)).into_iter().chain(older).collect()
}

async fn run(args: ServeArgs) -> Result<(), Failure> {
    let Checked { archive, archive_options, live } = Checked::new(&args).map_err(Failure::usage)?;
    let socket = bind(&args.listen).await?;
    let new_blocks = live.new_blocks(&args);
    let places = Places {
        store: args.store.clone(),
        archives: archive_places(&args.archive, archive),
        writes: archive_options.writes,
        configs: args.feed.configs.clone(),
        accept_loss: args.kept.accept_loss,
    };
    let (mut stored, accepted) = spawn_blocking(move || {
        let mut stored = StoredChain::read(places);
        stored.check(new_blocks)?;
        let accepted = stored.accept()?;
        Ok((stored, accepted))
    })
    .await?;
    let max_connections = max_connections(args.max_connections);
    let settings = Settings::default()
        .with_timeout_cause(args.timeout_cause)
        .with_unknown(args.unknown)
        .with_max_batch(args.max_batch)
        .with_track_shards(args.feed.track_shards);
    let store = stored.open_store()?;
    losses::record(&store, &accepted)?;
    store.wait_for_room(true);
    let is_memory = args.store == StoreLocation::Memory;
    let engine = Engine::new(settings);
    // The newest blocks of a feed that is followed are not final.
    let is_feed = matches!(live, Live::Feed(_));
    let requested = args.feed.finality.or(is_feed.then_some(FinalityRule::Headers));
    let finality = finality::rule_of_store(&engine, &store, requested)?;
    let goes_on = !matches!(live, Live::None);
    let retention = if goes_on && is_memory { MEMORY_RETENTION } else { Retention::default() };
    let retention = args.kept.retention.unwrap_or(retention);
    let import_settings = args.feed.import_settings(finality).with_retention(retention);
    // At most a year of milliseconds, which fits.
    let timeout = args.timeout.as_millis() as u64;
    let wait_config = WaitConfig::default()
        .with_timeout(timeout)
        .with_max_waiting(args.max_waiting)
        // Random per process; nothing that is hashed with it leaves the process.
        .with_hash_seed(RandomState::new().hash_one(0));
    // What comes in while it serves is checked: proofs need it.
    let verify_mode =
        args.feed.verify.unwrap_or(if goes_on { VerifyMode::Report } else { VerifyMode::Off });
    let chain = Chain::new(engine, store, import_settings, wait_config);
    // The transaction of the README, and that of the start, stay known as long as the server runs.
    let keeps_start = is_memory && matches!(live, Live::Practice(_));
    let kept_height = keeps_start.then(PracticeFeed::kept_height);
    let archive_keeps_all = archive_options.kept_heights.is_none();
    let (stored, archives) = spawn_blocking(move || {
        let archives = stored.archives()?;
        Ok((stored, archives))
    })
    .await?;
    let archive = exporter(&args.archive, archives, archive_options, kept_height)?;
    let chain = chain.with_verify_mode(verify_mode).with_archive(archive.clone());
    let chain = Arc::new(chain);
    shutdown_on_signals(&chain)?;
    if let Some(archive) = archive {
        let begun = Arc::clone(&archive);
        let begun = chain.spawn_blocking(move |chain| begun.begin(chain)).await;
        if let Some(Err(error)) = begun {
            stored.archive_failed(&error)?;
            warn!("the archive cannot be read, nothing is forgotten until it can: {error}");
        }
        tokio::spawn(run_exporter(Arc::clone(&chain), archive));
    }

    // A request for a transaction that the server may forget is not printed.
    let keeps_all =
        retention == Retention::Everything || archive_keeps_all && chain.archive().is_some();
    let seed = match &live {
        Live::Practice(seed) => Some(*seed),
        Live::None | Live::Feed(_) => None,
    };
    let (practice, request) = {
        let chain = Arc::clone(&chain);
        let (feed, blocks) = (args.feed.clone(), args.blocks.clone());
        let prepare = move || {
            let summary = import_feeds(&chain, &feed, &blocks, None)?;
            if !blocks.is_empty() {
                info!("{summary}");
            }
            let status = chain.status()?;
            let Some(seed) = seed else { return Ok((None, None)) };
            let practice = PracticeFeed::start(&chain, seed, &status)?;
            let request = keeps_all.then(|| practice.example(&chain)).flatten();
            Ok((Some(practice), request))
        };
        spawn_blocking(prepare).await?
    };
    if chain.is_shut_down() {
        return Ok(());
    }
    let listener = listen(socket, &args.listen)?;
    chain.enter(Phase::Serving { drain: args.drain });
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let note = match new_blocks {
        NewBlocks::Practice => {
            let seconds = PRACTICE_INTERVAL.as_secs_f64();
            Some(format!("demonstration chain, a block every {seconds} s"))
        }
        NewBlocks::None => Some(stored.to_string()),
        NewBlocks::Files | NewBlocks::Feed(_) => None,
    };
    // A server needs no reader of these lines.
    let _ = print_line(StartLines { address, base_path: &args.base_path, note, request });
    let demo_index = practice.is_some().then(|| Arc::new(DemoIndex::default()));
    if let (Some(practice), Some(demo_index)) = (practice, &demo_index) {
        tokio::spawn(run_practice(Arc::clone(&chain), practice, Arc::clone(demo_index)));
    }
    let queries = Arc::new(Queries::new(Arc::clone(&chain)));
    tokio::spawn(waiting::run_timeouts(Arc::clone(&chain)));
    tokio::spawn(observing::run(Arc::clone(&queries)));
    #[cfg(unix)]
    let sending = tokio::spawn(backups::serve(Arc::clone(&chain)));
    let verification = tokio::spawn(verify_store(Arc::clone(&chain)));
    let follow = match live {
        Live::Feed(follow) => Some(follow.of_chain(stored.named())),
        Live::None | Live::Practice(_) => None,
    };
    let feed_status = follow.as_ref().map(|follow| Arc::clone(&follow.status));
    let upstreams = follow.as_ref().and_then(|follow| follow.upstreams.clone());
    let following = follow.map(|follow| tokio::spawn(run_follow(Arc::clone(&chain), follow)));
    let options = http::Options {
        base_path: args.base_path,
        cors: args.cors,
        statuses: args.http_status,
        body_limit: args.body_limit,
        max_buffered: args.max_buffered,
        max_connections,
        max_wait: args.max_wait,
    };
    let serving = http::serve(listener, queries, demo_index, feed_status, upstreams, options);
    // As a task: this thread would have to be woken for each connection, as it runs no others.
    tokio::spawn(serving).await.map_err(|error| error.to_string())?;
    #[cfg(unix)]
    let _ = sending.await;
    info!("stopped");
    verification.await.unwrap_or_else(|error| Err(error.to_string().into()))?;
    match following {
        Some(following) => following.await.unwrap_or_else(|error| Err(error.to_string().into())),
        None => Ok(()),
    }
}

/// These archives, or one of the blocks up to this height in memory
fn exporter(
    args: &ArchiveArgs,
    mut archives: Vec<SharedArchive>,
    options: ArchiveOptions,
    kept_height: Option<BlockHeight>,
) -> Result<Option<Arc<Exporter>>, String> {
    if archives.is_empty() {
        return kept_height.map(|height| first_blocks_archive(options, height)).transpose();
    }
    let archive = archives.remove(0);
    let misses = args.archive_misses.unwrap_or(ARCHIVE_MISSES);
    let lookups =
        Lookups::new(archive, misses).with_older(archives).with_address_limit(args.address_misses);
    Ok(Some(Arc::new(Exporter::new(lookups, options))))
}

/// An archive in memory of the blocks up to this height, whatever it is asked for
fn first_blocks_archive(
    options: ArchiveOptions,
    height: BlockHeight,
) -> Result<Arc<Exporter>, String> {
    let archive = archive::open(&ArchiveLocation::Memory, true).map_err(|it| it.to_string())?;
    let options = ArchiveOptions { until: Some(height), ..options };
    Ok(Arc::new(Exporter::new(Lookups::new(archive, NonZero::<u32>::MAX), options)))
}

/// Follows a feed; what ends it before the service shuts down, shuts the service down
async fn run_follow(chain: Arc<Chain>, follow: Follow) -> Result<(), Failure> {
    let followed = follow.run(Arc::clone(&chain), || ()).await;
    if let Err(failure) = &followed {
        error!("the feed cannot be followed: {failure}");
        chain.shutdown();
    }
    followed
}

/// The maximum number of connections; warns if the limit of open files does not allow it
fn max_connections(requested: Option<usize>) -> usize {
    let files = file_limit::raise();
    if let Some(requested) = requested.filter(|requested| *requested >= files) {
        warn!("--max-connections is {requested}, but the limit of open files is {files}");
    }
    requested.unwrap_or_else(|| file_limit::default_max_connections(files))
}

/// Imports the configurations and then the blocks of the command line
fn import_feeds(
    chain: &Chain,
    feed: &FeedArgs,
    blocks: &[PathBuf],
    from: Option<u64>,
) -> Result<FeedSummary, Failure> {
    if let Some(directory) = &feed.configs {
        let count = feed::import_configs(chain, directory)?;
        info!("protocol configurations imported: {count}");
    }
    feed::import_blocks(chain, blocks, HeightRange { from, until: feed.until }, &|| ())
}

/// Runs the practice chain until the service shuts down
async fn run_practice(chain: Arc<Chain>, mut practice: PracticeFeed, demo_index: Arc<DemoIndex>) {
    demo_index.replace(practice.demo_transactions());
    let mut ticks = time::interval_at(time::Instant::now() + PRACTICE_INTERVAL, PRACTICE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = chain.shutdown_signal() => return,
            _ = ticks.tick() => {}
        }
        let step = {
            let chain = Arc::clone(&chain);
            spawn_blocking(move || practice.step(&chain).map(|()| practice)).await
        };
        match step {
            Ok(returned) => {
                practice = returned;
                demo_index.replace(practice.demo_transactions());
            }
            Err(failure) => {
                // The store is still valid, so it is served without new blocks.
                error!("the practice chain ended: {failure}");
                return;
            }
        }
    }
}

/// Runs long work on the blocking thread pool
async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let defect = |error| Err(Failure::from(format!("a defect of the program: {error}")));
    task::spawn_blocking(work).await.unwrap_or_else(defect)
}

/// Binds an address without listening on it yet
async fn bind(address: &str) -> Result<TcpSocket, String> {
    let failed = |error: &dyn Display| format!("cannot listen on {address}: {error}");
    let mut addresses = lookup_host(address).await.map_err(|error| failed(&error))?;
    let resolved = addresses.next().ok_or_else(|| failed(&"the name has no address"))?;
    let socket = match resolved {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let socket = socket.map_err(|error| failed(&error))?;
    // A restarted server binds while connections of the previous one are in TIME_WAIT.
    #[cfg(unix)]
    socket.set_reuseaddr(true).map_err(|error| failed(&error))?;
    socket.bind(resolved).map_err(|error| failed(&error))?;
    Ok(socket)
}

fn listen(socket: TcpSocket, address: &str) -> Result<TcpListener, String> {
    socket.listen(BACKLOG).map_err(|error| format!("cannot listen on {address}: {error}"))
}

/// Shuts the service down on SIGTERM or SIGINT, after `--drain` if it serves; a signal meanwhile
/// ends that time, and one after it ends the program at once
pub(crate) fn shutdown_on_signals(chain: &Arc<Chain>) -> Result<(), String> {
    let mut signals =
        Signals::new().map_err(|error| format!("cannot install signal handlers: {error}"))?;
    let chain = Arc::clone(chain);
    tokio::spawn(async move {
        signals.next().await;
        if let Phase::Serving { drain } = chain.phase() {
            chain.enter(Phase::Draining);
            if !drain.is_zero() {
                info!("not ready any more, stopping in {} s", drain.as_secs_f64());
                tokio::select! {
                    () = time::sleep(drain) => {}
                    () = signals.next() => {}
                    () = chain.shutdown_signal() => {}
                }
            }
        }
        info!("stopping");
        chain.shutdown();
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
            // Signals are not available: run until the process is killed.
            core::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;
    use std::collections::BTreeSet;
    use std::fs;

    use milepost::import::ImportSettings;
    use milepost::primitives::CryptoHash;

    use super::*;
    use crate::store::Store;

    /// The hashes of transactions in a text
    fn transaction_hashes(text: &str) -> BTreeSet<CryptoHash> {
        let after_names = text.split("\"tx_hash\":").skip(1);
        let by_name = after_names.filter_map(|rest| rest.split('"').nth(1));
        let by_command = text.split(" status ").skip(1).filter_map(|rest| rest.split(' ').next());
        by_name.chain(by_command).filter_map(|hash| hash.parse().ok()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_printed_at_the_start_is_answered_after_the_store_has_forgotten_it() {
        let store = Store::open(&StoreLocation::Memory).unwrap();
        let settings = ImportSettings::default().with_retention(Retention::Blocks(130));
        let options = ArchiveOptions::writing(1_000);
        let archive = first_blocks_archive(options, PracticeFeed::kept_height()).unwrap();
        let chain = Chain::new(Engine::default(), store, settings, WaitConfig::default());
        let chain = Arc::new(chain.with_archive(Some(Arc::clone(&archive))));
        let status = chain.status().unwrap();
        let practice = PracticeFeed::start(&chain, 1, &status).unwrap();

        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
        let mut hashes = transaction_hashes(&fs::read_to_string(readme).unwrap());
        assert_eq!(hashes.len(), 1, "{hashes:?}");
        hashes.append(&mut transaction_hashes(&practice.example(&chain).unwrap()));
        assert_eq!(hashes.len(), 2, "{hashes:?}");

        let index = Arc::new(DemoIndex::default());
        tokio::spawn(run_practice(Arc::clone(&chain), practice, index));
        let exporter = tokio::spawn(run_exporter(Arc::clone(&chain), archive));
        // It ends when it has the first blocks.
        exporter.await.unwrap();
        // The newest of the first blocks is forgotten as well.
        let mut head = chain.head();
        let is_past = |head: &u64| *head > PracticeFeed::kept_height() + 140;
        head.wait_for(is_past).await.unwrap();
        let in_store = chain.status().unwrap();
        assert!(in_store.earliest.unwrap().height > PracticeFeed::kept_height());
        assert!(in_store.blocks <= 130, "the archive keeps no blocks in the store");
        let queries = Arc::new(Queries::new(Arc::clone(&chain)));
        for hash in hashes {
            let (status, result) =
                queries.full_status(Ipv4Addr::LOCALHOST.into(), hash).await.unwrap();
            assert_eq!(status.milestone.name(), "FINAL", "{hash}");
            assert!(result.is_some());
        }
        chain.shutdown();
    }
}
