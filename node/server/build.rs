//! Embeds the files that the server sends for `GET /`.
//!
//! They are committed as `cargo xtask page` has built them from `node/page`. The output is a
//! table of files that `src/http/page.rs` includes.

use core::fmt::Write as _;
use core::hash::{Hash as _, Hasher as _};
use std::collections::BTreeMap;
use std::hash::DefaultHasher;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const PAGE: &str = "page";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={PAGE}");
    println!("cargo::rerun-if-changed=build.rs");
    let mut table = String::from("&[\n");
    for (url_path, file) in files(Path::new(PAGE))? {
        let bytes = fs::read(file)?;
        let (media_type, etag) = (media_type(&url_path)?, etag(&bytes));
        // Only the names of these files contain a hash of the content.
        let is_hashed = url_path.starts_with("/assets/");
        let path = if url_path == "/index.html" { "/" } else { &url_path };
        // Relative to the package, for two clones may share a target directory.
        let file = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{PAGE}{url_path}\")");
        let _ = writeln!(
            table,
            "    StaticFile {{ path: {path:?}, media_type: {media_type:?}, etag: {etag:?}, is_hashed: {is_hashed}, bytes: include_bytes!({file}) }},",
        );
    }
    table.push(']');
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("page.rs"), table)
}

/// The files below a directory by their URL paths, sorted
fn files(directory: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    let mut stack = vec![(String::from("/"), directory.to_owned())];
    while let Some((prefix, directory)) = stack.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                stack.push((format!("{path}/"), entry.path()));
            } else {
                files.insert(path, entry.path());
            }
        }
    }
    Ok(files)
}

fn media_type(path: &str) -> io::Result<&'static str> {
    Ok(match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "txt" => "text/plain; charset=utf-8",
        _ => return Err(io::Error::other(format!("{path}: unknown media type"))),
    })
}

/// A weak entity tag, as all are: a 64-bit hash of the bytes
fn etag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("W/\"{:016x}\"", hasher.finish())
}
