//! `--follow`: takes the blocks of a live feed in while the server serves.
//!
//! Blocks are read, imported and committed while the next are fetched. A server that is killed
//! continues after its last commit, which takes in one block or, far behind, several. What only a
//! person can repair ends the server with a sentence: a feed of another chain, a feed that
//! contradicts what was final, a block that cannot be stored.

use alloc::sync::Arc;
use core::iter;
use std::env;

use milepost::endpoint::ChainStatus;
use milepost::import::{FinalityRule, ImportSummary};
use milepost_feeds::{
    Budget, Event, Feed, FeedBlock, FeedUrl, FollowError, Follower, ImportError, Settings, Start,
    StoredChain, Token,
};
use tokio::sync::{Notify, mpsc};
use tracing::{debug, info, warn};

use crate::cli::FollowArgs;
use crate::feed_status::FeedStatus;
use crate::service::Service;

/// The variable that holds the token of a feed
const TOKEN_VARIABLE: &str = "MILEPOST_FEED_TOKEN";

/// A feed that is followed from a place on
pub(crate) struct Follow {
    url: FeedUrl,
    source: Arc<Feed>,
    start: Start,
    pub(crate) status: Arc<FeedStatus>,
}

impl Follow {
    /// The feed of the command line, if there is one
    pub(crate) fn new(
        args: &FollowArgs,
        finality: Option<FinalityRule>,
    ) -> Result<Option<Self>, String> {
        let Some(url) = args.follow.clone() else { return Ok(None) };
        if finality == Some(FinalityRule::All) {
            let detail = "--finality all does not go with --follow: its blocks are not final yet";
            return Err(detail.to_owned());
        }
        let token = match (&args.feed_token_file, env::var(TOKEN_VARIABLE)) {
            (Some(path), _) => Some(Token::from_file(path)?),
            (None, Ok(text)) => {
                Some(Token::new(&text).map_err(|error| format!("{TOKEN_VARIABLE}: {error}"))?)
            }
            (None, Err(_)) => None,
        };
        let source = Feed::new(&url, token, args.feed_requests.map(Budget::new));
        let source = Arc::new(source.map_err(|error| error.to_string())?);
        let status = Arc::new(FeedStatus::new(Arc::clone(&source), args.max_age));
        Ok(Some(Self { url, source, start: args.from, status }))
    }

    /// Follows the feed until the service shuts down
    pub(crate) async fn run(self, service: Arc<Service>) -> Result<(), String> {
        let chain = service.chain_status().await.map_err(|error| error.to_string())?;
        let stored = stored_chain(&chain);
        let Self { url, source, start, status } = self;
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
            log(&event);
            observed.observe(&event);
        });
        let mut follower = Follower::shared(source, start, stored, settings);
        let (sender, mut receiver) = mpsc::channel::<FollowedBlock>(1);
        let stopped = Arc::new(Notify::new());
        let stop = Arc::clone(&stopped);
        let importing = {
            let service = Arc::clone(&service);
            tokio::spawn(async move {
                let blocks = iter::from_fn(move || receiver.blocking_recv());
                let committed = move |FollowedBlock(block): &FollowedBlock, _: &ImportSummary| {
                    status.taken_in(block.block.height, block.timestamp_nanos);
                };
                let stop = move || stop.notify_one();
                let import = |service: &Service| service.import_blocks(blocks, committed, stop);
                service.spawn_blocking(import).await
            })
        };
        let follow = async move {
            // Ends with the receiver, whose end has a reason of its own.
            while let Ok(permit) = sender.reserve().await {
                permit.send(FollowedBlock(Box::new(follower.next().await?)));
            }
            Ok(())
        };
        let followed: Result<(), FollowError> = tokio::select! {
            followed = follow => followed,
            () = stopped.notified() => Ok(()),
            () = service.shutdown_signal() => Ok(()),
        };
        // The blocks that were fetched are still imported; then the import ends.
        match importing.await {
            Ok(Some(Ok(()))) => followed.map_err(|error| error.to_string()),
            Ok(Some(Err(ImportError { message: Some(FollowedBlock(block)), error, .. }))) => {
                Err(format!("block {}: {error}", block.block.height))
            }
            Ok(Some(Err(ImportError { error, .. }))) => Err(format!("commit: {error}")),
            Ok(None) | Err(_) => Err("an import panicked; the log has the place".to_owned()),
        }
    }
}

/// A block of the feed, as the import pipeline takes it
struct FollowedBlock(Box<FeedBlock>);

impl AsRef<[u8]> for FollowedBlock {
    fn as_ref(&self) -> &[u8] {
        &self.0.message
    }
}

fn stored_chain(chain: &ChainStatus) -> Option<StoredChain> {
    chain.head.map(|head| StoredChain { head, last_final: chain.last_final })
}

/// Logs what an operator has to know once, and the rest for who looks closer
fn log(event: &Event) {
    match event {
        Event::Frozen { silence, .. } => {
            warn!("the feed has had no new block for {} s", silence.as_secs());
        }
        Event::Thawed => info!("the feed has new blocks again"),
        Event::Retry { delay, detail, .. } => {
            debug!("feed: {detail}; again in {} ms", delay.as_millis());
        }
        event => debug!("feed: {event:?}"),
    }
}
