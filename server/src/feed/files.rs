//! Finds the block files below a path, and their order.
//!
//! A path is a message file or a directory, which is searched recursively: a directory with a
//! `block.json` is one block of a lake, any other `*.json` file is a message. A file is read only
//! up to the height in its header.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::lake;
use super::paths::{is_directory, list, with_path};
use crate::json_scan;

/// Maximum depth of directories; deeper ones are a cycle of links
const MAX_DEPTH: usize = 32;

/// A block message: a file, or a directory of a lake
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct BlockSource {
    pub(super) height: u64,
    pub(super) path: PathBuf,
    pub(super) is_lake: bool,
}

/// Every message below these paths, sorted by height, then by path
pub(super) fn find_blocks(paths: &[PathBuf]) -> Result<Vec<BlockSource>, String> {
    let mut sources = Vec::new();
    for path in paths {
        let before = sources.len();
        search(path, &mut sources)?;
        if sources.len() == before {
            return Err(with_path(
                path,
                "no block messages here (*.json, or directories with a block.json)",
            ));
        }
    }
    sources.sort_unstable();
    // One of the paths may be below another.
    sources.dedup();
    Ok(sources)
}

/// The configuration files of a directory, with the heights from which they are effective
pub(super) fn find_configs(directory: &Path) -> Result<Vec<(u64, PathBuf)>, String> {
    let mut configs = Vec::new();
    for path in list(directory)? {
        if !is_json(&path) {
            continue;
        }
        let height = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let height = height.ok_or_else(|| {
            with_path(&path, "expected a height as the file name, such as 9820210.json")
        })?;
        configs.push((height, path));
    }
    if configs.is_empty() {
        return Err(with_path(directory, "no configurations here (<height>.json)"));
    }
    configs.sort_unstable();
    Ok(configs)
}

fn search(path: &Path, sources: &mut Vec<BlockSource>) -> Result<(), String> {
    if !is_directory(path)? {
        return message_source(path).map(|source| sources.push(source));
    }
    let mut stack = vec![(path.to_owned(), 0)];
    while let Some((directory, depth)) = stack.pop() {
        if depth > MAX_DEPTH {
            return Err(with_path(&directory, format!("more than {MAX_DEPTH} directories deep")));
        }
        if directory.join(lake::BLOCK_FILE).is_file() {
            sources.push(lake_source(directory)?);
            continue;
        }
        for entry in list(&directory)? {
            if is_directory(&entry)? {
                stack.push((entry, depth + 1));
            } else if is_json(&entry) {
                sources.push(message_source(&entry)?);
            }
        }
    }
    Ok(())
}

fn message_source(path: &Path) -> Result<BlockSource, String> {
    let height = read_height(path, &["block", "header", "height"])?;
    Ok(BlockSource { height, path: path.to_owned(), is_lake: false })
}

fn lake_source(directory: PathBuf) -> Result<BlockSource, String> {
    let height = read_height(&directory.join(lake::BLOCK_FILE), &["header", "height"])?;
    Ok(BlockSource { height, path: directory, is_lake: true })
}

fn read_height(path: &Path, members: &[&str]) -> Result<u64, String> {
    let file = File::open(path).map_err(|error| with_path(path, error))?;
    let height = json_scan::value_at(BufReader::new(file), members);
    if let Some(height) = height.map_err(|error| with_path(path, error))? {
        return Ok(height);
    }
    let missing = || format!("no height at {}", members.join("."));
    Err(with_path(path, not_json(path).map_or_else(missing, str::to_owned)))
}

/// Why a file is not JSON text, as far as its first bytes show
fn not_json(path: &Path) -> Option<&'static str> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(4).read_to_end(&mut start).ok()?;
    match *start.as_slice() {
        [] => Some("the file is empty"),
        [0x1f, 0x8b, ..] => Some("the file is compressed with gzip; unpack it first"),
        [0x28, 0xb5, 0x2f, 0xfd] => Some("the file is compressed with zstd; unpack it first"),
        [0xef, 0xbb, 0xbf, ..] => Some("the file starts with a byte order mark; JSON has none"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("the file is UTF-16; JSON is UTF-8"),
        [b'{' | b'[' | b' ' | b'\t' | b'\r' | b'\n', ..] => None,
        _ => Some("the file is not a JSON object"),
    }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}
