//! A NEAR node as a feed: whole blocks by `EXPERIMENTAL_indexer_block`, heads by `block`.
//!
//! A height is looked up on the chain that the node has now, and its block asked for by hash; so
//! are the ancestors of a block after the node changed to another branch. One whole block is asked
//! for at a time, as a node allows no more by default.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::BlockPoint;
use milepost_follow::{
    Ask, BlockRequest, FeedSettings, Finality, Response, SourceError, SourceErrorKind,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{self, Instant};

use crate::http::{Client, HttpResponse, Token};
use crate::source::{Pace, Source};
use crate::url::FeedUrl;

/// The method that serves whole blocks
const BLOCK_METHOD: &str = "EXPERIMENTAL_indexer_block";
/// The method that serves protocol configurations
const CONFIG_METHOD: &str = "EXPERIMENTAL_protocol_config";
/// Default time between two looks at the head of the node: a quarter of its block time
const POLL_INTERVAL: Duration = Duration::from_millis(150);
/// How long a request for a height above the head waits for it
const MAX_HOLD: Duration = Duration::from_secs(5);
/// Number of heights below the head of a node from which on it lacks the data of a block for good;
/// it executes the last few blocks
const MAX_EXECUTION_LAG: u64 = 20;

/// A NEAR node, version 2.14 or later
///
/// It needs, in its `config.json`, `rpc.enable_indexer_rpc`, `tracked_shards_config` with
/// `"AllShards"`, `save_tx_outcomes`, `save_state_changes` and `store.save_trie_changes`. Requests
/// go through the proxies of the usual environment variables, except to this machine. A response
/// is at most 64 MiB, and takes at most a minute.
#[derive(Debug)]
pub struct Node {
    client: Client,
    requests_per_minute: u32,
    poll_interval: Duration,
    /// The number of the next request, which its response has to have as well
    next_id: AtomicU64,
    optimistic: Mutex<Option<Head>>,
    finalized: Mutex<Option<Head>>,
    /// Held while a whole block is asked for
    turn: Mutex<()>,
}

/// A head of the node, and when it was seen
#[derive(Clone, Copy, Debug)]
struct Head {
    block: BlockPoint,
    seen: Instant,
}

/// A response of JSON-RPC
#[derive(Deserialize)]
struct Envelope<'text> {
    id: Value,
    #[serde(borrow)]
    result: Option<&'text RawValue>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    #[serde(default)]
    cause: Cause,
    #[serde(default)]
    message: String,
}

#[derive(Default, Deserialize)]
struct Cause {
    #[serde(default)]
    name: String,
    #[serde(default)]
    info: Value,
}

/// What is read of `status`
#[derive(Deserialize)]
struct StatusView {
    chain_id: String,
    #[serde(default)]
    sync_info: SyncView,
}

#[derive(Default, Deserialize)]
struct SyncView {
    #[serde(default)]
    syncing: bool,
}

/// A block without its shards
#[derive(Deserialize)]
struct BlockView<'text> {
    #[serde(borrow)]
    header: HeaderView<'text>,
}

#[derive(Deserialize)]
struct HeaderView<'text> {
    height: BlockHeight,
    hash: &'text str,
}

fn temporary(detail: impl core::fmt::Display) -> SourceError {
    SourceError::new(SourceErrorKind::Temporary, detail)
}

impl Node {
    /// The node at this address; as a node is the host's own, with 6000 requests a minute, some
    /// 800 of which follow a chain
    ///
    /// # Errors
    ///
    /// The address is that of another kind of feed, a token would be sent in clear text, or TLS
    /// cannot be set up on this machine.
    pub fn new(url: &FeedUrl, token: Option<Token>) -> Result<Self, SourceError> {
        let address = url.node_address(token.is_some())?;
        Ok(Self {
            client: Client::new(address, token)?,
            requests_per_minute: 6_000,
            poll_interval: POLL_INTERVAL,
            next_id: AtomicU64::new(1),
            optimistic: Mutex::new(None),
            finalized: Mutex::new(None),
            turn: Mutex::new(()),
        })
    }

    /// The same with another number of requests a minute
    #[must_use]
    pub const fn with_requests_per_minute(mut self, requests: u32) -> Self {
        self.requests_per_minute = requests;
        self
    }

    /// The same with another time between two looks at the head of the node; 150 ms by default
    #[must_use]
    pub const fn with_poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Number of requests that were sent
    pub fn requests(&self) -> u64 {
        self.client.requests()
    }

    /// The protocol configuration that is in force at a block, as the node writes it; `None` if the
    /// node does not know the block
    ///
    /// Any node serves it, whatever its version and settings.
    ///
    /// # Errors
    ///
    /// Why there is none, as far as it is known. One attempt is made.
    pub async fn protocol_config(&self, block: CryptoHash) -> Result<Option<String>, SourceError> {
        self.config(&json!({"block_id": block.to_string()})).await
    }

    /// The protocol configuration that is in force at the genesis; `None` if the node does not know
    /// it
    ///
    /// # Errors
    ///
    /// Those of [`protocol_config`](Self::protocol_config).
    pub async fn genesis_protocol_config(&self) -> Result<Option<String>, SourceError> {
        self.config(&json!({"sync_checkpoint": "genesis"})).await
    }

    async fn config(&self, params: &Value) -> Result<Option<String>, SourceError> {
        let (id, body) = self.call(CONFIG_METHOD, params, &Pace::unlimited()).await?;
        match result_of(CONFIG_METHOD, id, &body)? {
            Ok(result) => Ok(Some(result.get().to_owned())),
            Err(error) if error.cause.name == "UNKNOWN_BLOCK" => Ok(None),
            Err(error) => Err(explain(CONFIG_METHOD, &error)),
        }
    }

    /// The body of the response to a call, and its id
    async fn call(
        &self,
        method: &str,
        params: &Value,
        pace: &Pace,
    ) -> Result<(u64, Vec<u8>), SourceError> {
        let id = self.next_id.fetch_add(1, Relaxed);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let response = self.client.post("", request.to_string().into_bytes(), pace).await?;
        let HttpResponse { status, body, retry_after } = response;
        let error = |kind, what: &str| {
            let detail = format!("{method}: {what} (HTTP {status})");
            SourceError::new(kind, detail).with_status(status).with_retry_after(retry_after)
        };
        match status {
            401 | 403 => {
                Err(error(SourceErrorKind::PermissionDenied, "the node refuses this client"))
            }
            // Errors of a handler have a status as well; anything else is not from the handler.
            200 | 400 | 408 | 422 | 500 if body.trim_ascii_start().starts_with(b"{") => {
                Ok((id, body))
            }
            _ => Err(error(SourceErrorKind::Temporary, "no response of JSON-RPC")),
        }
    }

    /// The text of the block without its shards at a place; `None` if the node does not know it
    async fn view(&self, place: Value, pace: &Pace) -> Result<Option<String>, SourceError> {
        let (id, body) = self.call("block", &place, pace).await?;
        match result_of("block", id, &body)? {
            Ok(result) => Ok(Some(result.get().to_owned())),
            Err(error) if error.cause.name == "UNKNOWN_BLOCK" => Ok(None),
            Err(error) => Err(explain("block", &error)),
        }
    }

    /// The height and hash of the block at a place; `None` if the node does not know it
    async fn find(&self, place: Value, pace: &Pace) -> Result<Option<BlockPoint>, SourceError> {
        let Some(view) = self.view(place, pace).await? else { return Ok(None) };
        let view: BlockView<'_> =
            serde_json::from_str(&view).map_err(|error| temporary(format!("block: {error}")))?;
        let hash = view.header.hash.parse();
        let hash = hash.map_err(|error| temporary(format!("block: header.hash: {error}")))?;
        Ok(Some(BlockPoint { height: view.header.height, hash }))
    }

    /// The newest block of a finality, as it was seen a moment ago or when it was at this height
    async fn head(
        &self,
        finality: Finality,
        height: BlockHeight,
        pace: &Pace,
    ) -> Result<BlockPoint, SourceError> {
        let head = match finality {
            Finality::Optimistic => &self.optimistic,
            Finality::Final => &self.finalized,
        };
        let name = name(finality);
        // Others that wait for a head are served by the same request.
        let mut head = head.lock().await;
        if let Some(Head { block, seen }) = *head
            && (block.height > height || seen.elapsed() < self.poll_interval)
        {
            return Ok(block);
        }
        let block = self.find(json!({"finality": name}), pace).await?;
        let block = block.ok_or_else(|| temporary(format!("the node has no {name} block")))?;
        *head = Some(Head { block, seen: Instant::now() });
        Ok(block)
    }

    /// The newest block of a finality, once it is at this height or above
    async fn head_from(
        &self,
        finality: Finality,
        height: BlockHeight,
        pace: &Pace,
    ) -> Result<BlockPoint, SourceError> {
        let start = Instant::now();
        loop {
            let head = self.head(finality, height, pace).await?;
            if head.height >= height {
                return Ok(head);
            }
            if start.elapsed() >= MAX_HOLD {
                let detail =
                    format!("block {height} is above the head of the node, {}", head.height);
                return Err(SourceError::new(SourceErrorKind::TooHigh, detail));
            }
            time::sleep(self.poll_interval).await;
        }
    }

    /// The message of the block with this hash
    async fn message(&self, hash: CryptoHash, pace: &Pace) -> Result<Response, SourceError> {
        let message = self.whole_block(hash, pace).await?;
        message.map_err(|error| explain(BLOCK_METHOD, &error))
    }

    /// The message of the block with this hash, or the error that the node gives
    async fn whole_block(
        &self,
        hash: CryptoHash,
        pace: &Pace,
    ) -> Result<Result<Response, RpcError>, SourceError> {
        let _turn = self.turn.lock().await;
        let params = json!({"block_hash": hash.to_string()});
        let (id, body) = self.call(BLOCK_METHOD, &params, pace).await?;
        let result = result_of(BLOCK_METHOD, id, &body)?;
        Ok(result.map(|result| Response::Message(result.get().as_bytes().to_vec())))
    }
}

/// The result of a response, or the error that the node gives
fn result_of<'body>(
    method: &str,
    id: u64,
    body: &'body [u8],
) -> Result<Result<&'body RawValue, RpcError>, SourceError> {
    let envelope: Envelope<'_> = serde_json::from_slice(body)
        .map_err(|error| temporary(format!("{method}: response: {error}")))?;
    match (envelope.result, envelope.error) {
        // A request that could not be read has no id.
        (None, Some(error)) => Ok(Err(error)),
        _ if envelope.id != id => {
            Err(temporary(format!("{method}: the response has the id {}, not {id}", envelope.id)))
        }
        (Some(result), None) => Ok(Ok(result)),
        _ => Err(temporary(format!("{method}: neither result nor error"))),
    }
}

/// What an error of the node means, and which setting it needs
fn explain(method: &str, error: &RpcError) -> SourceError {
    let cause = error.cause.name.as_str();
    let info = error.cause.info.get("error_message").and_then(Value::as_str).unwrap_or_default();
    let text = |text: &str| -> String {
        text.chars().filter(|mark| !mark.is_control()).take(200).collect()
    };
    let info = text(info);
    let (kind, detail) = match cause {
        "METHOD_NOT_FOUND" if method != CONFIG_METHOD => (
            SourceErrorKind::Unsupported,
            format!(
                "the node does not serve {method}: it has to be version 2.14 or later, with rpc.enable_indexer_rpc in its config.json"
            ),
        ),
        "UNSUPPORTED" => (
            SourceErrorKind::Unsupported,
            format!(
                "the node cannot serve whole blocks ({info}): it needs tracked_shards_config \"AllShards\", save_tx_outcomes, save_state_changes and store.save_trie_changes in its config.json"
            ),
        ),
        "LIMIT_EXCEEDED" => {
            (SourceErrorKind::Unsupported, "the node does not send a block of this size".to_owned())
        }
        // BUSY, DATA_UNAVAILABLE and INCOMPLETE_DATA pass; so may what is not known.
        "" => (SourceErrorKind::Temporary, format!("{method}: {}", text(&error.message))),
        cause => (SourceErrorKind::Temporary, format!("{method}: {} {info}", text(cause))),
    };
    SourceError::new(kind, detail.trim_end().trim_end_matches(':'))
}

impl Node {
    async fn block(&self, request: BlockRequest, pace: &Pace) -> Result<Response, SourceError> {
        let BlockRequest { height, finality, .. } = request;
        let head = self.head_from(finality, height, pace).await?;
        let block = if head.height == height {
            Some(head)
        } else {
            self.find(json!({"block_id": height}), pace).await?
        };
        match block {
            Some(block) if block.height == height => {
                let error = match self.whole_block(block.hash, pace).await? {
                    Ok(message) => return Ok(message),
                    Err(error) => error,
                };
                let mut explained = explain(BLOCK_METHOD, &error);
                let is_lacking =
                    matches!(&*error.cause.name, "DATA_UNAVAILABLE" | "INCOMPLETE_DATA");
                // A head that was seen for another height may be old.
                if is_lacking
                    && let head = self.head(finality, BlockHeight::MAX, pace).await?
                    && head.height > height.saturating_add(MAX_EXECUTION_LAG)
                {
                    // It was executed before the node had its settings, or its state.
                    explained.kind = SourceErrorKind::TooLow;
                    explained.detail = format!(
                        "the node has not saved all of block {height}: {}",
                        explained.detail
                    );
                }
                Err(explained)
            }
            Some(block) => {
                Err(temporary(format!("block {} in place of block {height}", block.height)))
            }
            None => {
                // Skipped, or removed: a node keeps the blocks of some epochs.
                let place = json!({"sync_checkpoint": "earliest_available"});
                match self.find(place, pace).await? {
                    Some(first) if height < first.height => {
                        let detail = format!(
                            "the node has no block below {}, and block {height} is needed",
                            first.height
                        );
                        Err(SourceError::new(SourceErrorKind::TooLow, detail))
                    }
                    _ => Ok(Response::Absent { newest: Some(head.height) }),
                }
            }
        }
    }

    /// The name of the chain; `None` if the node does not say it
    ///
    /// # Errors
    ///
    /// Why there is none, as far as it is known. One attempt is made.
    pub async fn chain_id(&self, pace: &Pace) -> Result<Option<String>, SourceError> {
        Ok(self.status(pace).await?.map(|status| status.chain_id))
    }

    /// Fails while the node synchronises: its last final block is the genesis until it has a state
    async fn check_synchronised(&self, pace: &Pace) -> Result<(), SourceError> {
        match self.status(pace).await? {
            Some(status) if status.sync_info.syncing => Err(temporary("the node is synchronising")),
            _ => Ok(()),
        }
    }

    async fn status(&self, pace: &Pace) -> Result<Option<StatusView>, SourceError> {
        let (id, body) = self.call("status", &json!([]), pace).await?;
        let result = match result_of("status", id, &body)? {
            Ok(result) => result,
            // What serves blocks only does not say it.
            Err(error) if error.cause.name == "METHOD_NOT_FOUND" => return Ok(None),
            Err(error) => return Err(explain("status", &error)),
        };
        let status = serde_json::from_str(result.get());
        status.map(Some).map_err(|error| temporary(format!("status: {error}")))
    }
}

/// The name of a finality in a request
const fn name(finality: Finality) -> &'static str {
    match finality {
        Finality::Optimistic => "optimistic",
        Finality::Final => "final",
    }
}

impl Source for Node {
    fn settings(&self) -> FeedSettings {
        FeedSettings::default()
            .with_requests_per_minute(self.requests_per_minute)
            .with_blocks_by_hash()
    }

    async fn answer(&self, ask: Ask, pace: &Pace) -> Result<Response, SourceError> {
        match ask {
            Ask::Block(request) => self.block(request, pace).await,
            Ask::BlockByHash(hash) => self.message(hash, pace).await,
            Ask::Archive(_) => Ok(Response::Absent { newest: None }),
            Ask::LastFinal => {
                self.check_synchronised(pace).await?;
                let head = self.head(Finality::Final, BlockHeight::MAX, pace).await?;
                self.message(head.hash, pace).await
            }
            Ask::Head(finality) => {
                if finality == Finality::Final {
                    self.check_synchronised(pace).await?;
                }
                let view = self.view(json!({"finality": name(finality)}), pace).await?;
                let absent = Response::Absent { newest: None };
                Ok(view.map_or(absent, |view| Response::Message(view.into_bytes())))
            }
            Ask::ChainId => self.chain_id(pace).await.map(Response::ChainId),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Result<String, SourceError> {
        match result_of("block", 7, body.as_bytes())? {
            Ok(result) => Ok(result.get().to_owned()),
            Err(error) => Err(explain("block", &error)),
        }
    }

    #[test]
    fn a_response_is_that_of_its_request() {
        assert_eq!(of(r#"{"jsonrpc":"2.0","result":{"a": 1},"id":7}"#).unwrap(), r#"{"a": 1}"#);
        for wrong in [r#"{"result":{},"id":8}"#, r#"{"id":7}"#, r#"{"result":{},"id":"7"}"#, "{"] {
            assert_eq!(of(wrong).unwrap_err().kind, SourceErrorKind::Temporary, "{wrong}");
        }
    }

    #[test]
    fn an_error_says_which_setting_the_node_needs() {
        let error = |name: &str| {
            let cause = json!({"name": name, "info": {"error_message": "saving\nis off"}});
            let body = json!({"error": {"name": "HANDLER_ERROR", "cause": cause}, "id": 7});
            of(&body.to_string()).unwrap_err()
        };
        for name in ["BUSY", "DATA_UNAVAILABLE", "INCOMPLETE_DATA", "INTERNAL_ERROR"] {
            let error = error(name);
            assert_eq!(error.kind, SourceErrorKind::Temporary, "{error}");
            assert_eq!(error.detail, format!("block: {name} savingis off"));
        }
        let unsupported = error("UNSUPPORTED");
        assert_eq!(unsupported.kind, SourceErrorKind::Unsupported);
        assert!(unsupported.detail.contains("save_tx_outcomes"), "{unsupported}");
        let disabled = error("METHOD_NOT_FOUND");
        assert_eq!(disabled.kind, SourceErrorKind::Unsupported);
        assert!(disabled.detail.contains("rpc.enable_indexer_rpc"), "{disabled}");
    }

    #[test]
    fn an_error_does_not_end_with_a_blank() {
        for (error, expected) in [
            (r#"{"cause":{"name":"BUSY"}}"#, "block: BUSY"),
            (r#"{"cause":{"name":"BUSY","info":{"error_message":"later "}}}"#, "block: BUSY later"),
            (r#"{"message":"Server error"}"#, "block: Server error"),
            ("{}", "block"),
        ] {
            let error: RpcError = serde_json::from_str(error).unwrap();
            assert_eq!(explain("block", &error).detail, expected);
        }
    }
}
