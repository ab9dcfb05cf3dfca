//! The options of `milepost serve` together.
//!
//! Options that contradict each other are refused here, and where blocks come from while the server
//! serves is decided once.

use milepost_feeds::{FeedUrl, Start};

use crate::archive::{ArchiveLocation, ArchiveOptions};
use crate::cli::value_parsers::FeedName;
use crate::cli::{FollowArgs, ServeArgs};
use crate::feed::PRACTICE_SEED;
use crate::follow::Follow;
use crate::serve;
use crate::serve::stored_chain::NewBlocks;
use crate::store::StoreLocation;

/// Checks the options of `serve` together, after the value of each; opens and makes nothing
///
/// # Errors
///
/// Which option it is, and why.
pub(crate) fn check(args: &ServeArgs) -> Result<(), String> {
    let runtime = serve::runtime(None)?;
    let _guard = runtime.enter();
    Checked::new(args).map(drop)
}

/// The options that are decided together
pub(crate) struct Checked {
    /// The archive of the command line, or that of the store
    pub(crate) archive: Option<ArchiveLocation>,
    pub(crate) archive_options: ArchiveOptions,
    pub(crate) live: Live,
}

/// Where blocks come from while the server serves
pub(crate) enum Live {
    /// Nowhere: it serves the stored blocks
    None,
    /// The practice chain of this seed
    Practice(u64),
    Feed(Box<Follow>),
}

impl Checked {
    /// Checks them; called in a runtime
    pub(crate) fn new(args: &ServeArgs) -> Result<Self, String> {
        let port = args.listen.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        if !matches!(port, Some(Ok(_))) {
            return Err(format!("--listen: `{}` is not HOST:PORT", args.listen));
        }
        let archive = args.archive.archive.clone().or_else(|| ArchiveLocation::beside(&args.store));
        let archive_options = args.archive.options(archive.as_ref())?;
        let is_memory = |archive: &ArchiveLocation| *archive == ArchiveLocation::Memory;
        let lasts = args.store != StoreLocation::Memory
            || !archive.iter().chain(&args.archive.archive_older).all(is_memory);
        let live = Live::new(args, lasts)?;
        Ok(Self { archive, archive_options, live })
    }
}

impl Live {
    /// Reads the options; `lasts` says whether something that the server writes outlives it
    fn new(args: &ServeArgs, lasts: bool) -> Result<Self, String> {
        let names = &args.follow.follow;
        let seed = names.iter().find_map(|name| match name {
            FeedName::Practice(seed) => Some(*seed),
            FeedName::Live(_) => None,
        });
        let Some(seed) = seed else {
            let urls = names.iter().filter_map(|name| match name {
                FeedName::Practice(_) => None,
                FeedName::Live(url) => Some(url.clone()),
            });
            let urls: Vec<FeedUrl> = urls.collect();
            let is_demo = !lasts && args.blocks.is_empty() && args.feed.configs.is_none();
            return Ok(match Follow::new(&urls, &args.follow, &args.feed, args.max_wait)? {
                Some(follow) => Self::Feed(Box::new(follow)),
                None if is_demo => Self::Practice(PRACTICE_SEED),
                None => Self::None,
            });
        };
        if names.len() > 1 {
            return Err("--follow practice does not go with another --follow".to_owned());
        }
        let FollowArgs { sources, from, start_margin, skip, forward, serve_feed, max_age, .. } =
            &args.follow;
        let given = [
            ("--blocks", !args.blocks.is_empty()),
            ("--from", *from != Start::Resume),
            ("--until", args.feed.until.is_some()),
            ("--start-margin", start_margin.is_some()),
            ("--skip", skip.is_some()),
            ("--max-age", max_age.is_some()),
            ("--forward", *forward),
            ("--serve-feed", serve_feed.is_some()),
            ("--feed-token-file", sources.feed_token_file.is_some()),
            ("--feed-requests", sources.feed_requests.is_some()),
            ("--upstream", !sources.upstream.is_empty()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => Err(format!("{name} does not go with --follow practice")),
            None => Ok(Self::Practice(seed)),
        }
    }

    /// The source of new blocks
    pub(crate) fn new_blocks(&self, args: &ServeArgs) -> NewBlocks {
        match self {
            Self::None if args.blocks.is_empty() => NewBlocks::None,
            Self::None => NewBlocks::Files,
            Self::Practice(_) => NewBlocks::Practice,
            Self::Feed(follow) => NewBlocks::Feed(follow.chain_id()),
        }
    }
}
