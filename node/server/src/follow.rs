//! `--follow`: imports the blocks of a live feed while the server serves.
//!
//! Blocks are read, imported and committed while the next are fetched. A server that is killed
//! continues after its last commit, which has one block or, far behind, several. Feeds after
//! the first one are asked where it fails. What only a person can repair ends the server with a
//! sentence: feeds of another chain, feeds that refuse this client at the first start, a block that
//! cannot be stored.

mod epoch_configs;
mod log;

use alloc::sync::Arc;
use core::hash::BuildHasher as _;
use core::iter;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::env;
use std::hash::RandomState;
use std::sync::Mutex;

use milepost::ErrorKind;
use milepost::config::TrackedShards;
use milepost::endpoint::ChainStatus;
use milepost::import::{BlockPosition, FinalityRule, ImportSummary};
use milepost::primitives::BlockHeight;
use milepost::primitives::CryptoHash;
use milepost::storage::rows::BlockRecord;
use milepost::storage::{BlockPoint, Key, Snapshot as _, Table};
use milepost_feeds::{
    Ask, BlockRequest, Event, Feed, FeedBlock, FeedUrl, Finality, FollowError, FollowErrorKind,
    Follower, ImportError, Pace, Response, RpcClient, Settings, Source, SourceErrorKind, Start,
    StoredChain, Token,
};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time;
use tracing::{Instrument as _, Span, error, info, warn};

use crate::chain::{Chain, json_scan};
use crate::cli::{FeedArgs, FeedSourceArgs, FollowArgs, MAX_AGE, START_MARGIN};
use crate::errors::{Failure, QueryError};
use crate::feed::status::{FeedSource, FeedStatus};
use crate::feed::{Progress, ServedFeed};
use crate::follow::epoch_configs::{ConfigNodes, EpochStart};
use crate::follow::log::FeedLog;
use crate::locks::lock;
use crate::metrics::BlockStep;
use crate::upstream::{self, Upstreams};

/// The variable that holds the token of a feed
pub(crate) const TOKEN_VARIABLE: &str = "MILEPOST_FEED_TOKEN";

/// The pause before a feed is asked again for its chain
const CHAIN_PAUSE: Duration = Duration::from_secs(1);

/// The feeds of a command line, and the nodes that belong to them
pub(crate) struct FeedSources {
    /// In the order of the command line, at least one
    sources: Vec<FeedSource>,
    upstreams: Vec<(FeedUrl, Option<Token>)>,
    /// The option that names the upstreams
    upstream_option: String,
}

impl FeedSources {
    /// Checks the arguments, and creates the clients of the feeds; `None` if there is no feed
    pub(crate) fn new(
        urls: &[FeedUrl],
        args: &FeedSourceArgs,
        feed: &FeedArgs,
    ) -> Result<Option<Self>, String> {
        let Some(first) = urls.first() else { return Ok(None) };
        if feed.finality == Some(FinalityRule::All) {
            let detail = "--finality all does not go with --follow: its blocks are not final yet";
            return Err(detail.to_owned());
        }
        // The token is for one provider, and is sent to no other.
        let mut token = match (&args.feed_token_file, env::var(TOKEN_VARIABLE)) {
            (Some(path), _) => Some(Token::from_file(path)?),
            (None, Ok(text)) => {
                Some(Token::new(&text).map_err(|error| format!("{TOKEN_VARIABLE}: {error}"))?)
            }
            (None, Err(_)) => None,
        };
        let upstreams =
            upstream::nodes(&args.upstream, &args.upstream_token_file, first, token.as_ref())?;
        let mut sources = Vec::with_capacity(urls.len());
        for (index, url) in urls.iter().enumerate() {
            if urls[..index].contains(url) {
                return Err(format!("--follow {url} is given twice"));
            }
            let feed = Feed::new(url, token.take(), args.feed_requests);
            let feed = Arc::new(feed.map_err(|error| error.to_string())?);
            let chain_id = url.chain_id();
            let known = sources.iter().find_map(|source: &FeedSource| source.chain_id);
            if let (Some(known), Some(chain_id)) = (known, chain_id)
                && known != chain_id
            {
                return Err(format!("--follow has a feed of {known} and one of {chain_id}"));
            }
            sources.push(FeedSource { url: url.to_string(), chain_id, feed });
        }
        let upstream_option = match args.upstream.is_empty() {
            true => format!("the node of --follow {first}"),
            false => "--upstream".to_owned(),
        };
        Ok(Some(Self { sources, upstreams, upstream_option }))
    }
}

/// Feeds that are followed from a place on
pub(crate) struct Follow {
    /// In the order of the command line, at least one
    sources: Vec<FeedSource>,
    start: Start,
    start_margin: u64,
    /// A height that no feed has
    skip: Option<BlockHeight>,
    until: Option<BlockHeight>,
    track_shards: TrackedShards,
    config_nodes: Option<ConfigNodes>,
    /// Whether the next block is imported only when the configuration of the epoch is stored
    waits_for_configs: bool,
    /// The place that names the chain of the host, and that name
    stored_name: Option<(String, String)>,
    /// Where requests are forwarded to, if they are
    pub(crate) upstreams: Option<Arc<Upstreams>>,
    pub(crate) status: Arc<FeedStatus>,
}

impl Follow {
    /// The feeds at these addresses, if there is one
    ///
    /// Creates clients of HTTP, which send nothing yet; called in a runtime.
    pub(crate) fn new(
        urls: &[FeedUrl],
        args: &FollowArgs,
        feed: &FeedArgs,
        max_wait: Duration,
    ) -> Result<Option<Self>, String> {
        let Some(sources) = FeedSources::new(urls, &args.sources, feed)? else { return Ok(None) };
        let FeedSources { sources, upstreams: nodes, upstream_option: option } = sources;
        let config_nodes = ConfigNodes::new(&nodes, &option)?;
        let upstreams = match args.forward {
            false => None,
            true if nodes.is_empty() => return Err("--forward needs an --upstream".to_owned()),
            true => {
                let clients = nodes.into_iter().map(|(node, token)| RpcClient::new(&node, token));
                let clients = clients.collect::<Result<_, _>>();
                let clients = clients.map_err(|error| format!("{option}: {error}"))?;
                Some(Arc::new(Upstreams::new(clients, max_wait, args.upstream_history)))
            }
        };
        let served = args.serve_feed.map(ServedFeed::new);
        let max_age = args.max_age.unwrap_or(MAX_AGE);
        let status = Arc::new(FeedStatus::new(sources.clone(), max_age, served));
        if let Start::Height(from) = args.from {
            feed.check_until("--from", from)?;
        }
        let (start, until) = (args.from, feed.until);
        let start_margin = match start {
            Start::LastFinal => 0,
            _ => args.start_margin.unwrap_or(START_MARGIN),
        };
        let track_shards = feed.track_shards;
        Ok(Some(Self {
            sources,
            start,
            start_margin,
            skip: args.skip,
            until,
            track_shards,
            config_nodes,
            waits_for_configs: false,
            stored_name: None,
            upstreams,
            status,
        }))
    }

    /// The blocks of these heights, which are both included, and of so many before as there are
    ///
    /// A block is followed by the next one only when the configuration of its epoch is stored.
    pub(crate) async fn heights(
        feeds: &FeedSources,
        heights: RangeInclusive<BlockHeight>,
        heights_before: u64,
        track_shards: TrackedShards,
    ) -> Result<Self, String> {
        let sources = feeds.sources.clone();
        let mut start = heights.start().saturating_sub(heights_before);
        let ask = Ask::Block(BlockRequest::new(start, Finality::Final));
        if let Some(first) = sources.first()
            && let Err(error) = first.feed.answer(ask, &Pace::unlimited()).await
            && error.kind == SourceErrorKind::TooLow
        {
            start = *heights.start();
        }
        // No request asks for the age of the newest block.
        let status = Arc::new(FeedStatus::new(sources.clone(), Duration::MAX, None));
        Ok(Self {
            sources,
            start: Start::Height(start),
            start_margin: 0,
            skip: None,
            until: Some(*heights.end()),
            track_shards,
            config_nodes: ConfigNodes::new(&feeds.upstreams, &feeds.upstream_option)?,
            waits_for_configs: true,
            stored_name: None,
            upstreams: None,
            status,
        })
    }

    /// The name of the chain, if one of the feeds is a public one
    pub(crate) fn chain_id(&self) -> Option<&'static str> {
        self.sources.iter().find_map(|source| source.chain_id)
    }

    /// The same for a host whose store, archive or configurations name its chain: the place, and
    /// the name
    pub(crate) fn of_chain(mut self, named: Option<(&str, &str)>) -> Self {
        self.stored_name = named.map(|(place, name)| (place.to_owned(), name.to_owned()));
        self
    }

    /// Follows the feed until the service shuts down, or to the last block that is asked for; calls
    /// `after_block` after the commit of each block
    ///
    /// # Errors
    ///
    /// [`Failure::usage`] if the feed belongs to another chain, before its first block is imported.
    pub(crate) async fn run(
        self,
        chain: Arc<Chain>,
        after_block: impl Fn() + Send + Sync + 'static,
    ) -> Result<(), Failure> {
        let in_store = status_of(&chain).await?;
        let stored = stored_chain(&in_store);
        let Self { sources, start, start_margin, until, config_nodes, status, .. } = self;
        if let Some(head) = in_store.head
            && let Some(timestamp_nanos) = produced_at(&chain, head).await?
        {
            status.starts_with(timestamp_nanos);
        }
        let waits_for_configs = self.waits_for_configs;
        let urls: Vec<String> = sources.iter().map(|source| source.url.clone()).collect();
        let of_feed = sources.iter().find_map(|source| source.chain_id);
        let of_store = |name: &String| ("the store".to_owned(), name.clone());
        let stored_name = self.stored_name.or_else(|| in_store.chain_id.as_ref().map(of_store));
        if let (Some((place, stored)), Some(other)) = (&stored_name, of_feed)
            && stored != other
        {
            return Err(Failure::chains_differ(place, stored, "the feed of --follow", other));
        }
        if let (Some((place, stored)), None, Some(nodes), None) =
            (&stored_name, of_feed, &config_nodes, in_store.head)
        {
            // There is no block to compare with the feed.
            let Some(other) = nodes.chain_id(&chain).await else { return Ok(()) };
            if other.as_ref().is_some_and(|other| other != stored) {
                let other = other.unwrap_or_default();
                return Err(Failure::chains_differ(place, stored, nodes.option(), &other));
            }
        }
        let feeds: Vec<Arc<Feed>> = sources.into_iter().map(|source| source.feed).collect();
        let Some(first) = feeds.first() else { return Ok(()) };
        let url = urls.join(", or else ");
        if let (None, None, None) = (of_feed, &config_nodes, in_store.head) {
            compare_with_archive(first, &url, stored_name.as_ref(), &chain).await?;
        }
        if let (Some(until), Some(head)) = (until, in_store.head)
            && head.height >= until
        {
            info!("the store is at block {}, so {url} is not followed", head.height);
            status.complete();
            return Ok(());
        }
        match (start, stored.map(|stored| stored.head.height)) {
            (Start::Resume, Some(head)) => info!("following {url} after block {head}"),
            (_, Some(head)) => {
                info!("following {url} after block {head}: --from is for an empty store");
            }
            (Start::Height(height), None) => info!("following {url} from block {height}"),
            (Start::LastFinal, None) => info!("following {url} from its last final block"),
            (Start::Resume, None) => {
                info!("following {url} from {start_margin} heights before its last final block");
            }
        }
        // So that a server with `--from` can be started again.
        let start = if stored.is_some() { Start::Resume } else { start };
        if config_nodes.is_none() && in_store.chain_id.is_none() {
            warn!("there are no protocol configurations: --upstream or --configs gives them");
        }
        // Names the part of a backfill in what tasks log.
        let span = Span::current();
        let log = FeedLog::new(urls);
        let progress = Arc::new(Mutex::new(None));
        let (observed, observed_progress) = (Arc::clone(&status), Arc::clone(&progress));
        let settings = Settings::default()
            .with_start_margin(start_margin)
            .with_seed(RandomState::new().hash_one(0))
            .with_track_shards(self.track_shards);
        let name = stored_name.as_ref().map(|(_, name)| name.as_str()).or(of_feed);
        let settings = match name {
            Some(name) => settings.with_chain_id(name),
            None => settings,
        };
        let observing = Arc::clone(&chain);
        let settings = match self.skip {
            Some(height) => settings.with_skip(height),
            None => settings,
        };
        let mut follower =
            Follower::new(feeds, start, stored, settings).with_observer(move |event| {
                log.observe(&event);
                if let Event::Fetched { duration, feed, .. } = event {
                    let duration = Duration::from_millis(duration);
                    observing.metrics.block_step(BlockStep::Fetch, duration);
                    observing.verifier().set_source(feed);
                }
                observed.observe(&event);
                if let Event::CatchUp { first, until: head, .. } = event {
                    let until = until.filter(|until| *until <= head);
                    let total = until.unwrap_or(head).saturating_sub(first);
                    let shown = CatchUp { bar: Progress::new(total), first, until };
                    *lock(&observed_progress) = Some(shown);
                }
            });
        let (epoch_sender, epoch_starts) = mpsc::unbounded_channel();
        let importer = Importer {
            chain: Arc::clone(&chain),
            status: Arc::clone(&status),
            progress,
            span: span.clone(),
            epoch_sender,
            waits_for_configs,
            after_block: Arc::new(after_block),
        };
        match config_nodes {
            Some(nodes) => {
                let (chain, status) = (Arc::clone(&chain), Arc::clone(&status));
                let fetch = nodes.fetch(chain, status, epoch_starts, waits_for_configs);
                tokio::spawn(fetch.instrument(span));
            }
            // Without a receiver, no import waits for a configuration.
            None => drop(epoch_starts),
        }
        let mut refused = String::new();
        let taken = loop {
            let (sender, receiver) = mpsc::channel(1);
            let stopped = Arc::new(Notify::new());
            let importing = importer.spawn(receiver, &stopped);
            let follower = &mut follower;
            let taken = import_followed(&chain, follower, until, sender, &stopped, importing).await;
            // A backfill and a first start end: a person waits for them.
            let is_kept = !waits_for_configs && (stored.is_some() || status.age().is_some());
            match taken {
                Err(FollowEnd::Import(Some(block), kind, text)) if is_kept && is_of_block(kind) => {
                    if refused != text {
                        error!(
                            "{text}; the block is asked for again, of another feed if there is one"
                        );
                    }
                    let in_store = status_of(&chain).await?;
                    follower.block_refused(&block, stored_chain(&in_store), &text);
                    refused = text;
                }
                taken => break taken,
            }
        };
        let is_reached = taken.map_err(|end| match end {
            FollowEnd::OtherChain(text) => {
                let (place, name) = stored_name.unwrap_or_else(|| {
                    ("the store".to_owned(), "a chain without a name".to_owned())
                });
                let (feed, other) = (format!("--follow {url}"), format!("another chain: {text}"));
                Failure::chains_differ(&place, &name, &feed, &other)
            }
            FollowEnd::Import(_, kind, text) => Failure::of_kind(kind, text),
            FollowEnd::Other(text) => Failure::from(text),
        })?;
        if is_reached {
            info!("the block of --until is reached, and {url} is no longer followed");
            status.complete();
        }
        Ok(())
    }
}

/// Imports the blocks that a follower hands out, on a thread of its own
struct Importer {
    chain: Arc<Chain>,
    status: Arc<FeedStatus>,
    progress: Arc<Mutex<Option<CatchUp>>>,
    span: Span,
    epoch_sender: mpsc::UnboundedSender<EpochStart>,
    waits_for_configs: bool,
    after_block: Arc<dyn Fn() + Send + Sync>,
}

impl Importer {
    /// Imports until no block comes, or one cannot be imported, of which `stopped` is notified
    fn spawn(&self, mut receiver: mpsc::Receiver<FeedBlock>, stopped: &Arc<Notify>) -> Importing {
        let (chain, status, span) =
            (Arc::clone(&self.chain), Arc::clone(&self.status), self.span.clone());
        let (progress, epoch_sender) = (Arc::clone(&self.progress), self.epoch_sender.clone());
        let (waits_for_configs, after_block) =
            (self.waits_for_configs, Arc::clone(&self.after_block));
        let stop = Arc::clone(stopped);
        tokio::spawn(async move {
            let blocks = iter::from_fn(move || receiver.blocking_recv());
            let mut last_epoch = None;
            let committed = move |block: &FeedBlock, it: &ImportSummary| {
                status.taken_in(block, it.position != BlockPosition::Known);
                show_progress(&progress, block);
                if let Some(served) = &status.served {
                    served.add(&block.message, block.prev_height, it);
                }
                let epoch = epoch_id(&block.message).filter(|_| is_head(it));
                if let Some(epoch_id) = epoch.filter(|_| epoch != last_epoch) {
                    last_epoch = epoch;
                    let (sender, fetched) = oneshot::channel();
                    let start = EpochStart { block: block.block, epoch_id, fetched: sender };
                    // Without an upstream there is no receiver.
                    if epoch_sender.send(start).is_ok() && waits_for_configs {
                        // An error is its only outcome: nothing is sent.
                        let _ = fetched.blocking_recv();
                    }
                }
                after_block();
            };
            let stop = move || stop.notify_one();
            let import =
                move |chain: &Chain| span.in_scope(|| chain.import_blocks(blocks, committed, stop));
            chain.spawn_blocking(import).await
        })
    }
}

/// The state of the chain in the store
async fn status_of(chain: &Arc<Chain>) -> Result<ChainStatus, Failure> {
    let status = QueryError::result_of(chain.spawn_blocking(Chain::status).await);
    status.map_err(|error| Failure::from(error.to_string()))
}

/// When a block of the store was produced, in nanoseconds since 1970; `None` if it was imported
/// without a check against its hash, with which its time is stored
async fn produced_at(chain: &Arc<Chain>, block: BlockPoint) -> Result<Option<u64>, Failure> {
    let read = move |chain: &Chain| {
        let row = chain.store().snapshot().get(&Key::hash(Table::Blocks, block.hash))?;
        let row = row.as_deref().map(BlockRecord::decode).transpose()?;
        let header = row.and_then(|row| row.proof.parts()).map(|(header, _)| header);
        Ok(header.map(|header| header.timestamp))
    };
    let found: Option<Result<_, milepost::Error>> = chain.spawn_blocking(read).await;
    QueryError::result_of(found).map_err(|error| Failure::from(error.to_string()))
}

/// Whether an error of an import is about its block, and not about the store
const fn is_of_block(kind: ErrorKind) -> bool {
    use ErrorKind::{Chain, Limit, Schema, Syntax, Value};
    matches!(kind, Syntax | Schema | Value | Limit | Chain)
}

/// What becomes of the blocks that are handed to an import; `None` if it panicked
pub(crate) type Importing = JoinHandle<Option<Result<(), ImportError<FeedBlock>>>>;

/// Compares a feed that does not say its chain with the blocks of an archive, for an empty store
///
/// # Errors
///
/// [`Failure::usage`] if a block differs, or none can be compared.
async fn compare_with_archive(
    feed: &Feed,
    url: &str,
    stored_name: Option<&(String, String)>,
    chain: &Arc<Chain>,
) -> Result<(), Failure> {
    let name = feed.answer(Ask::ChainId, &Pace::unlimited()).await;
    if let (Some((place, stored)), Ok(Response::ChainId(Some(other)))) = (stored_name, name) {
        let feed = format!("--follow {url}");
        return match other == *stored {
            true => Ok(()),
            false => Err(Failure::chains_differ(place, stored, &feed, &other)),
        };
    }
    let Some(archive) = chain.archive().map(Arc::clone) else { return Ok(()) };
    let blocks = chain.spawn_blocking(move |_| archive.blocks_to_compare()).await;
    let blocks = match blocks {
        Some(Ok(blocks)) if blocks.is_empty() => return Ok(()),
        Some(blocks) => blocks?,
        None => return Err(Failure::from("a read of the archive panicked".to_owned())),
    };
    let unnamed = || ("the archive".to_owned(), "a chain without a name".to_owned());
    let (place, stored) = stored_name.cloned().unwrap_or_else(unnamed);
    for (height, hash) in blocks {
        let Some(found) = hash_at(feed, height, chain).await else { continue };
        if found == hash.to_string() {
            return Ok(());
        }
        let other = format!("another chain: its block {height} is {found}, and not {hash}");
        return Err(Failure::chains_differ(&place, &stored, &format!("--follow {url}"), &other));
    }
    Err(Failure::usage(format!(
        "{place} belongs to {stored}, and it is not known whether --follow {url} does, which has no block of the archived heights: --upstream names a node of its chain"
    )))
}

/// The hash of the final block that a feed has at a height; `None` if it has none there
async fn hash_at(feed: &Feed, height: BlockHeight, chain: &Chain) -> Option<String> {
    let mut is_logged = false;
    let (ask, pace) = (Ask::Block(BlockRequest::new(height, Finality::Final)), Pace::unlimited());
    loop {
        let answer = tokio::select! {
            () = chain.shutdown_signal() => return None,
            answer = feed.answer(ask, &pace) => answer,
        };
        match answer {
            Ok(Response::Message(message)) => {
                // Reading from memory cannot fail.
                return json_scan::value_at(&message[..], &["block", "header", "hash"]).ok()?;
            }
            Err(error) if error.kind == SourceErrorKind::Temporary => {
                if !is_logged {
                    warn!("the chain of --follow is not known, and it is asked again: {error}");
                    is_logged = true;
                }
            }
            Ok(_) | Err(_) => return None,
        }
        tokio::select! {
            () = chain.shutdown_signal() => return None,
            () = time::sleep(CHAIN_PAUSE) => {}
        }
    }
}

/// Why a feed is no longer followed
#[derive(Debug)]
pub(crate) enum FollowEnd {
    /// The feed belongs to another chain than the store
    OtherChain(String),
    /// This block could not be imported, or a commit failed, for an error of this kind
    Import(Option<Box<FeedBlock>>, ErrorKind, String),
    Other(String),
}

/// Hands the blocks of a follower to an import, until the service shuts down, the import has
/// stopped, or the last block that is asked for is reached, which is returned
pub(crate) async fn import_followed<S: Source>(
    chain: &Chain,
    follower: &mut Follower<S>,
    until: Option<BlockHeight>,
    sender: mpsc::Sender<FeedBlock>,
    stopped: &Notify,
    importing: Importing,
) -> Result<bool, FollowEnd> {
    let follow = async move {
        // Ends with the receiver, whose end has a reason of its own.
        while let Ok(permit) = sender.reserve().await {
            let block = follower.next().await?;
            let height = block.block.height;
            if until.is_none_or(|until| height <= until) {
                permit.send(block);
            }
            if until.is_some_and(|until| height >= until) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let followed: Result<bool, FollowError> = tokio::select! {
        biased;
        followed = follow => followed,
        () = stopped.notified() => Ok(false),
        () = chain.shutdown_signal() => Ok(false),
    };
    // The blocks that were fetched are still imported; then the import ends.
    let other = |text| Err(FollowEnd::Other(text));
    match importing.await {
        Ok(Some(Ok(()))) => followed.map_err(|error| end_of(&error)),
        Ok(Some(Err(ImportError { message: Some(block), error, .. }))) => {
            let text = format!("block {}: {error}", block.block.height);
            Err(FollowEnd::Import(Some(block), error.kind(), text))
        }
        Ok(Some(Err(ImportError { error, .. }))) => {
            let text =
                format!("{error}; the blocks before stay, and the next start continues after them");
            Err(FollowEnd::Import(None, error.kind(), text))
        }
        Ok(None) | Err(_) => other("an import panicked; the log has the place".to_owned()),
    }
}

/// What ended the follower, and which option it is about
fn end_of(error: &FollowError) -> FollowEnd {
    match error.kind {
        FollowErrorKind::OtherChain => FollowEnd::OtherChain(error.to_string()),
        FollowErrorKind::PermissionDenied => FollowEnd::Other(format!(
            "{error}; --feed-token-file or {TOKEN_VARIABLE} gives the token of a feed"
        )),
        _ => FollowEnd::Other(error.to_string()),
    }
}

/// The progress along the final chain, far behind the head of the feed
struct CatchUp {
    bar: Progress,
    first: BlockHeight,
    /// The last height that is asked for; `None` up to the head, which moves meanwhile
    until: Option<BlockHeight>,
}

/// Shows that a block is imported, if the server is catching up
fn show_progress(progress: &Mutex<Option<CatchUp>>, block: &FeedBlock) {
    let mut progress = lock(progress);
    let height = block.block.height;
    // Blocks from before may be committed later.
    let Some(CatchUp { bar, first, until }) = &mut *progress else { return };
    let Some(done) = height.checked_sub(*first) else { return };
    match until {
        None if block.timestamp_nanos > 0 => {
            bar.update_growing(done, height, Duration::from_nanos(block.timestamp_nanos));
        }
        _ => bar.update(done, height),
    }
    let is_end = !block.is_catching_up || until.is_some_and(|until| height >= until);
    if let Some(CatchUp { bar, .. }) = progress.take_if(|_| is_end) {
        bar.finish();
    }
}

fn is_head(imported: &ImportSummary) -> bool {
    imported.position == BlockPosition::Head
}

/// The epoch of the block of a message
fn epoch_id(message: &[u8]) -> Option<CryptoHash> {
    let text: Option<String> =
        json_scan::value_at(message, &["block", "header", "epoch_id"]).ok().flatten();
    text?.parse().ok()
}

/// What a follower has to know of the chain in the store
pub(crate) fn stored_chain(status: &ChainStatus) -> Option<StoredChain> {
    let last_final = status.last_final.or(status.earliest)?;
    status.head.map(|head| StoredChain { head, last_final })
}
