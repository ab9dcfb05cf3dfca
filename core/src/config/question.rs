//! Which configuration is in force at a block.
//!
//! A selector is resolved to a height, and the configuration that began at or before that height
//! is the one; at most four round trips, whatever the selector. The configuration's own text is
//! not looked at here.

use alloc::format;
use alloc::string::{String, ToString};

use super::{BlockReference, Finality, SyncCheckpoint};
use crate::Error;
use crate::facts::record::{ChainRecord, ConfigIndex, ConfigRecord};
use crate::facts::replay::{Replay, Replayed, Stop, Supplied};
use crate::facts::{Key, Question, Row, Step, Table};
use crate::primitives::BlockHeight;

/// What a question about the configuration ends in
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ConfigAnswer {
    /// The row of the configuration in force: see [`ConfigRecord`]
    InForce(Row),
    /// The block is not known
    UnknownBlock {
        /// Which block, in the words of the node
        which: String,
        /// Whether it is a height below the head: skipped by the chain, or not kept any more
        skipped: bool,
    },
    /// The block is known, but no configuration is in force at its height
    NoConfig {
        /// The height
        height: BlockHeight,
        /// The first height at which one is in force, if there is any
        first: Option<BlockHeight>,
    },
}

/// Which configuration is in force at this block?
///
/// A height names a canonical block, a hash a block on whatever fork. `genesis` needs no block:
/// the configurations themselves say where the chain begins.
///
/// ```
/// use milepost::config::{BlockReference, ConfigAnswer, ConfigQuestion, SyncCheckpoint};
/// use milepost::engine::Engine;
/// use milepost::facts::record::ConfigRecord;
/// use milepost::facts::{MemoryStorage, drive};
///
/// let mut storage = MemoryStorage::new();
/// let config = r#"{"chain_id":"dev","genesis_height":7,"protocol_version":88}"#;
/// Engine::default().put_config(7, config, &mut storage)?;
///
/// let genesis = BlockReference::SyncCheckpoint(SyncCheckpoint::Genesis);
/// let ConfigAnswer::InForce(row) = drive(&mut ConfigQuestion::new(genesis), &storage)? else {
///     panic!("the chain begins with it");
/// };
/// assert_eq!(ConfigRecord::decode(&row)?.fragment, config.as_bytes());
///
/// // No block came in, so no block is known by its height.
/// let answer = drive(&mut ConfigQuestion::new(BlockReference::Height(7)), &storage)?;
/// assert!(matches!(answer, ConfigAnswer::UnknownBlock { skipped: false, .. }));
/// # Ok::<(), milepost::Error>(())
/// ```
#[derive(Debug)]
pub struct ConfigQuestion(Replayed<Resolve>);

#[derive(Debug)]
struct Resolve {
    reference: BlockReference,
}

/// The height of a block, or which one is not known
type Resolved = Result<BlockHeight, String>;

impl ConfigQuestion {
    /// A question about this block
    pub fn new(reference: BlockReference) -> Self {
        Self(Replayed::new(Resolve { reference }))
    }
}

impl Resolve {
    fn height(
        &self,
        chain: &ChainRecord,
        index: &ConfigIndex,
        rows: &mut Supplied<'_>,
    ) -> Result<Resolved, Stop> {
        match self.reference {
            BlockReference::Height(height) => {
                let row = rows.row(Key::number(Table::Heights, height))?;
                Ok(row
                    .map(|_| height)
                    .ok_or_else(|| format!("DB Not Found Error: BLOCK HEIGHT: {height}")))
            }
            BlockReference::Hash(hash) => Ok(rows
                .block(hash)?
                .map(|block| block.height)
                .ok_or_else(|| format!("DB Not Found Error: BLOCK HEADER: {hash}"))),
            BlockReference::Finality(Finality::Optimistic) => {
                Ok(chain.head.map(|head| head.height).ok_or_else(|| "HEAD".to_string()))
            }
            BlockReference::Finality(Finality::NearFinal) => near_final(chain, rows),
            BlockReference::Finality(Finality::Final) => {
                Ok(chain.last_final.map(|last| last.height).ok_or_else(|| "FINAL HEAD".to_string()))
            }
            BlockReference::SyncCheckpoint(SyncCheckpoint::Genesis) => {
                Ok(if index.heights.is_empty() {
                    Err("GENESIS".to_string())
                } else {
                    Ok(index.genesis_height)
                })
            }
            BlockReference::SyncCheckpoint(SyncCheckpoint::EarliestAvailable) => Ok(rows
                .earliest(chain)?
                .map(|block| block.height)
                .ok_or_else(|| "EarliestAvailable".to_string())),
        }
    }
}

impl Replay for Resolve {
    type Answer = ConfigAnswer;

    fn replay(&self, rows: &mut Supplied<'_>) -> Result<ConfigAnswer, Stop> {
        rows.all([ChainRecord::key(), ConfigIndex::key()])?;
        let chain = ChainRecord::decode(rows.row(ChainRecord::key())?.map(|row| &**row))?;
        let index = ConfigIndex::decode(rows.row(ConfigIndex::key())?.map(|row| &**row))?;
        let height = match self.height(&chain, &index, rows)? {
            Ok(height) => height,
            Err(which) => {
                let skipped = matches!(
                    (self.reference, chain.head),
                    (BlockReference::Height(height), Some(head)) if height < head.height
                );
                return Ok(ConfigAnswer::UnknownBlock { which, skipped });
            }
        };
        let Some(first) = index.in_force(height) else {
            return Ok(ConfigAnswer::NoConfig { height, first: index.heights.first().copied() });
        };
        match rows.row(ConfigRecord::key(first))? {
            Some(row) => Ok(ConfigAnswer::InForce(row.clone())),
            None => Err(Stop::Refused(Error::new(
                crate::ErrorKind::Corrupt,
                format_args!("configuration of height {first} is not in the storage"),
            ))),
        }
    }
}

/// What the head's header names as almost final; a final block is almost final as well
fn near_final(chain: &ChainRecord, rows: &mut Supplied<'_>) -> Result<Resolved, Stop> {
    let head = match chain.head {
        Some(head) => rows.block(head.hash)?,
        None => None,
    };
    let named = match head {
        Some(head) => rows.block(head.last_near_final)?.map(|block| block.height),
        None => None,
    };
    let last_final = chain.last_final.map(|last| last.height);
    Ok(named.max(last_final).ok_or_else(|| "NEAR-FINAL HEAD".to_string()))
}

impl Question for ConfigQuestion {
    type Answer = ConfigAnswer;

    fn poll(&mut self) -> Result<Step<'_, ConfigAnswer>, Error> {
        self.0.poll()
    }

    fn supply(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        self.0.supply(rows)
    }
}
