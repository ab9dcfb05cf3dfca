//! The state of the chain in the storage: its ends, and the height above which it has no gap.
//!
//! Five rows at most, in three round trips; for an export two more rows, in one more. No
//! transaction is read: an unknown one is judged by the heights.

use alloc::string::String;

use crate::Error;
use crate::import::FinalityRule;
use crate::primitives::BlockHeight;
use crate::storage::restartable::{Restartable, RestartableQuery, RowCache, Suspend};
use crate::storage::rows::{BlockPoint, ChainRecord, ConfigIndex};
use crate::storage::{Key, Query, Row, Step, Table};

/// The state of the chain in the storage
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ChainStatus {
    /// The newest canonical block
    pub head: Option<BlockPoint>,
    /// The newest final block
    pub last_final: Option<BlockPoint>,
    /// The oldest canonical block that is retained
    pub earliest: Option<BlockPoint>,
    /// The height of the canonical block after the oldest one, if an export asked for it, or else 0
    #[cfg(feature = "archive")]
    pub(super) second: BlockHeight,
    /// The height from which on every canonical block up to the head was imported and is retained;
    /// above that of `earliest` if the feed had a gap
    ///
    /// A transaction that was signed after this height and is unknown is in no block up to the
    /// head.
    pub complete_from: Option<BlockHeight>,
    /// The rule of finality by which the head was imported
    pub finality: Option<FinalityRule>,
    /// `chain_id` of the protocol configurations
    pub chain_id: Option<String>,
    /// `latest_protocol_version` of the head's header: the newest version that its producer
    /// supports
    ///
    /// The version in force is `protocol_version` of the configuration in force at the head.
    pub latest_protocol_version: Option<u32>,
    /// Number of canonical blocks that are retained
    pub blocks: u64,
    /// The generation of the canonical chain: the number of batches that have changed it; at equal
    /// generations blocks and transactions are equal, and configurations may differ
    pub generation: u64,
}

/// The query for what the storage knows about the chain
#[derive(Debug)]
pub struct ChainQuery(RestartableQuery<ReadChain>);

/// The function that the query restarts until it has all rows
#[derive(Debug, Default)]
struct ReadChain {
    /// Whether the second block is read, too
    #[cfg(feature = "archive")]
    is_for_export: bool,
}

impl ChainQuery {
    /// The query
    pub fn new() -> Self {
        Self(RestartableQuery::new(ReadChain::default()))
    }

    /// The query with the second block
    #[cfg(feature = "archive")]
    pub(super) fn for_export() -> Self {
        Self(RestartableQuery::new(ReadChain { is_for_export: true }))
    }
}

impl Default for ChainQuery {
    fn default() -> Self {
        Self::new()
    }
}

impl Restartable for ReadChain {
    type Output = ChainStatus;

    fn restarted(&self) -> Option<Self> {
        Some(Self { ..*self })
    }

    fn run(&self, rows: &mut RowCache<'_>) -> Result<ChainStatus, Suspend> {
        rows.prefetch([ChainRecord::key(), ConfigIndex::key()])?;
        let chain = ChainRecord::decode(rows.row(ChainRecord::key())?.map(|row| &**row))?;
        let row = rows.row(ConfigIndex::key())?;
        let index = row.map(|row| ConfigIndex::decode(Some(row))).transpose()?;
        let mut status = ChainStatus {
            head: chain.head,
            last_final: chain.last_final,
            complete_from: chain.head.map(|_| chain.complete_from),
            finality: chain.head.map(|_| match chain.all_final {
                true => FinalityRule::All,
                false => FinalityRule::Headers,
            }),
            chain_id: index.map(|index| index.chain_id),
            blocks: chain.block_count(),
            generation: chain.generation,
            ..ChainStatus::default()
        };
        if let Some(head) = chain.head {
            let first = Key::number(Table::Ordinals, chain.first_ordinal);
            rows.prefetch([Key::hash(Table::Blocks, head.hash), first])?;
            let head = rows.block(head.hash)?;
            status.latest_protocol_version = head.map(|block| block.protocol_version);
            status.earliest = rows.earliest(&chain)?;
            #[cfg(feature = "archive")]
            if self.is_for_export && chain.block_count() > 1 {
                let second = rows.canonical(chain.first_ordinal + 1)?;
                status.second = second.map_or(0, |block| block.height);
            }
        }
        Ok(status)
    }
}

impl crate::storage::sealed::Sealed for ChainQuery {
    fn restarted(&self) -> Option<Self> {
        self.0.restarted().map(Self)
    }
}

impl Query for ChainQuery {
    type Output = ChainStatus;

    fn poll(&mut self) -> Result<Step<'_, ChainStatus>, Error> {
        self.0.poll()
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        self.0.supply_rows(rows)
    }
}
