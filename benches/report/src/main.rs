//! Writes the pages of figures in `docs`; `cargo xtask verify` and `cargo xtask bench` start it.
//!
//! `ratios` reads the files of criterion, `http` measures servers that are already built. Each page
//! is written by one command only and never by hand. Does not build or run benches.

#![forbid(unsafe_code)]

mod http;
mod machine;
mod ratios;

use core::time::Duration;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

const USAGE: &str = "\
milepost-bench-report <command>

  ratios --criterion DIR --since SECONDS [--print]
      write docs/BENCHMARKS.md from the figures below DIR that were written since the
      Unix time SECONDS, with the table of bytes on disk from standard input; or print the ratios
  http --programs DIR --peer PROGRAM [--check]
      measure the programs `milepost` and `http-bench` in DIR and the peer, and write
      docs/BENCHMARKS-HTTP.md; or only compare their responses";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("milepost-bench-report: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        ["ratios", "--criterion", folder, "--since", since, rest @ ..]
        | ["ratios", rest @ .., "--since", since, "--criterion", folder] => {
            let seconds =
                since.parse().map_err(|_| format!("--since needs seconds, not {since}"))?;
            let start = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            match rest {
                [] => ratios::write(Path::new(folder), start, &input()?),
                ["--print"] => ratios::print(Path::new(folder), start),
                _ => Err(USAGE.to_owned()),
            }
        }
        ["http", "--programs", programs, "--peer", peer] => {
            http::write(Path::new(programs), Path::new(peer))
        }
        ["http", "--programs", programs, "--peer", peer, "--check"] => {
            http::check(Path::new(programs), Path::new(peer))
        }
        _ => Err(USAGE.to_owned()),
    }
}

fn input() -> Result<String, String> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| format!("standard input: {error}"))?;
    Ok(text)
}

/// The root of the repository
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Writes a file of the repository
fn write(path: &str, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{path}: {error}");
    let file = root().join(path);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(file, text).map_err(failed)?;
    println!("written: {path}");
    Ok(())
}
