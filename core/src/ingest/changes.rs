//! What a block changed, in the words of those who wait for it.
//!
//! Whoever sleeps on a fact must hear when it comes, and when a fork takes away what made it
//! matter. Listed is therefore every fact that joined the canonical chain, and for every outcome that
//! left it the receipts that hung from it. Not listed is what no wait can hang on: bodies of
//! receipts that are no refunds, and blocks that are parked; nor what hung from an outcome that
//! retention forgets, for nothing executes a receipt twice and so no sound chain brings it back.

use alloc::vec::Vec;

use crate::facts::Table;
use crate::facts::record::{FactKey, OutcomeRecord, ReceiptRecord};
use crate::primitives::{BlockHeight, CryptoHash};
use crate::{Error, facts::Row};

/// A fact that is not what it was
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// This transaction is in a canonical block now
    Transaction(CryptoHash),
    /// This id has an outcome now, or it lost its outcome, or the outcome that generated it
    Outcome(CryptoHash),
    /// This receipt is known to be a refund now
    Refund(CryptoHash),
}

/// What a block message changed
///
/// Changes are numbered without a gap by the generation of the chain, so whoever is handed them
/// one by one notices when one is missing: it was lost with a commit that failed to report, or
/// another process ingested it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Changes {
    /// Generation of the chain as it is now
    pub generation: u64,
    /// The generation that these changes follow; that of now for a block that was known, which
    /// says nothing of what came with it when it was new
    pub since: u64,
    /// The facts that came or went; one can be named twice
    pub facts: Vec<Change>,
    /// More facts went than can be listed, so everyone has to be told
    pub unlisted: bool,
    /// Blocks above this height left the canonical chain, and with them all they brought
    pub undone_above: Option<BlockHeight>,
    /// Height up to which canonical blocks are final now
    pub last_final: Option<BlockHeight>,
}

impl Changes {
    /// A fact joined the canonical chain
    pub(super) fn joined(&mut self, fact: &FactKey, row: &Row) -> Result<(), Error> {
        let change = match fact.table {
            Table::Transactions => Change::Transaction(fact.id),
            Table::Outcomes => Change::Outcome(fact.id),
            Table::Receipts if ReceiptRecord::decode(row)?.refund => Change::Refund(fact.id),
            _ => return Ok(()),
        };
        self.facts.push(change);
        Ok(())
    }

    /// A fact left the canonical chain
    ///
    /// Nobody waits for a fact that is there, so only what hung from it matters: who waits for a
    /// receipt must hear that the outcome that generated it is gone.
    pub(super) fn left(&mut self, fact: &FactKey, row: &Row) -> Result<(), Error> {
        if fact.table == Table::Outcomes {
            self.facts.push(Change::Outcome(fact.id));
            self.facts.extend(OutcomeRecord::decode(row)?.receipts().map(Change::Outcome));
        }
        Ok(())
    }

    /// A fact is too old to be kept
    ///
    /// Its row is not read: it would cost a round trip with every block. An outcome without a status
    /// is named for those who wait for one with it.
    pub(super) fn forgotten(&mut self, fact: &FactKey) {
        if fact.table == Table::Outcomes {
            self.facts.push(Change::Outcome(fact.id));
        }
    }
}
