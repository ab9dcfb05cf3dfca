//! Writes the inputs of a target into a directory, or keeps what runs found.
//!
//! `seeds write DIRECTORY` writes all inputs of every target, each target's into a directory of its
//! own. `seeds keep DIRECTORY TARGET` writes the files of a target's directory to `fuzz/corpus`: a
//! file for each target with a line of base64 for each input.

use std::path::Path;
use std::{env, io};

use milepost_tests::fuzz::{TARGETS, keep, write_inputs};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", directory] => write_inputs(&TARGETS, Path::new(directory)),
        ["keep", directory, name] => {
            let target = TARGETS.iter().find(|target| target.name == *name);
            let target = target.ok_or_else(|| io::Error::other("no such target"))?;
            keep(target, &Path::new(directory).join(name))
        }
        _ => Err(io::Error::other("usage: seeds write DIRECTORY | keep DIRECTORY TARGET")),
    }
}
