//! Writes the shared vectors from their declarations, or checks that they are up to date.
//!
//! Never runs the engine: responses are declared, not observed. Files in the folders of the vectors
//! that no declaration names are removed, so that a rename leaves no file behind. Those that hold
//! on any chain are also written into the file that is named, for a program that checks servers.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use milepost_tests::declare::Declarations;
use milepost_tests::node::{CHAINS, recorded_chain};
use milepost_tests::vectors::directory;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [word @ ("write" | "check"), expectations] => {
            let is_written = *word == "write";
            match sync(Path::new(expectations), is_written) {
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
            eprintln!("usage: vectors write|check FILE | node DIRECTORY");
            ExitCode::FAILURE
        }
    }
}

/// Compares the files with their declarations and maybe writes them; returns those that differed
fn sync(expectations: &Path, is_written: bool) -> io::Result<Vec<String>> {
    let mut changes = Declarations::new().sync(&directory(), is_written)?;
    let text = Declarations::new().expectations();
    if fs::read_to_string(expectations).ok().as_ref() != Some(&text) {
        if is_written {
            fs::write(expectations, text)?;
        }
        changes.push(expectations.display().to_string());
    }
    Ok(changes)
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
