//! The archive of an endpoint: which of the host's rows is served, and what the host hands in.
//!
//! The host's archive may be asynchronous, so nothing here calls it: outputs of the endpoint say
//! what is read and written. The host keeps bytes and interprets none.

use milepost::archive::{WriterId, served_row};
use milepost::waiting::RequestHandle;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::endpoint::storage_result;
use crate::json::{List, Object};
use crate::packed_rows::archive_key;
use crate::{Config, Endpoint, EngineError};

#[wasm_bindgen]
impl Config {
    /// Reads what the storage does not know from an archive of the host, and keeps blocks until
    /// they are there, up to this number; with a random id for a new writer it exports them
    pub fn archive(&mut self, backlog: u64, writer: Option<u64>) {
        self.archive = Some((backlog, writer.map(WriterId)));
    }
}

#[wasm_bindgen]
impl Endpoint {
    /// Adds a row that the archive has for a key to those that [`push_served`](Self::push_served)
    /// takes
    pub fn push_version(&mut self, row: Vec<u8>) {
        self.versions.push(row.into());
    }

    /// Appends the row that this key of the archive serves to those that
    /// [`handle_rows`](Self::handle_rows) takes
    ///
    /// # Errors
    ///
    /// Two rows differ, or one has another version or is corrupt.
    pub fn push_served(&mut self, key: &[u8]) -> Result<(), EngineError> {
        let versions = core::mem::take(&mut self.versions);
        let row = archive_key(key).and_then(|key| served_row(&key, versions));
        let row = row.inspect_err(|_| self.rows.clear())?;
        self.rows.push(row);
        Ok(())
    }

    /// Adds a row to the page that [`handle_page`](Self::handle_page) takes
    ///
    /// # Errors
    ///
    /// The key is none of an archive.
    pub fn push_entry(&mut self, key: &[u8], row: Vec<u8>) -> Result<(), EngineError> {
        self.page.push((archive_key(key)?, row.into()));
        Ok(())
    }

    /// Handles the page that was pushed, or why there is none
    ///
    /// # Errors
    ///
    /// No page is needed.
    pub fn handle_page(&mut self, handle: u64, failure: Option<String>) -> Result<(), EngineError> {
        let page = core::mem::take(&mut self.page);
        let page = storage_result(failure).map(|()| page);
        Ok(self.inner.handle_page(RequestHandle::from_bits(handle), page)?)
    }

    /// Exports final blocks, and returns the handle of the export, which calls share while it waits
    /// to start
    ///
    /// # Errors
    ///
    /// There is no archive.
    pub fn handle_export(&mut self) -> Result<u64, EngineError> {
        Ok(self.inner.handle_export()?.to_bits())
    }

    /// The status of the archive, as JSON text; `null` without one
    pub fn archive_status(&self) -> String {
        let Some(status) = self.inner.archive_status() else { return "null".to_owned() };
        let mut complete = List::new();
        for range in status.complete.iter() {
            let mut ends = List::new();
            ends.push(&range.start().to_string());
            ends.push(&range.end().to_string());
            complete.push(&ends.end());
        }
        let mut object = Object::new();
        object.json("isWritten", if status.is_written { "true" } else { "false" });
        object.json("complete", &complete.end());
        for (name, number) in [
            ("archivedHeight", status.archived_height),
            ("openTransactions", Some(status.open_transactions)),
            ("keptFrom", Some(status.kept_from)),
            ("exportedTransactions", Some(status.exported_transactions)),
            ("failures", Some(status.failures)),
            ("evictedBlocks", Some(status.evicted_blocks)),
        ] {
            object.number(name, number);
        }
        object.optional_text("failure", status.failure.as_deref());
        object.end()
    }
}
