//! Buffers of large responses, which are used again.
//!
//! Allocators give the memory of large buffers back to the system, and it costs more to get it
//! anew, page by page, than to copy a row into it. A buffer comes back when its response is sent.
//! What is idle is bounded; beyond that buffers are freed.

use std::sync::Mutex;

use hyper::body::Bytes;

use crate::locks::lock;

/// Length from which on a buffer is kept: allocators keep smaller ones themselves
const MIN_LEN: usize = 256 << 10;
/// Maximum number of bytes of buffers that are idle: eight answers with 1,000 receipts
const MAX_IDLE: usize = 32 << 20;

/// The buffers of this process
pub(crate) static BUFFERS: LargeBuffers = LargeBuffers(Mutex::new(Vec::new()));

/// Buffers that are idle, the one that was used last at the end: its memory is still in a cache
pub(crate) struct LargeBuffers(Mutex<Vec<Vec<u8>>>);

impl LargeBuffers {
    /// An empty buffer, large if one is idle
    pub(crate) fn take(&self) -> Vec<u8> {
        lock(&self.0).pop().unwrap_or_default()
    }

    /// What was written into a buffer; a small text leaves a large buffer to others
    pub(crate) fn written(&self, buffer: Vec<u8>) -> Vec<u8> {
        if buffer.len() >= MIN_LEN || buffer.capacity() < MIN_LEN {
            return buffer;
        }
        let text = buffer.as_slice().to_vec();
        self.give_back(buffer);
        text
    }

    /// The bytes of a buffer, which is used again when they are sent if it is large
    pub(crate) fn bytes(&'static self, buffer: Vec<u8>) -> Bytes {
        match buffer.len() >= MIN_LEN {
            true => Bytes::from_owner(LargeBuffer { buffer, of: self }),
            false => Bytes::from(buffer),
        }
    }

    fn give_back(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut idle = lock(&self.0);
        let bytes: usize = idle.iter().map(Vec::capacity).sum();
        if bytes + buffer.capacity() <= MAX_IDLE {
            idle.push(buffer);
        }
    }
}

/// A buffer that is given back when it is dropped
struct LargeBuffer {
    buffer: Vec<u8>,
    of: &'static LargeBuffers,
}

impl AsRef<[u8]> for LargeBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for LargeBuffer {
    fn drop(&mut self) {
        self.of.give_back(core::mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_come_back_and_are_bounded() {
        static BUFFERS: LargeBuffers = LargeBuffers(Mutex::new(Vec::new()));
        let bytes = BUFFERS.bytes(vec![b'x'; MIN_LEN]);
        let address = bytes.as_ptr();
        assert_eq!((bytes.len(), bytes.first()), (MIN_LEN, Some(&b'x')));
        drop(bytes.slice(1..));
        assert_eq!(lock(&BUFFERS.0).len(), 0);
        drop(bytes);
        let buffer = BUFFERS.take();
        assert_eq!((buffer.as_ptr(), buffer.len(), buffer.capacity()), (address, 0, MIN_LEN));
        // A small text is not kept in a large buffer, and a small buffer is not given back.
        let small = BUFFERS.written([buffer, b"small".to_vec()].concat());
        assert_eq!((small.capacity(), lock(&BUFFERS.0).len()), (5, 0));
        let mut buffer = Vec::with_capacity(MIN_LEN);
        buffer.extend_from_slice(b"small");
        assert_eq!((BUFFERS.written(buffer).capacity(), lock(&BUFFERS.0).len()), (5, 1));
        drop(BUFFERS.bytes(small));
        // However many there were, few are kept.
        drop((0..20).map(|_| BUFFERS.bytes(vec![0; 4 << 20])).collect::<Vec<_>>());
        let kept: usize = lock(&BUFFERS.0).iter().map(Vec::capacity).sum();
        assert_eq!(kept, MAX_IDLE - (4 << 20) + MIN_LEN);
        assert_eq!(BUFFERS.take().capacity(), 4 << 20);
    }
}
