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
        keys.push(Key::hash(Table::Transactions, row_id.id));
        // A row that cannot be decoded is an error where it is applied.
        if let Ok(outcome) = OutcomeRecord::decode(row) {
            keys.extend(outcome.receipts().map(ReceiptParent::key));
        }
    }
}

/// Writes the parents of the receipts that these outcomes of one block generated
///
/// A parent and its child may be executed in one block, in any order of its shards.
pub(super) fn record(
    outcomes: &[(CryptoHash, Row)],
    block: &mut BlockRecord,
    overlay: &mut WriteOverlay<'_, '_>,
) -> Result<(), Suspend> {
    let mut unresolved: HashMap<CryptoHash, &Row, HashBuilder> = HashMap::default();
    let mut resolved = Vec::new();
    for (id, outcome) in outcomes {
        match parent_row(*id, overlay)? {
            Some(parent) => resolved.push((parent, outcome)),
            None => {
                unresolved.insert(*id, outcome);
            }
        }
    }
    while let Some((parent, outcome)) = resolved.pop() {
        for receipt in OutcomeRecord::decode(outcome)?.receipts() {
            let key = ReceiptParent::key(receipt);
            // No sound chain generates a receipt twice; if one does, the first parent stays, and
            // the second transaction may not be finalized.
            if overlay.row(key)?.is_some() {
                continue;
            }
            overlay.put(key, parent.clone());
            block.rows.push(RowId { table: Table::ReceiptParents, id: receipt });
            resolved.extend(unresolved.remove(&receipt).map(|outcome| (parent.clone(), outcome)));
        }
    }
    Ok(())
}

/// Returns the row of the parent of what an outcome generated, which all of its receipts share: the
/// transaction whose outcome it is, or the transaction that the outcome's receipt comes from
fn parent_row(id: CryptoHash, overlay: &mut WriteOverlay<'_, '_>) -> Result<Option<Row>, Suspend> {
    if overlay.row(Key::hash(Table::Transactions, id))?.is_some() {
        return Ok(Some(ReceiptParent { transaction: id }.encode().into()));
    }
    let row = overlay.row(ReceiptParent::key(id))?;
    row.as_deref().map(ReceiptParent::decode).transpose()?;
    Ok(row)
}
