//! Queries over a storage of the host, suspended where rows are needed.
//!
//! [`Query::poll`] returns the keys of the rows, [`Query::push`] and [`Query::supply_rows`] pass
//! the rows in, until [`Query::poll`] returns `None`; then the query holds its result. A query
//! borrows nothing: any number of them can be in progress while blocks are imported.

use milepost::config::ConfigImport;
use milepost::endpoint::{
    ChainQuery, PendingRequest, RequestQuery, RequestState, Response, Resumption as Resumed,
};
use milepost::import::{BlockImport, ChainUpdate};
use milepost::storage::{Batch, Query as _, Row, Step};
use milepost::waiting::RequestHandle;
use milepost::{Error, ErrorKind};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::response_buffer::kind_number;
use crate::{EngineError, Resumption, json, packed_rows};

/// A query in progress, or its result
#[wasm_bindgen]
#[derive(Debug)]
pub struct Query {
    state: State,
    handle: Option<RequestHandle>,
    rows: Vec<Option<Row>>,
}

#[derive(Debug)]
enum State {
    Request(RequestQuery),
    BlockImport(Box<BlockImport>),
    ConfigImport(Box<ConfigImport>),
    Chain(ChainQuery),
    Ready(Response),
    Pending(PendingRequest),
    Commit {
        batch: Batch,
        /// The result of the import
        json: String,
        chain_update: Option<ChainUpdate>,
    },
    Json(String),
    Finished,
}

impl Query {
    const fn new(state: State, handle: Option<RequestHandle>) -> Self {
        Self { state, handle, rows: Vec::new() }
    }

    /// The query of a request; `handle` is that of a request that was pending before
    pub(crate) const fn request(query: RequestQuery, handle: Option<RequestHandle>) -> Self {
        Self::new(State::Request(query), handle)
    }

    pub(crate) fn block_import(query: BlockImport) -> Self {
        Self::new(State::BlockImport(query.into()), None)
    }

    pub(crate) fn config_import(query: ConfigImport) -> Self {
        Self::new(State::ConfigImport(query.into()), None)
    }

    pub(crate) const fn chain(query: ChainQuery) -> Self {
        Self::new(State::Chain(query), None)
    }

    /// Takes the pending request out
    pub(crate) fn take_pending(&mut self) -> Result<PendingRequest, EngineError> {
        match core::mem::replace(&mut self.state, State::Finished) {
            State::Pending(pending) => Ok(pending),
            other => {
                self.state = other;
                Err(EngineError::usage("the query holds no pending request"))
            }
        }
    }

    /// Takes the result of a request out
    pub(crate) fn take_request_state(&mut self) -> Result<RequestState, EngineError> {
        match core::mem::replace(&mut self.state, State::Finished) {
            State::Pending(pending) => Ok(RequestState::Pending(pending)),
            State::Ready(response) => Ok(RequestState::Ready(response)),
            other => {
                self.state = other;
                Err(EngineError::usage("the query holds no result of a request"))
            }
        }
    }

    /// Makes this the query of a request that has to be run once more
    pub(crate) fn retry(&mut self, query: RequestQuery) {
        self.state = State::Request(query);
    }

    /// Takes in what became of a request that was run again
    pub(crate) fn resumed(&mut self, resumed: Resumed) -> Resumption {
        match resumed {
            Resumed::Waiting => Resumption::Waiting,
            Resumed::Cancelled => Resumption::Cancelled,
            Resumed::Retry(query) => {
                self.retry(query);
                Resumption::Retry
            }
            Resumed::Ready(response) => {
                self.state = State::Ready(response);
                Resumption::Ready
            }
        }
    }

    /// The handle of a request that was pending before
    pub(crate) const fn request_handle(&self) -> Option<RequestHandle> {
        self.handle
    }

    /// What the imported block changed
    pub(crate) const fn chain_update(&self) -> Option<&ChainUpdate> {
        match &self.state {
            State::Commit { chain_update, .. } => chain_update.as_ref(),
            _ => None,
        }
    }
}

#[wasm_bindgen]
impl Query {
    /// Returns the keys of the rows that are needed next, encoded as in `packed_rows`; `None` if
    /// the query has its result
    ///
    /// # Errors
    ///
    /// Those of the query, except a query of a request, which has a response for every error.
    pub fn poll(&mut self) -> Result<Option<Vec<u8>>, EngineError> {
        self.rows.clear();
        let next = match &mut self.state {
            State::Request(query) => match query.poll()? {
                Step::NeedRows(keys) => return Ok(Some(packed_rows::encode_keys(keys))),
                Step::Done(RequestState::Ready(response)) => State::Ready(response),
                Step::Done(RequestState::Pending(pending)) => State::Pending(pending),
            },
            State::BlockImport(query) => match query.poll()? {
                Step::NeedRows(keys) => return Ok(Some(packed_rows::encode_keys(keys))),
                Step::Done((batch, summary)) => {
                    let json = json::import_summary(&summary);
                    State::Commit { batch, json, chain_update: Some(summary.chain_update) }
                }
            },
            State::ConfigImport(query) => match query.poll()? {
                Step::NeedRows(keys) => return Ok(Some(packed_rows::encode_keys(keys))),
                Step::Done(batch) => {
                    State::Commit { batch, json: "null".to_owned(), chain_update: None }
                }
            },
            State::Chain(query) => match query.poll()? {
                Step::NeedRows(keys) => return Ok(Some(packed_rows::encode_keys(keys))),
                Step::Done(chain) => State::Json(json::chain_status(&chain)),
            },
            _ => return Ok(None),
        };
        self.state = next;
        Ok(None)
    }

    /// Appends the row of the next key, or that there is none
    pub fn push(&mut self, row: Option<Vec<u8>>) {
        self.rows.push(row.map(Row::from));
    }

    /// Supplies the rows that were pushed
    ///
    /// # Errors
    ///
    /// Their number is not that of the keys.
    pub fn supply_rows(&mut self) -> Result<(), EngineError> {
        let rows = core::mem::take(&mut self.rows);
        match &mut self.state {
            State::Request(query) => query.supply_rows(&rows)?,
            State::BlockImport(query) => query.supply_rows(&rows)?,
            State::ConfigImport(query) => query.supply_rows(&rows)?,
            State::Chain(query) => query.supply_rows(&rows)?,
            _ => return Err(EngineError::usage("no rows were asked for")),
        }
        Ok(())
    }

    /// Ends a request whose rows cannot be fetched, with a response that reports the reason
    pub fn fail(&mut self, reason: &str) {
        if let State::Request(query) = core::mem::replace(&mut self.state, State::Finished) {
            self.state = State::Ready(query.fail(&Error::new(ErrorKind::Storage, reason)));
        }
    }

    /// The handle of a request that was pending before; 0 for any other query
    pub fn handle(&self) -> u64 {
        self.handle.map_or(0, RequestHandle::to_bits)
    }

    /// Number of the response's kind, if there is a response
    pub fn kind(&self) -> Option<u32> {
        match &self.state {
            State::Ready(response) => Some(kind_number(response.kind)),
            _ => None,
        }
    }

    /// Takes the body of the response out, if there is a response
    pub fn take_response(&mut self) -> Option<Vec<u8>> {
        match core::mem::replace(&mut self.state, State::Finished) {
            State::Ready(response) => Some(response.body),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// Takes out the changes to commit, encoded as in `packed_rows`; `None` if nothing changes
    pub fn take_changes(&mut self) -> Option<Vec<u8>> {
        match &mut self.state {
            State::Commit { batch, .. } if !batch.is_empty() => {
                let encoded = packed_rows::encode_changes(batch);
                *batch = Batch::new();
                Some(encoded)
            }
            _ => None,
        }
    }

    /// The result as JSON text; empty for a request
    pub fn json(&self) -> String {
        match &self.state {
            State::Commit { json, .. } | State::Json(json) => json.clone(),
            _ => String::new(),
        }
    }
}
