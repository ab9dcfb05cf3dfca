//! Applies many batches to a storage and to a plain map, and compares them.
//!
//! There are few keys, so that rows are often replaced, removed and read again. The rows have
//! lengths at which storages change their representation.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use super::probe::{MAX_LEN_IN_TABLE, Probe, SplitMix64, key};
use super::{Requirement, Violation};
use crate::Error;
use crate::storage::{Batch, Key, Storage, Table};

/// The expected rows by key
type Model = BTreeMap<Key, Vec<u8>>;

/// Maximum number of distinct keys
const MAX_KEYS: usize = 600;

/// Compares a storage with a map over 200 batches
pub(super) fn check<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let mut rng = SplitMix64(0x6d69_6c65);
    let keys = some_keys(&mut rng);
    let mut model = Model::new();
    for _ in 0..200 {
        probe.commit(random_batch(&mut rng, &keys, &mut model))?;
        for _ in 0..20 {
            let key = keys[rng.below(keys.len())];
            probe.expect(key, model.get(&key).map(Vec::as_slice))?;
        }
        let requested: Vec<Key> = (0..rng.below(50)).map(|_| keys[rng.below(keys.len())]).collect();
        probe.expect_many(0, &requested, |key| model.get(key).map(Vec::as_slice))?;
    }
    check_all(probe, &keys, &model)
}

/// Compares a storage with a map each time it is opened
pub(super) fn check_durable<S: Storage>(
    open: &mut impl FnMut() -> Result<S, Error>,
) -> Result<(), Violation> {
    let mut rng = SplitMix64(0x706f_7374);
    let keys = some_keys(&mut rng);
    let mut model = Model::new();
    // The last opening only reads; one in between does nothing.
    for opening in 0..6 {
        let mut storage = open().map_err(|error| Violation {
            requirement: Requirement::Durability,
            key: None,
            detail: format!("opening number {} failed: {error}", opening + 1),
        })?;
        if opening == 3 {
            continue;
        }
        let mut probe = Probe::new(&mut storage, Requirement::Durability);
        check_all(&probe, &keys, &model)?;
        if opening < 5 {
            for _ in 0..10 {
                probe.commit(random_batch(&mut rng, &keys, &mut model))?;
            }
        }
    }
    Ok(())
}

fn check_all<S: Storage>(
    probe: &Probe<'_, S>,
    keys: &[Key],
    model: &Model,
) -> Result<(), Violation> {
    for key in keys {
        probe.expect(*key, model.get(key).map(Vec::as_slice))?;
    }
    probe.expect_many(0, keys, |key| model.get(key).map(Vec::as_slice))
}

/// Keys of all tables and lengths, some of them prefixes of others
fn some_keys(rng: &mut SplitMix64) -> Vec<Key> {
    (0..MAX_KEYS)
        .map(|_| {
            let table = Table::ALL[rng.below(Table::ALL.len())];
            let length = 1 + rng.below(MAX_LEN_IN_TABLE);
            let mut bytes = rng.row(length);
            // Only two values of the first byte, so that many keys share a prefix.
            if let Some(first) = bytes.first_mut() {
                *first &= 1;
            }
            key(table, &bytes)
        })
        .collect()
}

/// Returns a batch of up to 40 changes, which are applied to the map
fn random_batch(rng: &mut SplitMix64, keys: &[Key], model: &mut Model) -> Batch {
    let mut batch = Batch::new();
    for _ in 0..rng.below(40) {
        let key = keys[rng.below(keys.len())];
        if rng.below(3) == 0 {
            batch.remove(key);
            model.remove(&key);
            continue;
        }
        // Mostly small; sometimes empty, around a page of 4 KiB, over 64 KiB.
        let length = match rng.below(40) {
            0 => 0,
            1 => 3000 + rng.below(3000),
            2 => 65_000 + rng.below(2000),
            _ => rng.below(300),
        };
        let row = rng.row(length);
        batch.put(key, row.as_slice());
        model.insert(key, row);
    }
    batch
}
