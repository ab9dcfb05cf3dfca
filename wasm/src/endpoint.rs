//! An endpoint with a storage in memory, or over a storage of the host.
//!
//! With the storage in memory every method completes at once. With a storage of the host, methods
//! return a [`Query`] that the host runs and passes back; a request that a block overtook in the
//! meantime is run again. A host uses one of the two.

use core::ops::ControlFlow;

use milepost::config::ConfigImport;
use milepost::endpoint::{
    ChainQuery, Endpoint as Inner, Engine, PendingRequest, RequestQuery, RequestState,
    ResponseBody, Suspension,
};
use milepost::import::{BlockImport, ImportSettings};
use milepost::storage::MemoryStorage;
use milepost::waiting::RequestHandle;
use milepost::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::response_buffer::{MIN_CHUNKED_LEN, RequestBuffer, ResponseBuffer};
use crate::{Config, EngineError, Query, json};

/// The engine, its pending requests and a storage in memory
#[wasm_bindgen]
#[derive(Debug)]
pub struct Endpoint {
    inner: Inner,
    import_settings: ImportSettings,
    storage: MemoryStorage,
    request: RequestBuffer,
    response: ResponseBuffer,
    /// Of the request that was suspended last, or whose response was returned last
    handle: RequestHandle,
}

/// What became of a request that was run again
#[wasm_bindgen]
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "every host has to go on in each of these ways")]
pub enum Resumption {
    /// It goes on waiting
    Waiting,
    /// It has to be run once more
    Retry,
    /// It is answered and no longer pending
    Ready,
    /// It was cancelled in the meantime
    Cancelled,
}

/// Whole milliseconds of a monotonic clock; values out of range saturate and NaN is 0, as in every
/// cast of a float to an integer
fn time(milliseconds: f64) -> u64 {
    milliseconds as u64
}

#[wasm_bindgen]
impl Endpoint {
    /// An endpoint without pending requests and without blocks
    #[wasm_bindgen(constructor)]
    pub fn new(config: &Config) -> Self {
        Self {
            inner: Inner::new(Engine::new(config.settings), config.wait_config),
            import_settings: config.import_settings,
            storage: MemoryStorage::new(),
            request: RequestBuffer::default(),
            response: ResponseBuffer::default(),
            handle: RequestHandle::from_bits(0),
        }
    }

    // With the storage in memory.

    /// Returns the address of the request buffer, with space for this many bytes; the body of the
    /// next request is to be written there
    pub fn reserve_request(&mut self, length: usize) -> *mut u8 {
        self.request.reserve(length)
    }

    /// Address of the table that describes the last response: its kind, and address and length of
    /// each of its chunks. The address never changes.
    pub fn response_table(&self) -> *const u32 {
        self.response.table()
    }

    /// Answers the request in the request buffer, or lets it wait until the deadline; returns the
    /// response's length in bytes, or 0 if the request waits, and then [`handle`](Self::handle)
    /// identifies it
    pub fn handle_request(
        &mut self,
        deadline: f64,
        length: usize,
        url_method: Option<String>,
    ) -> usize {
        let mut pending = match self.run_request(length, url_method) {
            ControlFlow::Break(length) => return length,
            ControlFlow::Continue(pending) => pending,
        };
        loop {
            match self.inner.suspend(time(deadline), pending) {
                Suspension::Waiting(handle) => {
                    self.handle = handle;
                    return 0;
                }
                Suspension::Retry(query) => match query.run(&self.storage) {
                    RequestState::Ready(response) => {
                        return self.response.store(ResponseBody::Contiguous(response));
                    }
                    RequestState::Pending(again) => pending = again,
                },
            }
        }
    }

    /// Answers the request in the request buffer if it does not have to wait; returns the
    /// response's length in bytes, or 0 if the request would have to wait
    pub fn respond(&mut self, length: usize, url_method: Option<String>) -> usize {
        self.run_request(length, url_method).break_value().unwrap_or(0)
    }

    /// Imports a block message and returns the summary as JSON text
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn handle_block(&mut self, message: &[u8]) -> Result<String, EngineError> {
        panic_on_request(message);
        let summary = self.inner.handle_block(message, &self.import_settings, &mut self.storage)?;
        Ok(json::import_summary(&summary))
    }

    /// Puts a configuration in force from this height on
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn put_config(&mut self, height: u64, config: &[u8]) -> Result<(), EngineError> {
        Ok(self.inner.engine().put_config(height, utf8(config)?, &mut self.storage)?)
    }

    /// Returns the status of the chain as JSON text
    ///
    /// # Errors
    ///
    /// None that the storage in memory could cause.
    pub fn chain_status(&self) -> Result<String, EngineError> {
        Ok(json::chain_status(&self.inner.engine().chain_status(&self.storage)?))
    }

    /// Takes the response to a request that was pending, which [`handle`](Self::handle) identifies;
    /// returns its length in bytes, or 0 if there is none
    pub fn poll_response(&mut self) -> usize {
        let Some((handle, response)) = self.inner.poll_response(&self.storage) else { return 0 };
        self.handle = handle;
        self.response.store(ResponseBody::Contiguous(response))
    }

    // With a storage of the host.

    /// The query of a request
    pub fn request_query(&self, body: &[u8], url_method: Option<String>) -> Query {
        let engine = self.inner.engine();
        let request = engine.parse(body, url_method.as_deref());
        Query::request(RequestQuery::new(engine.settings(), request), None)
    }

    /// The query that imports a block message
    ///
    /// # Errors
    ///
    /// What is wrong with the message, and where.
    pub fn block_import(&self, message: &[u8]) -> Result<Query, EngineError> {
        panic_on_request(message);
        Ok(Query::block_import(BlockImport::new(message, self.import_settings)?))
    }

    /// The query that puts a configuration in force from this height on
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration, and where.
    pub fn config_import(&self, height: u64, config: &[u8]) -> Result<Query, EngineError> {
        Ok(Query::config_import(ConfigImport::new(height, utf8(config)?)?))
    }

    /// The query for the status of the chain
    pub fn chain_query(&self) -> Query {
        Query::chain(ChainQuery::new())
    }

    /// Lets a request wait until the deadline and returns `true`, and then [`handle`](Self::handle)
    /// identifies it; returns `false` if its query has to be run once more
    ///
    /// # Errors
    ///
    /// The query holds no pending request.
    pub fn suspend(&mut self, deadline: f64, query: &mut Query) -> Result<bool, EngineError> {
        let pending = query.take_pending()?;
        Ok(match self.inner.suspend(time(deadline), pending) {
            Suspension::Waiting(handle) => {
                self.handle = handle;
                true
            }
            Suspension::Retry(retry) => {
                query.retry(retry);
                false
            }
        })
    }

    /// Returns the query of a pending request that has to be run again; [`resume`](Self::resume)
    /// has to follow
    pub fn poll_request(&mut self) -> Option<Query> {
        let (handle, query) = self.inner.poll_request()?;
        Some(Query::request(query, Some(handle)))
    }

    /// Takes back a request that was run again
    ///
    /// # Errors
    ///
    /// The query did not come from [`poll_request`](Self::poll_request), or is not finished.
    pub fn resume(&mut self, query: &mut Query) -> Result<Resumption, EngineError> {
        let Some(handle) = query.request_handle() else {
            return Err(EngineError::usage("the query is not of a request that was pending"));
        };
        let state = query.take_request_state()?;
        Ok(query.resumed(self.inner.resume(handle, state)))
    }

    /// Wakes the pending requests that an imported block affects, after its changes are committed
    pub fn handle_chain_update(&mut self, query: &Query) {
        if let Some(update) = query.chain_update() {
            self.inner.handle_chain_update(update);
        }
    }

    // With either.

    /// The handle of the request that was suspended last, or whose response was returned last
    pub fn handle(&self) -> u64 {
        self.handle.to_bits()
    }

    /// Takes in the time
    pub fn handle_timeout(&mut self, now: f64) {
        self.inner.handle_timeout(time(now));
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next
    pub fn next_timeout(&self) -> Option<f64> {
        // Rounds above 2^53 milliseconds, which no timer reaches.
        self.inner.next_timeout().map(|deadline| deadline as f64)
    }

    /// Removes a pending request; returns whether it was pending
    pub fn cancel(&mut self, handle: u64) -> bool {
        self.inner.cancel(RequestHandle::from_bits(handle))
    }

    /// Ends all waiting
    pub fn shutdown(&mut self) {
        self.inner.shutdown();
    }

    /// Number of pending calls
    pub fn pending_count(&self) -> usize {
        self.inner.pending_count()
    }
}

impl Endpoint {
    /// Stores the response to the request in the request buffer and returns its length in bytes, or
    /// returns the pending request
    fn run_request(
        &mut self,
        length: usize,
        url_method: Option<String>,
    ) -> ControlFlow<usize, PendingRequest> {
        let engine = self.inner.engine();
        let request = engine.parse(self.request.bytes(length), url_method.as_deref());
        match engine.respond_chunks(request, &self.storage, MIN_CHUNKED_LEN) {
            RequestState::Ready(body) => ControlFlow::Break(self.response.store(body)),
            RequestState::Pending(pending) => ControlFlow::Continue(pending),
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, EngineError> {
    let error = |error: core::str::Utf8Error| {
        Error::new(ErrorKind::Syntax, "not UTF-8").with_offset(error.valid_up_to())
    };
    Ok(core::str::from_utf8(bytes).map_err(error)?)
}

/// Panics if the message asks for it, in builds for the tests of panics
fn panic_on_request(message: &[u8]) {
    #[cfg(feature = "test-panic")]
    assert_ne!(message, b"panic", "the test asked for a panic");
    #[cfg(not(feature = "test-panic"))]
    let _ = message;
}
