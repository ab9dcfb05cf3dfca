//! Reads the rows that check a call by the configuration in force at the head.
//!
//! The configuration has the shards of accounts, and the rules for a signed transaction that is in
//! no block. Whether the transaction is too old to be included is known only if its base block is
//! canonical and no block since is missing: then it is in none of them. No block can include it
//! once the last final block, on which every later one is built, is too far from its base block; a
//! fork can still replace a head that is too far. A base block that is unknown, on a fork or below
//! a gap proves nothing.

use crate::config::{BlockReference, ConfigResult, Finality, ResolveConfig, TransactionRules};
use crate::primitives::{BlockHeight, CryptoHash};
use crate::rpc::InvalidTransaction;
use crate::storage::restartable::{Restartable, RestartableQuery, RowCache, Suspend};
use crate::storage::rows::{ChainRecord, ConfigIndex, ConfigRecord};
use crate::storage::{Key, Table};
use crate::transaction::EncodedTransaction;
use crate::{Error, ErrorKind};

/// The query for the rows that check a call
///
/// Beside the rows of the configuration it reads that of the base block of a transaction.
pub(super) type CheckQuery = RestartableQuery<ReadCheck>;

/// The function that the query restarts until it has all rows
#[derive(Debug)]
pub(super) struct ReadCheck {
    base: Option<CryptoHash>,
}

/// The rows that check a call
pub(super) struct ConfigCheck {
    pub(super) config: ConfigResult,
    /// The heights of the base block and of the last final one, if no block after the base block is
    /// missing
    pub(super) heights: Option<(BlockHeight, BlockHeight)>,
}

impl ReadCheck {
    /// The query for a call, with the base block of its transaction if that is in no block
    pub(super) fn query(base: Option<CryptoHash>) -> CheckQuery {
        RestartableQuery::new(Self { base })
    }
}

impl Restartable for ReadCheck {
    type Output = ConfigCheck;

    fn run(&self, rows: &mut RowCache<'_>) -> Result<ConfigCheck, Suspend> {
        let mut heights = None;
        if let Some(base) = self.base {
            let base_key = Key::hash(Table::Blocks, base);
            rows.prefetch([ChainRecord::key(), ConfigIndex::key(), base_key])?;
            let chain = ChainRecord::decode(rows.row(ChainRecord::key())?.map(|row| &**row))?;
            let base = rows.block(base)?.filter(|base| {
                // The block at the start is there itself, and so is every block after it.
                base.ordinal.is_some() && base.height >= chain.complete_from
            });
            let last_final = chain.last_final.map_or(0, |last| last.height);
            heights = base.map(|base| (base.height, last_final));
        }
        let reference = BlockReference::Finality(Finality::Optimistic);
        let resolve = ResolveConfig::in_storage(reference);
        Ok(ConfigCheck { config: resolve.run(rows)?, heights })
    }
}

impl ConfigCheck {
    /// The text of the configuration, if one is in force
    pub(super) fn text(&self) -> Result<Option<&str>, Error> {
        let ConfigResult::InForce(row) = &self.config else { return Ok(None) };
        let text = str::from_utf8(ConfigRecord::decode(row)?.fragment);
        text.map(Some).map_err(|error| Error::new(ErrorKind::Corrupt, error).at("configuration"))
    }

    /// The first rule that the transaction violates; as a node does, expiry is looked at before
    /// everything else
    pub(super) fn violation(
        &self,
        signed: &EncodedTransaction,
    ) -> Result<Option<InvalidTransaction>, Error> {
        let Some(rules) = self.rules()? else { return Ok(None) };
        if self.heights.is_some_and(|(base, last_final)| rules.is_expired(base, last_final)) {
            return Ok(Some(InvalidTransaction::Expired));
        }
        Ok(rules.check(&signed.decode()).err().map(|json| InvalidTransaction::Rule { json }))
    }

    /// The rules of the configuration, if one is in force
    pub(super) fn rules(&self) -> Result<Option<TransactionRules>, Error> {
        self.text()?.map(TransactionRules::read).transpose()
    }
}
