//! One block of a NEAR Lake: a directory with `block.json` and `shard_<n>.json` files.
//!
//! The files are the values of `block` and `shards` of a block message; they are joined without
//! parsing.

use std::path::{Path, PathBuf};

use milepost::import::lake_message;

use super::paths::{list, read, with_path};

/// The file of the block itself
pub(super) const BLOCK_FILE: &str = "block.json";

/// The text of the message: `{"block":...,"shards":[...]}`
pub(super) fn assemble(directory: &Path) -> Result<Vec<u8>, String> {
    let mut shards = list(directory)?.into_iter().filter_map(shard_number).collect::<Vec<_>>();
    shards.sort_unstable();
    if shards.is_empty() {
        // A block without any shard file is still being written.
        return Err(with_path(directory, "block.json without any shard_<n>.json"));
    }
    let block = read(&directory.join(BLOCK_FILE))?;
    let texts = shards.iter().map(|(_, path)| read(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(lake_message(&block, texts.iter().map(Vec::as_slice)))
}

/// The number of a shard file, with its path
fn shard_number(path: PathBuf) -> Option<(u64, PathBuf)> {
    let number =
        path.file_name()?.to_str()?.strip_prefix("shard_")?.strip_suffix(".json")?.parse().ok()?;
    Some((number, path))
}
