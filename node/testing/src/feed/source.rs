//! The feed as a follower in the same process asks it.
//!
//! A response that ends early is an error or a message without its end, as it is with a client of
//! HTTP that notices it and with one that does not.

use core::time::Duration;

use milepost_follow::{Ask, BlockRequest, Finality, Response, SourceError, SourceErrorKind};
use serde_json::{Value, json};
use tokio::time;

use super::answer::{Feed, FeedResponse, Transfer};

/// How long a node is asked again for a height above its head
const MAX_HOLD: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

fn temporary(detail: impl core::fmt::Display) -> SourceError {
    SourceError::new(SourceErrorKind::Temporary, detail)
}

impl Feed {
    /// The answer of a feed with the URLs of neardata
    ///
    /// # Errors
    ///
    /// The error of its response, or of its transfer.
    pub async fn answer(&self, ask: Ask) -> Result<Response, SourceError> {
        let fresh = |is_fresh: bool| if is_fresh { "?fresh=1" } else { "" };
        match ask {
            Ask::Block(BlockRequest { height, finality, bypass_caches, .. }) => {
                let kind = if finality == Finality::Final { "block" } else { "block_opt" };
                self.fetch(format!("/v0/{kind}/{height}{}", fresh(bypass_caches))).await
            }
            Ask::LastFinal => self.fetch("/v0/last_block/final?fresh=1".to_owned()).await,
            Ask::Head(finality) => {
                let kind = if finality == Finality::Final { "final" } else { "optimistic" };
                self.fetch(format!("/v0/last_block/{kind}/headers?fresh=1")).await
            }
            Ask::ChainId => Ok(Response::ChainId(None)),
            Ask::Archive(_) | Ask::BlockByHash(_) => Ok(Response::Absent { newest: None }),
        }
    }

    async fn fetch(&self, mut path: String) -> Result<Response, SourceError> {
        let FeedResponse { status, header, body, transfer } = loop {
            let response = self.respond(&path, None, None).await;
            match response.header {
                Some(("location", location)) => path = location,
                _ => break response,
            }
        };
        let error = |kind, detail: &str| SourceError::new(kind, detail).with_status(status);
        let length = match transfer {
            Transfer::Whole => body.len(),
            Transfer::Cut(length) if length % 2 == 0 => return Err(temporary("cut")),
            Transfer::Cut(length) | Transfer::ShortLength(length) => length,
        };
        let text = String::from_utf8_lossy(&body[..length]);
        match status {
            200 if text == "null" => Ok(Response::Absent { newest: None }),
            200 => Ok(Response::Message(body[..length].to_vec())),
            404 if text.contains("TOO_HIGH") || text.contains("DOES_NOT_EXIST") => {
                Err(error(SourceErrorKind::TooHigh, &text))
            }
            404 if text.contains("TOO_LOW") => Err(error(SourceErrorKind::TooLow, &text)),
            _ => {
                let seconds = header.and_then(|(_, value)| value.parse().ok());
                let error = error(SourceErrorKind::Temporary, &text);
                Err(error.with_retry_after(seconds.map(Duration::from_secs)))
            }
        }
    }

    /// The answer of a node
    ///
    /// # Errors
    ///
    /// The error of its response, or of its transfer.
    pub async fn answer_as_node(&self, ask: Ask) -> Result<Response, SourceError> {
        match ask {
            Ask::Block(BlockRequest { height, finality, .. }) => {
                let end = time::Instant::now() + MAX_HOLD;
                let head = loop {
                    let head = self.block_of_node(json!({"finality": name(finality)})).await?;
                    let head = head.and_then(|head| head["header"]["height"].as_u64());
                    match head {
                        Some(head) if head >= height => break head,
                        _ if time::Instant::now() >= end => {
                            return Err(SourceError::new(SourceErrorKind::TooHigh, "too high"));
                        }
                        _ => time::sleep(POLL_INTERVAL).await,
                    }
                };
                match self.block_of_node(json!({"block_id": height})).await? {
                    Some(block) => self.whole_block_of_node(&block["header"]["hash"]).await,
                    None => Ok(Response::Absent { newest: Some(head) }),
                }
            }
            Ask::BlockByHash(hash) => self.whole_block_of_node(&json!(hash.to_string())).await,
            Ask::LastFinal => match self.block_of_node(json!({"finality": "final"})).await? {
                Some(block) => self.whole_block_of_node(&block["header"]["hash"]).await,
                None => Ok(Response::Absent { newest: None }),
            },
            Ask::Head(finality) => {
                let block = self.block_of_node(json!({"finality": name(finality)})).await?;
                let message = block.map(|block| block.to_string().into_bytes());
                Ok(message.map_or(Response::Absent { newest: None }, Response::Message))
            }
            Ask::ChainId => Ok(Response::ChainId(None)),
            Ask::Archive(_) => Ok(Response::Absent { newest: None }),
        }
    }

    async fn block_of_node(&self, params: Value) -> Result<Option<Value>, SourceError> {
        self.result_of_call("block", params).await
    }

    async fn whole_block_of_node(&self, hash: &Value) -> Result<Response, SourceError> {
        let params = json!({"block_hash": hash});
        let message = self.result_of_call("EXPERIMENTAL_indexer_block", params).await?;
        let message = message.map(|message| message.to_string().into_bytes());
        Ok(message.map_or(Response::Absent { newest: None }, Response::Message))
    }

    /// The result of a call; `None` if the node does not know the block
    async fn result_of_call(
        &self,
        method: &str,
        params: Value,
    ) -> Result<Option<Value>, SourceError> {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let response = self.call(request.to_string().as_bytes(), None).await;
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
}

/// The name of a finality in a request to a node
const fn name(finality: Finality) -> &'static str {
    match finality {
        Finality::Optimistic => "optimistic",
        Finality::Final => "final",
    }
}
