//! The tests of the requirements, each on an empty archive.
//!
//! A test puts no more than its requirement needs, so that an archive with one defect fails at the
//! requirement of that name.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::probe::{ArchiveCalls, Probe, hash_key, refusal, row};
use super::{Requirement, Violation};
use crate::ErrorKind;
use crate::archive::{WriterId, WriterProgress};
use crate::storage::{Key, Row, Table};

/// Tests a requirement on every archive
pub(super) async fn test(probe: &Probe<'_>, requirement: Requirement) -> Result<(), Violation> {
    match requirement {
        Requirement::MissingRow => missing_row(probe).await,
        Requirement::Put => put(probe).await,
        Requirement::GetMany => get_many(probe).await,
        Requirement::DistinctKeys => distinct_keys(probe).await,
        Requirement::LargeRow => large_row(probe).await,
        Requirement::Idempotence => idempotence(probe).await,
        Requirement::SameContent => same_content(probe).await,
        Requirement::Conflict => conflict(probe).await,
        Requirement::Replace => replace(probe).await,
        Requirement::Remove => remove(probe).await,
        Requirement::Scan => scan(probe).await,
        Requirement::Concurrency => puts_under_way(probe).await,
        Requirement::Threads | Requirement::Durability => Ok(()),
    }
}

/// The tables that the engine writes; dictionaries are written by archives that compress
fn tables() -> impl Iterator<Item = Table> {
    Table::ARCHIVE.into_iter().filter(|table| *table != Table::ArchiveDictionaries)
}

/// The key by which the engine addresses a table, with this number
fn key(table: Table, number: u64) -> Key {
    match table {
        Table::ArchivedHeights | Table::ArchiveDictionaries => Key::number(table, number),
        Table::ArchiveProgress => WriterProgress::key(WriterId(number)),
        _ => hash_key(table, &format!("{number}")),
    }
}

/// Rows of a table, by a writer
fn rows(table: Table, writer: u64, count: u64) -> Vec<(Key, Row)> {
    let content = |number| format!("{} {number}", table.name()).repeat(9);
    (0..count).map(|number| (key(table, number), row(writer, content(number).as_bytes()))).collect()
}

fn found(rows: &[(Key, Row)]) -> Vec<(Key, Option<Row>)> {
    rows.iter().map(|(key, row)| (*key, Some(row.clone()))).collect()
}

async fn missing_row(probe: &Probe<'_>) -> Result<(), Violation> {
    for table in tables() {
        probe.expect(key(table, 1), None).await?;
        if !probe.scan(table, 10).await?.is_empty() {
            let detail = format!("{} of an empty archive has rows", table.name());
            return Err(probe.violation(None, detail));
        }
    }
    Ok(())
}

async fn put(probe: &Probe<'_>) -> Result<(), Violation> {
    for table in tables() {
        let put = rows(table, 1, 3);
        probe.put(&put).await?;
        let mut expected = found(&put);
        expected.push((key(table, 4), None));
        expected.reverse();
        probe.expect_many(0, &expected).await?;
    }
    // An empty put changes nothing.
    probe.put(&[]).await
}

async fn get_many(probe: &Probe<'_>) -> Result<(), Violation> {
    let put = rows(Table::ArchivedReceipts, 1, 3_000);
    for rows in put.chunks(500) {
        probe.put(rows).await?;
    }
    let mut expected = found(&put);
    // Repeated keys, and missing ones between them.
    for number in 0..300 {
        expected.insert(number * 9, (key(Table::ArchivedReceipts, 5_000 + number as u64), None));
        expected.push(expected[number].clone());
    }
    probe.expect_many(3, &expected).await?;
    probe.expect_many(2, &[]).await
}

async fn distinct_keys(probe: &Probe<'_>) -> Result<(), Violation> {
    let mut put = Vec::new();
    for table in tables() {
        // The same bytes in tables whose keys have one length.
        let number = table.number();
        put.push((key(table, 7), row(1, format!("table {number}").as_bytes())));
    }
    // Numbers of all magnitudes, whose order by bytes is that of the numbers.
    for bit in 0..64 {
        let (number, content) = (1 << bit, format!("bit {bit}"));
        if number != 7 {
            let key = Key::number(Table::ArchivedHeights, number);
            put.push((key, row(1, content.as_bytes())));
        }
    }
    // Hashes that differ in the last byte, and of bytes that are used as terminators.
    for byte in [0x00, 0x01, 0x7f, 0x80, 0xff] {
        let mut hash = [0; 32];
        for position in [0, 31] {
            hash[position] = byte;
            if let Some(key) = Key::new(Table::ArchivedTransactions, &hash)
                && put.iter().all(|(other, _)| *other != key)
            {
                put.push((key, row(1, format!("byte {byte} at {position}").as_bytes())));
            }
        }
    }
    probe.put(&put).await?;
    probe.expect_many(0, &found(&put)).await
}

async fn large_row(probe: &Probe<'_>) -> Result<(), Violation> {
    let mut put = Vec::new();
    let mut state = 7_u64;
    for (number, length) in (0..).zip([0, 1, 64, 65, 4_096, 65_536, (1 << 20) + 1, 8 << 20]) {
        let mut content = vec![0; length];
        for byte in &mut content {
            // Half of the bytes are random, so that they compress and are not trivial.
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            *byte = if state >> 63 == 0 { 0 } else { (state >> 40) as u8 };
        }
        put.push((key(Table::ArchivedTransactions, number), row(1, &content)));
    }
    // One by one, because together they are more than a statement of some databases may have.
    for rows in put.chunks(1) {
        probe.put(rows).await?;
    }
    for (key, row) in &put {
        probe.expect(*key, Some(row)).await?;
    }
    Ok(())
}

async fn idempotence(probe: &Probe<'_>) -> Result<(), Violation> {
    for table in tables() {
        let mut put = rows(table, 1, 40);
        let expected = found(&put);
        probe.put(&put[20..]).await?;
        put.reverse();
        probe.put(&put).await?;
        probe.put(&put[..7]).await?;
        // A row twice in one call.
        probe.put(&[put[3].clone(), put[3].clone()]).await?;
        probe.expect_many(0, &expected).await?;
        let scanned = probe.scan(table, 100).await?.len();
        if scanned != 40 {
            let detail = format!("{} has {scanned} rows after 40 were put", table.name());
            return Err(probe.violation(None, detail));
        }
    }
    Ok(())
}

async fn same_content(probe: &Probe<'_>) -> Result<(), Violation> {
    let table = Table::ArchivedTransactions;
    let [first, second] = [1, 2].map(|writer| rows(table, writer, 5));
    probe.put(&first).await?;
    probe.put(&second).await?;
    probe.expect_many(0, &found(&first)).await
}

async fn conflict(probe: &Probe<'_>) -> Result<(), Violation> {
    let table = Table::ArchivedTransactions;
    let right = rows(table, 1, 3);
    let (wrong_key, _) = right[1].clone();
    probe.put(&right).await?;
    probe.put(&[(wrong_key, row(2, &[7; 5_000]))]).await?;
    // The right row again: it does not win by coming last.
    probe.put(&right).await?;
    match probe.get_many(&[wrong_key], 0).await {
        Err(error) if error.kind() == ErrorKind::Conflict => {}
        Err(error) => {
            let detail = format!("the error is of kind {:?}: {error}", error.kind());
            return Err(probe.violation(Some(wrong_key), detail));
        }
        Ok(_) => {
            let detail = String::from("one of two rows that differ is served");
            return Err(probe.violation(Some(wrong_key), detail));
        }
    }
    let others: Vec<_> = right.iter().filter(|(key, _)| *key != wrong_key).cloned().collect();
    probe.expect_many(0, &found(&others)).await?;
    // A scan lists both, so that a check finds them.
    let both = probe.scan(table, 1).await?.iter().filter(|(key, _)| *key == wrong_key).count();
    if both != 2 {
        let detail = format!("a scan lists {both} of two rows that differ");
        return Err(probe.violation(Some(wrong_key), detail));
    }
    // A replace settles it.
    probe.replace(&right[1..2]).await?;
    probe.expect_many(0, &found(&right)).await?;
    execution_beside_refusal(probe).await
}

/// A transaction that was refused and then executed: the execution is served, whichever was put
/// first
async fn execution_beside_refusal(probe: &Probe<'_>) -> Result<(), Violation> {
    for (number, is_refusal_first) in [(100, true), (101, false)] {
        let key = key(Table::ArchivedTransactions, number);
        let (refusal, execution) = (refusal(1, b"refused"), row(2, b"executed"));
        let mut put = [(key, refusal), (key, execution.clone())];
        if !is_refusal_first {
            put.reverse();
        }
        for rows in put.chunks(1) {
            probe.put(rows).await?;
        }
        probe.expect(key, Some(&execution)).await?;
    }
    Ok(())
}

async fn replace(probe: &Probe<'_>) -> Result<(), Violation> {
    let table = Table::ArchiveProgress;
    let put = rows(table, 1, 3);
    probe.replace(&put).await?;
    probe.expect_many(0, &found(&put)).await?;
    let replaced = key(table, 1);
    // Longer, shorter and of equal length.
    for content in [&[1; 3_000][..], &[2; 100], &[3; 100], b""] {
        let new = row(1, content);
        probe.replace(&[(replaced, new.clone())]).await?;
        probe.expect(replaced, Some(&new)).await?;
    }
    probe.expect(put[0].0, Some(&put[0].1)).await?;
    probe.expect(put[2].0, Some(&put[2].1)).await
}

async fn remove(probe: &Probe<'_>) -> Result<(), Violation> {
    for table in tables() {
        let put = rows(table, 1, 40);
        probe.put(&put).await?;
        // One with a second content, and some that are not there.
        probe.put(&[(put[3].0, row(2, b"another content"))]).await?;
        let removed: Vec<Key> = put[..20].iter().map(|(key, _)| *key).collect();
        let missing = key(table, 1_000);
        probe.remove(&[&removed[..], &[missing]].concat()).await?;
        probe.remove(&[]).await?;
        let mut expected: Vec<_> = removed.iter().map(|key| (*key, None)).collect();
        expected.extend(found(&put[20..]));
        probe.expect_many(0, &expected).await?;
        let left = probe.scan(table, 7).await?.len();
        if left != 20 {
            let detail = format!("{}: {left} rows of 20 after a removal", table.name());
            return Err(probe.violation(None, detail));
        }
        probe.put(&put[..10]).await?;
        probe.expect_many(0, &found(&put[..10])).await?;
    }
    Ok(())
}

async fn scan(probe: &Probe<'_>) -> Result<(), Violation> {
    for table in tables() {
        probe.put(&rows(table, 1, 50)).await?;
    }
    for table in tables() {
        let put: BTreeMap<Key, Row> = rows(table, 1, 50).into_iter().collect();
        let mut order = Vec::new();
        for limit in [1, 7, 49, 50, 51] {
            let scanned = probe.scan(table, limit).await?;
            for (key, row) in &scanned {
                probe.compare(*key, put.get(key), Some(row))?;
            }
            let keys: Vec<Key> = scanned.iter().map(|(key, _)| *key).collect();
            let distinct: BTreeMap<Key, ()> = keys.iter().map(|key| (*key, ())).collect();
            if keys.len() != put.len() || distinct.len() != put.len() {
                let (name, count) = (table.name(), keys.len());
                let detail = format!("{name}: {count} rows of 50, {} keys", distinct.len());
                return Err(probe.violation(None, detail));
            }
            if !order.is_empty() && order != keys {
                let detail = format!("{}: two scans list rows in two orders", table.name());
                return Err(probe.violation(None, detail));
            }
            order = keys;
        }
    }
    Ok(())
}

/// The rows that a writer puts beside others: some of its own, and some that all of them put, each
/// in another order
pub(super) fn shared_rows(writer: usize, own: usize, shared: usize) -> Vec<(Key, Row)> {
    let own = (0..own).map(|number| format!("{writer} {number}"));
    let mut names: Vec<String> = (0..shared).map(|number| format!("shared {number}")).collect();
    names.rotate_left(writer * 7 % shared.max(1));
    let row_of = |name: String| {
        let content = name.repeat(20);
        (hash_key(Table::ArchivedTransactions, &name), row(writer as u64, content.as_bytes()))
    };
    own.chain(names).map(row_of).collect()
}

/// Starts puts of several writers before the first of them has ended, and reads
async fn puts_under_way(probe: &Probe<'_>) -> Result<(), Violation> {
    const WRITERS: usize = 4;
    const ROWS: usize = 25;
    let puts: Vec<Vec<(Key, Row)>> =
        (0..WRITERS).map(|writer| shared_rows(writer, ROWS, ROWS)).collect();
    let chunks = puts.iter().flat_map(|rows| rows.chunks(10));
    let started: Vec<_> = chunks.map(|rows| probe.start_put(rows)).collect();
    // A row is missing or whole meanwhile.
    let keys: Vec<Key> = puts[0].iter().map(|(key, _)| *key).collect();
    let read = probe.get_many(&keys, 0).await.map_err(|error| {
        probe.violation(None, format!("get_many of {} keys during puts: {error}", keys.len()))
    })?;
    for ((key, row), found) in puts[0].iter().zip(&read) {
        if found.is_some() {
            probe.compare(*key, Some(row), found.as_ref())?;
        }
    }
    for put in started {
        put.await
            .map_err(|error| probe.violation(None, format!("put_many beside others: {error}")))?;
    }
    for rows in &puts {
        probe.expect_many(0, &found(rows)).await?;
    }
    let (scanned, expected) =
        (probe.scan(Table::ArchivedTransactions, 50).await?.len(), WRITERS * ROWS + ROWS);
    if scanned != expected {
        let detail = format!("a scan lists {scanned} rows of {expected}");
        return Err(probe.violation(None, detail));
    }
    Ok(())
}

/// Puts rows in several openings of one archive, and checks all of them in each
pub(super) async fn durability(calls: &ArchiveCalls) -> Result<(), Violation> {
    let all = rows(Table::ArchivedTransactions, 1, 50);
    // The last opening only reads.
    for opening in 0..=5 {
        let probe = Probe::of_new_archive(calls, Requirement::Durability).await?;
        let (put, rest) = all.split_at(opening * 10);
        probe.expect_many(0, &found(put)).await?;
        if let Some((key, _)) = rest.first() {
            probe.expect(*key, None).await?;
            probe.put(&rest[..10]).await?;
        }
    }
    Ok(())
}
