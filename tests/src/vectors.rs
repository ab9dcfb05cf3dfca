//! The vectors as runners read them, from their files.
//!
//! [`load`] reads the manifest; [`engine`] runs a vector on the crate. Runners of other surfaces
//! and in other languages read the same files, which `vectors/README.md` describes.

pub mod engine;

use std::fs;
use std::path::{Path, PathBuf};

use milepost::config::ConfigScope;
use serde_json::Value;

/// The content of a storage before a request is sent
#[derive(Clone, Debug)]
pub struct Fixture {
    /// Its name
    pub name: String,
    /// Whether every block is final on import; otherwise headers name the final block
    pub all_final: bool,
    /// The shards that its blocks have; all if it is empty
    pub track_shards: Vec<u64>,
    /// Configurations, each with the blocks at which it is in force
    pub configs: Vec<(ConfigScope, PathBuf)>,
    /// Block messages in the order of import
    pub blocks: Vec<PathBuf>,
    /// Block messages that are refused after these, each with the text of its error
    pub refused: Vec<(PathBuf, String)>,
}

/// One request over a fixture, and its response
#[derive(Clone, Debug)]
pub struct Vector {
    /// Its name
    pub name: String,
    /// What it tests
    pub about: String,
    /// The name of its fixture
    pub fixture: String,
    /// Whether `TIMEOUT_ERROR` has a cause
    pub timeout_cause: bool,
    /// Whether a request for an unknown transaction does not wait
    pub unknown_at_once: bool,
    /// The limit of pending calls, if it is not the default
    pub max_waiting: Option<usize>,
    /// The limit of requests in a batch, if it is not the default
    pub max_batch: Option<usize>,
    /// The limit of the length of a request id, if it is not the default
    pub max_id_bytes: Option<usize>,
    /// The limit of receipts in a response, if it is not the default
    pub max_receipts: Option<usize>,
    /// The method that the URL names, if any
    pub url_method: Option<String>,
    /// The body of the request
    pub request: Vec<u8>,
    /// When the response is ready
    pub wait: Wait,
    /// The kind of the response
    pub kind: String,
    /// The HTTP status of the response
    pub http_status: u16,
    /// The body of the response
    pub response: Vec<u8>,
}

/// When a response is ready
#[derive(Clone, Debug)]
pub enum Wait {
    /// At once
    No,
    /// At the deadline of the request
    Expires,
    /// After the last of these blocks, which are imported while the request is pending
    Blocks(Vec<PathBuf>),
}

/// An answer about a transaction with its proof, and what the check of it finds
#[derive(Clone, Debug)]
pub struct Proof {
    /// Its name
    pub name: String,
    /// What it tests
    pub about: String,
    /// The hash of the transaction that the client knows
    pub transaction: String,
    /// The hash of the block that the client trusts
    pub block: String,
    /// The text of the answer
    pub answer: Vec<u8>,
    /// The text of the proof
    pub proof: Vec<u8>,
    /// What is found
    pub result: ProofResult,
}

/// What the check of an answer finds
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ProofResult {
    /// What is proven, as JSON
    Verified(String),
    /// The place of a contradiction
    Wrong(String),
    /// The place of what cannot be read, so that nothing is known
    Unverifiable(String),
}

/// All vectors and their fixtures
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The fixtures, in the order of the manifest
    pub fixtures: Vec<Fixture>,
    /// The vectors, in the order of the manifest
    pub vectors: Vec<Vector>,
    /// The answers with proofs, in the order of the manifest
    pub proofs: Vec<Proof>,
}

/// The directory of the vectors
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

/// Reads the manifest and the requests and responses that it names
///
/// # Errors
///
/// A file or a member is missing or of the wrong type.
pub fn load() -> Result<Manifest, String> {
    load_from(&directory())
}

/// Reads the manifest of another directory
///
/// # Errors
///
/// As of [`load`].
pub fn load_from(directory: &Path) -> Result<Manifest, String> {
    let manifest = directory.join("manifest.json");
    let text = fs::read_to_string(&manifest).map_err(|error| with_path(&manifest, &error))?;
    let manifest: Value =
        serde_json::from_str(&text).map_err(|error| with_path(&manifest, &error))?;
    let rows = |member| array(&manifest, member).map(|rows| rows.iter());
    let fixtures =
        rows("fixtures")?.map(|row| fixture(row, directory)).collect::<Result<_, _>>()?;
    let vectors = rows("vectors")?.map(|row| vector(row, directory)).collect::<Result<_, _>>()?;
    let proofs = rows("proofs")?.map(|row| proof(row, directory)).collect::<Result<_, _>>()?;
    Ok(Manifest { fixtures, vectors, proofs })
}

impl Manifest {
    /// Returns the vectors of a fixture, in the order of the manifest
    pub fn of<'manifest>(
        &'manifest self,
        fixture: &'manifest Fixture,
    ) -> impl Iterator<Item = &'manifest Vector> {
        self.vectors.iter().filter(|vector| vector.fixture == fixture.name)
    }
}

fn fixture(row: &Value, directory: &Path) -> Result<Fixture, String> {
    let configs = array(row, "configs")?.iter().map(|config| {
        let epoch_id = config["epoch_id"].as_str().and_then(|text| text.parse().ok());
        let scope = config["from_height"].as_u64().map(ConfigScope::From);
        let scope = scope.or_else(|| epoch_id.map(ConfigScope::Epoch));
        let scope = scope.ok_or_else(|| format!("{config}: neither a height nor an epoch"))?;
        Ok((scope, directory.join(string(config, "file")?)))
    });
    let refused =
        row["refused"].as_array().into_iter().flatten().map(|refused| {
            Ok((directory.join(string(refused, "file")?), string(refused, "error")?))
        });
    Ok(Fixture {
        name: string(row, "name")?,
        refused: refused.collect::<Result<_, String>>()?,
        all_final: match string(row, "finality")?.as_str() {
            "headers" => false,
            "all" => true,
            unknown => return Err(format!("unknown finality {unknown}")),
        },
        track_shards: row["track_shards"]
            .as_array()
            .map(|ids| ids.iter().filter_map(Value::as_u64).collect())
            .unwrap_or_default(),
        configs: configs.collect::<Result<_, String>>()?,
        blocks: paths(array(row, "blocks")?, directory)?,
    })
}

fn vector(row: &Value, directory: &Path) -> Result<Vector, String> {
    let name = string(row, "name")?;
    let file = |member: &str| {
        let path = directory.join(string(row, member)?);
        fs::read(&path).map_err(|error| with_path(&path, &error))
    };
    let settings = &row["settings"];
    let limit = |name: &str| settings[name].as_u64().and_then(|limit| usize::try_from(limit).ok());
    let wait = match &row["wait"] {
        Value::Null => Wait::No,
        Value::Array(blocks) => Wait::Blocks(paths(blocks, directory)?),
        Value::String(text) if text == "expires" => Wait::Expires,
        unknown => return Err(format!("{name}: unknown wait {unknown}")),
    };
    let status = row["http_status"].as_u64().and_then(|status| u16::try_from(status).ok());
    Ok(Vector {
        about: string(row, "about")?,
        fixture: string(row, "fixture")?,
        timeout_cause: settings["timeout_cause"].as_bool().unwrap_or(false),
        unknown_at_once: settings["unknown"] == "immediate",
        max_waiting: limit("max_waiting"),
        max_batch: limit("max_batch"),
        max_id_bytes: limit("max_id_bytes"),
        max_receipts: limit("max_receipts"),
        url_method: row["url_method"].as_str().map(str::to_owned),
        request: file("request")?,
        wait,
        kind: string(row, "kind")?,
        http_status: status.ok_or_else(|| format!("{name}: http_status is not a status"))?,
        response: file("response")?,
        name,
    })
}

fn proof(row: &Value, directory: &Path) -> Result<Proof, String> {
    let file = |member: &str| {
        let path = directory.join(string(row, member)?);
        fs::read_to_string(&path).map_err(|error| with_path(&path, &error))
    };
    Ok(Proof {
        name: string(row, "name")?,
        about: string(row, "about")?,
        transaction: string(row, "transaction_hash")?,
        block: string(row, "block_hash")?,
        answer: file("answer")?.into_bytes(),
        proof: file("proof")?.into_bytes(),
        result: match string(row, "result")?.as_str() {
            "verified" => ProofResult::Verified(file("proven")?),
            "wrong" => ProofResult::Wrong(string(row, "path")?),
            "unverifiable" => ProofResult::Unverifiable(string(row, "path")?),
            unknown => return Err(format!("{row}: unknown result {unknown}")),
        },
    })
}

fn array<'row>(row: &'row Value, member: &str) -> Result<&'row Vec<Value>, String> {
    row[member].as_array().ok_or_else(|| format!("{member} is not an array in {row}"))
}

fn string(row: &Value, member: &str) -> Result<String, String> {
    let text = row[member].as_str().ok_or_else(|| format!("{member} is not a string in {row}"))?;
    Ok(text.to_owned())
}

fn paths(names: &[Value], directory: &Path) -> Result<Vec<PathBuf>, String> {
    let path = |name: &Value| {
        let name = name.as_str().ok_or_else(|| format!("{name} is not a path"))?;
        Ok(directory.join(name))
    };
    names.iter().map(path).collect()
}

/// The text of an error, after the path of its file
pub fn with_path(path: &Path, error: &dyn core::error::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Compares two bodies
///
/// # Errors
///
/// They differ; the error shows the first difference.
pub fn compare(found: &[u8], expected: &[u8]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let common = found.iter().zip(expected).take_while(|(one, other)| one == other).count();
    let around = |body: &[u8]| {
        let start = common.saturating_sub(60);
        let end = body.len().min(common + 160);
        String::from_utf8_lossy(body.get(start..end).unwrap_or_default()).into_owned()
    };
    Err(format!(
        "the bodies differ at byte {common}\n     found …{}…\n  expected …{}…",
        around(found),
        around(expected)
    ))
}
