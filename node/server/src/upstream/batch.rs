//! A batch with calls that the engine does not answer.
//!
//! Each of them is answered here, several at a time. The engine then answers the others, from rows
//! that are no older, and puts all responses in the order of the calls.

use alloc::sync::Arc;
use core::time::Duration;
use std::io;
use std::sync::Mutex;

use futures_util::{StreamExt as _, stream};
use milepost::endpoint::{Response, ResponseBody};
use milepost::rpc::{RequestId, RpcError};

use super::Upstreams;
use super::call::Call;
use super::pool::{Envelope, MAX_RESPONSE};
use crate::chain::STOPPING;
use crate::locks::lock;
use crate::queries::waiting::{self, Answer, AnswerBody, WaitOptions};
use crate::queries::{ParsedRequest, Queries};
use crate::request::MemoryPermit;

/// Calls of a batch that are answered at a time
const CONCURRENCY: usize = 16;

/// What is kept of the responses to a batch until the last one is there
struct ResponseBudget {
    /// Not more than one response can have
    length: usize,
    /// Counts as much
    memory: MemoryPermit,
}

impl ResponseBudget {
    fn grow(&mut self, more: usize) -> io::Result<()> {
        let length = self.length.saturating_add(more);
        if length > MAX_RESPONSE {
            let message = format!("the responses to the batch have more than {MAX_RESPONSE} bytes");
            return Err(io::Error::other(message));
        }
        self.memory.count(length)?;
        self.length = length;
        Ok(())
    }

    fn shrink(&mut self, less: usize) {
        self.length -= less;
        self.memory.shrink_to(self.length);
    }
}

/// Answers a batch; `memory` is for what is kept of the responses
pub(super) async fn respond(
    upstreams: &Arc<Upstreams>,
    queries: &Arc<Queries>,
    mut parsed: ParsedRequest,
    options: WaitOptions<'_>,
    memory: MemoryPermit,
) -> Answer {
    let own = |call: &_| Call::new(call, &parsed.body);
    let calls: Vec<Option<Call>> = parsed.request.calls_mut().map(|call| own(call)).collect();
    let kept = &Mutex::new(ResponseBudget { length: 0, memory });
    let answers = stream::iter(calls).map(|call| async move {
        let call = call?;
        let id = call.id.clone();
        let answer = upstreams.answer(queries, call, options).await;
        Some((answer.retry_after, value(queries, answer.body, &id, kept).await))
    });
    let answers: Vec<_> = answers.buffered(CONCURRENCY).collect().await;
    let mut retry_after: Option<Duration> = None;
    for (call, answer) in parsed.request.calls_mut().zip(answers) {
        let Some((pause, value)) = answer else { continue };
        // After the longest pause all of them may succeed.
        retry_after = retry_after.max(pause);
        call.answer(value);
    }
    let answer = waiting::respond(queries, parsed, options).await;
    Answer { retry_after: answer.retry_after.max(retry_after), ..answer }
}

/// The result or the error of an answer, within what the batch may keep
async fn value(
    queries: &Queries,
    body: AnswerBody,
    id: &RequestId,
    kept: &Mutex<ResponseBudget>,
) -> Result<Arc<[u8]>, RpcError> {
    let mut length = 0;
    let mut count = |whole: usize| {
        lock(kept).grow(whole - length)?;
        length = whole;
        Ok(())
    };
    let unavailable =
        |error: io::Error| RpcError::Unavailable { message: error.to_string(), unreached: None };
    match body {
        AnswerBody::Whole(ResponseBody::Contiguous(Response { body, outcomes })) => {
            count(body.len()).map_err(unavailable)?;
            // A call has one response.
            let outcome = outcomes.only();
            match outcome.and_then(|outcome| outcome.error.as_deref()) {
                Some(error) => Err(error.clone()),
                None => {
                    let value = outcome.and_then(|outcome| body.get(outcome.value.clone()));
                    Ok(value.unwrap_or_default().into())
                }
            }
        }
        AnswerBody::Whole(ResponseBody::Chunks([_, head, tail, _])) => {
            Ok([head, tail].concat().into())
        }
        AnswerBody::Upstream(body) => {
            let status = body.kind.http_status();
            let whole = tokio::select! {
                biased;
                whole = body.into_whole(&mut count) => whole,
                () = queries.chain.shutdown_signal() => Err(io::Error::other(STOPPING)),
            };
            match whole {
                Ok(body) => {
                    Envelope::value(&body, id, status).map(|result| result.as_bytes().into())
                }
                Err(error) => {
                    lock(kept).shrink(length);
                    Err(unavailable(error))
                }
            }
        }
    }
}
