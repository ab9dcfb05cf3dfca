//! The tests of the requirements, each on an empty archive.
//!
//! A test puts no more than its requirement needs, so that an archive with one defect fails at the
//! requirement of that name.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::{Probe, Requirement, Violation, hash_key, row};
use crate::archive::{Archive, WriterId, WriterProgress};
use crate::storage::{Key, Row, Table};
use crate::{Error, ErrorKind};

type Test<A> = fn(&Probe<'_, A>) -> Result<(), Violation>;

/// The requirements on every archive and their tests
pub(super) fn in_order<A: Archive>() -> [(Requirement, Test<A>); 11] {
    [
        (Requirement::MissingRow, missing_row),
        (Requirement::Put, put),
        (Requirement::GetMany, get_many),
        (Requirement::DistinctKeys, distinct_keys),
        (Requirement::LargeRow, large_row),
        (Requirement::Idempotence, idempotence),
        (Requirement::SameContent, same_content),
        (Requirement::Conflict, conflict),
        (Requirement::Replace, replace),
        (Requirement::Remove, remove),
        (Requirement::Scan, scan),
    ]
}

/// The tables that the engine writes; dictionaries are written by archives that compress
fn tables() -> impl Iterator<Item = Table> {
    Table::ARCHIVE.into_iter().filter(|table| *table != Table::ArchiveDictionaries)
}

/// The key by which the engine addresses a table, with this number
fn key(table: Table, number: u64) -> Key {
    match table {
        Table::ArchivedHeights | Table::ArchivedConfigs | Table::ArchiveDictionaries => {
            Key::number(table, number)
        }
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

fn missing_row<A: Archive>(probe: &Probe<'_, A>) -> Result<(), Violation> {
    for table in tables() {
        probe.expect(key(table, 1), None)?;
        if !probe.scan(table, 10)?.is_empty() {
            let detail = format!("{} of an empty archive has rows", table.name());
            return Err(probe.violation(None, detail));
        }
    }
    Ok(())
}

fn put<A: Archive>(probe: &Probe<'_, A>) -> Result<(), Violation> {
    for table in tables() {
        let put = rows(table, 1, 3);
        probe.put(&put)?;
        let mut expected = found(&put);
        expected.push((key(table, 4), None));
        expected.reverse();
        probe.expect_many(0, &expected)?;
    }
    // An empty put changes nothing.
    probe.put(&[])
}

fn get_many<A: Archive>(probe: &Probe<'_, A>) -> Result<(), Violation> {
    let put = rows(Table::ArchivedReceipts, 1, 3_000);
    put.chunks(500).try_for_each(|rows| probe.put(rows))?;
    let mut expected = found(&put);
    // Repeated keys, and missing ones between them.
    for number in 0..300 {
        expected.insert(number * 9, (key(Table::ArchivedReceipts, 5_000 + number as u64), None));
        expected.push(expected[number].clone());
    }
    probe.expect_many(3, &expected)?;
    probe.expect_many(2, &[])
}

fn distinct_keys<A: Archive>(probe: &Probe<'_, A>) -> Result<(), Violation> {
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
    probe.put(&put)?;
    probe.expect_many(0, &found(&put))
}

fn large_row<A: Archive>(probe: &Probe<'_, A>) -> Result<(), Violation> {
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
    put.chunks(1).try_for_each(|rows| probe.put(rows))?;
    put.iter().try_for_each(|(key, row)| probe.expect(*key, Some(row)))
}

fn idempotence<A: Archive>(probe: &Probe<'_, A>) -> Result<(), Violation> {
    for table in tables() {
        let mut put = rows(table, 1, 40);
        let expected = found(&put);
        probe.put(&put[20..])?;
        put.reverse();
        probe.put(&put)?;
        probe.put(&put[..7])?;
        // A row twice in one call.
        probe.put(&[put[3].clone(), put[3].clone()])?;
        probe.expect_many(0, &expected)?;
        let scanned = probe.scan(table, 100)?.len();
        if scanned != 40 {
            let detail = format!("{} has {scanned} rows after 40 were put", table.name());
            return Err(probe.violation(None, detail));
        }
    }
    Ok(())
}

fn same_content<A: Archive>(probe: &Probe<'_, A>) -> Result<(), Violation> {
    let table = Table::ArchivedTransactions;
    let [first, second] = [1, 2].map(|writer| rows(table, writer, 5));
    probe.put(&first)?;
    probe.put(&second)?;
    probe.expect_many(0, &found(&first))
}

fn conflict<A: Archive>(probe: &Probe<'_, A>) -> Result<(), Violation> {
    let table = Table::ArchivedTransactions;
    let right = rows(table, 1, 3);
    let (wrong_key, _) = right[1].clone();
    probe.put(&right)?;
    probe.put(&[(wrong_key, row(2, &[7; 5_000]))])?;
    // The right row again: it does not win by coming last.
    probe.put(&right)?;
    let mut read = Vec::new();
    match probe.archive.get_many(&[wrong_key], &mut read) {
        Err(error) if error.kind() == ErrorKind::Conflict => {}
        Err(error) => {
            let detail = format!("the error is of kind {:?}: {error}", error.kind());
            return Err(probe.violation(Some(wrong_key), detail));
        }
        Ok(()) => {
            let detail = String::from("one of two rows that differ is served");
            return Err(probe.violation(Some(wrong_key), detail));
        }
    }
    let others: Vec<_> = right.iter().filter(|(key, _)| *key != wrong_key).cloned().collect();
    probe.expect_many(0, &found(&others))?;
    // A scan lists both, so that a check finds them.
    let both = probe.scan(table, 1)?.iter().filter(|(key, _)| *key == wrong_key).count();
    if both != 2 {
        let detail = format!("a scan lists {both} of two rows that differ");
        return Err(probe.violation(Some(wrong_key), detail));
    }
    // A replace settles it.
    probe.replace(&right[1..2])?;
    probe.expect_many(0, &found(&right))
}

fn replace<A: Archive>(probe: &Probe<'_, A>) -> Result<(), Violation> {
    let table = Table::ArchiveProgress;
    let put = rows(table, 1, 3);
    probe.replace(&put)?;
    probe.expect_many(0, &found(&put))?;
    let replaced = key(table, 1);
    // Longer, shorter and of equal length.
    for content in [&[1; 3_000][..], &[2; 100], &[3; 100], b""] {
        let new = row(1, content);
        probe.replace(&[(replaced, new.clone())])?;
        probe.expect(replaced, Some(&new))?;
    }
    probe.expect(put[0].0, Some(&put[0].1))?;
    probe.expect(put[2].0, Some(&put[2].1))
}

fn remove<A: Archive>(probe: &Probe<'_, A>) -> Result<(), Violation> {
    for table in tables() {
        let put = rows(table, 1, 40);
        probe.put(&put)?;
        // One with a second content, and some that are not there.
        probe.put(&[(put[3].0, row(2, b"another content"))])?;
        let removed: Vec<Key> = put[..20].iter().map(|(key, _)| *key).collect();
        let missing = key(table, 1_000);
        probe.remove(&[&removed[..], &[missing]].concat())?;
        probe.remove(&[])?;
        let mut expected: Vec<_> = removed.iter().map(|key| (*key, None)).collect();
        expected.extend(found(&put[20..]));
        probe.expect_many(0, &expected)?;
        let left = probe.scan(table, 7)?.len();
        if left != 20 {
            let detail = format!("{}: {left} rows of 20 after a removal", table.name());
            return Err(probe.violation(None, detail));
        }
        probe.put(&put[..10])?;
        probe.expect_many(0, &found(&put[..10]))?;
    }
    Ok(())
}

fn scan<A: Archive>(probe: &Probe<'_, A>) -> Result<(), Violation> {
    for table in tables() {
        probe.put(&rows(table, 1, 50))?;
    }
    for table in tables() {
        let put: BTreeMap<Key, Row> = rows(table, 1, 50).into_iter().collect();
        let mut order = Vec::new();
        for limit in [1, 7, 49, 50, 51] {
            let scanned = probe.scan(table, limit)?;
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

/// Puts rows in several openings of one archive, and checks all of them in each
pub(super) fn durability<A: Archive>(
    open: &mut dyn FnMut() -> Result<A, Error>,
) -> Result<(), Violation> {
    let requirement = Requirement::Durability;
    let all = rows(Table::ArchivedTransactions, 1, 50);
    // The last opening only reads.
    for opening in 0..=5 {
        let archive = open().map_err(|error| Violation {
            requirement,
            key: None,
            detail: format!("opening number {} failed: {error}", opening + 1),
        })?;
        let probe = Probe { archive: &archive, requirement };
        let (put, rest) = all.split_at(opening * 10);
        probe.expect_many(0, &found(put))?;
        if let Some((key, _)) = rest.first() {
            probe.expect(*key, None)?;
            probe.put(&rest[..10])?;
        }
    }
    Ok(())
}
