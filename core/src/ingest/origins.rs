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

/// Lists the keys of the rows that a fact needs before it can join the chain, besides its own
pub(super) fn add_keys(fact: &FactKey, row: &Row, keys: &mut Vec<Key>) {
    if fact.table == Table::Outcomes {
        keys.push(OriginRecord::key(fact.id));
        keys.push(Key::hash(Table::Transactions, fact.id));
        // A row that cannot be read is refused where it is used.
        if let Ok(outcome) = OutcomeRecord::decode(row) {
            keys.extend(outcome.receipts().map(OriginRecord::key));
        }
    }
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
            Some(origin) => found.push((origin, row)),
            None => {
                waiting.insert(*id, row);
            }
        }
    }
    while let Some((origin, row)) = found.pop() {
        for receipt in OutcomeRecord::decode(row)?.receipts() {
            let key = OriginRecord::key(receipt);
            // No sound chain has a receipt twice; the second transaction may then not be settled.
            if overlay.row(key)?.is_some() {
                continue;
            }
            overlay.put(key, origin.clone());
            record.facts.push(FactKey { table: Table::Origins, id: receipt });
            found.extend(waiting.remove(&receipt).map(|row| (origin.clone(), row)));
        }
    }
    Ok(())
}

/// The origin of what an outcome generated, as a row that all of it shares: the outcome's own, or the
/// transaction whose outcome it is
fn origin(id: CryptoHash, overlay: &mut Overlay<'_, '_>) -> Result<Option<Row>, Stop> {
    if overlay.row(Key::hash(Table::Transactions, id))?.is_some() {
        return Ok(Some(OriginRecord { transaction: id }.encode().into()));
    }
    let row = overlay.row(OriginRecord::key(id))?;
    row.as_deref().map(OriginRecord::decode).transpose()?;
    Ok(row)
}
