//! The buffers through which request and response bodies go in and out of the instance's memory.
//!
//! A large result stays in the row that it was read from, so it is copied once in all: out of the
//! instance's memory into an array of JavaScript. Addresses are valid until the next call into the
//! instance.

use core::ops::Deref as _;

use milepost::endpoint::ResponseBody;
use milepost::rpc::ResponseKind;

use crate::json;

/// A shorter result is joined with its envelope: one small copy is faster than keeping a row
pub(crate) const MIN_CHUNKED_LEN: usize = 4 << 10;

/// Initial capacity of the request buffer in bytes, which nearly all requests fit into
const INITIAL_CAPACITY: usize = 1 << 10;
/// Maximum capacity that is retained from one request to the next
const MAX_RETAINED_CAPACITY: usize = 64 << 10;

/// Chunks of a response, at most
const CHUNKS: usize = 4;

/// The kind of the response, address and length of each of its chunks, the number of its errors
type Table = [u32; 2 + 2 * CHUNKS];

/// Holds the last response until the next one replaces it
#[derive(Debug, Default)]
pub(crate) struct ResponseBuffer {
    body: Option<ResponseBody>,
    /// Boxed, so that its address never changes
    table: Box<Table>,
}

impl ResponseBuffer {
    /// Stores a response and returns its length in bytes
    pub(crate) fn store(&mut self, body: ResponseBody) -> usize {
        let body = self.body.insert(body);
        let kind = body.kind();
        let (errors, chunks): (_, [&[u8]; CHUNKS]) = match body {
            ResponseBody::Contiguous(response) => {
                (response.outcomes.errors().count(), [&response.body, &[], &[], &[]])
            }
            ResponseBody::Chunks(chunks) => (0, chunks.each_ref().map(|chunk| chunk.deref())),
        };
        let [number, entries @ .., error_count] = &mut *self.table;
        *number = kind_number(kind);
        // No more than a batch has calls.
        *error_count = errors as u32;
        for (chunk, entry) in chunks.iter().zip(entries.as_chunks_mut().0) {
            // Addresses and lengths in an instance have 32 bits.
            *entry = [chunk.as_ptr().expose_provenance() as u32, chunk.len() as u32];
        }
        chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// The errors in the last response as JSON text
    pub(crate) fn errors(&self) -> String {
        match &self.body {
            Some(ResponseBody::Contiguous(response)) => json::errors(&response.outcomes),
            Some(ResponseBody::Chunks(_)) | None => "[]".to_owned(),
        }
    }

    /// Address of the table that describes the last response
    pub(crate) fn table(&self) -> *const u32 {
        self.table.as_ptr()
    }
}

/// Where JavaScript writes the body of a request
#[derive(Debug, Default)]
pub(crate) struct RequestBuffer(Vec<u8>);

impl RequestBuffer {
    /// Makes sure that there are this many bytes, and returns their address
    pub(crate) fn reserve(&mut self, length: usize) -> *mut u8 {
        if self.0.len() < length || self.0.len() > MAX_RETAINED_CAPACITY {
            self.0 = vec![0; length.max(INITIAL_CAPACITY)];
        }
        self.0.as_mut_ptr()
    }

    /// The first `length` bytes; empty if fewer were reserved
    pub(crate) fn bytes(&self, length: usize) -> &[u8] {
        self.0.get(..length).unwrap_or_default()
    }
}

/// Number of a kind: its index in `KINDS` of `response.js`
const fn kind_number(kind: ResponseKind) -> u32 {
    match kind {
        ResponseKind::Result => 0,
        ResponseKind::RequestValidation => 1,
        ResponseKind::Timeout => 2,
        ResponseKind::SkippedBlock => 3,
        ResponseKind::Internal => 5,
        ResponseKind::Unavailable => 6,
        // `Handler`, and kinds that later versions add to it.
        _ => 4,
    }
}

/// The kind of a number, as JavaScript passes it
pub(crate) const fn kind_of_number(number: u32) -> ResponseKind {
    match number {
        0 => ResponseKind::Result,
        1 => ResponseKind::RequestValidation,
        2 => ResponseKind::Timeout,
        3 => ResponseKind::SkippedBlock,
        5 => ResponseKind::Internal,
        6 => ResponseKind::Unavailable,
        _ => ResponseKind::Handler,
    }
}

#[cfg(test)]
mod tests {
    use milepost::endpoint::Response;
    use milepost::rpc::{RequestId, RpcError};

    use super::*;

    #[test]
    fn the_table_describes_the_response_and_stays_at_its_address() {
        let mut buffer = ResponseBuffer::default();
        let table = buffer.table();
        let error = RpcError::MethodNotFound { method: "m".into() };
        let response = Response::error(&RequestId::null(), error);
        let length = response.body.len();
        assert_eq!(buffer.store(ResponseBody::Contiguous(response)), length);
        assert_eq!(buffer.table(), table);
        let lengths = buffer.table[1..9].chunks(2).map(|entry| entry[1]);
        assert_eq!((buffer.table[0], lengths.collect()), (1, vec![length as u32, 0, 0, 0]));
    }

    #[test]
    fn the_request_buffer_is_reused_unless_it_is_large() {
        let mut buffer = RequestBuffer::default();
        let first = buffer.reserve(7);
        assert_eq!((buffer.reserve(INITIAL_CAPACITY), buffer.bytes(7)), (first, &[0; 7][..]));
        let large = MAX_RETAINED_CAPACITY + 1;
        buffer.reserve(large);
        assert_eq!(buffer.bytes(large).len(), large);
        buffer.reserve(1);
        let lengths =
            (buffer.bytes(INITIAL_CAPACITY).len(), buffer.bytes(INITIAL_CAPACITY + 1).len());
        assert_eq!(lengths, (INITIAL_CAPACITY, 0));
    }
}
