//! The inputs of each target: what the chain gives, the shared vectors, and what campaigns found.
//!
//! `fuzz/corpus` and `fuzz/findings` have a file for each target, with a line of base64 for each
//! input. A finding is below a comment that says what failed.

use std::fs;
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use serde_json::Value;

use crate::world::seeds;

/// The targets, each with the folders of the shared vectors whose files are inputs of it
pub const TARGETS: [(&str, &[&str]); 14] = [
    ("answer", &[]),
    ("base58", &[]),
    ("base64", &[]),
    ("block_message", &["blocks"]),
    ("c_interface", &[]),
    ("canonical_json", &["blocks", "responses"]),
    ("configuration", &["configs"]),
    ("http", &[]),
    ("params", &[]),
    ("proof", &["blocks"]),
    ("request_body", &["requests"]),
    ("row_kinds", &[]),
    ("rows", &[]),
    ("signed_transaction", &[]),
];

/// Maximum length of an input in the corpus: the vectors have long ones
pub const MAX_LEN: usize = 2048;

/// All inputs of a target
///
/// # Panics
///
/// When there is no such target, or a file cannot be read.
pub fn inputs_of(target: &str) -> Vec<Vec<u8>> {
    let (_, folders) = TARGETS.iter().find(|(name, _)| *name == target).expect("a target");
    let mut inputs = seeds_of(target);
    for folder in *folders {
        inputs.extend(files(&root().join("tests/vectors").join(folder)).into_iter().map(read));
    }
    inputs.extend(parts_of_vectors(target));
    inputs.extend(lines(&root().join(format!("fuzz/corpus/{target}.txt"))));
    inputs
}

/// Inputs of a target that are no vectors and need not be in the corpus: those that the chain
/// gives, and those that have failed before
///
/// # Panics
///
/// When the file of findings has an input without a comment.
pub fn seeds_of(target: &str) -> Vec<Vec<u8>> {
    let seeds = seeds().filter(|(name, _, _)| *name == target).map(|(_, _, bytes)| bytes);
    seeds.chain(lines(&root().join(format!("fuzz/findings/{target}.txt")))).collect()
}

/// The params of requests, the transactions in them, and answers with their proofs
fn parts_of_vectors(target: &str) -> Vec<Vec<u8>> {
    let folder = |name: &str| files(&root().join("tests/vectors").join(name)).into_iter();
    // Some requests are no JSON.
    let requests =
        || folder("requests").filter_map(|path| serde_json::from_slice(&read(path)).ok());
    let params = || requests().filter_map(|request: Value| request.get("params").cloned());
    match target {
        "params" => params().map(|params| params.to_string().into_bytes()).collect(),
        "signed_transaction" => params()
            .filter_map(|params| {
                BASE64.decode(params["signed_tx_base64"].as_str()?.as_bytes()).ok()
            })
            .collect(),
        "answer" => folder("proofs").filter_map(|answer| answer_and_proof(&answer)).collect(),
        _ => Vec::new(),
    }
}

/// Some answers have the proof of another one
fn answer_and_proof(answer: &Path) -> Option<Vec<u8>> {
    let name = answer.file_name()?.to_str()?.strip_suffix(".answer.json")?;
    let proof = fs::read(answer.with_file_name(format!("{name}.proof.json"))).ok()?;
    Some([&read(answer)[..], &[0], &proof].concat())
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

/// The files of a folder, in the order of their names
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of the repository");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

fn read(path: impl AsRef<Path>) -> Vec<u8> {
    fs::read(path).expect("a file of the repository")
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
