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
    BlockRequest, Event, Fetched, Finality, Settings, Source, SourceError, SourceErrorKind,
    StoredChain,
};
use milepost_practice::{BlockMessage, Practice, Settings as ChainSettings};
use milepost_testing::feed::{Faults, Feed, FeedChain, FeedResponse, Transfer};
use serde_json::{Value, json};
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

/// The feed of a chain, which goes on for ever
pub(crate) fn feed(quiet: &Quiet, faults: Faults) -> Arc<Feed> {
    let mut practice = quiet.practice.lock().unwrap().take().expect("a chain has one feed");
    let later = core::iter::from_fn(move || Some(practice.next_message()));
    let messages = quiet.messages.clone().into_iter().chain(later);
    Arc::new(Feed::new(FeedChain::new(messages, quiet.first, 1_000), faults))
}

/// A feed in this process
pub(crate) struct MemorySource(pub(crate) Arc<Feed>);

impl MemorySource {
    async fn fetch(&self, mut path: String) -> Result<Fetched, SourceError> {
        let response = loop {
            let response = self.0.respond(&path, None, None).await;
            match response.header {
                Some(("location", location)) => path = format!("{location}?fresh=1"),
                _ => break response,
            }
        };
        let FeedResponse { status, header, body, transfer } = response;
        let text = String::from_utf8_lossy(&body);
        let temporary = |detail: &str| SourceError::new(SourceErrorKind::Temporary, detail);
        match (status, transfer) {
            (200, Transfer::Cut(length)) if length % 2 == 0 => Err(temporary("cut")),
            (200, Transfer::Cut(length) | Transfer::ShortLength(length)) => {
                Ok(Fetched::Message(body[..length].to_vec()))
            }
            (200, Transfer::Whole) if text == "null" => Ok(Fetched::Empty),
            (200, Transfer::Whole) => Ok(Fetched::Message(body.to_vec())),
            (404, _) if text.contains("TOO_HIGH") => {
                Err(SourceError::new(SourceErrorKind::TooHigh, text).with_status(404))
            }
            (404, _) if text.contains("TOO_LOW") => {
                Err(SourceError::new(SourceErrorKind::TooLow, text).with_status(404))
            }
            (404, _) if text.contains("DOES_NOT_EXIST") => Ok(Fetched::Empty),
            _ => {
                let seconds = header.and_then(|(_, value)| value.parse().ok());
                let error = temporary(&text).with_status(status);
                Err(error.with_retry_after(seconds.map(Duration::from_secs)))
            }
        }
    }
}

impl Source for MemorySource {
    async fn block(&self, request: BlockRequest) -> Result<Fetched, SourceError> {
        let kind = if request.finality == Finality::Final { "block" } else { "block_opt" };
        let query = if request.bypass_caches { "?fresh=1" } else { "" };
        self.fetch(format!("/v0/{kind}/{}{query}", request.height)).await
    }

    async fn last_final(&self) -> Result<Fetched, SourceError> {
        self.fetch("/v0/last_block/final?fresh=1".to_owned()).await
    }
}

/// A feed in this process that is asked as a node is
pub(crate) struct MemoryNode(pub(crate) Arc<Feed>);

impl MemoryNode {
    /// The result of a call; `None` if the node does not know the block
    async fn call(&self, method: &str, params: Value) -> Result<Option<Value>, SourceError> {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let response = self.0.call(request.to_string().as_bytes(), None).await;
        let temporary = |detail: &str| SourceError::new(SourceErrorKind::Temporary, detail);
        let mut body: Value = match response.transfer {
            Transfer::Whole => {
                serde_json::from_slice(&response.body).map_err(|_| temporary("no JSON"))?
            }
            _ => return Err(temporary("cut")),
        };
        match body["error"]["cause"]["name"].as_str() {
            Some("UNKNOWN_BLOCK") => Ok(None),
            Some(name) => Err(temporary(name)),
            None if body["id"] == 7 => Ok(Some(body["result"].take())),
            None => Err(temporary("another id")),
        }
    }

    async fn message(&self, block: &Value) -> Result<Vec<u8>, SourceError> {
        let params = json!({"block_hash": block["header"]["hash"]});
        let message = self.call("EXPERIMENTAL_indexer_block", params).await?;
        Ok(message.unwrap_or_default().to_string().into_bytes())
    }
}

impl Source for MemoryNode {
    async fn block(&self, request: BlockRequest) -> Result<Fetched, SourceError> {
        let is_final = request.finality == Finality::Final;
        let finality = if is_final { "final" } else { "optimistic" };
        let head = self.call("block", json!({"finality": finality})).await?.unwrap_or_default();
        if head["header"]["height"].as_u64() < Some(request.height) {
            time::sleep(Duration::from_millis(100)).await;
            return Err(SourceError::new(SourceErrorKind::TooHigh, "too high"));
        }
        match self.call("block", json!({"block_id": request.height})).await? {
            Some(block) => self.message(&block).await.map(Fetched::Message),
            None => Ok(Fetched::Empty),
        }
    }

    async fn block_by_hash(&self, hash: CryptoHash) -> Result<Option<Vec<u8>>, SourceError> {
        let block = json!({"header": {"hash": hash.to_string()}});
        self.message(&block).await.map(Some)
    }

    async fn last_final(&self) -> Result<Fetched, SourceError> {
        match self.call("block", json!({"finality": "final"})).await? {
            Some(block) => self.message(&block).await.map(Fetched::Message),
            None => Ok(Fetched::Empty),
        }
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
    pub(crate) fn settings(&self, seed: u64) -> Settings {
        let events = self.clone();
        Settings::default().with_seed(seed).with_observer(move |event| {
            let (name, count) = match event {
                Event::Fetched { .. } => ("fetched", 1),
                Event::Retry { .. } => ("retries", 1),
                Event::Skipped { count, .. } => ("skipped", count),
                Event::Reorg { .. } => ("reorgs", 1),
                Event::LinkBroken { .. } => ("broken", 1),
                Event::Frozen { .. } => ("frozen", 1),
                Event::Thawed => ("thawed", 1),
                Event::CatchUp { .. } => ("catch-ups", 1),
                Event::SourceChanged { .. } => ("changed", 1),
                Event::SourceRefused { .. } => ("refused", 1),
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
