//! Shared vectors as examples of the discovery documents.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A request and its response
pub(crate) struct Example {
    pub(crate) name: String,
    /// What it shows
    pub(crate) about: String,
    pub(crate) request: Value,
    pub(crate) response: Value,
}

impl Example {
    /// The vector of this name
    pub(crate) fn read(name: &str) -> Result<Self, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors");
        let read = |path: &str| -> Result<Value, String> {
            let text = fs::read(folder.join(path)).map_err(|error| format!("{path}: {error}"))?;
            serde_json::from_slice(&text).map_err(|error| format!("{path}: {error}"))
        };
        let manifest = read("manifest.json")?;
        let mut vectors = manifest["vectors"].as_array().into_iter().flatten();
        let vector = vectors.find(|vector| vector["name"] == name);
        let vector = vector.ok_or_else(|| format!("no vector is called {name}"))?;
        let part = |member: &str| read(vector[member].as_str().unwrap_or_default());
        let about = vector["about"].as_str().unwrap_or_default().to_owned();
        let (request, response) = (part("request")?, part("response")?);
        Ok(Self { name: name.to_owned(), about, request, response })
    }
}
