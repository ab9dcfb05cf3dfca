//! Transactions that the chain has twice: an execution takes the place of a refusal.
//!
//! A transaction that was refused when it was included can be included again, and be executed. Of
//! its inclusions on the canonical chain, the first execution is the one that is stored; a refusal,
//! or an inclusion without an outcome, is stored while there is no execution. The rows whose place
//! an execution has taken are kept in the row of fork blocks of its own block, and come back when
//! that block is reverted. Each row is listed by one block, whose removal removes it.

use alloc::vec::Vec;

use super::canonical_blocks::block_key;
use super::overlay::WriteOverlay;
use crate::primitives::{BlockHeight, CryptoHash};
use crate::storage::restartable::Suspend;
use crate::storage::rows::{
    BlockRecord, FinalizedTransaction, ForkBlock, OutcomeRecord, OutcomeRow, OutcomeStatus, RowId,
    TransactionRecord, decode_block_hash,
};
use crate::storage::{Key, Row, Table};

/// A transaction, in an ancestor too, that this block has executed
pub(super) struct Execution {
    pub(super) id: CryptoHash,
    /// The row of the transaction
    pub(super) transaction: Row,
    /// The row of its outcome, unless no ancestor has one
    pub(super) outcome: Option<Row>,
}

/// What a block has executed again
#[derive(Default)]
pub(super) struct Doubles {
    /// Those that take the place of what an ancestor has
    pub(super) first: Vec<Execution>,
    /// The outcomes of those that an ancestor has executed
    pub(super) later: Vec<(CryptoHash, Row)>,
    /// The rows whose place was taken
    replaced: Vec<(RowId, Row)>,
}

/// Removes the rows whose place an execution of this block takes
///
/// `repeated` are the rows of transactions and outcomes that an ancestor has under the same keys,
/// and `outcomes` the other outcomes of the block.
pub(super) fn replace(
    repeated: Vec<(RowId, Row)>,
    outcomes: &[(CryptoHash, Row)],
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<Doubles, Suspend> {
    let mut doubles = Doubles::default();
    for (row_id, transaction) in &repeated {
        let id = row_id.id;
        if row_id.table != Table::Transactions {
            continue;
        }
        let again = repeated.iter().find(|(other, _)| *other == outcome_id(id));
        let again = again.map(|(_, outcome)| outcome);
        let first = || outcomes.iter().find(|(other, _)| *other == id);
        let Some(outcome) = again.or_else(|| first().map(|(_, outcome)| outcome)) else { continue };
        if !is_execution(&OutcomeRecord::decode(outcome)?) {
            continue;
        }
        if again.is_some() && has_executed(id, overlay)? {
            doubles.later.push((id, outcome.clone()));
            continue;
        }
        let Some(row) = overlay.row(row_id.key())? else { continue };
        let height = TransactionRecord::decode(&row)?.height;
        let mut replaced = Vec::from([(*row_id, row)]);
        if let Some(row) = overlay.row(outcome_id(id).key())?.filter(|_| again.is_some()) {
            replaced.push((outcome_id(id), row));
        }
        let lists = |row: &RowId| replaced.iter().any(|(other, _)| other == row);
        change_block_at(height, overlay, |record| record.rows.retain(|row| !lists(row)))?;
        doubles.replaced.append(&mut replaced);
        doubles.first.push(Execution {
            id,
            transaction: transaction.clone(),
            outcome: again.cloned(),
        });
    }
    Ok(doubles)
}

impl Doubles {
    /// Keeps the replaced rows with the block that has replaced them
    pub(super) fn keep(self, block: CryptoHash, overlay: &mut WriteOverlay<'_, '_>) {
        if !self.replaced.is_empty() {
            let row = ForkBlock { rows: self.replaced }.encode();
            overlay.put(Key::hash(Table::ForkBlocks, block), row);
        }
    }
}

/// Puts back the rows that a block has replaced, which it has left; returns them
///
/// Not those of a block that retention has removed since.
pub(super) fn restore(
    block: CryptoHash,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<Vec<(RowId, Row)>, Suspend> {
    let Some(row) = overlay.row(Key::hash(Table::ForkBlocks, block))? else {
        return Ok(Vec::new());
    };
    let (mut restored, mut rows) = (Vec::new(), ForkBlock::decode(&row)?.rows.into_iter());
    while let Some(transaction) = rows.next() {
        let mut replaced = Vec::from([transaction]);
        if rows.as_slice().first().is_some_and(|(row_id, _)| row_id.table == Table::Outcomes) {
            replaced.extend(rows.next());
        }
        let height = TransactionRecord::decode(&replaced[0].1)?.height;
        let row_ids = replaced.iter().map(|(row_id, _)| *row_id);
        if change_block_at(height, overlay, |record| record.rows.extend(row_ids))? {
            for (row_id, row) in &replaced {
                overlay.put(row_id.key(), row.clone());
            }
            restored.append(&mut replaced);
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
        // What generated receipts was no refusal, whatever its status says.
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
