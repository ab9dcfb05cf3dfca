//! The shared vectors through C and C++: over memory, over a storage of the host, and over a remote
//! storage.
//!
//! A program in each language must give the recorded responses, byte for byte. It also prints the
//! contents of each response as read without a JSON parser, which are compared with those that a
//! parser reads.

use core::fmt::Write as _;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use milepost::codec::base64::{self, Padding};
use milepost::config::ConfigScope;
use milepost::primitives::CryptoHash;
use milepost_tests::node::{CHAINS, recorded_chain};
use milepost_tests::vectors::{self, Fixture, Manifest, Proof, ProofResult, Vector, Wait};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::c;

/// Timeout of requests; the unit does not matter
const TIMEOUT: u64 = 1_000;

/// The numbers of `MILEPOST_SETTING_...`
mod setting {
    pub(super) const TIMEOUT_CAUSE: i32 = 1;
    pub(super) const UNKNOWN: i32 = 2;
    pub(super) const MAX_RECEIPTS: i32 = 3;
    pub(super) const MAX_BATCH: i32 = 4;
    pub(super) const FINALITY: i32 = 5;
    pub(super) const TIMEOUT: i32 = 8;
    pub(super) const MAX_WAITING: i32 = 9;
    pub(super) const MAX_ID_BYTES: i32 = 13;
    pub(super) const TRACK_SHARDS: i32 = 15;
}

/// The number of `MILEPOST_STATUS_CHAIN`
const CHAIN: i32 = 5;

/// Kinds of responses, in the order of `MILEPOST_RESPONSE_KIND_...`, from 1
const KINDS: [&str; 7] = [
    "result",
    "request_validation",
    "timeout",
    "skipped_block",
    "handler",
    "internal",
    "unavailable",
];

/// A running program that answers requests
struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// ProgramReply of a program to a command
#[derive(Debug, Eq, PartialEq)]
enum ProgramReply {
    Ok,
    Pending,
    Response(usize, Vec<u8>),
    Error(String),
}

impl Program {
    fn start(program: &Path, mode: &str) -> Self {
        let mut command = Command::new(program);
        let mut child = command
            .arg(mode)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        Self { child, input, output }
    }

    fn send(&mut self, line: &str, bytes: &[&[u8]]) {
        let input = self.input.as_mut().expect("its input is piped");
        writeln!(input, "{line}").expect("the program reads");
        for bytes in bytes {
            input.write_all(bytes).expect("the program reads");
        }
        input.flush().expect("the program reads");
    }

    /// Waits for the program to exit, so that a checker can report leaks
    fn finish(mut self) {
        drop(self.input.take());
        let status = self.child.wait().expect("the program is a child");
        assert!(status.success(), "the program exits with {status}");
    }

    fn read_line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        self.output.read_until(b'\n', &mut line).expect("the program writes");
        assert_eq!(line.pop(), Some(b'\n'), "the program exited");
        line
    }

    fn command(&mut self, line: &str, bytes: &[&[u8]]) -> ProgramReply {
        self.send(line, bytes);
        let reply = String::from_utf8(self.read_line()).expect("a line in UTF-8");
        let mut words = reply.split(' ');
        match words.next() {
            Some("ok") => ProgramReply::Ok,
            Some("pending") => ProgramReply::Pending,
            Some("response") => {
                let mut number = || words.next().expect("a number").parse().expect("a number");
                let (kind, len): (usize, usize) = (number(), number());
                let mut body = vec![0; len];
                self.output.read_exact(&mut body).expect("the body follows");
                ProgramReply::Response(kind, body)
            }
            _ => ProgramReply::Error(reply),
        }
    }

    fn expect_ok(&mut self, line: &str, bytes: &[&[u8]]) -> Result<(), String> {
        match self.command(line, bytes) {
            ProgramReply::Ok => Ok(()),
            other => Err(format!("reply to `{line}`: {other:?}")),
        }
    }

    fn view(&mut self) -> String {
        self.send("view", &[]);
        let mut view = Vec::new();
        loop {
            let line = self.read_line();
            if line == b"." {
                return String::from_utf8(view).expect("the view is UTF-8");
            }
            view.extend(line);
            view.push(b'\n');
        }
    }

    fn set_up(&mut self, fixture: &Fixture, vector: &Vector) -> Result<(), String> {
        self.expect_ok("new", &[])?;
        let switch = |on: bool| Some(usize::from(on));
        for id in &fixture.track_shards {
            self.expect_ok(&format!("set {} {id}", setting::TRACK_SHARDS), &[])?;
        }
        for (setting, value) in [
            (setting::FINALITY, switch(fixture.all_final)),
            (setting::TIMEOUT, Some(TIMEOUT as usize)),
            (setting::TIMEOUT_CAUSE, switch(vector.timeout_cause)),
            (setting::UNKNOWN, switch(vector.unknown_at_once)),
            (setting::MAX_WAITING, vector.max_waiting),
            (setting::MAX_BATCH, vector.max_batch),
            (setting::MAX_ID_BYTES, vector.max_id_bytes),
            (setting::MAX_RECEIPTS, vector.max_receipts),
        ] {
            if let Some(value) = value {
                self.expect_ok(&format!("set {setting} {value}"), &[])?;
            }
        }
        for (scope, path) in &fixture.configs {
            let config = fs::read(path).map_err(|error| error.to_string())?;
            let command = match scope {
                ConfigScope::From(height) => format!("config {height}"),
                ConfigScope::Epoch(epoch_id) => format!("epoch-config {epoch_id}"),
            };
            self.expect_ok(&format!("{command} {}", config.len()), &[&config])?;
        }
        for path in &fixture.blocks {
            match self.import_block(path)? {
                ProgramReply::Ok => {}
                other => return Err(format!("{}: {other:?}", path.display())),
            }
        }
        for (path, error) in &fixture.refused {
            match self.import_block(path)? {
                ProgramReply::Error(reply) if reply.ends_with(error) => {}
                other => return Err(format!("{}: {other:?}", path.display())),
            }
        }
        Ok(())
    }

    fn import_block(&mut self, path: &Path) -> Result<ProgramReply, String> {
        let block = fs::read(path).map_err(|error| error.to_string())?;
        Ok(self.command(&format!("block {}", block.len()), &[&block]))
    }

    fn run(&mut self, fixture: &Fixture, vector: &Vector) -> Result<(), String> {
        self.set_up(fixture, vector)?;
        let url_method = vector.url_method.as_deref().unwrap_or_default();
        let line = format!("request 0 {} {}", vector.request.len(), url_method.len());
        let mut reply = self.command(&line, &[&vector.request, url_method.as_bytes()]);
        let expect = |reply: &ProgramReply, expected: &ProgramReply| match reply == expected {
            true => Ok(()),
            false => Err(format!("{reply:?}, expected {expected:?}")),
        };
        match &vector.wait {
            Wait::No => {}
            Wait::Expires => {
                expect(&reply, &ProgramReply::Pending)?;
                expect(&self.command(&format!("time {}", TIMEOUT - 1), &[]), &ProgramReply::Ok)?;
                reply = self.command(&format!("time {TIMEOUT}"), &[]);
            }
            Wait::Blocks(blocks) => {
                expect(&reply, &ProgramReply::Pending)?;
                for (index, path) in blocks.iter().enumerate() {
                    reply = self.import_block(path)?;
                    if index + 1 < blocks.len() {
                        expect(&reply, &ProgramReply::Ok)?;
                    }
                }
            }
        }
        let ProgramReply::Response(kind, body) = reply else { return Err(format!("{reply:?}")) };
        let kind = kind.checked_sub(1).and_then(|kind| KINDS.get(kind));
        if kind != Some(&vector.kind.as_str()) {
            return Err(format!("kind {kind:?}, expected {}", vector.kind));
        }
        if body != vector.response {
            let (body, expected) = (text(&body), text(&vector.response));
            return Err(format!("the response is\n  {body}\nexpected\n  {expected}"));
        }
        let (view, expected) = (self.view(), parsed_view(&vector.response));
        match view == expected {
            true => Ok(()),
            false => Err(format!("the view is\n{view}expected\n{expected}")),
        }
    }

    fn verify(&mut self, proof: &Proof) -> Result<(), String> {
        let Proof { answer, proof, transaction, block, result, .. } = proof;
        let line = format!("verify {} {} {transaction} {block}", answer.len(), proof.len());
        let reply = self.command(&line, &[answer, proof]);
        let is_expected = match (&reply, result) {
            (ProgramReply::Response(complete, body), ProofResult::Verified(proven)) => {
                let is_complete = proven.contains("\"is_complete\":true");
                body == proven.as_bytes() && *complete == usize::from(is_complete)
            }
            (ProgramReply::Error(reply), ProofResult::Wrong(path)) => {
                reply.starts_with(&format!("error {CHAIN} {path}: "))
            }
            (ProgramReply::Error(reply), ProofResult::Unverifiable(path)) => {
                !reply.starts_with(&format!("error {CHAIN} "))
                    && reply.split_once(' ').is_some_and(|(_, rest)| {
                        rest.split_once(' ')
                            .is_some_and(|(_, at)| at.starts_with(&format!("{path}: ")))
                    })
            }
            _ => false,
        };
        match is_expected {
            true => Ok(()),
            false => Err(format!("{reply:?}, expected {result:?}")),
        }
    }
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// A JSON text that is parsed member by member, so that numbers keep their text
#[derive(Clone, Deserialize)]
#[serde(transparent)]
struct Json(Box<RawValue>);

impl Json {
    fn text(&self) -> &str {
        self.0.get()
    }

    fn find(&self, name: &str) -> Option<Self> {
        let members: BTreeMap<String, Self> = serde_json::from_str(self.text()).ok()?;
        members.get(name).cloned()
    }

    fn member(&self, name: &str) -> Self {
        self.find(name).unwrap_or_else(|| panic!("no {name} in {}", self.text()))
    }

    /// The items of a list; none if there is no such member
    fn items(&self, name: &str) -> Vec<Self> {
        self.find(name).map_or_else(Vec::new, |list| list.read())
    }

    fn read<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(self.text()).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    fn string(&self) -> String {
        self.read()
    }
}

/// Returns the contents of a response as a parser reads them, in the format of the program
fn parsed_view(body: &[u8]) -> String {
    let body: Json = serde_json::from_slice(body).expect("a response is JSON");
    let mut view = String::new();
    let mut line = |words: core::fmt::Arguments<'_>| {
        writeln!(view, "{words}").expect("a string takes all");
    };
    if body.text().starts_with('[') {
        let items: Vec<Json> = body.read();
        items.iter().for_each(|item| line(format_args!("item {}", item.text())));
        return view;
    }
    if let Some(error) = body.find("error") {
        let cause = error.member("cause");
        let info = cause.find("info").map(|info| info.text().to_owned()).unwrap_or_default();
        let (name, cause) = (error.member("name").string(), cause.member("name").string());
        line(format_args!("rpc_error {name} {cause} {info}"));
        return view;
    }
    let result = body.member("result");
    let Some(milestone) = result.find("final_execution_status") else {
        line(format_args!("json {}", result.text()));
        return view;
    };
    let milestones =
        ["NONE", "INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED", "FINAL"];
    let milestone = milestones.iter().position(|name| *name == milestone.string());
    let milestone = milestone.expect("a milestone");
    let (status, payload) = match result.find("status") {
        Some(status) => execution_status(&status),
        None => (0, hex(b"")),
    };
    let transaction = result.find("transaction").map(|it| it.text().to_owned());
    let transaction = transaction.unwrap_or_default();
    line(format_args!("status {milestone} {status} {payload} {transaction}"));
    let first = result.find("transaction_outcome").into_iter();
    for outcome in first.chain(result.items("receipts_outcome")) {
        line(format_args!("{}", self::outcome(&outcome)));
    }
    let receipts = result.items("receipts");
    receipts.iter().for_each(|receipt| line(format_args!("receipt {}", receipt.text())));
    view
}

fn outcome(outcome: &Json) -> String {
    let inner = outcome.member("outcome");
    let (status, payload) = execution_status(&inner.member("status"));
    let tokens: u128 = inner.member("tokens_burnt").string().parse().expect("an amount");
    let (high, low) = (tokens >> 64, tokens & u128::from(u64::MAX));
    let mut words = format!(
        "outcome {} {} {} {status} {payload} {} {high} {low}",
        outcome.member("id").string(),
        outcome.member("block_hash").string(),
        inner.member("executor_id").string(),
        inner.member("gas_burnt").text(),
    );
    for id in inner.items("receipt_ids") {
        words = words + " " + &id.string();
    }
    for log in inner.items("logs") {
        words = words + " " + &hex(log.string().as_bytes());
    }
    words + " " + outcome.text()
}

/// Returns the number of `MILEPOST_EXECUTION_STATUS_...` and the payload
fn execution_status(status: &Json) -> (u8, String) {
    if status.text().starts_with('"') {
        return match status.string().as_str() {
            "Unknown" => (1, hex(b"")),
            "NotStarted" => (2, hex(b"")),
            "Started" => (3, hex(b"")),
            _ => (255, hex(status.text().as_bytes())),
        };
    }
    if let Some(failure) = status.find("Failure") {
        (4, hex(failure.text().as_bytes()))
    } else if let Some(value) = status.find("SuccessValue") {
        let value = base64::decode(&value.string(), Padding::Required).expect("base64");
        (5, hex(&value))
    } else if let Some(id) = status.find("SuccessReceiptId") {
        (6, hex(id.read::<CryptoHash>().as_bytes()))
    } else {
        (255, hex(status.text().as_bytes()))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "."
}

/// The storages that a program can use: its own with and without `get_many`, or ours
const MODES: [&str; 4] = ["memory", "get", "get_many", "remote"];

/// Runs the shared vectors over every storage
fn run_all(source: &str) {
    let manifest = vectors::load().expect("the manifest and its files");
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join(source), directory.path());
    for mode in MODES {
        let count = run_manifest(&program, mode, &manifest);
        assert!(count > 100, "most vectors are missing");
    }
}

/// Runs the vectors of a manifest, and returns how many there are
fn run_manifest(program: &Path, mode: &str, manifest: &Manifest) -> usize {
    let Manifest { fixtures, vectors, proofs } = manifest;
    let mut program = Program::start(program, mode);
    let mut failures = Vec::new();
    for vector in vectors {
        let fixture =
            fixtures.iter().find(|fixture| fixture.name == vector.fixture).expect("its fixture");
        if let Err(difference) = program.run(fixture, vector) {
            failures.push(format!("{}: {difference}", vector.name));
        }
    }
    // Once for each language: no storage takes part.
    for proof in proofs.iter().filter(|_| mode == "memory") {
        if let Err(difference) = program.verify(proof) {
            failures.push(format!("{}: {difference}", proof.name));
        }
    }
    program.finish();
    let count = (failures.len(), vectors.len() + proofs.len());
    assert!(failures.is_empty(), "{mode}: {count:?}\n{}\n", failures.join("\n"));
    count.1
}

const C: &str = "tests/c/vectors.c";
const CPP: &str = "tests/cpp/vectors.cpp";

#[test]
fn c_gives_every_response() {
    run_all(C);
}

#[test]
fn cpp_gives_every_response() {
    run_all(CPP);
}

/// The answers of a real node, where its chains are
#[test]
fn c_gives_every_answer_of_a_node() {
    let directory = tempfile::tempdir().expect("a directory for the program");
    let program = c::program(&c::root().join(C), directory.path());
    for chain in CHAINS.iter().filter_map(|name| recorded_chain(name)) {
        let directory = tempfile::tempdir().expect("a directory for vectors");
        chain.write_vectors(directory.path());
        let manifest = vectors::load_from(directory.path()).expect("the vectors");
        for mode in ["memory", "remote"] {
            assert_eq!(run_manifest(&program, mode, &manifest), 2);
        }
    }
}
