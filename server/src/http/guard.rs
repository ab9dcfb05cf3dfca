//! A socket with patience, but not without end.
//!
//! Two things are not timed anywhere above: the first bytes, by which HTTP/1 is told from HTTP/2,
//! and an answer that the client does not read. Both end the connection here. Timers exist only
//! while the socket makes us wait, so a brisk client costs none.

use core::future::Future as _;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{self, Sleep};

/// How long a client may take to show which protocol it speaks
const OPENING: Duration = Duration::from_secs(30);
/// The bytes that show it: the length of `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`
const PREFACE: usize = 24;
/// How long a client may take nothing of an answer
const STALL: Duration = Duration::from_secs(30);

/// A socket that ends when its client is too slow
pub(super) struct Guarded {
    stream: TcpStream,
    /// Bytes that have come in, counted up to [`PREFACE`]
    received: usize,
    opening: Option<Pin<Box<Sleep>>>,
    stall: Option<Pin<Box<Sleep>>>,
}

impl Guarded {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, received: 0, opening: None, stall: None }
    }

    /// Passes on what the socket said about writing, unless it has said "later" for too long
    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.stall = None;
            return poll;
        }
        wait(&mut self.stall, STALL, context, "the client does not read its answer")
    }
}

/// Waits for the end of a timer, which starts now if it is not running
fn wait<T>(
    timer: &mut Option<Pin<Box<Sleep>>>,
    span: Duration,
    context: &mut Context<'_>,
    what: &'static str,
) -> Poll<io::Result<T>> {
    let timer = timer.get_or_insert_with(|| Box::pin(time::sleep(span)));
    ready!(timer.as_mut().poll(context));
    Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, what)))
}

impl AsyncRead for Guarded {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let poll = Pin::new(&mut this.stream).poll_read(context, buffer);
        if this.received >= PREFACE {
            return poll;
        }
        if poll.is_pending() {
            return wait(&mut this.opening, OPENING, context, "the client does not say anything");
        }
        this.received += buffer.filled().len() - before;
        if this.received >= PREFACE {
            this.opening = None;
        }
        poll
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.written(context, poll)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.written(context, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.stream).poll_flush(context);
        this.written(context, poll)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.stream).poll_shutdown(context);
        this.written(context, poll)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Both ends of a connection
    async fn pair() -> (Guarded, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (Guarded::new(server), client)
    }

    // The clock is paused, and jumps to the next timer when there is nothing else to do.

    #[tokio::test(start_paused = true)]
    async fn a_client_that_says_nothing_loses_its_place() {
        let (mut server, mut client) = pair().await;
        client.write_all(b"PRI *").await.unwrap();
        let error = server.read_exact(&mut [0; PREFACE]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_has_spoken_is_left_to_others() {
        let (mut server, mut client) = pair().await;
        client.write_all(&[b'x'; PREFACE]).await.unwrap();
        server.read_exact(&mut [0; PREFACE]).await.unwrap();
        let idle = time::timeout(OPENING * 10, server.read(&mut [0; 1])).await;
        assert!(idle.is_err(), "only the timeout of this test ended it");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_loses_its_place() {
        let (mut server, _client) = pair().await;
        let block = vec![0; 1 << 20];
        let error = loop {
            // However much the system takes on its own, it is not without end.
            if let Err(error) = server.write_all(&block).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
