//! The protocol configurations of the followed chain, from the first upstream that has them.
//!
//! Blocks do not say when the configuration changes, so it is asked for at the first block of every
//! epoch, by the hash of the block, and stored for that epoch. Nothing waits for it: the feed is
//! followed while a request is repeated, and the configuration before it stays in force.

use alloc::sync::Arc;
use core::time::Duration;

use milepost::config::{BlockReference, ConfigQuery, ConfigResult, SyncCheckpoint};
use milepost::primitives::CryptoHash;
use milepost::storage::rows::BlockRecord;
use milepost::storage::{BlockPoint, Key, Snapshot, Table, run};
use milepost_feeds::{FeedUrl, Node, Pace, SourceErrorKind, Token};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time;
use tracing::{info, warn};

use crate::chain::Chain;
use crate::feed::FeedStatus;

/// The wait before the first repetition of a request, which doubles up to the maximum
const RETRY: Duration = Duration::from_millis(500);
const MAX_RETRY: Duration = Duration::from_secs(30);
/// How often an epoch is asked for at least whose blocks no node knows: they are too old, or not
/// there yet
const MAX_UNKNOWN: u32 = 5;
/// The pause before the nodes are asked again for their chain
const CHAIN_PAUSE: Duration = Duration::from_secs(1);

/// The epoch of the genesis
const GENESIS_EPOCH: CryptoHash = CryptoHash::ZERO;

/// The first imported block of an epoch
pub(crate) struct EpochStart {
    pub(crate) block: BlockPoint,
    pub(crate) epoch_id: CryptoHash,
    /// Dropped when the configuration of the epoch is stored, or no longer asked for
    pub(crate) fetched: oneshot::Sender<()>,
}

/// The nodes that configurations come from, in the order in which they are asked
pub(crate) struct ConfigNodes {
    nodes: Vec<Node>,
    /// The option of the command line that they come from
    option: String,
    /// The wait before the first repetition of a request
    retry: Duration,
}

/// Why no node has a configuration, by the node that is most likely to have it later
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Missing {
    /// All refuse, or send no configuration of this chain
    Rejected,
    /// The block is not known
    Unknown,
    /// One may answer another time
    Temporary,
}

impl ConfigNodes {
    /// The clients of these nodes; `None` if there is no node
    pub(crate) fn new(
        nodes: &[(FeedUrl, Option<Token>)],
        option: &str,
    ) -> Result<Option<Self>, String> {
        let nodes = nodes.iter().map(|(node, token)| Node::new(node, token.clone()));
        let nodes: Vec<Node> =
            nodes.collect::<Result<_, _>>().map_err(|error| format!("{option}: {error}"))?;
        Ok((!nodes.is_empty()).then(|| Self { nodes, option: option.to_owned(), retry: RETRY }))
    }

    /// The option of the command line that they come from
    pub(crate) fn option(&self) -> &str {
        &self.option
    }

    /// The name of the chain, `None` inside if the nodes do not say it; asks until there is an
    /// answer, or the service shuts down
    pub(crate) async fn chain_id(&self, chain: &Chain) -> Option<Option<String>> {
        let (mut is_logged, pace) = (false, Pace::unlimited());
        loop {
            for node in &self.nodes {
                let answer = tokio::select! {
                    () = chain.shutdown_signal() => return None,
                    answer = node.chain_id(&pace) => answer,
                };
                match answer {
                    Ok(name) => return Some(name),
                    Err(error) if !is_logged => {
                        let option = &self.option;
                        warn!("the chain of {option} is not known, and it is asked again: {error}");
                        is_logged = true;
                    }
                    Err(_) => {}
                }
            }
            tokio::select! {
                () = chain.shutdown_signal() => return None,
                () = time::sleep(CHAIN_PAUSE) => {}
            }
        }
    }

    /// Stores the configuration of every epoch that begins, and that of the genesis, until the
    /// service shuts down; with `is_waited_for`, an epoch that no node knows is given up
    pub(crate) async fn fetch(
        self,
        chain: Arc<Chain>,
        status: Arc<FeedStatus>,
        mut epoch_starts: mpsc::UnboundedReceiver<EpochStart>,
        is_waited_for: bool,
    ) {
        let fetch = async {
            while let Some(EpochStart { block, epoch_id, fetched }) = epoch_starts.recv().await {
                let is_last = || !is_waited_for && epoch_starts.is_empty();
                let is_stored = self.fetch_epoch(&chain, &status, block, epoch_id, is_last).await;
                // The import that waits for it continues, with a configuration or without.
                drop(fetched);
                if is_stored && !is_waited_for {
                    self.fetch_genesis(&chain).await;
                }
            }
        };
        tokio::select! {
            () = fetch => {}
            () = chain.shutdown_signal() => {}
        }
    }

    /// Asks until the configuration of an epoch is stored, which is returned, or no node knows the
    /// epoch and `is_last` says that another one has begun
    async fn fetch_epoch(
        &self,
        chain: &Arc<Chain>,
        status: &FeedStatus,
        start: BlockPoint,
        epoch_id: CryptoHash,
        is_last: impl Fn() -> bool,
    ) -> bool {
        let height = start.height;
        let (mut delay, mut unknown, mut is_logged) = (self.retry, 0, false);
        let mut blocks = vec![start];
        loop {
            let (missing, detail) = match self.ask(chain, status, &blocks, epoch_id).await {
                Ok(is_new) => {
                    status.config_stored();
                    if is_new {
                        info!("block {height}: a new protocol configuration");
                    } else if is_logged {
                        info!("block {height}: the protocol configuration did not change");
                    }
                    return true;
                }
                Err(missing) => missing,
            };
            status.config_missing(start);
            let is_over = match missing {
                Missing::Temporary => false,
                Missing::Rejected => !is_last(),
                Missing::Unknown => {
                    unknown += 1;
                    unknown >= MAX_UNKNOWN && !is_last()
                }
            };
            if !is_logged {
                let option = &self.option;
                warn!("block {height}: no protocol configuration from {option}: {detail}");
                is_logged = true;
            }
            if is_over {
                return false;
            }
            time::sleep(delay).await;
            delay = (delay * 2).min(MAX_RETRY);
            if blocks.len() == 1 {
                // The first block may have left the chain before a node knew it.
                let last_final = move |chain: &Chain| final_block(chain, epoch_id).ok().flatten();
                let last_final = chain.spawn_blocking(last_final).await.flatten();
                blocks.extend(last_final.filter(|block| *block != start));
            }
        }
    }

    /// Stores the configuration of an epoch from the first node that has it, by one of these
    /// blocks; whether another one was in force, or why there is none
    async fn ask(
        &self,
        chain: &Arc<Chain>,
        status: &FeedStatus,
        blocks: &[BlockPoint],
        epoch_id: CryptoHash,
    ) -> Result<bool, (Missing, String)> {
        let (mut missing, mut details) = (Missing::Rejected, Vec::new());
        for (node, number) in self.nodes.iter().zip(1..) {
            let mut failed = (Missing::Unknown, UNKNOWN_BLOCK.to_owned());
            for block in blocks {
                match node.protocol_config(block.hash).await {
                    Ok(Some(config)) => {
                        let hash = block.hash;
                        let store = move |chain: &Chain| store(chain, hash, epoch_id, &config);
                        match chain.spawn_blocking(store).await {
                            Some(Ok(is_new)) => return Ok(is_new),
                            Some(Err(detail)) => failed = (Missing::Rejected, detail),
                            None => {
                                let height = block.height;
                                warn!("block {height}: storing its configuration panicked");
                                failed = (Missing::Rejected, "it cannot be stored".to_owned());
                            }
                        }
                    }
                    Ok(None) => continue,
                    Err(error) => failed = (missing_of(error.kind), error.detail),
                }
                break;
            }
            status.config_failed();
            missing = missing.max(failed.0);
            details.push(match self.nodes.len() {
                1 => failed.1,
                _ => format!("upstream {number}: {}", failed.1),
            });
        }
        Err((missing, details.join("; ")))
    }

    /// Stores the configuration of the genesis from the first node that has it, if the store
    /// has none: a store that begins later is asked for it as well
    async fn fetch_genesis(&self, chain: &Arc<Chain>) {
        let has_genesis = chain.spawn_blocking(has_genesis).await;
        if !matches!(has_genesis, Some(Ok(false))) {
            return;
        }
        for node in &self.nodes {
            let Ok(Some(config)) = node.genesis_protocol_config().await else { continue };
            let store = move |chain: &Chain| chain.put_config(GENESIS_EPOCH, &config);
            match chain.spawn_blocking(store).await {
                Some(Ok(())) => {
                    return info!("the protocol configuration of the genesis is stored");
                }
                Some(Err(error)) => {
                    warn!("the configuration of the genesis, of {}: {error}", self.option);
                }
                None => warn!("genesis: storing its configuration panicked"),
            }
        }
    }
}

const fn missing_of(kind: SourceErrorKind) -> Missing {
    match kind {
        SourceErrorKind::PermissionDenied | SourceErrorKind::Unsupported => Missing::Rejected,
        _ => Missing::Temporary,
    }
}

/// Stores the configuration of an epoch; whether another one was in force at the block
fn store(
    chain: &Chain,
    block: CryptoHash,
    epoch_id: CryptoHash,
    config: &str,
) -> Result<bool, String> {
    let new: Value = serde_json::from_str(config).map_err(|error| error.to_string())?;
    let is_new = config_at(chain, block).as_ref() != Some(&new);
    let stored = chain.put_config(epoch_id, config);
    stored.map(|()| is_new).map_err(|error| error.to_string())
}

/// The configuration that the store has in force at a block
fn config_at(chain: &Chain, block: CryptoHash) -> Option<Value> {
    serde_json::from_str(&chain.config(block)?).ok()
}

/// The last final block of the store, if it is in this epoch
fn final_block(chain: &Chain, epoch_id: CryptoHash) -> Result<Option<BlockPoint>, milepost::Error> {
    let Some(block) = chain.status()?.last_final else { return Ok(None) };
    let row = chain.store().snapshot().get(&Key::hash(Table::Blocks, block.hash))?;
    let row = row.as_deref().map(BlockRecord::decode).transpose()?;
    Ok(row.filter(|row| row.epoch_id == epoch_id).map(|_| block))
}

/// Whether the store has a configuration of the genesis
fn has_genesis(chain: &Chain) -> Result<bool, milepost::Error> {
    let genesis = BlockReference::SyncCheckpoint(SyncCheckpoint::Genesis);
    let found = run(&mut ConfigQuery::new(genesis), &chain.store().snapshot())?;
    Ok(matches!(found, ConfigResult::InForce(_)))
}

/// Why a node has no configuration of a block
const UNKNOWN_BLOCK: &str = "the node does not know the block; old blocks need an archival node";

#[cfg(test)]
mod tests {
    use milepost::endpoint::{Engine, WaitConfig};
    use milepost::import::ImportSettings;
    use milepost_practice::{BlockMessage, Practice, Settings};
    use milepost_testing::feed::{Faults, Feed, FeedChain, FeedServer};

    use super::*;
    use crate::store::Store;
    use crate::store::StoreLocation;

    /// A chain with some blocks of one epoch, the id of that epoch, and a node of the same chain
    /// that has its blocks after so many milliseconds
    fn start(after: u64) -> (Arc<Chain>, CryptoHash, FeedServer) {
        let mut practice = Practice::new(Settings::demo(31));
        let messages: Vec<BlockMessage> = (0..8).map(|_| practice.next_message()).collect();
        let store = Store::open(&StoreLocation::Memory).unwrap();
        let (settings, wait_config) = (ImportSettings::default(), WaitConfig::default());
        let chain = Chain::new(Engine::default(), store, settings, wait_config);
        for message in &messages {
            chain.import_block(&message.json).unwrap();
        }
        let message: Value = serde_json::from_slice(&messages[0].json).unwrap();
        let epoch_id = message["block"]["header"]["epoch_id"].as_str().unwrap().parse().unwrap();
        let first = messages[0].height;
        let messages = messages.into_iter().map(move |mut message| {
            message.arrival_ms = after;
            message
        });
        let feed = Feed::new(FeedChain::new(messages, first, 1_000), Faults::default());
        (Arc::new(chain), epoch_id, FeedServer::start(feed).unwrap())
    }

    /// Whether the configuration of an epoch is stored that begins with a block which no node knows
    async fn fetch(after: u64, is_last: bool) -> bool {
        let (chain, epoch_id, node) = start(after);
        let nodes = [(node.node_url().parse().unwrap(), None)];
        let nodes = ConfigNodes::new(&nodes, "--upstream").unwrap().unwrap();
        let nodes = ConfigNodes { retry: Duration::from_millis(1), ..nodes };
        let status = FeedStatus::new(Vec::new(), Duration::MAX, None);
        let orphan = BlockPoint { height: 7, hash: CryptoHash::digest(b"an orphan") };
        let is_stored = nodes.fetch_epoch(&chain, &status, orphan, epoch_id, || is_last).await;
        assert_eq!(status.config_missing_since(), (!is_stored).then_some(orphan));
        let head = chain.status().unwrap().head.unwrap();
        assert_eq!(chain.config(head.hash).is_some(), is_stored);
        is_stored
    }

    #[tokio::test]
    async fn an_epoch_that_an_orphan_begins_is_asked_for_by_a_final_block() {
        assert!(fetch(0, false).await);
    }

    #[tokio::test]
    async fn an_epoch_is_asked_for_until_a_node_knows_it_or_another_one_has_begun() {
        // More than the waits before the fifth request, which is the last one otherwise.
        assert!(fetch(200, true).await);
        assert!(!fetch(u64::MAX, false).await);
    }
}
