//! What the storage knows about the chain as a whole.

use alloc::string::String;

use crate::Error;
use crate::facts::record::{BlockPoint, ChainRecord, ConfigIndex};
use crate::facts::replay::{Replay, Replayed, Stop, Supplied};
use crate::facts::{Key, Question, Row, Step, Table};

/// What the storage knows about the chain
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ChainStatus {
    /// The newest canonical block
    pub head: Option<BlockPoint>,
    /// The newest final block
    pub last_final: Option<BlockPoint>,
    /// The oldest canonical block that is kept
    pub earliest: Option<BlockPoint>,
    /// `chain_id` of the protocol configurations
    pub chain_id: Option<String>,
    /// `latest_protocol_version` of the head's header
    pub protocol_version: Option<u32>,
    /// Number of canonical blocks kept
    pub blocks: u64,
    /// How many batches have changed the chain: equal numbers mean equal blocks and facts;
    /// configurations do not count
    pub generation: u64,
}

/// What does the storage know about the chain?
#[derive(Debug)]
pub struct ChainQuestion(Replayed<Look>);

#[derive(Debug)]
struct Look;

impl ChainQuestion {
    /// The question
    pub fn new() -> Self {
        Self(Replayed::new(Look))
    }
}

impl Default for ChainQuestion {
    fn default() -> Self {
        Self::new()
    }
}

impl Replay for Look {
    type Answer = ChainStatus;

    fn replay(&self, rows: &mut Supplied<'_>) -> Result<ChainStatus, Stop> {
        rows.all([ChainRecord::key(), ConfigIndex::key()])?;
        let chain = ChainRecord::decode(rows.row(ChainRecord::key())?.map(|row| &**row))?;
        let index = ConfigIndex::decode(rows.row(ConfigIndex::key())?.map(|row| &**row))?;
        let mut status = ChainStatus {
            head: chain.head,
            last_final: chain.last_final,
            chain_id: (!index.heights.is_empty()).then_some(index.chain_id),
            blocks: chain.blocks(),
            generation: chain.generation,
            ..ChainStatus::default()
        };
        if let Some(head) = chain.head {
            let first = Key::number(Table::Ordinals, chain.first_ordinal);
            rows.all([Key::hash(Table::Blocks, head.hash), first])?;
            status.protocol_version = rows.block(head.hash)?.map(|block| block.protocol_version);
            status.earliest = rows.earliest(&chain)?;
        }
        Ok(status)
    }
}

impl Question for ChainQuestion {
    type Answer = ChainStatus;

    fn poll(&mut self) -> Result<Step<'_, ChainStatus>, Error> {
        self.0.poll()
    }

    fn supply(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        self.0.supply(rows)
    }
}
