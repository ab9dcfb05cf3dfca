//! Finds the block messages below a path, and their order.
//!
//! A path is a file or a directory, which is searched recursively. What a file is, is decided by
//! its content: a message, an array of messages, or the block of a lake, whose shards are in the
//! `shard_<id>.json` files beside it. A message is read only up to the height in its header; an
//! array is read to its end.

use core::mem;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use milepost::config::ConfigScope;
use serde::de::IgnoredAny;

use super::paths::{file_name, is_directory, list, open, with_path};
use super::{json_array, lake};
use crate::chain::json_scan;

/// Maximum depth of directories; deeper ones are a cycle of links
const MAX_DEPTH: usize = 32;
/// The path of the height in a block message
const HEIGHT: [&str; 3] = ["block", "header", "height"];

/// A block message
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct BlockSource {
    pub(super) height: u64,
    pub(super) path: PathBuf,
    pub(super) kind: SourceKind,
}

/// Where the text of a message is
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum SourceKind {
    /// It is the file
    File,
    /// It is one item of the array in the file
    Item { index: usize, start: u64, length: u64 },
    /// The file has the block, and the files beside it the shards
    Lake,
}

/// Every message below these paths, sorted by height, then by path
pub(super) fn find_blocks(paths: &[&PathBuf]) -> Result<Vec<BlockSource>, String> {
    let mut sources = Vec::new();
    for path in paths {
        let before = sources.len();
        search(path, &mut sources)?;
        if sources.len() == before {
            return Err(with_path(
                path,
                "no block messages here (*.json, or directories of a lake)",
            ));
        }
    }
    sources.sort_unstable();
    // One of the paths may be below another.
    sources.dedup();
    Ok(sources)
}

/// The configuration files of a directory, with what their names say of where they are effective
pub(super) fn find_configs(directory: &Path) -> Result<Vec<(ConfigScope, PathBuf)>, String> {
    let mut configs = Vec::new();
    for path in list(directory)? {
        if !is_json(&path) {
            continue;
        }
        let scope = path.file_stem().and_then(|stem| scope(stem.to_str()?));
        let scope = scope.ok_or_else(|| {
            let detail = "expected a height or the id of an epoch as the file name, such as \
                          9820210.json";
            with_path(&path, detail)
        })?;
        configs.push((scope, path));
    }
    if configs.is_empty() {
        return Err(with_path(
            directory,
            "no configurations here (<height>.json or <epoch id>.json)",
        ));
    }
    configs.sort_unstable();
    Ok(configs)
}

/// A height in decimal, or the id of an epoch in base58, which no height is long enough to be
fn scope(name: &str) -> Option<ConfigScope> {
    let height = name.parse().ok().map(ConfigScope::From);
    height.or_else(|| name.parse().ok().map(ConfigScope::Epoch))
}

fn search(path: &Path, sources: &mut Vec<BlockSource>) -> Result<(), String> {
    if !is_directory(path)? {
        return add_file(path, sources);
    }
    let mut stack = vec![(path.to_owned(), 0)];
    while let Some((directory, depth)) = stack.pop() {
        if depth > MAX_DEPTH {
            return Err(with_path(&directory, format!("more than {MAX_DEPTH} directories deep")));
        }
        let before = sources.len();
        let mut shards = Vec::new();
        for entry in list(&directory)? {
            if is_directory(&entry)? {
                stack.push((entry, depth + 1));
            } else if lake::is_shard_file(&entry) {
                shards.push(entry);
            } else if is_json(&entry) {
                add_file(&entry, sources)?;
            }
        }
        let found = sources.get(before..).unwrap_or_default();
        let blocks: Vec<_> = found.iter().filter(|found| found.kind == SourceKind::Lake).collect();
        match blocks.as_slice() {
            // Not the shards of a block, whatever their names.
            [] => mem::take(&mut shards).iter().try_for_each(|path| add_file(path, sources))?,
            [_] => {}
            [first, second, ..] => {
                let (first, second) = (file_name(&first.path), file_name(&second.path));
                let text =
                    format!("{first} and {second} are two blocks of a lake in one directory");
                return Err(with_path(&directory, text));
            }
        }
    }
    Ok(())
}

/// Adds what a file holds
fn add_file(path: &Path, sources: &mut Vec<BlockSource>) -> Result<(), String> {
    let failed = |error| with_path(path, error);
    let mut file = open(path)?;
    if first_byte(&mut file).map_err(failed)? == Some(b'[') {
        return add_items(path, &mut file, sources);
    }
    let mut value_at = |members: &[&str]| {
        file.rewind()?;
        json_scan::value_at(BufReader::new(&mut file), members)
    };
    let mut add = |height, kind| {
        sources.push(BlockSource { height, path: path.to_owned(), kind });
        Ok(())
    };
    if let Some(height) = value_at(&HEIGHT).map_err(failed)? {
        return add(height, SourceKind::File);
    }
    let [_, in_block @ ..] = &HEIGHT;
    if let Some(height) = value_at(in_block).map_err(failed)? {
        return add(height, SourceKind::Lake);
    }
    if let Some(reason) = not_json(path) {
        return Err(with_path(path, reason));
    }
    for name in ["shard_id", "shardId"] {
        if json_scan::value_at::<IgnoredAny>(BufReader::new(open(path)?), &[name])
            .map_err(failed)?
            .is_some()
        {
            return Err(with_path(path, "a shard of a lake, without the file of its block"));
        }
    }
    Err(with_path(path, no_height()))
}

/// Adds the messages of the array in a file
fn add_items(path: &Path, file: &mut File, sources: &mut Vec<BlockSource>) -> Result<(), String> {
    let failed = |error| with_path(path, error);
    file.rewind().map_err(failed)?;
    let items = json_array::items(BufReader::new(&mut *file)).map_err(failed)?;
    for (index, item) in items.into_iter().enumerate() {
        let (start, length) = (item.start, item.end - item.start);
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let reader = BufReader::new((&mut *file).take(length));
        let height = json_scan::value_at(reader, &HEIGHT).map_err(failed)?;
        let height = height
            .ok_or_else(|| with_path(path, format!("[{index}]: {} (byte {start})", no_height())))?;
        let kind = SourceKind::Item { index, start, length };
        sources.push(BlockSource { height, path: path.to_owned(), kind });
    }
    Ok(())
}

fn no_height() -> String {
    format!("no height at {}", HEIGHT.join("."))
}

/// The first byte that is no white space
fn first_byte(file: &mut File) -> io::Result<Option<u8>> {
    let bytes = BufReader::new(file).bytes();
    let is_text = |byte: &io::Result<u8>| !matches!(byte, Ok(b' ' | b'\t' | b'\r' | b'\n'));
    bytes.into_iter().find(is_text).transpose()
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
