//! `--forward`: requests whose method the engine does not answer.
//!
//! The engine looks at every request first, so what it answers costs nothing more. The body of a
//! request is in memory within `--body-limit`; a response is passed on while it arrives, with the
//! id of its request.

use alloc::sync::Arc;
use core::time::Duration;

use milepost::endpoint::Response;
use milepost::rpc::Request;
use milepost_feeds::RpcClient;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::call::{Call, unavailable};
use super::methods::Route;
use super::pool::{Envelope, Pool, ResponseRest, UpstreamError, UpstreamResponse, kind_of_status};
use super::submission::Submissions;
use super::{batch, history};
use crate::chain::STOPPING;
use crate::metrics::{MethodLabel, family, labelled};
use crate::queries::ParsedRequest;
use crate::queries::waiting::{self, Answer, AnswerBody, Rest, UpstreamBody, WaitOptions};
use crate::queries::{Queries, Read, requests};
use crate::request::{MemoryPermit, RequestContext};

/// Maximum number of requests that are with the upstreams at a time, each of up to 64 KiB
const MAX_FORWARDED: usize = 512;

/// The upstreams that requests are forwarded to
#[derive(Debug)]
pub(crate) struct Upstreams {
    pub(super) pool: Pool,
    pub(super) submissions: Submissions,
    /// Whether transactions that are unknown here are asked of the upstreams
    pub(super) history: bool,
    /// How many of them an upstream has, and how many none has
    pub(super) history_lookups: [Counter; 2],
    /// One for each request that is with the upstreams, except submitted transactions
    pub(super) permits: Arc<Semaphore>,
}

impl Upstreams {
    pub(crate) fn new(clients: Vec<RpcClient>, timeout: Duration, history: bool) -> Self {
        Self {
            pool: Pool::new(clients, timeout),
            submissions: Submissions::default(),
            history,
            history_lookups: Default::default(),
            permits: Arc::new(Semaphore::new(MAX_FORWARDED)),
        }
    }

    /// Answers a request as [`waiting::respond`] does, and what the engine does not answer by the
    /// upstreams; `memory` is for what is kept of responses until the last one is there
    pub(crate) async fn respond(
        self: &Arc<Self>,
        queries: &Arc<Queries>,
        parsed: ParsedRequest,
        options: WaitOptions<'_>,
        memory: MemoryPermit,
    ) -> Answer {
        let call = match &parsed.request {
            Request::Single(Ok(call)) => call,
            Request::Batch(_) => {
                return batch::respond(self, queries, parsed, options, memory).await;
            }
            _ => return waiting::respond(queries, parsed, options).await,
        };
        if let Some(call) = Call::new(call, &parsed.body) {
            drop(parsed);
            return self.answer(queries, call, options).await;
        }
        let lookup = if self.history { history::Lookup::new(call, &parsed) } else { None };
        let label = parsed.label;
        let client = options.context.network;
        let Read { output: state, retry_after } = requests::evaluate(queries, client, parsed).await;
        if let Some(lookup) = lookup.filter(|_| history::is_unknown(&state)) {
            return history::respond(self, queries, lookup, state, options).await;
        }
        let answer = waiting::complete(queries, label, state, options).await;
        Answer { retry_after: answer.retry_after.or(retry_after), ..answer }
    }

    /// Answers a call that is not for the engine
    pub(super) async fn answer(
        self: &Arc<Self>,
        queries: &Arc<Queries>,
        call: Call,
        options: WaitOptions<'_>,
    ) -> Answer {
        match call.route {
            Route::Forward => self.forward(queries, call, options.context).await,
            Route::Submit(submit) => self.submit(queries, call, submit, options).await,
        }
    }

    /// Passes a call on, and its response back
    async fn forward(&self, queries: &Queries, call: Call, context: &RequestContext) -> Answer {
        let request = call.request();
        let Call { id, permit: _counted, .. } = call;
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            let detail = format!("{MAX_FORWARDED} requests are with the upstreams already");
            let retry_after = Some(Duration::from_secs(1));
            return unavailable(&id, UpstreamError::not_asked(detail, retry_after), None);
        };
        let exchange = tokio::select! {
            biased;
            exchange = self.pool.exchange(&request, &id, context) => exchange,
            () = queries.chain.shutdown_signal() => {
                Err(UpstreamError::not_asked(STOPPING.to_owned(), None))
            }
        };
        let exchange = match exchange {
            Ok(exchange) => exchange,
            Err(error) => return unavailable(&id, error, None),
        };
        let UpstreamResponse { status, first, rest } = exchange;
        let Some(response) = rest else {
            return match Envelope::value(&first, &id, status) {
                Ok(result) => Answer::of_response(Response::result(&id, |out| {
                    out.extend_from_slice(result.as_bytes());
                })),
                Err(error) => Answer::error(MethodLabel::OTHER, &id, error),
            };
        };
        let kind = kind_of_status(status, status != 200);
        let rest = pass_on(response, permit);
        let body = AnswerBody::Upstream(UpstreamBody { first, rest, kind });
        Answer { label: MethodLabel::OTHER, body, retry_after: None }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        self.pool.register(registry);
        self.submissions.register(registry);
        let help = "Transactions unknown here that were asked of an upstream, by result";
        let lookups = labelled("result", ["found", "unknown"], &self.history_lookups);
        family(registry, "upstream_history_lookups", help, lookups);
    }
}

/// Reads the rest of a response while the client takes it, one piece ahead
fn pass_on(mut response: ResponseRest, permit: OwnedSemaphorePermit) -> Rest {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let piece = tokio::select! {
                piece = response.chunk() => piece,
                // The client is gone.
                () = sender.closed() => None,
            };
            let Some(piece) = piece else { break };
            let is_last = piece.is_err();
            if sender.send(piece).await.is_err() || is_last {
                break;
            }
        }
        drop(permit);
    });
    receiver
}
