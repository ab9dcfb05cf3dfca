//! A server on the node's stack, for a function from a body to a body.
//!
//! It has what the node cannot do without, and from the same crates: the runtime, the listener,
//! HTTP/1 or HTTP/2 by the first bytes, the timeout of a head, the whole body of the request. It
//! has no routes, no guards, no counters and no headers but type, length and date.

use alloc::sync::Arc;
use core::convert::Infallible;
use core::error::Error;
use core::time::Duration;

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

/// What becomes of a request's body
pub trait Answer: Fn(Bytes) -> Bytes + Clone + Send + Sync + 'static {}

impl<Function: Fn(Bytes) -> Bytes + Clone + Send + Sync + 'static> Answer for Function {}

/// Answers until it is ended; says first where it listens
///
/// # Errors
///
/// When the runtime does not start or the address cannot be listened on.
pub fn serve(name: &str, answer: impl Answer) -> Result<(), Box<dyn Error>> {
    Builder::new_multi_thread().enable_all().build()?.block_on(accept(name, answer))
}

async fn accept(name: &str, answer: impl Answer) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{name} listens on http://{}", listener.local_addr()?);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    builder.http2().timer(TokioTimer::new());
    let builder = Arc::new(builder);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (builder, answer) = (Arc::clone(&builder), answer.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| respond(request, answer.clone()));
            // A client that goes away ends its connection and nothing else.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    answer: impl Answer,
) -> Result<Response<Full<Bytes>>, Infallible> {
    // Whatever came: a request that is cut off ends the connection by itself.
    let body = request.into_body().collect().await;
    let body = answer(body.map(|body| body.to_bytes()).unwrap_or_default());
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
