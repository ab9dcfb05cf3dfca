//! Writing responses: the envelope around a result, and the array around a batch.
//!
//! Compact JSON, with the members in the order of a NEAR node: `jsonrpc`, `result` or `error`,
//! `id`.

use alloc::vec::Vec;

use super::RequestId;
use crate::codec::json;

/// The bytes of a response before its result
pub(crate) const RESULT_PREFIX: &[u8] = br#"{"jsonrpc":"2.0","result":"#;

/// The bytes of a response after its result or error, in parts: the member `id` and the closing
/// brace
pub(crate) fn response_suffix(id: &RequestId) -> [&[u8]; 3] {
    [br#","id":"#, id.as_bytes(), b"}"]
}

/// Appends a response with this result to `out`
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
    out.extend_from_slice(RESULT_PREFIX);
    result(out);
    write_suffix(id, out);
}

/// Appends the response to a batch to `out`: the array of these responses
///
/// ```
/// let mut body = Vec::new();
/// milepost::rpc::write_batch(["1", "2"], &mut body);
/// assert_eq!(body, b"[1,2]");
/// ```
pub fn write_batch<I>(responses: I, out: &mut Vec<u8>)
where
    I: IntoIterator,
    I::Item: AsRef<[u8]>,
{
    out.push(b'[');
    for (index, response) in responses.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(response.as_ref());
    }
    out.push(b']');
}

/// Appends the member `id` of a response and closes it
pub(super) fn write_suffix(id: &RequestId, out: &mut Vec<u8>) {
    response_suffix(id).into_iter().for_each(|part| out.extend_from_slice(part));
}

/// Appends `text` as a JSON string
pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(json::write(text).as_bytes());
}
