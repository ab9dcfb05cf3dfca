//! One block of a lake: a directory with `block.json` and `shard_<n>.json` files.
//!
//! The files hold what a block message has under `block` and in `shards`, so the message is
//! their concatenation with some punctuation between; nothing is parsed for it.

use std::path::{Path, PathBuf};

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
    let mut message = br#"{"block":"#.to_vec();
    message.extend(read(&directory.join(BLOCK))?);
    message.extend(br#","shards":["#);
    for (place, (_, path)) in shards.iter().enumerate() {
        if place > 0 {
            message.push(b',');
        }
        message.extend(read(path)?);
    }
    message.extend(b"]}");
    Ok(message)
}

/// The number of a shard file, with its path
fn numbered(path: PathBuf) -> Option<(u64, PathBuf)> {
    let number =
        path.file_name()?.to_str()?.strip_prefix("shard_")?.strip_suffix(".json")?.parse().ok()?;
    Some((number, path))
}
