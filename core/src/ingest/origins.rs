//! From which transaction an outcome stems.
//!
//! An outcome names the receipts that it generated, and no receipt names what generated it. So each
//! receipt gets a row with its transaction when its parent is executed: that is how the outcome that
//! settles a transaction finds it. Where a parent was not seen, as at the start of a feed, there is no
//! origin; such a transaction is answered by walking for as long as it is kept.

use alloc::vec::Vec;

use hashbrown::HashMap;

use super::overlay::Overlay;
use crate::facts::record::{BlockRecord, FactKey, OriginRecord, OutcomeRecord};
use crate::facts::replay::Stop;
use crate::facts::{Key, Row, Table};
use crate::primitives::{CryptoHash, HashBuilder};

/// The keys of the rows that a fact needs before it can join the chain
pub(super) fn keys(fact: &FactKey, row: &Row) -> Vec<Key> {
    let mut keys = [fact.key()].to_vec();
    if fact.table == Table::Outcomes {
        keys.push(OriginRecord::key(fact.id));
        keys.push(Key::hash(Table::Transactions, fact.id));
        // A row that cannot be read is refused where it is used.
        if let Ok(outcome) = OutcomeRecord::decode(row) {
            keys.extend(outcome.receipts().map(OriginRecord::key));
        }
    }
    keys
}

/// Gives the receipts that these outcomes generated their origins
///
/// Parents and children may be executed in one block, in any order of its shards.
pub(super) fn trace(
    outcomes: &[(CryptoHash, Row)],
    record: &mut BlockRecord,
    overlay: &mut Overlay<'_, '_>,
) -> Result<(), Stop> {
    let mut waiting: HashMap<CryptoHash, &Row, HashBuilder> = HashMap::default();
    let mut found = Vec::new();
    for (id, row) in outcomes {
        match origin(*id, overlay)? {
            Some(transaction) => found.push((transaction, row)),
            None => {
                waiting.insert(*id, row);
            }
        }
    }
    while let Some((transaction, row)) = found.pop() {
        for receipt in OutcomeRecord::decode(row)?.receipts() {
            let key = OriginRecord::key(receipt);
            // No sound chain has a receipt twice; the second transaction may then not be settled.
            if overlay.row(key)?.is_some() {
                continue;
            }
            overlay.put(key, OriginRecord { transaction }.encode());
            record.facts.push(FactKey { table: Table::Origins, id: receipt });
            found.extend(waiting.remove(&receipt).map(|row| (transaction, row)));
        }
    }
    Ok(())
}

/// The transaction of an outcome; its own if it is a transaction's
fn origin(id: CryptoHash, overlay: &mut Overlay<'_, '_>) -> Result<Option<CryptoHash>, Stop> {
    if overlay.row(Key::hash(Table::Transactions, id))?.is_some() {
        return Ok(Some(id));
    }
    let row = overlay.row(OriginRecord::key(id))?;
    Ok(row.map(|row| OriginRecord::decode(&row)).transpose()?.map(|origin| origin.transaction))
}
