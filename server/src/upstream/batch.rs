//! A batch with calls that the engine does not answer.
//!
//! Each of them is answered by itself, those of the engine together, and the responses are put in
//! the order of the calls. A batch without such calls is left to the engine.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::mem;
use std::io;
use std::sync::{Mutex, PoisonError};

use futures_util::{StreamExt as _, future, stream};
use hyper::body::Bytes;
use milepost::endpoint::{Response, ResponseBody};
use milepost::primitives::CryptoHash;
use milepost::rpc::{Request, ResponseKind, RpcError};
use serde_json::value::RawValue;

use super::Upstreams;
use super::call::Call;
use super::pool::MAX_RESPONSE;
use crate::http::{MemoryPermit, RequestBody};
use crate::metrics::MethodLabel;
use crate::service::Service;
use crate::waiting::{self, Answer, WaitOptions};

/// Calls of a batch that are answered at a time
const CONCURRENCY: usize = 16;

/// What is kept of the responses to a batch until the last one is there
struct Kept {
    /// Not more than one response can have
    length: usize,
    /// Counts as much
    memory: MemoryPermit,
}

impl Kept {
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

/// Answers a body that is an array; `memory` is for what is kept of the responses
pub(super) async fn respond(
    upstreams: &Arc<Upstreams>,
    service: &Arc<Service>,
    body: RequestBody,
    url_method: Option<Cow<'static, str>>,
    options: WaitOptions,
    memory: MemoryPermit,
) -> Answer {
    let url = url_method.as_deref();
    let (request, texts) = (service.parse(body.as_ref(), url), body.as_ref());
    let texts: Vec<&RawValue> = serde_json::from_slice(texts).unwrap_or_default();
    let calls: Vec<Option<Call>> = match &request {
        Request::Batch(items) => items
            .iter()
            .zip(&texts)
            .map(|(item, text)| {
                Call::read(item.as_ref().err()?, text.get().as_bytes(), url, body.permit())
            })
            .collect(),
        _ => Vec::new(),
    };
    if calls.iter().all(Option::is_none) {
        return waiting::respond(service, body, url_method, options).await;
    }
    let own: Vec<&str> = texts
        .iter()
        .zip(&calls)
        .filter(|(_, call)| call.is_none())
        .map(|(text, _)| text.get())
        .collect();
    let own_body = (!own.is_empty()).then(|| Bytes::from(format!("[{}]", own.join(","))));
    let label = MethodLabel::of_request(&request, None);
    // What was made of the body goes on counting as much, by the permit of each call.
    drop((request, texts));
    drop(body);
    let is_own: Vec<bool> = calls.iter().map(Option::is_none).collect();
    let others: Vec<Call> = calls.into_iter().flatten().collect();
    let of_engine = async {
        let Some(body) = own_body else { return (Vec::new(), Vec::new(), None) };
        let answer = waiting::respond(service, body, url_method, options).await;
        let body = match answer.body {
            ResponseBody::Contiguous(response) => response.body,
            ResponseBody::Chunks(chunks) => chunks.concat(),
        };
        (body, answer.unreached, answer.retry_after)
    };
    let kept = &Mutex::new(Kept { length: 0, memory });
    let others = stream::iter(others).map(|call| async move {
        let id = call.id.clone();
        let answer = upstreams.answer(service, call, options).await;
        let retry_after = answer.retry_after;
        let (body, unreached) = read(answer, kept).await.unwrap_or_else(|error| {
            let mut body = Vec::new();
            RpcError::Unavailable { message: error.to_string() }.write(&id, &mut body);
            (body, Vec::new())
        });
        (body, unreached, retry_after)
    });
    let others = others.buffered(CONCURRENCY).collect::<Vec<_>>();
    // After the longest pause all of them may succeed.
    let ((own_body, mut unreached, mut retry_after), others) =
        future::join(of_engine, others).await;
    // An error of the whole batch is that of each of its calls.
    let own: Vec<&RawValue> = serde_json::from_slice(&own_body).unwrap_or_default();
    let mut own = own.into_iter().map(|item| item.get().as_bytes());
    let mut others = others.into_iter();
    let mut joined = Vec::new();
    for is_own in is_own {
        joined.push(if joined.is_empty() { b'[' } else { b',' });
        match is_own {
            true => joined.extend_from_slice(own.next().unwrap_or(&own_body)),
            false => {
                let (body, of_call, pause) = others.next().unwrap_or_default();
                retry_after = retry_after.max(pause);
                joined.extend_from_slice(&body);
                unreached.extend(of_call);
            }
        }
    }
    joined.push(b']');
    let response = Response { body: joined, kind: ResponseKind::Result };
    let body = ResponseBody::Contiguous(response);
    Answer { retry_after, ..Answer::new(label, body, unreached) }
}

/// The whole body of an answer, within what the batch may keep, and the transactions that it waited
/// for without a result
async fn read(mut answer: Answer, kept: &Mutex<Kept>) -> io::Result<(Vec<u8>, Vec<CryptoHash>)> {
    // No code that can panic runs under this lock.
    let lock = || kept.lock().unwrap_or_else(PoisonError::into_inner);
    let mut length = 0;
    let mut count = |whole: usize| {
        lock().grow(whole - length)?;
        length = whole;
        Ok(())
    };
    let unreached = mem::take(&mut answer.unreached);
    match answer.into_whole(&mut count).await {
        Ok(ResponseBody::Contiguous(response)) => Ok((response.body, unreached)),
        Ok(ResponseBody::Chunks(chunks)) => Ok((chunks.concat(), unreached)),
        Err(error) => {
            lock().shrink(length);
            Err(error)
        }
    }
}
