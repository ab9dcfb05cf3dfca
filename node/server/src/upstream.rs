//! `--upstream`: the protocol configurations of the chain that is followed, from a NEAR node.
//!
//! Blocks do not say when the configuration changes, so it is asked for at the first block of every
//! epoch, by the hash of the block, and stored for that epoch. Nothing waits for it: the feed goes
//! on while a request is repeated, and what was in force stays. The
//! modules below are `--forward`: what the engine does not answer, and submitted transactions.

mod batch;
mod call;
mod circuit_breaker;
mod error_log;
mod forward;
mod history;
mod methods;
mod pool;
mod submission;
mod submission_response;
mod submission_responses;
#[cfg(test)]
mod submission_responses_tests;

use alloc::sync::Arc;
use core::str::FromStr;
use core::time::Duration;

use milepost::primitives::CryptoHash;
use milepost::storage::BlockPoint;
use milepost_feeds::{FeedUrl, Node, SourceErrorKind, Token};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time;
use tracing::{info, warn};

pub(crate) use forward::Upstreams;

use crate::cli::FeedSourceArgs;
use crate::feed_status::FeedStatus;
use crate::service::Service;

/// The wait before the first repetition of a request, which doubles up to the maximum
const RETRY: Duration = Duration::from_millis(500);
const MAX_RETRY: Duration = Duration::from_secs(30);
/// How often a block is asked for that the node does not know: it left the chain, or is too old
const MAX_UNKNOWN: u32 = 5;

/// Where configurations come from
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Upstream {
    /// Only from `--configs`
    None,
    /// From this node
    Node(FeedUrl),
}

impl Upstream {
    /// The node that belongs to a feed: a preset has one, and a node serves its configurations
    pub(crate) fn of_feed(feed: &FeedUrl) -> Self {
        let is_preset = |name: &str| name.parse().is_ok_and(|preset: FeedUrl| preset == *feed);
        let node = if is_preset("mainnet") {
            "node+https://rpc.mainnet.fastnear.com".to_owned()
        } else if is_preset("testnet") {
            "node+https://rpc.testnet.fastnear.com".to_owned()
        } else {
            feed.to_string()
        };
        let is_node = node.starts_with("node+");
        node.parse().ok().filter(|_| is_node).map_or(Self::None, Self::Node)
    }
}

impl FromStr for Upstream {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            _ => format!("node+{text}").parse().map(Self::Node),
        }
    }
}

/// The upstreams of the command line, or that of the first feed, each with its token
pub(crate) fn nodes(
    args: &FeedSourceArgs,
    first_feed: &FeedUrl,
    feed_token: Option<&Token>,
) -> Result<Vec<(FeedUrl, Option<Token>)>, String> {
    let listed = match &args.upstream[..] {
        [] => vec![Upstream::of_feed(first_feed)],
        listed => listed.to_vec(),
    };
    if listed.len() > 1 && listed.contains(&Upstream::None) {
        return Err("--upstream none goes with no other --upstream".to_owned());
    }
    if args.upstream_token_file.len() > listed.len() {
        return Err("there are more files of --upstream-token-file than upstreams".to_owned());
    }
    let mut files = args.upstream_token_file.iter();
    let mut nodes: Vec<(FeedUrl, Option<Token>)> = Vec::new();
    for upstream in listed {
        let token = files.next().map(|path| Token::from_file(path)).transpose()?;
        let Upstream::Node(node) = upstream else { continue };
        if nodes.iter().any(|(other, _)| *other == node) {
            return Err("an --upstream is given twice".to_owned());
        }
        // The token of the feed is for no other host.
        let token = token.or_else(|| feed_token.filter(|_| node == *first_feed).cloned());
        nodes.push((node, token));
    }
    Ok(nodes)
}

/// The first block of an epoch that was taken in
pub(crate) struct EpochStart {
    pub(crate) block: BlockPoint,
    pub(crate) epoch_id: CryptoHash,
    /// Dropped when the configuration of the epoch is stored, or the node will not have it
    pub(crate) fetched: oneshot::Sender<()>,
}

/// Fetches the configuration of every block that arrives, until the service shuts down
pub(crate) async fn fetch_configs(
    node: Node,
    service: Arc<Service>,
    status: Arc<FeedStatus>,
    mut epoch_starts: mpsc::UnboundedReceiver<EpochStart>,
) {
    let fetch = async {
        while let Some(EpochStart { block, epoch_id, fetched }) = epoch_starts.recv().await {
            if let Some(config) = fetch(&node, &status, block).await {
                let store = move |service: &Service| store(service, block, epoch_id, &config);
                match service.spawn_blocking(store).await {
                    Some(Ok(true)) => info!("block {}: a new protocol configuration", block.height),
                    Some(Ok(false)) => {}
                    Some(Err(detail)) => {
                        warn!("block {}: the configuration of --upstream: {detail}", block.height);
                    }
                    None => warn!("block {}: storing its configuration panicked", block.height),
                }
            }
            // The import that waits for it goes on, with a configuration or without.
            drop(fetched);
        }
    };
    tokio::select! {
        () = fetch => {}
        () = service.shutdown_signal() => {}
    }
}

/// The configuration in force at a block; `None` if the node will not have it
async fn fetch(node: &Node, status: &FeedStatus, block: BlockPoint) -> Option<String> {
    let (mut delay, mut unknown, mut is_logged) = (RETRY, 0, false);
    loop {
        let (is_final, detail) = match node.protocol_config(block.hash).await {
            Ok(Some(config)) => return Some(config),
            Ok(None) => {
                unknown += 1;
                (
                    unknown >= MAX_UNKNOWN,
                    "the node does not know the block; old blocks need an archival node".to_owned(),
                )
            }
            Err(error) => {
                let is_refusal = matches!(
                    error.kind,
                    SourceErrorKind::PermissionDenied | SourceErrorKind::Unsupported
                );
                (is_refusal, error.detail)
            }
        };
        status.config_failed();
        if is_final || !is_logged {
            let height = block.height;
            warn!("block {height}: no protocol configuration from --upstream: {detail}");
            is_logged = true;
        }
        if is_final {
            return None;
        }
        time::sleep(delay).await;
        delay = (delay * 2).min(MAX_RETRY);
    }
}

/// Stores the configuration of an epoch; whether another one was in force at the block
fn store(
    service: &Service,
    block: BlockPoint,
    epoch_id: CryptoHash,
    config: &str,
) -> Result<bool, String> {
    let new: Value = serde_json::from_str(config).map_err(|error| error.to_string())?;
    let is_new = config_at(service, block.hash).as_ref() != Some(&new);
    let stored = service.put_config(epoch_id, config);
    stored.map(|()| is_new).map_err(|error| error.to_string())
}

/// The configuration that the store has in force at a block
fn config_at(service: &Service, block: CryptoHash) -> Option<Value> {
    serde_json::from_str(&service.config_blocking(block)?).ok()
}
