//! Making a stored chain final, when it turns out that its feed has final blocks only.
//!
//! Nothing is imported: the head becomes the last final block, and transactions of the blocks up to
//! it are finalized, those of 64 blocks in a batch. So one batch stays small whatever the store
//! has, and the rest is done by the next one, or by the imports after it.

use alloc::vec::Vec;

use super::chain_update::ChainUpdate;
use super::finalize::FinalizeTransactions;
use super::overlay::WriteOverlay;
use super::plan::{next_generation, prune_fork_blocks};
use super::{BlockPosition, ImportSummary};
use crate::Error;
use crate::storage::restartable::{Restartable, RestartableQuery, RowCache, Suspend};
use crate::storage::rows::ChainRecord;
use crate::storage::sealed::Sealed;
use crate::storage::{Batch, Query, Row, Step};
use crate::views::TypeMismatches;

/// The query for the changes that make a stored chain final
///
/// For a store that was filled by [`FinalityRule::Headers`](super::FinalityRule) from a feed whose
/// blocks are all final. The output is a batch, and a summary about the head; `None` when all is
/// done. Commit the batch and ask again until then. What is final is never reverted, so this cannot
/// be undone.
#[derive(Debug)]
pub struct FinalityImport(RestartableQuery<MakeFinal>);

/// The function that the query restarts until it has all rows
#[derive(Debug)]
struct MakeFinal;

impl FinalityImport {
    /// The query for the next batch
    pub fn new() -> Self {
        Self(RestartableQuery::new(MakeFinal))
    }
}

impl Default for FinalityImport {
    fn default() -> Self {
        Self::new()
    }
}

impl Restartable for MakeFinal {
    type Output = Option<(Batch, ImportSummary)>;

    fn run(&self, rows: &mut RowCache<'_>) -> Result<Self::Output, Suspend> {
        let row = rows.row(ChainRecord::key())?;
        let mut chain = ChainRecord::decode(row.map(|row| &**row))?;
        let Some(head) = chain.head else { return Ok(None) };
        if chain.last_final == Some(head)
            && chain.all_final
            && chain.next_finalized >= chain.next_ordinal
        {
            return Ok(None);
        }
        (chain.last_final, chain.all_final) = (Some(head), true);
        let summary = ImportSummary {
            block: head,
            position: BlockPosition::Known,
            reverted: Vec::new(),
            reapplied: Vec::new(),
            last_final: Some(head),
            transactions: 0,
            transaction_hashes: Vec::new(),
            outcomes: 0,
            receipts: 0,
            type_mismatches: TypeMismatches::default(),
            #[cfg(feature = "archive")]
            evicted_blocks: 0,
            chain_update: ChainUpdate::default(),
            verification: None,
        };
        let mut overlay = WriteOverlay::new(rows);
        prune_fork_blocks(&mut chain, &mut overlay);
        let finalize = FinalizeTransactions(next_generation(summary, chain, overlay));
        let (finalized, chain) = finalize.run(rows)?;
        Ok(Some(finalize.0.into_batch(finalized, &chain)))
    }
}

impl Sealed for FinalityImport {}

impl Query for FinalityImport {
    type Output = Option<(Batch, ImportSummary)>;

    fn poll(&mut self) -> Result<Step<'_, Self::Output>, Error> {
        self.0.poll()
    }

    fn supply_rows(&mut self, rows: &[Option<Row>]) -> Result<(), Error> {
        self.0.supply_rows(rows)
    }
}
