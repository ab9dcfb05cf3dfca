//! `--upstream-history`: transactions that are unknown here are asked of an upstream, once.
//!
//! Only a result that is final there is taken: an old transaction is, and any other is followed
//! here. A result is checked first, and the next upstream is asked after one that cannot be true,
//! and after an error: it may have what a pruned node does not. The wait continues meanwhile, so an
//! upstream that fails or is slow changes nothing.

use alloc::sync::Arc;
use core::iter;
use std::collections::{HashMap, HashSet};

use hyper::body::Bytes;
use milepost::codec::{base64, json};
use milepost::endpoint::{RequestState, Response, ResponseBody};
use milepost::primitives::{AccountId, CryptoHash};
use milepost::rpc::{Method, MethodCall, RequestId, RpcError, TransactionRef};
use milepost::status::WaitCondition;
use milepost::views::{
    ExecutionOutcomeWithIdView, ExecutionStatusView, FinalExecutionOutcomeView,
    FinalExecutionStatus, Milestone, RpcTransactionResponse,
};
use serde_json::value::RawValue;

use super::Upstreams;
use super::call;
use super::error_log::UpstreamErrorKind;
use super::pool::{Envelope, Topic};
use super::submission_response::{Meaning, SubmissionResponse};
use crate::metrics::MethodLabel;
use crate::queries::waiting::{self, Answer, WaitOptions};
use crate::queries::{ParsedRequest, Queries};
use crate::request::{BodyPermit, RequestContext};

/// Maximum size of a result that is taken: the largest transactions have some 2 MB
const MAX_RESULT: usize = 4 << 20;

/// A request for the status of a transaction, to be asked of an upstream as well
pub(super) struct Lookup {
    label: MethodLabel,
    id: RequestId,
    /// What is sent to the upstream
    request: Bytes,
    requested: RequestedResult,
    /// What the body that it came in counts
    _counted: BodyPermit,
}

impl Lookup {
    /// The lookup of a call in this request; `None` of a call for a configuration
    pub(super) fn new(call: &MethodCall, parsed: &ParsedRequest) -> Option<Self> {
        let Method::TransactionStatus(request) = &call.method else { return None };
        let (hash, transaction) = match &request.transaction {
            TransactionRef::Hash { hash, sender } => {
                let sender = sender.as_ref().map(AccountId::as_str).unwrap_or_default();
                (*hash, format!(r#""tx_hash":"{hash}","sender_account_id":"{sender}""#))
            }
            TransactionRef::Signed(signed) => {
                let mut text = String::new();
                base64::encode(signed.as_bytes(), &mut text);
                (signed.hash(), format!(r#""signed_tx_base64":"{text}""#))
            }
        };
        let params = format!(r#"{{{transaction},"wait_until":"NONE"}}"#);
        Some(Self {
            label: parsed.label,
            id: call.id.clone(),
            request: call::request(&RequestId::default(), call.method_name?, &params),
            requested: RequestedResult { hash, receipts: request.receipts },
            _counted: parsed.body.permit(),
        })
    }
}

/// What the result of a lookup has to be
#[derive(Clone, Copy, Debug)]
struct RequestedResult {
    /// The hash of the transaction, which covers its signer
    hash: CryptoHash,
    /// Whether it has the bodies of the receipts
    receipts: bool,
}

/// Why a result of an upstream does not count
type ResultError = (UpstreamErrorKind, String);

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
    queries: &Arc<Queries>,
    lookup: Lookup,
    state: RequestState<ResponseBody>,
    options: WaitOptions<'_>,
) -> Answer {
    let is_pending = matches!(state, RequestState::Pending(_));
    let complete = waiting::complete(queries, lookup.label, state, options);
    let found = look_up(upstreams, &lookup, options.context);
    tokio::pin!(found, complete);
    tokio::select! {
        biased;
        answer = &mut complete, if is_pending => answer,
        found = &mut found => match found {
            Some(answer) => answer,
            None => complete.await,
        },
        // A wait ends by itself.
        () = queries.chain.shutdown_signal(), if !is_pending => {
            let error = RpcError::Stopping { hash: lookup.requested.hash };
            Answer::error(lookup.label, &lookup.id, error)
        }
    }
}

/// What an upstream has of the transaction of a request, if it is final there
async fn look_up(
    upstreams: &Upstreams,
    lookup: &Lookup,
    context: &RequestContext,
) -> Option<Answer> {
    let found = final_result(upstreams, lookup, context).await;
    let [found_count, unknown_count] = &upstreams.history_lookups;
    if found.is_some() { found_count } else { unknown_count }.inc();
    let result = found?;
    let response = Response::result(&lookup.id, |out| out.extend_from_slice(&result));
    Some(Answer::new(lookup.label, ResponseBody::Contiguous(response)))
}

/// The result of the first upstream where the transaction is final
async fn final_result(
    upstreams: &Upstreams,
    lookup: &Lookup,
    context: &RequestContext,
) -> Option<Vec<u8>> {
    let _permit = upstreams.permits.try_acquire().ok()?;
    let id = RequestId::default();
    let pool = &upstreams.pool;
    for index in 0..pool.len() {
        let exchange = pool.exchange_with(index, &lookup.request, &id, context).await;
        let Ok(exchange) = exchange else { continue };
        let Some(body) = exchange.into_whole(MAX_RESULT).await else { continue };
        let checked = match Envelope::read(&body, &id) {
            Ok(Envelope { result: Some(result), .. }) => {
                let is_final = lookup.requested.check(result.get());
                is_final.map(|is_final| is_final.then(|| result.get().as_bytes().to_vec()))
            }
            Ok(Envelope { error, .. }) => {
                let reply = SubmissionResponse::of_error(error.map_or("null", RawValue::get));
                let is_unknown = reply.text == "UNKNOWN_TRANSACTION";
                if is_unknown || reply.meaning != Meaning::Failed {
                    // It does not have the transaction.
                    continue;
                }
                Err((UpstreamErrorKind::NoAnswer, reply.text))
            }
            Err(detail) => Err((UpstreamErrorKind::Malformed, detail.to_owned())),
        };
        match checked {
            Ok(result) => {
                pool.note(index, Topic::History, None);
                if result.is_some() {
                    return result;
                }
            }
            Err((kind, detail)) => pool.note(index, Topic::History, Some((kind, &detail))),
        }
    }
    None
}

impl RequestedResult {
    /// Whether a result says that the transaction is final
    ///
    /// # Errors
    ///
    /// The reason why the result cannot be that of the request, or is not final.
    fn check(self, result: &str) -> Result<bool, ResultError> {
        let malformed = |detail| (UpstreamErrorKind::Malformed, detail);
        let response: RpcTransactionResponse =
            json::read(result).map_err(|error| malformed(error.to_string()))?;
        let is_final = response.final_execution_status == Milestone::Final;
        let Some(outcome) = response.outcome else {
            // A node sends no outcome before the execution.
            return match is_final {
                true => Err(malformed("FINAL without the members of an outcome".to_owned())),
                false => Ok(false),
            };
        };
        let FinalExecutionOutcomeView { transaction, transaction_outcome, receipts, .. } = &outcome;
        for found in [transaction.hash, transaction_outcome.id] {
            if found != self.hash {
                let detail = format!("about transaction {found}, expected {}", self.hash);
                return Err((UpstreamErrorKind::OtherTransaction, detail));
            }
        }
        if !is_final {
            return Ok(false);
        }
        if self.receipts && receipts.is_none() {
            return Err(malformed("FINAL without the member `receipts`".to_owned()));
        }
        let incomplete = |detail| Err((UpstreamErrorKind::Incomplete, detail));
        match missing_outcome(&outcome) {
            Some(id) => incomplete(format!("FINAL without the outcome of receipt {id}")),
            None if !is_result(&outcome) => {
                incomplete("FINAL with a status that is not that of its last receipt".to_owned())
            }
            None => Ok(true),
        }
    }
}

/// A receipt that an outcome created, or whose body is listed, and that was not executed
fn missing_outcome(outcome: &FinalExecutionOutcomeView) -> Option<CryptoHash> {
    let executed: HashSet<CryptoHash> = outcome
        .receipts_outcome
        .iter()
        .filter(|receipt| receipt.outcome.status != ExecutionStatusView::Unknown)
        .map(|receipt| receipt.id)
        .collect();
    let created = iter::once(&outcome.transaction_outcome)
        .chain(&outcome.receipts_outcome)
        .flat_map(|outcome| &outcome.outcome.receipt_ids)
        .copied();
    let listed = outcome.receipts.iter().flatten().map(|receipt| receipt.receipt_id);
    created.chain(listed).find(|id| !executed.contains(id))
}

/// Whether the status is that of the last outcome to which the first receipt leads
fn is_result(outcome: &FinalExecutionOutcomeView) -> bool {
    let by_id: HashMap<CryptoHash, &ExecutionOutcomeWithIdView> =
        outcome.receipts_outcome.iter().map(|receipt| (receipt.id, receipt)).collect();
    let mut last = &outcome.transaction_outcome.outcome.status;
    // As many steps as there are outcomes, unless it is a cycle.
    for _ in 0..=by_id.len() {
        let ExecutionStatusView::SuccessReceiptId(id) = last else { break };
        let Some(next) = by_id.get(id) else { return false };
        last = &next.outcome.status;
    }
    match (last, &outcome.status) {
        (ExecutionStatusView::SuccessValue(last), FinalExecutionStatus::SuccessValue(status)) => {
            last == status
        }
        (ExecutionStatusView::Failure(last), FinalExecutionStatus::Failure(status)) => {
            last == status
        }
        _ => false,
    }
}
