//! Starting and ending the program, and a client that does exactly what a test says.

use core::net::SocketAddr;
use core::time::Duration;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::Value;

use crate::fixture;

/// Long enough for a slow machine; only a failing test waits so long
const PATIENCE: Duration = Duration::from_secs(60);

/// A command of the program
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_milepost"));
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

/// A server that ends with its test
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    lines: Receiver<String>,
}

impl Server {
    /// Starts `milepost serve` on a free port
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = command(&["serve", "--listen", "127.0.0.1:0"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let first = lines.recv_timeout(PATIENCE).expect("the server says where it listens");
        let address = first.rsplit("http://").next().and_then(|text| text.parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address in {first:?}"));
        Self { child, address, lines }
    }

    /// Starts `milepost serve` with some blocks, and nothing that happens by itself
    pub(crate) fn quiet(args: &[&str]) -> Self {
        Self::start(&[&["--blocks", fixture::text(fixture::shared())], args].concat())
    }

    /// The next line on standard output
    pub(crate) fn line(&self) -> Option<String> {
        self.lines.recv_timeout(PATIENCE).ok()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).expect("the server accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout can be set");
        Client { reader: BufReader::new(stream) }
    }

    /// One GET on a connection of its own
    pub(crate) fn get(&self, path: &str) -> Answer {
        let mut client = self.connect();
        client.send(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n"));
        client.answer()
    }

    /// One JSON-RPC request on a connection of its own
    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        let mut client = self.connect();
        client.send(&post(path, body));
        client.answer()
    }

    /// The value of a metric, by its whole name with labels
    pub(crate) fn metric(&self, name: &str) -> Option<u64> {
        let text = self.get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.parse().ok())
    }

    /// Returns as soon as the metric has this value
    pub(crate) fn until_metric(&self, name: &str, value: u64) {
        self.until(name, || self.metric(name) == Some(value));
    }

    /// Returns as soon as this is so
    pub(crate) fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..3_000 {
            if is_so() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("never came: {what}");
    }

    /// The number of the process
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, by the name that `kill` knows
    pub(crate) fn signal(&self, name: &str) {
        let kill = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(kill.expect("there is a `kill`").success());
    }

    /// Waits for the end of the program
    pub(crate) fn ended(mut self) -> ExitStatus {
        for _ in 0..3_000 {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
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
    pub(crate) fn send(&mut self, text: &str) {
        self.send_bytes(text.as_bytes()).expect("the server takes the request");
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Reads one answer, which leaves the connection ready for the next
    pub(crate) fn answer(&mut self) -> Answer {
        self.answer_to("GET")
    }

    /// Reads the answer to a request with this verb: that to HEAD has no body
    pub(crate) fn answer_to(&mut self, verb: &str) -> Answer {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.reader.read_line(&mut line).expect("the server answers");
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
        let mut answer = Answer { status: status.expect("a status"), headers, body: Vec::new() };
        if verb != "HEAD" {
            let length = answer.header("content-length").expect("answers say how long they are");
            answer.body = vec![0; length.parse().expect("a length is a number")];
            self.reader.read_exact(&mut answer.body).expect("the whole body comes");
        }
        answer
    }

    /// Reads whatever comes until the server closes
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        // A reset is an end, too.
        let _ = self.reader.read_to_end(&mut rest);
        String::from_utf8_lossy(&rest).into_owned()
    }
}

/// An answer
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("bodies are UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    /// The name of the cause of an error
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
