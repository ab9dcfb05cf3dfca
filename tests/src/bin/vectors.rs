//! Writes the shared vectors from their declarations, or checks that they are up to date.
//!
//! Never runs the engine: responses are declared, not observed. Files in the folders of the vectors
//! that no declaration names are removed, so that a rename leaves no file behind.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use milepost_tests::declare::Declarations;
use milepost_tests::node::{CHAINS, recorded_chain};
use milepost_tests::vectors::directory;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [word @ ("write" | "check")] => {
            let is_written = *word == "write";
            match Declarations::new().sync(&directory(), is_written) {
                Ok(changes) if is_written || changes.is_empty() => {
                    println!("{} files changed", changes.len());
                    ExitCode::SUCCESS
                }
                Ok(changes) => {
                    changes
                        .iter()
                        .for_each(|path| eprintln!("{path} differs from its declaration"));
                    eprintln!("run `cargo xtask vectors` and review the changes");
                    ExitCode::FAILURE
                }
                Err(error) => {
                    eprintln!("{error}");
                    ExitCode::FAILURE
                }
            }
        }
        ["node", directory] => write_node(Path::new(directory)),
        _ => {
            eprintln!("usage: vectors write|check | node DIRECTORY");
            ExitCode::FAILURE
        }
    }
}

/// Writes the chains of a real node as vectors, each into a directory of its own, where they are
fn write_node(directory: &Path) -> ExitCode {
    for name in CHAINS {
        let Some(chain) = recorded_chain(name) else { continue };
        let directory = directory.join(name);
        if let Err(error) = fs::create_dir_all(&directory) {
            eprintln!("{}: {error}", directory.display());
            return ExitCode::FAILURE;
        }
        chain.write_vectors(&directory);
    }
    ExitCode::SUCCESS
}
