//! Writing answers: the envelope around a result, and the array around a batch.
//!
//! Compact JSON, members in the order of a node: `jsonrpc`, `result` or `error`, `id`.

use alloc::vec::Vec;

use super::RequestId;
use crate::codec::json;

/// What stands before the result of an answer
pub(crate) const BEFORE_RESULT: &[u8] = br#"{"jsonrpc":"2.0","result":"#;

/// What stands behind the result of an answer, or behind its error, in pieces: the id and what closes it
pub(crate) fn behind_result(id: &RequestId) -> [&[u8]; 3] {
    [br#","id":"#, id.as_bytes(), b"}"]
}

/// Appends the answer with this result to `out`
///
/// `result` appends exactly one JSON value.
///
/// ```
/// use milepost::rpc::{RequestId, write_result};
///
/// let mut body = Vec::new();
/// write_result(&RequestId::default(), |out| out.extend_from_slice(b"{}"), &mut body);
/// assert_eq!(body, br#"{"jsonrpc":"2.0","result":{},"id":"dontcare"}"#);
/// ```
pub fn write_result(id: &RequestId, result: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    out.extend_from_slice(BEFORE_RESULT);
    result(out);
    write_id(id, out);
}

/// Appends the answer to a batch to `out`: the array of these answers
///
/// ```
/// let mut body = Vec::new();
/// milepost::rpc::write_batch(["1", "2"], &mut body);
/// assert_eq!(body, b"[1,2]");
/// ```
pub fn write_batch<I>(answers: I, out: &mut Vec<u8>)
where
    I: IntoIterator,
    I::Item: AsRef<[u8]>,
{
    out.push(b'[');
    for (index, answer) in answers.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(answer.as_ref());
    }
    out.push(b']');
}

/// Appends the last member of an answer and closes it
pub(super) fn write_id(id: &RequestId, out: &mut Vec<u8>) {
    behind_result(id).into_iter().for_each(|piece| out.extend_from_slice(piece));
}

/// Appends `text` as a JSON string
pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(json::write(text).as_bytes());
}
