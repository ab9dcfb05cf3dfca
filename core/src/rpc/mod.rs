//! The JSON-RPC envelope: from the bytes of a request to a checked operation, and back to an
//! answer.
//!
//! Whatever the bytes are, there is an answer for them: nothing here panics, no generic JSON tree
//! is built, and every answer is bounded by the limits of this room, not by the request. The id of
//! a request is kept whenever it can be read, also when everything else is wrong.
//! What an operation means is left to the engine; so is the verdict on a signature.

mod answer;
mod failure;
mod id;
mod method;
mod params;
mod plain;
mod read;
mod request;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

pub(crate) use answer::{BEFORE_RESULT, behind_result};
pub use answer::{write_batch, write_result};
pub use failure::{AnswerClass, Failure, Refusal, TimeoutCause};
pub use id::RequestId;
pub use method::{Operation, method_names};
pub use params::{Lookup, StatusRequest};

use crate::{Error, ErrorKind};
use read::{Members, items, skip_space};
use request::{REQUEST_MEMBERS, call};

/// How much one request body may ask for
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// The most requests in one batch; default 50
    pub max_batch: usize,
}

impl Limits {
    /// The most bytes of a request id: 1 KiB; the longest ids in use are UUIDs of 36 bytes
    pub const ID_BYTES: usize = 1024;
    /// The deepest nesting of a request id; its answer must stay readable for parsers that stop at
    /// 128 levels
    pub const ID_DEPTH: usize = 64;
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_batch: 50 }
    }
}

/// A request whose envelope and params are in order
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "an id and what is asked")]
pub struct Call {
    /// What the answer must carry in `id`
    pub id: RequestId,
    /// What is asked
    pub operation: Operation,
}

/// What the bytes of a request body turned out to be
#[derive(Clone, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "one request, many, or none")]
pub enum Incoming {
    /// One request, to be answered by one object
    Single(Result<Call, Refusal>),
    /// A batch, to be answered by an array with one answer for each item, in this order
    Batch(Vec<Result<Call, Refusal>>),
    /// Not JSON, not a request at all, or a batch that is empty or too long: one object answers
    Refused(Refusal),
}

/// Reads a request body
///
/// `path_method` is the method that the address of the request names, if it names one: a body that
/// names another is refused. Costs time linear in the length of the body; what is returned is
/// owned, and apart from a decoded signed transaction its size does not depend on the body.
///
/// ```
/// use milepost::rpc::{Incoming, Limits, Operation, parse};
///
/// let body = br#"{"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"},"id":7}"#;
/// let Incoming::Single(Ok(call)) = parse(body, None, &Limits::default()) else { panic!() };
/// assert_eq!(call.id.as_json(), "7");
/// assert!(matches!(call.operation, Operation::ProtocolConfig(_)));
/// ```
pub fn parse(body: &[u8], path_method: Option<&str>, limits: &Limits) -> Incoming {
    let text = match core::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => {
            let offset = error.valid_up_to();
            // What stands before the broken byte may well hold the id.
            let before = body.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            let mut request = Members::new(REQUEST_MEMBERS);
            let _ = request.read(before);
            let error = Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(offset);
            return refused(request::readable_id(&request), error);
        }
    };
    match skip_space(text).as_bytes().first() {
        Some(b'{') => {
            if let Some(call) = request::plain_call(text, path_method) {
                return Incoming::Single(Ok(call));
            }
            let mut request = Members::new(REQUEST_MEMBERS);
            match request.read(text) {
                Ok(()) => Incoming::Single(call(&request, path_method)),
                Err(error) => refused(request::readable_id(&request), error),
            }
        }
        Some(b'[') => batch(text, path_method, limits),
        _ => refused(
            RequestId::null(),
            match read::value(text) {
                Ok(value) => request::not_an_object(value),
                Err(error) => error,
            },
        ),
    }
}

fn batch(text: &str, path_method: Option<&str>, limits: &Limits) -> Incoming {
    let (values, count) = match items(text, limits.max_batch) {
        Ok(found) => found,
        Err(error) => return refused(RequestId::null(), error),
    };
    if count == 0 {
        return refused(RequestId::null(), Error::new(ErrorKind::Shape, "batch of no requests"));
    }
    if count > limits.max_batch {
        let detail = alloc::format!("batch of {count} requests, the limit is {}", limits.max_batch);
        return refused(RequestId::null(), Error::new(ErrorKind::Limit, detail));
    }
    let answer = |value: read::Text<'_>| {
        if read::kind(value) != read::Kind::Object {
            return Err(Refusal::of_request(RequestId::null(), request::not_an_object(value)));
        }
        if let Some(call) = request::plain_call(value.get(), path_method) {
            return Ok(call);
        }
        let mut request = Members::new(REQUEST_MEMBERS);
        match request.read_value(value) {
            Ok(()) => call(&request, path_method),
            Err(error) => Err(Refusal::of_request(request::readable_id(&request), error)),
        }
    };
    Incoming::Batch(values.into_iter().map(answer).collect())
}

fn refused(id: RequestId, error: Error) -> Incoming {
    Incoming::Refused(Refusal::of_request(id, error))
}
