//! One block of a NEAR Lake: a directory with a file of the block and `shard_<id>.json` files.
//!
//! The files are the values of `block` and `shards` of a block message, and are joined without
//! parsing. The block lists its shards: a block whose tracked shards are not all there is refused,
//! because its transactions would be missing without a trace. Some lakes leave the list out.

use std::path::{Path, PathBuf};

use milepost::config::TrackedShards;
use milepost::import::lake_message;
use serde_json::Value;

use super::message::{FileRange, Message};
use super::paths::{file_name, list, read, with_path};
use crate::chain::json_scan;

/// The message of the block in this file, with the shard files beside it
pub(super) fn read_message(
    block_file: &Path,
    tracked_shards: TrackedShards,
) -> Result<Message, String> {
    let directory = block_file.parent().unwrap_or(Path::new(""));
    let mut shards = list_shards(directory)?;
    shards.sort_unstable();
    let name = file_name(block_file);
    if shards.is_empty() {
        // A block without any shard file is still being written.
        return Err(with_path(directory, format!("{name} without any shard_<n>.json")));
    }
    let block = read(block_file)?;
    for shard_id in listed_shards(&block) {
        if tracked_shards.contains(shard_id)
            && shards.binary_search_by_key(&shard_id, |(id, _)| *id).is_err()
        {
            let missing = directory.join(format!("shard_{shard_id}.json"));
            return Err(with_path(&missing, format!("missing, but {name} lists this shard")));
        }
    }
    let texts = shards.iter().map(|(_, path)| read(path)).collect::<Result<Vec<_>, _>>()?;
    let text = lake_message(&block, texts.iter().map(Vec::as_slice));
    let parts = parts(block_file, block.len(), shards.into_iter().zip(texts.iter().map(Vec::len)));
    Ok(Message { text, parts })
}

/// Whether a file has the name of a shard
pub(super) fn is_shard_file(path: &Path) -> bool {
    shard_id(path).is_some()
}

/// Where the files are in the joined text
fn parts(
    block_file: &Path,
    block_length: usize,
    shards: impl Iterator<Item = ((u64, PathBuf), usize)>,
) -> Vec<FileRange> {
    let part = |file: PathBuf, path_in_message: String, start, length| FileRange {
        file,
        path_in_message,
        path_in_file: String::new(),
        start,
        length,
        start_in_file: 0,
    };
    let mut start = r#"{"block":"#.len();
    let mut parts = vec![part(block_file.to_owned(), "block".to_owned(), start, block_length)];
    start += block_length + r#","shards":["#.len();
    for (index, ((_, path), length)) in shards.enumerate() {
        parts.push(part(path, format!("shards[{index}]"), start, length));
        start += length + ",".len();
    }
    parts
}

/// The ids of the shards that a block lists
fn listed_shards(block: &[u8]) -> Vec<u64> {
    // Reading from memory cannot fail.
    let chunks: Option<Vec<Value>> = json_scan::value_at(block, &["chunks"]).ok().flatten();
    let chunks = chunks.unwrap_or_default();
    chunks.iter().filter_map(|chunk| chunk.get("shard_id")?.as_u64()).collect()
}

/// The shard files of a directory, with the ids in their names
fn list_shards(directory: &Path) -> Result<Vec<(u64, PathBuf)>, String> {
    let files = list(directory)?.into_iter();
    Ok(files.filter_map(|path| Some((shard_id(&path)?, path))).collect())
}

fn shard_id(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix("shard_")?.strip_suffix(".json")?.parse().ok()
}
