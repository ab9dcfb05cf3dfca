//! Runs the programs: what they print, and the service over a real socket.
//!
//! Programs end with their test, and listen on ports that the system chooses.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use milepost_practice::{BlockMessage, Practice, Settings};
use {
    axum as _, futures_core as _, milepost as _, milepost_examples as _, rusqlite as _, serde as _,
    serde_json as _, tokio as _,
};

fn run(program: &str, arguments: &[&Path], input: &str) -> Output {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that ended already reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn printed(output: &Output) -> &str {
    assert!(output.status.success(), "{output:?}");
    core::str::from_utf8(&output.stdout).unwrap()
}

/// The blocks of a practice chain, and a request about its first transaction
fn chain() -> (Vec<BlockMessage>, String) {
    let mut chain = Practice::new(Settings::demo(1));
    let blocks: Vec<_> = (0..30).map(|_| chain.next_message()).collect();
    let transaction = blocks.iter().find_map(|block| block.transactions.first()).unwrap();
    let request = format!(
        r#"{{"jsonrpc": "2.0", "id": 1, "method": "tx_status", "params": ["{}", "{}"]}}"#,
        transaction.hash, transaction.signer_id
    );
    (blocks, request)
}

#[test]
fn the_embedded_engine_follows_a_transaction_until_it_is_final() {
    let output = run(env!("CARGO_BIN_EXE_embedded"), &[], "");
    let lines: Vec<_> = printed(&output).lines().collect();
    assert!(lines[0].starts_with("transaction "), "{lines:?}");
    assert!(lines.len() > 2 && lines.last().unwrap().ends_with(": Final"), "{lines:?}");
}

#[test]
fn a_sqlite_file_keeps_its_blocks_between_runs() {
    let (blocks, request) = chain();
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("database");
    let files: Vec<_> = blocks
        .iter()
        .zip(0..)
        .map(|(block, index)| {
            let file = folder.path().join(format!("{index}.json"));
            std::fs::write(&file, &block.json).unwrap();
            file
        })
        .collect();
    let program = env!("CARGO_BIN_EXE_sqlite");
    let mut arguments = vec![&*database, Path::new("blocks")];
    arguments.extend(files.iter().map(|file| &**file));
    assert_eq!(printed(&run(program, &arguments, "")).lines().count(), blocks.len());

    let output = run(program, &[&*database, Path::new("respond")], &request);
    assert!(printed(&output).starts_with(r#"{"jsonrpc":"2.0","result":{"#), "{output:?}");

    let output = run(program, &[&*database, Path::new("serve")], "");
    assert!(!output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("neither `blocks` nor `respond`"),
        "{output:?}"
    );
}

#[test]
fn queries_run_side_by_side_over_a_remote_storage() {
    let output = run(env!("CARGO_BIN_EXE_remote"), &[], "");
    let line = printed(&output).trim_end();
    let count = line.strip_suffix(" wait for their milestones").unwrap();
    let (ready, pending) = count.split_once(" answered, ").unwrap();
    let (ready, pending): (u32, u32) = (ready.parse().unwrap(), pending.parse().unwrap());
    assert!(ready > 0 && pending > 0, "{line}");
}

/// The service, ended when it is dropped
struct Service {
    process: Child,
    address: String,
}

impl Service {
    fn start(file: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_service"))
            .arg(file)
            .arg("127.0.0.1:0")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { process, address: address.trim_end().to_owned() }
    }

    /// Sends a request; its response can be read from the connection
    fn send(&self, path: &str, body: &[u8]) -> TcpStream {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        write!(
            connection,
            "POST {path} HTTP/1.1\r\nhost: service\r\nconnection: close\r\n\
             content-length: {length}\r\n\r\n"
        )
        .unwrap();
        connection.write_all(body).unwrap();
        connection
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn receive(mut connection: TcpStream) -> (u16, String) {
    let mut response = String::new();
    connection.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn the_service_answers_when_a_block_reaches_the_milestone() {
    let (blocks, request) = chain();
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&folder.path().join("database"));
    let waiting = service.send("/", request.as_bytes());
    for block in &blocks {
        let (status, hash) = receive(service.send("/blocks", &block.json));
        assert_eq!((status, hash), (200, block.hash.to_string()));
    }
    let (status, body) = receive(waiting);
    assert_eq!(status, 200, "{body}");
    assert!(body.starts_with(r#"{"jsonrpc":"2.0","result":{"#), "{body}");

    let (status, body) = receive(service.send("/", b"[1"));
    assert_eq!(status, 400, "{body}");
    let (status, body) = receive(service.send("/blocks", b"{}"));
    assert_eq!((status, &*body), (422, "byte 2: missing field `block`"), "{body}");
}

#[test]
fn the_service_has_at_most_60_lines() {
    let source = include_str!("../src/bin/service.rs");
    assert!(source.lines().count() <= 60, "it is an example of how little is needed");
}
