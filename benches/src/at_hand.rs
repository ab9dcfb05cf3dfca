//! The engine's short way after a request was read, put together from its parts.
//!
//! `Engine::respond` reads the request and copies what is at hand in one call; to time the second by itself,
//! the rows that it looks up and what it copies are named here once more. Whoever times this compares
//! its bytes with the engine's first.

use milepost::config::{BlockReference, Finality};
use milepost::facts::record::{ChainRecord, ConfigIndex, ConfigRecord, SettledRecord};
use milepost::facts::{Key, Row, Rows, Table};
use milepost::rpc::{Call, Lookup, Operation, write_result};

/// Bytes of an answer beside its result and its id, rounded up
const ENVELOPE: usize = 64;

/// Appends the answer to a call, if it stands in one row: about a settled transaction with its receipts, or
/// the configuration in force at the final block
///
/// # Panics
///
/// When there is no such row, or it is broken.
pub fn at_hand(call: &Call, rows: &(impl Rows + ?Sized), out: &mut Vec<u8>) -> bool {
    let row = |key| -> Row { rows.get(&key).expect("the storage answers").expect("a row") };
    match &call.operation {
        Operation::TransactionStatus(request) => {
            let hash = match &request.lookup {
                Lookup::Hash { hash, .. } => *hash,
                Lookup::Signed(signed) => signed.hash(),
            };
            let row = row(Key::hash(Table::Transactions, hash));
            let settled = SettledRecord::decode(&row).expect("a row of the engine");
            settled.is_some_and(|settled| copy(call, settled.result, out))
        }
        Operation::ProtocolConfig(BlockReference::Finality(Finality::Final)) => {
            let chain = row(ChainRecord::key());
            let chain = ChainRecord::decode_front(&chain).expect("a row of the engine");
            let block = chain.last_final.expect("a final block");
            let index = row(ConfigIndex::key());
            let first = ConfigIndex::in_force_by(&index, block.height).expect("an index");
            let row = row(ConfigRecord::key(first.expect("a configuration")));
            copy(call, ConfigRecord::decode(&row).expect("a configuration").fragment, out)
        }
        other => panic!("{other:?} is not timed"),
    }
}

fn copy(call: &Call, result: &[u8], out: &mut Vec<u8>) -> bool {
    out.reserve(result.len() + call.id.as_json().len() + ENVELOPE);
    write_result(&call.id, |out| out.extend_from_slice(result), out);
    true
}
