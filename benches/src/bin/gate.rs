//! Goes one hot path so many times: the program whose instructions `cargo xtask gate` counts.
//!
//! Without a word it prints the names of the paths; with one of them it goes this path and prints
//! how often it did. What is counted happens within `counted` and nowhere else, so that making the
//! input does not weigh. Everything comes from fixed seeds, nothing is read from outside, and each
//! path is gone once before it is counted, so a count is the same in every run. Allocates with the
//! system; measures nothing itself.

#![forbid(unsafe_code)]

use core::hint::black_box;
use std::process::ExitCode;

use milepost::engine::{Engine, Scratch, Settings};
use milepost::facts::MemoryStorage;
use milepost::ingest::IngestSettings;
use milepost::rpc::{Incoming, Limits, parse};
use milepost_benches::{Crowd, Workload, practice_block, stored};
use milepost_practice::config::protocol_config;

/// A hot path: its name, how often it is gone, and the way
struct HotPath {
    name: &'static str,
    times: u32,
    go: fn(u32),
}

/// The paths in the order of their names; long ones are gone less often, for counting takes fifty
/// times as long as going
const PATHS: [HotPath; 10] = [
    HotPath { name: "answer-final-1", times: 64, go: |times| answer_final(1, times) },
    HotPath { name: "answer-final-10", times: 64, go: |times| answer_final(10, times) },
    HotPath { name: "answer-final-100", times: 64, go: |times| answer_final(100, times) },
    HotPath { name: "answer-not-final-10", times: 64, go: |times| answer_not_final(10, times) },
    HotPath { name: "configuration", times: 64, go: configuration },
    HotPath { name: "ingest-20-transactions", times: 4, go: ingest },
    HotPath {
        name: "request-by-bytes",
        times: 64,
        go: |times| request(&Workload::calls(1).by_bytes(), times),
    },
    HotPath {
        name: "request-by-bytes-1-mib",
        times: 2,
        go: |times| request(&Workload::deployment().by_bytes(), times),
    },
    HotPath {
        name: "request-by-hash",
        times: 64,
        go: |times| request(&Workload::calls(1).by_hash(), times),
    },
    HotPath { name: "wake-100-of-10000", times: 4, go: wake },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => PATHS.iter().for_each(|path| println!("{}", path.name)),
        [name] => {
            let Some(path) = PATHS.iter().find(|path| path.name == name) else {
                eprintln!("gate: no path is called `{name}`");
                return ExitCode::FAILURE;
            };
            (path.go)(path.times);
            println!("{}", path.times);
        }
        _ => {
            eprintln!("usage: gate [NAME]");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The one function whose instructions are counted; it is found by its name
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
}

/// Goes a path on inputs that are made ready; what it leaves is freed on the way
fn repeat<Input>(times: u32, mut make: impl FnMut() -> Input, mut work: impl FnMut(Input)) {
    work(make());
    for _ in 0..times {
        let mut input = Some(make());
        // Behind a black box, or there would be a copy of the function for each path.
        counted(black_box(&mut || {
            if let Some(input) = input.take() {
                work(input);
            }
        }));
    }
}

/// From a body to a checked request
fn request(body: &[u8], times: u32) {
    let read = |body: &[u8]| {
        let incoming = parse(body, None, &Limits::default());
        assert!(matches!(black_box(&incoming), Incoming::Single(Ok(_))), "{incoming:?}");
    };
    repeat(times, || black_box(body), read);
}

/// From a request that was read to the bytes of the response, in memory that is used again
fn answer(body: &[u8], storage: &MemoryStorage, shows: &str, times: u32) {
    let (engine, settings) = (Engine::default(), Settings::default());
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    let work = |incoming| {
        out.clear();
        engine.answer_with(&mut scratch, incoming, storage, &mut out);
        black_box(&out);
    };
    repeat(times, || parse(body, None, &settings.limits), work);
    let text = String::from_utf8_lossy(&out);
    assert!(text.contains(shows), "no answer that shows {shows}: {text}");
}

fn answer_final(receipts: usize, times: u32) {
    let workload = Workload::calls(receipts);
    let shows = r#""final_execution_status":"FINAL""#;
    answer(&workload.by_hash(), &stored(&workload.messages), shows, times);
}

fn answer_not_final(receipts: usize, times: u32) {
    let workload = Workload::calls(receipts);
    let storage = stored(workload.until_executed());
    let shows = r#""final_execution_status":"EXECUTED""#;
    answer(&workload.by_hash(), &storage, shows, times);
}

fn configuration(times: u32) {
    let mut storage = stored(&Workload::calls(1).messages);
    let text = protocol_config("mainnet", 9_820_210, 87, &[]);
    Engine::default().put_config(9_820_210, &text, &mut storage).expect("a configuration");
    let body = br#"{"jsonrpc":"2.0","id":"dontcare","method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;
    answer(body, &storage, r#""chain_id":"mainnet""#, times);
}

/// From a block message to a storage that has it
fn ingest(times: u32) {
    let message = practice_block(20);
    let (engine, settings) = (Engine::default(), IngestSettings::default());
    repeat(times, MemoryStorage::new, |mut storage| {
        let ingested = engine.ingest(&message, &settings, &mut storage).expect("a block");
        black_box((ingested, storage));
    });
}

/// A block of 2,000 facts wakes the 100 that it concerns
fn wake(times: u32) {
    let mut crowd = Crowd::new(10_000, 10_000);
    for _ in 0..times {
        let block = crowd.next_block();
        counted(black_box(&mut || crowd.wake(black_box(&block))));
        let answers = crowd.answer();
        crowd.refill(block, &answers);
    }
}
