//! The exports of an endpoint: their order, and the exporter's steps as outputs and operations.
//!
//! One export runs at a time, beside everything else: no import and no request waits for the
//! archive because of it. Its commit alone is in the line of imports. At most one more waits to
//! start, however slow the archive is: an export takes all that is final when it starts.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::operation::OperationKind;
use super::{
    ArchiveExporter, ArchiveStatus, Completion, Endpoint, ExportAnswer, ExportStep, Output,
};
use crate::import::{ImportSettings, ImportSummary};
use crate::storage::{Key, Row, check_row_count};
use crate::waiting::RequestHandle;
use crate::{Error, ErrorKind};

/// The exporter of an endpoint, the export that runs, and the one that starts after it
#[derive(Debug, Default)]
pub(super) struct Exports {
    exporter: Option<Box<ArchiveExporter>>,
    running: Option<RequestHandle>,
    next: Option<RequestHandle>,
}

impl Exports {
    pub(super) fn contains(&self, handle: RequestHandle) -> bool {
        self.running == Some(handle) || self.next == Some(handle)
    }

    /// Whether the export of this handle waits for this
    fn waits(&self, handle: RequestHandle, waits: fn(&ArchiveExporter) -> bool) -> bool {
        self.running == Some(handle) && self.exporter.as_deref().is_some_and(waits)
    }

    pub(super) fn waits_for_row(&self, handle: RequestHandle) -> bool {
        self.waits(handle, ArchiveExporter::waits_for_row)
    }

    pub(super) fn waits_for_write(&self, handle: RequestHandle) -> bool {
        self.waits(handle, ArchiveExporter::waits_for_write)
    }

    /// These settings of an import, which keeps what is not archived
    pub(super) fn import_settings(&self, settings: ImportSettings) -> ImportSettings {
        self.exporter.as_ref().map_or(settings, |exporter| exporter.import_settings(settings))
    }

    pub(super) fn handle_import(&mut self, summary: &ImportSummary) {
        if let Some(exporter) = &mut self.exporter {
            exporter.handle_import(summary);
        }
    }
}

impl<T> Endpoint<T> {
    /// The same with an archive, which requests ask about what the storage does not know
    ///
    /// Imports keep what is not archived; keys of the archive are among those that queries need.
    #[must_use]
    pub fn with_archive(mut self, exporter: ArchiveExporter) -> Self {
        self.set_archive_lookup(exporter.lookup());
        self.exports.exporter = Some(Box::new(exporter));
        self
    }

    /// Exports what is final to the archive, and finds out what the storage may forget, with rows
    /// that the host supplies; to be called when an import has completed
    ///
    /// Exports run one after the other; while one waits to start, further calls return its handle.
    /// Ends in [`Output::Completed`] with [`Completion::Exported`], or with the error that ended
    /// it: the next export tries again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] without [`with_archive`](Self::with_archive).
    pub fn handle_export(&mut self) -> Result<RequestHandle, Error> {
        if self.exports.exporter.is_none() {
            return Err(Error::new(ErrorKind::Usage, "the endpoint has no archive"));
        }
        if let Some(handle) = self.exports.next {
            return Ok(handle);
        }
        let handle = self.waiters.reserve(None);
        self.exports.next = Some(handle);
        if self.exports.running.is_none() {
            self.start_export();
        }
        Ok(handle)
    }

    /// The state of the archive and of the exports to it; `None` without an archive
    pub fn archive_status(&self) -> Option<ArchiveStatus> {
        self.exports.exporter.as_ref().map(|exporter| exporter.status())
    }

    /// Handles the rows of an [`Output::Scan`] with their keys, or why there are none
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] unless a page is needed for this handle.
    pub fn handle_page(
        &mut self,
        handle: RequestHandle,
        page: Result<Vec<(Key, Row)>, Error>,
    ) -> Result<(), Error> {
        if !self.exports.waits(handle, ArchiveExporter::waits_for_page) {
            return Err(Error::new(ErrorKind::Usage, format_args!("{handle} needs no page")));
        }
        self.handle_export_answer(page.map(ExportAnswer::Page));
        Ok(())
    }

    /// Handles the one row that the export asked for
    pub(super) fn handle_archived_row(
        &mut self,
        rows: Result<&[Option<Row>], Error>,
    ) -> Result<(), Error> {
        let answer = match rows {
            Ok([row]) => Ok(ExportAnswer::Row(row.clone())),
            Ok(rows) => return check_row_count(rows.len(), 1),
            Err(error) => Err(error),
        };
        self.handle_export_answer(answer);
        Ok(())
    }

    /// Handles the end of an operation of the export
    pub(super) fn handle_export_completion(&mut self, result: Result<Completion, Error>) {
        self.handle_export_answer(result.map(|completion| match completion {
            Completion::Chain(chain) => ExportAnswer::Chain(chain),
            Completion::Export(export) => ExportAnswer::Export(export),
            _ => ExportAnswer::Written,
        }));
    }

    pub(super) fn handle_export_answer(&mut self, answer: Result<ExportAnswer, Error>) {
        if let Some(exporter) = &mut self.exports.exporter {
            let step = exporter.handle(answer);
            self.do_export_step(step);
        }
    }

    /// Starts the next export, if there is one
    fn start_export(&mut self) {
        self.exports.running = self.exports.next.take();
        if let (Some(exporter), Some(_)) = (&mut self.exports.exporter, self.exports.running) {
            let step = exporter.start(false);
            self.do_export_step(step);
        }
    }

    fn do_export_step(&mut self, step: ExportStep) {
        let Some(handle) = self.exports.running else { return };
        match step {
            ExportStep::Row(key) => {
                let keys = [key].into();
                self.outputs.push_back(Output::NeedRows { handle, keys, is_first: true });
            }
            ExportStep::Write(write) => {
                self.outputs.push_back(Output::Write { handle, write });
            }
            ExportStep::Scan { table, after } => {
                self.outputs.push_back(Output::Scan { handle, table, after });
            }
            ExportStep::Commit(batch) => {
                self.operations.start(handle, OperationKind::Commit(batch));
            }
            ExportStep::Export(query) => {
                let isolation = self.engine().settings().isolation;
                let complete = |export: Option<_>| Completion::Export(export.map(Box::new));
                self.operations.start(handle, OperationKind::query(query, isolation, complete));
            }
            ExportStep::Chain(query) => self.start_chain_query(handle, query),
            ExportStep::Done(result) => {
                self.waiters.remove(handle);
                if let Some(exporter) = &self.exports.exporter {
                    let lookup = exporter.lookup();
                    self.set_archive_lookup(lookup);
                }
                let result = result.map(|_| Completion::Exported);
                self.outputs.push_back(Output::Completed { handle, result });
                self.start_export();
            }
        }
    }
}
