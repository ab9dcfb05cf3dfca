//! The transaction that each receipt comes from.
//!
//! An outcome names the receipts it generated; no receipt names the outcome that generated it. So
//! each receipt gets a row with its transaction when its parent is executed, and the outcome that
//! completes a transaction finds the transaction by that row. There is no row if the parent was not
//! seen, as at the start of a feed; such a transaction is never finalized, and its requests walk
//! the receipts for as long as it is stored.

use alloc::vec::Vec;

use hashbrown::HashMap;

use super::overlay::WriteOverlay;
use crate::primitives::{CryptoHash, HashBuilder};
use crate::storage::restartable::Suspend;
use crate::storage::rows::{BlockRecord, OutcomeRecord, ReceiptParent, RowId};
use crate::storage::{Key, Row, Table};

/// Appends the keys that a row needs before it can join the chain, besides its own
pub(super) fn add_keys(row_id: &RowId, row: &Row, keys: &mut Vec<Key>) {
    if row_id.table == Table::Outcomes {
        keys.push(ReceiptParent::key(row_id.id));
        // A row that cannot be decoded is an error where it is applied.
        if let Ok(outcome) = OutcomeRecord::decode(row) {
            keys.extend(outcome.receipts().map(ReceiptParent::key));
        }
    }
}

/// Writes the parents of the receipts that these outcomes of one block generated; `later` are those
/// of transactions that were executed before
///
/// A parent and its child may be executed in one block, in any order of its shards. Storages are
/// asked last whether an id is that of a transaction: most are those of receipts, and finding
/// nothing among the largest rows is what costs most in a file.
pub(super) fn record(
    outcomes: &[(CryptoHash, Row)],
    later: &[(RowId, Row)],
    block: &mut BlockRecord,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<(), Suspend> {
    let mut unresolved: HashMap<CryptoHash, &Row, HashBuilder> = HashMap::default();
    let later = later.iter().map(|(row_id, outcome)| (parent_row(row_id.id, true), outcome));
    let mut resolved: Vec<_> = later.collect();
    for (id, outcome) in outcomes {
        let transaction = Key::hash(Table::Transactions, *id);
        if overlay.is_planned(&transaction) {
            resolved.push((parent_row(*id, false), outcome));
        } else if let Some(parent) = overlay.row(ReceiptParent::key(*id))? {
            resolved.push((parent, outcome));
        } else {
            unresolved.insert(*id, outcome);
        }
    }
    record_children(resolved, &mut unresolved, block, overlay)?;
    // In the order of the outcomes, so that every host writes the same rows.
    let without_parent = || outcomes.iter().filter(|(id, _)| unresolved.contains_key(id));
    let transaction = |id: CryptoHash| Key::hash(Table::Transactions, id);
    overlay.prefetch(without_parent().map(|(id, _)| transaction(*id)))?;
    let mut resolved = Vec::new();
    for (id, outcome) in without_parent() {
        if overlay.row(transaction(*id))?.is_some() {
            resolved.push((parent_row(*id, false), outcome));
        }
    }
    record_children(resolved, &mut unresolved, block, overlay)
}

/// Writes the parent of each receipt that these outcomes generated, and that of its own receipts if
/// its outcome is among the unresolved ones
fn record_children<'row>(
    mut resolved: Vec<(Row, &'row Row)>,
    unresolved: &mut HashMap<CryptoHash, &'row Row, HashBuilder>,
    block: &mut BlockRecord,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<(), Suspend> {
    let mut of_later = Vec::new();
    while let Some((parent, outcome)) = resolved.pop() {
        let is_later = ReceiptParent::decode(&parent)?.is_later;
        for receipt in OutcomeRecord::decode(outcome)?.receipts() {
            let key = ReceiptParent::key(receipt);
            // No sound chain generates a receipt twice; if one does, the first parent stays, and
            // the second transaction may not be finalized.
            if overlay.row(key)?.is_some() {
                continue;
            }
            overlay.put(key, parent.clone());
            let rows = if is_later { &mut of_later } else { &mut block.rows };
            rows.push(RowId { table: Table::ReceiptParents, id: receipt });
            resolved.extend(unresolved.remove(&receipt).map(|outcome| (parent.clone(), outcome)));
        }
    }
    if !of_later.is_empty() {
        // They come first: see `BlockRecord::rows`.
        of_later.append(&mut block.rows);
        block.rows = of_later;
    }
    Ok(())
}

/// The row of the parent of what this transaction generated
fn parent_row(transaction: CryptoHash, is_later: bool) -> Row {
    ReceiptParent { transaction, is_later }.encode().into()
}
