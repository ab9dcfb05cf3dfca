//! Everything a developer or a machine runs on this repository: `cargo xtask help` says what.
//!
//! Needs `cargo` and the standard library, nothing else, so that it builds in a second and never
//! stands in the way of what it checks. Leaves out what `cargo` does well by itself: `cargo run
//! --release` starts the node.

#![forbid(unsafe_code)]

mod bench;
mod bench_http;
mod c;
mod gate;
mod header;
mod install;
mod no_std;
mod npm;
mod open_requests;
mod page;
mod shell;
mod simulate;
mod test;
mod toolchain;
mod vectors;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command>

  test [--only STEP,..] [--skip STEP,..]   run the checks; the steps, in their order:
{steps}
  vectors [--check]                        write the shared vectors from their declarations in
                                           tests/src, or only say whether they are written
  header [--check]                         write include/milepost.h from the sources in ffi/src, or only say
                                           whether it is written
  install --prefix DIR                     build the libraries for C and C++ and lay them out below DIR, with
                                           headers, pkg-config files and CMake's package
  bench                                    run all benches beside the node's path, and write the ratios
                                           into docs/BENCHMARKS.md (half an hour, on an idle machine)
  bench --rocksdb                          the same, and the node's answers also from rows in RocksDB,
                                           which is built from C++ and needs libclang
  bench [--rocksdb] NAME                   run the benches with this in their names, and print them
  bench --http                             measure what an answer costs over HTTP, beside a server
                                           that sends the same bytes and the node's path, with `wrk`
                                           (four minutes); writes docs/BENCHMARKS-HTTP.md
  gate                                     count the instructions of ten hot paths with valgrind; a
                                           count that is not within 3 % of benches/gate.toml fails
  gate --accept                            write what is counted into benches/gate.toml
  open-requests                            open 10,000 HTTP requests at once on a release build: all
                                           are answered, places are freed, a stop resets none
                                           (three minutes, 10,240 open files)
  simulate [--seeds N] [--from S]          run seeds of the simulation, by default 10,000
  simulate --seed S                        run one seed and print its events
  npm                                      build the npm package in bindings/js and the page beside it, from
                                           nothing; the node that is built next shows the page at `GET /`
  help                                     print this text

`test` ends with a line `N passed, N failed`: the sum over all test binaries, to which a step that
fails without a failed test adds one. Its exit code is 0 when every step passed.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test", rest @ ..] => test::run(rest),
        ["simulate", rest @ ..] => simulate::run(rest).map(|()| ExitCode::SUCCESS),
        ["vectors", rest @ ..] => vectors::run(rest).map(|()| ExitCode::SUCCESS),
        ["header", rest @ ..] => header::run(rest).map(|()| ExitCode::SUCCESS),
        ["install", rest @ ..] => install::run_with(rest).map(|()| ExitCode::SUCCESS),
        ["bench", "--http"] => bench_http::run().map(|()| ExitCode::SUCCESS),
        ["bench", rest @ ..] => bench::run(rest).map(|()| ExitCode::SUCCESS),
        ["gate", rest @ ..] => gate::run(rest).map(|()| ExitCode::SUCCESS),
        ["npm"] => npm::build().and_then(|()| page::build()).map(|()| ExitCode::SUCCESS),
        ["open-requests"] => open_requests::run().map(|()| ExitCode::SUCCESS),
        [] | ["help" | "--help" | "-h"] => {
            println!("{}", HELP.replace("{steps}", &test::list()));
            Ok(ExitCode::SUCCESS)
        }
        [unknown, ..] => Err(format!("no command is called `{unknown}`; see `cargo xtask help`")),
    };
    match outcome {
        Ok(code) => code,
        Err(refusal) => {
            eprintln!("xtask: {refusal}");
            ExitCode::FAILURE
        }
    }
}
