//! JSON-RPC requests as queries: parsed once, evaluated as often as they have to wait.
//!
//! A body is kept with the calls in it, because the params of the server's own methods are read
//! from it and because it counts of the memory of clients.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::cell::Cell;
use core::net::IpAddr;

use milepost::endpoint::{
    Buffers, Engine, Evaluation, RequestState, Response, ResponseBody, UnknownTransaction,
};
use milepost::rpc::{InvalidRequest, Method, MethodCall, Request, RequestId};

use super::{Queries, Read};
use crate::archive::{self, QuerySnapshot};
use crate::errors::{FailedRequests, QueryError, panic_response};
use crate::metrics::MethodLabel;
use crate::request::{BUFFERS, RequestBody};

/// Larger bodies are processed on the blocking thread pool: a batch of many requests or a large
/// transaction takes longer than handing it over (some 20 us)
const MAX_INLINE_BODY: usize = 32 << 10;

/// Results from this size on are sent from the row that holds them in memory: below, copying one
/// costs less than keeping its chunks together
const MIN_CHUNKED_RESPONSE: usize = 16 << 10;

/// A request body and its calls
pub(crate) struct ParsedRequest {
    pub(crate) request: Request,
    /// The method, as a label
    pub(crate) label: MethodLabel,
    pub(crate) body: RequestBody,
}

impl ParsedRequest {
    /// The id of the response to the request as a whole
    pub(crate) fn id(&self) -> RequestId {
        match &self.request {
            Request::Single(Ok(MethodCall { id, .. }) | Err(InvalidRequest { id, .. })) => {
                id.clone()
            }
            _ => RequestId::null(),
        }
    }

    /// The call, if it is one of a method that the engine does not have: its id, its name, and its
    /// params as JSON
    pub(crate) fn other_method(&self) -> Option<(&RequestId, &str, Option<&str>)> {
        match &self.request {
            Request::Single(Ok(call)) => other_method(call, &self.body),
            _ => None,
        }
    }
}

/// The id, the name and the params of a call in this body, if the engine does not have its method
pub(crate) fn other_method<'call>(
    call: &'call MethodCall,
    body: &'call RequestBody,
) -> Option<(&'call RequestId, &'call str, Option<&'call str>)> {
    let Method::Other(other) = &call.method else { return None };
    // The engine has found the params in this body, which is UTF-8.
    let params = other.params.clone().and_then(|place| body.as_ref().get(place));
    let params = params.and_then(|params| str::from_utf8(params).ok());
    Some((&call.id, &other.name, params))
}

/// Parses a request body on this thread
pub(crate) fn parse_inline(
    queries: &Queries,
    body: RequestBody,
    url_method: Option<&str>,
) -> ParsedRequest {
    let request = queries.chain.engine_of_store().parse(body.as_ref(), url_method);
    let label = MethodLabel::of_request(&request, url_method);
    ParsedRequest { request, label, body }
}

/// Parses a request body, a large one on the blocking pool
pub(crate) async fn parse(
    queries: &Arc<Queries>,
    body: RequestBody,
    url_method: Option<Cow<'static, str>>,
) -> ParsedRequest {
    if body.as_ref().len() > MAX_INLINE_BODY {
        let (long, url) = (body.clone(), url_method.clone());
        let parse = move |queries: &Queries| parse_inline(queries, long, url.as_deref());
        if let Some(parsed) = queries.run(true, parse).await {
            return parsed;
        }
    }
    parse_inline(queries, body, url_method.as_deref())
}

/// Answers a request of a client of this network, or returns it as pending; large ones run on the
/// blocking pool
pub(crate) async fn evaluate(
    queries: &Arc<Queries>,
    client: IpAddr,
    parsed: ParsedRequest,
) -> Read<RequestState<ResponseBody>> {
    let is_long = parsed.body.as_ref().len() > MAX_INLINE_BODY;
    let (request, body) = (Cell::new(Some(parsed.request)), parsed.body);
    let query = move |queries: &Queries, snapshot: &QuerySnapshot<'_>| {
        let _counted = &body;
        let chain = &queries.chain;
        let engine = chain.engine();
        // Run a second time only if it needs the archive.
        let parsed = request.take();
        if chain.archive().is_some() {
            request.set(parsed.clone());
        }
        let parsed = parsed.unwrap_or(Request::Batch(Vec::new()));
        if chain.store().file().is_none() {
            return engine.respond_chunks(parsed, snapshot, MIN_CHUNKED_RESPONSE);
        }
        let (mut body, buffers) = (BUFFERS.take(), &mut Buffers::default());
        match engine.respond_into(parsed, snapshot, buffers, &mut body) {
            RequestState::Ready(outcomes) => {
                let response = Response { body: BUFFERS.written(body), outcomes };
                RequestState::Ready(ResponseBody::Contiguous(response))
            }
            RequestState::Pending(pending) => {
                // Nothing was: the buffer is for others.
                BUFFERS.written(body);
                RequestState::Pending(pending)
            }
        }
    };
    let read = queries.read(is_long, client, query).await;
    let panicked = || ResponseBody::Contiguous(panic_response());
    noted(queries, read, panicked, |body, failed| failed.note_errors(body.errors()))
}

/// Evaluates a call for the status of a transaction; one that is in no block is waited for,
/// whatever the setting is
pub(crate) async fn evaluate_with_wait(
    queries: &Arc<Queries>,
    client: IpAddr,
    call: MethodCall,
) -> RequestState {
    let query = move |queries: &Queries, snapshot: &QuerySnapshot<'_>| {
        let settings = queries.chain.engine().settings().with_unknown(UnknownTransaction::Wait);
        Engine::new(settings).respond(Request::Single(Ok(call.clone())), snapshot)
    };
    noted_response(queries, queries.read(false, client, query).await).output
}

/// Evaluates a pending request of a client of this network again
pub(crate) async fn evaluate_again(
    queries: &Arc<Queries>,
    client: IpAddr,
    evaluation: Evaluation,
) -> Read<RequestState> {
    let query = evaluation.into_query();
    let held = move |queries: &Queries| {
        archive::run_request(query, &archive::without_archive(queries.chain.store()), false)
    };
    let read = match queries.run(false, held).await {
        Some(Ok(output)) => Some(Read { output, retry_after: None }),
        // It continues where it was suspended.
        Some(Err(query)) => {
            let blocking = |_: &Queries, snapshot: &QuerySnapshot<'_>| {
                archive::run_request(*query, snapshot, true).ok()
            };
            let read = queries.run_with_archive(client, blocking).await;
            read.and_then(|Read { output, retry_after }| {
                output.map(|output| Read { output, retry_after })
            })
        }
        None => None,
    };
    noted_response(queries, read)
}

fn noted_response(queries: &Queries, read: Option<Read<RequestState>>) -> Read<RequestState> {
    noted(queries, read, panic_response, |response, failed| {
        failed.note_errors(response.outcomes.errors());
    })
}

/// The output of a query, whose failures are noted; without one, it panicked
fn noted<B>(
    queries: &Queries,
    read: Option<Read<RequestState<B>>>,
    panicked: impl FnOnce() -> B,
    note: impl FnOnce(&B, &FailedRequests),
) -> Read<RequestState<B>> {
    let Some(read) = read else {
        queries.failed.note_error(&QueryError::Panicked);
        return Read { output: RequestState::Ready(panicked()), retry_after: None };
    };
    if let RequestState::Ready(body) = &read.output {
        note(body, &queries.failed);
    }
    read
}
