//! The WebAssembly module of the entry `kit` of the npm package `milepost`: the conformance kit,
//! which checks a host's storage and its archive.
//!
//! A module of its own, because it is for development, and a third of the engine's size. The kit is
//! that of the engine. Each of its calls is handed out, and the answer handed in when the host has
//! it; several calls can be open at a time.

#![forbid(unsafe_code)]

// The module of the engine has it too, and is no library to take it from.
#[path = "../../src/packed_rows.rs"]
mod packed_rows;

use milepost::archive::conformance::{
    Answer as ArchiveAnswer, ArchiveRun, Call as ArchiveCall, Found,
};
use milepost::archive::served_row;
use milepost::storage::conformance::{Answer, Call, Step, StorageRun};
use milepost::storage::{Isolation, Key, Row};
use milepost::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::packed_rows::{archive_key, encode_archive_rows, encode_changes, encode_keys};

/// The version of the module
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The next step of the host of a check
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to handle each of them")]
pub enum CheckStep {
    /// Nothing until a call is answered
    Wait,
    /// Nothing: the check has ended, with [`Check::violation`]
    Done,
    /// Makes an empty storage or archive in place of the one before
    Make,
    /// Commits changes, in [`Check::packed`]
    Commit,
    /// Opens the snapshot of a number, or closes it
    Open,
    /// Closes the snapshot of a number
    Close,
    /// Reads one row by its key, in [`Check::packed`]
    Get,
    /// Reads the rows of keys, in [`Check::packed`], of a snapshot if [`Check::number`] is one
    GetMany,
    /// Lets other work proceed: that of this turn if [`Check::number`] is 0, or else all work
    Pause,
    /// Puts rows of an archive, in [`Check::packed`]
    Put,
    /// Replaces rows of an archive, in [`Check::packed`]
    Replace,
    /// Lists rows of the table [`Check::table`], about [`Check::number`] of them, after the key in
    /// [`Check::packed`] if there is one
    Scan,
}

/// A run of the kit over a storage or an archive
#[derive(Debug)]
enum Run {
    Storage(StorageRun),
    Archive(ArchiveRun),
}

/// A check in progress
#[wasm_bindgen]
#[derive(Debug)]
pub struct Check {
    run: Run,
    id: u32,
    packed: Vec<u8>,
    number: Option<u32>,
    table: u8,
    violation: Option<String>,
    rows: Vec<Option<Row>>,
    versions: Vec<Row>,
    entries: Vec<(Key, Row)>,
    /// Why the rows that were pushed are no answer
    error: Option<Error>,
}

#[wasm_bindgen]
impl Check {
    /// A check of a storage
    pub fn storage(is_read_committed: bool) -> Self {
        let isolation =
            if is_read_committed { Isolation::ReadCommitted } else { Isolation::Snapshot };
        Self::new(Run::Storage(StorageRun::shared(isolation)))
    }

    /// A check of an archive, which has no removals
    pub fn archive() -> Self {
        Self::new(Run::Archive(ArchiveRun::all(false)))
    }

    /// The next step, of which the accessors describe the parts
    pub fn poll(&mut self) -> CheckStep {
        (self.packed, self.number) = (Vec::new(), None);
        match &mut self.run {
            Run::Storage(run) => match run.poll() {
                Step::Wait => CheckStep::Wait,
                Step::Done(result) => self.end(result.err().map(|error| error.to_string())),
                Step::Call(id, call) => {
                    self.id = id;
                    self.storage_step(call)
                }
            },
            Run::Archive(run) => match run.poll() {
                Step::Wait => CheckStep::Wait,
                Step::Done(result) => self.end(result.err().map(|error| error.to_string())),
                Step::Call(id, call) => {
                    self.id = id;
                    self.archive_step(call)
                        .unwrap_or_else(|error| self.end(Some(error.to_string())))
                }
            },
        }
    }

    /// The number of the call, for its answer
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Keys, changes or rows of the call, encoded as in `packed_rows`
    pub fn packed(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.packed)
    }

    /// The number of the call
    pub fn number(&self) -> Option<u32> {
        self.number
    }

    /// The table of a scan
    pub fn table(&self) -> u8 {
        self.table
    }

    /// The violation that was found, if there is one
    pub fn violation(&self) -> Option<String> {
        self.violation.clone()
    }

    /// Adds a row to the answer, or that there is none
    pub fn push_row(&mut self, row: Option<Vec<u8>>) {
        self.rows.push(row.map(Row::from));
    }

    /// Adds a row that an archive has for a key to those that [`push_served`](Self::push_served)
    /// takes
    pub fn push_version(&mut self, row: Vec<u8>) {
        self.versions.push(row.into());
    }

    /// Adds the row that a key of an archive serves to the answer
    pub fn push_served(&mut self, key: &[u8]) {
        let versions = core::mem::take(&mut self.versions);
        match archive_key(key).and_then(|key| served_row(&key, versions)) {
            Ok(row) => self.rows.push(row),
            Err(error) => self.error = self.error.take().or(Some(error)),
        }
    }

    /// Adds a row of a page of an archive to the answer
    pub fn push_entry(&mut self, key: &[u8], row: Vec<u8>) {
        match archive_key(key) {
            Ok(key) => self.entries.push((key, row.into())),
            Err(error) => self.error = self.error.take().or(Some(error)),
        }
    }

    /// Hands in the answer to the call of this number: the pushed rows, or why it failed
    pub fn answer(&mut self, id: u32, failure: Option<String>) {
        let rows = core::mem::take(&mut self.rows);
        let entries = core::mem::take(&mut self.entries);
        let error = self.error.take();
        let error = failure.map(|text| Error::new(ErrorKind::Storage, text)).or(error);
        match &mut self.run {
            Run::Storage(run) => {
                let answer: Answer = match error {
                    Some(error) => Err(error.to_string()),
                    None => Ok(rows),
                };
                run.answer(id, answer);
            }
            Run::Archive(run) => {
                let answer: ArchiveAnswer = match error {
                    Some(error) => Err(error),
                    None => Ok(Found { rows, entries }),
                };
                run.answer(id, answer);
            }
        }
    }
}

impl Check {
    const fn new(run: Run) -> Self {
        Self {
            run,
            id: 0,
            packed: Vec::new(),
            number: None,
            table: 0,
            violation: None,
            rows: Vec::new(),
            versions: Vec::new(),
            entries: Vec::new(),
            error: None,
        }
    }

    fn end(&mut self, violation: Option<String>) -> CheckStep {
        self.violation = violation;
        CheckStep::Done
    }

    fn storage_step(&mut self, call: Call) -> CheckStep {
        match call {
            Call::Make => CheckStep::Make,
            Call::Commit(batch) => {
                self.packed = encode_changes(&batch);
                CheckStep::Commit
            }
            Call::Open(number) => {
                self.number = Some(number);
                CheckStep::Open
            }
            Call::Close(number) => {
                self.number = Some(number);
                CheckStep::Close
            }
            Call::Get(number, key) => {
                (self.number, self.packed) = (number, encode_keys(&[key]));
                CheckStep::Get
            }
            // Rows of JavaScript are returned and not appended.
            Call::GetMany(number, keys, _) => {
                (self.number, self.packed) = (number, encode_keys(&keys));
                CheckStep::GetMany
            }
            Call::Pause { is_long } => {
                self.number = Some(u32::from(is_long));
                CheckStep::Pause
            }
        }
    }

    fn archive_step(&mut self, call: ArchiveCall) -> Result<CheckStep, Error> {
        Ok(match call {
            ArchiveCall::Make => CheckStep::Make,
            ArchiveCall::GetMany(keys, _) => {
                self.packed = encode_keys(&keys);
                CheckStep::GetMany
            }
            ArchiveCall::Put(rows) => {
                self.packed = encode_archive_rows(&rows)?;
                CheckStep::Put
            }
            ArchiveCall::Replace(rows) => {
                self.packed = encode_archive_rows(&rows)?;
                CheckStep::Replace
            }
            ArchiveCall::Remove(_) => {
                return Err(Error::new(ErrorKind::Usage, "there are no removals"));
            }
            ArchiveCall::Scan(table, after, limit) => {
                (self.table, self.number) = (table.number(), Some(limit as u32));
                self.packed = after.map_or(Vec::new(), |key| encode_keys(&[key]));
                CheckStep::Scan
            }
        })
    }
}
