//! Embeds the files that the server sends for `GET /`.
//!
//! `cargo xtask npm` builds the page into `bindings/js/page/dist/site`; a packed crate has it in
//! `page`. Where both are missing, on a machine without Node.js, a small page without scripts is
//! embedded instead, so the program builds everywhere. The output is a table of files that
//! `src/http/page.rs` includes.

use core::fmt::Write as _;
use core::hash::{Hash as _, Hasher as _};
use std::collections::BTreeMap;
use std::hash::DefaultHasher;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The output directory of the page's build; every checkout has it, because cargo cannot watch a
/// directory that is missing
const BUILT: &str = "../bindings/js/page/dist";
/// The page as it was built when the crate was packed; in the repository only while it is packed
const PACKED: &str = "page";
/// The page that needs no build
const PLAIN: &str = "src/http/page";

fn main() -> io::Result<()> {
    let built = Path::new(BUILT);
    let (packed, plain) = (Path::new(PACKED), Path::new(PLAIN));
    for watched in [built, packed, plain].into_iter().filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    let site = built.join("site");
    let site = [&site, packed].into_iter().find(|site| site.join("index.html").is_file());
    let is_built = site.is_some();
    let mut table = String::from("&[\n");
    for (url_path, file) in files(site.unwrap_or(plain))? {
        let file = fs::canonicalize(file)?;
        let bytes = fs::read(&file)?;
        let (media_type, etag) = (media_type(&url_path)?, etag(&bytes));
        // Only the file names of the page's build contain a hash of the content.
        let is_hashed = is_built && url_path.starts_with("/assets/");
        let path = if url_path == "/index.html" { "/" } else { &url_path };
        let _ = writeln!(
            table,
            "    StaticFile {{ path: {path:?}, media_type: {media_type:?}, etag: {etag:?}, is_hashed: {is_hashed}, bytes: include_bytes!({file:?}) }},",
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

/// An entity tag: a 64-bit hash of the bytes
fn etag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}
