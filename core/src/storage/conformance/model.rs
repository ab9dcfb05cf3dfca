//! Applies many batches to a storage and to a plain map, and compares them.
//!
//! There are few keys, so that rows are often replaced, removed and read again. The rows have
//! lengths at which storages change their representation.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::probe::{MAX_LEN_IN_TABLE, Probe, SplitMix64, StorageCalls, key};
use super::{Requirement, Violation};
use crate::storage::{Batch, Key, Table};

/// The expected rows by key
type Model = BTreeMap<Key, Vec<u8>>;

/// Maximum number of distinct keys
const MAX_KEYS: usize = 600;

/// Compares a storage with a map over 200 batches
pub(super) async fn check(probe: &Probe<'_>) -> Result<(), Violation> {
    let mut rng = SplitMix64(0x6d69_6c65);
    let keys = some_keys(&mut rng);
    let mut model = Model::new();
    for _ in 0..200 {
        probe.commit(random_batch(&mut rng, &keys, &mut model)).await?;
        let key = keys[rng.below(keys.len())];
        probe.expect(key, model.get(&key).map(Vec::as_slice)).await?;
        let requested: Vec<Key> = (0..rng.below(70)).map(|_| keys[rng.below(keys.len())]).collect();
        probe.expect_many(&requested, |key| model.get(key).map(Vec::as_slice)).await?;
    }
    check_all(probe, &keys, &model).await
}

/// Compares a storage with a map each time it is opened, which making it does
pub(super) async fn check_durable(calls: &StorageCalls) -> Result<(), Violation> {
    let mut rng = SplitMix64(0x706f_7374);
    let keys = some_keys(&mut rng);
    let mut model = Model::new();
    // The last opening only reads; one in between does nothing.
    for opening in 0..6 {
        let probe = Probe::of_new_storage(calls, Requirement::Durability).await?;
        if opening == 3 {
            continue;
        }
        check_all(&probe, &keys, &model).await?;
        if opening < 5 {
            for _ in 0..10 {
                probe.commit(random_batch(&mut rng, &keys, &mut model)).await?;
            }
        }
    }
    Ok(())
}

async fn check_all(probe: &Probe<'_>, keys: &[Key], model: &Model) -> Result<(), Violation> {
    for key in keys.iter().step_by(6) {
        probe.expect(*key, model.get(key).map(Vec::as_slice)).await?;
    }
    probe.expect_many(keys, |key| model.get(key).map(Vec::as_slice)).await
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
