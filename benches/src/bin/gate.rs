//! Runs one hot path several times: the program whose instructions `cargo xtask gate` counts.
//!
//! Without an argument it prints the names of the paths; with a name it runs that path and prints
//! how many times it did. Only instructions within `counted` are counted, so making the inputs is
//! not. All inputs come from fixed seeds and each path has a warm-up run, so a count is the same in
//! every run. Uses the system allocator; measures nothing itself.

#![forbid(unsafe_code)]

use core::hint::black_box;
use std::process::ExitCode;

use milepost::endpoint::{Buffers, Engine, Settings};
use milepost::import::ImportSettings;
use milepost::rpc::{Limits, Request, parse};
use milepost::storage::MemoryStorage;
use milepost_benches::{OpenRequests, Workload, practice_block, stored};
use milepost_practice::config::protocol_config;

/// A hot path, and how many times it runs
struct HotPath {
    name: &'static str,
    times: u32,
    run: fn(u32),
}

/// The paths in the order of their names
///
/// Long ones run fewer times, because counting is fifty times slower than running.
const PATHS: [HotPath; 10] = [
    HotPath { name: "configuration", times: 64, run: configuration },
    HotPath { name: "import-20-transactions", times: 4, run: import },
    HotPath {
        name: "request-by-bytes",
        times: 64,
        run: |times| request(&Workload::calls(1).by_bytes(), times),
    },
    HotPath {
        name: "request-by-bytes-1-mib",
        times: 2,
        run: |times| request(&Workload::deployment().by_bytes(), times),
    },
    HotPath {
        name: "request-by-hash",
        times: 64,
        run: |times| request(&Workload::calls(1).by_hash(), times),
    },
    HotPath { name: "response-final-1", times: 64, run: |times| respond_final(1, times) },
    HotPath { name: "response-final-10", times: 64, run: |times| respond_final(10, times) },
    HotPath { name: "response-final-100", times: 64, run: |times| respond_final(100, times) },
    HotPath { name: "response-not-final-10", times: 64, run: |times| respond_not_final(10, times) },
    HotPath { name: "wake-100-of-10000", times: 4, run: wake },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => PATHS.iter().for_each(|path| println!("{}", path.name)),
        [name] => {
            let Some(path) = PATHS.iter().find(|path| path.name == name) else {
                eprintln!("gate: unknown path `{name}`");
                return ExitCode::FAILURE;
            };
            (path.run)(path.times);
            println!("{}", path.times);
        }
        _ => {
            eprintln!("usage: gate [NAME]");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The only function whose instructions are counted; `cargo xtask gate` finds it by its name
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
}

/// Runs `work` once as a warm-up and `times` times counted, each on an input made before
fn repeat<Input>(times: u32, mut make: impl FnMut() -> Input, mut work: impl FnMut(Input)) {
    work(make());
    for _ in 0..times {
        let mut input = Some(make());
        // In a black box, or the compiler would copy the function for each path.
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
        let request = parse(body, None, &Limits::default());
        assert!(matches!(black_box(&request), Request::Single(Ok(_))), "{request:?}");
    };
    repeat(times, || black_box(body), read);
}

/// From a parsed request to the bytes of the response, with reused buffers
fn respond(body: &[u8], storage: &MemoryStorage, expected: &str, times: u32) {
    let (engine, settings) = (Engine::default(), Settings::default());
    let (mut buffers, mut out) = (Buffers::default(), Vec::new());
    let work = |request| {
        out.clear();
        engine.respond_into(request, storage, &mut buffers, &mut out);
        black_box(&out);
    };
    repeat(times, || parse(body, None, &settings.limits), work);
    let text = String::from_utf8_lossy(&out);
    assert!(text.contains(expected), "no {expected} in the response: {text}");
}

fn respond_final(receipts: usize, times: u32) {
    let workload = Workload::calls(receipts);
    let expected = r#""final_execution_status":"FINAL""#;
    respond(&workload.by_hash(), &stored(&workload.messages), expected, times);
}

fn respond_not_final(receipts: usize, times: u32) {
    let workload = Workload::calls(receipts);
    let storage = stored(workload.until_executed());
    let expected = r#""final_execution_status":"EXECUTED""#;
    respond(&workload.by_hash(), &storage, expected, times);
}

fn configuration(times: u32) {
    let mut storage = stored(&Workload::calls(1).messages);
    let text = protocol_config("mainnet", 9_820_210, 87, &[]);
    let settings = ImportSettings::default();
    Engine::default().put_config(9_820_210, &text, &settings, &mut storage).expect("it is valid");
    let body = br#"{"jsonrpc":"2.0","id":"dontcare","method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;
    respond(body, &storage, r#""chain_id":"mainnet""#, times);
}

/// From a block message to its commit
fn import(times: u32) {
    let message = practice_block(20);
    let (engine, settings) = (Engine::default(), ImportSettings::default());
    repeat(times, MemoryStorage::new, |mut storage| {
        let summary = engine.import_block(&message, &settings, &mut storage).expect("a block");
        black_box((summary, storage));
    });
}

/// A block of 2,000 changes wakes the 100 requests that it affects
fn wake(times: u32) {
    let mut open_requests = OpenRequests::new(10_000, 10_000);
    for _ in 0..times {
        let block = open_requests.next_block();
        counted(black_box(&mut || open_requests.wake(black_box(&block))));
        let responses = open_requests.respond();
        open_requests.refill(block, &responses);
    }
}
