//! Storages with one defect each, and the requirement that each must violate.

extern crate std;

use alloc::rc::Rc;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell, RefCell};
use std::sync::Mutex;
use std::thread;

use super::{Passed, Requirement, SideBySide, Violation, check, check_durable, check_shared};
use crate::storage::{Batch, Isolation, Key, MemoryStorage, Row, Snapshot, Storage, Table};
use crate::{Error, ErrorKind};

/// The methods of a storage, of which a test replaces those with the defect
#[derive(Clone, Copy)]
#[expect(clippy::type_complexity, reason = "the signature of `Snapshot::get_many`")]
struct Methods {
    get: fn(&MemoryStorage, &Key) -> Result<Option<Row>, Error>,
    get_with: fn(&MemoryStorage, &Key, &mut dyn FnMut(&[u8]) -> bool) -> Result<Option<Row>, Error>,
    get_many: fn(&MemoryStorage, &[Key], &mut Vec<Option<Row>>) -> Result<(), Error>,
    commit: fn(&mut MemoryStorage, Batch) -> Result<(), Error>,
}

const CORRECT: Methods = Methods {
    get: |storage, key| storage.get(key),
    get_with: |storage, key, reader| storage.get_with(key, reader),
    get_many: |storage, keys, rows| storage.get_many(keys, rows),
    commit: |storage, batch| storage.commit(batch),
};

struct TestStorage(MemoryStorage, Methods);

impl Snapshot for TestStorage {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        (self.1.get)(&self.0, key)
    }

    fn get_with(
        &self,
        key: &Key,
        reader: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Row>, Error> {
        (self.1.get_with)(&self.0, key, reader)
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        (self.1.get_many)(&self.0, keys, rows)
    }
}

impl Storage for TestStorage {
    type Snapshot<'a> = &'a Self;

    fn snapshot(&self) -> Result<&Self, Error> {
        Ok(self)
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        (self.1.commit)(&mut self.0, batch)
    }
}

#[track_caller]
fn expect_violation(methods: Methods, requirement: Requirement) -> Violation {
    let violation = check(|| TestStorage(MemoryStorage::new(), methods)).unwrap_err();
    assert_eq!(violation.requirement(), requirement, "{violation}");
    assert!(violation.to_string().contains(requirement.description()));
    violation
}

fn storage_error(detail: &str) -> Error {
    Error::new(ErrorKind::Storage, detail)
}

/// A batch with each change replaced or left out
fn map_batch(
    batch: Batch,
    change: impl Fn(Key, Option<Row>) -> Option<(Key, Option<Row>)>,
) -> Batch {
    batch.into_iter().filter_map(|(key, row)| change(key, row)).collect()
}

#[test]
fn a_memory_storage_meets_all_requirements_and_the_rest_is_named() {
    let passed = check(MemoryStorage::new).unwrap();
    assert_eq!(
        passed.to_string(),
        "all requirements that were checked are met; not checked: a snapshot reads the state in \
         which it was taken; a read sees the newest commit, and sees it whole; a thread reads one \
         state while another thread commits; commits survive closing and opening the storage"
    );
    check(|| TestStorage(MemoryStorage::new(), CORRECT)).unwrap();
}

#[test]
fn an_error_for_a_missing_row_is_a_violation() {
    let get = |storage: &MemoryStorage, key: &Key| {
        storage.get(key)?.map(Some).ok_or_else(|| storage_error("no such row"))
    };
    let violation = expect_violation(Methods { get, ..CORRECT }, Requirement::MissingRow);
    assert_eq!(violation.key(), Some(&Key::new(Table::Chain, &[0]).unwrap()));
    assert_eq!(violation.detail(), "get failed: no such row");
    assert_eq!(
        violation.to_string(),
        "violated requirement \"a missing row is `None` and not an error\": chain/00: get failed: no such row"
    );
}

#[test]
fn applying_only_the_first_change_is_a_violation() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        storage.commit(batch.into_iter().take(1).collect())
    };
    expect_violation(Methods { commit, ..CORRECT }, Requirement::Put);
}

#[test]
fn refusing_to_replace_is_a_violation() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        let before = storage.clone();
        storage.commit(map_batch(batch, |key, row| {
            let replaces = row.is_some() && before.get(&key).is_ok_and(|row| row.is_some());
            (!replaces).then_some((key, row))
        }))
    };
    let violation = expect_violation(Methods { commit, ..CORRECT }, Requirement::Replace);
    assert_eq!(
        violation.detail(),
        "expected a row of 15 bytes, found a row of 5 bytes, which differ at byte 0"
    );
}

#[test]
fn ignoring_removes_is_a_violation() {
    let commit = |storage: &mut MemoryStorage, batch| {
        storage.commit(map_batch(batch, |key, row| row.is_some().then_some((key, row))))
    };
    let violation = expect_violation(Methods { commit, ..CORRECT }, Requirement::Remove);
    assert_eq!(violation.detail(), "expected no row, found a row of 7 bytes");
}

#[test]
fn an_error_for_removing_a_missing_row_is_a_violation() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        for (key, row) in batch.changes() {
            if row.is_none() && storage.get(key)?.is_none() {
                return Err(storage_error("no such row"));
            }
        }
        storage.commit(batch)
    };
    expect_violation(Methods { commit, ..CORRECT }, Requirement::RemoveMissing);
}

#[test]
fn confusing_tables_is_a_violation() {
    fn without_table(key: &Key) -> Key {
        Key::new(Table::Chain, key.bytes_in_table()).unwrap()
    }
    let methods = Methods {
        get: |storage, key| storage.get(&without_table(key)),
        get_with: |storage, key, reader| storage.get_with(&without_table(key), reader),
        get_many: |storage, keys, rows| {
            storage.get_many(&keys.iter().map(without_table).collect::<Vec<_>>(), rows)
        },
        commit: |storage, batch| {
            storage.commit(map_batch(batch, |key, row| Some((without_table(&key), row))))
        },
    };
    expect_violation(methods, Requirement::DistinctTables);
}

/// Checks a storage that maps keys with this function
fn expect_key_violation(map_key: fn(&Key) -> Key) {
    std::thread_local! {
        static MAP_KEY: Cell<fn(&Key) -> Key> = const { Cell::new(|key| *key) };
    }
    MAP_KEY.set(map_key);
    let methods = Methods {
        get: |storage, key| storage.get(&MAP_KEY.get()(key)),
        get_with: |storage, key, reader| storage.get_with(&MAP_KEY.get()(key), reader),
        get_many: |storage, keys, rows| {
            storage.get_many(&keys.iter().map(MAP_KEY.get()).collect::<Vec<_>>(), rows)
        },
        commit: |storage, batch| {
            storage.commit(map_batch(batch, |key, row| Some((MAP_KEY.get()(&key), row))))
        },
    };
    expect_violation(methods, Requirement::DistinctKeys);
}

#[test]
fn padding_keys_with_zeros_is_a_violation() {
    expect_key_violation(|key| {
        let mut bytes = key.bytes_in_table().to_vec();
        bytes.resize(32, 0);
        Key::new(key.table(), &bytes).unwrap()
    });
}

#[test]
fn truncating_keys_is_a_violation() {
    expect_key_violation(|key| {
        let bytes = key.bytes_in_table();
        Key::new(key.table(), &bytes[..bytes.len().min(31)]).unwrap()
    });
}

#[test]
fn ending_keys_at_a_zero_is_a_violation() {
    expect_key_violation(|key| {
        let bytes = key.bytes_in_table();
        // Keys of other tests begin with zeros and must stay distinct.
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
        Key::new(key.table(), &bytes[..end]).unwrap()
    });
}

#[test]
fn folding_letters_of_keys_is_a_violation() {
    expect_key_violation(|key| {
        Key::new(key.table(), &key.bytes_in_table().to_ascii_lowercase()).unwrap()
    });
}

#[test]
fn dropping_empty_rows_is_a_violation() {
    let commit = |storage: &mut MemoryStorage, batch| {
        storage.commit(map_batch(batch, |key, row| Some((key, row.filter(|row| !row.is_empty())))))
    };
    expect_violation(Methods { commit, ..CORRECT }, Requirement::EmptyRow);
}

#[test]
fn trimming_rows_is_a_violation() {
    let commit = |storage: &mut MemoryStorage, batch| {
        storage.commit(map_batch(batch, |key, row| {
            Some((key, row.map(|row| Row::from(row.trim_ascii_end()))))
        }))
    };
    expect_violation(Methods { commit, ..CORRECT }, Requirement::ArbitraryBytes);
}

#[test]
fn truncating_large_rows_is_a_violation() {
    let commit = |storage: &mut MemoryStorage, batch| {
        storage.commit(map_batch(batch, |key, row| {
            Some((key, row.map(|row| Row::from(&row[..row.len().min(1 << 20)]))))
        }))
    };
    let violation = expect_violation(Methods { commit, ..CORRECT }, Requirement::LargeRow);
    assert!(violation.detail().ends_with("which differ at byte 1048576"), "{violation}");
}

#[test]
fn get_with_that_differs_from_get_is_a_violation() {
    let get_with = |_: &MemoryStorage, _: &Key, _: &mut dyn FnMut(&[u8]) -> bool| Ok(None);
    expect_violation(Methods { get_with, ..CORRECT }, Requirement::Put);
    let get_with = |storage: &MemoryStorage, key: &Key, reader: &mut dyn FnMut(&[u8]) -> bool| {
        storage.get_with(key, &mut |row| reader(row) | reader(row))
    };
    let violation = expect_violation(Methods { get_with, ..CORRECT }, Requirement::Put);
    assert_eq!(violation.detail(), "get_with passed 2 rows, keep false, and returned 0");
}

#[test]
fn get_many_in_another_order_is_a_violation() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        let mut sorted = keys.to_vec();
        sorted.sort();
        storage.get_many(&sorted, rows)
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::GetManyOrder);
}

#[test]
fn get_many_without_missing_rows_is_a_violation() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        storage.get_many(keys, rows)?;
        rows.retain(Option::is_some);
        Ok(())
    };
    let violation = expect_violation(Methods { get_many, ..CORRECT }, Requirement::GetManyOrder);
    assert_eq!(violation.detail(), "get_many returned 128 rows for 192 keys");
}

#[test]
fn get_many_with_repeated_keys_once_is_a_violation() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        let mut seen = Vec::new();
        for key in keys {
            let repeated = seen.contains(key);
            seen.push(*key);
            rows.push(if repeated { None } else { storage.get(key)? });
        }
        Ok(())
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::GetManyOrder);
}

#[test]
fn get_many_that_clears_the_vector_is_a_violation() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        rows.clear();
        storage.get_many(keys, rows)
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::GetManyAppends);
}

#[test]
fn get_many_that_prepends_is_a_violation() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        let before = core::mem::take(rows);
        storage.get_many(keys, rows)?;
        rows.extend(before);
        Ok(())
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::GetManyAppends);
}

#[test]
fn an_error_for_no_keys_is_a_violation() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        if keys.is_empty() {
            return Err(storage_error("no keys"));
        }
        storage.get_many(keys, rows)
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::GetManyWithoutKeys);
}

#[test]
fn get_many_of_a_page_of_keys_is_a_violation() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        storage.get_many(&keys[..keys.len().min(1000)], rows)
    };
    expect_violation(Methods { get_many, ..CORRECT }, Requirement::GetManyThousands);
}

#[test]
fn applying_removes_last_is_a_violation() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        storage.commit(map_batch(batch.clone(), |key, row| row.is_some().then_some((key, row))))?;
        storage.commit(map_batch(batch, |key, row| row.is_none().then_some((key, row))))
    };
    expect_violation(Methods { commit, ..CORRECT }, Requirement::LastChangeWins);
}

#[test]
fn applying_changes_backwards_is_a_violation() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        storage.commit(batch.changes().iter().rev().cloned().collect())
    };
    expect_violation(Methods { commit, ..CORRECT }, Requirement::LastChangeWins);
}

#[test]
fn an_error_for_an_empty_batch_is_a_violation() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        if batch.is_empty() {
            return Err(storage_error("nothing to do"));
        }
        storage.commit(batch)
    };
    let violation = expect_violation(Methods { commit, ..CORRECT }, Requirement::EmptyBatch);
    assert_eq!(violation.key(), None);
    assert_eq!(violation.detail(), "commit of 0 changes failed: nothing to do");
}

#[test]
fn truncating_large_batches_is_a_violation() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        storage.commit(batch.into_iter().take(9999).collect())
    };
    expect_violation(Methods { commit, ..CORRECT }, Requirement::LargeBatch);
}

#[test]
fn losing_a_row_after_many_batches_is_a_violation() {
    /// Loses a row at the 150th commit
    struct LossyStorage(MemoryStorage, usize);

    impl Snapshot for LossyStorage {
        fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
            self.0.get(key)
        }
    }

    impl Storage for LossyStorage {
        type Snapshot<'a> = &'a Self;

        fn snapshot(&self) -> Result<&Self, Error> {
            Ok(self)
        }

        fn commit(&mut self, batch: Batch) -> Result<(), Error> {
            self.1 += 1;
            self.0.commit(batch)?;
            if self.1 == 150 {
                let lost = self.0.iter().map(|(key, _)| *key).min();
                let mut batch = Batch::new();
                lost.into_iter().for_each(|key| batch.remove(key));
                self.0.commit(batch)?;
            }
            Ok(())
        }
    }

    let violation = check(|| LossyStorage(MemoryStorage::new(), 0)).unwrap_err();
    assert_eq!(violation.requirement(), Requirement::Model, "{violation}");
}

/// Rows that threads share
#[derive(Clone)]
struct Shared(Arc<Mutex<MemoryStorage>>, Isolation);

impl Snapshot for Shared {
    fn isolation(&self) -> Isolation {
        self.1
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.0.lock().unwrap().get(key)
    }
}

impl Storage for Shared {
    type Snapshot<'a> = Self;

    fn snapshot(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }

    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        self.0.lock().unwrap().commit(batch)
    }
}

/// Checks shared rows with this isolation, read by snapshots of this function
fn check_rows<R: Snapshot>(
    isolation: Isolation,
    open: fn(&Shared) -> Result<R, Error>,
    side_by_side: Option<&SideBySide<'_>>,
) -> Result<Passed, Violation> {
    let make = || {
        let storage = Shared(Arc::default(), isolation);
        let reader = storage.clone();
        (storage, move || open(&reader))
    };
    check_shared(make, side_by_side)
}

fn newest(shared: &Shared) -> Result<Shared, Error> {
    Ok(shared.clone())
}

/// Runs two functions in two threads
pub(crate) fn side_by_side(one: &mut (dyn FnMut() + Send), other: &mut (dyn FnMut() + Send)) {
    thread::scope(|scope| {
        scope.spawn(one);
        other();
    });
}

#[test]
fn single_reads_are_accepted_only_if_declared() {
    let passed = check_rows(Isolation::ReadCommitted, newest, Some(&side_by_side)).unwrap();
    assert_eq!(passed.left_out(), [Requirement::Durability]);
    let passed = check_rows(Isolation::ReadCommitted, newest, None).unwrap();
    assert_eq!(passed.left_out(), [Requirement::Threads, Requirement::Durability]);
    let violation = check_rows(Isolation::Snapshot, newest, None).unwrap_err();
    assert_eq!(violation.requirement(), Requirement::SnapshotIsolation);
}

#[test]
fn copies_are_snapshots() {
    let copy = |shared: &Shared| Ok(shared.0.lock().unwrap().clone());
    check_rows(Isolation::Snapshot, copy, Some(&side_by_side)).unwrap();
    let violation = check_rows(
        Isolation::Snapshot,
        |_| Err::<MemoryStorage, _>(storage_error("too many")),
        None,
    );
    assert_eq!(violation.unwrap_err().detail(), "taking a snapshot failed: too many");
}

/// A reader with the rows as they were when something was first read
struct ReadOnce(Shared, OnceCell<MemoryStorage>);

impl Snapshot for ReadOnce {
    fn isolation(&self) -> Isolation {
        self.0.1
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.1.get_or_init(|| self.0.0.lock().unwrap().clone()).get(key)
    }
}

#[test]
fn a_snapshot_that_is_taken_by_the_first_read_is_a_violation() {
    let read_once = |storage: &Shared| Ok(ReadOnce(storage.clone(), OnceCell::new()));
    let violation = check_rows(Isolation::Snapshot, read_once, None).unwrap_err();
    assert_eq!(violation.requirement(), Requirement::SnapshotIsolation);
    let start = "with a commit before read 0 of a walk, expected state 1, found state 2";
    assert!(violation.detail().starts_with(start), "{violation}");
    // The same for a reader that declares single reads but misses commits.
    let violation = check_rows(Isolation::ReadCommitted, read_once, None).unwrap_err();
    assert_eq!(violation.requirement(), Requirement::ReadCommitted);
    let start = "with a commit before read 1 of a walk, expected state 3, found state 2";
    assert!(violation.detail().starts_with(start), "{violation}");
}

#[test]
fn functions_that_run_one_after_the_other_are_refused() {
    let neither = check_rows(Isolation::ReadCommitted, newest, Some(&|_, _| ()));
    let violation = neither.unwrap_err();
    assert_eq!(violation.requirement(), Requirement::Threads);
    assert!(violation.detail().contains("side by side"), "{violation}");
}

#[test]
fn losing_rows_when_closed_is_a_violation() {
    let violation = check_durable(|| Ok(MemoryStorage::new())).unwrap_err();
    assert_eq!(violation.requirement(), Requirement::Durability);

    let mut openings = 0;
    let violation = check_durable(|| {
        openings += 1;
        if openings < 2 { Ok(MemoryStorage::new()) } else { Err(storage_error("locked")) }
    });
    assert_eq!(violation.unwrap_err().detail(), "opening number 2 failed: locked");
}

#[test]
fn losing_the_last_commit_when_closed_is_a_violation() {
    /// Writes each batch with the next commit
    struct DelayedStorage(Rc<RefCell<MemoryStorage>>, MemoryStorage, Batch);

    impl Snapshot for DelayedStorage {
        fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
            self.1.get(key)
        }
    }

    impl Storage for DelayedStorage {
        type Snapshot<'a> = &'a Self;

        fn snapshot(&self) -> Result<&Self, Error> {
            Ok(self)
        }

        fn commit(&mut self, batch: Batch) -> Result<(), Error> {
            self.1.commit(batch.clone())?;
            self.0.borrow_mut().commit(core::mem::replace(&mut self.2, batch))
        }
    }

    let disk = Rc::new(RefCell::new(MemoryStorage::new()));
    let open = || Ok(DelayedStorage(Rc::clone(&disk), disk.borrow().clone(), Batch::new()));
    assert_eq!(check_durable(open).unwrap_err().requirement(), Requirement::Durability);
}

// `Row` is immutable, so no storage in Rust can violate this requirement with two reads.
#[test]
fn a_violation_reports_the_first_different_byte() {
    let (requirement, key) = (Requirement::ImmutableRows, Key::number(Table::Blocks, 1));
    let violation =
        super::probe::compare(requirement, key, Some(&[1; 4]), Some(&[1, 1, 2, 1])).unwrap_err();
    assert_eq!(
        violation.detail(),
        "expected a row of 4 bytes, found a row of 4 bytes, which differ at byte 2"
    );
}
