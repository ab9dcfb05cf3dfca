//! The configuration that is in force at a block.
//!
//! A selector is resolved to a height; in force is the last configuration that begins at or below
//! it. This takes at most four round trips, whatever the selector. The text of the configuration is
//! not parsed here.

use super::{BlockReference, Finality, SyncCheckpoint};
use crate::Error;
#[cfg(feature = "archive")]
use crate::archive::{ArchiveLookup, ArchivedBlock};
use crate::primitives::BlockHeight;
use crate::storage::restartable::{Restartable, RestartableQuery, RowCache, Suspend};
use crate::storage::rows::{ChainRecord, ConfigIndex, ConfigRecord, decode_block_hash};
use crate::storage::sealed::Sealed;
use crate::storage::{Key, Query, Row, Step, Table};

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
    /// The block is known, but no configuration is in force at its height
    NoConfig {
        /// The height
        height: BlockHeight,
        /// The first height at which one is in force, if there is one
        first: Option<BlockHeight>,
    },
}

/// The query for the configuration that is in force at a block
///
/// A height selects a canonical block, a hash a block on any fork. `genesis` needs no block: the
/// configurations contain the height at which the chain begins.
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

impl ResolveConfig {
    /// The height of the block; `None` if that is not known
    fn height(
        &self,
        chain: &ChainRecord,
        index: &ConfigIndex,
        rows: &mut RowCache<'_>,
    ) -> Result<Option<BlockHeight>, Suspend> {
        match self.reference {
            BlockReference::Height(height) => {
                if let Some(row) = rows.row(Key::number(Table::Heights, height))? {
                    decode_block_hash(Table::Heights, row)?;
                    return Ok(Some(height));
                }
                #[cfg(feature = "archive")]
                if self.asks_archive
                    && let Some(row) = rows.row(ArchivedBlock::height_key(height))?
                {
                    ArchivedBlock::decode_hash(row)?;
                    return Ok(Some(height));
                }
                Ok(None)
            }
            BlockReference::Hash(hash) => {
                if let Some(block) = rows.block(hash)? {
                    return Ok(Some(block.height));
                }
                #[cfg(feature = "archive")]
                if self.asks_archive
                    && let Some(row) = rows.row(ArchivedBlock::key(hash))?
                {
                    return Ok(Some(ArchivedBlock::decode(row)?.height));
                }
                Ok(None)
            }
            BlockReference::Finality(Finality::Optimistic) => {
                Ok(chain.head.map(|head| head.height))
            }
            BlockReference::Finality(Finality::NearFinal) => near_final(chain, rows),
            BlockReference::Finality(Finality::Final) => {
                Ok(chain.last_final.map(|last| last.height))
            }
            BlockReference::SyncCheckpoint(SyncCheckpoint::Genesis) => {
                Ok((!index.heights.is_empty()).then_some(index.genesis_height))
            }
            BlockReference::SyncCheckpoint(SyncCheckpoint::EarliestAvailable) => {
                Ok(rows.earliest(chain)?.map(|block| block.height))
            }
        }
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
        let index = ConfigIndex::decode(rows.row(ConfigIndex::key())?.map(|row| &**row))?;
        let Some(height) = self.height(&chain, &index, rows)? else {
            let skipped = matches!(
                (self.reference, chain.head),
                (BlockReference::Height(height), Some(head)) if height < head.height
            );
            return Ok(ConfigResult::UnknownBlock { block: self.reference, skipped });
        };
        let Some(first) = index.in_force(height) else {
            return Ok(ConfigResult::NoConfig { height, first: index.heights.first().copied() });
        };
        match rows.row(ConfigRecord::key(first))? {
            Some(row) => Ok(ConfigResult::InForce(row.clone())),
            None => Err(Suspend::Failed(Error::new(
                crate::ErrorKind::Corrupt,
                format_args!("configuration of height {first} is not in the storage"),
            ))),
        }
    }
}

/// The height of the head's `last_ds_final_block`, or of the last final block if that is higher
fn near_final(
    chain: &ChainRecord,
    rows: &mut RowCache<'_>,
) -> Result<Option<BlockHeight>, Suspend> {
    let head = match chain.head {
        Some(head) => rows.block(head.hash)?,
        None => None,
    };
    let near_final = match head {
        Some(head) => rows.block(head.last_near_final)?.map(|block| block.height),
        None => None,
    };
    let last_final = chain.last_final.map(|last| last.height);
    Ok(near_final.max(last_final))
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
