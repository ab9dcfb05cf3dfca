//! Archives with one defect each, and the requirement that each must violate.

extern crate std;

use alloc::string::ToString;
use alloc::vec::Vec;
use core::cell::Cell;
use std::sync::Mutex;

use super::{Requirement, Violation, check, check_durable, check_shared};
use crate::archive::{Archive, MemoryArchive};
use crate::storage::conformance::tests::side_by_side;
use crate::storage::{Key, Row, Table};
use crate::{Error, ErrorKind};

/// The methods of an archive, of which a test replaces those with the defect
#[derive(Clone, Copy)]
#[expect(clippy::type_complexity, reason = "the signatures of the methods of `Archive`")]
struct Methods {
    get_many: fn(&MemoryArchive, &[Key], &mut Vec<Option<Row>>) -> Result<(), Error>,
    put_many: fn(&MemoryArchive, &[(Key, Row)]) -> Result<(), Error>,
    replace_many: fn(&MemoryArchive, &[(Key, Row)]) -> Result<(), Error>,
    remove_many: fn(&MemoryArchive, &[Key]) -> Result<(), Error>,
    scan: fn(&MemoryArchive, Table, Option<&Key>, usize, &mut Vec<(Key, Row)>) -> Result<(), Error>,
}

const CORRECT: Methods = Methods {
    get_many: |archive, keys, rows| archive.get_many(keys, rows),
    put_many: |archive, rows| archive.put_many(rows),
    replace_many: |archive, rows| archive.replace_many(rows),
    remove_many: |archive, keys| archive.remove_many(keys),
    scan: |archive, table, after, limit, rows| archive.scan(table, after, limit, rows),
};

struct TestArchive(MemoryArchive, Methods);

impl Archive for TestArchive {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        (self.1.get_many)(&self.0, keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        (self.1.put_many)(&self.0, rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        (self.1.replace_many)(&self.0, rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        (self.1.remove_many)(&self.0, keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        (self.1.scan)(&self.0, table, after, limit, rows)
    }
}

#[track_caller]
fn expect_violation(methods: Methods, requirement: Requirement) -> Violation {
    let violation = check(|| TestArchive(MemoryArchive::new(), methods)).unwrap_err();
    assert_eq!(violation.requirement(), requirement, "{violation}");
    assert!(violation.to_string().contains(&requirement.to_string()));
    violation
}

fn failure() -> Error {
    Error::new(ErrorKind::Storage, "unreachable")
}

/// An archive behind a lock, as hosts with threads have it
struct Locked(Mutex<MemoryArchive>);

impl Archive for Locked {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.0.lock().unwrap().get_many(keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.0.lock().unwrap().put_many(rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.0.lock().unwrap().replace_many(rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.0.lock().unwrap().remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        self.0.lock().unwrap().scan(table, after, limit, rows)
    }
}

#[test]
fn a_memory_archive_meets_all_requirements() {
    let passed = check(MemoryArchive::new).unwrap();
    assert_eq!(passed.left_out(), [Requirement::Threads, Requirement::Durability]);
    check(|| TestArchive(MemoryArchive::new(), CORRECT)).unwrap();
    let shared = MemoryArchive::new();
    check_durable(|| Ok(&shared)).unwrap();
    let passed = check_shared(|| Locked(Mutex::new(MemoryArchive::new())), &side_by_side).unwrap();
    assert_eq!(passed.left_out(), [Requirement::Durability]);
}

#[test]
fn an_error_for_a_missing_row_is_a_violation() {
    let get_many = |archive: &MemoryArchive, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        archive.get_many(keys, rows)?;
        if rows.iter().all(Option::is_some) { Ok(()) } else { Err(failure()) }
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::MissingRow);
}

#[test]
fn a_put_that_is_lost_is_a_violation() {
    let put_many = |archive: &MemoryArchive, rows: &[(Key, Row)]| {
        archive.put_many(rows.split_last().map_or(rows, |(_, others)| others))
    };
    expect_violation(Methods { put_many, ..CORRECT }, Requirement::Put);
    let put_many = |_: &MemoryArchive, _: &[(Key, Row)]| Err(failure());
    expect_violation(Methods { put_many, ..CORRECT }, Requirement::Put);
}

#[test]
fn rows_in_another_order_are_a_violation() {
    let get_many = |archive: &MemoryArchive, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        archive.get_many(&sorted, rows)
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::Put);
}

#[test]
fn a_get_many_that_replaces_or_truncates_is_a_violation() {
    let get_many = |archive: &MemoryArchive, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        rows.clear();
        archive.get_many(keys, rows)
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::GetMany);
    let get_many = |archive: &MemoryArchive, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        archive.get_many(&keys[..keys.len().min(1_000)], rows)
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::GetMany);
}

#[test]
fn tables_that_share_keys_are_a_violation() {
    fn in_one_table(key: &Key) -> Key {
        // Rows of blocks are found among those of transactions.
        match key.table() {
            Table::ArchivedBlocks => {
                Key::new(Table::ArchivedTransactions, key.bytes_in_table()).unwrap()
            }
            _ => *key,
        }
    }
    let get_many = |archive: &MemoryArchive, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        let keys: Vec<Key> = keys.iter().map(in_one_table).collect();
        archive.get_many(&keys, rows)
    };
    let put_many = |archive: &MemoryArchive, rows: &[(Key, Row)]| {
        let rows: Vec<_> = rows.iter().map(|(key, row)| (in_one_table(key), row.clone())).collect();
        // The first row of a key stays, so that nothing is a conflict.
        rows.iter().try_for_each(|row| {
            let mut found = Vec::new();
            archive.get_many(&[row.0], &mut found)?;
            if found == [None] { archive.put_many(core::slice::from_ref(row)) } else { Ok(()) }
        })
    };
    let methods = Methods { get_many, put_many, ..CORRECT };
    let violation = check(|| TestArchive(MemoryArchive::new(), methods)).unwrap_err();
    assert_ne!(violation.requirement(), Requirement::MissingRow, "{violation}");
}

#[test]
fn a_large_row_that_is_cut_or_refused_is_a_violation() {
    let put_many = |archive: &MemoryArchive, rows: &[(Key, Row)]| {
        if rows.iter().any(|(_, row)| row.len() > 4 << 20) {
            return Err(Error::new(ErrorKind::Limit, "too large"));
        }
        archive.put_many(rows)
    };
    expect_violation(Methods { put_many, ..CORRECT }, Requirement::LargeRow);
    let get_many = |archive: &MemoryArchive, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        archive.get_many(keys, rows)?;
        for row in rows.iter_mut().flatten().filter(|row| row.len() > 65_000) {
            *row = Row::from(&row[..65_000]);
        }
        Ok(())
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::LargeRow);
}

#[test]
fn a_put_that_refuses_or_repeats_a_row_that_is_there_is_a_violation() {
    let put_many = |archive: &MemoryArchive, rows: &[(Key, Row)]| {
        for (key, _) in rows {
            let mut found = Vec::new();
            archive.get_many(&[*key], &mut found)?;
            if found != [None] {
                return Err(failure());
            }
        }
        archive.put_many(rows)
    };
    expect_violation(Methods { put_many, ..CORRECT }, Requirement::Idempotence);
    let scan = |archive: &MemoryArchive,
                table: Table,
                after: Option<&Key>,
                limit: usize,
                rows: &mut Vec<(Key, Row)>| {
        archive.scan(table, after, limit, rows)?;
        rows.extend(rows.last().cloned());
        Ok(())
    };
    expect_violation(Methods { scan, ..CORRECT }, Requirement::Idempotence);
}

#[test]
fn comparing_rows_instead_of_contents_is_a_violation() {
    let put_many = |archive: &MemoryArchive, rows: &[(Key, Row)]| {
        for (key, row) in rows {
            let mut found = Vec::new();
            archive.get_many(&[*key], &mut found)?;
            if found.first().and_then(Option::as_ref).is_some_and(|found| found != row) {
                return Err(Error::new(ErrorKind::Conflict, "other bytes"));
            }
        }
        archive.put_many(rows)
    };
    expect_violation(Methods { put_many, ..CORRECT }, Requirement::SameContent);
}

#[test]
fn serving_one_of_two_contents_is_a_violation() {
    // The last one wins.
    let put_many = |archive: &MemoryArchive, rows: &[(Key, Row)]| archive.replace_many(rows);
    expect_violation(Methods { put_many, ..CORRECT }, Requirement::Conflict);
    // The first one wins.
    let put_many = |archive: &MemoryArchive, rows: &[(Key, Row)]| {
        for row in rows {
            let mut found = Vec::new();
            archive.get_many(&[row.0], &mut found)?;
            if found == [None] {
                archive.put_many(core::slice::from_ref(row))?;
            }
        }
        Ok(())
    };
    expect_violation(Methods { put_many, ..CORRECT }, Requirement::Conflict);
    // Neither, but by an error that hosts take for one of the network.
    let get_many = |archive: &MemoryArchive, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        archive.get_many(keys, rows).map_err(|_| failure())
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::Conflict);
}

#[test]
fn a_replace_that_adds_is_a_violation() {
    let replace_many = |archive: &MemoryArchive, rows: &[(Key, Row)]| archive.put_many(rows);
    // The conflict that it should settle stays.
    expect_violation(Methods { replace_many, ..CORRECT }, Requirement::Conflict);
    let replace_many = |archive: &MemoryArchive, rows: &[(Key, Row)]| {
        if rows.iter().all(|(key, _)| key.table() == Table::ArchiveProgress) {
            return archive.put_many(rows);
        }
        archive.replace_many(rows)
    };
    expect_violation(Methods { replace_many, ..CORRECT }, Requirement::Replace);
}

#[test]
fn a_removal_of_too_little_or_too_much_is_a_violation() {
    let remove_many = |_: &MemoryArchive, _: &[Key]| Ok(());
    expect_violation(Methods { remove_many, ..CORRECT }, Requirement::Remove);
    let remove_many = |archive: &MemoryArchive, keys: &[Key]| {
        let mut rows = Vec::new();
        let table = keys.first().map_or(Table::ArchivedBlocks, Key::table);
        archive.scan(table, None, 100, &mut rows)?;
        let all: Vec<Key> = rows.iter().map(|(key, _)| *key).collect();
        archive.remove_many(&all)
    };
    expect_violation(Methods { remove_many, ..CORRECT }, Requirement::Remove);
    let remove_many = |_: &MemoryArchive, keys: &[Key]| match keys {
        [] => Ok(()),
        _ => Err(failure()),
    };
    expect_violation(Methods { remove_many, ..CORRECT }, Requirement::Remove);
}

#[test]
fn a_scan_with_gaps_or_without_an_order_is_a_violation() {
    let scan = |archive: &MemoryArchive,
                table: Table,
                after: Option<&Key>,
                limit: usize,
                rows: &mut Vec<(Key, Row)>| {
        // Skips a row at the start of every page but the first.
        let mut skipped = Vec::new();
        if after.is_some() {
            archive.scan(table, after, 1, &mut skipped)?;
        }
        archive.scan(table, skipped.last().map(|(key, _)| key).or(after), limit, rows)
    };
    let violation = check(|| TestArchive(MemoryArchive::new(), Methods { scan, ..CORRECT }));
    let requirement = violation.unwrap_err().requirement();
    assert!([Requirement::Scan, Requirement::Conflict].contains(&requirement), "{requirement}");

    std::thread_local! {
        static CALLS: Cell<usize> = const { Cell::new(0) };
    }
    let scan = |archive: &MemoryArchive,
                table: Table,
                after: Option<&Key>,
                _: usize,
                rows: &mut Vec<(Key, Row)>| {
        // All rows in one page, each time rotated.
        if after.is_none() {
            archive.scan(table, None, 1_000, rows)?;
            CALLS.set(CALLS.get() + 1);
            let count = rows.len();
            if count == 50 {
                rows.rotate_left(CALLS.get() % count);
            }
        }
        Ok(())
    };
    expect_violation(Methods { scan, ..CORRECT }, Requirement::Scan);
}

#[test]
fn rows_that_do_not_survive_are_a_violation() {
    let violation = check_durable(|| Ok(MemoryArchive::new())).unwrap_err();
    assert_eq!(violation.requirement(), Requirement::Durability);
    let violation = check_durable::<MemoryArchive>(|| Err(failure())).unwrap_err();
    assert!(violation.detail().contains("opening number 1"), "{violation}");
}

/// Loses one of two puts at the same time
struct Racy(Mutex<MemoryArchive>);

impl Archive for Racy {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.0.lock().unwrap().get_many(keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        // A copy is changed and put in place of what another thread has changed meanwhile.
        let copy = self.0.lock().unwrap().clone();
        copy.put_many(rows)?;
        *self.0.lock().unwrap() = copy;
        Ok(())
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.0.lock().unwrap().replace_many(rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.0.lock().unwrap().remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        self.0.lock().unwrap().scan(table, after, limit, rows)
    }
}

#[test]
fn a_lost_put_of_two_at_once_is_a_violation() {
    for _ in 0..10 {
        let make = || Racy(Mutex::new(MemoryArchive::new()));
        let violation = check_shared(make, &side_by_side).unwrap_err();
        assert_eq!(violation.requirement(), Requirement::Threads, "{violation}");
    }
    let violation = check_shared(|| Locked(Mutex::new(MemoryArchive::new())), &|_, _| ());
    assert_eq!(violation.unwrap_err().requirement(), Requirement::Threads);
}

#[test]
fn requirements_have_texts() {
    let texts = [
        "a missing row is `None` and not an error",
        "rows that were put are read in the order of the keys",
        "get_many appends, and takes any number of keys",
        "keys of all tables and lengths are distinct",
        "rows of 8 MiB are read back unchanged",
        "rows can be put again, in any order",
        "the same content by another writer is no conflict",
        "a key with two contents is an error of kind Conflict",
        "a replace removes all that the key held",
        "a removal removes all that the keys held",
        "a scan lists every row of its table once",
        "rows of puts at the same time are all there",
    ];
    assert_eq!(Requirement::ALL.map(|requirement| requirement.to_string()), texts);
}

#[test]
fn an_error_of_another_kind_is_no_conflict() {
    let get_many = |archive: &MemoryArchive, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        archive.get_many(keys, rows).map_err(|_| failure())
    };
    let violation = expect_violation(Methods { get_many, ..CORRECT }, Requirement::Conflict);
    assert!(violation.to_string().contains("the error is of kind Storage"), "{violation}");
}

#[test]
fn a_page_has_at_most_twice_its_limit_and_eight_rows() {
    fn scan_of(
        archive: &MemoryArchive,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        archive.scan(table, after, limit, rows)
    }
    let scan = |archive: &MemoryArchive,
                table: Table,
                after: Option<&Key>,
                limit: usize,
                rows: &mut Vec<(Key, Row)>| {
        scan_of(archive, table, after, 2 * limit + 8, rows)
    };
    check(|| TestArchive(MemoryArchive::new(), Methods { scan, ..CORRECT })).unwrap();
    let scan = |archive: &MemoryArchive,
                table: Table,
                after: Option<&Key>,
                limit: usize,
                rows: &mut Vec<(Key, Row)>| {
        scan_of(archive, table, after, 2 * limit + 9, rows)
    };
    let violation = check(|| TestArchive(MemoryArchive::new(), Methods { scan, ..CORRECT }));
    let detail = violation.unwrap_err().to_string();
    assert!(detail.contains("a page of "), "{detail}");
}
