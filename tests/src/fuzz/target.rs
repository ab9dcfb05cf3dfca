//! A target and its inputs: what the chain gives, the shared vectors, and what campaigns found.
//!
//! The folders `corpus` and `findings` of a target have a file for each target, with a line of base64
//! for each input. A finding is below a comment that says what failed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use data_encoding::BASE64;

/// Maximum length of an input in the corpus: the vectors have long ones
pub const MAX_LEN: usize = 2048;

/// A fuzz target by its name, and where its inputs are
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "declared where the targets are")]
pub struct Target {
    /// The name
    pub name: &'static str,
    /// The folder of `corpus` and `findings`, from the root of the repository
    pub folder: &'static str,
    /// Makes the first inputs, which are in no file of these folders
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Makes inputs of the shared vectors
    pub vectors: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// All inputs
    ///
    /// # Panics
    ///
    /// When a file cannot be read.
    pub fn inputs(&self) -> Vec<Vec<u8>> {
        let mut inputs = self.inputs_beside_the_corpus();
        inputs.extend((self.vectors)());
        inputs.extend(lines(&self.file("corpus")));
        inputs
    }

    /// The inputs that are no vectors and need not be in the corpus: the first ones, and those that
    /// have failed before
    ///
    /// # Panics
    ///
    /// When the file of findings has an input without a comment.
    pub fn inputs_beside_the_corpus(&self) -> Vec<Vec<u8>> {
        let mut inputs = (self.seeds)();
        inputs.extend(lines(&self.file("findings")));
        inputs
    }

    fn file(&self, kind: &str) -> PathBuf {
        root().join(self.folder).join(kind).join(format!("{}.txt", self.name))
    }
}

/// Writes all inputs of these targets into a directory, each target's into one of its own
///
/// # Errors
///
/// A file cannot be written.
pub fn write_inputs(targets: &[Target], directory: &Path) -> io::Result<()> {
    for target in targets {
        let directory = directory.join(target.name);
        fs::create_dir_all(&directory)?;
        for (number, bytes) in target.inputs().iter().enumerate() {
            fs::write(directory.join(number.to_string()), bytes)?;
        }
    }
    Ok(())
}

/// Writes the files of a directory as the corpus of a target
///
/// Longer inputs are left out, since the vectors have long ones. Findings are written by hand, below
/// a comment each, and stay.
///
/// # Errors
///
/// A file cannot be read or written.
pub fn keep(target: &Target, directory: &Path) -> io::Result<()> {
    let others: BTreeSet<Vec<u8>> = target.inputs_beside_the_corpus().into_iter().collect();
    let mut inputs = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let bytes = fs::read(entry?.path())?;
        if bytes.len() <= MAX_LEN && !others.contains(&bytes) {
            inputs.insert(bytes);
        }
    }
    let lines: String = inputs.iter().map(|bytes| BASE64.encode(bytes) + "\n").collect();
    fs::write(target.file("corpus"), lines)
}

/// The inputs of a file, one a line; none if there is no such file
fn lines(path: &Path) -> Vec<Vec<u8>> {
    let is_finding = path.parent().is_some_and(|folder| folder.ends_with("findings"));
    let (mut inputs, mut is_commented) = (Vec::new(), false);
    for (line, number) in fs::read_to_string(path).unwrap_or_default().lines().zip(1..) {
        if is_finding && line.starts_with("# ") {
            is_commented = true;
            continue;
        }
        let place = format!("{}:{number}", path.display());
        assert!(!is_finding || is_commented, "{place}: no comment says what failed");
        let bytes = BASE64.decode(line.as_bytes());
        inputs.push(bytes.unwrap_or_else(|error| panic!("{place}: {error}")));
        is_commented = false;
    }
    inputs
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
