//! Writes the C header, or compares it with the sources: `cargo xtask header [--check]`.
//!
//! The argument `tables` prints the tables that the adversarial C programs include;
//! `tables unchecked` prints those for a library that does not detect freed handles.

#![forbid(unsafe_code)]
#![expect(unused_crate_dependencies, reason = "those of the library and of other programs")]

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use xtask_generate::header::{HEADER, header, read, tables};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("header: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).ok_or("the crate is not below the root")?;
    let path = root.join(HEADER);
    let generated = header(root)?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write"] => {
            fs::write(&path, generated).map_err(|error| format!("{}: {error}", path.display()))
        }
        ["check"] => {
            let committed = fs::read_to_string(&path);
            let committed = committed.map_err(|error| format!("{}: {error}", path.display()))?;
            if committed == generated {
                return Ok(());
            }
            let lines = committed.lines().zip(generated.lines());
            let line = lines.take_while(|(a, b)| a == b).count() + 1;
            Err(format!("{HEADER}:{line} differs from the sources; run `cargo xtask header`"))
        }
        ["tables", rest @ ..] => {
            print!("{}", tables(&read(root)?.functions, rest != ["unchecked"])?);
            Ok(())
        }
        _ => Err("expected `write`, `check` or `tables`".into()),
    }
}
