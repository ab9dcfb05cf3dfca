//! Embeds the page that the program shows at `GET /`.
//!
//! The page is built by `cargo xtask npm` into `bindings/js/page/dist/site`. Without it, on a machine
//! without Node.js or from a packaged crate, a small page without scripts takes its place, so
//! the program builds everywhere. Writes a table of files; what is done with them is said in
//! `src/http/page.rs`.

use core::fmt::Write as _;
use core::hash::{Hash as _, Hasher as _};
use std::collections::BTreeMap;
use std::hash::DefaultHasher;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The directory into which the page is built; it is there in every checkout, with nothing to show
/// in it, because a directory that is missing could not be watched
const BUILT: &str = "../bindings/js/page/dist";
/// The page that needs nothing to be built
const PLAIN: &str = "src/http/page";

fn main() -> io::Result<()> {
    let built = Path::new(BUILT);
    for watched in [built, Path::new(PLAIN)].into_iter().filter(|place| place.exists()) {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    let site = built.join("site");
    let is_built = site.join("index.html").is_file();
    let directory = if is_built { site } else { PLAIN.into() };
    let mut table = String::from("&[\n");
    for (path, place) in files(&directory)? {
        let place = fs::canonicalize(place)?;
        let bytes = fs::read(&place)?;
        let (media_type, tag) = (media_type(&path)?, tag(&bytes));
        // Only the names that the page's own build makes change with what is in the file.
        let is_hashed = is_built && path.starts_with("/assets/");
        let path = if path == "/index.html" { "/" } else { &path };
        let _ = writeln!(
            table,
            "    File {{ path: {path:?}, media_type: {media_type:?}, tag: {tag:?}, is_hashed: {is_hashed}, bytes: include_bytes!({place:?}) }},",
        );
    }
    table.push(']');
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("page.rs"), table)
}

/// The files below a directory by their addresses, in order
fn files(directory: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    let mut open = vec![(String::from("/"), directory.to_owned())];
    while let Some((prefix, directory)) = open.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                open.push((format!("{path}/"), entry.path()));
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
        _ => return Err(io::Error::other(format!("{path}: no media type is known for it"))),
    })
}

/// An entity tag: other bytes have another one, up to a chance of 2^-64
fn tag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}
