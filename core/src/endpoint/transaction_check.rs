//! What is read to check a signed transaction that is in no block.
//!
//! The configuration in force at the head has the rules. Whether the transaction is too old to be
//! included is known only if its base block is canonical and no block since is missing: then it is
//! in none of them, and no block on top of the head can include it. A base block that is unknown,
//! on a fork or below a gap proves nothing.

use alloc::string::{String, ToString};

use crate::config::{BlockReference, ConfigResult, Finality, ResolveConfig, TransactionRules};
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::restartable::{Restartable, RestartableQuery, RowCache, Suspend};
use crate::storage::rows::{ChainRecord, ConfigIndex, ConfigRecord};
use crate::storage::{Key, Table};
use crate::transaction::EncodedTransaction;
use crate::{Error, ErrorKind};

/// The query for what the check of a transaction needs
///
/// Beside the rows of the configuration it reads one, that of the base block.
pub(super) type CheckQuery = RestartableQuery<ReadCheck>;

/// The function that the query restarts until it has all rows
#[derive(Debug)]
pub(super) struct ReadCheck {
    base: CryptoHash,
}

/// What the check of a transaction needs
pub(super) struct TransactionCheck {
    config: ConfigResult,
    /// The heights of the base block and of the head, if no block after the base block is missing
    heights: Option<(BlockHeight, BlockHeight)>,
}

impl ReadCheck {
    /// The query for this transaction
    pub(super) fn query(signed: &EncodedTransaction) -> CheckQuery {
        let base = signed.decode().transaction().block_hash;
        RestartableQuery::new(Self { base })
    }
}

impl Restartable for ReadCheck {
    type Output = TransactionCheck;

    fn run(&self, rows: &mut RowCache<'_>) -> Result<TransactionCheck, Suspend> {
        let base_key = Key::hash(Table::Blocks, self.base);
        rows.prefetch([ChainRecord::key(), ConfigIndex::key(), base_key])?;
        let chain = ChainRecord::decode(rows.row(ChainRecord::key())?.map(|row| &**row))?;
        let base = rows.block(self.base)?.filter(|base| {
            // The block at the start is there itself, and so is every block after it.
            base.ordinal.is_some() && base.height >= chain.complete_from
        });
        let heights = base.zip(chain.head).map(|(base, head)| (base.height, head.height));
        let reference = BlockReference::Finality(Finality::Optimistic);
        let resolve = ResolveConfig::in_storage(reference);
        Ok(TransactionCheck { config: resolve.run(rows)?, heights })
    }
}

impl TransactionCheck {
    /// The first rule that the transaction violates, as the JSON of an `InvalidTxError`; as a node
    /// does, expiry is looked at before everything else
    pub(super) fn violation(&self, signed: &EncodedTransaction) -> Result<Option<String>, Error> {
        let ConfigResult::InForce(row) = &self.config else { return Ok(None) };
        let config = str::from_utf8(ConfigRecord::decode(row)?.fragment)
            .map_err(|error| Error::new(ErrorKind::Corrupt, error).at("configuration"))?;
        let rules = TransactionRules::read(config)?;
        if self.heights.is_some_and(|(base, head)| rules.is_expired(base, head)) {
            return Ok(Some("\"Expired\"".to_string()));
        }
        Ok(rules.check(&signed.decode()).err())
    }
}
