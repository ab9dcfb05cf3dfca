//! The members of a block's header that light clients read.
//!
//! The hash of a block covers the hash of its parent, the hash of most members of its header, and
//! the eight members here. So a chain of these headers, 272 bytes each, leads from a block to any
//! later one, by hashes alone. Who signed them is not checked.

use alloc::string::String;
use core::fmt::Write as _;

use super::merkle::pair;
use super::message::{hash, parsed, unsigned};
use crate::codec::borsh::Writer;
use crate::codec::json::{ReadError, Reader};
use crate::primitives::{Balance, BlockHeight, CryptoHash};

/// The part of a block's header that light clients read, with the hash of the rest
///
/// ```
/// use milepost_protocol::primitives::CryptoHash;
/// use milepost_protocol::proof::LightHeader;
///
/// let header = LightHeader::from_bytes(&[7; LightHeader::LEN]);
/// assert_eq!(header.prev_hash, CryptoHash::new([7; 32]));
/// assert_eq!(header.to_bytes(), [7; LightHeader::LEN]);
/// assert_ne!(header.hash(), LightHeader { height: 8, ..header }.hash());
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "the hash of a block is defined over these members")]
pub struct LightHeader {
    /// Hash of the block before
    pub prev_hash: CryptoHash,
    /// Hash of the members that are not here
    pub inner_rest_hash: CryptoHash,
    /// Height of the block
    pub height: BlockHeight,
    /// Id of the epoch
    pub epoch_id: CryptoHash,
    /// Id of the next epoch
    pub next_epoch_id: CryptoHash,
    /// Root of the states before the chunks
    pub prev_state_root: CryptoHash,
    /// Root of the outcomes that the chunks confirm
    pub outcome_root: CryptoHash,
    /// Time in nanoseconds since 1970
    pub timestamp: u64,
    /// Hash of the block producers of the next epoch
    pub next_bp_hash: CryptoHash,
    /// Root of the hashes of all blocks before
    pub block_merkle_root: CryptoHash,
}

impl LightHeader {
    /// Number of bytes that it is encoded as
    pub const LEN: usize = 272;

    /// The hash of the block: `H(H(H(inner_lite) ‖ inner_rest_hash) ‖ prev_hash)`
    pub fn hash(&self) -> CryptoHash {
        let bytes = self.to_bytes();
        let inner_lite = bytes.get(64..).unwrap_or_default();
        pair(&pair(&CryptoHash::digest(inner_lite), &self.inner_rest_hash), &self.prev_hash)
    }

    /// Its bytes: both hashes, then the members as the hash of the block covers them
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let mut writer = Writer::with_capacity(Self::LEN);
        let mut hashes = |hashes: &[CryptoHash], number: u64| {
            hashes.iter().for_each(|hash| {
                writer.raw(hash.as_bytes());
            });
            writer.u64(number);
        };
        hashes(&[self.prev_hash, self.inner_rest_hash], self.height);
        hashes(
            &[self.epoch_id, self.next_epoch_id, self.prev_state_root, self.outcome_root],
            self.timestamp,
        );
        writer.raw(self.next_bp_hash.as_bytes()).raw(self.block_merkle_root.as_bytes());
        let mut bytes = [0; Self::LEN];
        // Eight hashes and two numbers.
        bytes.copy_from_slice(&writer.into_bytes());
        bytes
    }

    /// The header of these bytes; every value is one
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let hash = |start: usize| {
            let bytes = bytes.get(start..).and_then(<[u8]>::first_chunk);
            bytes.map_or(CryptoHash::ZERO, |bytes| CryptoHash::new(*bytes))
        };
        let number = |start: usize| {
            let bytes = bytes.get(start..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        Self {
            prev_hash: hash(0),
            inner_rest_hash: hash(32),
            height: number(64),
            epoch_id: hash(72),
            next_epoch_id: hash(104),
            prev_state_root: hash(136),
            outcome_root: hash(168),
            timestamp: number(200),
            next_bp_hash: hash(208),
            block_merkle_root: hash(240),
        }
    }

    /// Appends the header as the JSON of a node's `LightClientBlockLiteView`, without `timestamp`,
    /// a number that JavaScript rounds
    pub fn write_json(&self, json: &mut String) {
        let Self { prev_hash, inner_rest_hash, height, epoch_id, next_epoch_id, .. } = self;
        let Self {
            prev_state_root, outcome_root, timestamp, next_bp_hash, block_merkle_root, ..
        } = self;
        // Writing to a string cannot fail.
        let _ = write!(
            json,
            "{{\"prev_block_hash\":\"{prev_hash}\",\"inner_rest_hash\":\"{inner_rest_hash}\",\
             \"inner_lite\":{{\"height\":{height},\"epoch_id\":\"{epoch_id}\",\
             \"next_epoch_id\":\"{next_epoch_id}\",\"prev_state_root\":\"{prev_state_root}\",\
             \"outcome_root\":\"{outcome_root}\",\
             \"timestamp_nanosec\":\"{timestamp}\",\"next_bp_hash\":\"{next_bp_hash}\",\
             \"block_merkle_root\":\"{block_merkle_root}\"}}}}"
        );
    }

    /// Reads the JSON of a node
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        const LITE: [&str; 8] = [
            "height",
            "epoch_id",
            "next_epoch_id",
            "prev_state_root",
            "outcome_root",
            "timestamp_nanosec",
            "next_bp_hash",
            "block_merkle_root",
        ];
        let names = ["prev_block_hash", "inner_rest_hash", "inner_lite"];
        let [prev, rest, lite] = reader.members(names, "a light header")?;
        // In the order of the bytes.
        let mut bytes = Writer::with_capacity(Self::LEN);
        for (found, name) in [prev, rest].into_iter().zip(names) {
            bytes.raw(hash(&mut reader.required(found, name)?)?.as_bytes());
        }
        let mut lite = reader.required(lite, names[2])?;
        let found = lite.members(LITE, "the light part of a header")?;
        for (found, name) in found.into_iter().zip(LITE) {
            let mut member = lite.required(found, name)?;
            match name {
                "height" => bytes.u64(unsigned(&mut member)?),
                "timestamp_nanosec" => bytes.u64(time(&mut member)?),
                _ => bytes.raw(hash(&mut member)?.as_bytes()),
            };
        }
        let bytes = bytes.into_bytes();
        // Eight hashes and two numbers.
        Ok(Self::from_bytes(bytes.first_chunk().unwrap_or(&[0; Self::LEN])))
    }
}

fn time(reader: &mut Reader<'_>) -> Result<u64, ReadError> {
    let time: Balance = parsed(reader, "a decimal string of a time")?;
    u64::try_from(time.0).map_err(|error| reader.schema_error(error))
}
