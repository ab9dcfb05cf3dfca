//! Importing a configuration: its own row, and the index of all configurations.
//!
//! All configurations of a storage belong to one chain. The first one sets its id and its genesis.

use alloc::string::String;

use super::{ConfigScope, check};
use crate::primitives::BlockHeight;
use crate::storage::restartable::{Restartable, RestartableQuery, RowCache, Suspend};
use crate::storage::rows::{ConfigIndex, ConfigRecord};
use crate::storage::sealed::Sealed;
use crate::storage::{Batch, Query, Row, Step};
use crate::views::TypeMismatches;
use crate::{Error, ErrorKind};

/// The query for the changes that put a configuration in force
///
/// The output is a batch. Commit it before the next configuration is imported.
///
/// ```
/// use milepost::config::ConfigImport;
///
/// let error = ConfigImport::new(7.into(), "{}", false).unwrap_err();
/// assert_eq!(error.kind(), milepost::ErrorKind::Schema);
/// ```
#[derive(Debug)]
pub struct ConfigImport {
    query: RestartableQuery<PlanConfigImport>,
    type_mismatches: TypeMismatches,
}

#[derive(Debug)]
struct PlanConfigImport {
    scope: ConfigScope,
    chain_id: String,
    genesis_height: BlockHeight,
    text: String,
}

impl ConfigImport {
    /// Reads a configuration that is to be in force at these blocks
    ///
    /// With `strict_types` a known member whose value is not of its type is an error.
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration, and where.
    pub fn new(scope: ConfigScope, text: &str, strict_types: bool) -> Result<Self, Error> {
        let checked = check(text, strict_types)?;
        let (chain_id, genesis_height) = (checked.chain_id, checked.genesis_height);
        let text = checked.text;
        let plan = PlanConfigImport { scope, chain_id, genesis_height, text };
        Ok(Self { query: RestartableQuery::new(plan), type_mismatches: checked.type_mismatches })
    }

    /// Known members whose values are not of their type, if types are not strict
    pub const fn type_mismatches(&self) -> &TypeMismatches {
        &self.type_mismatches
    }
}

impl Restartable for PlanConfigImport {
    type Output = Batch;

    fn run(&self, rows: &mut RowCache<'_>) -> Result<Batch, Suspend> {
        let row = rows.row(ConfigIndex::key())?;
        let is_first = row.is_none();
        let mut index = ConfigIndex::decode(row.map(|row| &**row))?;
        if is_first {
            index.chain_id.clone_from(&self.chain_id);
            index.genesis_height = self.genesis_height;
        } else if index.chain_id != self.chain_id {
            let detail = format_args!(
                "{}, but the stored configurations are of {}",
                self.chain_id, index.chain_id
            );
            return Err(Error::new(ErrorKind::Chain, detail).at("chain_id").into());
        }
        if let ConfigScope::From(height) = self.scope
            && let Err(position) = index.heights.binary_search(&height)
        {
            index.heights.insert(position, height);
        }
        let mut batch = Batch::new();
        let fragment = self.text.as_bytes();
        let record = ConfigRecord { origin: self.scope.origin(), fragment };
        batch.put(self.scope.key(), record.encode());
        if let ConfigScope::Epoch(epoch_id) = self.scope {
            batch.remove(ConfigRecord::kept_key(epoch_id));
        }
        batch.put(ConfigIndex::key(), index.encode());
        Ok(batch)
    }
}

impl Sealed for ConfigImport {}

impl Query for ConfigImport {
    type Output = Batch;

    fn poll(&mut self) -> Result<Step<'_, Batch>, Error> {
        self.query.poll()
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        self.query.supply_rows(rows)
    }
}
