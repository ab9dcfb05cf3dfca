//! The vectors as their files say them, for runners that know nothing of the declarations.
//!
//! [`load`] reads the manifest; [`engine`] runs a vector on the crate, [`http`] on a node's
//! program. Runners in other languages read the same files: `vectors/README.md` says how.

pub mod engine;
pub mod http;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// What a storage holds before a request comes
#[derive(Clone, Debug)]
pub struct Scene {
    /// Its name
    pub name: String,
    /// Whether every block is final as it comes in; else headers say what is final
    pub all_final: bool,
    /// Configurations and the first heights at which they are in force
    pub configs: Vec<(u64, PathBuf)>,
    /// Block messages in the order in which they come in
    pub blocks: Vec<PathBuf>,
}

/// One request over a scene, and its answer
#[derive(Clone, Debug)]
pub struct Vector {
    /// Its name
    pub name: String,
    /// What it is about
    pub about: String,
    /// The name of its scene
    pub scene: String,
    /// Whether `TIMEOUT_ERROR` says why
    pub timeout_cause: bool,
    /// Whether a request about an unknown transaction is answered at once
    pub unknown_at_once: bool,
    /// The most calls that wait, if the vector changes it
    pub max_waiting: Option<usize>,
    /// The most requests in a batch, if the vector changes it
    pub max_batch: Option<usize>,
    /// The most receipts of an answer, if the vector changes it
    pub max_receipts: Option<usize>,
    /// The method in the address, if there is one
    pub path_method: Option<String>,
    /// The body of the request
    pub request: Vec<u8>,
    /// When the answer comes
    pub wait: Wait,
    /// The class of the answer
    pub class: String,
    /// The HTTP status of the answer
    pub http_status: u16,
    /// The body of the answer
    pub answer: Vec<u8>,
}

/// When an answer comes
#[derive(Clone, Debug)]
pub enum Wait {
    /// With the request
    No,
    /// When the wait is over without a result
    Expires,
    /// With these blocks, which come in one by one while the request waits
    Blocks(Vec<PathBuf>),
}

/// All vectors and their scenes
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The scenes, in the order of the manifest
    pub scenes: Vec<Scene>,
    /// The vectors, in the order of the manifest
    pub vectors: Vec<Vector>,
}

/// The directory of the vectors
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")
}

/// Reads the manifest and the requests and answers it names
///
/// # Errors
///
/// What is missing or of the wrong type, with its place.
pub fn load() -> Result<Manifest, String> {
    let manifest = directory().join("manifest.json");
    let text = fs::read_to_string(&manifest).map_err(|error| told(&manifest, &error))?;
    let manifest: Value = serde_json::from_str(&text).map_err(|error| told(&manifest, &error))?;
    let scenes = array(&manifest, "scenes")?.iter().map(scene).collect::<Result<_, _>>()?;
    let vectors = array(&manifest, "vectors")?.iter().map(vector).collect::<Result<_, _>>()?;
    Ok(Manifest { scenes, vectors })
}

impl Manifest {
    /// The vectors of a scene, in the order of the manifest
    pub fn of<'manifest>(
        &'manifest self,
        scene: &'manifest Scene,
    ) -> impl Iterator<Item = &'manifest Vector> {
        self.vectors.iter().filter(|vector| vector.scene == scene.name)
    }
}

fn scene(row: &Value) -> Result<Scene, String> {
    let configs = array(row, "configs")?.iter().map(|config| {
        let height = config["from_height"].as_u64();
        let height = height.ok_or_else(|| format!("{config}: from_height is no height"))?;
        Ok((height, directory().join(string(config, "file")?)))
    });
    Ok(Scene {
        name: string(row, "name")?,
        all_final: match string(row, "finality")?.as_str() {
            "headers" => false,
            "all" => true,
            unknown => return Err(format!("finality {unknown} is not known")),
        },
        configs: configs.collect::<Result<_, String>>()?,
        blocks: paths(array(row, "blocks")?)?,
    })
}

fn vector(row: &Value) -> Result<Vector, String> {
    let name = string(row, "name")?;
    let file = |member: &str| {
        let path = directory().join(string(row, member)?);
        fs::read(&path).map_err(|error| told(&path, &error))
    };
    let settings = &row["settings"];
    let limit = |name: &str| settings[name].as_u64().and_then(|most| usize::try_from(most).ok());
    let wait = match &row["wait"] {
        Value::Null => Wait::No,
        Value::Array(blocks) => Wait::Blocks(paths(blocks)?),
        Value::String(word) if word == "expires" => Wait::Expires,
        unknown => return Err(format!("{name}: wait {unknown} is not known")),
    };
    let status = row["http_status"].as_u64().and_then(|status| u16::try_from(status).ok());
    Ok(Vector {
        about: string(row, "about")?,
        scene: string(row, "scene")?,
        timeout_cause: settings["timeout_cause"].as_bool().unwrap_or(false),
        unknown_at_once: settings["unknown"] == "immediate",
        max_waiting: limit("max_waiting"),
        max_batch: limit("max_batch"),
        max_receipts: limit("max_receipts"),
        path_method: row["path_method"].as_str().map(str::to_owned),
        request: file("request")?,
        wait,
        class: string(row, "class")?,
        http_status: status.ok_or_else(|| format!("{name}: http_status is no status"))?,
        answer: file("answer")?,
        name,
    })
}

fn array<'row>(row: &'row Value, member: &str) -> Result<&'row Vec<Value>, String> {
    row[member].as_array().ok_or_else(|| format!("{member} is no array in {row}"))
}

fn string(row: &Value, member: &str) -> Result<String, String> {
    let text = row[member].as_str().ok_or_else(|| format!("{member} is no string in {row}"))?;
    Ok(text.to_owned())
}

fn paths(names: &[Value]) -> Result<Vec<PathBuf>, String> {
    let path = |name: &Value| {
        let name = name.as_str().ok_or_else(|| format!("{name} is no path"))?;
        Ok(directory().join(name))
    };
    names.iter().map(path).collect()
}

fn told(path: &Path, error: &dyn core::error::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Says where two bodies part, if they do
fn compare(found: &[u8], expected: &[u8]) -> Result<(), String> {
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
        "the bodies part at byte {common}\n     found …{}…\n  expected …{}…",
        around(found),
        around(expected)
    ))
}
