//! Reads blocks of the canonical chain by their ordinals.
//!
//! Two round trips for any number of blocks. A block that the ordinals name and the storage lacks
//! is corruption, never the end of the chain.

use alloc::vec::Vec;
use core::ops::Range;

use super::overlay::WriteOverlay;
use crate::primitives::CryptoHash;
use crate::storage::restartable::Suspend;
use crate::storage::rows::{BlockRecord, decode_block_hash};
use crate::storage::{Key, Table};
use crate::{Error, ErrorKind};

/// A block of the canonical chain
pub(super) struct CanonicalBlock {
    pub(super) hash: CryptoHash,
    pub(super) ordinal: u64,
    pub(super) record: BlockRecord,
}

/// Returns the canonical blocks of these ordinals, in two round trips
pub(super) fn canonical_blocks(
    ordinals: Range<u64>,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<Vec<CanonicalBlock>, Suspend> {
    overlay.prefetch(ordinals.clone().map(|ordinal| Key::number(Table::Ordinals, ordinal)))?;
    let mut hashes = Vec::new();
    for ordinal in ordinals.clone() {
        let row = overlay.row(Key::number(Table::Ordinals, ordinal))?;
        let missing = || corrupt(format_args!("canonical block of ordinal {ordinal} is missing"));
        hashes.push(decode_block_hash(Table::Ordinals, &row.ok_or_else(missing)?)?);
    }
    overlay.prefetch(hashes.iter().map(|hash| block_key(*hash)))?;
    let mut blocks = Vec::with_capacity(hashes.len());
    for (hash, ordinal) in hashes.into_iter().zip(ordinals) {
        let row = overlay.row(block_key(hash))?;
        let row = row.ok_or_else(|| corrupt(format_args!("canonical block {hash} is missing")))?;
        blocks.push(CanonicalBlock { hash, ordinal, record: BlockRecord::decode(&row)? });
    }
    Ok(blocks)
}

pub(super) fn block_key(hash: CryptoHash) -> Key {
    Key::hash(Table::Blocks, hash)
}

pub(super) fn corrupt(detail: impl core::fmt::Display) -> Suspend {
    Suspend::Failed(Error::new(ErrorKind::Corrupt, detail))
}
