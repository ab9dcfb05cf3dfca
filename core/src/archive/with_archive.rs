//! A storage and an archive as one, for hosts whose reads block.
//!
//! Keys name their table, and the tables of an archive have numbers of their own, so each read goes
//! where its row is. A host whose reads do not block does the same with the keys of a query.

use alloc::vec::Vec;

use super::Archive;
use crate::Error;
use crate::storage::{Isolation, Key, Row, Snapshot, failed_read};

/// A snapshot that reads the keys of an archive's tables from that archive
///
/// A request asks it where the snapshot does not know, if the
/// [settings](crate::endpoint::Settings::archive) enable it. The isolation is that of the snapshot,
/// because rows of an archive do not change.
///
/// ```
/// use milepost::archive::{ArchiveLookup, MemoryArchive, WithArchive};
/// use milepost::endpoint::{Engine, RequestState, Settings};
/// use milepost::storage::MemoryStorage;
///
/// let engine = Engine::new(Settings::default().with_archive(ArchiveLookup::Unknown));
/// let (storage, archive) = (MemoryStorage::new(), MemoryArchive::new());
/// let body = br#"{"method": "tx", "params": {
///     "tx_hash": "11111111111111111111111111111118", "sender_account_id": "alice.near",
///     "wait_until": "NONE"}}"#;
/// let snapshot = WithArchive { snapshot: &storage, archive: &archive };
/// let state = engine.respond(engine.parse(body, None), &snapshot);
/// let RequestState::Ready(response) = state else { panic!("it does not wait") };
/// assert!(String::from_utf8(response.body).unwrap().contains("UNKNOWN_TRANSACTION"));
/// ```
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a pair")]
pub struct WithArchive<S, A> {
    /// Where the rows of a storage's tables are read
    pub snapshot: S,
    /// Where the rows of an archive's tables are read
    pub archive: A,
}

impl<S, A: Archive> WithArchive<S, A> {
    #[cold]
    fn archived(&self, key: &Key) -> Result<Option<Row>, Error> {
        let mut rows = Vec::with_capacity(1);
        let keys = [*key];
        let read = self.archive.get_many(&keys, &mut rows);
        read.map_err(|error| failed_read(error, "get_many", &keys))?;
        Ok(rows.pop().flatten())
    }
}

impl<S: Snapshot, A: Archive> Snapshot for WithArchive<S, A> {
    fn isolation(&self) -> Isolation {
        self.snapshot.isolation()
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        if key.table().is_archive() { self.archived(key) } else { self.snapshot.get(key) }
    }

    fn get_with(
        &self,
        key: &Key,
        reader: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Row>, Error> {
        if key.table().is_archive() {
            return Ok(self.archived(key)?.filter(|row| reader(row)));
        }
        self.snapshot.get_with(key, reader)
    }

    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        let of_archive = |key: &&Key| key.table().is_archive();
        match keys.iter().filter(of_archive).count() {
            0 => self.snapshot.get_many(keys, rows),
            count if count == keys.len() => self.archive.get_many(keys, rows),
            // The rows of both are asked for in one call each, and put in the order of the keys.
            _ => {
                let (archived, stored): (Vec<Key>, Vec<Key>) =
                    keys.iter().partition(|key| of_archive(key));
                let [mut archived_rows, mut stored_rows] = [Vec::new(), Vec::new()];
                let failed = |keys| move |error| failed_read(error, "get_many", keys);
                let read = self.archive.get_many(&archived, &mut archived_rows);
                read.map_err(failed(&archived[..]))?;
                let read = self.snapshot.get_many(&stored, &mut stored_rows);
                read.map_err(failed(&stored[..]))?;
                let (mut archived_rows, mut stored_rows) =
                    (archived_rows.into_iter(), stored_rows.into_iter());
                rows.extend(keys.iter().filter_map(|key| match of_archive(&key) {
                    true => archived_rows.next(),
                    false => stored_rows.next(),
                }));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{Envelope, MemoryArchive, Origin, WriterId};
    use crate::storage::{Batch, MemoryStorage, Storage as _, Table};

    #[test]
    fn each_key_is_read_where_its_table_is() {
        let (mut storage, archive) = (MemoryStorage::new(), MemoryArchive::new());
        let stored = [1, 2].map(|number| Key::number(Table::Heights, number));
        let archived = [1, 2].map(|number| Key::number(Table::ArchivedHeights, number));
        let row = Row::from(Envelope::plain(Origin::of(WriterId(1)), b"archived").encode());
        archive.put_many(&[(archived[0], row.clone())]).unwrap();
        let mut batch = Batch::new();
        batch.put(stored[0], &b"stored"[..]);
        storage.commit(batch).unwrap();
        let both = WithArchive { snapshot: &storage, archive: &archive };
        let expected = |key: &Key| match key {
            key if *key == stored[0] => Some(Row::from(&b"stored"[..])),
            key if *key == archived[0] => Some(row.clone()),
            _ => None,
        };
        let all = [stored[0], archived[0], archived[1], stored[1], stored[0]];
        for keys in [&all[..], &stored[..], &archived[..], &[]] {
            let mut rows = Vec::new();
            both.get_many(keys, &mut rows).unwrap();
            assert_eq!(rows, keys.iter().map(expected).collect::<Vec<_>>());
        }
        for key in all {
            assert_eq!(both.get(&key).unwrap(), expected(&key));
            for keep in [false, true] {
                let mut passed = None;
                let mut reader = |row: &[u8]| {
                    passed = Some(Row::from(row));
                    keep
                };
                let kept = both.get_with(&key, &mut reader).unwrap();
                assert_eq!(
                    (passed, kept.is_some()),
                    (expected(&key), keep && expected(&key).is_some())
                );
            }
        }
    }
}
