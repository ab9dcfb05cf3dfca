//! Block files, generated from the practice chain.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use milepost_practice::config::protocol_config;
use milepost_practice::{BlockMessage, Practice, PracticeTransaction, Settings};
use serde_json::Value;
use tempfile::TempDir;

/// Enough blocks for the first transactions to be final
const BLOCKS: usize = 16;

/// The first blocks of a chain
pub(crate) fn messages() -> &'static [BlockMessage] {
    static MESSAGES: OnceLock<Vec<BlockMessage>> = OnceLock::new();
    MESSAGES.get_or_init(|| {
        let mut chain = Practice::new(Settings { transactions: 2..=4, ..Settings::demo(3) });
        (0..BLOCKS).map(|_| chain.next_message()).collect()
    })
}

/// The transactions of those blocks
pub(crate) fn transactions() -> impl Iterator<Item = &'static PracticeTransaction> {
    messages().iter().flat_map(|message| &message.transactions)
}

/// The height of the newest block
pub(crate) fn head() -> u64 {
    messages().last().expect("there are blocks").height
}

/// A directory with those blocks as message files, whose names are not sorted by height
pub(crate) fn message_files() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (number, message) in messages().iter().enumerate() {
        let name = format!("{:03}.json", (number * 7) % 101);
        fs::write(directory.path().join(name), &message.json).expect("a file");
    }
    directory
}

/// A directory with those blocks in the layout of a lake
pub(crate) fn lake() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for message in messages() {
        let block = directory.path().join(format!("near-lake/{:012}", message.height));
        fs::create_dir_all(&block).expect("a directory");
        let whole: Value = serde_json::from_slice(&message.json).expect("messages are JSON");
        fs::write(block.join("block.json"), whole["block"].to_string()).expect("a file");
        for shard in whole["shards"].as_array().into_iter().flatten() {
            // With white space, which such files may have.
            let text = serde_json::to_string_pretty(shard).expect("a value is JSON");
            let name = format!("shard_{}.json", shard["shard_id"]);
            fs::write(block.join(name), text).expect("a file");
        }
    }
    directory
}

/// A directory with the configuration of the chain
pub(crate) fn configs() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let settings = Settings::demo(3);
    let config = protocol_config(&settings.chain_id, settings.genesis_height, 87, &["g0", "n0"]);
    let name = format!("{}.json", settings.genesis_height);
    fs::write(directory.path().join(name), config).expect("a file");
    directory
}

/// A directory with those blocks as message files, for tests that need any blocks
pub(crate) fn shared() -> &'static Path {
    static SHARED: OnceLock<PathBuf> = OnceLock::new();
    SHARED.get_or_init(|| {
        // In the target directory, because nothing removes it. Each test program has its own, since
        // two of them run side by side.
        let name = concat!(env!("CARGO_CRATE_NAME"), "-blocks");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // An earlier run may have left blocks of another chain.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a directory");
        for message in messages() {
            let name = format!("{}.json", message.height);
            fs::write(path.join(name), &message.json).expect("a file");
        }
        path
    })
}

/// A path as an argument
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}
