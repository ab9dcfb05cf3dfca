//! The envelope of a response: the bytes around its result or error.
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

/// Appends the member `id` of a response and closes it
pub(super) fn write_suffix(id: &RequestId, out: &mut Vec<u8>) {
    response_suffix(id).into_iter().for_each(|part| out.extend_from_slice(part));
}

/// Appends `text` as a JSON string
pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(json::write(text).as_bytes());
}
