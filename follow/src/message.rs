//! A block message, with the members of it that a follower needs.
//!
//! A message is whole or is not taken: whether it is complete is asked here, so that it can be
//! fetched again. The text is kept as it came; what is in the shards, the import checks.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use milepost::config::TrackedShards;
use milepost::import::{MessageHeader, check_complete, read_header};
use milepost::primitives::{BlockHeight, CryptoHash};
use milepost::storage::BlockPoint;

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
    /// Whether it was handed out along the final chain, far below the head of the feed: its age
    /// says how far the host was behind, and not how late the feed is
    pub is_catching_up: bool,
    /// The text of the message, as the feed sent it
    pub message: Vec<u8>,
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
        let header = check_complete(&message, tracked_shards).map_err(|error| error.to_string())?;
        Ok(Self { message, ..Self::of_header(&header)? })
    }

    /// Reads the header of a block message, or of its member `block` alone; the text is not kept
    pub(crate) fn read_header(text: &[u8]) -> Result<Self, String> {
        Self::of_header(&read_header(text).map_err(|error| error.to_string())?)
    }

    /// The block of a header, without a message
    fn of_header(header: &MessageHeader) -> Result<Self, String> {
        let MessageHeader { height, hash, prev_hash, prev_height, .. } = *header;
        // The first block of a chain has no parent; a node writes the height 0 there.
        let prev_height = prev_height.filter(|_| prev_hash != CryptoHash::ZERO);
        if let Some(prev_height) = prev_height.filter(|prev_height| *prev_height >= height) {
            return Err(format!(
                "block.header.prev_height: {prev_height} is not below the height {height}"
            ));
        }
        Ok(Self {
            block: BlockPoint { height, hash },
            prev_hash,
            prev_height,
            last_final: header.last_final_block.filter(|hash| *hash != CryptoHash::ZERO),
            timestamp_nanos: header.timestamp.unwrap_or_default(),
            feed: 0,
            is_catching_up: false,
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
