//! An HTTP server for a function from request body to response body.
//!
//! It has the necessary parts of `milepost-server`, from the same crates: the runtime, the
//! listener, HTTP/1 or HTTP/2 by the first bytes, the timeout of request heads, collecting the
//! request body. It has no routes, limits or metrics, and no headers except type, length and date.

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

/// As in `milepost-server`
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);

/// The function from request body to response body
pub trait Handler: Fn(Bytes) -> Bytes + Clone + Send + Sync + 'static {}

impl<Function: Fn(Bytes) -> Bytes + Clone + Send + Sync + 'static> Handler for Function {}

/// Prints the address and serves requests until the process ends
///
/// # Errors
///
/// When the runtime does not start or the address cannot be listened on.
pub fn serve(name: &str, handler: impl Handler) -> Result<(), Box<dyn Error>> {
    Builder::new_multi_thread().enable_all().build()?.block_on(accept(name, handler))
}

async fn accept(name: &str, handler: impl Handler) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{name} listens on http://{}", listener.local_addr()?);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    builder.http2().timer(TokioTimer::new());
    let builder = Arc::new(builder);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (builder, handler) = (Arc::clone(&builder), handler.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| respond(request, handler.clone()));
            // An error of a connection ends that connection only.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    handler: impl Handler,
) -> Result<Response<Full<Bytes>>, Infallible> {
    // The error of an incomplete body is ignored, because it ends the connection.
    let body = request.into_body().collect().await;
    let body = handler(body.map(|body| body.to_bytes()).unwrap_or_default());
    let mut response = Response::new(Full::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
