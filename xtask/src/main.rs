//! What developers and CI run on this repository; `cargo xtask help` lists the commands.
//!
//! Starts cargo and other programs and depends on a reader of JSON alone, so it builds in seconds.
//! Leaves out what `cargo` does well by itself: `cargo run --release` starts the server.

#![forbid(unsafe_code)]

mod api;
mod bench;
mod c;
mod check;
mod clients;
mod cluster;
mod evidence;
mod fuzz;
mod gate;
mod generate;
mod install;
mod no_std;
mod npm;
mod packages;
mod packing;
mod page;
mod platforms;
mod runner;
mod setup;
mod shell;
mod simulate;
mod supply;
mod tally;
mod test;
mod text;
mod toolchain;
mod upgrade;
mod workspace;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command>

  check [--since REV]                      formatting, lints and tests of the crates that changed since the
                                           merge base with the main branch, or since REV
  test [--only STEP,..] [--skip STEP,..]   install what is missing and run all checks, side by side:
{steps}
  setup [PART ..]                          install what the other commands need, or some parts of it:
{parts}
  evidence [NAME]                          run what takes long and write its figures into docs/EVIDENCE.md
                                           and the pages of benches, on an idle machine:
{evidence}
  vectors [--check]                        write the shared vectors from their declarations in tests/src, or
                                           fail when they are not up to date
  header [--check]                         write include/milepost.h from the sources in ffi/src, or fail when
                                           it is not up to date
  types [--check]                          write the TypeScript types in bindings/js and the discovery documents
                                           of the server from the schemas in protocol/src, or fail when they
                                           are not up to date
  format                                   lay out all files: Rust, JavaScript, TypeScript, CSS, HTML, C and C++
  api [--accept]                           compare the public interfaces of the library crates with their records
                                           in docs/api, or write these
  supply [advisories]                      check licences and sources of dependencies, build with their lowest
                                           versions, and compare the public interfaces; or download the
                                           advisories and compare the dependencies with them
  gate [--accept]                          count the instructions of ten hot paths and fail when a count is
                                           not within 3 % of benches/gate.toml, or write that file
  npm                                      install what is missing of the parts npm and page, naming it, and
                                           build the npm package in bindings/js and the page; the server
                                           that is built next shows the page at `GET /`
  install --prefix DIR [OPTION ..]         build the libraries for C and C++ and install them below DIR, with
                                           headers, pkg-config files and a CMake package; `install --help`
  simulate [--server] --seed S             run one seed of the simulation of the engine, or of the whole server,
                                           and print its events
  fuzz [--minutes N] [--keep] [TARGET ..]  run the fuzz targets, or these, for N minutes each, by default one;
                                           `--keep` adds inputs that reach new code to fuzz/corpus
  soak [--minutes N]                       run a server under load for an hour, or for N minutes, and write
                                           its memory, open files and times into docs/EVIDENCE.md
  cluster-faults                           kill and pause nodes of a cluster of Cassandra while an archive in it
                                           is written and read, also by servers that are asked over HTTP, and
                                           print figures (a quarter of an hour)
  packages [NAME]                          build what a release publishes, install it and ask it one request:
{packages}
  bench [--rocksdb] NAME                   run the benches with this in their names beside the node's path and
                                           print the ratios
  help                                     print this text

`check` and `test` end with a line `N passed, N failed`: the sum over all test programs, to which a step
that fails without a failed test adds one. The exit code is 0 when every step passed.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = |result: Result<(), String>| result.map(|()| ExitCode::SUCCESS);
    let result = match words.as_slice() {
        ["check", rest @ ..] => check::run(rest),
        ["test", rest @ ..] => test::run(rest),
        // What `test` starts for each of its steps.
        ["step", name] => done(test::run_step(name)),
        ["setup", rest @ ..] => done(setup::run(rest)),
        ["evidence", rest @ ..] => done(evidence::run(rest)),
        ["vectors", rest @ ..] => done(generate::run("milepost-tests --bin vectors", rest)),
        ["header", rest @ ..] => done(generate::run("milepost-header", rest)),
        ["types", rest @ ..] => done(generate::run("xtask-types", rest)),
        ["api", rest @ ..] => done(setup::run(&["api"]).and_then(|()| api::run(rest))),
        ["supply", rest @ ..] => done(supply::run(rest)),
        ["format"] => done(setup::run(&["text"]).and_then(|()| text::format())),
        ["gate", rest @ ..] => done(setup::run(&["gate"]).and_then(|()| gate::run(rest))),
        ["npm"] => done(page::build_all()),
        ["install", rest @ ..] => done(install::run_with(rest)),
        ["simulate", rest @ ..] => done(simulate::replay(rest)),
        ["soak", rest @ ..] => done(evidence::run(&[&["soak"], rest].concat())),
        ["fuzz", rest @ ..] => done(setup::run(&["fuzz"]).and_then(|()| fuzz::run(rest))),
        ["cluster-faults"] => {
            done(setup::run(&["cassandra", "strace"]).and_then(|()| cluster::faults()))
        }
        ["packages", rest @ ..] => done(packing::run(rest)),
        ["bench", rest @ ..] => done(bench::run(rest)),
        [] | ["help" | "--help" | "-h"] => {
            let help = HELP.replace("{steps}", &test::list()).replace("{parts}", &setup::list());
            let help = help.replace("{packages}", packing::LIST);
            println!("{}", help.replace("{evidence}", &evidence::list()));
            Ok(ExitCode::SUCCESS)
        }
        [unknown, ..] => Err(format!("no command is called `{unknown}`; see `cargo xtask help`")),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
