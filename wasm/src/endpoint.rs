//! An endpoint with a storage in memory, or over a storage of the host.
//!
//! A host hands in requests, blocks, rows and the time, and polls outputs until there are none.
//! With the storage in memory most requests are answered by the call that hands them in, and no
//! output asks for rows or a commit. The parts of an output are valid until the next poll.

use milepost::config::ConfigScope;
use milepost::endpoint::{
    ArchiveExporter, Completion, Endpoint as Inner, Engine, Output, RequestOptions, RequestState,
    Response, ResponseBody, WaitMode,
};
use milepost::import::ImportSettings;
use milepost::rpc::{Request, ResponseKind, RpcError};
use milepost::status::LastSeen;
use milepost::storage::{Key, MemoryStorage, Row, Storage as _};
use milepost::waiting::RequestHandle;
use milepost::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::response_buffer::{MIN_CHUNKED_LEN, RequestBuffer, ResponseBuffer, kind_of_number};
use crate::{Config, EngineError, json, packed_rows};

/// The engine, its pending requests, and a storage in memory if the host has none
#[wasm_bindgen]
#[derive(Debug)]
pub struct Endpoint {
    pub(crate) inner: Inner,
    import_settings: ImportSettings,
    /// `None` over a storage of the host
    storage: Option<MemoryStorage>,
    request: RequestBuffer,
    response: ResponseBuffer,
    /// Of the operation that was handed in last, or that the last output is about
    handle: RequestHandle,
    output: Output,
    /// Rows that are handed in next
    pub(crate) rows: Vec<Option<Row>>,
    /// Rows that the archive has for a key whose row is served next
    pub(crate) versions: Vec<Row>,
    /// A page of the archive that is handed in next
    pub(crate) page: Vec<(Key, Row)>,
    /// Parsed requests of which the host answers calls, by their slots
    parsed: Vec<Option<Request>>,
}

/// Kinds of [`Output`]
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to handle each of them")]
pub enum OutputKind {
    /// Nothing more until something is handed in
    Timeout,
    /// A response: [`Endpoint::response_table`] describes it
    Response,
    /// A request waits, or would have to
    Pending,
    /// Keys, in [`Endpoint::packed_rows`], whose rows are needed from a new snapshot: an evaluation
    /// starts
    NeedFirstRows,
    /// Keys, in [`Endpoint::packed_rows`], whose rows are needed from the same snapshot as before
    NeedRows,
    /// Changes, in [`Endpoint::packed_rows`], to be committed
    Commit,
    /// Rows, in [`Endpoint::packed_rows`], that the archive is to have;
    /// [`Endpoint::handle_commit_result`] takes whether they are durable
    Put,
    /// Rows, in [`Endpoint::packed_rows`], that are to replace those of their keys in the archive;
    /// [`Endpoint::handle_commit_result`] takes whether they are durable
    Replace,
    /// A page of the archive is needed, by [`Endpoint::handle_page`]: [`Endpoint::packed_rows`] is
    /// the key after which it starts, or the number of the table
    Scan,
    /// An operation other than a request has ended: [`Endpoint::take_completion`]
    Completed,
}

/// Whole milliseconds; values out of range saturate and NaN is 0, as in every cast of a float to an
/// integer
fn milliseconds(number: f64) -> u64 {
    number as u64
}

#[wasm_bindgen]
impl Endpoint {
    /// An endpoint without pending requests, and without blocks if its storage is in memory
    #[wasm_bindgen(constructor)]
    pub fn new(config: &Config, in_memory: bool) -> Self {
        let mut inner = Inner::new(Engine::new(config.settings), config.wait_config);
        if let Some((max_blocks, writer)) = config.archive {
            let exporter = ArchiveExporter::new(max_blocks, writer);
            inner = inner.with_archive(exporter.with_retention(config.import_settings.retention));
        }
        Self {
            inner,
            import_settings: config.import_settings,
            storage: in_memory.then(MemoryStorage::new),
            request: RequestBuffer::default(),
            response: ResponseBuffer::default(),
            handle: RequestHandle::from_bits(0),
            output: Output::Timeout(None),
            rows: Vec::new(),
            versions: Vec::new(),
            page: Vec::new(),
            parsed: Vec::new(),
        }
    }

    /// Returns the address of the request buffer, with space for this many bytes; the body of the
    /// next request is to be written there
    pub fn reserve_request(&mut self, length: usize) -> *mut u8 {
        self.request.reserve(length)
    }

    /// Address of the table that describes the last response: its kind, address and length of each
    /// of its chunks, and the number of its errors. The address never changes.
    pub fn response_table(&self) -> *const u32 {
        self.response.table()
    }

    /// Handles the request in the request buffer, which does not wait without a timeout
    ///
    /// With the storage in memory returns the response's length in bytes, if there is a response at
    /// once, and 0 otherwise; then [`handle`](Self::handle) identifies the request if it may wait.
    /// Over a storage of the host always returns 0; the response, or that it would have to wait, is
    /// an output.
    pub fn handle_request(
        &mut self,
        length: usize,
        url_method: Option<String>,
        now: f64,
        timeout: Option<f64>,
    ) -> usize {
        let request = self.inner.engine().parse(self.request.bytes(length), url_method.as_deref());
        self.handle_parsed_request(request, now, timeout)
    }

    /// Parses the request in the request buffer and keeps it for the host, which answers calls of
    /// methods that the engine does not have; returns its slot and these calls as JSON text
    pub fn parse_request(&mut self, length: usize, url_method: Option<String>) -> String {
        let body = self.request.bytes(length);
        let mut request = self.inner.engine().parse(body, url_method.as_deref());
        let calls = json::other_calls(&mut request, body);
        let slot = self.parsed.iter().position(Option::is_none).unwrap_or(self.parsed.len());
        match self.parsed.get_mut(slot) {
            Some(free) => *free = Some(request),
            None => self.parsed.push(Some(request)),
        }
        format!(r#"{{"slot":{slot},"calls":{calls}}}"#)
    }

    /// Answers a call of a parsed request: with the JSON of its result, or with that of an error
    /// and the number of the kind of a response with it
    pub fn answer_call(&mut self, slot: usize, index: usize, json: String, kind: u32) {
        let Some(Some(request)) = self.parsed.get_mut(slot) else { return };
        let answer = match kind_of_number(kind) {
            ResponseKind::Result => Ok(json.as_bytes().into()),
            kind => Err(RpcError::Host { json, kind, unreached: None }),
        };
        if let Some(call) = request.calls_mut().nth(index) {
            call.answer(answer);
        }
    }

    /// Handles a parsed request, as [`handle_request`](Self::handle_request) does; without a time
    /// it is dropped
    pub fn handle_parsed(&mut self, slot: usize, now: Option<f64>, timeout: Option<f64>) -> usize {
        let request = self.parsed.get_mut(slot).and_then(Option::take);
        match (request, now) {
            (Some(request), Some(now)) => self.handle_parsed_request(request, now, timeout),
            _ => 0,
        }
    }

    /// The errors in the last response as JSON text
    pub fn response_errors(&self) -> String {
        self.response.errors()
    }

    fn handle_parsed_request(&mut self, request: Request, now: f64, timeout: Option<f64>) -> usize {
        let engine = self.inner.engine();
        let (now, timeout) = (milliseconds(now), timeout.map(milliseconds));
        if let Some(storage) = &self.storage {
            match engine.respond_chunks(request, storage, MIN_CHUNKED_LEN) {
                RequestState::Ready(body) => return self.response.store(body),
                RequestState::Pending(pending) if timeout.is_some() => {
                    self.handle = self.inner.handle_pending(now, pending, timeout, ());
                }
                RequestState::Pending(_) => {}
            }
        } else {
            let wait_mode = match timeout {
                Some(_) => WaitMode::UntilTimeout,
                None => WaitMode::Never,
            };
            let options = RequestOptions::default().with_timeout(timeout).with_wait_mode(wait_mode);
            self.handle = self.inner.handle_request(now, request, options, ());
        }
        0
    }

    /// Imports a block message and returns the handle of the import
    ///
    /// # Errors
    ///
    /// What is wrong with the message by itself, and where.
    pub fn handle_block(&mut self, message: &[u8]) -> Result<u64, EngineError> {
        panic_on_request(message);
        Ok(self.inner.handle_block(message, &self.import_settings)?.to_bits())
    }

    /// Puts a configuration in force in the epoch with this id, or from the height on if there is
    /// none, and returns the handle of this import
    ///
    /// # Errors
    ///
    /// What is wrong with the id or with the configuration by itself, and where.
    pub fn handle_config(
        &mut self,
        epoch_id: Option<String>,
        height: u64,
        config: &[u8],
    ) -> Result<u64, EngineError> {
        let value_error = |error| Error::new(ErrorKind::Value, error).at("epoch_id");
        let scope = match epoch_id {
            Some(epoch_id) => ConfigScope::Epoch(epoch_id.parse().map_err(value_error)?),
            None => ConfigScope::From(height),
        };
        let handle = self.inner.handle_config(scope, utf8(config)?, &self.import_settings)?;
        Ok(handle.to_bits())
    }

    /// Asks for the status of the chain, and returns the handle of this query
    pub fn handle_chain_query(&mut self) -> u64 {
        self.inner.handle_chain_query().to_bits()
    }

    /// Asks for the next event of a watch whose last event has this id, and returns the handle of
    /// this query
    ///
    /// # Errors
    ///
    /// The text is no hash.
    pub fn handle_observation_query(
        &mut self,
        hash: &str,
        last_id: &str,
    ) -> Result<u64, EngineError> {
        let hash = hash.parse().map_err(|error| Error::new(ErrorKind::Value, error).at("hash"))?;
        let heights = LastSeen::of_id(last_id).map(|last| last.height).into_iter().collect();
        Ok(self.inner.handle_observation_query(hash, heights).to_bits())
    }

    /// Appends a row to those that [`handle_rows`](Self::handle_rows) takes, or that there is none
    pub fn push_row(&mut self, row: Option<Vec<u8>>) {
        self.rows.push(row.map(Row::from));
    }

    /// Takes in the rows that were pushed, in the order of the keys, or why there are none
    ///
    /// # Errors
    ///
    /// Their number is not that of the keys.
    pub fn handle_rows(&mut self, handle: u64, failure: Option<String>) -> Result<(), EngineError> {
        let rows = core::mem::take(&mut self.rows);
        let rows = storage_result(failure).map(|()| &rows[..]);
        Ok(self.inner.handle_rows(RequestHandle::from_bits(handle), rows)?)
    }

    /// Takes in that changes were committed, or why not
    ///
    /// # Errors
    ///
    /// Nothing of this handle is to be committed.
    pub fn handle_commit_result(
        &mut self,
        handle: u64,
        failure: Option<String>,
    ) -> Result<(), EngineError> {
        let handle = RequestHandle::from_bits(handle);
        Ok(self.inner.handle_commit_result(handle, storage_result(failure))?)
    }

    /// Takes in the time
    pub fn handle_timeout(&mut self, now: f64) {
        self.inner.handle_timeout(milliseconds(now));
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next
    pub fn next_timeout(&self) -> Option<f64> {
        // Rounds above 2^53 milliseconds, which no timer reaches.
        self.inner.next_timeout().map(|deadline| deadline as f64)
    }

    /// Removes a request, whether it is pending or evaluated
    pub fn cancel(&mut self, handle: u64) {
        self.inner.cancel(RequestHandle::from_bits(handle));
    }

    /// Ends all waiting
    pub fn shutdown(&mut self) {
        self.inner.shutdown();
    }

    /// Number of pending calls
    pub fn pending_count(&self) -> usize {
        self.inner.pending_count()
    }

    /// Polls the next output and returns its kind
    pub fn poll_output(&mut self) -> OutputKind {
        self.output = match &mut self.storage {
            None => self.inner.poll_output(),
            Some(storage) => loop {
                match self.inner.poll_output_with(storage) {
                    Output::Commit { handle, batch } => {
                        let result = storage.commit(batch);
                        // The endpoint has just handed out this commit.
                        let _ = self.inner.handle_commit_result(handle, result);
                    }
                    output => break output,
                }
            },
        };
        let (kind, handle) = match &mut self.output {
            Output::Response { handle, response, .. } => {
                let body = core::mem::take(&mut response.body);
                let response = Response { body, outcomes: response.outcomes.clone() };
                self.response.store(ResponseBody::Contiguous(response));
                (OutputKind::Response, handle)
            }
            Output::Pending { handle } => (OutputKind::Pending, handle),
            Output::NeedRows { handle, is_first: true, .. } => (OutputKind::NeedFirstRows, handle),
            Output::NeedRows { handle, .. } => (OutputKind::NeedRows, handle),
            Output::Commit { handle, .. } => (OutputKind::Commit, handle),
            Output::Write { handle, write } => {
                (if write.replaces { OutputKind::Replace } else { OutputKind::Put }, handle)
            }
            Output::Scan { handle, .. } => (OutputKind::Scan, handle),
            Output::Completed { handle, .. } => (OutputKind::Completed, handle),
            // Over a storage of the host the endpoint evaluates all requests, so none is woken
            // outside of it. Nothing is watched here: the high-level API observes after each block.
            Output::Timeout(_) | Output::Wakeup { .. } | Output::Watch { .. } => {
                return OutputKind::Timeout;
            }
        };
        self.handle = *handle;
        kind
    }

    /// The handle of the request that was handed in last, or of the last output
    pub fn handle(&self) -> u64 {
        self.handle.to_bits()
    }

    /// The keys, changes or rows of the last output, encoded as in `packed_rows`
    ///
    /// # Errors
    ///
    /// A row for the archive is no envelope.
    pub fn packed_rows(&self) -> Result<Vec<u8>, EngineError> {
        Ok(match &self.output {
            Output::NeedRows { keys, .. } => packed_rows::encode_keys(keys),
            Output::Commit { batch, .. } => packed_rows::encode_changes(batch),
            Output::Write { write, .. } => packed_rows::encode_archive_rows(&write.rows)?,
            Output::Scan { after: Some(after), .. } => after.as_bytes().to_vec(),
            Output::Scan { table, .. } => [table.number()].into(),
            _ => Vec::new(),
        })
    }

    /// The next event of a watch, as JSON text, once its observation is the last output; empty if
    /// there is none yet
    ///
    /// # Errors
    ///
    /// Those of the observation.
    pub fn take_event(
        &mut self,
        last_id: &str,
        wait_until: &str,
        with_result: bool,
    ) -> Result<String, EngineError> {
        match core::mem::replace(&mut self.output, Output::Timeout(None)) {
            Output::Completed { result: Ok(Completion::Observation(seen)), .. } => {
                Ok(json::event(&seen, last_id, wait_until, with_result)?)
            }
            Output::Completed { result: Err(error), .. } => Err(error.into()),
            _ => Err(EngineError::usage("no observation was completed")),
        }
    }

    /// The result of the operation that the last output completed, as JSON text
    ///
    /// # Errors
    ///
    /// Those of the operation.
    pub fn take_completion(&mut self) -> Result<String, EngineError> {
        match core::mem::replace(&mut self.output, Output::Timeout(None)) {
            Output::Completed { result, .. } => Ok(match result? {
                Completion::Block(summary) => json::import_summary(&summary),
                Completion::Chain(chain) => json::chain_status(&chain),
                _ => "null".to_owned(),
            }),
            _ => Err(EngineError::usage("no operation was completed")),
        }
    }
}

/// Whether the host's storage did what it was asked for
pub(crate) fn storage_result(failure: Option<String>) -> Result<(), Error> {
    failure.map_or(Ok(()), |reason| Err(Error::new(ErrorKind::Storage, reason)))
}

fn utf8(bytes: &[u8]) -> Result<&str, EngineError> {
    let error = |error: core::str::Utf8Error| {
        Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to())
    };
    Ok(core::str::from_utf8(bytes).map_err(error)?)
}

/// Panics if the message asks for it, in builds for the tests of panics
fn panic_on_request(message: &[u8]) {
    #[cfg(feature = "internal-test-panic")]
    assert_ne!(message, b"panic", "the test asked for a panic");
    #[cfg(not(feature = "internal-test-panic"))]
    let _ = message;
}
