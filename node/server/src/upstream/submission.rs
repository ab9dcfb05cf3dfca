//! `send_tx`, `broadcast_tx_async` and `broadcast_tx_commit`: checked here, sent to the upstreams,
//! waited for here.
//!
//! A transaction is sent by one task, whatever the number of requests that have it, to all
//! upstreams, and to each of them again until it is in a block here, the upstreams refuse it
//! together, or it can never be included, which a wait of the task's own reports. That an upstream
//! includes it ends no wait: only a block that came in does. A refusal counts only while the
//! transaction is in no block here. One that was refused in a block is sent as if it was in none.

use alloc::sync::Arc;
use core::net::IpAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::Mutex;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hyper::body::Bytes;
use milepost::codec::base64;
use milepost::config::TransactionRules;
use milepost::endpoint::{RequestState, Response, ResponseBody};
use milepost::primitives::CryptoHash;
use milepost::rpc::{
    InvalidTransaction, Method, MethodCall, RequestId, ResponseKind, RpcError, StatusRequest,
    TransactionRef,
};
use milepost::status::{Milestone, ProofEnd, WaitCondition};
use milepost::transaction::EncodedTransaction;
use milepost::{Error, ErrorKind};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{self, Instant};

use super::Upstreams;
use super::call::{self, Call, unavailable};
use super::error_log::UpstreamErrorKind;
use super::methods::Submit;
use super::pool::{Envelope, Topic, UpstreamError};
use super::submission_response::{Meaning, SubmissionResponse};
use super::submission_responses::{OwnChain, SubmissionResponses};
use crate::locks::lock;
use crate::metrics::{MethodLabel, family, gauge, labelled};
use crate::queries::waiting::{self, Answer, WaitOptions};
use crate::queries::{Include, Queries, Read, height_in_chain, requests};
use crate::request::{BodyPermit, RequestContext};

/// Maximum number of transactions that are sent at a time, each of up to 1.5 MiB
const MAX_RUNNING: usize = 1024;
/// How long a transaction is sent again
const MAX_TIME: Duration = Duration::from_secs(600);

/// The values of the label `end`
const ENDS: [&str; 5] = ["included", "invalid", "expired", "known", "given_up"];

/// How the sending of a transaction ended
#[derive(Clone, Copy, Debug)]
enum End {
    Included,
    Invalid,
    Expired,
    /// It was in a block when it was submitted
    Known,
    GivenUp,
}

/// The transactions that are sent
#[derive(Debug, Default)]
pub(super) struct Submissions {
    running: Mutex<HashMap<CryptoHash, watch::Receiver<Progress>>>,
    ends: [Counter; ENDS.len()],
}

/// What came of a transaction so far
#[derive(Clone, Debug, Default)]
struct Progress {
    /// Why the upstreams refuse it: the `error` of a response
    verdict: Option<Arc<str>>,
    /// The reply of each upstream as text, unless the transaction is in a block
    replies: Option<Arc<str>>,
}

impl Upstreams {
    /// Answers a call that submits a transaction
    pub(super) async fn submit(
        self: &Arc<Self>,
        queries: &Arc<Queries>,
        call: Call,
        submit: Submit,
        options: WaitOptions<'_>,
    ) -> Answer {
        let (signed, wait_until) = match read(&call) {
            Ok(transaction) => transaction,
            Err(error) => {
                return Answer::error(MethodLabel::OTHER, &call.id, RpcError::Parse { error });
            }
        };
        let Call { id, permit, .. } = call;
        let hash = signed.hash();
        let milestone = submit.milestone(wait_until);
        let transaction = TransactionRef::Signed(signed.clone());
        // One that is included is known, and so need not be sent.
        let wait_until = milestone.unwrap_or(Milestone::Included);
        let context = options.context;
        let call = status_call(&id, transaction, wait_until);
        let state = requests::evaluate_with_wait(queries, context.network, call).await;
        let label = MethodLabel::OTHER;
        let is_error = matches!(&state, RequestState::Ready(it) if is_error(it));
        if !is_error && is_refused(queries, context.network, hash).await {
            let Some(progress) = self.start(queries, context, signed.clone(), permit) else {
                return too_many(&id);
            };
            let Some(milestone) = milestone else { return sent(&id, submit, hash) };
            let call = status_call(&id, TransactionRef::Signed(signed), milestone);
            return after_refusal(queries, call, hash, progress, options).await;
        }
        let (pending, is_known) = match state {
            RequestState::Ready(response) if is_error => {
                return Answer::of_response(response);
            }
            RequestState::Ready(response) => {
                self.submissions.ended(End::Known);
                return match milestone {
                    Some(_) => Answer::of_response(response),
                    None => sent(&id, submit, hash),
                };
            }
            RequestState::Pending(pending) => {
                let is_known = !matches!(pending.condition(), WaitCondition::Inclusion(_));
                (pending, is_known)
            }
        };
        let progress = match is_known {
            true => {
                self.submissions.ended(End::Known);
                None
            }
            false => match self.start(queries, context, signed, permit) {
                Some(progress) => Some(progress),
                None => return too_many(&id),
            },
        };
        if milestone.is_none() {
            return sent(&id, submit, hash);
        }
        let Some(mut progress) = progress else {
            let state = RequestState::Pending(pending);
            return waiting::complete(queries, label, state, options).await;
        };
        let Read { output: response, retry_after } = tokio::select! {
            biased;
            waited = waiting::wait(queries, pending, options) => waited,
            error = verdict(&mut progress) => return refused(&id, &error),
        };
        let error = response.outcomes.errors().next();
        let error = error.filter(|error| error.kind() == ResponseKind::Timeout);
        let answer = match (error, &progress.borrow().replies) {
            (Some(error), Some(replies)) => {
                let (json, kind) = (timeout_json(error, replies), ResponseKind::Timeout);
                let error = RpcError::Host { json, kind, unreached: Some(hash) };
                Answer::error(label, &id, error)
            }
            _ => Answer::of_response(response),
        };
        Answer { retry_after, ..answer }
    }

    /// What comes of a transaction, which is sent unless it is already; `None` at the limit
    fn start(
        self: &Arc<Self>,
        queries: &Arc<Queries>,
        context: &RequestContext,
        signed: EncodedTransaction,
        permit: BodyPermit,
    ) -> Option<watch::Receiver<Progress>> {
        let hash = signed.hash();
        let mut running = lock(&self.submissions.running);
        if let Some(progress) = running.get(&hash) {
            return Some(progress.clone());
        }
        if running.len() >= MAX_RUNNING {
            return None;
        }
        let (sender, progress) = watch::channel(Progress::default());
        running.insert(hash, progress.clone());
        drop(running);
        let (upstreams, queries) = (Arc::clone(self), Arc::clone(queries));
        // The submission outlives the request, and is still part of it.
        let context = context.clone();
        let submit = async move {
            let _counted = permit;
            let guard = Running { upstreams: &upstreams, hash };
            let end = tokio::select! {
                end = upstreams.send(&queries, &context, &signed, &sender) => end,
                end = wait(&queries, &context, signed.clone()) => end,
                () = queries.chain.shutdown_signal() => End::GivenUp,
            };
            if matches!(end, End::Included) {
                sender.send_modify(|progress| progress.replies = None);
            }
            upstreams.submissions.ended(end);
            drop(guard);
        };
        tokio::spawn(submit);
        Some(progress)
    }

    /// Sends a transaction to the upstreams until they refuse it together
    async fn send(
        &self,
        queries: &Arc<Queries>,
        context: &RequestContext,
        signed: &EncodedTransaction,
        progress: &watch::Sender<Progress>,
    ) -> End {
        let request = {
            let mut base64 = String::new();
            base64::encode(signed.as_bytes(), &mut base64);
            let params = format!(r#"{{"signed_tx_base64":"{base64}","wait_until":"INCLUDED"}}"#);
            call::request(&RequestId::default(), "send_tx", &params)
        };
        let base = signed.decode().transaction().block_hash;
        let (start, mut head) = (Instant::now(), queries.chain.head());
        let mut own = OwnChain::default();
        let mut replies = SubmissionResponses::new(self.pool.len());
        let mut sent = FuturesUnordered::new();
        loop {
            let now = start.elapsed();
            while let Some(index) = replies.ask(now) {
                let request = &request;
                sent.push(async move { (index, self.send_to(index, request, context).await) });
            }
            let text = replies.to_string();
            progress.send_if_modified(|progress| {
                let is_new = progress.replies.as_deref() != Some(&text);
                progress.replies = Some(text.into());
                is_new
            });
            own.head = *head.borrow_and_update();
            if !own.has_recent_base && replies.refusing_base().next().is_some() {
                own.has_recent_base = is_recent(queries, base).await;
            }
            for index in replies.refusing_base().filter(|_| own.has_recent_base) {
                let text = "INVALID_TRANSACTION Expired, with a base block that is recent here";
                self.pool.note(
                    index,
                    Topic::Submission,
                    Some((UpstreamErrorKind::Contradicted, text)),
                );
            }
            if let Some(refusal) = replies.refusal(now, own) {
                if is_in_a_block(queries, context.network, signed.hash()).await {
                    return End::Included;
                }
                progress.send_modify(|progress| progress.verdict = refusal.error.clone());
                return End::Invalid;
            }
            let next = replies.next(now).map(|next| start + next);
            tokio::select! {
                Some((index, reply)) = sent.next() => {
                    replies.insert(index, reply, start.elapsed(), queries.chain.head_height());
                }
                () = time::sleep_until(next.unwrap_or(start)), if next.is_some() => {}
                Ok(()) = head.changed() => {}
            }
        }
    }

    /// The reply of one upstream to a transaction; `None` if it could not be sent
    async fn send_to(
        &self,
        index: usize,
        request: &Bytes,
        context: &RequestContext,
    ) -> Option<SubmissionResponse> {
        let id = RequestId::default();
        let exchange = match self.pool.exchange_with(index, request, &id, context).await {
            Ok(exchange) => exchange,
            Err(failure) => return SubmissionResponse::of_failure(&failure),
        };
        // An error is shorter than a response that is not whole.
        let whole = exchange.rest.is_none().then_some(&exchange.first);
        let error = whole.and_then(|body| Envelope::read(body, &id).ok()?.error);
        let reply = error.map_or_else(SubmissionResponse::accepted, |error| {
            SubmissionResponse::of_error(error.get())
        });
        match reply.meaning {
            Meaning::Accepted => self.pool.note(index, Topic::Submission, None),
            Meaning::Failed => {
                self.pool.note(
                    index,
                    Topic::Submission,
                    Some((UpstreamErrorKind::NoAnswer, &reply.text)),
                );
            }
            Meaning::Rejected(_) | Meaning::Busy => {}
        }
        Some(reply)
    }
}

impl Submissions {
    fn ended(&self, end: End) {
        self.ends[end as usize].inc();
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Transactions that are being sent to upstreams";
        gauge(registry, "submissions_running", help, Some(lock(&self.running).len()));
        let help = "Transactions that were submitted, by what came of them";
        family(registry, "submissions", help, labelled("end", ENDS, &self.ends));
    }
}

/// The entry of a transaction that is sent, which is removed when this is dropped
struct Running<'upstreams> {
    upstreams: &'upstreams Upstreams,
    hash: CryptoHash,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        lock(&self.upstreams.submissions.running).remove(&self.hash);
    }
}

/// The transaction of a call and the milestone that it names
fn read(call: &Call) -> Result<(EncodedTransaction, Milestone), Error> {
    // By the params of `tx`, which can have a hash in place of the transaction.
    let request = StatusRequest::from_params(call.params.as_deref())?;
    match request.transaction {
        TransactionRef::Signed(signed) => Ok((signed, request.wait_until)),
        TransactionRef::Hash { .. } => {
            Err(Error::new(ErrorKind::Schema, "a hash, expected signed_tx_base64").at("params"))
        }
    }
}

/// A call for the status of a transaction, whose result has no receipts
fn status_call(id: &RequestId, transaction: TransactionRef, wait_until: Milestone) -> MethodCall {
    let method =
        Method::TransactionStatus(StatusRequest { transaction, wait_until, receipts: false });
    MethodCall { id: id.clone(), method_name: None, method }
}

/// The answer to a call that does not wait
fn sent(id: &RequestId, submit: Submit, hash: CryptoHash) -> Answer {
    let result = match submit {
        Submit::Async => format!("\"{hash}\""),
        _ => r#"{"final_execution_status":"NONE"}"#.to_owned(),
    };
    Answer::of_response(Response::result(id, |out| out.extend_from_slice(result.as_bytes())))
}

/// The time-out of a call, with the reply of each upstream
///
/// They are in `data`, which clients read as any JSON; older ones look for `Timeout error` in it.
fn timeout_json(error: &RpcError, replies: &str) -> String {
    let info = error.info().map_or_else(String::new, |info| format!(r#""info":{info},"#));
    let data = Value::from(format!("Timeout error: {replies}"));
    format!(
        r#"{{"name":"HANDLER_ERROR","cause":{{{info}"name":"TIMEOUT_ERROR"}},"code":-32000,"message":"Server error","data":{data}}}"#
    )
}

/// The answer to a call whose transaction the upstreams refuse, with the `error` of one
fn refused(id: &RequestId, error: &str) -> Answer {
    let (json, kind) = (error.to_owned(), ResponseKind::Handler);
    Answer::error(MethodLabel::OTHER, id, RpcError::Host { json, kind, unreached: None })
}

fn is_error(response: &Response) -> bool {
    response.outcomes.errors().next().is_some()
}

/// Answers a call about a transaction that was refused here, and is sent again: when it is
/// executed, or at the deadline with the refusal
async fn after_refusal(
    queries: &Arc<Queries>,
    call: MethodCall,
    hash: CryptoHash,
    mut progress: watch::Receiver<Progress>,
    options: WaitOptions<'_>,
) -> Answer {
    let deadline = options.since + options.timeout.unwrap_or(queries.chain.waits.timeout);
    let client = options.context.network;
    let call = tokio::select! {
        biased;
        () = until_executed(queries, client, hash) => call,
        error = verdict(&mut progress) => return refused(&call.id, &error),
        () = time::sleep_until(deadline) => status_call(
            &call.id,
            TransactionRef::Hash { hash, sender: None },
            Milestone::None,
        ),
        () = queries.chain.shutdown_signal() => {
            return Answer::error(MethodLabel::OTHER, &call.id, RpcError::Stopping { hash });
        }
    };
    let state = match requests::evaluate_with_wait(queries, client, call).await {
        RequestState::Ready(response) => RequestState::Ready(ResponseBody::Contiguous(response)),
        RequestState::Pending(pending) => RequestState::Pending(pending),
    };
    waiting::complete(queries, MethodLabel::OTHER, state, options).await
}

/// The `error` with which the upstreams refuse the transaction; never, if the sending ends without
/// one
async fn verdict(progress: &mut watch::Receiver<Progress>) -> Arc<str> {
    let given = progress.wait_for(|progress| progress.verdict.is_some()).await;
    let verdict = given.ok().and_then(|progress| progress.verdict.clone());
    match verdict {
        Some(verdict) => verdict,
        None => core::future::pending().await,
    }
}

/// The answer at the limit of transactions that are sent at a time
fn too_many(id: &RequestId) -> Answer {
    let detail = format!("{MAX_RUNNING} transactions are being sent already");
    unavailable(id, UpstreamError::not_asked(detail, Some(Duration::from_secs(1))), None)
}

/// Whether a transaction was refused when it was included here, and not executed since
async fn is_refused(queries: &Arc<Queries>, client: IpAddr, hash: CryptoHash) -> bool {
    let (include, end) = (Include::default(), ProofEnd::default());
    let status = queries.compact_status(client, hash, include, end).await;
    matches!(status, Ok((Some(summary), _)) if summary.is_refusal())
}

/// Returns once a transaction is not one that was refused
async fn until_executed(queries: &Arc<Queries>, client: IpAddr, hash: CryptoHash) {
    let mut head = queries.chain.head();
    head.mark_unchanged();
    while is_refused(queries, client, hash).await {
        if head.changed().await.is_err() {
            core::future::pending::<()>().await;
        }
    }
}

/// Returns once a transaction is in a block here or can never be, or is not sent any more
async fn wait(queries: &Arc<Queries>, context: &RequestContext, signed: EncodedTransaction) -> End {
    let client = context.network;
    let deadline = Instant::now() + MAX_TIME;
    if time::timeout_at(deadline, until_executed(queries, client, signed.hash())).await.is_err() {
        return End::GivenUp;
    }
    let transaction = TransactionRef::Signed(signed);
    let call = status_call(&RequestId::default(), transaction, Milestone::Included);
    let response = match requests::evaluate_with_wait(queries, client, call).await {
        RequestState::Ready(response) => response,
        RequestState::Pending(pending) => {
            let options = WaitOptions {
                context,
                since: Instant::now(),
                timeout: Some(MAX_TIME),
                is_request: false,
            };
            waiting::wait(queries, pending, options).await.output
        }
    };
    match response.outcomes.errors().next() {
        None => End::Included,
        Some(RpcError::InvalidTransaction { reason: InvalidTransaction::Expired, .. }) => {
            End::Expired
        }
        Some(error) if error.kind() == ResponseKind::Handler => End::Invalid,
        // As when too many requests wait: it is sent without a look at the blocks.
        _ => {
            time::sleep_until(deadline).await;
            End::GivenUp
        }
    }
}

/// Whether a block is in the chain here, and a transaction with this base block not expired
async fn is_recent(queries: &Arc<Queries>, base: CryptoHash) -> bool {
    let query = move |queries: &Queries| {
        let height = height_in_chain(base, &queries.chain.store().snapshot()).ok()??;
        let rules = TransactionRules::read(&queries.chain.config(base)?).ok()?;
        Some(!rules.is_expired(height, queries.chain.head_height()))
    };
    queries.run(false, query).await.flatten().unwrap_or(false)
}

async fn is_in_a_block(queries: &Arc<Queries>, client: IpAddr, hash: CryptoHash) -> bool {
    let transaction = TransactionRef::Hash { hash, sender: None };
    let call = status_call(&RequestId::default(), transaction, Milestone::None);
    let state = requests::evaluate_with_wait(queries, client, call).await;
    matches!(state, RequestState::Ready(response) if !is_error(&response))
        && !is_refused(queries, client, hash).await
}
