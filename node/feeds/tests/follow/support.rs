//! A source without a network, and the rows of a feed without faults.

use alloc::sync::Arc;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Mutex;

use milepost::endpoint::Engine;
use milepost::import::{ImportSettings, Retention};
use milepost::primitives::CryptoHash;
use milepost::storage::{BlockPoint, Key, MemoryStorage, Row};
use milepost_feeds::{
    Ask, Event, FeedSettings, Follower, Pace, Response, Settings, Source, SourceError, Start,
    StoredChain,
};
use milepost_practice::{BlockMessage, Practice, Settings as ChainSettings};
use milepost_testing::feed::{Faults, Feed, FeedChain};
use tokio::time;

/// A practice chain with forks, skipped heights and missing chunks
pub(crate) fn chain_settings(seed: u64) -> ChainSettings {
    ChainSettings {
        shards: 2,
        transactions: 0..=2,
        forks: 60,
        skips: 50,
        repeats: 0,
        ..ChainSettings::simulation(seed)
    }
}

/// The feed of a chain, which continues for ever
pub(crate) fn feed(quiet: &Quiet, faults: Faults) -> Arc<Feed> {
    let mut practice = quiet.practice.lock().unwrap().take().expect("a chain has one feed");
    let later = core::iter::from_fn(move || Some(practice.next_message()));
    let messages = quiet.messages.clone().into_iter().chain(later);
    Arc::new(Feed::new(FeedChain::new(messages, quiet.first, 1_000), faults))
}

/// A feed in this process
pub(crate) struct MemorySource(pub(crate) Arc<Feed>);

impl Source for MemorySource {
    fn settings(&self) -> FeedSettings {
        FeedSettings::default().with_requests_per_minute(u32::MAX)
    }

    async fn answer(&self, ask: Ask, _: &Pace) -> Result<Response, SourceError> {
        self.0.answer(ask).await
    }
}

/// A feed in this process that is asked as a node is
pub(crate) struct MemoryNode(pub(crate) Arc<Feed>);

impl Source for MemoryNode {
    fn settings(&self) -> FeedSettings {
        FeedSettings::default().with_requests_per_minute(u32::MAX).with_blocks_by_hash()
    }

    async fn answer(&self, ask: Ask, _: &Pace) -> Result<Response, SourceError> {
        self.0.answer_as_node(ask).await
    }
}

/// What a host keeps: a storage, and the engine that fills it
#[derive(Default)]
pub(crate) struct Host {
    pub(crate) storage: MemoryStorage,
    pub(crate) retention: Retention,
}

impl Host {
    /// Imports a message, which has to be in order
    pub(crate) fn import(&mut self, message: &[u8]) {
        let mut settings = ImportSettings::default();
        settings.retention = self.retention;
        let imported = Engine::default().import_block(message, &settings, &mut self.storage);
        imported.unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn stored(&self) -> Option<StoredChain> {
        let chain = Engine::default().chain_status(&&self.storage).unwrap();
        let last_final = chain.last_final.or(chain.earliest)?;
        chain.head.map(|head| StoredChain { head, last_final })
    }

    /// All rows but that of the chain, whose state is compared apart from the number of imports
    pub(crate) fn rows(&self) -> (String, BTreeMap<Key, Row>) {
        let mut chain = Engine::default().chain_status(&&self.storage).unwrap();
        chain.generation = 0;
        let chain_row = milepost::storage::Table::Chain;
        let rows = self.storage.iter().filter(|(key, _)| key.table() != chain_row);
        (format!("{chain:?}"), rows.map(|(key, row)| (*key, row.clone())).collect())
    }
}

/// The rows of a feed that has the canonical blocks only
pub(crate) struct Quiet {
    pub(crate) host: Host,
    pub(crate) head: BlockPoint,
    /// The first height
    pub(crate) first: u64,
    /// Number of heights
    pub(crate) heights: u64,
    /// The canonical blocks
    pub(crate) hashes: Vec<CryptoHash>,
    pub(crate) messages: Vec<BlockMessage>,
    practice: Mutex<Option<Practice>>,
}

/// Imports at least this number of blocks, until no block of a fork is above the last final one
pub(crate) fn quiet(settings: ChainSettings, at_least: usize) -> Quiet {
    let (mut hashes, mut messages) = (Vec::new(), Vec::new());
    let first = settings.genesis_height;
    let mut canonical = Canonical::new(settings, Host::default());
    let head = canonical.advance(at_least, |message| {
        messages.push(message.clone());
        if !message.abandoned {
            hashes.push(message.hash);
        }
    });
    let Canonical { practice, host, .. } = canonical;
    let (heights, practice) = (head.height - first, Mutex::new(Some(practice)));
    Quiet { host, head, first, heights, hashes, messages, practice }
}

/// A practice chain, and a host that has its canonical blocks
pub(crate) struct Canonical {
    pub(crate) host: Host,
    practice: Practice,
    highest_fork: u64,
    blocks: usize,
}

impl Canonical {
    pub(crate) fn new(settings: ChainSettings, host: Host) -> Self {
        Self { host, practice: Practice::new(settings), highest_fork: 0, blocks: 0 }
    }

    /// Imports messages up to this number of blocks, until no block of a fork is above the last
    /// final one; returns the head
    pub(crate) fn advance(
        &mut self,
        at_least: usize,
        mut produced: impl FnMut(&BlockMessage),
    ) -> BlockPoint {
        loop {
            let message = self.practice.next_message();
            produced(&message);
            if message.abandoned {
                self.highest_fork = self.highest_fork.max(message.height);
                continue;
            }
            self.host.import(&message.json);
            self.blocks += 1;
            let StoredChain { head, last_final } = self.host.stored().unwrap();
            let is_quiet = last_final.height > self.highest_fork;
            if self.blocks >= at_least && is_quiet {
                return head;
            }
        }
    }
}

/// Counts events
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<BTreeMap<String, u64>>>);

impl Events {
    /// A follower whose events are counted
    pub(crate) fn follower<S: Source>(
        &self,
        sources: Vec<Arc<S>>,
        start: Start,
        stored: Option<StoredChain>,
        settings: Settings,
    ) -> Follower<S> {
        let events = self.clone();
        Follower::new(sources, start, stored, settings).with_observer(move |event| {
            let (name, count) = match event {
                Event::Fetched { .. } => ("fetched", 1),
                Event::Failed { .. } => ("failed", 1),
                Event::Skipped { count, .. } => ("skipped", count),
                Event::Reorg { .. } => ("reorgs", 1),
                Event::LinkBroken { .. } => ("broken", 1),
                Event::Frozen { .. } => ("frozen", 1),
                Event::Thawed => ("thawed", 1),
                Event::CatchUp { .. } => ("catch-ups", 1),
                Event::FeedChanged { .. } => ("changed", 1),
                Event::OtherChain { .. } => ("other chains", 1),
                Event::Missing { .. } => ("missing", 1),
                Event::GivenUp { .. } => ("given up", 1),
                Event::StartsLater { .. } => ("later starts", 1),
                other => panic!("{other:?}"),
            };
            *events.0.lock().unwrap().entry(name.to_owned()).or_default() += count;
        })
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.0.lock().unwrap().get(name).copied().unwrap_or_default()
    }
}

/// Fails after this time, on a clock that may be paused
pub(crate) async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> T {
    time::timeout(limit, future).await.expect("the feed is not followed in time")
}
