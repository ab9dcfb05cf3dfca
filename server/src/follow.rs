//! `--follow`: takes the blocks of a live feed in while the server serves.
//!
//! A block is committed before the next is asked for, so a server that is killed continues after
//! its last block. Feeds after the first one are asked where it fails. What only a person can
//! repair ends the server with a sentence: a feed of another chain, a feed that contradicts what
//! was final, a block that cannot be stored.

use alloc::sync::Arc;
use std::env;

use milepost::endpoint::ChainStatus;
use milepost::import::FinalityRule;
use milepost_feeds::{Budget, Event, Feed, Follower, Settings, Start, StoredChain, Token};
use tracing::{debug, error, info, warn};

use crate::cli::FollowArgs;
use crate::feed_status::{FeedSource, FeedStatus};
use crate::service::Service;

/// The variable that holds the token of a feed
const TOKEN_VARIABLE: &str = "MILEPOST_FEED_TOKEN";

/// Feeds that are followed from a place on
pub(crate) struct Follow {
    /// In the order of the command line, at least one
    sources: Vec<FeedSource>,
    start: Start,
    pub(crate) status: Arc<FeedStatus>,
}

impl Follow {
    /// The feed of the command line, if there is one
    pub(crate) fn new(args: &FollowArgs, finality: FinalityRule) -> Result<Option<Self>, String> {
        if args.follow.is_empty() {
            return Ok(None);
        }
        if finality == FinalityRule::All {
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
        let mut sources = Vec::with_capacity(args.follow.len());
        for (index, url) in args.follow.iter().enumerate() {
            if args.follow[..index].contains(url) {
                return Err(format!("--follow {url} is given twice"));
            }
            let feed = Feed::new(url, token.take(), args.feed_requests.map(Budget::new));
            let feed = Arc::new(feed.map_err(|error| error.to_string())?);
            sources.push(FeedSource { url: url.to_string(), feed });
        }
        let status = Arc::new(FeedStatus::new(sources.clone(), args.max_age));
        Ok(Some(Self { sources, start: args.from, status }))
    }

    /// Follows the feed until the service shuts down
    pub(crate) async fn run(self, service: Arc<Service>) -> Result<(), String> {
        let chain = service.chain_status().await.map_err(|error| error.to_string())?;
        let stored = stored_chain(&chain);
        let Self { sources, start, status } = self;
        let urls: Vec<String> = sources.iter().map(|source| source.url.clone()).collect();
        let mut feeds = sources.into_iter().map(|source| source.feed);
        let Some(first) = feeds.next() else { return Ok(()) };
        let url = urls.join(", or else ");
        match (start, stored) {
            (Start::Height(height), Some(stored)) if height <= stored.head.height => {
                let head = stored.head.height;
                return Err(format!("--from {height} is not above the head of the store, {head}"));
            }
            (Start::Resume, Some(stored)) => {
                info!("following {url} after block {}", stored.head.height)
            }
            (Start::Height(height), _) => info!("following {url} from block {height}"),
            _ => info!("following {url} from its last final block"),
        }
        let observed = Arc::clone(&status);
        let settings = Settings::default().with_observer(move |event| {
            log(&event, &urls);
            observed.observe(&event);
        });
        let follower = Follower::shared(first, start, stored, settings);
        let mut follower = feeds.fold(follower, Follower::with_fallback);
        loop {
            let block = tokio::select! {
                () = service.shutdown_signal() => return Ok(()),
                block = follower.next() => block.map_err(|error| error.to_string())?,
            };
            let (height, timestamp) = (block.block.height, block.timestamp_nanos);
            let import = move |service: &Service| service.import_block(&block.message);
            match service.spawn_blocking(import).await {
                Some(Ok(_)) => status.taken_in(height, timestamp),
                Some(Err(error)) => return Err(format!("block {height}: {error}")),
                None => return Err(format!("block {height}: its import panicked")),
            }
        }
    }
}

fn stored_chain(chain: &ChainStatus) -> Option<StoredChain> {
    chain.head.map(|head| StoredChain { head, last_final: chain.last_final })
}

/// Logs what an operator has to know once, and the rest for who looks closer
fn log(event: &Event, urls: &[String]) {
    let url = |source: &usize| urls.get(*source).map_or("", String::as_str);
    match event {
        Event::Frozen { silence, .. } => {
            warn!("the feed has had no new block for {} s", silence.as_secs());
        }
        Event::Thawed => info!("the feed has new blocks again"),
        Event::SourceChanged { source, .. } => info!("the first feed is now {}", url(source)),
        Event::SourceRefused { source, detail, .. } => {
            error!("{} {detail}; it is not asked again", url(source));
        }
        Event::Retry { delay, detail, source, .. } => {
            debug!("{}: {detail}; again in {} ms", url(source), delay.as_millis());
        }
        event => debug!("feed: {event:?}"),
    }
}
