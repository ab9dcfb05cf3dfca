//! One block of a lake: a directory with `block.json` and `shard_<n>.json` files.
//!
//! The files hold what a block message has under `block` and in `shards`; nothing is parsed to
//! put them together.

use std::path::{Path, PathBuf};

use milepost::ingest::lake_message;

use super::files::list;
use super::{at, read};

/// The file of the block itself
pub(super) const BLOCK: &str = "block.json";

/// The text of the message: `{"block":...,"shards":[...]}`
pub(super) fn assemble(directory: &Path) -> Result<Vec<u8>, String> {
    let mut shards = list(directory)?.into_iter().filter_map(numbered).collect::<Vec<_>>();
    shards.sort_unstable();
    if shards.is_empty() {
        // A block without a single shard file is one that is still being written.
        return Err(at(directory, "a block.json, but no shard_<n>.json beside it"));
    }
    let block = read(&directory.join(BLOCK))?;
    let texts = shards.iter().map(|(_, path)| read(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(lake_message(&block, texts.iter().map(Vec::as_slice)))
}

/// The number of a shard file, with its path
fn numbered(path: PathBuf) -> Option<(u64, PathBuf)> {
    let number =
        path.file_name()?.to_str()?.strip_prefix("shard_")?.strip_suffix(".json")?.parse().ok()?;
    Some((number, path))
}
