//! Storages that are each broken in one way, and the duty at which each must be caught.

extern crate std;

use alloc::rc::Rc;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use super::{Duty, Violation, check, check_durable, check_snapshots};
use crate::facts::{Batch, Key, MemoryStorage, Row, Rows, Storage, Table};
use crate::{Error, ErrorKind};

/// A way to be broken: what is wrong with a read, with many reads, with a batch
#[derive(Clone, Copy)]
#[expect(clippy::type_complexity, reason = "the shape of `Rows::get_many`")]
struct Broken {
    get: fn(&MemoryStorage, &Key) -> Result<Option<Row>, Error>,
    read: fn(&MemoryStorage, &Key, &mut dyn FnMut(&[u8])) -> Result<bool, Error>,
    get_many: fn(&MemoryStorage, &[Key], &mut Vec<Option<Row>>) -> Result<(), Error>,
    commit: fn(&mut MemoryStorage, Batch) -> Result<(), Error>,
}

const WHOLE: Broken = Broken {
    get: |storage, key| storage.get(key),
    read: |storage, key, reader| storage.read(key, reader),
    get_many: |storage, keys, rows| storage.get_many(keys, rows),
    commit: |storage, batch| storage.commit(batch),
};

struct BrokenStorage(MemoryStorage, Broken);

impl Rows for BrokenStorage {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        (self.1.get)(&self.0, key)
    }

    fn read(&self, key: &Key, reader: &mut dyn FnMut(&[u8])) -> Result<bool, Error> {
        (self.1.read)(&self.0, key, reader)
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        (self.1.get_many)(&self.0, keys, rows)
    }
}

impl Storage for BrokenStorage {
    fn commit(&mut self, batch: Batch) -> Result<(), Error> {
        (self.1.commit)(&mut self.0, batch)
    }
}

#[track_caller]
fn caught(broken: Broken, duty: Duty) -> Violation {
    let violation = check(|| BrokenStorage(MemoryStorage::new(), broken)).unwrap_err();
    assert_eq!(violation.duty(), duty, "{violation}");
    assert!(violation.to_string().contains(duty.sentence()));
    violation
}

fn refusal(detail: &str) -> Error {
    Error::new(ErrorKind::Storage, detail)
}

/// A batch with its changes turned into others
fn changed(batch: Batch, change: impl Fn(Key, Option<Row>) -> Option<(Key, Option<Row>)>) -> Batch {
    batch_of(batch.into_iter().filter_map(|(key, row)| change(key, row)))
}

fn batch_of(changes: impl IntoIterator<Item = (Key, Option<Row>)>) -> Batch {
    let mut batch = Batch::new();
    for (key, row) in changes {
        match row {
            Some(row) => batch.put(key, row),
            None => batch.remove(key),
        }
    }
    batch
}

#[test]
fn a_memory_storage_keeps_every_duty() {
    check(MemoryStorage::new).unwrap();
    check_snapshots(MemoryStorage::new, |storage| Ok(storage.clone())).unwrap();
    check(|| BrokenStorage(MemoryStorage::new(), WHOLE)).unwrap();
}

#[test]
fn every_duty_is_checked_in_order() {
    let checked = super::duties::in_order::<MemoryStorage>().map(|(duty, _)| duty);
    let last = [Duty::Model, Duty::Snapshots, Duty::Durable];
    assert_eq!([&checked[..], &last[..]].concat(), Duty::ALL);
}

#[test]
fn refuses_missing_rows() {
    let get = |storage: &MemoryStorage, key: &Key| {
        storage.get(key)?.map(Some).ok_or_else(|| refusal("no such row"))
    };
    let violation = caught(Broken { get, ..WHOLE }, Duty::Missing);
    assert_eq!(violation.key(), Some(&Key::from_bytes(Table::Chain, &[0]).unwrap()));
    assert_eq!(violation.detail(), "get was refused: no such row");
    assert_eq!(
        violation.to_string(),
        "broken duty \"a missing row is none, and no error\": chain/00: get was refused: no such row"
    );
}

#[test]
fn applies_only_the_first_change() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        storage.commit(batch_of(batch.into_iter().take(1)))
    };
    caught(Broken { commit, ..WHOLE }, Duty::Put);
}

#[test]
fn refuses_to_replace() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        let there = storage.clone();
        storage.commit(changed(batch, |key, row| {
            let replaces = row.is_some() && there.get(&key).is_ok_and(|row| row.is_some());
            (!replaces).then_some((key, row))
        }))
    };
    let violation = caught(Broken { commit, ..WHOLE }, Duty::Replace);
    assert_eq!(
        violation.detail(),
        "expected a row of 15 bytes, found a row of 5 bytes, which differ from byte 0 on"
    );
}

#[test]
fn forgets_removes() {
    let commit = |storage: &mut MemoryStorage, batch| {
        storage.commit(changed(batch, |key, row| row.is_some().then_some((key, row))))
    };
    let violation = caught(Broken { commit, ..WHOLE }, Duty::Remove);
    assert_eq!(violation.detail(), "expected no row, found a row of 7 bytes");
}

#[test]
fn refuses_to_remove_what_is_missing() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        for (key, row) in batch.changes() {
            if row.is_none() && storage.get(key)?.is_none() {
                return Err(refusal("no such row"));
            }
        }
        storage.commit(batch)
    };
    caught(Broken { commit, ..WHOLE }, Duty::RemoveMissing);
}

#[test]
fn mixes_tables() {
    fn mixed(key: &Key) -> Key {
        Key::from_bytes(Table::Chain, key.as_bytes()).unwrap()
    }
    let broken = Broken {
        get: |storage, key| storage.get(&mixed(key)),
        read: |storage, key, reader| storage.read(&mixed(key), reader),
        get_many: |storage, keys, rows| {
            storage.get_many(&keys.iter().map(mixed).collect::<Vec<_>>(), rows)
        },
        commit: |storage, batch| {
            storage.commit(changed(batch, |key, row| Some((mixed(&key), row))))
        },
    };
    caught(broken, Duty::TablesApart);
}

/// A storage that knows keys by something less than themselves
fn confuses_keys(confused: fn(&Key) -> Key) {
    std::thread_local! {
        static CONFUSED: Cell<fn(&Key) -> Key> = const { Cell::new(|key| *key) };
    }
    CONFUSED.set(confused);
    let broken = Broken {
        get: |storage, key| storage.get(&CONFUSED.get()(key)),
        read: |storage, key, reader| storage.read(&CONFUSED.get()(key), reader),
        get_many: |storage, keys, rows| {
            storage.get_many(&keys.iter().map(CONFUSED.get()).collect::<Vec<_>>(), rows)
        },
        commit: |storage, batch| {
            storage.commit(changed(batch, |key, row| Some((CONFUSED.get()(&key), row))))
        },
    };
    caught(broken, Duty::KeysApart);
}

#[test]
fn pads_keys_with_zeros() {
    confuses_keys(|key| {
        let mut bytes = key.as_bytes().to_vec();
        bytes.resize(Key::LONGEST, 0);
        Key::from_bytes(key.table(), &bytes).unwrap()
    });
}

#[test]
fn cuts_keys_short() {
    confuses_keys(|key| {
        let bytes = key.as_bytes();
        Key::from_bytes(key.table(), &bytes[..bytes.len().min(31)]).unwrap()
    });
}

#[test]
fn ends_keys_at_a_zero() {
    confuses_keys(|key| {
        let bytes = key.as_bytes();
        // The numbers of the other duties begin with zeros and must stay apart.
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
        Key::from_bytes(key.table(), &bytes[..end]).unwrap()
    });
}

#[test]
fn folds_letters() {
    confuses_keys(|key| {
        Key::from_bytes(key.table(), &key.as_bytes().to_ascii_lowercase()).unwrap()
    });
}

#[test]
fn drops_empty_rows() {
    let commit = |storage: &mut MemoryStorage, batch| {
        storage.commit(changed(batch, |key, row| Some((key, row.filter(|row| !row.is_empty())))))
    };
    caught(Broken { commit, ..WHOLE }, Duty::EmptyRow);
}

#[test]
fn trims_rows() {
    let commit = |storage: &mut MemoryStorage, batch| {
        storage.commit(changed(batch, |key, row| {
            Some((key, row.map(|row| Row::from(row.trim_ascii_end()))))
        }))
    };
    caught(Broken { commit, ..WHOLE }, Duty::AllBytes);
}

#[test]
fn cuts_large_rows() {
    let commit = |storage: &mut MemoryStorage, batch| {
        storage.commit(changed(batch, |key, row| {
            Some((key, row.map(|row| Row::from(&row[..row.len().min(1 << 20)]))))
        }))
    };
    let violation = caught(Broken { commit, ..WHOLE }, Duty::LargeRow);
    assert!(violation.detail().ends_with("which differ from byte 1048576 on"), "{violation}");
}

#[test]
fn shows_other_rows_than_it_gives() {
    let read = |_: &MemoryStorage, _: &Key, _: &mut dyn FnMut(&[u8])| Ok(false);
    caught(Broken { read, ..WHOLE }, Duty::Put);
    let read = |storage: &MemoryStorage, key: &Key, reader: &mut dyn FnMut(&[u8])| {
        storage.read(key, &mut |row| {
            reader(row);
            reader(row);
        })
    };
    let violation = caught(Broken { read, ..WHOLE }, Duty::Put);
    assert_eq!(violation.detail(), "read showed 2 rows and said true");
}

#[test]
fn gives_many_rows_in_its_own_order() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        let mut sorted = keys.to_vec();
        sorted.sort();
        storage.get_many(&sorted, rows)
    };
    caught(Broken { get_many, ..WHOLE }, Duty::ManyInOrder);
}

#[test]
fn leaves_missing_rows_out_of_many() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        storage.get_many(keys, rows)?;
        rows.retain(Option::is_some);
        Ok(())
    };
    let violation = caught(Broken { get_many, ..WHOLE }, Duty::ManyInOrder);
    assert_eq!(violation.detail(), "get_many gave 132 rows for 200 keys");
}

#[test]
fn gives_repeated_keys_once() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        let mut seen = Vec::new();
        for key in keys {
            let repeated = seen.contains(key);
            seen.push(*key);
            rows.push(if repeated { None } else { storage.get(key)? });
        }
        Ok(())
    };
    caught(Broken { get_many, ..WHOLE }, Duty::ManyInOrder);
}

#[test]
fn clears_the_vector() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        rows.clear();
        storage.get_many(keys, rows)
    };
    caught(Broken { get_many, ..WHOLE }, Duty::ManyAppend);
}

#[test]
fn prepends_to_the_vector() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        let before = core::mem::take(rows);
        storage.get_many(keys, rows)?;
        rows.extend(before);
        Ok(())
    };
    caught(Broken { get_many, ..WHOLE }, Duty::ManyAppend);
}

#[test]
fn refuses_no_keys() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        if keys.is_empty() {
            return Err(refusal("no keys"));
        }
        storage.get_many(keys, rows)
    };
    caught(Broken { get_many, ..WHOLE }, Duty::ManyOfNone);
}

#[test]
fn answers_a_page_of_keys() {
    let get_many = |storage: &MemoryStorage, keys: &[Key], rows: &mut Vec<Option<Row>>| {
        storage.get_many(&keys[..keys.len().min(1000)], rows)
    };
    caught(Broken { get_many, ..WHOLE }, Duty::ManyThousands);
}

#[test]
fn applies_removes_last() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        storage.commit(changed(batch.clone(), |key, row| row.is_some().then_some((key, row))))?;
        storage.commit(changed(batch, |key, row| row.is_none().then_some((key, row))))
    };
    caught(Broken { commit, ..WHOLE }, Duty::LastWord);
}

#[test]
fn applies_changes_backwards() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        storage.commit(batch_of(batch.changes().iter().rev().cloned()))
    };
    caught(Broken { commit, ..WHOLE }, Duty::LastWord);
}

#[test]
fn refuses_empty_batches() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        if batch.is_empty() {
            return Err(refusal("nothing to do"));
        }
        storage.commit(batch)
    };
    let violation = caught(Broken { commit, ..WHOLE }, Duty::EmptyBatch);
    assert_eq!(violation.key(), None);
    assert_eq!(violation.detail(), "a batch of 0 changes was refused: nothing to do");
}

#[test]
fn drops_the_end_of_large_batches() {
    let commit = |storage: &mut MemoryStorage, batch: Batch| {
        storage.commit(batch_of(batch.into_iter().take(9999)))
    };
    caught(Broken { commit, ..WHOLE }, Duty::LargeBatch);
}

/// Forgets a row in a way that only a long run shows: at the 150th commit
#[test]
fn forgets_a_row_in_a_long_run() {
    struct Forgetful(MemoryStorage, usize);

    impl Rows for Forgetful {
        fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
            self.0.get(key)
        }
    }

    impl Storage for Forgetful {
        fn commit(&mut self, batch: Batch) -> Result<(), Error> {
            self.1 += 1;
            self.0.commit(batch)?;
            if self.1 == 150 {
                let forgotten = self.0.iter().map(|(key, _)| *key).min();
                let mut batch = Batch::new();
                forgotten.into_iter().for_each(|key| batch.remove(key));
                self.0.commit(batch)?;
            }
            Ok(())
        }
    }

    let violation = check(|| Forgetful(MemoryStorage::new(), 0)).unwrap_err();
    assert_eq!(violation.duty(), Duty::Model, "{violation}");
}

/// A snapshot that is the storage itself
#[test]
fn snapshots_that_follow_the_storage_are_caught() {
    #[derive(Default)]
    struct Shared(Rc<RefCell<MemoryStorage>>);

    impl Rows for Shared {
        fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
            self.0.borrow().get(key)
        }
    }

    impl Storage for Shared {
        fn commit(&mut self, batch: Batch) -> Result<(), Error> {
            self.0.borrow_mut().commit(batch)
        }
    }

    check(Shared::default).unwrap();
    let violation =
        check_snapshots(Shared::default, |storage| Ok(Shared(Rc::clone(&storage.0)))).unwrap_err();
    assert_eq!(violation.duty(), Duty::Snapshots);
    let refused = check_snapshots(Shared::default, |_| Err::<Shared, _>(refusal("too many")));
    assert_eq!(refused.unwrap_err().detail(), "a snapshot was refused: too many");
}

#[test]
fn a_storage_that_forgets_when_closed_is_caught() {
    let violation = check_durable(|| Ok(MemoryStorage::new())).unwrap_err();
    assert_eq!(violation.duty(), Duty::Durable);

    let mut opened = 0;
    let refused = check_durable(|| {
        opened += 1;
        if opened < 2 { Ok(MemoryStorage::new()) } else { Err(refusal("locked")) }
    });
    assert_eq!(refused.unwrap_err().detail(), "opening for the 2. time was refused: locked");
}

#[test]
fn a_storage_that_loses_its_last_commit_is_caught() {
    /// Writes a batch out when the next one comes
    struct Lazy(Rc<RefCell<MemoryStorage>>, MemoryStorage, Batch);

    impl Rows for Lazy {
        fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
            self.1.get(key)
        }
    }

    impl Storage for Lazy {
        fn commit(&mut self, batch: Batch) -> Result<(), Error> {
            self.1.commit(batch.clone())?;
            self.0.borrow_mut().commit(core::mem::replace(&mut self.2, batch))
        }
    }

    let disk = Rc::new(RefCell::new(MemoryStorage::new()));
    let open = || Ok(Lazy(Rc::clone(&disk), disk.borrow().clone(), Batch::new()));
    assert_eq!(check_durable(open).unwrap_err().duty(), Duty::Durable);
}

/// Rows are immutable as a type, so only a storage that reads again can break this duty
#[test]
fn the_comparison_of_rows_says_where_they_differ() {
    let mut storage = MemoryStorage::new();
    let probe = super::probe::Probe::new(&mut storage, Duty::RowsStay);
    let key = Key::number(Table::Blocks, 1);
    let violation = probe.compare(key, Some(&[1; 4]), Some(&[1, 1, 2, 1])).unwrap_err();
    assert_eq!(
        violation.detail(),
        "expected a row of 4 bytes, found a row of 4 bytes, which differ from byte 2 on"
    );
}
