//! The native side of a bench in another language.
//!
//! Prints the block messages of a transaction with the given number of receipts, a request for it
//! and the response, each on a line of its own after a word for its kind; compact JSON has no line
//! breaks. Then reads counts from standard input, answers the request that many times, and prints
//! the elapsed nanoseconds. The parent process decides when it runs, so the sides can take turns.
//! Ends with its input.

#![forbid(unsafe_code)]

use core::error::Error;
use core::hint::black_box;
use std::io::{self, BufRead as _, Write, stdin, stdout};
use std::time::Instant;

use milepost::endpoint::{Buffers, Engine};
use milepost_benches::{Workload, stored};

fn main() -> Result<(), Box<dyn Error>> {
    let receipts = std::env::args().nth(1).ok_or("usage: native RECEIPTS")?.parse()?;
    let workload = Workload::calls(receipts);
    let storage = stored(&workload.messages);
    let (engine, request) = (Engine::default(), workload.by_hash());
    let (mut buffers, mut response) = (Buffers::default(), Vec::new());
    let mut respond = |times: u64, response: &mut Vec<u8>| {
        for _ in 0..times {
            response.clear();
            let request = engine.parse(black_box(&request), None);
            engine.respond_into(request, &storage, &mut buffers, response);
            black_box(&response);
        }
    };
    respond(1, &mut response);

    let mut out = stdout().lock();
    for message in &workload.messages {
        line(&mut out, "block", message)?;
    }
    line(&mut out, "request", &request)?;
    line(&mut out, "answer", &response)?;
    out.flush()?;
    for times in stdin().lock().lines() {
        let times = times?.parse()?;
        let start = Instant::now();
        respond(times, &mut response);
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
