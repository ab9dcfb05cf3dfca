//! The HTTP listener and its connections.
//!
//! The number of connections is limited; a client that sends nothing, sends slowly or does not read
//! is disconnected after a timeout. At a shutdown, every request that was received or sent before
//! it gets its response, and idle connections close.
//!
//! A request passes these stations, each of which calls the next one:
//!
//! | station | decides |
//! |---|---|
//! | `http::serve` | that its connection is accepted, and for how long |
//! | `http::respond::respond` | by its head: who asks, and whether it is JSON-RPC or has a route |
//! | `http::rpc::respond` | its body within the limits, and the headers of every response |
//! | `http::rpc::run` | the head that it waits for, and the HTTP status |
//! | `http::rpc::answer` | whether this server or its upstreams answer |
//! | `upstream::Upstreams::respond` | with upstreams only: which calls are theirs |
//! | `queries::waiting::respond` | how long it waits for its milestone |
//! | `queries::requests::evaluate` | how the engine is called |
//! | `queries::Queries::read` | whether the archive is needed |
//! | `queries::Queries::run` | on which thread the engine runs |

#[cfg(test)]
mod archive_tests;
mod base_path;
mod blocks;
mod client;
mod complete_heights;
mod compression;
mod cors;
mod counted_input;
mod discovery;
mod entity_tag;
mod event_source;
#[cfg(test)]
mod event_tests;
mod events;
mod feed;
mod head;
#[cfg(test)]
mod hostile_tests;
mod listener;
mod operators;
mod page;
mod prefer;
mod query_string;
mod request_body;
mod respond;
mod response;
mod response_body;
#[cfg(test)]
mod resume_tests;
mod route;
mod rpc;
mod subscriptions;
mod timeout_stream;
mod transaction;
mod turns;
mod websocket;
#[cfg(test)]
mod websocket_tests;

use alloc::sync::Arc;
use core::mem;
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::io;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use milepost::rpc::Limits;
use tokio::sync::Semaphore;
use tokio::time::{self, Instant};
use tracing::{debug, warn};

pub(crate) use base_path::BasePath;
pub(crate) use cors::Cors;
#[cfg(test)]
pub(crate) use head::HEAD;
pub(crate) use listener::Listener;
#[cfg(any(test, feature = "internal-fuzz"))]
pub(crate) use listener::PipeListener;
pub(crate) use respond::Options;
pub(crate) use rpc::StatusMode;

use crate::feed::{DemoIndex, FeedStatus};
use crate::queries::Queries;
use crate::request::MemoryBudget;
use crate::upstream::Upstreams;
use client::Client;
use discovery::Documents;
use respond::HttpContext;
use timeout_stream::TimeoutStream;
use turns::Turns;

/// Timeout for the head of a request, and so for an idle connection: longer than the 60 s after
/// which common proxies close theirs, so that the server never closes while a proxy sends
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);
/// Interval of HTTP/2 pings on an idle connection, and timeout of their responses
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Maximum size of the head of an HTTP/1 request, 431 beyond it: hyper's default is 408 KiB, which
/// slow clients would fill on all connections; a query of 256 transactions takes 12 KiB
const MAX_HEAD: usize = 16 << 10;
/// Maximum size of the decoded header list of an HTTP/2 request
const MAX_HEADER_LIST: u32 = 16 << 10;
/// Maximum number of concurrent requests on an HTTP/2 connection, each of which may wait
const MAX_STREAMS: u32 = 256;
/// How long connections are accepted after a shutdown signal: requests that a client sent before
/// the signal are answered even if the server had not accepted its connection
const ACCEPT_GRACE: Duration = Duration::from_millis(250);
/// A failure to accept a connection is logged if there was none within this time: many attempts in a
/// second fail until other connections end
const ACCEPT_FAILURE_PAUSE: Duration = Duration::from_secs(60);
/// Connections are dropped after that if within this time none of them ends and none takes a part
/// of its response: the kernel takes up to 1.5 MB at a time, 5 s for one that reads 300 kB/s
const DRAIN_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum time until the last response is sent
const MAX_DRAIN: Duration = Duration::from_secs(30);

/// The limits that have no option, for the help text
pub(crate) fn fixed_limits() -> String {
    format!(
        "Fixed limits:
  HTTP       {} s and {} KiB for the head of a request, {} s for its body, {MAX_STREAMS} requests at a time on HTTP/2
  requests   {} levels of nesting in an id, {} hashes in /blocks, {} in /events, {} s for the head that is demanded
  WebSocket  {} requests at a time, {} subscriptions, 4 MiB for a message, 60 s without a pong",
        HEAD_TIMEOUT.as_secs(),
        MAX_HEAD >> 10,
        request_body::BODY_TIMEOUT.as_secs(),
        Limits::MAX_ID_DEPTH,
        blocks::MAX_HASHES,
        events::MAX_HASHES,
        head::MAX_WAIT.as_secs(),
        websocket::MAX_RUNNING,
        subscriptions::MAX_SUBSCRIPTIONS,
    )
}

/// Serves connections until the service shuts down and the last response is sent, or until clients
/// stop reading
pub(crate) async fn serve(
    mut listener: impl Listener,
    queries: Arc<Queries>,
    demo_index: Option<Arc<DemoIndex>>,
    feed_status: Option<Arc<FeedStatus>>,
    upstreams: Option<Arc<Upstreams>>,
    options: Options,
) {
    let limit = options.max_connections.min(Semaphore::MAX_PERMITS);
    let connection_permits = Arc::new(Semaphore::new(limit));
    let rpc_headers = rpc::rpc_headers(&options.cors);
    let documents = Documents::new(&options.base_path);
    let context = Arc::new(HttpContext {
        queries: Arc::clone(&queries),
        demo_index,
        feed_status,
        upstreams,
        memory: MemoryBudget::new(options.max_buffered),
        options,
        rpc_headers,
        documents,
    });
    let connections = GracefulShutdown::new();
    let turns = Turns::new();
    let writes = Arc::<AtomicUsize>::default();
    let builder = builder();
    let start = |stream, client: Arc<Client>| {
        let (network, writes) = (client.network(), Arc::clone(&writes));
        let io = TimeoutStream::new(stream, turns.clone(), network, writes);
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(io), {
            let (context, client) = (Arc::clone(&context), Arc::clone(&client));
            service_fn(move |request| respond::respond(&context, request, &client))
        });
        let connection = connections.watch(connection.into_owned());
        // Started at once, the first requests of thousands of new connections would come before
        // those of all others.
        turns.start(network, move || {
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    debug!("connection ended: {error}");
                }
                drop(client);
            });
        });
    };
    let accept_end = async {
        queries.chain.shutdown_signal().await;
        time::sleep(ACCEPT_GRACE).await;
    };
    let mut accept_end = pin!(accept_end);
    let mut last_failure = None;
    loop {
        let accepted = async {
            let accepted = listener.accept().await?;
            if connection_permits.available_permits() == 0 {
                turns.close_late();
            }
            // Without a permit, clients wait in the accept queue of the kernel. The semaphore is
            // never closed.
            let permit = Arc::clone(&connection_permits).acquire_owned().await.ok();
            Ok((accepted, permit))
        };
        let accepted: io::Result<_> = tokio::select! {
            biased;
            () = accept_end.as_mut() => break,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok(((stream, address), permit)) => {
                // Held by what the connection is upgraded to, too.
                let open = &queries.chain.metrics.connections;
                let client = Client::new(address, permit, &context.memory, open);
                start(stream, Arc::new(client));
            }
            Err(error) => handle_accept_error(&error, &mut last_failure).await,
        }
    }
    drop(listener);
    let all = u32::try_from(limit).unwrap_or(u32::MAX);
    let ended = async {
        connections.shutdown().await;
        // Those that were upgraded end by themselves.
        let _ = connection_permits.acquire_many(all).await;
    };
    let open_count = || limit - connection_permits.available_permits();
    drain(ended, open_count, || writes.load(Ordering::Relaxed)).await;
}

/// Waits for the last response to be sent, as long as connections end or responses are read
async fn drain(
    ended: impl Future<Output = ()>,
    open_count: impl Fn() -> usize,
    write_count: impl Fn() -> usize,
) {
    let start = Instant::now();
    let mut counts = (open_count(), write_count());
    let mut end = pin!(ended);
    while time::timeout(DRAIN_INTERVAL, end.as_mut()).await.is_err() {
        let before = mem::replace(&mut counts, (open_count(), write_count()));
        if counts == before || start.elapsed() >= MAX_DRAIN {
            let open = counts.0;
            warn!("closing {open} connections with a request or a response that is not whole");
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
        .max_buf_size(MAX_HEAD)
        // A client that closes its end is gone, and its pending request is cancelled.
        .half_close(false)
        // Off: a response that is held back for the next request is lost if that one is invalid,
        // and late if it is slow.
        .pipeline_flush(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_INTERVAL)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_LIST);
    builder
}

async fn handle_accept_error(error: &io::Error, last_failure: &mut Option<Instant>) {
    match error.kind() {
        // The client disconnected before its connection was accepted.
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset => {}
        // Out of file descriptors, most likely: wait until other connections end.
        _ => {
            let last = last_failure.replace(Instant::now());
            if last.is_none_or(|last| last.elapsed() >= ACCEPT_FAILURE_PAUSE) {
                warn!("cannot accept a connection: {error}");
            }
            time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The clock is paused, and advances to the next timer when all tasks are idle.
    #[tokio::test(start_paused = true)]
    async fn a_stop_waits_while_responses_are_read_and_not_for_ever() {
        let second = Duration::from_secs(1);
        for (writes, end, expected) in
            [(0, 4, 4), (0, 60, 5), (7, 60, 15), (20, 20, 20), (60, 60, 30)]
        {
            let start = Instant::now();
            // One write in each second, of one connection.
            let write_count = || start.elapsed().as_secs().min(writes) as usize;
            drain(time::sleep(end * second), || 1, write_count).await;
            assert_eq!(start.elapsed(), expected * second, "{writes} writes, end after {end} s");
        }
    }
}
