//! Rows of a damaged storage: an error or a value, never a panic.
//!
//! The first bytes choose which row of the chain is replaced by the rest: either a whole row, or a
//! row with the rest written over a part of it.

use milepost::import::ImportSettings;
use milepost::storage::{Batch, Snapshot, Storage};

use super::world::WORLD;

/// One row of the chain with other bytes
pub fn rows(data: &[u8]) {
    let Some((&[high, low, mode, at], bytes)) = data.split_first_chunk::<4>() else { return };
    let key = WORLD.keys[usize::from(u16::from_be_bytes([high, low])) % WORLD.keys.len()];
    let row = WORLD.storage.get(&key).ok().flatten().expect("a row of the chain");
    let mut row = row.to_vec();
    if mode % 2 == 0 {
        // The version byte stays: a row of another version is not decoded.
        row.truncate(1);
        row.extend_from_slice(bytes);
    } else {
        let start = 1 + usize::from(at) % row.len();
        for (old, new) in row.iter_mut().skip(start).zip(bytes) {
            *old = *new;
        }
    }
    let mut storage = WORLD.storage.clone();
    let mut batch = Batch::new();
    batch.put(key, row);
    storage.commit(batch).expect("memory is not full");

    for body in WORLD.requests() {
        // Not checked as JSON: fragments are copied from rows without being parsed.
        let request = WORLD.engine.parse(body.as_bytes(), None);
        let _state = WORLD.engine.respond(request, &storage);
    }
    let _status = WORLD.engine.chain_status(&storage);
    let body = br#"{"id":1,"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;
    let _config = WORLD.engine.respond(WORLD.engine.parse(body, None), &storage);
    let _import = WORLD.engine.import_block(&WORLD.next, &ImportSettings::default(), &mut storage);
}
