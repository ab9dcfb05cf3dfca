//! Writes the shared vectors from their declarations, or says whether they are written.
//!
//! Never asks the engine: what an answer must be is declared, not observed. Files in the folders
//! of the vectors that no declaration names are removed, so that none is left behind by a rename.

use std::process::ExitCode;

use milepost_tests::declare::Declarations;
use milepost_tests::vectors::directory;

fn main() -> ExitCode {
    let write = match std::env::args().nth(1).as_deref() {
        Some("write") => true,
        Some("check") => false,
        _ => {
            eprintln!("usage: vectors write|check");
            return ExitCode::FAILURE;
        }
    };
    match Declarations::new().settle(&directory(), write) {
        Ok(changes) if write || changes.is_empty() => {
            println!("{} files changed", changes.len());
            ExitCode::SUCCESS
        }
        Ok(changes) => {
            changes.iter().for_each(|path| eprintln!("{path} is not as declared"));
            eprintln!("run `cargo xtask vectors` and review what it writes");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
