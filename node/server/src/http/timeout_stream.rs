//! A socket with timeouts that hyper does not have, and whose reads take turns.
//!
//! The timeouts are for the first bytes, which distinguish HTTP/1 from HTTP/2, and for a response
//! that the client does not read; both end the connection. A timer exists only while the socket is
//! pending.

use alloc::sync::Arc;
use core::future::Future as _;
use core::net::IpAddr;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{self, Instant, Sleep};

use super::turns::{Turn, Turns};

/// Timeout for the first [`PREFACE_LEN`] bytes
const PREFACE_TIMEOUT: Duration = Duration::from_secs(30);
/// Length of the HTTP/2 preface `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`
const PREFACE_LEN: usize = 24;
/// Timeout of a write that makes no progress
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes that a connection may read in each [`REFILL`] without a turn, and in each turn
///
/// The runtime allows 128 reads, in which a flood of frames without requests, of 17 bytes and 50 ns
/// each, is handled for 6 ms and more; it polls sockets after every 61st task. 8 KiB take 25 us.
const READ_BURST: usize = 8 << 10;
/// On open connections, clients that send less than this allows never wait for those that send
/// more; 10,000 clients that use all of it take a quarter of a processor
const REFILL: Duration = Duration::from_secs(1);

/// A socket that fails when its client is too slow
pub(super) struct TimeoutStream<S> {
    stream: S,
    client: IpAddr,
    /// Number of bytes received since the last turn or refill
    burst: usize,
    /// When the connection could last read a burst without a turn
    refilled: Instant,
    turns: Turns,
    /// The turn that reads wait for
    turn: Option<Turn>,
    /// How the stream ended, until that is reported in the turn of the connection
    end: Option<io::Result<()>>,
    /// Number of bytes received, counted up to [`PREFACE_LEN`]
    received: usize,
    read_timer: Option<Pin<Box<Sleep>>>,
    write_timer: Option<Pin<Box<Sleep>>>,
    /// Number of writes of all connections of the server
    writes: Arc<AtomicUsize>,
}

impl<S> TimeoutStream<S> {
    /// A socket of this client, whose writes are counted
    pub(super) fn new(stream: S, turns: Turns, client: IpAddr, writes: Arc<AtomicUsize>) -> Self {
        Self {
            stream,
            client,
            burst: 0,
            refilled: Instant::now(),
            turns,
            turn: None,
            end: None,
            received: 0,
            read_timer: None,
            write_timer: None,
            writes,
        }
    }

    /// Returns the result of a write, or an error once writes are pending for too long
    fn check_write<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.write_timer = None;
            return poll;
        }
        let timer = &mut self.write_timer;
        poll_timer(timer, WRITE_TIMEOUT, context, "the client does not read its response")
    }
}

/// Polls a timer, which starts now if it is not running; ready with an error when it ends
fn poll_timer<T>(
    timer: &mut Option<Pin<Box<Sleep>>>,
    timeout: Duration,
    context: &mut Context<'_>,
    message: &'static str,
) -> Poll<io::Result<T>> {
    let timer = timer.get_or_insert_with(|| Box::pin(time::sleep(timeout)));
    ready!(timer.as_mut().poll(context));
    Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
}

impl<S: AsyncRead + Unpin> TimeoutStream<S> {
    /// Ready in the turn of the connection, in which it may read another burst
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.turn.get_or_insert_with(|| self.turns.queue(self.client)).poll(context));
        self.turn = None;
        self.burst = 0;
        Poll::Ready(())
    }

    /// Returns the number of bytes received, or an error if the first ones are pending for too long
    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.burst >= READ_BURST {
            if self.refilled.elapsed() < REFILL {
                ready!(self.poll_turn(context));
            } else {
                (self.burst, self.turn, self.refilled) = (0, None, Instant::now());
            }
        }
        let before = buffer.filled().len();
        let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(context, buffer) else {
            if self.received >= PREFACE_LEN {
                return Poll::Pending;
            }
            let timer = &mut self.read_timer;
            return poll_timer(timer, PREFACE_TIMEOUT, context, "the client sends nothing");
        };
        let length = buffer.filled().len() - before;
        self.burst += length;
        if self.received < PREFACE_LEN {
            self.received += length;
            if self.received >= PREFACE_LEN {
                self.read_timer = None;
            }
        }
        Poll::Ready(read.map(|()| length))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.end.is_none() {
            let received = ready!(this.poll_receive(context, buffer));
            if received.as_ref().is_ok_and(|length| *length > 0 || buffer.remaining() == 0) {
                return Poll::Ready(Ok(()));
            }
            this.end = Some(received.map(drop));
        }
        // To drop what a connection holds takes longer than to read its end: 10,000 that ended at a
        // time made others wait for 170 ms.
        ready!(this.poll_turn(context));
        Poll::Ready(this.end.take().unwrap_or(Ok(())))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.writes.fetch_add(poll.is_ready().into(), Ordering::Relaxed);
        this.check_write(context, poll)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.writes.fetch_add(poll.is_ready().into(), Ordering::Relaxed);
        this.check_write(context, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.stream).poll_flush(context);
        this.check_write(context, poll)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let poll = Pin::new(&mut this.stream).poll_shutdown(context);
        this.check_write(context, poll)
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;
    use core::net::Ipv4Addr;
    use core::sync::atomic::Ordering::SeqCst;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::yield_now;

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// Both ends of a connection
    async fn pair() -> (TimeoutStream<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (TimeoutStream::new(server, Turns::new(), CLIENT, Arc::default()), client)
    }

    // The clock is paused, and advances to the next timer when all tasks are idle.

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_no_preface_times_out() {
        let (mut server, mut client) = pair().await;
        client.write_all(b"PRI *").await.unwrap();
        let error = server.read_exact(&mut [0; PREFACE_LEN]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn reads_after_the_preface_do_not_time_out() {
        let (mut server, mut client) = pair().await;
        client.write_all(&[b'x'; PREFACE_LEN]).await.unwrap();
        server.read_exact(&mut [0; PREFACE_LEN]).await.unwrap();
        let idle = time::timeout(PREFACE_TIMEOUT * 10, server.read(&mut [0; 1])).await;
        assert!(idle.is_err(), "only the timeout of this test ended it");
    }

    #[tokio::test]
    async fn a_flood_lets_other_tasks_run_after_each_burst() {
        let (server, mut client) = tokio::io::duplex(8 * READ_BURST);
        client.write_all(&[b'x'; 8 * READ_BURST]).await.unwrap();
        let mut server = TimeoutStream::new(server, Turns::new(), CLIENT, Arc::default());
        let rounds = Cell::new(0);
        // Both run by turns on one thread; the reader is always ready.
        let count = async {
            loop {
                rounds.set(rounds.get() + 1);
                yield_now().await;
            }
        };
        let read = async {
            for _ in 0..8 * READ_BURST / 1024 {
                server.read_exact(&mut [0; 1024]).await.unwrap();
            }
        };
        tokio::select! { biased; () = read => {}, () = count => {} }
        assert!(rounds.get() >= 7, "{} rounds, at least one after each burst", rounds.get());
    }

    #[tokio::test]
    async fn connections_that_end_at_a_time_are_reported_by_turns() {
        let turns = Turns::new();
        let ended = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let (server, client) = tokio::io::duplex(1);
            drop(client);
            let mut server = TimeoutStream::new(server, turns.clone(), CLIENT, Arc::default());
            let ended = Arc::clone(&ended);
            tokio::spawn(async move {
                assert_eq!(server.read(&mut [0; 1]).await.unwrap(), 0);
                ended.fetch_add(1, SeqCst);
            });
        }
        let mut rounds = 0;
        while ended.load(SeqCst) < 100 {
            yield_now().await;
            rounds += 1;
        }
        assert!(rounds >= 6, "{rounds} rounds");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_times_out() {
        let (mut server, _client) = pair().await;
        let block = vec![0; 1 << 20];
        let error = loop {
            // Fills the buffers of the system first.
            if let Err(error) = server.write_all(&block).await {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let writes = server.writes.load(SeqCst);
        assert!(writes > 0 && writes < 100, "{writes} writes, none that was pending");
    }
}
