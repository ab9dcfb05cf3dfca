//! The floor: a server that reads a request and sends the same bytes each time.
//!
//! It has what the node cannot do without, and from the same crates: the runtime, the listener,
//! HTTP/1 or HTTP/2 by the first bytes, the timeout of a head, the whole body of the request. It
//! has no routes, no engine, no guards, no counters and no headers but type, length and date.

use alloc::sync::Arc;
use core::convert::Infallible;
use core::error::Error;
use core::time::Duration;
use std::fs;
use std::path::Path;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// As the node has it
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);

/// Sends the bytes of this file until it is ended
pub(crate) fn serve(file: &Path) -> Result<(), Box<dyn Error>> {
    let body = Bytes::from(fs::read(file)?);
    Builder::new_multi_thread().enable_all().build()?.block_on(accept(body))
}

async fn accept(body: Bytes) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("the constant body listens on http://{}", listener.local_addr()?);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    builder.http2().timer(TokioTimer::new());
    let builder = Arc::new(builder);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (builder, body) = (Arc::clone(&builder), body.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, body.clone()));
            // A client that goes away ends its connection and nothing else.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    body: Bytes,
) -> Result<Response<Full<Bytes>>, Infallible> {
    // Whatever came: a request that is cut off ends the connection by itself.
    let _ = request.into_body().collect().await;
    let mut answer = Response::new(Full::new(body));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(answer)
}
