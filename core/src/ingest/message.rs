//! The shape of a block message, as NEAR Lake and neardata write it.
//!
//! Only what decides about a block's place and facts is read here; transactions, receipts and
//! outcomes stay raw text until they are checked and rendered one by one. Unknown members are
//! passed over, because a block message has many that no answer shows. Messages that are plain, as
//! nearly all are, go past all this (see `plain.rs`); what is wrong with the others is said here.

use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::primitives::{BlockHeight, CryptoHash};

/// The block message of a lake directory: the text of `block.json` and of each `shard_<n>.json`
///
/// Nothing is parsed: the message is their concatenation with some punctuation between, and
/// what is wrong in one of them is found when the message is taken in.
///
/// ```
/// let message = milepost::ingest::lake_message(b"{\"header\":{}}", [&b"{}"[..], b"{}"]);
/// assert_eq!(message, br#"{"block":{"header":{}},"shards":[{},{}]}"#);
/// ```
pub fn lake_message<'text>(block: &[u8], shards: impl IntoIterator<Item = &'text [u8]>) -> Vec<u8> {
    let mut message = br#"{"block":"#.to_vec();
    message.extend_from_slice(block);
    message.extend_from_slice(br#","shards":["#);
    for (shard, place) in shards.into_iter().zip(0_usize..) {
        if place > 0 {
            message.push(b',');
        }
        message.extend_from_slice(shard);
    }
    message.extend_from_slice(b"]}");
    message
}

/// A block message
#[derive(Deserialize)]
pub(super) struct Message<'text> {
    pub(super) block: Block,
    #[serde(borrow)]
    pub(super) shards: Vec<Shard<'text>>,
}

#[derive(Deserialize)]
pub(super) struct Block {
    pub(super) header: Header,
}

/// What the header says about the block's place
#[derive(Deserialize)]
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(super) struct Header {
    pub(super) height: BlockHeight,
    pub(super) hash: CryptoHash,
    pub(super) prev_hash: CryptoHash,
    #[serde(default)]
    pub(super) prev_height: Option<BlockHeight>,
    pub(super) epoch_id: CryptoHash,
    #[serde(default)]
    pub(super) last_final_block: Option<CryptoHash>,
    #[serde(default)]
    pub(super) last_ds_final_block: Option<CryptoHash>,
    #[serde(default)]
    pub(super) latest_protocol_version: u32,
}

#[derive(Deserialize)]
pub(super) struct Shard<'text> {
    #[serde(borrow, default)]
    pub(super) chunk: Option<Chunk<'text>>,
    #[serde(borrow, default)]
    pub(super) receipt_execution_outcomes: Vec<Executed<'text>>,
}

#[derive(Deserialize)]
pub(super) struct Chunk<'text> {
    #[serde(borrow)]
    pub(super) transactions: Vec<Included<'text>>,
    #[serde(borrow)]
    pub(super) receipts: Vec<&'text RawValue>,
    #[serde(borrow, default)]
    pub(super) local_receipts: Vec<&'text RawValue>,
}

/// A transaction in a chunk, with its outcome unless that comes later
#[derive(Deserialize)]
pub(super) struct Included<'text> {
    #[serde(borrow)]
    pub(super) transaction: &'text RawValue,
    #[serde(borrow, default)]
    pub(super) outcome: Option<Executed<'text>>,
}

/// An outcome, with the receipt that was executed unless it was a transaction
#[derive(Deserialize)]
pub(super) struct Executed<'text> {
    #[serde(borrow)]
    pub(super) execution_outcome: &'text RawValue,
    #[serde(borrow, default)]
    pub(super) receipt: Option<&'text RawValue>,
}
