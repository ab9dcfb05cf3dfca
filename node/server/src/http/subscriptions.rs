//! Subscriptions of a WebSocket: `subscribe_tx_status` and `unsubscribe`.
//!
//! A subscription is a number that is unique in its connection. Its notifications carry the events
//! that a stream of server-sent events carries; after the last one, `end`, it is over. The response
//! to a request is sent before the first notification, because both are sent by the one task that
//! reads. Subscriptions end with their connection.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::net::IpAddr;
use core::task::{Context, Poll};
use core::time::Duration;

use milepost::endpoint::Response;
use milepost::endpoint::WatchTarget;
use milepost::primitives::CryptoHash;
use milepost::rpc::{RequestId, RpcError};
use milepost::{Error, ErrorKind};
use serde_json::Value;

use super::event_source::{Event, EventOptions, EventSource, Next, member_error, state_id};
use super::events::MAX_HASHES;
use crate::queries::Queries;

/// Maximum number of subscriptions of a connection
pub(super) const MAX_SUBSCRIPTIONS: usize = 64;

/// The subscriptions of a connection
pub(super) struct Subscriptions {
    queries: Arc<Queries>,
    /// The network of the client
    client: IpAddr,
    open: BTreeMap<u64, EventSource>,
    last: u64,
    /// How long a subscription may wait for a head that is high enough
    max_wait: Duration,
}

impl Subscriptions {
    pub(super) fn new(queries: &Arc<Queries>, client: IpAddr, max_wait: Duration) -> Self {
        Self { queries: Arc::clone(queries), client, open: BTreeMap::new(), last: 0, max_wait }
    }

    /// The response to a request of one of the two methods
    pub(super) fn respond(
        &mut self,
        id: &RequestId,
        method: &str,
        params: Option<&str>,
    ) -> Option<String> {
        let params = || params.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let result = match method {
            "subscribe_tx_status" => self.subscribe(&params()),
            "unsubscribe" => self.unsubscribe(&params()),
            _ => return None,
        };
        let response = match result {
            Ok(result) => Response::result(id, |out| out.extend_from_slice(result.as_bytes())),
            Err(error) => Response::error(id, error),
        };
        Some(String::from_utf8_lossy(&response.body).into_owned())
    }

    fn subscribe(&mut self, params: &Value) -> Result<String, RpcError> {
        let (targets, options) = parse(params, self.max_wait)
            .map_err(|error| RpcError::Parse { error: error.at("params") })?;
        let open = self.open.len();
        if open >= MAX_SUBSCRIPTIONS {
            let message = format!("too many subscriptions: {open} of {MAX_SUBSCRIPTIONS}");
            return Err(RpcError::Unavailable { message, unreached: None });
        }
        let source = EventSource::new(&self.queries, self.client, &targets, options);
        let source = source.map_err(|refused| {
            let message = refused.to_string();
            RpcError::Unavailable { message, unreached: None }
        })?;
        self.last += 1;
        self.open.insert(self.last, source);
        Ok(self.last.to_string())
    }

    fn unsubscribe(&mut self, params: &Value) -> Result<String, RpcError> {
        let number = params.get(0).or_else(|| params.get("subscription")).and_then(Value::as_u64);
        let number = number.ok_or_else(|| RpcError::Parse {
            error: member_error("params.subscription", "expected a number"),
        })?;
        Ok(self.open.remove(&number).is_some().to_string())
    }

    /// The next notification; `None` once the service stops
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        let mut ended = Vec::new();
        let mut next = Poll::Pending;
        for (number, source) in &mut self.open {
            match source.poll(context) {
                Poll::Pending => continue,
                Poll::Ready(Next::Ended) => {
                    ended.push(*number);
                    continue;
                }
                Poll::Ready(Next::Closed) => next = Poll::Ready(None),
                Poll::Ready(Next::Event(event)) => {
                    next = Poll::Ready(Some(notification(*number, &event)));
                }
            }
            break;
        }
        for number in ended {
            self.open.remove(&number);
        }
        next
    }
}

fn notification(number: u64, event: &Event) -> String {
    let Event { id, name, data } = event;
    let id = id.as_ref().map_or_else(|| "null".into(), |id| format!("\"{id}\""));
    format!(
        r#"{{"jsonrpc":"2.0","method":"tx_status","params":{{"subscription":{number},"result":{{"event":"{name}","id":{id},"status":{data}}}}}}}"#
    )
}

/// The transactions and the options of a subscription
fn parse(params: &Value, max_wait: Duration) -> Result<(Vec<WatchTarget>, EventOptions), Error> {
    let list = params.get("tx_hashes").and_then(Value::as_array).map(Vec::as_slice);
    let list = list.filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| member_error("tx_hashes", "expected a list of hashes"))?;
    if list.len() > MAX_HASHES {
        let count = list.len();
        return Err(member_error(
            "tx_hashes",
            format!("{count} hashes, the limit is {MAX_HASHES}"),
        ));
    }
    let last_ids = match params.get("last_event_ids") {
        None | Some(Value::Null) => None,
        Some(Value::Object(ids)) => Some(ids),
        Some(_) => return Err(member_error("last_event_ids", "expected an object")),
    };
    let min_height = match params.get("min_height") {
        None | Some(Value::Null) => 0,
        Some(height) => {
            height.as_u64().ok_or_else(|| member_error("min_height", "expected a height"))?
        }
    };
    let mut targets: Vec<WatchTarget> = Vec::with_capacity(list.len());
    for (index, hash) in list.iter().enumerate() {
        let path = || format!("tx_hashes[{index}]");
        let text = hash.as_str().ok_or_else(|| member_error(path(), "expected a string"))?;
        let hash: CryptoHash =
            text.parse().map_err(|error| Error::new(ErrorKind::Value, error).at(path()))?;
        if targets.iter().all(|target| target.hash != hash) {
            let last_id = match last_ids.and_then(|ids| ids.get(text)) {
                None | Some(Value::Null) => None,
                Some(Value::String(id)) => Some(state_id(id).to_owned()),
                Some(_) => {
                    let path = format!("last_event_ids.{hash}");
                    return Err(member_error(path, "expected a string"));
                }
            };
            targets.push(WatchTarget { hash, last_id, min_height });
        }
    }
    let text = |name: &str| match params.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(member_error(name, "expected a string")),
    };
    let options = EventOptions::parse(text("wait_until")?, text("include")?, true, max_wait)?;
    Ok((targets, options))
}
