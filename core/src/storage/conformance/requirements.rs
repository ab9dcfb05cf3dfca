//! The tests of the requirements, each on a new, empty storage.
//!
//! A test writes no more than its requirement needs, so that a storage with one defect fails at the
//! requirement of that name.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::probe::{MAX_LEN_IN_TABLE, Probe, Reader, SplitMix64, compare, key};
use super::{Requirement, Violation};
use crate::Error;
use crate::storage::{Batch, Key, Snapshot, Storage, Table};

type Test<S> = fn(&mut Probe<'_, S>) -> Result<(), Violation>;

/// The requirements and their tests, in the order of [`Requirement::ALL`]
pub(super) fn in_order<S: Storage>() -> [(Requirement, Test<S>); 18] {
    [
        (Requirement::MissingRow, missing_row),
        (Requirement::Put, put),
        (Requirement::Replace, replace),
        (Requirement::Remove, remove),
        (Requirement::RemoveMissing, remove_missing),
        (Requirement::DistinctTables, distinct_tables),
        (Requirement::DistinctKeys, distinct_keys),
        (Requirement::EmptyRow, empty_row),
        (Requirement::ArbitraryBytes, arbitrary_bytes),
        (Requirement::LargeRow, large_row),
        (Requirement::GetManyOrder, get_many_order),
        (Requirement::GetManyAppends, get_many_appends),
        (Requirement::GetManyWithoutKeys, get_many_without_keys),
        (Requirement::GetManyThousands, get_many_thousands),
        (Requirement::LastChangeWins, last_change_wins),
        (Requirement::EmptyBatch, empty_batch),
        (Requirement::LargeBatch, large_batch),
        (Requirement::ImmutableRows, immutable_rows),
    ]
}

fn missing_row<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    Table::ALL.into_iter().try_for_each(|table| {
        probe.expect(key(table, &[0]), None)?;
        probe.expect(Key::number(table, u64::MAX), None)?;
        probe.expect(key(table, &[0xff; MAX_LEN_IN_TABLE]), None)
    })
}

fn put<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let rows: Vec<(Key, &[u8])> = Table::ALL
        .into_iter()
        .map(|table| (key(table, &[table.number(), 1]), &b"put"[..]))
        .collect();
    probe.put(&rows)?;
    rows.iter().try_for_each(|(key, row)| probe.expect(*key, Some(row)))
}

fn replace<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let key = Key::number(Table::Heights, 7);
    // Longer, shorter and of equal length, in case a storage overwrites rows in place.
    for row in ["first", "a longer second", "3rd", "4th"] {
        probe.put(&[(key, row.as_bytes())])?;
        probe.expect(key, Some(row.as_bytes()))?;
    }
    Ok(())
}

fn remove<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let [removed, kept] = [1, 2].map(|number| Key::number(Table::Ordinals, number));
    probe.put(&[(removed, b"removed"), (kept, b"kept")])?;
    probe.remove(&[removed])?;
    probe.expect(removed, None)?;
    probe.expect(kept, Some(b"kept"))?;
    probe.put(&[(removed, b"again")])?;
    probe.expect(removed, Some(b"again"))
}

fn remove_missing<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let [missing, kept] = [1, 2].map(|number| Key::number(Table::ForkBlocks, number));
    probe.remove(&[missing])?;
    probe.put(&[(kept, b"kept")])?;
    probe.remove(&[missing])?;
    probe.expect(missing, None)?;
    probe.expect(kept, Some(b"kept"))
}

fn distinct_tables<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let bytes = [7; MAX_LEN_IN_TABLE];
    for table in Table::ALL {
        probe.put(&[(key(table, &bytes), table.name().as_bytes())])?;
    }
    for table in Table::ALL {
        probe.expect(key(table, &bytes), Some(table.name().as_bytes()))?;
    }
    probe.remove(&[key(Table::Receipts, &bytes)])?;
    for table in Table::ALL {
        let expected = (table != Table::Receipts).then_some(table.name().as_bytes());
        probe.expect(key(table, &bytes), expected)?;
    }
    Ok(())
}

fn distinct_keys<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let table = Table::Outcomes;
    let mut keys = Vec::new();
    // Every length, each key a prefix of the next, of bytes that are used as padding and
    // terminators, and of letters that some storages fold.
    for byte in [0x00, 0x01, b'A', b'a', 0x7f, 0x80, 0xff] {
        keys.extend((1..=MAX_LEN_IN_TABLE).map(|length| key(table, &vec![byte; length])));
    }
    // Every byte value, first and last.
    for byte in 0..=u8::MAX {
        keys.extend([key(table, &[byte, 2]), key(table, &[2, 3, byte])]);
    }
    // Plain rows, so that only the keys are unusual.
    let rows: Vec<String> = (0..keys.len()).map(|number| format!("{number:04}")).collect();
    let put: Vec<(Key, &[u8])> =
        keys.iter().copied().zip(rows.iter().map(String::as_bytes)).collect();
    probe.put(&put)?;
    put.iter().try_for_each(|(key, row)| probe.expect(*key, Some(row)))?;

    let removed: Vec<Key> = keys.iter().copied().step_by(2).collect();
    probe.remove(&removed)?;
    for (position, (key, row)) in put.iter().enumerate() {
        probe.expect(*key, (position % 2 == 1).then_some(*row))?;
    }
    Ok(())
}

fn empty_row<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let key = Key::number(Table::Chain, 0);
    probe.put(&[(key, b"")])?;
    probe.expect(key, Some(b""))?;
    probe.expect_many(0, &[key], |_| Some(b""))?;
    probe.remove(&[key])?;
    probe.expect(key, None)
}

fn arbitrary_bytes<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let all_values: Vec<u8> = (0..=u8::MAX).chain((0..=u8::MAX).rev()).collect();
    let rows: [&[u8]; 5] = [&all_values, &[0], &[0; 300], &[0xff; 300], b"\r\n\0 trailing \n "];
    let put: Vec<(Key, &[u8])> =
        (0..).map(|number| Key::number(Table::Configs, number)).zip(rows).collect();
    probe.put(&put)?;
    put.iter().try_for_each(|(key, row)| probe.expect(*key, Some(row)))
}

fn large_row<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let mut rng = SplitMix64(1);
    // Around 64 KiB, where a length no longer fits two bytes; 4 MiB is the limit of transaction
    // arguments.
    let rows = [0xffff, 0x1_0000, 0x1_0001, (4 << 20) + 1].map(|length| rng.row(length));
    let put: Vec<(Key, &[u8])> = (0..)
        .map(|number| Key::number(Table::Transactions, number))
        .zip(rows.iter().map(|row| &row[..]))
        .collect();
    probe.put(&put)?;
    put.iter().try_for_each(|(key, row)| probe.expect(*key, Some(row)))?;

    let Some((key, _)) = put.last() else { return Ok(()) };
    probe.put(&[(*key, b"small again")])?;
    probe.expect(*key, Some(b"small again"))
}

/// Rows at the numbers below 100 that are not multiples of 3, in two alternating tables, and the
/// keys of the other numbers
fn some_rows() -> (Vec<(Key, [u8; 8])>, Vec<Key>) {
    let tables = [Table::Outcomes, Table::Receipts];
    let keys = (0..100).map(|number: u64| Key::number(tables[number as usize % 2], number));
    let (present, missing): (Vec<_>, Vec<_>) =
        keys.zip(0..100_u64).partition(|(_, number)| number % 3 != 0);
    (
        present.into_iter().map(|(key, number)| (key, number.to_le_bytes())).collect(),
        missing.into_iter().map(|(key, _)| key).collect(),
    )
}

fn get_many_order<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    get_many(probe, 0)
}

fn get_many_appends<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    get_many(probe, 3)
}

/// Keys in descending order, in alternating tables, some of them missing, each requested twice
fn get_many<S: Storage>(probe: &mut Probe<'_, S>, before: usize) -> Result<(), Violation> {
    let (rows, missing) = some_rows();
    let put: Vec<(Key, &[u8])> = rows.iter().map(|(key, row)| (*key, &row[..])).collect();
    probe.put(&put)?;
    let mut keys: Vec<Key> = rows.iter().map(|(key, _)| *key).chain(missing).collect();
    keys.sort_by(|left, right| right.bytes_in_table().cmp(left.bytes_in_table()));
    keys.extend_from_within(..);
    probe.expect_many(before, &keys, |key| {
        put.iter().find(|(other, _)| other == key).map(|(_, row)| *row)
    })
}

fn get_many_without_keys<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    probe.expect_many(0, &[], |_| None)?;
    probe.put(&[(Key::number(Table::Blocks, 1), b"there")])?;
    probe.expect_many(2, &[], |_| None)
}

fn get_many_thousands<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let (rows, _) = some_rows();
    let put: Vec<(Key, &[u8])> = rows.iter().map(|(key, row)| (*key, &row[..])).collect();
    probe.put(&put)?;
    // 8191 is prime, so the 10,000 keys are distinct; most are missing.
    let keys: Vec<Key> = (0..10_000_u64)
        .map(|number| Key::number(Table::Outcomes, number * 8191 % 10_000))
        .collect();
    probe.expect_many(0, &keys, |key| {
        put.iter().find(|(other, _)| other == key).map(|(_, row)| *row)
    })
}

fn last_change_wins<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let keys = [1, 2, 3, 4].map(|number| Key::number(Table::Heights, number));
    let [put_removed, removed_put, put_twice, neither] = keys;
    for round in 0..2 {
        let mut batch = Batch::new();
        batch.put(put_removed, &b"gone"[..]);
        batch.remove(removed_put);
        batch.put(put_twice, &b"first"[..]);
        batch.put(neither, &b"first"[..]);
        batch.remove(put_removed);
        batch.put(removed_put, &b"there"[..]);
        batch.put(put_twice, &b"second"[..]);
        batch.remove(neither);
        batch.put(neither, [round].as_slice());
        probe.commit(batch)?;
        probe.expect(put_removed, None)?;
        probe.expect(removed_put, Some(b"there"))?;
        probe.expect(put_twice, Some(b"second"))?;
        probe.expect(neither, Some(&[round]))?;
        // The second round has the rows of the first, and one more that must be removed.
        probe.put(&[(put_removed, b"there before")])?;
    }
    Ok(())
}

fn empty_batch<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let key = Key::number(Table::Chain, 1);
    probe.commit(Batch::new())?;
    probe.expect(key, None)?;
    probe.put(&[(key, b"there")])?;
    probe.commit(Batch::new())?;
    probe.expect(key, Some(b"there"))
}

fn large_batch<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    const CHANGES: u64 = 10_000;
    let key = |number: u64| {
        let table = Table::ALL[number as usize % Table::ALL.len()];
        Key::number(table, number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    let mut batch = Batch::new();
    (0..CHANGES).for_each(|number| batch.put(key(number), number.to_be_bytes().as_slice()));
    probe.commit(batch)?;
    for number in 0..CHANGES {
        probe.expect(key(number), Some(&number.to_be_bytes()))?;
    }

    let mut batch = Batch::new();
    for number in 0..CHANGES {
        match number % 2 {
            0 => batch.remove(key(number)),
            _ => batch.put(key(number), &b"odd"[..]),
        }
    }
    probe.commit(batch)?;
    for number in 0..CHANGES {
        probe.expect(key(number), (number % 2 == 1).then_some(b"odd"))?;
    }
    Ok(())
}

fn immutable_rows<S: Storage>(probe: &mut Probe<'_, S>) -> Result<(), Violation> {
    let keys = [1, 2].map(|number| Key::number(Table::Blocks, number));
    let before = [5_u8, 6].map(|byte| vec![byte; 5000]);
    probe.put(&[(keys[0], &before[0]), (keys[1], &before[1])])?;
    let [first, second] =
        [probe.read(keys[0], Some(&before[0]))?, probe.read(keys[1], Some(&before[1]))?];

    probe.put(&[(keys[0], &[9; 5000])])?;
    probe.remove(&[keys[1]])?;
    // A storage that returns its own memory would reuse it for these.
    for number in 3..20 {
        probe.put(&[(Key::number(Table::Blocks, number), &[8; 5000])])?;
    }
    let requirement = Requirement::ImmutableRows;
    compare(requirement, keys[0], Some(&before[0]), first.as_deref())?;
    compare(requirement, keys[1], Some(&before[1]), second.as_deref())
}

/// Takes snapshots between commits and checks that each reads its own state
pub(super) fn snapshot_isolation<S: Storage, R: Snapshot>(
    storage: &mut S,
    snapshot: &mut impl FnMut(&S) -> Result<R, Error>,
) -> Result<(), Violation> {
    const COMMITS: u8 = 5;
    let keys: Vec<Key> = (0..20).map(|number| Key::number(Table::Outcomes, number)).collect();
    let removed = Key::number(Table::Heights, 0);
    let mut snapshots = Vec::new();
    for state in 0..=COMMITS {
        if state > 0 {
            let mut probe = Probe::new(storage, Requirement::SnapshotIsolation);
            let row = [state; 600];
            let mut rows: Vec<(Key, &[u8])> = keys.iter().map(|key| (*key, &row[..])).collect();
            rows.push((removed, &row));
            probe.put(&rows)?;
            if state % 2 == 0 {
                probe.remove(&[removed])?;
            }
        }
        snapshots.push((state, Reader::new(snapshot(storage), Requirement::SnapshotIsolation)?));
        for (state, reader) in &snapshots {
            let row = [*state; 600];
            let expected = (*state > 0).then_some(&row[..]);
            keys.iter().try_for_each(|key| reader.expect(*key, expected))?;
            reader.expect_many(0, &keys, |_| expected)?;
            reader.expect(removed, (*state % 2 == 1).then_some(&row[..]))?;
        }
    }
    Ok(())
}
