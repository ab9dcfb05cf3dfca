//! `--upstream-history`: transactions that are unknown here are asked of an upstream, once.
//!
//! Only a result that is final there is taken: an old transaction is, and any other is followed
//! here. The wait goes on meanwhile, so an upstream that fails or is slow changes nothing.

use alloc::sync::Arc;
use core::sync::atomic::Ordering::Relaxed;

use hyper::body::Bytes;
use milepost::endpoint::{RequestState, ResponseBody};
use milepost::rpc::{RequestId, ResponseKind};
use milepost::status::WaitCondition;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Upstreams;
use super::call;
use super::pool::Envelope;
use crate::http::{BodyPermit, RequestBody};
use crate::metrics::MethodLabel;
use crate::service::Service;
use crate::waiting::{self, Answer, WaitOptions};

/// Maximum size of a result that is taken: the largest transactions have some 2 MB
const MAX_RESULT: usize = 4 << 20;

#[derive(Deserialize)]
struct Lookup<'text> {
    #[serde(borrow)]
    id: Option<&'text RawValue>,
    method: String,
    params: Value,
}

#[derive(Deserialize)]
struct Reached {
    final_execution_status: String,
}

/// Whether a request is about a transaction that is in no block here
pub(super) fn is_unknown(state: &RequestState<ResponseBody>) -> bool {
    match state {
        RequestState::Pending(pending) => {
            matches!(pending.condition(), WaitCondition::Inclusion(_))
        }
        RequestState::Ready(ResponseBody::Contiguous(response)) => {
            waiting::is_unknown_transaction(response)
        }
        RequestState::Ready(ResponseBody::Chunks(_)) => false,
    }
}

/// Answers such a request by the first of what the upstream has and what comes here
pub(super) async fn respond(
    upstreams: &Upstreams,
    service: &Arc<Service>,
    body: RequestBody,
    (label, state): (MethodLabel, RequestState<ResponseBody>),
    options: WaitOptions,
) -> Answer {
    let is_pending = matches!(state, RequestState::Pending(_));
    let lookup = look_up(upstreams, label, body);
    let complete = waiting::complete(service, label, state, options);
    tokio::pin!(lookup, complete);
    tokio::select! {
        biased;
        answer = &mut complete, if is_pending => answer,
        found = &mut lookup => match found {
            Some(answer) => answer,
            None => complete.await,
        },
    }
}

/// What an upstream has of the transaction of a request, if it is final there
async fn look_up(upstreams: &Upstreams, label: MethodLabel, body: RequestBody) -> Option<Answer> {
    let (request, client_id, _counted) = read(body)?;
    let found = final_result(upstreams, &request, &RequestId::default()).await;
    let counter =
        if found.is_some() { &upstreams.history_found } else { &upstreams.history_unknown };
    counter.fetch_add(1, Relaxed);
    let result = found?;
    let body =
        [&br#"{"jsonrpc":"2.0","result":"#[..], &result, br#","id":"#, client_id.as_bytes(), b"}"]
            .concat();
    let response = milepost::endpoint::Response { body, kind: ResponseKind::Result };
    Some(Answer::new(label, ResponseBody::Contiguous(response), Vec::new()))
}

/// The request that is sent to the upstream, the id of the client, and what the body counts
fn read(body: RequestBody) -> Option<(Bytes, String, BodyPermit)> {
    let lookup: Lookup<'_> = serde_json::from_slice(body.as_ref()).ok()?;
    let params = match lookup.params {
        Value::Object(params) => params,
        Value::Array(items) => {
            let [hash, sender]: [Value; 2] = items.try_into().ok()?;
            Map::from_iter([("tx_hash".into(), hash), ("sender_account_id".into(), sender)])
        }
        _ => return None,
    };
    let mut params: Map<String, Value> = params;
    params.insert("wait_until".into(), "NONE".into());
    // The request was valid, so its id is.
    let id = RequestId::default();
    let request = call::request(&id, &lookup.method, &Value::Object(params).to_string());
    let client_id = lookup.id.map_or_else(|| id.as_json(), RawValue::get);
    Some((request, client_id.to_owned(), body.permit()))
}

/// The result of a request, if it is that of a final transaction
async fn final_result(upstreams: &Upstreams, request: &Bytes, id: &RequestId) -> Option<Vec<u8>> {
    let _permit = upstreams.permits.try_acquire().ok()?;
    let exchange = upstreams.pool.exchange(request, id).await.ok()?;
    let body = exchange.into_whole(MAX_RESULT).await?;
    let result = Envelope::read(&body, id).ok()?.result?;
    let reached: Reached = serde_json::from_str(result.get()).ok()?;
    (reached.final_execution_status == "FINAL").then(|| result.get().as_bytes().to_vec())
}
