//! Which files there are, and in which order they are taken in.
//!
//! A path is a message file, or a directory that is searched with everything below it: a
//! directory with a `block.json` is one block of a lake, any other `*.json` file is a message.
//! Only as much of a file is read as it takes to find the height in its header.

use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::{at, lake};
use crate::scan;

/// Directories below directories; more of them are a loop of links
const DEEPEST: usize = 32;

/// A block message, as a file or as a directory of a lake
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Source {
    pub(super) height: u64,
    pub(super) path: PathBuf,
    pub(super) is_lake: bool,
}

/// Every message below these paths, by height, and by path where heights are equal
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    for path in paths {
        let before = sources.len();
        search(path, &mut sources)?;
        if sources.len() == before {
            return Err(at(
                path,
                "no block messages here (*.json, or directories with a block.json)",
            ));
        }
    }
    sources.sort_unstable();
    // A path that lies below another one would come twice.
    sources.dedup();
    Ok(sources)
}

/// Files named by the height from which they are in force
pub(super) fn configs(directory: &Path) -> Result<Vec<(u64, PathBuf)>, String> {
    let mut configs = Vec::new();
    for path in list(directory)? {
        if !is_json(&path) {
            continue;
        }
        let height = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let height =
            height.ok_or_else(|| at(&path, "expected a height as the name, as in 9820210.json"))?;
        configs.push((height, path));
    }
    if configs.is_empty() {
        return Err(at(directory, "no configurations here (<height>.json)"));
    }
    configs.sort_unstable();
    Ok(configs)
}

fn search(path: &Path, sources: &mut Vec<Source>) -> Result<(), String> {
    if !is_directory(path)? {
        return message_at(path).map(|source| sources.push(source));
    }
    let mut open = vec![(path.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        if depth > DEEPEST {
            return Err(at(&directory, format!("more than {DEEPEST} directories deep")));
        }
        if directory.join(lake::BLOCK).is_file() {
            sources.push(lake_at(directory)?);
            continue;
        }
        for entry in list(&directory)? {
            if is_directory(&entry)? {
                open.push((entry, depth + 1));
            } else if is_json(&entry) {
                sources.push(message_at(&entry)?);
            }
        }
    }
    Ok(())
}

fn message_at(path: &Path) -> Result<Source, String> {
    let height = height_in(path, &["block", "header", "height"])?;
    Ok(Source { height, path: path.to_owned(), is_lake: false })
}

fn lake_at(directory: PathBuf) -> Result<Source, String> {
    let height = height_in(&directory.join(lake::BLOCK), &["header", "height"])?;
    Ok(Source { height, path: directory, is_lake: true })
}

fn height_in(path: &Path, place: &[&str]) -> Result<u64, String> {
    let file = File::open(path).map_err(|error| at(path, error))?;
    let text = scan::scalar_at(BufReader::new(file), place).map_err(|error| at(path, error))?;
    if let Some(height) = text.and_then(|text| text.parse().ok()) {
        return Ok(height);
    }
    let place = place.join(".");
    Err(at(path, not_json(path).map_or_else(|| format!("no height at {place}"), str::to_owned)))
}

/// What a file is when its first bytes already say that it is no JSON text
fn not_json(path: &Path) -> Option<&'static str> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(4).read_to_end(&mut start).ok()?;
    match *start.as_slice() {
        [] => Some("the file is empty"),
        [0x1f, 0x8b, ..] => Some("the file is compressed with gzip; unpack it first"),
        [0x28, 0xb5, 0x2f, 0xfd] => Some("the file is compressed with zstd; unpack it first"),
        [0xef, 0xbb, 0xbf, ..] => Some("the file begins with a byte order mark; JSON has none"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("the file is UTF-16; JSON is UTF-8"),
        [b'{' | b'[' | b' ' | b'\t' | b'\r' | b'\n', ..] => None,
        _ => Some("the file is no JSON object"),
    }
}

pub(super) fn list(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let read = fs::read_dir(directory).map_err(|error| at(directory, error))?;
    let entries: Result<Vec<_>, _> = read.map(|entry| entry.map(|entry| entry.path())).collect();
    entries.map_err(|error| at(directory, error))
}

fn is_directory(path: &Path) -> Result<bool, String> {
    fs::metadata(path).map(|about| about.is_dir()).map_err(|error| at(path, error))
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}
