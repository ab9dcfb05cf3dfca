//! A block message, with the members of it that a follower needs.
//!
//! A message is whole or is not taken: whether it is complete is asked here, so that it can be
//! fetched again. The text is kept as it came; what is in the shards, the import checks.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use milepost::config::TrackedShards;
use milepost::import::check_complete;
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::BlockPoint;
use serde::Deserialize;

/// A block of a feed
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FeedBlock {
    /// Its height and hash
    pub block: BlockPoint,
    /// The hash of its parent
    pub prev_hash: CryptoHash,
    /// The height of its parent, if the header has it
    pub prev_height: Option<BlockHeight>,
    /// The last block that is final by this block, if there is one
    pub last_final: Option<CryptoHash>,
    /// When it was produced, in nanoseconds since 1970; 0 if the header does not say
    pub timestamp_nanos: u64,
    /// The number of the feed that it came from
    pub feed: usize,
    /// The text of the message, as the feed sent it
    pub message: Vec<u8>,
}

#[derive(Deserialize)]
struct Message<'text> {
    #[serde(borrow)]
    block: Block<'text>,
}

/// A block, or a message with one
#[derive(Deserialize)]
struct Head<'text> {
    #[serde(borrow)]
    header: Option<Header<'text>>,
    #[serde(borrow)]
    block: Option<Block<'text>>,
}

#[derive(Deserialize)]
struct Block<'text> {
    #[serde(borrow)]
    header: Header<'text>,
}

#[derive(Deserialize)]
struct Header<'text> {
    height: BlockHeight,
    hash: &'text str,
    prev_hash: &'text str,
    prev_height: Option<BlockHeight>,
    last_final_block: Option<&'text str>,
    timestamp_nanosec: Option<&'text str>,
    timestamp: Option<u64>,
}

/// The text of the message
impl AsRef<[u8]> for FeedBlock {
    fn as_ref(&self) -> &[u8] {
        &self.message
    }
}

impl FeedBlock {
    /// Reads a message, which has to have these shards
    ///
    /// # Errors
    ///
    /// What is missing: the text is no block message, or lacks a shard or a chunk.
    pub fn read(message: Vec<u8>, tracked_shards: TrackedShards) -> Result<Self, String> {
        let parsed: Message<'_> =
            serde_json::from_slice(&message).map_err(|error| format!("block message: {error}"))?;
        let mut block = parsed.block.header.read()?;
        check_complete(&message, tracked_shards).map_err(|error| error.to_string())?;
        block.message = message;
        Ok(block)
    }

    /// Reads the header of a block message, or of its member `block` alone; the text is not kept
    pub(crate) fn read_header(text: &[u8]) -> Result<Self, String> {
        let parsed: Head<'_> =
            serde_json::from_slice(text).map_err(|error| format!("block: {error}"))?;
        let header = parsed.header.or(parsed.block.map(|block| block.header));
        header.ok_or("block: no header")?.read()
    }
}

impl Header<'_> {
    /// The block of this header, without a message
    fn read(&self) -> Result<FeedBlock, String> {
        let hash = |name: &str, text: &str| {
            text.parse::<CryptoHash>().map_err(|error| format!("block.header.{name}: {error}"))
        };
        let last_final = self.last_final_block.map(|text| hash("last_final_block", text));
        let last_final = last_final.transpose()?.filter(|hash| *hash != CryptoHash::ZERO);
        let block = BlockPoint { height: self.height, hash: hash("hash", self.hash)? };
        let prev_hash = hash("prev_hash", self.prev_hash)?;
        let timestamp = self.timestamp_nanosec.and_then(|text| text.parse().ok());
        let timestamp_nanos = timestamp.or(self.timestamp).unwrap_or_default();
        // The first block of a chain has no parent; a node writes the height 0 there.
        let prev_height = self.prev_height.filter(|_| prev_hash != CryptoHash::ZERO);
        if let Some(prev_height) = prev_height
            && prev_height >= block.height
        {
            return Err(format!(
                "block.header.prev_height: {prev_height} is not below the height {}",
                block.height
            ));
        }
        Ok(FeedBlock {
            block,
            prev_hash,
            prev_height,
            last_final,
            timestamp_nanos,
            feed: 0,
            message: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use milepost_practice::{Practice, Settings};

    use super::*;

    fn read(message: Vec<u8>) -> Result<FeedBlock, String> {
        FeedBlock::read(message, TrackedShards::ALL)
    }

    #[test]
    fn the_header_says_where_a_block_belongs() {
        let mut chain = Practice::new(Settings::demo(4));
        let first = chain.next_message();
        let second = chain.next_message();
        let block = read(second.json.clone()).unwrap();
        assert_eq!((block.block.height, block.block.hash), (second.height, second.hash));
        assert_eq!((block.prev_hash, block.prev_height), (first.hash, Some(first.height)));
        assert!(block.timestamp_nanos > Settings::demo(4).genesis_time);
        assert_eq!(block.message, second.json);
        // The zero hash names no block.
        assert_eq!(read(first.json).unwrap().last_final, None);
    }

    #[test]
    fn a_message_that_lacks_a_chunk_is_refused() {
        let mut chain = Practice::new(Settings { missing_chunks: 0, ..Settings::demo(4) });
        let message: serde_json::Value =
            serde_json::from_slice(&chain.next_message().json).unwrap();
        let mut no_chunk = message.clone();
        no_chunk["shards"][2]["chunk"] = serde_json::Value::Null;
        let mut no_shard = message.clone();
        no_shard["shards"].as_array_mut().unwrap().remove(2);
        for incomplete in [no_chunk, no_shard] {
            let error = read(incomplete.to_string().into_bytes()).unwrap_err();
            assert_eq!(error, "shards: incomplete, shard 2 lacks its chunk");
            let others = TrackedShards::new([0, 1, 3]).unwrap();
            assert!(FeedBlock::read(incomplete.to_string().into_bytes(), others).is_ok());
        }
        // A chunk of an earlier block is not in the message.
        let mut earlier = message;
        earlier["shards"][2]["chunk"] = serde_json::Value::Null;
        earlier["block"]["chunks"][2]["height_included"] = 7.into();
        assert!(read(earlier.to_string().into_bytes()).is_ok());
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let deep = "[".repeat(100_000);
        for text in ["", "null", "[]", r#"{"block":{"header":{"height":1}}}"#, &deep] {
            assert!(read(text.as_bytes().to_vec()).is_err());
        }
        let nested = format!(r#"{{"x":{}{},"block":7}}"#, deep, "]".repeat(100_000));
        assert!(read(nested.into_bytes()).is_err());
    }
}
