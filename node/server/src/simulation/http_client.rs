//! HTTP/1 over a pipe in memory, one request for each connection.
//!
//! A connection that breaks is an error, unless the server was killed, or was stopping when the
//! request was sent. A client that leaves closes its end.

use alloc::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderMap};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::world::{Connector, World};
use crate::http::HEAD;

/// What came of a request
pub(super) enum Outcome<T> {
    Done(T),
    /// The server is not there any more
    Gone,
}

/// A connection, which is closed when this is dropped
pub(super) struct Connection {
    task: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends a request on a connection of its own; `bytes` is how much is on the way at a time
pub(super) async fn send(
    world: &Arc<World>,
    connector: &Connector,
    bytes: usize,
    mut request: Request<Full<Bytes>>,
) -> Result<Outcome<(Response<Incoming>, Connection)>, String> {
    let at = Instant::now();
    let Some(stream) = connector.connect(bytes) else { return Ok(refused(world)) };
    request.headers_mut().insert(HOST, "simulation".parse().expect("a name"));
    let failed = |error: hyper::Error| broken(world, connector, at, &error.to_string());
    let (mut sender, connection) = match http1::handshake(TokioIo::new(stream)).await {
        Ok(connected) => connected,
        Err(error) => return failed(error),
    };
    let task = tokio::spawn(async move {
        let _ = connection.await;
    });
    let connection = Connection { task };
    match sender.send_request(request).await {
        Ok(response) => {
            check_head(world, connector, response.headers())?;
            Ok(Outcome::Done((response, connection)))
        }
        Err(error) => failed(error),
    }
}

/// What a connection that broke says about the server; `at` is when the request was sent
pub(super) fn broken<T>(
    world: &World,
    connector: &Connector,
    at: Instant,
    error: &str,
) -> Result<Outcome<T>, String> {
    let was_stopping = world.stopped(connector).is_some_and(|stopped| stopped <= at);
    if *connector.killed.borrow() || was_stopping {
        return Ok(refused(world));
    }
    Err(format!("a connection broke while the server ran: {error}"))
}

fn refused<T>(world: &World) -> Outcome<T> {
    world.count(|figures| figures.refused += 1);
    Outcome::Gone
}

fn check_head(world: &World, connector: &Connector, headers: &HeaderMap) -> Result<(), String> {
    // Left out before the first block.
    let head = headers.get(HEAD).map_or(Ok("0"), |head| head.to_str());
    let head = head.ok().and_then(|text| text.parse().ok()).ok_or("a head that is no height")?;
    world.model(connector.server, |model| model.check_head(head, Instant::now()))
}
