//! `--upstream-history`: transactions that are unknown here are asked of an upstream, once.
//!
//! Only a result that is final there is taken: an old transaction is, and any other is followed
//! here. The wait goes on meanwhile, so an upstream that fails or is slow changes nothing.

use alloc::sync::Arc;
use core::sync::atomic::Ordering::Relaxed;

use hyper::body::Bytes;
use milepost::codec::base64;
use milepost::endpoint::{RequestState, Response, ResponseBody};
use milepost::primitives::AccountId;
use milepost::rpc::{Method, MethodCall, RequestId, RpcError, TransactionRef};
use milepost::status::WaitCondition;
use serde::Deserialize;

use super::Upstreams;
use super::call;
use super::pool::Envelope;
use crate::http::BodyPermit;
use crate::metrics::MethodLabel;
use crate::parsed_request::ParsedRequest;
use crate::service::Service;
use crate::waiting::{self, Answer, WaitOptions};

/// Maximum size of a result that is taken: the largest transactions have some 2 MB
const MAX_RESULT: usize = 4 << 20;

/// A request for the status of a transaction, to be asked of an upstream as well
pub(super) struct Lookup {
    label: MethodLabel,
    id: RequestId,
    /// What is sent to the upstream
    request: Bytes,
    /// What the body that it came in counts
    _counted: BodyPermit,
}

impl Lookup {
    /// The lookup of a call in this request; `None` of a call for a configuration
    pub(super) fn new(call: &MethodCall, parsed: &ParsedRequest) -> Option<Self> {
        let Method::TransactionStatus(request) = &call.method else { return None };
        let transaction = match &request.transaction {
            TransactionRef::Hash { hash, sender } => {
                let sender = sender.as_ref().map(AccountId::as_str).unwrap_or_default();
                format!(r#""tx_hash":"{hash}","sender_account_id":"{sender}""#)
            }
            TransactionRef::Signed(signed) => {
                let mut text = String::new();
                base64::encode(signed.as_bytes(), &mut text);
                format!(r#""signed_tx_base64":"{text}""#)
            }
        };
        let params = format!(r#"{{{transaction},"wait_until":"NONE"}}"#);
        Some(Self {
            label: parsed.label,
            id: call.id.clone(),
            request: call::request(&RequestId::default(), call.method_name?, &params),
            _counted: parsed.body.permit(),
        })
    }
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
        RequestState::Ready(body) => {
            body.errors().any(|error| matches!(error, RpcError::UnknownTransaction { .. }))
        }
    }
}

/// Answers such a request by the first of what the upstream has and what comes here
pub(super) async fn respond(
    upstreams: &Upstreams,
    service: &Arc<Service>,
    lookup: Lookup,
    state: RequestState<ResponseBody>,
    options: WaitOptions,
) -> Answer {
    let is_pending = matches!(state, RequestState::Pending(_));
    let complete = waiting::complete(service, lookup.label, state, options);
    let lookup = look_up(upstreams, lookup);
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
async fn look_up(upstreams: &Upstreams, lookup: Lookup) -> Option<Answer> {
    let found = final_result(upstreams, &lookup.request, &RequestId::default()).await;
    let counter =
        if found.is_some() { &upstreams.history_found } else { &upstreams.history_unknown };
    counter.fetch_add(1, Relaxed);
    let result = found?;
    let response = Response::result(&lookup.id, |out| out.extend_from_slice(&result));
    Some(Answer::new(lookup.label, ResponseBody::Contiguous(response)))
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
