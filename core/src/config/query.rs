//! The configuration that is in force at a block.
//!
//! A selector is resolved to a block and its epoch. This takes at most four round trips to the
//! storage, whatever the selector, and three to an archive. The text of the configuration is not
//! parsed here.

use super::in_force::{ReadRows, in_force};
use super::{BlockEpoch, BlockReference, Finality, SyncCheckpoint};
#[cfg(feature = "archive")]
use crate::archive::{ArchiveLookup, ArchivedBlock, Envelope};
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::restartable::{Restartable, RestartableQuery, RowCache, Suspend};
#[cfg(feature = "archive")]
use crate::storage::rows::ConfigRecord;
use crate::storage::rows::{BlockPoint, ChainRecord, ConfigIndex, decode_block_hash};
use crate::storage::sealed::Sealed;
use crate::storage::{Key, Query, Row, Step, Table};
use crate::{Error, ErrorKind};

/// The output of a [`ConfigQuery`]
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ConfigResult {
    /// The row of the configuration in force, to be decoded by
    /// [`ConfigRecord::decode`](crate::storage::ConfigRecord::decode)
    InForce(Row),
    /// The block is not known
    UnknownBlock {
        /// The block
        block: BlockReference,
        /// Whether it is a height below the head: skipped by the chain, or pruned
        skipped: bool,
    },
    /// The block is known, but no configuration is in force there
    NoConfig {
        /// Its height
        height: BlockHeight,
        /// The first height from which on one is in force, if a host has named one
        first: Option<BlockHeight>,
    },
}

/// The query for the configuration that is in force at a block
///
/// A height selects a canonical block, a hash a block on any fork. `genesis` needs no block: it is
/// in the epoch with an id of zeros, at the height that the configurations contain, and is unknown
/// without a configuration.
///
/// ```
/// use milepost::config::{BlockReference, ConfigQuery, ConfigResult, SyncCheckpoint};
/// use milepost::endpoint::Engine;
/// use milepost::import::ImportSettings;
/// use milepost::storage::{ConfigRecord, MemoryStorage, run};
///
/// let mut storage = MemoryStorage::new();
/// let config = r#"{"chain_id":"dev","genesis_height":7,"protocol_version":88}"#;
/// Engine::default().put_config(7, config, &ImportSettings::default(), &mut storage)?;
///
/// let genesis = BlockReference::SyncCheckpoint(SyncCheckpoint::Genesis);
/// let ConfigResult::InForce(row) = run(&mut ConfigQuery::new(genesis), &storage)? else {
///     panic!("the configuration is in force from the genesis on");
/// };
/// assert_eq!(ConfigRecord::decode(&row)?.fragment, config.as_bytes());
///
/// // No block was imported, so no block is known by its height.
/// let result = run(&mut ConfigQuery::new(BlockReference::Height(7)), &storage)?;
/// assert!(matches!(result, ConfigResult::UnknownBlock { skipped: false, .. }));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
pub struct ConfigQuery(RestartableQuery<ResolveConfig>);

/// The function that the query restarts until it has all rows
#[derive(Debug)]
pub(crate) struct ResolveConfig {
    pub(crate) reference: BlockReference,
    /// Whether the height of a block that the storage does not know is read from the archive
    #[cfg(feature = "archive")]
    pub(crate) asks_archive: bool,
}

impl ResolveConfig {
    /// For this block, if the storage knows it
    pub(crate) const fn in_storage(reference: BlockReference) -> Self {
        Self {
            reference,
            #[cfg(feature = "archive")]
            asks_archive: false,
        }
    }
}

impl ConfigQuery {
    /// The query for this block
    pub fn new(reference: BlockReference) -> Self {
        Self(RestartableQuery::new(ResolveConfig::in_storage(reference)))
    }

    /// The query for this block, which asks the archive for one that the storage does not know; the
    /// default is that it does not
    #[cfg(feature = "archive")]
    #[must_use]
    pub fn with_archive(self, lookup: ArchiveLookup) -> Self {
        let reference = self.0.into_function().reference;
        let asks_archive = lookup != ArchiveLookup::Never;
        Self(RestartableQuery::new(ResolveConfig { reference, asks_archive }))
    }
}

/// A block whose configuration is asked for
struct Block {
    epoch: BlockEpoch,
    /// Whether the archive has it, and the storage does not
    #[cfg(feature = "archive")]
    is_archived: bool,
}

impl Block {
    const fn stored(epoch: BlockEpoch) -> Self {
        Self {
            epoch,
            #[cfg(feature = "archive")]
            is_archived: false,
        }
    }
}

impl ResolveConfig {
    /// The block; `None` if it is not known
    fn block(
        &self,
        chain: &ChainRecord,
        genesis: Option<BlockHeight>,
        rows: &mut RowCache<'_>,
    ) -> Result<Option<Block>, Suspend> {
        let epoch = match self.reference {
            BlockReference::Height(height) => {
                if let Some(row) = rows.row(Key::number(Table::Heights, height))? {
                    let hash = decode_block_hash(Table::Heights, row)?;
                    let epoch = canonical(BlockPoint { height, hash }, chain, rows)?;
                    return Ok(Some(Block::stored(epoch)));
                }
                #[cfg(feature = "archive")]
                if self.asks_archive
                    && let Some(row) = rows.row(ArchivedBlock::height_key(height))?
                {
                    let hash = ArchivedBlock::decode_hash(row)?;
                    return archived(hash, rows);
                }
                None
            }
            BlockReference::Hash(hash) => {
                if let Some(block) = rows.block(hash)? {
                    let epoch = BlockEpoch { height: block.height, epoch_id: block.epoch_id };
                    return Ok(Some(Block::stored(epoch)));
                }
                #[cfg(feature = "archive")]
                if self.asks_archive {
                    return archived(hash, rows);
                }
                None
            }
            BlockReference::Finality(Finality::Optimistic) => {
                chain.head.map(|head| canonical(head, chain, rows)).transpose()?
            }
            BlockReference::Finality(Finality::NearFinal) => near_final(chain, rows)?,
            BlockReference::Finality(Finality::Final) => {
                chain.last_final.map(|last| canonical(last, chain, rows)).transpose()?
            }
            BlockReference::SyncCheckpoint(SyncCheckpoint::Genesis) => {
                // A chain does not end below its genesis.
                let is_in_chain =
                    |genesis: &BlockHeight| chain.head.is_none_or(|head| *genesis <= head.height);
                let genesis = genesis.filter(is_in_chain);
                genesis.map(|height| BlockEpoch { height, epoch_id: CryptoHash::ZERO })
            }
            BlockReference::SyncCheckpoint(SyncCheckpoint::EarliestAvailable) => {
                let earliest = rows.earliest(chain)?;
                earliest.map(|earliest| canonical(earliest, chain, rows)).transpose()?
            }
        };
        Ok(epoch.map(Block::stored))
    }
}

impl Restartable for ResolveConfig {
    type Output = ConfigResult;

    fn restarted(&self) -> Option<Self> {
        Some(Self {
            reference: self.reference,
            #[cfg(feature = "archive")]
            asks_archive: self.asks_archive,
        })
    }

    fn run(&self, rows: &mut RowCache<'_>) -> Result<ConfigResult, Suspend> {
        rows.prefetch([ChainRecord::key(), ConfigIndex::key()])?;
        let chain = ChainRecord::decode(rows.row(ChainRecord::key())?.map(|row| &**row))?;
        let row = rows.row(ConfigIndex::key())?;
        let has_configs = row.is_some();
        let index = ConfigIndex::decode(row.map(|row| &**row))?;
        let genesis = has_configs.then_some(index.genesis_height);
        let Some(block) = self.block(&chain, genesis, rows)? else {
            let skipped = matches!(
                (self.reference, chain.head),
                (BlockReference::Height(height), Some(head)) if height < head.height
            );
            return Ok(ConfigResult::UnknownBlock { block: self.reference, skipped });
        };
        #[cfg(feature = "archive")]
        if block.is_archived {
            let own = ConfigRecord::epoch_key(block.epoch.epoch_id);
            let archived = Key::hash(Table::ArchivedConfigs, block.epoch.epoch_id);
            if rows.row(own)?.is_none()
                && let Some(row) = rows.row(archived)?
            {
                let envelope = Envelope::decode(Table::ArchivedConfigs, row)?;
                return Ok(ConfigResult::InForce(envelope.content()?.into()));
            }
        }
        if let Some(row) = in_force(block.epoch, &index, rows)? {
            return Ok(ConfigResult::InForce(row));
        }
        if self.reference == BlockReference::SyncCheckpoint(SyncCheckpoint::Genesis) {
            // Its configuration is all that a storage has of a genesis before its first block.
            return Ok(ConfigResult::UnknownBlock { block: self.reference, skipped: false });
        }
        let first = index.heights.first().copied();
        Ok(ConfigResult::NoConfig { height: block.epoch.height, first })
    }
}

impl ReadRows for RowCache<'_> {
    fn read(&mut self, key: Key) -> Result<Option<Row>, Suspend> {
        self.row_cloned(key)
    }

    fn prefetch(&mut self, keys: &[Key]) -> Result<(), Suspend> {
        self.prefetch(keys.iter().copied())
    }
}

/// The epoch of a canonical block, which is read if the chain does not list it: its row can be
/// large
fn canonical(
    block: BlockPoint,
    chain: &ChainRecord,
    rows: &mut RowCache<'_>,
) -> Result<BlockEpoch, Suspend> {
    let BlockPoint { height, hash } = block;
    if let Some(epoch_id) = chain.epoch_at(height) {
        return Ok(BlockEpoch { height, epoch_id });
    }
    match rows.block(hash)? {
        Some(block) => Ok(BlockEpoch { height, epoch_id: block.epoch_id }),
        None => Err(Suspend::Failed(Error::new(
            ErrorKind::Corrupt,
            format_args!("block {hash} is not in the storage"),
        ))),
    }
}

/// The epoch of a block of the archive
#[cfg(feature = "archive")]
fn archived(hash: CryptoHash, rows: &mut RowCache<'_>) -> Result<Option<Block>, Suspend> {
    let Some(row) = rows.row(ArchivedBlock::key(hash))? else { return Ok(None) };
    let ArchivedBlock { height, epoch_id, .. } = ArchivedBlock::decode(row)?;
    Ok(Some(Block { epoch: BlockEpoch { height, epoch_id }, is_archived: true }))
}

/// The head's `last_ds_final_block`, or the last final block if that is higher
fn near_final(chain: &ChainRecord, rows: &mut RowCache<'_>) -> Result<Option<BlockEpoch>, Suspend> {
    let head = match chain.head {
        Some(head) => rows.block(head.hash)?,
        None => None,
    };
    let near_final = match head {
        Some(head) => rows.block(head.last_near_final)?,
        None => None,
    };
    let near_final =
        near_final.map(|block| BlockEpoch { height: block.height, epoch_id: block.epoch_id });
    match chain.last_final {
        Some(last) if near_final.is_none_or(|block| block.height < last.height) => {
            canonical(last, chain, rows).map(Some)
        }
        _ => Ok(near_final),
    }
}

impl Sealed for ConfigQuery {
    fn restarted(&self) -> Option<Self> {
        self.0.restarted().map(Self)
    }
}

impl Query for ConfigQuery {
    type Output = ConfigResult;

    fn poll(&mut self) -> Result<Step<'_, ConfigResult>, Error> {
        self.0.poll()
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        self.0.supply_rows(rows)
    }
}
