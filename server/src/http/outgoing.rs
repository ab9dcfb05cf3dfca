//! The body of an answer on its way out: bytes that are written from where they are.
//!
//! A small answer is one piece. A large one is a few, of which the largest is the row itself that
//! the store gave: it is neither copied for a client nor kept once for each of them. The length is
//! known before the first byte leaves, so no answer is chunked.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use milepost::engine::Piece;

/// The body of an answer
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// What is still to be sent, the next one last; those without bytes are left out
    pieces: Pieces,
    length: u64,
}

/// Kept in place while there is only one, which is the rule
#[derive(Debug, Default)]
enum Pieces {
    #[default]
    None,
    One(Bytes),
    Many(Vec<Bytes>),
}

impl From<Vec<u8>> for Outgoing {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Bytes::from(bytes))
    }
}

impl From<Bytes> for Outgoing {
    fn from(bytes: Bytes) -> Self {
        let length = bytes.len() as u64;
        Self { pieces: if length == 0 { Pieces::None } else { Pieces::One(bytes) }, length }
    }
}

impl<const N: usize> From<[Piece; N]> for Outgoing {
    fn from(pieces: [Piece; N]) -> Self {
        let length = pieces.iter().map(|piece| piece.len() as u64).sum();
        let pieces = pieces.into_iter().rev().filter(|piece| !piece.is_empty());
        Self { pieces: Pieces::Many(pieces.map(Bytes::from_owner).collect()), length }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.pieces {
            Pieces::None => None,
            Pieces::One(bytes) => Some(core::mem::take(bytes)),
            Pieces::Many(rest) => rest.pop(),
        };
        let Some(next) = next else { return Poll::Ready(None) };
        self.length -= next.len() as u64;
        if self.length == 0 {
            self.pieces = Pieces::None;
        }
        Poll::Ready(Some(Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        self.length == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn pieces_leave_in_their_order_and_none_is_empty() {
        let pieces = [&b"{\"a\":"[..], b"", b"[1,2]", b"}"].map(Piece::from);
        let mut body = Outgoing::from(pieces);
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
    async fn one_piece_is_sent_from_where_it_is() {
        let bytes = b"{}".to_vec();
        let place = bytes.as_ptr();
        let mut body = Outgoing::from(bytes);
        assert!(!body.is_end_stream());
        let frame = body.frame().await.expect("a frame").expect("no error");
        assert_eq!(frame.into_data().expect("bytes").as_ptr(), place);
        assert!(body.is_end_stream() && body.frame().await.is_none());
        for nothing in [Outgoing::default(), Outgoing::from(Vec::new())] {
            assert!(nothing.is_end_stream());
            assert_eq!(nothing.size_hint().exact(), Some(0));
        }
    }
}
