//! A feed over HTTP/1.1 on a socket of this machine.
//!
//! Written on the socket, because no HTTP library makes these faults.
//! Reads the request line, the token, `Host` and the body of a POST, which is a call of a node, and
//! ignores what else a request has.

use core::net::SocketAddr;
use std::{io, net, thread};

use alloc::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::time;

use super::answer::{Feed, FeedResponse, Transfer};

/// Maximum size of the head of a request
const MAX_HEAD: u64 = 16 << 10;
/// Maximum size of the body of a request
const MAX_CALL: usize = 64 << 10;

/// A feed on a socket, on a thread of its own; it is served until the process ends
#[derive(Debug)]
pub struct FeedServer {
    address: SocketAddr,
    feed: Arc<Feed>,
}

impl FeedServer {
    /// Serves a feed on a free port of this machine; called without a paused clock
    ///
    /// # Errors
    ///
    /// No port or no thread can be had.
    pub fn start(feed: Feed) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let (address, feed) = (listener.local_addr()?, Arc::new(feed));
        let served = Arc::clone(&feed);
        let serve = move || runtime.block_on(accept(listener, served));
        thread::Builder::new().name("feed".to_owned()).spawn(serve)?;
        Ok(Self { address, feed })
    }

    /// Its address for a follower: `neardata+http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("neardata+http://{}", self.address)
    }

    /// Its address as that of a node: `node+http://127.0.0.1:PORT`
    pub fn node_url(&self) -> String {
        format!("node+http://{}", self.address)
    }

    /// Its address as that of an object store, in which the bucket `lake` has the chain below
    /// `chain/`
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The feed
    pub fn feed(&self) -> &Feed {
        &self.feed
    }
}

async fn accept(listener: net::TcpListener, feed: Arc<Feed>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    while let Ok((stream, _)) = listener.accept().await {
        let feed = Arc::clone(&feed);
        // A client that goes away ends its connection, and nothing else.
        tokio::spawn(async move { drop(serve(stream, &feed).await) });
    }
}

/// Serves the requests of a connection
async fn serve(stream: TcpStream, feed: &Feed) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let port = stream.local_addr()?.port();
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            let read = (&mut stream).take(MAX_HEAD).read_line(&mut line).await?;
            if read == 0 || head.len() > 100 {
                return Ok(());
            }
            if line.trim_end().is_empty() {
                break;
            }
            head.push(line.trim_end().to_owned());
        }
        let mut request_line = head.first().map(|line| line.split(' ')).into_iter().flatten();
        let method = request_line.next().unwrap_or_default();
        let path = request_line.next().unwrap_or_default();
        let header = |name: &str| {
            head.iter().skip(1).find_map(|line| {
                let (found, value) = line.split_once(':')?;
                found.eq_ignore_ascii_case(name).then(|| value.trim())
            })
        };
        let token = header("authorization");
        let token = token.map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
        // The other name of this machine: a redirect to it leaves the host of the feed.
        let is_other = header("host").is_some_and(|host| host.starts_with("localhost"));
        let other = if is_other { "127.0.0.1" } else { "localhost" };
        // What a page asks for before a request with a token.
        let response = if method == "OPTIONS" {
            FeedResponse::new(204, "")
                .with_header("access-control-allow-headers", "authorization, content-type, accept")
        } else if method == "POST" {
            let length = header("content-length").and_then(|value| value.parse().ok());
            let mut body = vec![0; length.unwrap_or(0_usize).min(MAX_CALL)];
            stream.read_exact(&mut body).await?;
            feed.call(&body, token).await
        } else {
            feed.respond(path, token, Some(&format!("{other}:{port}"))).await
        };
        time::sleep(feed.latency).await;
        if !send(stream.get_mut(), &response).await? {
            return Ok(());
        }
    }
}

/// Sends a response; whether the connection stays open
async fn send(stream: &mut TcpStream, response: &FeedResponse) -> io::Result<bool> {
    let FeedResponse { status, header, body, transfer } = response;
    let (length, sent) = match *transfer {
        Transfer::Whole => (body.len(), body.len()),
        Transfer::Cut(sent) => (body.len(), sent),
        Transfer::ShortLength(length) => (length, body.len()),
    };
    let mut head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n");
    head.push_str("content-type: application/json\r\ncache-control: public, max-age=31536000\r\n");
    head.push_str("access-control-allow-origin: *\r\n");
    if let Some((name, value)) = header {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body[..sent]).await?;
    stream.flush().await?;
    Ok(*transfer == Transfer::Whole)
}
