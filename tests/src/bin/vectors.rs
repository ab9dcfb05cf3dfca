//! Writes the shared vectors from their declarations, or checks that they are up to date.
//!
//! Never runs the engine: responses are declared, not observed. Files in the folders of the vectors
//! that no declaration names are removed, so that a rename leaves no file behind.

use std::path::Path;
use std::process::ExitCode;

use milepost_tests::declare::Declarations;
use milepost_tests::node::{CHAINS, recorded_chain};
use milepost_tests::vectors::directory;

fn main() -> ExitCode {
    let write = match std::env::args().nth(1).as_deref() {
        Some("write") => true,
        Some("check") => false,
        Some("node") => return write_node(),
        _ => {
            eprintln!("usage: vectors write|check|node DIRECTORY");
            return ExitCode::FAILURE;
        }
    };
    match Declarations::new().sync(&directory(), write) {
        Ok(changes) if write || changes.is_empty() => {
            println!("{} files changed", changes.len());
            ExitCode::SUCCESS
        }
        Ok(changes) => {
            changes.iter().for_each(|path| eprintln!("{path} differs from its declaration"));
            eprintln!("run `cargo xtask vectors` and review the changes");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the chains of a real node as vectors, each into a directory of its own, where they are
fn write_node() -> ExitCode {
    let Some(directory) = std::env::args().nth(2) else { return ExitCode::FAILURE };
    for name in CHAINS {
        let Some(chain) = recorded_chain(name) else { continue };
        let directory = Path::new(&directory).join(name);
        if let Err(error) = std::fs::create_dir_all(&directory) {
            eprintln!("{}: {error}", directory.display());
            return ExitCode::FAILURE;
        }
        chain.write_vectors(&directory);
    }
    ExitCode::SUCCESS
}
