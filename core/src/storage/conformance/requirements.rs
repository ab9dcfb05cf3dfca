//! The tests of the requirements, each on a new, empty storage.
//!
//! A test writes no more than its requirement needs, so that a storage with one defect fails at the
//! requirement of that name.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::probe::{MAX_LEN_IN_TABLE, Probe, SplitMix64, compare, key};
use super::{Requirement, Violation, model};
use crate::storage::{Batch, Key, Table};

/// Tests a requirement on every storage
pub(super) async fn test(probe: &Probe<'_>, requirement: Requirement) -> Result<(), Violation> {
    match requirement {
        Requirement::MissingRow => missing_row(probe).await,
        Requirement::Put => put(probe).await,
        Requirement::Replace => replace(probe).await,
        Requirement::Remove => remove(probe).await,
        Requirement::RemoveMissing => remove_missing(probe).await,
        Requirement::DistinctTables => distinct_tables(probe).await,
        Requirement::DistinctKeys => distinct_keys(probe).await,
        Requirement::EmptyRow => empty_row(probe).await,
        Requirement::ArbitraryBytes => arbitrary_bytes(probe).await,
        Requirement::LargeRow => large_row(probe).await,
        Requirement::GetManyOrder => get_many(probe, 0).await,
        Requirement::GetManyAppends => get_many(probe, 3).await,
        Requirement::GetManyWithoutKeys => get_many_without_keys(probe).await,
        Requirement::GetManyThousands => get_many_thousands(probe).await,
        Requirement::LastChangeWins => last_change_wins(probe).await,
        Requirement::EmptyBatch => empty_batch(probe).await,
        Requirement::LargeBatch => large_batch(probe).await,
        Requirement::ImmutableRows => immutable_rows(probe).await,
        Requirement::Model => model::check(probe).await,
        Requirement::SnapshotIsolation => snapshot_isolation(probe).await,
        Requirement::ReadCommitted | Requirement::Threads | Requirement::Durability => Ok(()),
    }
}

async fn missing_row(probe: &Probe<'_>) -> Result<(), Violation> {
    for table in Table::ALL {
        probe.expect(key(table, &[0]), None).await?;
        probe.expect(Key::number(table, u64::MAX), None).await?;
        probe.expect(key(table, &[0xff; MAX_LEN_IN_TABLE]), None).await?;
    }
    Ok(())
}

async fn put(probe: &Probe<'_>) -> Result<(), Violation> {
    let rows: Vec<(Key, &[u8])> = Table::ALL
        .into_iter()
        .map(|table| (key(table, &[table.number(), 1]), &b"put"[..]))
        .collect();
    probe.put(&rows).await?;
    for (key, row) in rows {
        probe.expect(key, Some(row)).await?;
    }
    Ok(())
}

async fn replace(probe: &Probe<'_>) -> Result<(), Violation> {
    let key = Key::number(Table::Heights, 7);
    // Longer, shorter and of equal length, in case a storage overwrites rows in place.
    for row in ["first", "a longer second", "3rd", "4th"] {
        probe.put(&[(key, row.as_bytes())]).await?;
        probe.expect(key, Some(row.as_bytes())).await?;
    }
    Ok(())
}

async fn remove(probe: &Probe<'_>) -> Result<(), Violation> {
    let [removed, kept] = [1, 2].map(|number| Key::number(Table::Ordinals, number));
    probe.put(&[(removed, b"removed"), (kept, b"kept")]).await?;
    probe.remove(&[removed]).await?;
    probe.expect(removed, None).await?;
    probe.expect(kept, Some(b"kept")).await?;
    probe.put(&[(removed, b"again")]).await?;
    probe.expect(removed, Some(b"again")).await
}

async fn remove_missing(probe: &Probe<'_>) -> Result<(), Violation> {
    let [missing, kept] = [1, 2].map(|number| Key::number(Table::ForkBlocks, number));
    probe.remove(&[missing]).await?;
    probe.put(&[(kept, b"kept")]).await?;
    probe.remove(&[missing]).await?;
    probe.expect(missing, None).await?;
    probe.expect(kept, Some(b"kept")).await
}

async fn distinct_tables(probe: &Probe<'_>) -> Result<(), Violation> {
    let bytes = [7; MAX_LEN_IN_TABLE];
    for table in Table::ALL {
        probe.put(&[(key(table, &bytes), table.name().as_bytes())]).await?;
    }
    for table in Table::ALL {
        probe.expect(key(table, &bytes), Some(table.name().as_bytes())).await?;
    }
    probe.remove(&[key(Table::Receipts, &bytes)]).await?;
    for table in Table::ALL {
        let expected = (table != Table::Receipts).then_some(table.name().as_bytes());
        probe.expect(key(table, &bytes), expected).await?;
    }
    Ok(())
}

async fn distinct_keys(probe: &Probe<'_>) -> Result<(), Violation> {
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
    probe.put(&put).await?;
    probe.expect_each(&put).await?;

    let removed: Vec<Key> = keys.iter().copied().step_by(2).collect();
    probe.remove(&removed).await?;
    let kept: Vec<(Key, &[u8])> = put.iter().copied().skip(1).step_by(2).collect();
    probe.expect_each(&kept).await?;
    probe.expect_none_of(&removed).await
}

async fn empty_row(probe: &Probe<'_>) -> Result<(), Violation> {
    let key = Key::number(Table::Chain, 0);
    probe.put(&[(key, b"")]).await?;
    probe.expect(key, Some(b"")).await?;
    probe.expect_many(&[key], |_| Some(b"")).await?;
    probe.remove(&[key]).await?;
    probe.expect(key, None).await
}

async fn arbitrary_bytes(probe: &Probe<'_>) -> Result<(), Violation> {
    let all_values: Vec<u8> = (0..=u8::MAX).chain((0..=u8::MAX).rev()).collect();
    let rows: [&[u8]; 5] = [&all_values, &[0], &[0; 300], &[0xff; 300], b"\r\n\0 trailing \n "];
    let put: Vec<(Key, &[u8])> =
        (0..).map(|number| Key::number(Table::Configs, number)).zip(rows).collect();
    probe.put(&put).await?;
    probe.expect_each(&put).await
}

async fn large_row(probe: &Probe<'_>) -> Result<(), Violation> {
    let mut rng = SplitMix64(1);
    // Around 64 KiB, where a length no longer fits two bytes; 4 MiB is the limit of transaction
    // arguments.
    let rows = [0xffff, 0x1_0000, 0x1_0001, (4 << 20) + 1].map(|length| rng.row(length));
    let put: Vec<(Key, &[u8])> = (0..)
        .map(|number| Key::number(Table::Transactions, number))
        .zip(rows.iter().map(|row| &row[..]))
        .collect();
    probe.put(&put).await?;
    probe.expect_each(&put).await?;

    let Some((key, _)) = put.last() else { return Ok(()) };
    probe.put(&[(*key, b"small again")]).await?;
    probe.expect(*key, Some(b"small again")).await
}

/// Rows at the numbers below 96 that are not multiples of 3, in two alternating tables, and the
/// keys of the other numbers; the last byte of none is a small letter
fn some_rows() -> (Vec<(Key, [u8; 8])>, Vec<Key>) {
    let tables = [Table::Outcomes, Table::Receipts];
    let keys = (0..96).map(|number: u64| Key::number(tables[number as usize % 2], number));
    let (present, missing): (Vec<_>, Vec<_>) =
        keys.zip(0..96_u64).partition(|(_, number)| number % 3 != 0);
    (
        present.into_iter().map(|(key, number)| (key, number.to_le_bytes())).collect(),
        missing.into_iter().map(|(key, _)| key).collect(),
    )
}

/// Keys in descending order, in alternating tables, some of them missing, each requested twice
async fn get_many(probe: &Probe<'_>, before: usize) -> Result<(), Violation> {
    let (rows, missing) = some_rows();
    let put: Vec<(Key, &[u8])> = rows.iter().map(|(key, row)| (*key, &row[..])).collect();
    probe.put(&put).await?;
    let mut keys: Vec<Key> = rows.iter().map(|(key, _)| *key).chain(missing).collect();
    keys.sort_by(|left, right| right.bytes_in_table().cmp(left.bytes_in_table()));
    keys.extend_from_within(..);
    let expected = |key: &Key| put.iter().find(|(other, _)| other == key).map(|(_, row)| *row);
    probe.read_many(None, &keys, before, expected).await
}

async fn get_many_without_keys(probe: &Probe<'_>) -> Result<(), Violation> {
    probe.expect_many(&[], |_| None).await?;
    probe.put(&[(Key::number(Table::Blocks, 1), b"there")]).await?;
    probe.expect_many(&[], |_| None).await
}

async fn get_many_thousands(probe: &Probe<'_>) -> Result<(), Violation> {
    let (rows, _) = some_rows();
    let put: Vec<(Key, &[u8])> = rows.iter().map(|(key, row)| (*key, &row[..])).collect();
    probe.put(&put).await?;
    // 8191 is prime, so the 10,000 keys are distinct; most are missing.
    let keys: Vec<Key> = (0..10_000_u64)
        .map(|number| Key::number(Table::Outcomes, number * 8191 % 10_000))
        .collect();
    let expected = |key: &Key| put.iter().find(|(other, _)| other == key).map(|(_, row)| *row);
    probe.expect_many(&keys, expected).await
}

async fn last_change_wins(probe: &Probe<'_>) -> Result<(), Violation> {
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
        probe.commit(batch).await?;
        probe.expect(put_removed, None).await?;
        probe.expect(removed_put, Some(b"there")).await?;
        probe.expect(put_twice, Some(b"second")).await?;
        probe.expect(neither, Some(&[round])).await?;
        // The second round has the rows of the first, and one more that must be removed.
        probe.put(&[(put_removed, b"there before")]).await?;
    }
    Ok(())
}

async fn empty_batch(probe: &Probe<'_>) -> Result<(), Violation> {
    let key = Key::number(Table::Chain, 1);
    probe.commit(Batch::new()).await?;
    probe.expect(key, None).await?;
    probe.put(&[(key, b"there")]).await?;
    probe.commit(Batch::new()).await?;
    probe.expect(key, Some(b"there")).await
}

async fn large_batch(probe: &Probe<'_>) -> Result<(), Violation> {
    const CHANGES: u64 = 10_000;
    let key = |number: u64| {
        let table = Table::ALL[number as usize % Table::ALL.len()];
        Key::number(table, number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    let numbers: Vec<[u8; 8]> = (0..CHANGES).map(u64::to_be_bytes).collect();
    let put: Vec<(Key, &[u8])> =
        (0..CHANGES).map(key).zip(numbers.iter().map(|number| &number[..])).collect();
    probe.put(&put).await?;
    probe.expect_each(&put).await?;

    let mut batch = Batch::new();
    for (position, (key, _)) in put.iter().enumerate() {
        match position % 2 {
            0 => batch.remove(*key),
            _ => batch.put(*key, &b"odd"[..]),
        }
    }
    probe.commit(batch).await?;
    let odd: Vec<(Key, &[u8])> =
        put.iter().skip(1).step_by(2).map(|(key, _)| (*key, &b"odd"[..])).collect();
    probe.expect_each(&odd).await?;
    let removed: Vec<Key> = put.iter().step_by(2).map(|(key, _)| *key).collect();
    probe.expect_none_of(&removed).await
}

async fn immutable_rows(probe: &Probe<'_>) -> Result<(), Violation> {
    let keys = [1, 2].map(|number| Key::number(Table::Blocks, number));
    let before = [5_u8, 6].map(|byte| vec![byte; 5000]);
    probe.put(&[(keys[0], &before[0]), (keys[1], &before[1])]).await?;
    let first = probe.read(None, keys[0], Some(&before[0])).await?;
    let second = probe.read(None, keys[1], Some(&before[1])).await?;

    probe.put(&[(keys[0], &[9; 5000])]).await?;
    probe.remove(&[keys[1]]).await?;
    // A storage that returns its own memory would reuse it for these.
    for number in 3..20 {
        probe.put(&[(Key::number(Table::Blocks, number), &[8; 5000])]).await?;
    }
    let requirement = Requirement::ImmutableRows;
    compare(requirement, keys[0], Some(&before[0]), first.as_deref())?;
    compare(requirement, keys[1], Some(&before[1]), second.as_deref())
}

/// Takes snapshots between commits and checks that each reads its own state
async fn snapshot_isolation(probe: &Probe<'_>) -> Result<(), Violation> {
    const COMMITS: u8 = 5;
    let keys: Vec<Key> = (0..20).map(|number| Key::number(Table::Outcomes, number)).collect();
    let removed = Key::number(Table::Heights, 0);
    let mut snapshots = Vec::new();
    for state in 0..=COMMITS {
        if state > 0 {
            let row = [state; 600];
            let mut rows: Vec<(Key, &[u8])> = keys.iter().map(|key| (*key, &row[..])).collect();
            rows.push((removed, &row));
            probe.put(&rows).await?;
            if state % 2 == 0 {
                probe.remove(&[removed]).await?;
            }
        }
        snapshots.push((state, probe.open().await?));
        for (state, snapshot) in &snapshots {
            let (row, snapshot) = ([*state; 600], Some(*snapshot));
            let expected = (*state > 0).then_some(&row[..]);
            for key in &keys {
                probe.read(snapshot, *key, expected).await?;
            }
            probe.read_many(snapshot, &keys, 0, |_| expected).await?;
            probe.read(snapshot, removed, (*state % 2 == 1).then_some(&row[..])).await?;
        }
    }
    for (_, snapshot) in snapshots {
        probe.close(snapshot).await?;
    }
    Ok(())
}
