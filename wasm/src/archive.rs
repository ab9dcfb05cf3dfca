//! The archive of an endpoint: which of the host's rows is served, and what is put into it.
//!
//! The host's archive may be asynchronous, so nothing here calls it: its rows are handed in, and
//! what is to be written is handed out. The writer goes on after an export only when the host says
//! that all of it is durable; until then the same rows are exported again. The host keeps bytes and
//! interprets none.

use core::cell::RefCell;
use std::collections::VecDeque;

use milepost::archive::{
    Archive, ArchiveLookup, ArchiveWriter, Export, WriterId, WriterProgress, served_row,
};
use milepost::import::{ArchiveFloor, ImportSettings, Retention};
use milepost::storage::{BlockPoint, Key, Row, Table};
use milepost::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::json::{List, Object};
use crate::packed_rows::{archive_key, encode_archive_rows};
use crate::{Config, Endpoint, EngineError};

/// What an endpoint knows of its archive
#[derive(Debug)]
pub(crate) struct EndpointArchive {
    /// Maximum number of blocks that the storage keeps for the archive
    max_blocks: u64,
    /// `None` until the host has opened it, and for an archive that is only read
    writer: Option<ArchiveWriter>,
    /// The writer as it is when all calls are done
    next_writer: Option<ArchiveWriter>,
    /// What is to be written for the current export
    calls: VecDeque<Call>,
    /// The progress of all writers, of an archive that is only read
    union: WriterProgress,
    /// Versions of the row of a key that are handed in next
    versions: Vec<Row>,
    /// Rows of progress that are handed in next
    progress_rows: Vec<(Key, Row)>,
    is_forgetting: bool,
    /// The oldest height of the storage, and its head
    earliest: u64,
    head: u64,
    /// The height from which on the storage keeps its blocks
    kept_from: u64,
    /// Number of blocks that were forgotten although they are not archived
    pub(crate) evicted_blocks: u64,
}

/// A call of the host's archive
#[derive(Clone, Debug)]
struct Call {
    replaces: bool,
    rows: Vec<u8>,
}

impl EndpointArchive {
    pub(crate) fn new(max_blocks: u64, retention: Retention) -> Self {
        Self {
            max_blocks,
            versions: Vec::new(),
            progress_rows: Vec::new(),
            is_forgetting: retention != Retention::Everything,
            earliest: 0,
            head: 0,
            writer: None,
            next_writer: None,
            calls: VecDeque::new(),
            union: WriterProgress::default(),
            kept_from: 0,
            evicted_blocks: 0,
        }
    }

    /// These settings of an import, which keeps what is not archived
    pub(crate) fn import_settings(&self, settings: ImportSettings) -> ImportSettings {
        let (height, max_blocks) = (self.kept_from, self.max_blocks);
        settings.with_archive_floor(ArchiveFloor { height, max_blocks })
    }

    /// Takes in a row that the host's archive has for a key
    pub(crate) fn push_version(&mut self, row: Row) {
        self.versions.push(row);
    }

    /// The row that a key serves, of those that were taken in
    pub(crate) fn served_row(&mut self, key: &[u8]) -> Result<Option<Row>, Error> {
        served_row(&archive_key(key)?, core::mem::take(&mut self.versions))
    }

    /// Goes on after what a writer has archived; the row of its progress was taken in
    pub(crate) fn open_writer(&mut self, id: WriterId) -> Result<(), Error> {
        let key = WriterProgress::key(id);
        let progress = self.served_row(key.as_bytes())?;
        let rows = HostRows::new(progress.map(|row| (key, row)).into_iter().collect());
        self.writer = Some(ArchiveWriter::open(id, &rows)?);
        Ok(())
    }

    /// The writer
    pub(crate) fn writer(&self) -> Result<&ArchiveWriter, Error> {
        self.writer.as_ref().ok_or_else(|| Error::new(ErrorKind::Usage, "the writer is not open"))
    }

    /// Takes in what is to be exported
    pub(crate) fn handle_export(&mut self, export: Export) -> Result<(), Error> {
        let mut writer = self.writer()?.clone();
        let rows = HostRows::new(Vec::new());
        writer.put(export, &rows)?;
        self.calls = rows.calls.into_inner().into();
        self.next_writer = Some(writer);
        Ok(())
    }

    /// The next call of the current export: whether it replaces, in the first byte, and the rows
    pub(crate) fn take_call(&mut self) -> Option<Vec<u8>> {
        let call = self.calls.pop_front()?;
        Some([&[u8::from(call.replaces)][..], &call.rows].concat())
    }

    /// Takes in that all calls of the current export are done
    pub(crate) fn handle_exported(&mut self) {
        if let Some(writer) = self.next_writer.take() {
            self.writer = Some(writer);
        }
    }

    /// Takes in a row of the table of progress
    pub(crate) fn push_progress(&mut self, key: &[u8], row: Row) -> Result<(), Error> {
        self.progress_rows.push((archive_key(key)?, row));
        Ok(())
    }

    /// Takes in that these were all rows of the table of progress
    pub(crate) fn handle_progress(&mut self) -> Result<(), Error> {
        let rows = HostRows::new(core::mem::take(&mut self.progress_rows));
        self.union = WriterProgress::read_union(&rows)?;
        self.kept_from = self.progress().floor(self.earliest);
        Ok(())
    }

    /// Takes in the oldest height and the head of the storage
    pub(crate) fn handle_chain(&mut self, earliest: u64, head: Option<BlockPoint>) {
        (self.earliest, self.head) = (earliest, head.map_or(0, |head| head.height));
        self.kept_from = self.progress().floor(earliest);
    }

    /// Whether the storage cannot forget its oldest block by what is known of other writers
    pub(crate) fn needs_progress(&self) -> bool {
        self.writer.is_none() && self.is_forgetting && self.kept_from <= self.earliest
    }

    /// When requests ask the archive
    pub(crate) fn lookup(&self) -> ArchiveLookup {
        self.union.lookup(self.head)
    }

    /// What this endpoint has archived or, if it only reads, what all writers have
    fn progress(&self) -> &WriterProgress {
        self.writer.as_ref().map_or(&self.union, ArchiveWriter::progress)
    }

    /// As JSON text
    pub(crate) fn status(&self) -> String {
        let progress = self.progress();
        let archived = progress.heights.iter().last();
        let mut complete = List::new();
        for range in progress.complete_heights().iter() {
            let mut ends = List::new();
            ends.push(&range.start().to_string());
            ends.push(&range.end().to_string());
            complete.push(&ends.end());
        }
        let mut object = Object::new();
        object.number("archivedHeight", archived.map(|range| *range.end()));
        object.json("complete", &complete.end());
        object.number("openTransactions", Some(progress.open.len() as u64));
        object.number("keptFrom", Some(self.kept_from));
        object.number("evictedBlocks", Some(self.evicted_blocks));
        object.end()
    }
}

#[wasm_bindgen]
impl Config {
    /// Reads what the storage does not know from an archive of the host, and keeps blocks until
    /// they are there, up to this number
    pub fn archive(&mut self, backlog: u64) {
        self.settings.archive = ArchiveLookup::Unknown;
        self.archive_backlog = Some(backlog);
    }
}

#[wasm_bindgen]
impl Endpoint {
    /// The key under which the storage keeps the id of the writer of the archive
    pub fn writer_key() -> Vec<u8> {
        WriterId::key().as_bytes().to_vec()
    }

    /// The row of a new writer with this id
    pub fn writer_row(id: u64) -> Vec<u8> {
        WriterId(id).encode()
    }

    /// The key of the progress of a writer, by its row
    ///
    /// # Errors
    ///
    /// The row is of another version, or corrupt.
    pub fn progress_key(writer: &[u8]) -> Result<Vec<u8>, EngineError> {
        Ok(WriterProgress::key(WriterId::decode(writer)?).as_bytes().to_vec())
    }

    /// The number of the table of progress
    pub fn progress_table() -> u8 {
        Table::ArchiveProgress.number()
    }

    /// Opens the writer of this row; the versions of the row of its progress were pushed
    ///
    /// # Errors
    ///
    /// A row is of another version, or corrupt.
    pub fn open_writer(&mut self, writer: &[u8]) -> Result<(), EngineError> {
        Ok(self.archive()?.open_writer(WriterId::decode(writer)?)?)
    }

    /// Adds a row that the archive has for a key to those that [`push_served`](Self::push_served)
    /// or [`open_writer`](Self::open_writer) takes
    ///
    /// # Errors
    ///
    /// There is no archive.
    pub fn push_version(&mut self, row: Vec<u8>) -> Result<(), EngineError> {
        self.archive()?.push_version(row.into());
        Ok(())
    }

    /// Appends the row that this key of the archive serves to those that
    /// [`handle_rows`](Self::handle_rows) takes
    ///
    /// # Errors
    ///
    /// Two rows differ, or one is of another version or corrupt.
    pub fn push_served(&mut self, key: &[u8]) -> Result<(), EngineError> {
        let row = self.archive()?.served_row(key).inspect_err(|_| self.rows.clear())?;
        self.rows.push(row);
        Ok(())
    }

    /// Asks what is to be archived, and returns the handle of this query, which completes with the
    /// number of transactions, or `null` if there is nothing
    ///
    /// # Errors
    ///
    /// The writer is not open.
    pub fn handle_export_query(&mut self) -> Result<u64, EngineError> {
        let archive = self.archive.as_ref().ok_or_else(no_archive)?;
        Ok(self.inner.handle_export_query(archive.writer()?).to_bits())
    }

    /// The next call of the archive for what was exported: 0 to put or 1 to replace, and the rows,
    /// encoded as in `packed_rows`
    ///
    /// # Errors
    ///
    /// There is no archive.
    pub fn take_archive_call(&mut self) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.archive()?.take_call())
    }

    /// Takes in that all calls for what was exported are done
    ///
    /// # Errors
    ///
    /// There is no archive.
    pub fn handle_exported(&mut self) -> Result<(), EngineError> {
        self.archive()?.handle_exported();
        Ok(())
    }

    /// Whether the progress of all writers is to be read, so that the storage can forget
    ///
    /// # Errors
    ///
    /// There is no archive.
    pub fn needs_progress(&mut self) -> Result<bool, EngineError> {
        Ok(self.archive()?.needs_progress())
    }

    /// Adds a row of progress to those that [`handle_progress`](Self::handle_progress) takes
    ///
    /// # Errors
    ///
    /// The key is none of an archive.
    pub fn push_progress(&mut self, key: &[u8], row: Vec<u8>) -> Result<(), EngineError> {
        Ok(self.archive()?.push_progress(key, row.into())?)
    }

    /// Takes in that all rows of progress were pushed
    ///
    /// # Errors
    ///
    /// A row is corrupt.
    pub fn handle_progress(&mut self) -> Result<(), EngineError> {
        let archive = self.archive()?;
        archive.handle_progress()?;
        let lookup = archive.lookup();
        self.inner.set_archive_lookup(lookup);
        Ok(())
    }

    /// The status of the archive, as JSON text
    ///
    /// # Errors
    ///
    /// There is no archive.
    pub fn archive_status(&mut self) -> Result<String, EngineError> {
        Ok(self.archive()?.status())
    }
}

impl Endpoint {
    pub(crate) fn archive(&mut self) -> Result<&mut EndpointArchive, EngineError> {
        self.archive.as_mut().ok_or_else(no_archive)
    }
}

fn no_archive() -> EngineError {
    EngineError::usage("the endpoint has no archive")
}

/// Rows that the host has read, and what is written instead of calling it
struct HostRows {
    rows: Vec<(Key, Row)>,
    calls: RefCell<Vec<Call>>,
}

impl HostRows {
    fn new(rows: Vec<(Key, Row)>) -> Self {
        Self { rows, calls: RefCell::default() }
    }

    fn write(&self, replaces: bool, rows: &[(Key, Row)]) -> Result<(), Error> {
        let rows = encode_archive_rows(rows)?;
        self.calls.borrow_mut().push(Call { replaces, rows });
        Ok(())
    }
}

impl Archive for HostRows {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        rows.extend(keys.iter().map(|key| {
            self.rows.iter().find(|(other, _)| other == key).map(|(_, row)| row.clone())
        }));
        Ok(())
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.write(false, rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.write(true, rows)
    }

    fn remove_many(&self, _: &[Key]) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Usage, "a writer removes no rows"))
    }

    fn scan(
        &self,
        _: Table,
        after: Option<&Key>,
        _: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        // All of them are of the table that is read.
        if after.is_none() {
            rows.extend_from_slice(&self.rows);
        }
        Ok(())
    }
}
