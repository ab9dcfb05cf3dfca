//! An upstream whose responses a test chooses, and which keeps what it was sent.

use core::net::SocketAddr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// A response
#[derive(Clone, Debug)]
pub(crate) enum Scripted {
    /// A result
    Result(Value),
    /// An error with this HTTP status
    Error(u16, Value),
    /// These bytes, after which the connection closes
    Raw(String),
    /// None, until the client goes away
    Silence,
}

/// A request that was received
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// The head in lower case
    pub(crate) head: String,
    pub(crate) call: Value,
}

/// An upstream on a port of its own; it is served until the process ends
pub(crate) struct Upstream {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Upstream {
    /// An upstream that responds to a call by this function
    pub(crate) fn start(respond: impl Fn(&Value) -> Scripted + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let received = Arc::default();
        let (kept, respond) = (Arc::clone(&received), Arc::new(respond));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kept, respond) = (Arc::clone(&kept), Arc::clone(&respond));
                thread::spawn(move || serve(stream, &kept, &*respond));
            }
        });
        Self { address, received }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The calls of a method that were received
    pub(crate) fn calls(&self, method: &str) -> Vec<Received> {
        let received = self.received.lock().expect("no thread panics with it");
        received.iter().filter(|it| it.call["method"] == method).cloned().collect()
    }
}

/// The error of a node with this cause
pub(crate) fn error(name: &str, cause: &str, data: &Value) -> Value {
    json!({
        "name": name,
        "cause": { "name": cause, "info": {} },
        "code": -32000,
        "message": "Server error",
        "data": data,
    })
}

/// The error of a node for a transaction that is invalid for this reason
pub(crate) fn invalid_transaction(reason: &Value) -> Value {
    let data = json!({ "TxExecutionError": { "InvalidTxError": reason } });
    error("HANDLER_ERROR", "INVALID_TRANSACTION", &data)
}

/// The text of a response that promises `length` bytes
pub(crate) fn http(status: u16, headers: &str, length: usize, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
}

fn serve(
    stream: TcpStream,
    received: &Mutex<Vec<Received>>,
    respond: &(dyn Fn(&Value) -> Scripted + Send + Sync),
) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.and_then(|text| text.parse().ok()).expect("a length")];
        if stream.read_exact(&mut body).is_err() {
            return;
        }
        let call: Value = serde_json::from_slice(&body).expect("a call");
        let id = call["id"].clone();
        let kept = Received { head, call };
        received.lock().expect("no thread panics with it").push(kept.clone());
        let (status, body) = match respond(&kept.call) {
            Scripted::Result(result) => {
                (200, json!({ "jsonrpc": "2.0", "result": result, "id": id }))
            }
            Scripted::Error(status, error) => {
                (status, json!({ "jsonrpc": "2.0", "error": error, "id": id }))
            }
            Scripted::Raw(text) => {
                let _ = stream.get_mut().write_all(text.as_bytes());
                return;
            }
            Scripted::Silence => {
                // Ends when the client closes.
                let _ = stream.read(&mut [0]);
                return;
            }
        };
        let body = body.to_string();
        if stream.get_mut().write_all(http(status, "", body.len(), &body).as_bytes()).is_err() {
            return;
        }
    }
}
