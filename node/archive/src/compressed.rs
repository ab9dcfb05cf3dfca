//! Compression of the rows of any archive.
//!
//! A content is packed and compressed by itself, so a read decompresses one row and no other. Short
//! contents and those that compression makes longer stay as they are. What is decompressed is
//! bounded by the length in the envelope before memory is taken, and every length is checked.

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use milepost::archive::{Archive, Compression, Envelope, Origin};
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};
use zstd::zstd_safe::{CCtx, CDict, DCtx, compress_bound, get_error_name};

use crate::dictionary::{Dictionaries, Dictionary};
use crate::packing::{MAX_GROWTH, pack, unpack};

/// Contents up to this length are not compressed: references of receipts, heights
const MIN_LEN: usize = 128;
/// Maximum length of a content, which is far above what the gas limit can pay for
const MAX_LEN: u32 = 256 << 20;
/// Size of a trained dictionary: 64 KiB leave real transactions 8 % larger, 512 KiB make them 5 %
/// smaller, and each process keeps one in memory three times
const DICTIONARY_LEN: usize = 256 << 10;
/// Rows that are compressed again at a time
const PAGE: usize = 256;

/// The effort of compression
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Level {
    /// Level 3 of zstd, for new rows
    #[default]
    Fast,
    /// Level 9 of zstd: some 4 % smaller at a quarter of the speed, for rows that are compressed
    /// again
    Thorough,
}

impl Level {
    const fn number(self) -> i32 {
        match self {
            Self::Fast => 3,
            Self::Thorough => 9,
        }
    }
}

/// What compressing rows again did
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Recompressed {
    /// Number of rows that were replaced
    pub rows: u64,
    /// Their bytes before
    pub bytes_before: u64,
    /// Their bytes after
    pub bytes_after: u64,
}

/// An archive whose rows are compressed in the archive inside
///
/// Rows are put and returned with plain envelopes. Shared by reference between any number of
/// threads if the archive inside is.
pub struct CompressedArchive<A> {
    archive: A,
    origin: Origin,
    dictionaries: Dictionaries,
    compressor: RwLock<Arc<Compressor>>,
    /// Contexts of decompression, some 100 KiB each, which take longer to make than to use
    contexts: Mutex<Vec<DCtx<'static>>>,
}

/// The newest dictionary, prepared for a level
struct Compressor {
    dictionary: Arc<Dictionary>,
    prepared: CDict<'static>,
}

impl Compressor {
    fn new(dictionary: Arc<Dictionary>, level: Level) -> Self {
        let prepared = dictionary.compression(level.number());
        Self { dictionary, prepared }
    }

    /// The row with its content compressed, unless that makes it longer
    fn compress(&self, context: &mut CCtx<'static>, key: &Key, row: &Row) -> Result<Row, Error> {
        let envelope = Envelope::decode(key.table(), row)?;
        let content = envelope.content()?;
        if content.len() <= MIN_LEN || key.table() == Table::ArchiveDictionaries {
            return Ok(row.clone());
        }
        if envelope.content_len > MAX_LEN {
            let detail = format_args!("{} bytes, the limit is {MAX_LEN}", content.len());
            return Err(Error::new(ErrorKind::Limit, detail).at(format!("{key:?}")));
        }
        let packed = pack(content);
        let source = packed.as_deref().unwrap_or(content);
        let mut payload = Vec::with_capacity(compress_bound(source.len()));
        let compressed = context.compress_using_cdict(&mut payload, source, &self.prepared);
        compressed.map_err(|code| zstd_error(ErrorKind::Storage, code, key))?;
        if payload.len() >= content.len() {
            return Ok(row.clone());
        }
        let (dictionary, is_packed) = (self.dictionary.number, packed.is_some());
        let compression = Compression::Zstd { dictionary, is_packed };
        Ok(Row::from(envelope.with_payload(compression, &payload).encode()))
    }
}

impl<A: Archive> CompressedArchive<A> {
    /// Compresses the rows of this archive with its newest dictionary; an archive without one gets
    /// the built-in dictionary
    ///
    /// `origin` is the writer of the dictionaries.
    ///
    /// # Errors
    ///
    /// Those of the archive.
    pub fn new(archive: A, origin: Origin) -> Result<Self, Error> {
        let dictionaries = Dictionaries::default();
        let newest = dictionaries.newest(&archive, origin)?;
        let compressor = RwLock::new(Arc::new(Compressor::new(newest, Level::Fast)));
        Ok(Self { archive, origin, dictionaries, compressor, contexts: Mutex::default() })
    }

    /// The archive inside, whose rows are compressed
    pub const fn inner(&self) -> &A {
        &self.archive
    }

    /// Trains a dictionary on transactions of this archive, keeps it there and compresses new rows
    /// with it; returns its number
    ///
    /// Reads up to `max_bytes` of contents, spread over the archive if `stride` is more than 1:
    /// every `stride`-th row counts. Some 10 MB are enough. Other processes compress with it after
    /// their next start, and read it when they need it.
    ///
    /// # Errors
    ///
    /// Those of the archive, and of [`train`](crate::train).
    pub fn train(&self, max_bytes: usize, stride: usize) -> Result<u32, Error> {
        let (mut contents, mut bytes, mut position): (Vec<Vec<u8>>, _, _) = (Vec::new(), 0, 0);
        let mut rows = Vec::new();
        while self.page(Table::ArchivedTransactions, &mut rows)? && bytes < max_bytes {
            for (key, row) in &rows {
                if position % stride.max(1) == 0 && bytes < max_bytes {
                    let row = self.decompress(key, row.clone())?;
                    let content = Envelope::decode(key.table(), &row)?.content()?;
                    bytes += content.len();
                    contents.push(content.to_vec());
                }
                position += 1;
            }
        }
        let dictionary = crate::train(&contents, DICTIONARY_LEN)?;
        let dictionary = self.dictionaries.put_next(&self.archive, self.origin, &dictionary)?;
        let number = dictionary.number;
        let compressor = Arc::new(Compressor::new(dictionary, Level::Fast));
        *self.compressor.write().unwrap_or_else(PoisonError::into_inner) = compressor;
        Ok(number)
    }

    /// Compresses the rows of a table again, with the newest dictionary; those that would not
    /// become smaller stay
    ///
    /// Rows that several writers have put with different contents are left alone.
    ///
    /// # Errors
    ///
    /// Those of the archive; rows that were replaced before stay replaced.
    pub fn recompress(&self, table: Table, level: Level) -> Result<Recompressed, Error> {
        let newest = Arc::clone(&self.compressor().dictionary);
        let compressor = Compressor::new(newest, level);
        let mut context = CCtx::create();
        let (mut done, mut rows) = (Recompressed::default(), Vec::new());
        while self.page(table, &mut rows)? {
            let mut replaced = Vec::new();
            for same_key in rows.chunk_by(|(one, _), (other, _)| one == other) {
                let [(key, row)] = same_key else { continue };
                let plain = self.decompress(key, row.clone())?;
                let smaller = compressor.compress(&mut context, key, &plain)?;
                if smaller.len() < row.len() {
                    done.rows += 1;
                    done.bytes_before += row.len() as u64;
                    done.bytes_after += smaller.len() as u64;
                    replaced.push((*key, smaller));
                }
            }
            self.archive.replace_many(&replaced)?;
        }
        Ok(done)
    }

    /// Replaces `rows` by those after its last one; returns whether there are any
    fn page(&self, table: Table, rows: &mut Vec<(Key, Row)>) -> Result<bool, Error> {
        let after = rows.last().map(|(key, _)| *key);
        rows.clear();
        self.archive.scan(table, after.as_ref(), PAGE, rows)?;
        Ok(!rows.is_empty())
    }

    fn compressor(&self) -> Arc<Compressor> {
        Arc::clone(&self.compressor.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn compress_all(&self, rows: &[(Key, Row)]) -> Result<Vec<(Key, Row)>, Error> {
        let (compressor, mut context) = (self.compressor(), CCtx::create());
        let compress = |(key, row): &(Key, Row)| {
            compressor.compress(&mut context, key, row).map(|row| (*key, row))
        };
        rows.iter().map(compress).collect()
    }

    /// The row with a plain envelope, for a row of the [archive inside](Self::inner)
    ///
    /// For checks, which continue after a row that cannot be decompressed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`] if the row is damaged or its dictionary is missing, and those of the
    /// archive if the dictionary has to be read.
    pub fn decompress(&self, key: &Key, row: Row) -> Result<Row, Error> {
        let envelope = Envelope::decode(key.table(), &row)?;
        let Compression::Zstd { dictionary, is_packed } = envelope.compression else {
            return Ok(row);
        };
        let corrupt = |detail: fmt::Arguments<'_>| {
            Error::new(ErrorKind::Corrupt, detail).at(format!("{key:?}"))
        };
        if envelope.content_len > MAX_LEN {
            let length = envelope.content_len;
            return Err(corrupt(format_args!("{length} bytes, the limit is {MAX_LEN}")));
        }
        let dictionary = self.dictionaries.get(&self.archive, dictionary)?;
        let content_len = envelope.content_len as usize;
        let growth = if is_packed { MAX_GROWTH } else { 0 };
        let mut content: Vec<u8> = Vec::with_capacity(content_len + growth);
        let mut context = self.context();
        context
            .decompress_using_ddict(&mut content, envelope.payload, &dictionary.decompression)
            .map_err(|code| zstd_error(ErrorKind::Corrupt, code, key))?;
        // After an error it is dropped.
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner).push(context);
        if is_packed {
            let unpacked = unpack(&content, content_len);
            content = unpacked.ok_or_else(|| corrupt(format_args!("it cannot be unpacked")))?;
        }
        if content.len() != content_len {
            let length = content.len();
            return Err(corrupt(format_args!("{length} bytes, its envelope says {content_len}")));
        }
        Ok(Row::from(envelope.with_payload(Compression::None, &content).encode()))
    }

    fn context(&self) -> DCtx<'static> {
        let context = self.contexts.lock().unwrap_or_else(PoisonError::into_inner).pop();
        context.unwrap_or_else(DCtx::create)
    }
}

impl<A: Archive> Archive for CompressedArchive<A> {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        let first = rows.len();
        self.archive.get_many(keys, rows)?;
        for (key, row) in keys.iter().zip(rows.iter_mut().skip(first)) {
            *row = row.take().map(|row| self.decompress(key, row)).transpose()?;
        }
        Ok(())
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.archive.put_many(&self.compress_all(rows)?)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.archive.replace_many(&self.compress_all(rows)?)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.archive.remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        let first = rows.len();
        self.archive.scan(table, after, limit, rows)?;
        for (key, row) in rows.iter_mut().skip(first) {
            *row = self.decompress(key, row.clone())?;
        }
        Ok(())
    }
}

impl<A: fmt::Debug> fmt::Debug for CompressedArchive<A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let archive = &self.archive;
        formatter
            .debug_struct("CompressedArchive")
            .field("archive", archive)
            .finish_non_exhaustive()
    }
}

fn zstd_error(kind: ErrorKind, code: usize, key: &Key) -> Error {
    Error::new(kind, format_args!("zstd: {}", get_error_name(code))).at(format!("{key:?}"))
}
