//! The header of a block message, and messages from the files of NEAR Lake.
//!
//! Read of the header are only the members that determine the block's position; all others are
//! skipped.

use alloc::vec::Vec;

use crate::codec::json::{ReadError, Reader};
use crate::primitives::{BlockHeight, CryptoHash, ParseError};

/// Joins the files of a NEAR Lake directory, `block.json` and each `shard_<n>.json`, to a message
///
/// The texts are concatenated and not parsed: errors in them are found when the message is
/// imported.
///
/// ```
/// let message = milepost::import::lake_message(b"{\"header\":{}}", [&b"{}"[..], b"{}"]);
/// assert_eq!(message, br#"{"block":{"header":{}},"shards":[{},{}]}"#);
/// ```
pub fn lake_message<'text>(block: &[u8], shards: impl IntoIterator<Item = &'text [u8]>) -> Vec<u8> {
    let mut message = br#"{"block":"#.to_vec();
    message.extend_from_slice(block);
    message.extend_from_slice(br#","shards":["#);
    for (shard, index) in shards.into_iter().zip(0_usize..) {
        if index > 0 {
            message.push(b',');
        }
        message.extend_from_slice(shard);
    }
    message.extend_from_slice(b"]}");
    message
}

/// The members of a block header that determine the block's position
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(super) struct Header {
    pub(super) height: BlockHeight,
    pub(super) hash: CryptoHash,
    pub(super) prev_hash: CryptoHash,
    pub(super) prev_height: Option<BlockHeight>,
    pub(super) epoch_id: CryptoHash,
    pub(super) last_final_block: Option<CryptoHash>,
    pub(super) last_ds_final_block: Option<CryptoHash>,
    pub(super) latest_protocol_version: u32,
}

impl Header {
    /// Reads the header in a block
    pub(super) fn of_block(block: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut header = None;
        block.object(&["header"], "a block", &mut |_, reader| {
            header = Some(Self::read(reader)?);
            Ok(())
        })?;
        block.required(header, "header")
    }

    fn read(header: &mut Reader<'_>) -> Result<Self, ReadError> {
        let [
            height,
            hash,
            prev_hash,
            prev_height,
            epoch_id,
            last_final_block,
            last_ds_final_block,
            latest_protocol_version,
            camel_case,
        ] = header.members(
            [
                "height",
                "hash",
                "prev_hash",
                "prev_height",
                "epoch_id",
                "last_final_block",
                "last_ds_final_block",
                "latest_protocol_version",
                "prevHash",
            ],
            "a block header",
        )?;
        if camel_case.is_some() && prev_hash.is_none() {
            // Renamed everywhere in the message, also inside of maps, so it cannot be undone.
            let detail = "camelCase members, as near-lake-framework-js makes them; \
                expected the message as it is in the lake, with `prev_hash`";
            return Err(header.schema_error(detail));
        }
        let latest_protocol_version = match latest_protocol_version {
            None => 0,
            // The limit is that of `u32`.
            Some(mut version) => version.unsigned(u32::MAX.into(), "u32")? as u32,
        };
        Ok(Self {
            height: number(&mut header.required(height, "height")?)?,
            hash: hash_of(&mut header.required(hash, "hash")?)?,
            prev_hash: hash_of(&mut header.required(prev_hash, "prev_hash")?)?,
            prev_height: optional(prev_height, number)?,
            epoch_id: hash_of(&mut header.required(epoch_id, "epoch_id")?)?,
            last_final_block: optional(last_final_block, hash_of)?,
            last_ds_final_block: optional(last_ds_final_block, hash_of)?,
            latest_protocol_version,
        })
    }
}

fn number(reader: &mut Reader<'_>) -> Result<u64, ReadError> {
    reader.unsigned(u64::MAX, "u64")
}

fn hash_of(reader: &mut Reader<'_>) -> Result<CryptoHash, ReadError> {
    let text = reader.text(CryptoHash::EXPECTED)?;
    text.parse().map_err(|error: ParseError| reader.schema_error(error))
}

/// A member that may be absent or `null`
fn optional<T>(
    found: Option<Reader<'_>>,
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, ReadError>,
) -> Result<Option<T>, ReadError> {
    let Some(mut reader) = found else { return Ok(None) };
    if reader.null()? { Ok(None) } else { read(&mut reader).map(Some) }
}
