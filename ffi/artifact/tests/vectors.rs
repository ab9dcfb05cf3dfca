//! The shared vectors through C and C++: by memory, by a host's storage, and by one that is not at hand.
//!
//! A program in each answers, byte by byte what the vectors say; it also says what it sees in each
//! answer without a JSON parser, which is compared with what a parser sees.

mod c;

use core::fmt::Write as _;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use milepost::codec::base64::{self, Padding};
use milepost::primitives::CryptoHash;
use milepost_tests::vectors::{self, Manifest, Scene, Vector, Wait};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// How long a request waits, in a unit of nobody's choice
const TIMEOUT: u64 = 1_000;

/// The numbers of `MILEPOST_SETTING_...`
mod setting {
    pub(super) const TIMEOUT_CAUSE: i32 = 1;
    pub(super) const UNKNOWN_IMMEDIATE: i32 = 2;
    pub(super) const MAX_RECEIPTS: i32 = 3;
    pub(super) const MAX_BATCH: i32 = 4;
    pub(super) const ALL_FINAL: i32 = 5;
    pub(super) const TIMEOUT: i32 = 8;
    pub(super) const MAX_WAITING: i32 = 9;
}

/// The classes, in the order of `MILEPOST_CLASS_...`, from 1 on
const CLASSES: [&str; 7] = [
    "result",
    "request_validation",
    "timeout",
    "skipped_block",
    "handler",
    "internal",
    "unavailable",
];

/// The program in C
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

/// What the program says
#[derive(Debug, Eq, PartialEq)]
enum Said {
    Ok,
    Wait,
    Answer(usize, Vec<u8>),
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
        let output = BufReader::new(child.stdout.take().expect("its output is ours"));
        Self { child, input, output }
    }

    fn tell(&mut self, line: &str, bytes: &[&[u8]]) {
        let input = self.input.as_mut().expect("its input is ours");
        writeln!(input, "{line}").expect("the program reads");
        for bytes in bytes {
            input.write_all(bytes).expect("the program reads");
        }
        input.flush().expect("the program reads");
    }

    /// Lets the program end by itself: only then can it be told what it leaks
    fn end(mut self) {
        drop(self.input.take());
        let status = self.child.wait().expect("the program is ours");
        assert!(status.success(), "the program ends with {status}");
    }

    fn line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        self.output.read_until(b'\n', &mut line).expect("the program writes");
        assert_eq!(line.pop(), Some(b'\n'), "the program ended");
        line
    }

    fn say(&mut self, line: &str, bytes: &[&[u8]]) -> Said {
        self.tell(line, bytes);
        let said = String::from_utf8(self.line()).expect("a line in UTF-8");
        let mut words = said.split(' ');
        match words.next() {
            Some("ok") => Said::Ok,
            Some("wait") => Said::Wait,
            Some("answer") => {
                let mut number = || words.next().expect("a number").parse().expect("a number");
                let (class, len): (usize, usize) = (number(), number());
                let mut body = vec![0; len];
                self.output.read_exact(&mut body).expect("the body follows");
                Said::Answer(class, body)
            }
            _ => Said::Error(said),
        }
    }

    fn done(&mut self, line: &str, bytes: &[&[u8]]) -> Result<(), String> {
        match self.say(line, bytes) {
            Said::Ok => Ok(()),
            other => Err(format!("`{line}` says {other:?}")),
        }
    }

    fn look(&mut self) -> String {
        self.tell("look", &[]);
        let mut seen = Vec::new();
        loop {
            let line = self.line();
            if line == b"." {
                return String::from_utf8(seen).expect("what is seen is UTF-8");
            }
            seen.extend(line);
            seen.push(b'\n');
        }
    }

    fn set(&mut self, scene: &Scene, vector: &Vector) -> Result<(), String> {
        self.done("new", &[])?;
        let switch = |on: bool| Some(usize::from(on));
        for (setting, value) in [
            (setting::ALL_FINAL, switch(scene.all_final)),
            (setting::TIMEOUT, Some(TIMEOUT as usize)),
            (setting::TIMEOUT_CAUSE, switch(vector.timeout_cause)),
            (setting::UNKNOWN_IMMEDIATE, switch(vector.unknown_at_once)),
            (setting::MAX_WAITING, vector.max_waiting),
            (setting::MAX_BATCH, vector.max_batch),
            (setting::MAX_RECEIPTS, vector.max_receipts),
        ] {
            if let Some(value) = value {
                self.done(&format!("set {setting} {value}"), &[])?;
            }
        }
        for (height, path) in &scene.configs {
            let config = fs::read(path).map_err(|error| error.to_string())?;
            self.done(&format!("config {height} {}", config.len()), &[&config])?;
        }
        for path in &scene.blocks {
            match self.block(path)? {
                Said::Ok => {}
                other => return Err(format!("{}: {other:?}", path.display())),
            }
        }
        Ok(())
    }

    fn block(&mut self, path: &Path) -> Result<Said, String> {
        let block = fs::read(path).map_err(|error| error.to_string())?;
        Ok(self.say(&format!("block {}", block.len()), &[&block]))
    }

    fn run(&mut self, scene: &Scene, vector: &Vector) -> Result<(), String> {
        self.set(scene, vector)?;
        let method = vector.path_method.as_deref().unwrap_or_default();
        let line = format!("ask 0 {} {}", vector.request.len(), method.len());
        let mut said = self.say(&line, &[&vector.request, method.as_bytes()]);
        let expect = |said: &Said, expected: &Said| match said == expected {
            true => Ok(()),
            false => Err(format!("{said:?} where it should be {expected:?}")),
        };
        match &vector.wait {
            Wait::No => {}
            Wait::Expires => {
                expect(&said, &Said::Wait)?;
                expect(&self.say(&format!("time {}", TIMEOUT - 1), &[]), &Said::Ok)?;
                said = self.say(&format!("time {TIMEOUT}"), &[]);
            }
            Wait::Blocks(blocks) => {
                expect(&said, &Said::Wait)?;
                for (place, path) in blocks.iter().enumerate() {
                    said = self.block(path)?;
                    if place + 1 < blocks.len() {
                        expect(&said, &Said::Ok)?;
                    }
                }
            }
        }
        let Said::Answer(class, body) = said else { return Err(format!("{said:?}")) };
        let class = class.checked_sub(1).and_then(|class| CLASSES.get(class));
        if class != Some(&vector.class.as_str()) {
            return Err(format!("class {class:?}, expected {}", vector.class));
        }
        if body != vector.answer {
            let (found, expected) = (text(&body), text(&vector.answer));
            return Err(format!("the answer is\n  {found}\nexpected\n  {expected}"));
        }
        let (found, expected) = (self.look(), seen(&vector.answer));
        match found == expected {
            true => Ok(()),
            false => Err(format!("seen is\n{found}expected\n{expected}")),
        }
    }
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// A text of JSON, to be taken apart member by member: numbers that no type holds stay as they are
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

    /// The items of a list; none where there is no such member
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

/// What a parser sees in an answer, in the words of the program
fn seen(body: &[u8]) -> String {
    let body: Json = serde_json::from_slice(body).expect("an answer is JSON");
    let mut seen = String::new();
    let mut line = |words: core::fmt::Arguments<'_>| {
        writeln!(seen, "{words}").expect("a string takes all");
    };
    if body.text().starts_with('[') {
        let parts: Vec<Json> = body.read();
        parts.iter().for_each(|part| line(format_args!("part {}", part.text())));
        return seen;
    }
    if let Some(error) = body.find("error") {
        let cause = error.member("cause");
        let info = cause.find("info").map(|info| info.text().to_owned()).unwrap_or_default();
        let (name, cause) = (error.member("name").string(), cause.member("name").string());
        line(format_args!("failure {name} {cause} {info}"));
        return seen;
    }
    let result = body.member("result");
    let Some(milestone) = result.find("final_execution_status") else {
        line(format_args!("json {}", result.text()));
        return seen;
    };
    let milestones =
        ["NONE", "INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED", "FINAL"];
    let milestone = milestones.iter().position(|name| *name == milestone.string());
    let (milestone, status) = (milestone.expect("a milestone"), result.find("status"));
    let (ending, payload) = status.map_or_else(|| (0, hex(b"")), |status| ending(&status));
    let transaction = result.find("transaction").map(|it| it.text().to_owned());
    let transaction = transaction.unwrap_or_default();
    line(format_args!("result {milestone} {ending} {payload} {transaction}"));
    let first = result.find("transaction_outcome").into_iter();
    for outcome in first.chain(result.items("receipts_outcome")) {
        line(format_args!("{}", self::outcome(&outcome)));
    }
    let receipts = result.items("receipts");
    receipts.iter().for_each(|receipt| line(format_args!("receipt {}", receipt.text())));
    seen
}

fn outcome(outcome: &Json) -> String {
    let inner = outcome.member("outcome");
    let (ending, payload) = ending(&inner.member("status"));
    let tokens: u128 = inner.member("tokens_burnt").string().parse().expect("an amount");
    let (high, low) = (tokens >> 64, tokens & u128::from(u64::MAX));
    let mut words = format!(
        "outcome {} {} {} {ending} {payload} {} {high} {low}",
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

/// The number of `MILEPOST_ENDING_...` and the payload
fn ending(status: &Json) -> (u8, String) {
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

fn every_vector(source: &str, mode: &str) {
    let Manifest { scenes, vectors, .. } = &vectors::load().expect("the manifest and its files");
    let directory = tempfile::tempdir().expect("a place for the program");
    let program = c::program(&c::root().join(source), directory.path());
    let mut program = Program::start(&program, mode);
    let mut complaints = Vec::new();
    for vector in vectors {
        let scene = scenes.iter().find(|scene| scene.name == vector.scene).expect("its scene");
        if let Err(difference) = program.run(scene, vector) {
            complaints.push(format!("{}: {difference}", vector.name));
        }
    }
    program.end();
    let count = (complaints.len(), vectors.len());
    assert!(complaints.is_empty(), "{count:?}\n{}\n", complaints.join("\n"));
    assert!(count.1 > 100, "most vectors are not there");
}

const C: &str = "tests/c/vectors.c";
const CPP: &str = "tests/cpp/vectors.cpp";

#[test]
fn in_memory() {
    every_vector(C, "memory");
}

#[test]
fn over_a_storage_that_gives_one_row_at_a_time() {
    every_vector(C, "get");
}

#[test]
fn over_a_storage_that_gives_many_rows_at_a_time() {
    every_vector(C, "get_many");
}

#[test]
fn over_a_storage_that_is_not_at_hand() {
    every_vector(C, "far");
}

#[test]
fn in_memory_through_cpp() {
    every_vector(CPP, "memory");
}

#[test]
fn over_a_storage_in_cpp_that_gives_one_row_at_a_time() {
    every_vector(CPP, "get");
}

#[test]
fn over_a_storage_in_cpp_that_gives_many_rows_at_a_time() {
    every_vector(CPP, "get_many");
}

#[test]
fn over_a_storage_in_cpp_that_is_not_at_hand() {
    every_vector(CPP, "far");
}
