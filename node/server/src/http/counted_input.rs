//! What a WebSocket has received of a message that is not whole yet, counted of the memory budget.
//!
//! The library keeps the frame that arrives and the fragments before it, so both are counted twice
//! until the message is whole. Its buffer keeps the length of the longest frame, so afterwards the
//! longest message continues to count until the connection ends.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::request::MemoryPermit;

/// Memory of a connection for what it reads
pub(super) const BUFFER: usize = 4 << 10;
/// Bytes of a control frame of a client besides its payload (RFC 6455, section 5.2)
const CONTROL_HEAD: usize = 6;

/// A stream whose unfinished message counts
#[derive(Debug)]
pub(super) struct CountedInput<S> {
    stream: S,
    permit: MemoryPermit,
    /// Bytes since the last message was whole
    received: usize,
    /// The most that a message had
    longest: usize,
}

impl<S> CountedInput<S> {
    pub(super) const fn new(stream: S, permit: MemoryPermit) -> Self {
        Self { stream, permit, received: 0, longest: 0 }
    }

    /// A message is whole: it counts by itself from now on
    pub(super) fn message_received(&mut self) {
        if self.received > BUFFER {
            self.longest = self.longest.max(self.received);
            self.permit.shrink_to(self.longest);
        }
        self.received = 0;
    }

    /// A control frame with this payload came, of which nothing is kept
    pub(super) const fn control_received(&mut self, payload: usize) {
        self.received = self.received.saturating_sub(CONTROL_HEAD + payload);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedInput<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let poll = Pin::new(&mut this.stream).poll_read(context, buffer);
        this.received += buffer.filled().len() - before;
        if this.received > BUFFER
            && let Err(error) = this.permit.grow_to(2 * this.received)
        {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::QuotaExceeded, error.message)));
        }
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedInput<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
