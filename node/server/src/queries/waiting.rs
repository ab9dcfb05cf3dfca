//! Pending requests: each waits until its condition may be met, its deadline passes, or the service
//! shuts down.
//!
//! A request is evaluated, handed to the endpoint, woken and evaluated again, all in the task of
//! its connection; a client that disconnects drops the task and so cancels the request. What wakes
//! a request, and why it stops waiting, is decided by the endpoint. One task handles all timeouts.

use alloc::sync::Arc;
use core::mem;
use core::time::Duration;
use std::io;

use hyper::body::Bytes;
use milepost::endpoint::{PendingRequest, RequestState, Response, ResponseBody};
use milepost::rpc::{RequestId, ResponseKind, RpcError};
use milepost::waiting::RequestHandle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{self, Instant};

use super::requests::{self, ParsedRequest};
use super::{Queries, Read};
use crate::chain::Chain;
use crate::errors::panic_response;
use crate::metrics::{MethodLabel, WaitEnd};
use crate::request::RequestContext;
use crate::waits::Wakeup;

/// The response to a request body
pub(crate) struct Answer {
    /// The method, as a label
    pub(crate) label: MethodLabel,
    pub(crate) body: AnswerBody,
    /// When a retry may succeed, if that is known
    pub(crate) retry_after: Option<Duration>,
}

/// The body of an answer
pub(crate) enum AnswerBody {
    /// It is complete
    Whole(ResponseBody),
    /// An upstream still sends it, to be passed on as it is
    Upstream(UpstreamBody),
}

/// A long response of an upstream
pub(crate) struct UpstreamBody {
    /// Its beginning
    pub(crate) first: Vec<u8>,
    /// What comes after it
    pub(crate) rest: Rest,
    pub(crate) kind: ResponseKind,
}

/// The rest of a response that an upstream sends; an error if it breaks off
pub(crate) type Rest = mpsc::Receiver<io::Result<Bytes>>;

impl UpstreamBody {
    /// The whole body; an error if it breaks off
    ///
    /// `count` is called with the length as it grows, and may refuse it.
    pub(crate) async fn into_whole(
        self,
        mut count: impl FnMut(usize) -> io::Result<()>,
    ) -> io::Result<Vec<u8>> {
        let (mut body, mut rest) = (self.first, self.rest);
        count(body.len())?;
        while let Some(piece) = rest.recv().await {
            let piece = piece?;
            count(body.len() + piece.len())?;
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

impl AnswerBody {
    /// The kind of the response
    pub(crate) fn kind(&self) -> ResponseKind {
        match self {
            Self::Whole(body) => body.kind(),
            Self::Upstream(body) => body.kind,
        }
    }

    /// The errors in the response, apart from that of an upstream which still sends it
    pub(crate) fn errors(&self) -> impl Iterator<Item = &RpcError> {
        let whole = match self {
            Self::Whole(body) => Some(body),
            Self::Upstream(_) => None,
        };
        whole.into_iter().flat_map(ResponseBody::errors)
    }

    /// Whether a transaction is unknown
    pub(crate) fn has_unknown_transaction(&self) -> bool {
        self.errors().any(|error| matches!(error, RpcError::UnknownTransaction { .. }))
    }

    /// All bytes, those that an upstream still sends included
    ///
    /// `count` is called with the length as it grows, and may refuse it.
    pub(crate) async fn into_bytes(
        self,
        mut count: impl FnMut(usize) -> io::Result<()>,
    ) -> io::Result<Vec<u8>> {
        match self {
            Self::Whole(body) => {
                let bytes = match body {
                    ResponseBody::Contiguous(response) => response.body,
                    ResponseBody::Chunks(chunks) => chunks.concat(),
                };
                count(bytes.len())?;
                Ok(bytes)
            }
            Self::Upstream(body) => body.into_whole(count).await,
        }
    }
}

impl Answer {
    /// An answer whose body is complete
    pub(crate) const fn new(label: MethodLabel, body: ResponseBody) -> Self {
        Self { label, body: AnswerBody::Whole(body), retry_after: None }
    }

    /// The answer of the server itself to a call
    pub(crate) const fn of_response(response: Response) -> Self {
        Self::new(MethodLabel::OTHER, ResponseBody::Contiguous(response))
    }

    /// An answer that is an error
    pub(crate) fn error(label: MethodLabel, id: &RequestId, error: RpcError) -> Self {
        Self::new(label, ResponseBody::Contiguous(Response::error(id, error)))
    }
}

/// Whose request it is, and how long it waits
#[derive(Clone, Copy)]
pub(crate) struct WaitOptions<'context> {
    pub(crate) context: &'context RequestContext,
    /// When it was received
    pub(crate) since: Instant,
    /// Time from then to its deadline; `None` for that of the server
    pub(crate) timeout: Option<Duration>,
    /// Whether a client waits, so that the wait is counted
    pub(crate) is_request: bool,
}

/// Answers a request: immediately, when its milestone is reached, at its deadline, or when the
/// service shuts down
pub(crate) async fn respond(
    queries: &Arc<Queries>,
    parsed: ParsedRequest,
    options: WaitOptions<'_>,
) -> Answer {
    let label = parsed.label;
    let client = options.context.network;
    let Read { output, retry_after } = requests::evaluate(queries, client, parsed).await;
    let answer = complete(queries, label, output, options).await;
    Answer { retry_after: answer.retry_after.or(retry_after), ..answer }
}

/// The answer to a request that was evaluated, after its wait if it has to wait
pub(crate) async fn complete(
    queries: &Arc<Queries>,
    label: MethodLabel,
    state: RequestState<ResponseBody>,
    options: WaitOptions<'_>,
) -> Answer {
    match state {
        RequestState::Ready(body) => Answer::new(label, body),
        // Boxed, so that requests which do not wait have a smaller future.
        RequestState::Pending(pending) => {
            let Read { output, retry_after } = Box::pin(wait(queries, pending, options)).await;
            Answer { retry_after, ..Answer::new(label, ResponseBody::Contiguous(output)) }
        }
    }
}

/// An error of the server, which a retry may not meet
pub(crate) fn unavailable(label: MethodLabel, id: &RequestId, message: String) -> Answer {
    Answer::error(label, id, RpcError::Unavailable { message, unreached: None })
}

/// Waits until a pending request has a response
pub(crate) async fn wait(
    queries: &Arc<Queries>,
    pending: PendingRequest,
    options: WaitOptions<'_>,
) -> Read<Response> {
    let (mut entry, mut woken) = Entry::new(&queries.chain, pending, options);
    loop {
        // The sender is dropped unused only with the entry, which is still there.
        let Ok(Wakeup { evaluation, commit }) = woken.await else {
            return Read { output: panic_response(), retry_after: None };
        };
        let end_reason = evaluation.end_reason();
        let Read { output, retry_after } =
            requests::evaluate_again(queries, options.context.network, evaluation).await;
        match output {
            RequestState::Ready(response) => {
                entry.end = WaitEnd::of(end_reason);
                if let Some(commit) = commit {
                    commit.answered();
                }
                return Read { output: response, retry_after };
            }
            RequestState::Pending(pending) => woken = entry.wait_again(pending),
        }
    }
}

/// The entry of a request at the endpoint, which is removed when this is dropped
struct Entry<'chain> {
    chain: &'chain Chain,
    handle: RequestHandle,
    is_request: bool,
    /// Whether the request is counted as waiting
    has_waited: bool,
    end: WaitEnd,
}

impl<'chain> Entry<'chain> {
    /// Hands in a request; the receiver resolves when it is to be evaluated again
    fn new(
        chain: &'chain Chain,
        pending: PendingRequest,
        options: WaitOptions<'_>,
    ) -> (Self, oneshot::Receiver<Wakeup>) {
        let (sender, woken) = oneshot::channel();
        let received = chain.waits.time_of(options.since);
        // At most a year of milliseconds, which fits.
        let timeout = options.timeout.map(|timeout| timeout.as_millis() as u64);
        let (handle, woken_count) = chain
            .waits
            .call(None, |endpoint| endpoint.handle_pending(received, pending, timeout, sender));
        let (is_request, end) = (options.is_request, WaitEnd::Disconnected);
        let mut entry = Self { chain, handle, is_request, has_waited: false, end };
        entry.count(woken_count);
        (entry, woken)
    }

    /// Hands in a request that was evaluated again
    fn wait_again(&mut self, pending: PendingRequest) -> oneshot::Receiver<Wakeup> {
        let (sender, woken) = oneshot::channel();
        let state = RequestState::Pending(pending);
        let ((), woken_count) = self.chain.waits.call(None, |endpoint| {
            endpoint.handle_evaluation(self.handle, state, sender);
        });
        self.count(woken_count);
        woken
    }

    /// Counts the request as waiting, unless it was woken at once
    fn count(&mut self, woken_count: usize) {
        if self.is_request && woken_count == 0 && !mem::replace(&mut self.has_waited, true) {
            self.chain.metrics.pending.inc();
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.chain.waits.call(None, |endpoint| endpoint.cancel(self.handle));
        if self.has_waited {
            self.chain.metrics.wait_ended(self.end);
        }
    }
}

/// Wakes expired requests, until the service shuts down
pub(crate) async fn run_timeouts(chain: Arc<Chain>) {
    loop {
        let next = chain.waits.next_timeout();
        let timeout = async {
            match next {
                Some(at) => time::sleep_until(chain.waits.start + Duration::from_millis(at)).await,
                None => core::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = timeout => chain.waits.handle_timeout(),
            // A notification since `next_timeout` was read is stored, so it is not missed.
            () = chain.waits.earlier_timeout.notified() => {}
            () = chain.shutdown_signal() => return,
        }
    }
}
