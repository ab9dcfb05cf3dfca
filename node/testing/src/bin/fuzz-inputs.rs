//! Writes the inputs of all fuzz targets, those of the engine too, or keeps those that runs found.
//!
//! `fuzz-inputs write DIRECTORY` writes the inputs of each target into a directory of its own.
//! `fuzz-inputs keep DIRECTORY TARGET` writes the files of the target's directory to its corpus.

#![expect(unused_crate_dependencies, reason = "those of the library")]

use std::path::Path;
use std::{env, io};

use milepost_testing::fuzz;
use milepost_tests::fuzz as engine;

fn main() -> io::Result<()> {
    let mut targets = engine::TARGETS.iter().chain(&fuzz::TARGETS);
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", directory] => targets
            .try_for_each(|target| target.write_inputs(&Path::new(directory).join(target.name))),
        ["keep", directory, name] => {
            let target = targets.find(|target| target.name == *name);
            let target = target.ok_or_else(|| io::Error::other("no such target"))?;
            target.keep(&Path::new(directory).join(name))
        }
        _ => Err(io::Error::other("usage: fuzz-inputs write DIRECTORY | keep DIRECTORY TARGET")),
    }
}
