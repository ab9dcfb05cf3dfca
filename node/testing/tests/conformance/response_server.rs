//! An HTTP server whose responses a function makes: one request for each connection.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// A request or a response that takes longer fails the test
const TIMEOUT: Duration = Duration::from_secs(120);

/// A response
pub(crate) struct RawResponse {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// Whether the connection closes without it
    pub(crate) is_lost: bool,
}

/// A server on a thread of its own, which ends when this is dropped
pub(crate) struct ResponseServer {
    address: SocketAddr,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ResponseServer {
    /// Answers each request by its path, without the first slash, and its body
    pub(crate) fn start(reply: impl Fn(&str, &[u8]) -> RawResponse + Send + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("it has an address");
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&is_stopped);
        let thread = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                // A client may close its connection at any time.
                let _ = answer(stream, &reply);
            }
        });
        Self { address, is_stopped, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for ResponseServer {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        // Wakes the thread, which may have ended by a panic.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(stream: TcpStream, reply: impl Fn(&str, &[u8]) -> RawResponse) -> io::Result<()> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut stream = reader.into_inner();
    let mut words = first.split(' ');
    let verb = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default().trim_start_matches('/');
    let RawResponse { status, body, is_lost } = match verb {
        "POST" => reply(path, &body),
        _ => RawResponse { status: 404, body: Vec::new(), is_lost: false },
    };
    if is_lost {
        return Ok(());
    }
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), &body].concat())
}
