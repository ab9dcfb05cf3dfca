//! The body of an HTTP response.
//!
//! A small body is one chunk, and so is a row of a file, which is copied once. Another large one
//! has up to four chunks, of which the largest is the row in memory itself, shared by all responses
//! that contain it. They are one frame, which a connection sends with one system call. Their length
//! is known in advance. Only a stream of events and a long response of an upstream have no length;
//! the former's events are made when the connection takes them, and the latter breaks the
//! connection if it breaks off.

use core::iter;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, IoSlice};

use hyper::body::{Body, Buf, Bytes, Frame, SizeHint};
use milepost::endpoint::ResponseChunk;

use super::events::EventStream;
use crate::queries::waiting::Rest;
use crate::request::{BUFFERS, MemoryPermit};

/// The body of an HTTP response
pub(super) enum HttpBody {
    /// What is not sent yet
    Whole(Chunks),
    /// Until the stream ends
    Events(Box<EventStream>),
    /// The beginning of a response of an upstream, and what it still sends
    Upstream(Bytes, Rest),
}

/// Bytes in chunks, of which some may be empty
///
/// Each stream of HTTP/2 has room for one: an array of four took 1.2 kB more for each that waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunks {
    first: Bytes,
    /// The others, without an allocation for the most frequent case
    rest: Vec<Bytes>,
}

impl Chunks {
    fn filled(&self) -> impl Iterator<Item = &Bytes> {
        iter::once(&self.first).chain(&self.rest).filter(|chunk| !chunk.is_empty())
    }

    fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Bytes> {
        iter::once(&mut self.first).chain(&mut self.rest)
    }
}

impl Buf for Chunks {
    fn remaining(&self) -> usize {
        self.filled().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.filled().next().map_or(&[], |chunk| chunk)
    }

    fn chunks_vectored<'bytes>(&'bytes self, slices: &mut [IoSlice<'bytes>]) -> usize {
        let filled = slices.iter_mut().zip(self.filled());
        filled.map(|(slice, chunk)| *slice = IoSlice::new(chunk)).count()
    }

    fn advance(&mut self, mut count: usize) {
        for chunk in self.iter_mut() {
            let sent = count.min(chunk.len());
            chunk.advance(sent);
            count -= sent;
        }
    }
}

impl From<Bytes> for Chunks {
    fn from(first: Bytes) -> Self {
        Self { first, rest: Vec::new() }
    }
}

impl Default for HttpBody {
    fn default() -> Self {
        Self::Whole(Chunks::default())
    }
}

impl From<Vec<u8>> for HttpBody {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(BUFFERS.bytes(bytes))
    }
}

impl From<Bytes> for HttpBody {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes.into())
    }
}

impl From<[ResponseChunk; 4]> for HttpBody {
    fn from(chunks: [ResponseChunk; 4]) -> Self {
        let [first, rest @ ..] = chunks.map(Bytes::from_owner);
        Self::Whole(Chunks { first, rest: rest.into() })
    }
}

impl From<EventStream> for HttpBody {
    fn from(events: EventStream) -> Self {
        Self::Events(Box::new(events))
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
        if let Self::Whole(chunks) = &mut self
            && let Some(last) = chunks.iter_mut().rfind(|chunk| !chunk.is_empty())
        {
            let bytes = core::mem::take(last);
            *last = Bytes::from_owner(Counted { bytes, _permit: permit });
        }
        self
    }

    /// The chunks that are not sent yet; none of a stream
    pub(super) fn chunks(&self) -> Chunks {
        match self {
            Self::Whole(chunks) => chunks.clone(),
            Self::Events(_) | Self::Upstream(..) => Chunks::default(),
        }
    }
}

impl Body for HttpBody {
    type Data = Chunks;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Chunks>>>> {
        let frame = |bytes: Bytes| Frame::data(Chunks::from(bytes));
        match &mut *self {
            Self::Whole(chunks) => {
                let chunks = core::mem::take(chunks);
                Poll::Ready(chunks.has_remaining().then(|| Ok(Frame::data(chunks))))
            }
            Self::Events(events) => events.poll_bytes(context).map(|it| it.map(|it| Ok(frame(it)))),
            Self::Upstream(first, _) if !first.is_empty() => {
                Poll::Ready(Some(Ok(frame(core::mem::take(first)))))
            }
            Self::Upstream(_, rest) => {
                rest.poll_recv(context).map(|piece| piece.map(|it| it.map(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(chunks) if !chunks.has_remaining())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(chunks) => SizeHint::with_exact(chunks.remaining() as u64),
            Self::Events(_) | Self::Upstream(..) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn chunks_are_one_frame_in_order() {
        let chunks = [&b"{\"a\":"[..], b"", b"[1,2]", b"}"].map(ResponseChunk::from);
        let mut body = HttpBody::from(chunks);
        assert_eq!(body.size_hint().exact(), Some(11));
        let frame = body.frame().await.expect("a frame").expect("no error");
        let mut sent = frame.into_data().expect("bytes");
        assert!(body.is_end_stream() && body.frame().await.is_none());
        let mut slices = [IoSlice::new(&[]); 4];
        let count = sent.chunks_vectored(&mut slices);
        let filled: Vec<&[u8]> = slices[..count].iter().map(|slice| &**slice).collect();
        assert_eq!(filled, [&b"{\"a\":"[..], b"[1,2]", b"}"]);
        assert_eq!(sent.chunks_vectored(&mut slices[..1]), 1);
        // As a connection does that takes some of them.
        sent.advance(6);
        assert_eq!((sent.chunk(), sent.remaining()), (&b"1,2]"[..], 5));
        sent.advance(5);
        assert_eq!((sent.chunk(), sent.remaining()), (&b""[..], 0));
    }

    #[tokio::test]
    async fn a_single_chunk_is_not_copied() {
        let bytes = b"{}".to_vec();
        let address = bytes.as_ptr();
        let mut body = HttpBody::from(bytes);
        assert!(!body.is_end_stream());
        let frame = body.frame().await.expect("a frame").expect("no error");
        assert_eq!(frame.into_data().expect("bytes").chunk().as_ptr(), address);
        assert!(body.is_end_stream() && body.frame().await.is_none());
        for empty in [HttpBody::default(), HttpBody::from(Vec::new())] {
            assert!(empty.is_end_stream());
            assert_eq!(empty.size_hint().exact(), Some(0));
        }
    }
}
