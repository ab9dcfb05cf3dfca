//! Runs the program as a process, and a raw HTTP client.

use core::net::SocketAddr;
use core::time::Duration;
use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::Value;

use crate::fixture;

/// Long enough for a slow machine; only a failing test waits that long
const TIMEOUT: Duration = Duration::from_secs(60);

/// A command of the program
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_milepost"));
    // How large a test is, is no setting of the program.
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("MILEPOST_") {
            command.env_remove(name);
        }
    }
    command.args(args).env("MILEPOST_LOG", "warn").stdin(Stdio::null());
    command
}

/// Runs a command to its end
pub(crate) fn run(args: &[&str]) -> Output {
    command(args).output().expect("the program starts")
}

/// What a command printed on standard error
pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A server process, which is killed when this is dropped
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The first line on standard output
    pub(crate) first: String,
    lines: Receiver<String>,
}

impl Server {
    /// Starts `milepost serve` on a free port
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_logging(args, Stdio::inherit())
    }

    /// As [`start`](Self::start), with what it logs written to `log`
    pub(crate) fn start_logging(args: &[&str], log: impl Into<Stdio>) -> Self {
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
        serve.args(args).stderr(log);
        Self::spawn(serve)
    }

    /// Starts a command that serves
    pub(crate) fn spawn(mut serve: Command) -> Self {
        let mut child = serve.stdout(Stdio::piped()).spawn().expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let first = lines.recv_timeout(TIMEOUT).expect("the server prints its address");
        let address =
            first.rsplit("http://").next().and_then(|url| url.split('/').next()?.parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address in {first:?}"));
        Self { child, address, first, lines }
    }

    /// Starts `milepost serve` with the blocks of the fixture, which no further ones follow
    pub(crate) fn with_blocks(args: &[&str]) -> Self {
        Self::start(&[&["--blocks", fixture::text(fixture::shared())], args].concat())
    }

    /// The next line on standard output
    pub(crate) fn line(&self) -> Option<String> {
        self.lines.recv_timeout(TIMEOUT).ok()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// One GET on a new connection
    pub(crate) fn get(&self, path: &str) -> Response {
        let mut client = self.connect();
        client.send(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n"));
        client.response()
    }

    /// One GET on a new connection, with these lines of headers
    pub(crate) fn get_with(&self, path: &str, headers: &str) -> Response {
        let mut client = self.connect();
        client.send(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n{headers}\r\n\r\n"));
        client.response()
    }

    /// One JSON-RPC request on a new connection, with these lines of headers
    pub(crate) fn post_with(&self, body: &str, headers: &str) -> Response {
        let mut client = self.connect();
        client.send(&post("/", body).replacen("\r\n", &format!("\r\n{headers}\r\n"), 1));
        client.response()
    }

    /// One JSON-RPC request on a new connection
    pub(crate) fn post(&self, path: &str, body: &str) -> Response {
        let mut client = self.connect();
        client.send(&post(path, body));
        client.response()
    }

    /// The value of a metric, by its full name with labels
    pub(crate) fn metric(&self, name: &str) -> Option<u64> {
        let text = self.get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.parse().ok())
    }

    /// Waits until the metric has this value
    pub(crate) fn until_metric(&self, name: &str, value: u64) {
        self.until(name, || self.metric(name) == Some(value));
    }

    /// Waits until this condition is true
    pub(crate) fn until(&self, what: &str, condition: impl Fn() -> bool) {
        for _ in 0..3_000 {
            if condition() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("not within 60 s: {what}");
    }

    /// The process id
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name for `kill`
    pub(crate) fn signal(&self, name: &str) {
        let kill = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(kill.expect("`kill` exists").success());
    }

    /// Waits for the end of the process
    pub(crate) fn ended(mut self) -> ExitStatus {
        for _ in 0..3_000 {
            if let Some(status) = self.child.try_wait().expect("the process can be waited for") {
                return status;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("the server did not end");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection
pub(crate) struct Client {
    reader: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).expect("the server accepts"))
    }

    /// Over a connection that blocks
    pub(crate) fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout can be set");
        stream.set_write_timeout(Some(TIMEOUT)).expect("a timeout can be set");
        Self { reader: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.send_bytes(text.as_bytes()).expect("the server reads the request");
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Reads one response, after which the connection is ready for the next
    pub(crate) fn response(&mut self) -> Response {
        self.response_to("GET")
    }

    /// Reads the response to a request with this verb; one to HEAD has no body
    pub(crate) fn response_to(&mut self, verb: &str) -> Response {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.reader.read_line(&mut line).expect("the server responds");
            assert_ne!(read, 0, "the connection closed after {head:?}");
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            head.push(line.to_owned());
        }
        let status = head.first().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers = head.iter().skip(1).filter_map(|line| line.split_once(": "));
        let headers: Vec<_> =
            headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        let status: u16 = status.expect("a status");
        let mut response = Response { status, headers, body: Vec::new() };
        if verb != "HEAD" && status != 304 {
            let length = response.header("content-length").expect("a content length");
            response.body = vec![0; length.parse().expect("a length is a number")];
            self.reader.read_exact(&mut response.body).expect("the whole body");
        }
        response
    }

    /// Reads until the server closes the connection
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        // A reset ends it as well.
        let _ = self.reader.read_to_end(&mut rest);
        String::from_utf8_lossy(&rest).into_owned()
    }
}

/// An HTTP response
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// The values of a header that may be there more than once
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = move |(header, _): &&(String, String)| header == name;
        self.headers.iter().filter(named).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("bodies are UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }

    /// The name of an error's cause
    pub(crate) fn cause(&self) -> String {
        let json = self.json();
        json.pointer("/error/cause/name").and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

/// The text of a POST with a JSON body
pub(crate) fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// A JSON-RPC request
pub(crate) fn request(method: &str, params: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"t","method":"{method}","params":{params}}}"#)
}
