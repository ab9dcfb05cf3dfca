//! What changes when a configuration is put in force: its own row, and the index of all of them.
//!
//! All configurations of a storage belong to one chain, whose name and genesis the first one says.

use alloc::string::String;

use super::check;
use crate::facts::record::{ConfigIndex, ConfigRecord};
use crate::facts::replay::{Replay, Replayed, Stop, Supplied};
use crate::facts::{Batch, Question, Row, Step};
use crate::primitives::BlockHeight;
use crate::{Error, ErrorKind};

/// What does putting this configuration in force change?
///
/// The answer is a batch that is to be committed before any other configuration is asked about.
///
/// ```
/// use milepost::config::PutQuestion;
///
/// let error = PutQuestion::new(7, "{}").unwrap_err();
/// assert_eq!(error.kind(), milepost::ErrorKind::Shape);
/// ```
#[derive(Debug)]
pub struct PutQuestion(Replayed<Put>);

#[derive(Debug)]
struct Put {
    height: BlockHeight,
    chain_id: String,
    genesis_height: BlockHeight,
    text: String,
}

impl PutQuestion {
    /// Reads a configuration that is to be in force from this height on
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration, and where.
    pub fn new(height: BlockHeight, text: &str) -> Result<Self, Error> {
        let checked = check(text)?;
        let (chain_id, genesis_height) = (checked.chain_id, checked.genesis_height);
        Ok(Self(Replayed::new(Put { height, chain_id, genesis_height, text: checked.text })))
    }
}

impl Replay for Put {
    type Answer = Batch;

    fn replay(&self, rows: &mut Supplied<'_>) -> Result<Batch, Stop> {
        let index = rows.row(ConfigIndex::key())?;
        let mut index = ConfigIndex::decode(index.map(|row| &**row))?;
        if index.heights.is_empty() {
            index.chain_id.clone_from(&self.chain_id);
            index.genesis_height = self.genesis_height;
        } else if index.chain_id != self.chain_id {
            let detail = format_args!(
                "{}, but the configurations here are of {}",
                self.chain_id, index.chain_id
            );
            return Err(Error::new(ErrorKind::Chain, detail).at("chain_id").into());
        }
        if let Err(place) = index.heights.binary_search(&self.height) {
            index.heights.insert(place, self.height);
        }
        let mut batch = Batch::new();
        let record = ConfigRecord { fragment: self.text.as_bytes() };
        batch.put(ConfigRecord::key(self.height), record.encode());
        batch.put(ConfigIndex::key(), index.encode());
        Ok(batch)
    }
}

impl Question for PutQuestion {
    type Answer = Batch;

    fn poll(&mut self) -> Result<Step<'_, Batch>, Error> {
        self.0.poll()
    }

    fn supply(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        self.0.supply(rows)
    }
}
