//! Subscriptions of a WebSocket: `subscribe_tx_status` and `unsubscribe`.
//!
//! A subscription is a number that is unique in its connection. Its notifications carry the events
//! that a stream of server-sent events carries; after the last one, `end`, it is over. The response
//! to a request is sent before the first notification, because both are sent by the one task that
//! reads. Subscriptions end with their connection.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::task::{Context, Poll};

use milepost::primitives::CryptoHash;
use milepost::rpc::{InvalidRequest, RequestId, RpcError, write_result};
use serde_json::Value;

use super::client::Client;
use super::event_source::{Event, EventOptions, EventSource, Next};
use super::events::MAX_HASHES;
use crate::service::Service;

/// Maximum number of subscriptions of a connection
pub(super) const MAX_SUBSCRIPTIONS: usize = 64;

/// The subscriptions of a connection
pub(super) struct Subscriptions {
    service: Arc<Service>,
    client: Arc<Client>,
    open: BTreeMap<u64, EventSource>,
    last: u64,
}

impl Subscriptions {
    pub(super) fn new(service: &Arc<Service>, client: &Arc<Client>) -> Self {
        let client = Arc::clone(client);
        Self { service: Arc::clone(service), client, open: BTreeMap::new(), last: 0 }
    }

    /// The response to a request of one of the two methods, which the engine does not know
    pub(super) fn respond(&mut self, invalid: &InvalidRequest, body: &str) -> Option<String> {
        let RpcError::MethodNotFound { method } = &invalid.rpc_error else { return None };
        let result = match method.as_str() {
            "subscribe_tx_status" => self.subscribe(&params(body)),
            "unsubscribe" => self.unsubscribe(&params(body)),
            _ => return None,
        };
        Some(response(&invalid.id, result))
    }

    fn subscribe(&mut self, params: &Value) -> Result<String, RpcError> {
        let (hashes, options) = parse(params).map_err(|message| RpcError::Parse {
            message: format!("Failed parsing args: params.{message}"),
        })?;
        let open = self.open.len();
        if open >= MAX_SUBSCRIPTIONS {
            let message = format!("too many subscriptions: {open} of {MAX_SUBSCRIPTIONS}");
            return Err(RpcError::Unavailable { message });
        }
        let source = EventSource::new(&self.service, &self.client, hashes, options);
        let source = source.map_err(|refused| {
            let message = refused.to_string();
            RpcError::Unavailable { message }
        })?;
        self.last += 1;
        self.open.insert(self.last, source);
        Ok(self.last.to_string())
    }

    fn unsubscribe(&mut self, params: &Value) -> Result<String, RpcError> {
        let number = params.get(0).or_else(|| params.get("subscription")).and_then(Value::as_u64);
        let number = number.ok_or_else(|| RpcError::Parse {
            message: "Failed parsing args: params.subscription: expected a number".to_owned(),
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
fn parse(params: &Value) -> Result<(Vec<CryptoHash>, EventOptions), String> {
    let list = params.get("tx_hashes").and_then(Value::as_array).map(Vec::as_slice);
    let list = list.filter(|list| !list.is_empty());
    let list = list.ok_or("tx_hashes: expected a list of hashes")?;
    if list.len() > MAX_HASHES {
        return Err(format!("tx_hashes: {} hashes, the limit is {MAX_HASHES}", list.len()));
    }
    let mut hashes = Vec::with_capacity(list.len());
    for (index, hash) in list.iter().enumerate() {
        let hash: CryptoHash = hash
            .as_str()
            .ok_or_else(|| format!("tx_hashes[{index}]: expected a string"))?
            .parse()
            .map_err(|error| format!("tx_hashes[{index}]: {error}"))?;
        if !hashes.contains(&hash) {
            hashes.push(hash);
        }
    }
    let text = |name: &str| match params.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(format!("{name}: expected a string")),
    };
    let options = EventOptions::parse(text("wait_until")?, text("include")?, true)?;
    Ok((hashes, options))
}

/// The params of a request whose envelope was read
fn params(body: &str) -> Value {
    let mut body: Value = serde_json::from_str(body).unwrap_or_default();
    body.get_mut("params").map(Value::take).unwrap_or_default()
}

fn response(id: &RequestId, result: Result<String, RpcError>) -> String {
    let mut body = Vec::new();
    match result {
        Ok(result) => {
            write_result(id, |out| out.extend_from_slice(result.as_bytes()), &mut body);
        }
        Err(error) => error.write(id, &mut body),
    }
    String::from_utf8_lossy(&body).into_owned()
}
