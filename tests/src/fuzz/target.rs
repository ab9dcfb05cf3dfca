//! A target and its inputs: parts of the chain, the shared vectors, and the inputs of campaigns.
//!
//! The folders `corpus` and `findings` of a target have a file for each target, with a line of
//! base64 for each input. A finding is below a comment that names the failure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use data_encoding::BASE64;

use crate::sources::root;

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
    /// Makes inputs of the chain and of the shared vectors, which are in no file of these folders
    pub made: fn() -> Vec<Vec<u8>>,
}

impl Target {
    /// All inputs
    ///
    /// # Panics
    ///
    /// When a file cannot be read, and when a finding has no comment.
    pub fn inputs(&self) -> Vec<Vec<u8>> {
        let mut inputs = self.inputs_beside_the_corpus();
        inputs.extend(lines(&self.file("corpus")));
        inputs
    }

    fn inputs_beside_the_corpus(&self) -> Vec<Vec<u8>> {
        let mut inputs = (self.made)();
        inputs.extend(lines(&self.file("findings")));
        inputs
    }

    fn file(&self, kind: &str) -> PathBuf {
        root().join(self.folder).join(kind).join(format!("{}.txt", self.name))
    }

    /// Writes all inputs into a directory, each into a file
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn write_inputs(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        for (number, bytes) in self.inputs().iter().enumerate() {
            fs::write(directory.join(number.to_string()), bytes)?;
        }
        Ok(())
    }

    /// Writes the files of a directory as the corpus
    ///
    /// Longer inputs are left out, since the vectors have long ones. Findings are written by hand,
    /// below a comment each, and stay.
    ///
    /// # Errors
    ///
    /// A file cannot be read or written.
    pub fn keep(&self, directory: &Path) -> io::Result<()> {
        let others: BTreeSet<Vec<u8>> = self.inputs_beside_the_corpus().into_iter().collect();
        let mut inputs = BTreeSet::new();
        for entry in fs::read_dir(directory)? {
            let bytes = fs::read(entry?.path())?;
            if bytes.len() <= MAX_LEN && !others.contains(&bytes) {
                inputs.insert(bytes);
            }
        }
        let lines: String = inputs.iter().map(|bytes| BASE64.encode(bytes) + "\n").collect();
        fs::write(self.file("corpus"), lines)
    }
}

/// Asserts that the programs of a folder, its corpus and its findings are those of its targets
///
/// # Panics
///
/// When one is missing, or of no target.
pub fn assert_listed(folder: &str, targets: &[Target]) {
    let names: BTreeSet<&str> = targets.iter().map(|target| target.name).collect();
    let folder = root().join(folder);
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("the programs");
    let programs = manifest.split("[[bin]]\nname = \"").skip(1);
    let programs: BTreeSet<&str> =
        programs.map(|bin| bin.split('"').next().expect("a name")).collect();
    assert_eq!(programs, names);
    for kind in ["corpus", "findings"] {
        // A folder without findings is not there.
        for entry in fs::read_dir(folder.join(kind)).into_iter().flatten() {
            let path = entry.expect("a file").path();
            let name = path.file_stem().and_then(|name| name.to_str());
            assert!(name.is_some_and(|name| names.contains(name)), "{}", path.display());
        }
    }
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
        assert!(!is_finding || is_commented, "{place}: no comment names the failure");
        let bytes = BASE64.decode(line.as_bytes());
        inputs.push(bytes.unwrap_or_else(|error| panic!("{place}: {error}")));
        is_commented = false;
    }
    inputs
}
