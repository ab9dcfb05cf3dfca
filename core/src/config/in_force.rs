//! The configuration that is in force at a block of a known epoch.
//!
//! That of the epoch comes first. Without one it is what was in force before the epoch began, or
//! what the host has put in force from a height on, whichever is later. What stays in force is
//! copied when the first block of an epoch is imported, so that a configuration that arrives later,
//! or for an epoch of orphans, changes no other epoch.

use alloc::vec::Vec;

use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::restartable::Suspend;
use crate::storage::rows::{ConfigIndex, ConfigOrigin, ConfigRecord};
use crate::storage::{Key, Row};
use crate::{Error, ErrorKind};

/// The height and the epoch of a block
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct BlockEpoch {
    pub(crate) height: BlockHeight,
    pub(crate) epoch_id: CryptoHash,
}

/// Rows of a storage that are read or about to be changed
pub(crate) trait ReadRows {
    fn read(&mut self, key: Key) -> Result<Option<Row>, Suspend>;
    fn prefetch(&mut self, keys: &[Key]) -> Result<(), Suspend>;
}

/// The row of the configuration in force at a block; `None` if there is none
pub(crate) fn in_force(
    block: BlockEpoch,
    index: &ConfigIndex,
    rows: &mut dyn ReadRows,
) -> Result<Option<Row>, Suspend> {
    let own = ConfigRecord::epoch_key(block.epoch_id);
    let kept = ConfigRecord::kept_key(block.epoch_id);
    let from = index.in_force(block.height);
    let named = from.map(ConfigRecord::height_key);
    let mut keys = Vec::from([own, kept]);
    keys.extend(named);
    rows.prefetch(&keys)?;
    if let Some(row) = rows.read(own)? {
        return Ok(Some(row));
    }
    if let Some(row) = rows.read(kept)?
        && let ConfigOrigin::Parent(parent) = ConfigRecord::decode(&row)?.origin
        && from.is_none_or(|height| height <= parent)
    {
        return Ok(Some(row));
    }
    let Some((height, key)) = from.zip(named) else { return Ok(None) };
    match rows.read(key)? {
        Some(row) => Ok(Some(row)),
        None => Err(Suspend::Failed(Error::new(
            ErrorKind::Corrupt,
            format_args!("configuration of height {height} is not in the storage"),
        ))),
    }
}

/// The row that keeps in force in an epoch what is in force at this block, which is before it
///
/// `None` if the epoch has a row, or if nothing but a height puts a configuration in force.
pub(crate) fn kept(
    previous: BlockEpoch,
    epoch_id: CryptoHash,
    rows: &mut dyn ReadRows,
) -> Result<Option<(Key, Row)>, Suspend> {
    let keys = |epoch_id| [ConfigRecord::epoch_key(epoch_id), ConfigRecord::kept_key(epoch_id)];
    let [own, kept] = keys(epoch_id);
    let [previous_own, previous_kept] = keys(previous.epoch_id);
    rows.prefetch(&[own, kept, previous_own, previous_kept, ConfigIndex::key()])?;
    let mut has_row = |[own, kept]: [Key; 2]| {
        Ok::<_, Suspend>(rows.read(own)?.is_some() || rows.read(kept)?.is_some())
    };
    if has_row([own, kept])? || !has_row([previous_own, previous_kept])? {
        return Ok(None);
    }
    let index = ConfigIndex::decode(rows.read(ConfigIndex::key())?.as_deref())?;
    let Some(row) = in_force(previous, &index, rows)? else { return Ok(None) };
    let record = ConfigRecord::decode(&row)?;
    if matches!(record.origin, ConfigOrigin::Height(_)) {
        return Ok(None);
    }
    let origin = ConfigOrigin::Parent(previous.height);
    Ok(Some((kept, ConfigRecord { origin, ..record }.encode().into())))
}
