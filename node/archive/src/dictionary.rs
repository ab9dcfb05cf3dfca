//! Dictionaries: how they are trained, kept as rows of the archive, and prepared for use.
//!
//! A dictionary never changes: a row names the one that it was compressed with by its number, so
//! new ones are added and old ones are kept. The one with the highest number compresses new rows.
//! Number 1 is built in; it was trained on practice data (`examples/train_built_in.rs`).

use alloc::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use milepost::archive::{Archive, Envelope, Origin};
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};
use zstd::zstd_safe::{CDict, DDict};

use crate::packing::pack;

/// The dictionary that every archive starts with: 64 KiB, trained on transactions of a practice
/// chain
pub const BUILT_IN_DICTIONARY: &[u8] = include_bytes!("practice.dictionary");

/// Maximum size of a dictionary that is read
const MAX_DICTIONARY_LEN: usize = 4 << 20;

/// Trains a dictionary of at most `max_len` bytes on the contents of rows, as they are compressed
///
/// Some thousand rows and a hundred times the size of the dictionary are enough.
///
/// # Errors
///
/// [`ErrorKind::Limit`] if there are too few contents to train on.
pub fn train(contents: &[impl AsRef<[u8]>], max_len: usize) -> Result<Vec<u8>, Error> {
    let packed: Vec<Cow<'_, [u8]>> =
        contents.iter().map(|content| packed(content.as_ref())).collect();
    zstd::dict::from_samples(&packed, max_len).map_err(|error| {
        let detail = format_args!("a dictionary of {} contents: {error}", contents.len());
        Error::new(ErrorKind::Limit, detail).with_source(error)
    })
}

fn packed(content: &[u8]) -> Cow<'_, [u8]> {
    pack(content).map_or(Cow::Borrowed(content), Cow::Owned)
}

/// A dictionary, prepared for both directions
pub(crate) struct Dictionary {
    pub(crate) number: u32,
    pub(crate) decompression: DDict<'static>,
    pub(crate) bytes: Vec<u8>,
}

impl Dictionary {
    fn new(number: u32, bytes: &[u8]) -> Self {
        Self { number, decompression: DDict::create(bytes), bytes: bytes.to_vec() }
    }

    pub(crate) fn compression(&self, level: i32) -> CDict<'static> {
        CDict::create(&self.bytes, level)
    }
}

/// The dictionaries of an archive
#[derive(Default)]
pub(crate) struct Dictionaries(RwLock<HashMap<u32, Arc<Dictionary>>>);

impl Dictionaries {
    /// The dictionary of this number, which is read if it is not known yet
    pub(crate) fn get(
        &self,
        archive: &impl Archive,
        number: u32,
    ) -> Result<Arc<Dictionary>, Error> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned();
        if let Some(dictionary) = known {
            return Ok(dictionary);
        }
        let (key, mut rows) = (key(number), Vec::new());
        archive.get_many(&[key], &mut rows)?;
        let row = rows.pop().flatten().ok_or_else(|| {
            let detail = format_args!("there is no dictionary {number}");
            Error::new(ErrorKind::Corrupt, detail).at(Table::ArchiveDictionaries.name())
        })?;
        self.add(number, &row)
    }

    /// The newest dictionary, after the built-in one was put into an archive that has none
    pub(crate) fn newest(
        &self,
        archive: &impl Archive,
        origin: Origin,
    ) -> Result<Arc<Dictionary>, Error> {
        if let Some((number, row)) = last(archive)? {
            return self.add(number, &row);
        }
        self.put(archive, origin, 1, BUILT_IN_DICTIONARY)
    }

    /// Adds a dictionary to the archive, which has the next number
    pub(crate) fn put_next(
        &self,
        archive: &impl Archive,
        origin: Origin,
        bytes: &[u8],
    ) -> Result<Arc<Dictionary>, Error> {
        let number = last(archive)?.map_or(1, |(number, _)| number.saturating_add(1));
        self.put(archive, origin, number, bytes)
    }

    fn put(
        &self,
        archive: &impl Archive,
        origin: Origin,
        number: u32,
        bytes: &[u8],
    ) -> Result<Arc<Dictionary>, Error> {
        let row = Row::from(Envelope::plain(origin, bytes).encode());
        archive.put_many(&[(key(number), row)])?;
        // Read again: another writer may have put another one at the same time, which is an error.
        self.get(archive, number)
    }

    fn add(&self, number: u32, row: &[u8]) -> Result<Arc<Dictionary>, Error> {
        let at = || format!("{}/{number}", Table::ArchiveDictionaries.name());
        let envelope = Envelope::decode(Table::ArchiveDictionaries, row)?;
        let bytes = envelope.content().map_err(|error| error.at(at()))?;
        if bytes.len() > MAX_DICTIONARY_LEN {
            let detail = format_args!("{} bytes, the limit is {MAX_DICTIONARY_LEN}", bytes.len());
            return Err(Error::new(ErrorKind::Limit, detail).at(at()));
        }
        // Once for each process, so the hash costs nothing.
        envelope.verify(bytes).map_err(|error| error.at(at()))?;
        let dictionary = Arc::new(Dictionary::new(number, bytes));
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(known.entry(number).or_insert(dictionary)))
    }
}

fn key(number: u32) -> Key {
    Key::number(Table::ArchiveDictionaries, number.into())
}

/// The dictionary with the highest number; there are few
fn last(archive: &impl Archive) -> Result<Option<(u32, Row)>, Error> {
    let mut last: Option<(u32, Row)> = None;
    let mut rows: Vec<(Key, Row)> = Vec::new();
    loop {
        let after = rows.last().map(|(key, _)| *key);
        rows.clear();
        archive.scan(Table::ArchiveDictionaries, after.as_ref(), 16, &mut rows)?;
        if rows.is_empty() {
            return Ok(last);
        }
        for (key, row) in &rows {
            let number = <[u8; 8]>::try_from(key.bytes_in_table()).map(u64::from_be_bytes);
            let number = number.ok().and_then(|number| u32::try_from(number).ok());
            let number = number.ok_or_else(|| {
                Error::new(ErrorKind::Corrupt, "not the key of a dictionary").at(format!("{key:?}"))
            })?;
            if last.as_ref().is_none_or(|(highest, _)| number > *highest) {
                last = Some((number, row.clone()));
            }
        }
    }
}
