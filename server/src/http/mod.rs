//! The door to the network: connections come in, are served, and end well.
//!
//! A connection costs a place, and places are limited; a client that sends nothing, sends slowly or
//! does not read loses its place after a while. When the service stops, requests that are being
//! answered, or have been sent and not been read yet, get their answer, and idle connections close.
//! What a request gets is said in `route`.

mod blocks;
mod body;
mod cors;
mod guard;
mod label;
mod outgoing;
mod page;
mod route;

use alloc::sync::Arc;
use core::mem;
use core::pin::pin;
use core::time::Duration;
use std::io;

use hyper::header::HeaderMap;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{self, Instant};
use tracing::{debug, warn};

pub(crate) use cors::Cors;
pub(crate) use route::StatusMode;

use crate::board::Board;
use crate::node::Node;
use guard::Guarded;

/// How long a client may take for the head of a request, and how long it may keep an idle
/// connection: longer than the 60 s after which common proxies close theirs, so that it is never
/// us who close while a proxy sends
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);
/// How often an idle HTTP/2 client is asked whether it is still there, and how long it may take
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Requests at a time on one HTTP/2 connection, each of which may wait
const STREAMS: u32 = 256;
/// How long clients are still let in when the service stops: whoever has connected or sent a request
/// before that is answered, also when we had not come to it
const LAST_CALL: Duration = Duration::from_millis(250);
/// How long clients may take none of the answers after that
const GRACE: Duration = Duration::from_secs(3);
/// How long all of it may take, however many answers there are to write
const LONGEST_GRACE: Duration = Duration::from_secs(30);

/// What the service lets its clients do
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Which web pages may read answers
    pub(crate) cors: Cors,
    /// How classes of answers become HTTP statuses
    pub(crate) statuses: StatusMode,
    /// The most bytes of a request body
    pub(crate) body_limit: usize,
    /// The most connections at a time
    pub(crate) connections: usize,
}

/// What every request needs
struct Service {
    node: Arc<Node>,
    /// There while the practice chain is played
    board: Option<Arc<Board>>,
    options: Options,
    /// Those of every answer to a call
    headers: HeaderMap,
}

/// Serves connections until the node stops, and then until the last answer has left, or for some
/// seconds no client has taken one
pub(crate) async fn serve(
    listener: TcpListener,
    node: Arc<Node>,
    board: Option<Arc<Board>>,
    options: Options,
) {
    let limit = options.connections.min(Semaphore::MAX_PERMITS);
    let places = Arc::new(Semaphore::new(limit));
    let headers = route::headers(&options.cors);
    let service = Arc::new(Service { node: Arc::clone(&node), board, options, headers });
    let connections = GracefulShutdown::new();
    let builder = builder();
    let last_call = async {
        node.stopping().await;
        time::sleep(LAST_CALL).await;
    };
    let mut last_call = pin!(last_call);
    loop {
        // The place first: without one, clients queue in the kernel, and at some length of that
        // queue are refused there.
        let accepted = async {
            // The semaphore is never closed.
            let place = Arc::clone(&places).acquire_owned().await.ok();
            (place, listener.accept().await)
        };
        let (place, stream) = tokio::select! {
            () = last_call.as_mut() => break,
            (place, accepted) = accepted => match accepted {
                Ok((stream, _)) => (place, stream),
                Err(error) => {
                    refused_by_the_system(&error).await;
                    continue;
                }
            },
        };
        let connection = builder.serve_connection(io_of(stream), {
            let service = Arc::clone(&service);
            service_fn(move |request| route::answer(&service, request))
        });
        let connection = connections.watch(connection.into_owned());
        let node = Arc::clone(&node);
        tokio::spawn(async move {
            let _open = Open::new(&node);
            if let Err(error) = connection.await {
                debug!("connection ended: {error}");
            }
            drop(place);
        });
    }
    drop(listener);
    finish(connections, || limit - places.available_permits()).await;
}

/// Waits for the last answer to leave, as long as connections come to their end
async fn finish(connections: GracefulShutdown, open: impl Fn() -> usize) {
    let start = Instant::now();
    let mut still_open = open();
    let mut end = pin!(connections.shutdown());
    while time::timeout(GRACE, end.as_mut()).await.is_err() {
        let before = mem::replace(&mut still_open, open());
        if still_open >= before || start.elapsed() >= LONGEST_GRACE {
            warn!("{still_open} clients have not taken their answers, and are left");
            return;
        }
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        // A client that closes its end is gone, and so is whatever it waits for.
        .half_close(false)
        // Not: an answer held back for the next request is lost if that one is no HTTP, and late
        // if it is slow.
        .pipeline_flush(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_INTERVAL)
        .max_concurrent_streams(STREAMS);
    builder
}

fn io_of(stream: TcpStream) -> TokioIo<Guarded> {
    // Answers are written whole; waiting for more would only delay them.
    if let Err(error) = stream.set_nodelay(true) {
        debug!("no immediate sending: {error}");
    }
    TokioIo::new(Guarded::new(stream))
}

async fn refused_by_the_system(error: &io::Error) {
    match error.kind() {
        // The client was gone before we came to it; the next one waits already.
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset => {}
        // Out of file descriptors, most likely: others must end before anyone can begin.
        _ => {
            warn!("no connection accepted: {error}");
            time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// A connection that is counted as long as it is open
struct Open<'node>(&'node Node);

impl<'node> Open<'node> {
    fn new(node: &'node Node) -> Self {
        node.metrics.connected();
        Self(node)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.metrics.disconnected();
    }
}
