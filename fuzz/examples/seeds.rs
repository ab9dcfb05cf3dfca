//! Writes the first inputs of the targets that are no vectors, or keeps what runs found.
//!
//! `seeds write DIRECTORY` writes those that the practice chain gives, those of `fuzz/corpus` and
//! `fuzz/findings`, and the parts of shared vectors that targets take, into a directory for each
//! target. `seeds keep DIRECTORY TARGET` writes the files of a target's directory to `fuzz/corpus`:
//! a file for each target with a line of base64 for each input. Longer inputs are left out, since
//! the vectors have long ones. Findings are written by hand, below a comment each, and stay.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use data_encoding::BASE64;
use serde_json::Value;

/// Maximum length of an input in the corpus
const MAX_LEN: usize = 2048;

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

/// The inputs that have failed before, by target
fn findings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("findings")
}

/// The inputs of a file, one a line; of findings, each is below the comment that says what failed
fn inputs(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    let is_finding = path.starts_with(findings());
    let (mut inputs, mut is_commented) = (Vec::new(), false);
    for (number, line) in fs::read_to_string(path)?.lines().enumerate() {
        let wrong = |what| format!("{}:{}: {what}", path.display(), number + 1);
        if is_finding && line.starts_with("# ") {
            is_commented = true;
            continue;
        }
        if is_finding && !is_commented {
            return Err(io::Error::other(wrong("no comment says what failed".to_owned())));
        }
        let bytes = BASE64.decode(line.as_bytes());
        inputs.push(bytes.map_err(|error| io::Error::other(wrong(error.to_string())))?);
        is_commented = false;
    }
    Ok(inputs)
}

fn write(directory: &Path) -> io::Result<()> {
    let file = |target: &str, name: String, bytes: &[u8]| {
        let directory = directory.join(target);
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(name), bytes)
    };
    for (target, number, bytes) in milepost_fuzz::seeds() {
        file(target, format!("seed-{number}"), &bytes)?;
    }
    for (target, number, bytes) in parts_of_vectors()? {
        file(target, format!("vector-{number}"), &bytes)?;
    }
    for (directory, name) in [(corpus(), "corpus"), (findings(), "finding")] {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let target = path.file_stem().unwrap_or_default().to_string_lossy();
            for (number, bytes) in inputs(&path)?.iter().enumerate() {
                file(&target, format!("{name}-{number}"), bytes)?;
            }
        }
    }
    Ok(())
}

/// The params of requests, the transactions in them, and answers with their proofs
fn parts_of_vectors() -> io::Result<Vec<(&'static str, usize, Vec<u8>)>> {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let mut parts = Vec::new();
    for (number, entry) in fs::read_dir(vectors.join("requests"))?.enumerate() {
        // Some requests are no JSON.
        let request = fs::read(entry?.path())?;
        let Ok(request) = serde_json::from_slice::<Value>(&request) else { continue };
        let Some(params) = request.get("params") else { continue };
        parts.push(("params", number, params.to_string().into_bytes()));
        let signed = params.get("signed_tx_base64").and_then(Value::as_str);
        if let Some(bytes) = signed.and_then(|text| BASE64.decode(text.as_bytes()).ok()) {
            parts.push(("signed_transaction", number, bytes));
        }
    }
    for (number, entry) in fs::read_dir(vectors.join("proofs"))?.enumerate() {
        let answer = entry?.path();
        let name = answer.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".answer.json") else { continue };
        // Some answers have the proof of another one.
        let proof = answer.with_file_name(format!("{name}.proof.json"));
        if let Ok(proof) = fs::read(proof) {
            parts.push(("answer", number, [&fs::read(&answer)?[..], &[0], &proof].concat()));
        }
    }
    Ok(parts)
}

fn keep(directory: &Path, target: &str) -> io::Result<()> {
    let seeds = milepost_fuzz::seeds().filter(|(of, _, _)| *of == target);
    let mut seeds: BTreeSet<Vec<u8>> = seeds.map(|(_, _, bytes)| bytes).collect();
    let findings = findings().join(format!("{target}.txt"));
    if findings.exists() {
        seeds.extend(inputs(&findings)?);
    }
    let mut inputs = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let bytes = fs::read(entry?.path())?;
        if bytes.len() <= MAX_LEN && !seeds.contains(&bytes) {
            inputs.insert(bytes);
        }
    }
    let lines: String = inputs.iter().map(|bytes| BASE64.encode(bytes) + "\n").collect();
    fs::create_dir_all(corpus())?;
    fs::write(corpus().join(format!("{target}.txt")), lines)
}
