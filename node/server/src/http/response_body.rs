//! The body of an HTTP response.
//!
//! A small body is one chunk, and so is a row of a file, which is copied once. Another large one
//! has up to four chunks, of which the largest is the row in memory itself, shared by all responses
//! that contain it. Their length is known in advance. Only a stream of events and a long response
//! of an upstream have no length; the former's events are made when the connection takes them, and
//! the latter breaks the connection if it breaks off.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use milepost::endpoint::ResponseChunk;

use super::events::EventStream;
use crate::queries::waiting::Rest;
use crate::request::{BUFFERS, MemoryPermit};

/// The body of an HTTP response
#[derive(Default)]
pub(super) struct HttpBody {
    unsent: Chunks,
    /// The length of the chunks; 0 for events
    length: u64,
}

/// The chunks that are not sent yet
#[derive(Default)]
enum Chunks {
    #[default]
    None,
    /// Without an allocation for the most frequent case
    One(Bytes),
    /// In reverse order; none is empty
    Many(Vec<Bytes>),
    /// Until the stream ends
    Events(Box<EventStream>),
    /// The beginning of a response of an upstream, and what it still sends
    Upstream(Bytes, Rest),
}

impl From<Vec<u8>> for HttpBody {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(BUFFERS.bytes(bytes))
    }
}

impl From<Bytes> for HttpBody {
    fn from(bytes: Bytes) -> Self {
        let length = bytes.len() as u64;
        Self { unsent: if length == 0 { Chunks::None } else { Chunks::One(bytes) }, length }
    }
}

impl<const N: usize> From<[ResponseChunk; N]> for HttpBody {
    fn from(chunks: [ResponseChunk; N]) -> Self {
        let length = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        let chunks = chunks.into_iter().rev().filter(|chunk| !chunk.is_empty());
        Self { unsent: Chunks::Many(chunks.map(Bytes::from_owner).collect()), length }
    }
}

impl From<EventStream> for HttpBody {
    fn from(events: EventStream) -> Self {
        Self { unsent: Chunks::Events(Box::new(events)), length: 0 }
    }
}

/// Bytes that count of the budget until they are sent
struct Counted {
    bytes: Bytes,
    _permit: MemoryPermit,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody {
    /// Drops this permit when the last of these chunks is sent
    pub(super) fn counted(mut self, permit: MemoryPermit) -> Self {
        let last = match &mut self.unsent {
            Chunks::One(bytes) => Some(bytes),
            Chunks::Many(chunks) => chunks.first_mut(),
            Chunks::None | Chunks::Events(_) | Chunks::Upstream(..) => None,
        };
        if let Some(last) = last {
            let bytes = core::mem::take(last);
            *last = Bytes::from_owner(Counted { bytes, _permit: permit });
        }
        self
    }

    /// The chunks that are not sent yet, in order; none of a stream
    pub(super) fn chunks(&self) -> Vec<Bytes> {
        match &self.unsent {
            Chunks::One(bytes) => vec![bytes.clone()],
            Chunks::Many(chunks) => chunks.iter().rev().cloned().collect(),
            Chunks::None | Chunks::Events(_) | Chunks::Upstream(..) => Vec::new(),
        }
    }

    /// The body of a response that an upstream still sends, after its beginning
    pub(super) const fn of_upstream(first: Bytes, rest: Rest) -> Self {
        Self { unsent: Chunks::Upstream(first, rest), length: 0 }
    }
}

impl Body for HttpBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = match &mut self.unsent {
            Chunks::None => None,
            Chunks::One(bytes) => Some(core::mem::take(bytes)),
            Chunks::Many(chunks) => chunks.pop(),
            Chunks::Events(events) => {
                return events.poll_bytes(context).map(|bytes| bytes.map(|it| Ok(Frame::data(it))));
            }
            Chunks::Upstream(first, rest) => {
                if !first.is_empty() {
                    return Poll::Ready(Some(Ok(Frame::data(core::mem::take(first)))));
                }
                return rest.poll_recv(context).map(|piece| piece.map(|it| it.map(Frame::data)));
            }
        };
        let Some(next) = next else { return Poll::Ready(None) };
        self.length -= next.len() as u64;
        if self.length == 0 {
            self.unsent = Chunks::None;
        }
        Poll::Ready(Some(Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        self.length == 0 && !matches!(self.unsent, Chunks::Events(_) | Chunks::Upstream(..))
    }

    fn size_hint(&self) -> SizeHint {
        match self.unsent {
            Chunks::Events(_) | Chunks::Upstream(..) => SizeHint::default(),
            _ => SizeHint::with_exact(self.length),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn chunks_are_sent_in_order_and_none_is_empty() {
        let chunks = [&b"{\"a\":"[..], b"", b"[1,2]", b"}"].map(ResponseChunk::from);
        let mut body = HttpBody::from(chunks);
        assert_eq!(body.size_hint().exact(), Some(11));
        let mut frames = Vec::new();
        while !body.is_end_stream() {
            let frame = body.frame().await.expect("a frame").expect("no error");
            frames.push(frame.into_data().expect("bytes"));
        }
        assert_eq!(frames, [&b"{\"a\":"[..], b"[1,2]", b"}"]);
        assert!(body.frame().await.is_none());
    }

    #[tokio::test]
    async fn a_single_chunk_is_not_copied() {
        let bytes = b"{}".to_vec();
        let address = bytes.as_ptr();
        let mut body = HttpBody::from(bytes);
        assert!(!body.is_end_stream());
        let frame = body.frame().await.expect("a frame").expect("no error");
        assert_eq!(frame.into_data().expect("bytes").as_ptr(), address);
        assert!(body.is_end_stream() && body.frame().await.is_none());
        for empty in [HttpBody::default(), HttpBody::from(Vec::new())] {
            assert!(empty.is_end_stream());
            assert_eq!(empty.size_hint().exact(), Some(0));
        }
    }
}
