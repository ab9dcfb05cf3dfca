//! A long run of batches over a storage and over a plain map, which must agree.
//!
//! The keys are few, so that rows are replaced, removed and asked for again and again; the rows
//! are of lengths at which storages change how they keep them.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use super::probe::{Numbers, Probe, key};
use super::{Duty, Violation};
use crate::Error;
use crate::facts::{Batch, Key, Storage, Table};

/// Rows by key, as they should be
type Model = BTreeMap<Key, Vec<u8>>;

/// The most distinct keys of a run
const KEYS: usize = 600;

/// A storage agrees with a map over 200 batches
pub(super) fn agrees<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let mut numbers = Numbers(0x6d69_6c65);
    let keys = some_keys(&mut numbers);
    let mut model = Model::new();
    for _ in 0..200 {
        probe.commit(batch(&mut numbers, &keys, &mut model))?;
        for _ in 0..20 {
            let key = keys[numbers.below(keys.len())];
            probe.expect(key, model.get(&key).map(Vec::as_slice))?;
        }
        let asked: Vec<Key> =
            (0..numbers.below(50)).map(|_| keys[numbers.below(keys.len())]).collect();
        probe.expect_many(0, &asked, |key| model.get(key).map(Vec::as_slice))?;
    }
    all_agree(probe, &keys, &model)
}

/// A storage agrees with a map each time it was opened again
pub(super) fn survives<S: Storage>(
    open: &mut impl FnMut() -> Result<S, Error>,
) -> Result<(), Violation> {
    let mut numbers = Numbers(0x706f_7374);
    let keys = some_keys(&mut numbers);
    let mut model = Model::new();
    // The last generation only reads; one in between does nothing at all.
    for generation in 0..6 {
        let mut storage = open().map_err(|error| Violation {
            duty: Duty::Durable,
            key: None,
            detail: format!("opening for the {}. time was refused: {error}", generation + 1),
        })?;
        if generation == 3 {
            continue;
        }
        let mut probe = Probe::new(&mut storage, Duty::Durable);
        all_agree(&probe, &keys, &model)?;
        if generation < 5 {
            for _ in 0..10 {
                probe.commit(batch(&mut numbers, &keys, &mut model))?;
            }
        }
    }
    Ok(())
}

fn all_agree<S: Storage>(
    probe: &Probe<'_, S>,
    keys: &[Key],
    model: &Model,
) -> Result<(), Violation> {
    for key in keys {
        probe.expect(*key, model.get(key).map(Vec::as_slice))?;
    }
    probe.expect_many(0, keys, |key| model.get(key).map(Vec::as_slice))
}

/// Keys of all tables and lengths, some of which begin with others
fn some_keys(numbers: &mut Numbers) -> Vec<Key> {
    (0..KEYS)
        .map(|_| {
            let table = Table::ALL[numbers.below(Table::ALL.len())];
            let length = 1 + numbers.below(Key::LONGEST);
            let mut bytes = numbers.row(length);
            // Two first bytes only, so that many keys share a beginning.
            if let Some(first) = bytes.first_mut() {
                *first &= 1;
            }
            key(table, &bytes)
        })
        .collect()
}

/// A batch of up to 40 changes, made to the map as well
fn batch(numbers: &mut Numbers, keys: &[Key], model: &mut Model) -> Batch {
    let mut batch = Batch::new();
    for _ in 0..numbers.below(40) {
        let key = keys[numbers.below(keys.len())];
        if numbers.below(3) == 0 {
            batch.remove(key);
            model.remove(&key);
            continue;
        }
        // Mostly small; now and then empty, over a page of 4 KiB, over 64 KiB.
        let length = match numbers.below(40) {
            0 => 0,
            1 => 3000 + numbers.below(3000),
            2 => 65_000 + numbers.below(2000),
            _ => numbers.below(300),
        };
        let row = numbers.row(length);
        batch.put(key, row.as_slice());
        model.insert(key, row);
    }
    batch
}
