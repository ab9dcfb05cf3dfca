//! Writes the inputs of a target into a directory, or keeps what runs found.
//!
//! `seeds write DIRECTORY` writes all inputs of every target, each target's into a directory of its
//! own. `seeds keep DIRECTORY TARGET` writes the files of a target's directory to `fuzz/corpus`: a
//! file for each target with a line of base64 for each input. Longer inputs are left out, since the
//! vectors have long ones. Findings are written by hand, below a comment each, and stay.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use data_encoding::BASE64;
use milepost_fuzz::{MAX_LEN, TARGETS, inputs_of, seeds_of};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", directory] => write(Path::new(directory)),
        ["keep", directory, target] => keep(&Path::new(directory).join(target), target),
        _ => Err(io::Error::other("usage: seeds write DIRECTORY | keep DIRECTORY TARGET")),
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn write(directory: &Path) -> io::Result<()> {
    for (target, _) in TARGETS {
        let directory = directory.join(target);
        fs::create_dir_all(&directory)?;
        for (number, bytes) in inputs_of(target).iter().enumerate() {
            fs::write(directory.join(number.to_string()), bytes)?;
        }
    }
    Ok(())
}

fn keep(directory: &Path, target: &str) -> io::Result<()> {
    let seeds: BTreeSet<Vec<u8>> = seeds_of(target).into_iter().collect();
    let mut inputs = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let bytes = fs::read(entry?.path())?;
        if bytes.len() <= MAX_LEN && !seeds.contains(&bytes) {
            inputs.insert(bytes);
        }
    }
    let lines: String = inputs.iter().map(|bytes| BASE64.encode(bytes) + "\n").collect();
    fs::write(corpus().join(format!("{target}.txt")), lines)
}
