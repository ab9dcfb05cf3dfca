//! Writes the header of the C interface, or compares: `cargo xtask header [--check]`.
//!
//! The word `tables` prints what the hostile programs in C include, `tables unchecked` for a library
//! that does not tell handles that were freed.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use cbindgen as _;
use milepost_header::{HEADER, header, read, tables};
use proc_macro2 as _;
use quote as _;
use syn as _;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            eprintln!("header: {refusal}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).ok_or("the crate stands nowhere")?;
    let path = root.join(HEADER);
    let written = header(root)?;
    let words: Vec<String> = env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write"] => {
            fs::write(&path, written).map_err(|error| format!("{}: {error}", path.display()))
        }
        ["check"] => {
            let there = fs::read_to_string(&path);
            let there = there.map_err(|error| format!("{}: {error}", path.display()))?;
            if there == written {
                return Ok(());
            }
            let place = there.lines().zip(written.lines()).take_while(|(a, b)| a == b).count() + 1;
            Err(format!("{HEADER}:{place} is not what the sources say; run `cargo xtask header`"))
        }
        ["tables", rest @ ..] => {
            print!("{}", tables(&read(root)?.functions, rest != ["unchecked"])?);
            Ok(())
        }
        _ => Err("expected `write`, `check` or `tables`".into()),
    }
}
