//! What developers and CI run on this repository; `cargo xtask help` lists the commands.
//!
//! Starts cargo and other programs and depends on a reader of JSON alone, so it builds in seconds.

#![forbid(unsafe_code)]

mod api;
mod bench;
mod changes;
mod check;
mod clients;
mod clock;
mod cluster;
mod configurations;
mod count;
mod fuzz;
mod gate;
mod generate;
mod install;
mod interop;
mod mutants;
mod npm;
mod packages;
mod packing;
mod page;
mod platforms;
mod programs;
mod runner;
mod rustdoc;
mod setup;
mod shell;
mod supply;
mod tally;
mod test;
mod text;
mod toolchain;
mod verify;
mod workspace;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command>

every change
  check [--since REV]           formatting, lints, and tests of the packages that changed since the merge
                                base with the main branch, or since REV
  test [STEP ..]                install what is missing, and run every check that a change has to pass

by name
  verify [--list]               list the checks that take longer, with their minutes and folders
  verify NAME ..                run these
  verify --since REV            run those whose folders differ from REV; before work is handed in
  verify --release              run all; before a release
  fuzz [--minutes N] [--keep] [TARGET ..]
                                run the fuzz targets, or these, under sanitizers, by default for a minute
                                each; `--keep` adds inputs that reach new code to the corpus
  bench [--rocksdb] [NAME]      run all benches, or those with this in their names, beside the node's
                                path; `--rocksdb` adds a node's database
  packages [NAME]               build what a release publishes and try it: crates, debian, image
  api [REV]                     print the public interfaces of the crates, or how they differ from REV's
  mutants [--seed N] [--count N]
                                try changes of the engine at random, which its tests have to notice
  count                         count lines, features, options, public items, pages and words
  supply advisories             download the advisories and compare the dependencies with them

files that are generated; with `--check` they are compared
  header                        include/milepost.h, from ffi/src
  types                         TypeScript types and discovery documents, from the schemas in protocol/src
  vectors                       the shared vectors, from their declarations in tests/src
  interop                       what the node's own crates say of recorded inputs, in tests/vectors/oracle
  gate --accept                 the instructions of hot paths, in benches/gate.json
  format                        the layout of all files

products
  npm                           the npm package in bindings/js
  page [--picture]              the page of the server in node/server/page, from node/page; or with a server
                                of the committed page, the picture of the readme, docs/page.png
  install --prefix DIR [..]     the libraries for C and C++; `install --help`
  setup PART ..                 only install what other commands need

`test`, `check` and `verify` end with a table of minutes and a line `N passed, N failed`: the sum over all
test programs, to which a step that fails without a failed test adds one.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = |result: Result<(), String>| result.map(|()| ExitCode::SUCCESS);
    let result = match words.as_slice() {
        arguments if rustdoc::is_called() => rustdoc::run(arguments),
        ["check", rest @ ..] => check::run(rest),
        ["test", rest @ ..] => test::run(rest),
        ["verify", rest @ ..] => verify::run(rest),
        // What these start for each of their steps.
        ["step", name] => done(test::run_step(name)),
        ["setup", rest @ ..] => done(setup::run(rest)),
        [name @ ("vectors" | "header" | "types"), rest @ ..] => done(generate::run(name, rest)),
        ["interop", rest @ ..] => done(interop::run(rest)),
        ["api", rest @ ..] => done(setup::run(&["api"]).and_then(|()| api::run(rest))),
        ["mutants", rest @ ..] => done(setup::run(&["mutants"]).and_then(|()| mutants::run(rest))),
        ["count"] => done(count::run()),
        ["supply", rest @ ..] => done(supply::run(rest)),
        ["format"] => done(setup::run(&["text"]).and_then(|()| text::format())),
        ["gate", rest @ ..] => done(setup::run(&["gate"]).and_then(|()| gate::run(rest))),
        ["npm"] => done(npm::build()),
        ["page"] => done(page::build()),
        ["page", "--picture"] => done(page::draw()),
        ["install", rest @ ..] => done(install::run_with(rest)),
        ["fuzz", rest @ ..] => done(setup::run(&["fuzz"]).and_then(|()| fuzz::run(rest))),
        ["packages", rest @ ..] => done(packing::run(rest)),
        ["bench", rest @ ..] => done(bench::run(rest)),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
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
