//! Our native side of a bench that is written in another language: the same work, in turns.
//!
//! Prints the block messages of a transaction with so many receipts, a request for it and the answer,
//! each on a line of its own after a word that says what it is; JSON that is compact has no line
//! breaks. Then reads numbers from standard input, answers the request so many times for each, and
//! prints the nanoseconds that it took. Whoever started it decides when it runs, so that both sides
//! meet the same machine. Ends with its input, and has no verdict.

#![forbid(unsafe_code)]

use core::error::Error;
use core::hint::black_box;
use std::io::{self, BufRead as _, Write, stdin, stdout};
use std::time::Instant;

use milepost::engine::Engine;
use milepost_benches::{Workload, stored};

fn main() -> Result<(), Box<dyn Error>> {
    let receipts = std::env::args().nth(1).ok_or("usage: native RECEIPTS")?.parse()?;
    let workload = Workload::calls(receipts);
    let storage = stored(&workload.messages);
    let (engine, request) = (Engine::default(), workload.by_hash());
    let mut answer = Vec::new();
    let respond = |times: u64, answer: &mut Vec<u8>| {
        for _ in 0..times {
            answer.clear();
            engine.respond(black_box(&request), None, &storage, answer);
            black_box(&answer);
        }
    };
    respond(1, &mut answer);

    let mut out = stdout().lock();
    for message in &workload.messages {
        line(&mut out, "block", message)?;
    }
    line(&mut out, "request", &request)?;
    line(&mut out, "answer", &answer)?;
    out.flush()?;
    for times in stdin().lock().lines() {
        let times = times?.parse()?;
        let start = Instant::now();
        respond(times, &mut answer);
        writeln!(out, "{}", start.elapsed().as_nanos())?;
        out.flush()?;
    }
    Ok(())
}

fn line(out: &mut impl Write, word: &str, json: &[u8]) -> io::Result<()> {
    write!(out, "{word} ")?;
    out.write_all(json)?;
    writeln!(out)
}
