//! The targets of the engine and of the library for C.

use std::fs;
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use milepost::storage::Snapshot as _;
use serde_json::Value;

use super::answers::PROVEN;
use super::target::Target;
use super::world::WORLD;
use crate::vectors::directory;

/// Programs of the target `c_interface`: an engine that imports, responds and proves, and an
/// endpoint over a storage of the host
const C_PROGRAMS: [&[u8]; 2] = [
    &[
        3, 0, 0, 5, 0, 0, 0, 5, 0, 1, 0, 0, 5, 0, 2, 0, 0, 5, 0, 3, 0, 0, 9, 0, 10, 0, 0, 11, 0, 0,
        9, 0, 7, 0, 0, 12, 0, 0, 13, 0, 0, 14, 0, 0, 25, 0, 24, 0, 0,
    ],
    &[
        0, 0, 1, 0, 6, 2, 2, 0, 0, 0, 4, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 15, 0, 0, 0, 16, 0, 10, 0,
        1, 9, 0, 19, 0, 22, 0, 0, 0, 20, 0, 24, 0, 3, 5, 0, 0, 0,
    ],
];

const fn target_of(name: &'static str, made: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, folder: "fuzz", made }
}

/// All of them, by name
pub const TARGETS: [Target; 12] = [
    target_of("answer", || {
        let answers = files("proofs");
        let mut inputs: Vec<_> = answers.iter().filter_map(|path| answer_and_proof(path)).collect();
        inputs.push([&PROVEN.answer[..], &[0], PROVEN.proof.as_bytes()].concat());
        inputs
    }),
    target_of("base58", Vec::new),
    target_of("base64", Vec::new),
    target_of("block_message", blocks),
    target_of("c_interface", || C_PROGRAMS.map(<[u8]>::to_vec).to_vec()),
    target_of("canonical_json", || [texts("blocks"), texts("responses")].concat()),
    target_of("configuration", || texts("configs")),
    target_of("params", || params().map(|params| params.to_string().into_bytes()).collect()),
    target_of("proof", blocks),
    target_of("request_body", || texts("requests")),
    target_of("rows", rows),
    target_of("signed_transaction", || {
        let signed = WORLD.transactions.iter().map(|transaction| transaction.signed.clone());
        signed.chain(params().filter_map(signed_params)).collect()
    }),
];

/// The target of this name
///
/// # Panics
///
/// When there is none.
pub fn target(name: &str) -> Target {
    *TARGETS.iter().find(|target| target.name == name).expect("a target")
}

/// The vectors, and the next block of the chain
fn blocks() -> Vec<Vec<u8>> {
    let mut blocks = texts("blocks");
    blocks.push(WORLD.next.clone());
    blocks
}

/// The number of a row, and its bytes in place of it
fn rows() -> Vec<Vec<u8>> {
    let input = |(number, key): (usize, &_)| {
        let row = WORLD.storage.get(key).ok()??;
        let mut input = vec![(number >> 8) as u8, number as u8, 0, 0];
        input.extend_from_slice(row.get(1..)?);
        Some(input)
    };
    WORLD.keys.iter().enumerate().filter_map(input).collect()
}

/// The files of a folder of the vectors
fn texts(folder: &str) -> Vec<Vec<u8>> {
    files(folder).into_iter().map(read).collect()
}

/// The params of requests; some requests are no JSON
fn params() -> impl Iterator<Item = Value> {
    let requests = files("requests").into_iter();
    let requests = requests.filter_map(|path| serde_json::from_slice(&read(path)).ok());
    requests.filter_map(|request: Value| request.get("params").cloned())
}

/// The transaction in the params of a request
fn signed_params(params: Value) -> Option<Vec<u8>> {
    BASE64.decode(params["signed_tx_base64"].as_str()?.as_bytes()).ok()
}

/// Some answers have the proof of another one
fn answer_and_proof(answer: &Path) -> Option<Vec<u8>> {
    let name = answer.file_name()?.to_str()?.strip_suffix(".answer.json")?;
    let proof = fs::read(answer.with_file_name(format!("{name}.proof.json"))).ok()?;
    Some([&read(answer)[..], &[0], &proof].concat())
}

/// The files of a folder of the vectors, in the order of their names
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory().join(folder)).expect("a folder of the vectors");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

fn read(path: impl AsRef<Path>) -> Vec<u8> {
    fs::read(path).expect("a file of the vectors")
}
