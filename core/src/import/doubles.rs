//! Transactions that the chain has twice: an execution takes the place of a refusal.
//!
//! A transaction that was refused when it was included can be included again, and be executed. Of
//! its inclusions on the canonical chain, the first execution is the one that is stored; a refusal,
//! or an inclusion without an outcome, is stored while there is no execution. The rows whose place
//! an execution has taken are kept in the row of fork blocks of its own block, and come back when
//! that block is reverted. Each row is listed by one block, whose removal removes it. The outcome
//! of a later execution is kept there too: its receipts lead to the transaction as well.

use alloc::vec::Vec;

use super::canonical_blocks::block_key;
use super::overlay::WriteOverlay;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::restartable::Suspend;
use crate::storage::rows::{
    BlockPoint, BlockRecord, FinalizedTransaction, ForkBlock, OutcomeRecord, OutcomeRow,
    OutcomeStatus, RowId, TransactionRecord, decode_block_hash,
};
use crate::storage::{Key, Row, Table};

/// The transactions of a block that the chain has twice
#[derive(Default)]
pub(super) struct Doubles {
    /// The outcomes of those that were executed before
    pub(super) later: Vec<(RowId, Row)>,
    /// The rows whose place this block's took
    replaced: Vec<(RowId, Row)>,
}

/// Moves executions of this block to the rows that join, in place of those of an ancestor
///
/// `repeated` are the rows of transactions and outcomes whose keys an ancestor or this block has as
/// well.
pub(super) fn replace(
    repeated: &[(RowId, Row)],
    joining: &mut Vec<(RowId, Row)>,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<Doubles, Suspend> {
    let mut doubles = Doubles::default();
    let find = |rows: &[(RowId, Row)], row_id| rows.iter().find(|(it, _)| *it == row_id).cloned();
    for (row_id, row) in repeated {
        let RowId { table, id } = *row_id;
        let transaction = RowId { table: Table::Transactions, id };
        let mut new = Vec::new();
        if table == Table::Outcomes {
            let is_own = find(joining, transaction).is_some();
            // No sound chain has the outcome of a receipt twice.
            if !is_execution(&OutcomeRecord::decode(row)?)
                || !is_own && overlay.row(transaction.key())?.is_none()
            {
                continue;
            }
            if find(joining, *row_id).is_some() || has_executed(id, overlay)? {
                doubles.later.push((*row_id, row.clone()));
                continue;
            }
            new.push((*row_id, row.clone()));
        } else {
            let Some((_, outcome)) = find(joining, outcome_id(id)) else { continue };
            if !is_execution(&OutcomeRecord::decode(&outcome)?)
                || find(joining, transaction).is_some()
            {
                continue;
            }
        }
        // With its outcome, unless that is of an inclusion that is not stored any more.
        let Some(included) = find(repeated, transaction) else { continue };
        new.push(included);
        for (row_id, _) in &new {
            let Some(row) = overlay.row(row_id.key())? else { continue };
            if row_id.table == Table::Transactions {
                let height = TransactionRecord::decode(&row)?.height;
                let is_new = |row: &RowId| new.iter().any(|(other, _)| other == row);
                change_block_at(height, overlay, |record| record.rows.retain(|it| !is_new(it)))?;
            }
            doubles.replaced.push((*row_id, row));
        }
        joining.extend(new);
    }
    Ok(doubles)
}

impl Doubles {
    /// Keeps with the block the outcomes of later executions, then the rows whose place it took
    pub(super) fn keep(self, block: CryptoHash, overlay: &mut WriteOverlay<'_, '_>) {
        let mut rows = self.later;
        rows.extend(self.replaced);
        if !rows.is_empty() {
            overlay.put(Key::hash(Table::ForkBlocks, block), ForkBlock { rows }.encode());
        }
    }
}

/// Puts back the rows whose place a block took, which has left the chain, and returns them; its own
/// outcomes of later executions are added to the rows of the fork block that it becomes
///
/// Not those of a block that retention has removed since.
pub(super) fn restore(
    block: BlockPoint,
    fork_block: &mut ForkBlock,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<Vec<(RowId, Row)>, Suspend> {
    let Some(row) = overlay.row(Key::hash(Table::ForkBlocks, block.hash))? else {
        return Ok(Vec::new());
    };
    let (mut restored, mut rows) = (Vec::new(), ForkBlock::decode(&row)?.rows);
    let is_later = |(row_id, row): &&(RowId, Row)| {
        row_id.table == Table::Outcomes
            && OutcomeRecord::decode(row).is_ok_and(|outcome| outcome.height == block.height)
    };
    for later in rows.drain(..rows.iter().take_while(is_later).count()) {
        // After the first outcome, as in a message.
        let first = fork_block.rows.iter().position(|(row_id, _)| *row_id == later.0);
        let index = first.map_or(fork_block.rows.len(), |first| first + 1);
        fork_block.rows.insert(index, later);
    }
    // The outcome of a transaction, if it has one, is before it.
    for replaced in rows.split_inclusive(|(row_id, _)| row_id.table == Table::Transactions) {
        let Some((_, transaction)) = replaced.last() else { continue };
        let height = TransactionRecord::decode(transaction)?.height;
        let row_ids = replaced.iter().map(|(row_id, _)| *row_id);
        if change_block_at(height, overlay, |record| record.rows.extend(row_ids))? {
            for (row_id, row) in replaced {
                overlay.put(row_id.key(), row.clone());
            }
            restored.extend_from_slice(replaced);
        }
    }
    Ok(restored)
}

/// Changes the record of the canonical block of this height; whether there is one
fn change_block_at(
    height: BlockHeight,
    overlay: &mut WriteOverlay<'_, '_>,
    change: impl FnOnce(&mut BlockRecord),
) -> Result<bool, Suspend> {
    let Some(row) = overlay.row(Key::number(Table::Heights, height))? else { return Ok(false) };
    let key = block_key(decode_block_hash(Table::Heights, &row)?);
    let Some(row) = overlay.row(key)? else { return Ok(false) };
    let mut record = BlockRecord::decode(&row)?;
    change(&mut record);
    overlay.put(key, record.encode());
    Ok(true)
}

/// Whether the stored outcome of a transaction is an execution
fn has_executed(id: CryptoHash, overlay: &mut WriteOverlay<'_, '_>) -> Result<bool, Suspend> {
    let Some(row) = overlay.row(outcome_id(id).key())? else { return Ok(false) };
    Ok(match OutcomeRow::decode(&row)? {
        // An outcome that generated receipts was no refusal, whatever its status says.
        OutcomeRow::Outcome(outcome) => is_execution(&outcome) || !outcome.receipt_ids.is_empty(),
        OutcomeRow::Finalized(transaction) => {
            let row = overlay.row(Key::hash(Table::Transactions, transaction))?;
            let finalized = row.as_deref().map(FinalizedTransaction::decode).transpose()?.flatten();
            finalized.is_some_and(|finalized| !finalized.is_refusal())
        }
    })
}

/// Whether this is the outcome of a transaction that was executed
const fn is_execution(outcome: &OutcomeRecord<'_>) -> bool {
    matches!(outcome.status, OutcomeStatus::SuccessReceiptId(_) | OutcomeStatus::SuccessValue)
}

const fn outcome_id(id: CryptoHash) -> RowId {
    RowId { table: Table::Outcomes, id }
}
