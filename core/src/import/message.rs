//! The header of a block message, whether a message is complete, and messages from the files of
//! NEAR Lake.
//!
//! Only the members of the header that determine the block's position, and its timestamp, are read;
//! all others are skipped. A message is complete if it has every new chunk of a tracked shard that
//! its block lists; a list that is absent, as in messages made before 2022, asks for none.

use alloc::vec::Vec;

use crate::codec::json::{ReadError, Reader};
use crate::config::TrackedShards;
use crate::primitives::{BlockHeight, CryptoHash, ParseError, ShardId};
use crate::{Error, ErrorKind};

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

/// Checks that a message has every new chunk of these shards that its block lists, as an import
/// does; returns its header
///
/// For a host that can ask for the message again before it is imported. Nothing else of the shards
/// is checked. Costs one pass over the text.
///
/// ```
/// use milepost::config::TrackedShards;
/// use milepost::import::check_complete;
///
/// let message = |shards: &str| format!(r#"{{"block": {{"header": {{"height": 7,
///     "hash": "11111111111111111111111111111117",
///     "prev_hash": "11111111111111111111111111111116",
///     "epoch_id": "11111111111111111111111111111111"}},
///     "chunks": [{{"shard_id": 3, "height_included": 7}}]}}, "shards": {shards}}}"#);
/// let check = |shards| check_complete(message(shards).as_bytes(), TrackedShards::ALL);
/// assert!(check(r#"[{"shard_id": 3, "chunk": {}}]"#).is_ok());
/// let error = check(r#"[{"shard_id": 3, "chunk": null}]"#).unwrap_err();
/// assert_eq!(error.to_string(), "shards: incomplete, shard 3 lacks its chunk");
/// assert!(check_complete(message("[]").as_bytes(), TrackedShards::new([2])?).is_ok());
/// # Ok::<(), milepost::Error>(())
/// ```
///
/// # Errors
///
/// The shard whose chunk is missing, or why the text is no block message.
pub fn check_complete(
    message: &[u8],
    tracked_shards: TrackedShards,
) -> Result<MessageHeader, Error> {
    let text = text_of(message)?;
    let in_message = |error: ReadError| error.into_error(text);
    let mut reader = Reader::new(text);
    let [block, shards] =
        reader.members(["block", "shards"], "a block message").map_err(in_message)?;
    let mut block = reader.required(block, "block").map_err(in_message)?;
    let header = MessageHeader::of_block(&mut block).map_err(in_message)?;
    let mut present = Vec::new();
    if let Some(mut shards) = shards {
        read_list(&mut shards, &mut |shard| {
            let [shard_id, chunk] = shard.members(["shard_id", "chunk"], "a shard")?;
            if let (Some(mut shard_id), Some(mut chunk)) = (shard_id, chunk)
                && !chunk.null()?
            {
                present.push(number(&mut shard_id)?);
            }
            Ok(())
        })
        .map_err(in_message)?;
    }
    reader.end().map_err(in_message)?;
    header.check_chunks(present, tracked_shards)?;
    Ok(header)
}

/// Reads the header of a block message, or of its member `block` alone
///
/// # Errors
///
/// The place of a member that is missing or malformed.
pub fn read_header(text: &[u8]) -> Result<MessageHeader, Error> {
    let text = text_of(text)?;
    let mut reader = Reader::new(text);
    let header = reader.members(["header", "block"], "a block").and_then(|found| match found {
        [None, Some(mut block)] => MessageHeader::of_block(&mut block),
        [header, _] => MessageHeader::read(&mut reader.required(header, "header")?),
    });
    header.and_then(|header| reader.end().map(|()| header)).map_err(|error| error.into_error(text))
}

/// The text of a message
pub(super) fn text_of(message: &[u8]) -> Result<&str, Error> {
    str::from_utf8(message).map_err(|error| {
        Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to())
    })
}

/// The members of a block header that determine the block's position, and its new chunks
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct MessageHeader {
    /// The height of the block
    pub height: BlockHeight,
    /// The hash of the block
    pub hash: CryptoHash,
    /// The hash of its parent
    pub prev_hash: CryptoHash,
    /// The height of its parent, if the header has it
    pub prev_height: Option<BlockHeight>,
    /// The last block that is final by this block; zeros before there is one
    pub last_final_block: Option<CryptoHash>,
    /// The time of production in nanoseconds since 1970, if the header has it
    pub timestamp: Option<u64>,
    pub(super) epoch_id: CryptoHash,
    pub(super) last_ds_final_block: Option<CryptoHash>,
    pub(super) latest_protocol_version: u32,
    /// The shards that have a new chunk in the block, as far as the block lists its chunks
    pub(super) new_chunks: Vec<ShardId>,
}

impl MessageHeader {
    /// Reads the header in a block
    pub(super) fn of_block(block: &mut Reader<'_>) -> Result<Self, ReadError> {
        let [header, chunks] = block.members(["header", "chunks"], "a block")?;
        let mut header = Self::read(&mut block.required(header, "header")?)?;
        let Some(mut chunks) = chunks else { return Ok(header) };
        if chunks.null()? {
            return Ok(header);
        }
        read_list(&mut chunks, &mut |chunk| {
            let names = ["shard_id", "height_included"];
            if let [Some(mut shard_id), Some(mut included)] =
                chunk.members(names, "a chunk header")?
                && number(&mut included)? == header.height
            {
                header.new_chunks.push(number(&mut shard_id)?);
            }
            Ok::<(), ReadError>(())
        })?;
        Ok(header)
    }

    /// Checks that the new chunks of tracked shards are among those of the shards that are present
    pub(super) fn check_chunks(
        &self,
        mut present: Vec<ShardId>,
        tracked_shards: TrackedShards,
    ) -> Result<(), Error> {
        present.sort_unstable();
        let is_absent = |shard_id: &&ShardId| {
            tracked_shards.contains(**shard_id) && present.binary_search(shard_id).is_err()
        };
        match self.new_chunks.iter().find(is_absent) {
            None => Ok(()),
            Some(shard_id) => {
                let detail = format_args!("incomplete, shard {shard_id} lacks its chunk");
                Err(Error::new(ErrorKind::Schema, detail).at("shards"))
            }
        }
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
            timestamp_nanosec,
            timestamp,
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
                "timestamp_nanosec",
                "timestamp",
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
        // No row has the time, so an import does not refuse another type.
        let nanoseconds =
            timestamp_nanosec.and_then(|mut text| text.text("a number").ok()?.parse().ok());
        let timestamp =
            nanoseconds.or_else(|| timestamp.and_then(|mut reader| number(&mut reader).ok()));
        let required_hash = |name, found| hash_of(&mut header.required(found, name)?);
        Ok(Self {
            height: number(&mut header.required(height, "height")?)?,
            hash: required_hash("hash", hash)?,
            prev_hash: required_hash("prev_hash", prev_hash)?,
            prev_height: optional(prev_height, number)?,
            epoch_id: required_hash("epoch_id", epoch_id)?,
            last_final_block: optional(last_final_block, hash_of)?,
            last_ds_final_block: optional(last_ds_final_block, hash_of)?,
            timestamp,
            latest_protocol_version,
            new_chunks: Vec::new(),
        })
    }
}

/// Reads an array; `item` must move past each item
pub(super) fn read_list<'text, E: From<ReadError>>(
    reader: &mut Reader<'text>,
    item: &mut dyn FnMut(&mut Reader<'text>) -> Result<(), E>,
) -> Result<(), E> {
    let mut first = true;
    reader.open_array("an array")?;
    while reader.item(first)? {
        first = false;
        item(reader)?;
    }
    Ok(())
}

/// Reads a height or an id
pub(super) fn number(reader: &mut Reader<'_>) -> Result<u64, ReadError> {
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

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn the_shards_of_a_message_are_separated() {
        for (shards, expected) in [
            (&[][..], &br#"{"block":B,"shards":[]}"#[..]),
            (&[&b"1"[..]], br#"{"block":B,"shards":[1]}"#),
            (&[b"1", b"2", b"3"], br#"{"block":B,"shards":[1,2,3]}"#),
        ] {
            assert_eq!(lake_message(b"B", shards.iter().copied()), expected);
        }
    }

    #[test]
    fn a_header_says_the_time_as_text_or_as_a_number() {
        const NANOSECONDS: u64 = 8_000_000_000_000_000_001;
        let hash = CryptoHash::digest(b"block");
        for (time, expected) in [
            (r#","timestamp_nanosec":"8000000000000000001","timestamp":7"#, Some(NANOSECONDS)),
            (r#","timestamp_nanosec":"8000000000000000001""#, Some(NANOSECONDS)),
            (r#","timestamp":8000000000000000001"#, Some(NANOSECONDS)),
            (r#","timestamp_nanosec":null,"timestamp":"7""#, None),
            ("", None),
        ] {
            let text = format!(
                r#"{{"header":{{"height":7,"hash":"{hash}","prev_hash":"{hash}","epoch_id":"{hash}"{time}}}}}"#
            );
            assert_eq!(read_header(text.as_bytes()).unwrap().timestamp, expected, "{time}");
        }
    }
}
