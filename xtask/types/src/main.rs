//! Writes the TypeScript declarations of the wire types from their schemas, or compares:
//! `cargo xtask types [--check]`.
//!
//! A crate of its own, because it builds `milepost-protocol` with the docs of its schemas.

#![forbid(unsafe_code)]

mod declarations;
mod files;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("types: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let root = root.ok_or("the crate is not below the root")?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    let is_check = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write"] => false,
        ["check"] => true,
        _ => return Err("expected `write` or `check`".into()),
    };
    for (name, generated) in files::generate() {
        let path = root.join(&name);
        let failed = |error| format!("{}: {error}", path.display());
        if is_check {
            compare(&name, &fs::read_to_string(&path).map_err(failed)?, &generated)?;
        } else {
            fs::write(&path, generated).map_err(failed)?;
        }
    }
    Ok(())
}

/// Compares a committed file with a generated one
fn compare(name: &str, committed: &str, generated: &str) -> Result<(), String> {
    if committed == generated {
        return Ok(());
    }
    let lines = committed.lines().zip(generated.lines());
    let line = lines.take_while(|(one, other)| one == other).count() + 1;
    Err(format!("{name}:{line} differs from the schemas; run `cargo xtask types`"))
}

#[test]
fn the_committed_types_match_the_schemas() {
    for (name, generated) in files::generate() {
        let path = Path::new("../..").join(&name);
        let committed = fs::read_to_string(path).expect("the declarations are committed");
        assert_eq!(compare(&name, &committed, &generated), Ok(()));
    }
}
