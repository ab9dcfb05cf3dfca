//! The outputs of an endpoint: its needs, and the results that it hands out.
//!
//! One flat structure for all kinds of output: the members of other kinds are zero. Keys and
//! changes are borrowed from the endpoint; responses, summaries and errors are new handles of the
//! host.

use milepost::endpoint::{Completion, Output, WatchEvent, WatchEventKind};

use crate::boundary::handle;
use crate::boundary::parameter::sized_outputs;
use crate::chain::milepost_chain_status;
use crate::error::{ErrorDetails, milepost_error};
use crate::import_summary::milepost_import_summary;
use crate::proof::milepost_json;
use crate::response::{ParsedResponse, milepost_milestone_t, milepost_response};
use crate::status::CallError;
use crate::storage::{FlatBatch, FlatKeys, milepost_change};
use crate::value::milepost_bytes;

/// Kind of an output
pub type milepost_output_kind_t = i32;

/// Nothing more until something is handed in: call `milepost_endpoint_handle_timeout` at `timeout`
/// at the latest
pub const MILEPOST_OUTPUT_TIMEOUT: milepost_output_kind_t = 1;
/// `response` is the response to a request, which is no longer pending
pub const MILEPOST_OUTPUT_RESPONSE: milepost_output_kind_t = 2;
/// A request waits for its milestone, or a watched transaction was observed: the state of the
/// storage that its rows came from can be released
pub const MILEPOST_OUTPUT_PENDING: milepost_output_kind_t = 3;
/// An operation needs the rows of `keys`, by `milepost_endpoint_handle_rows` or
/// `milepost_endpoint_fail_rows`
pub const MILEPOST_OUTPUT_NEED_ROWS: milepost_output_kind_t = 4;
/// The changes of an import are to be committed, all or none; then call
/// `milepost_endpoint_handle_commit_result`
pub const MILEPOST_OUTPUT_COMMIT: milepost_output_kind_t = 5;
/// An operation other than a request is done: an import, or a query for the state of the chain or
/// for a proof
pub const MILEPOST_OUTPUT_COMPLETED: milepost_output_kind_t = 6;
/// An operation other than a request has failed, for the reason `error`; nothing was changed. Of a
/// watch: it has ended
pub const MILEPOST_OUTPUT_FAILED: milepost_output_kind_t = 7;

/// A watch reports an event, `watch_event`; after `MILEPOST_WATCH_REACHED` and
/// `MILEPOST_WATCH_FORGOTTEN` it has ended
pub const MILEPOST_OUTPUT_WATCH: milepost_output_kind_t = 8;

/// An event of a watched transaction
pub type milepost_watch_event_t = i32;

/// Its compact status is another one, or is reported for the first time
pub const MILEPOST_WATCH_STATUS: milepost_watch_event_t = 1;
/// A fork took away the block of a transaction that was in one by the event before; the state in
/// another block follows as an event of its own
pub const MILEPOST_WATCH_UN_INCLUDED: milepost_watch_event_t = 2;
/// The milestone is reached: the last event
pub const MILEPOST_WATCH_REACHED: milepost_watch_event_t = 3;
/// Retention removed the transaction from the storage: the last event, with no compact status but
/// the hash
pub const MILEPOST_WATCH_FORGOTTEN: milepost_watch_event_t = 4;

/// Timeout of an output: no request is pending. Timeout of a request: it has no deadline
pub const MILEPOST_TIMEOUT_NEVER: u64 = 0xffff_ffff_ffff_ffff;

/// A need or a result of an endpoint; members of other kinds are zero
///
/// Keys, changes and the texts of an event belong to the endpoint, until the next call on it. The
/// host frees `response`, `summary`, `chain_status`, `proof` and `error`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_output {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// Its kind: `MILEPOST_OUTPUT_...`
    pub kind: milepost_output_kind_t,
    /// NEED_ROWS: 1 if an evaluation starts, which may read a new state of the storage; all its
    /// later rows have to come from the same state, unless `MILEPOST_SETTING_ISOLATION` is set
    pub is_first: i32,
    /// The request or other operation; all kinds except TIMEOUT
    pub handle: u64,
    /// TIMEOUT: the time, or `MILEPOST_TIMEOUT_NEVER`
    pub timeout: u64,
    /// RESPONSE: the response
    pub response: *mut milepost_response,
    /// NEED_ROWS: keys of the rows, each the number of its table and 1 to 32 bytes
    pub keys: *const milepost_bytes,
    /// Number of keys
    pub keys_len: usize,
    /// COMMIT: the changes; no key occurs twice, so their order does not matter
    pub changes: *const milepost_change,
    /// Number of changes
    pub changes_len: usize,
    /// COMPLETED, of a block: what its import did
    pub summary: *mut milepost_import_summary,
    /// COMPLETED, of a query for the state of the chain: the state
    pub chain_status: *mut milepost_chain_status,
    /// FAILED: why
    pub error: *mut milepost_error,
    /// WATCH: what happened, `MILEPOST_WATCH_...`
    pub watch_event: milepost_watch_event_t,
    /// WATCH: the milestone of the transaction, `MILEPOST_MILESTONE_...`
    pub milestone: milepost_milestone_t,
    /// WATCH: equal events have equal ids, which are those of the events over HTTP
    pub event_id: milepost_bytes,
    /// WATCH: the compact status as JSON
    pub compact_status: milepost_bytes,
    /// COMPLETED, of a query for a proof: the proof; NULL if no stored block confirms an outcome
    pub proof: *mut milepost_json,
}

sized_outputs! { milepost_output }

/// The memory that the last output points to
#[derive(Default)]
pub(crate) struct BorrowedOutput {
    keys: FlatKeys,
    batch: FlatBatch,
    event: Option<WatchEvent>,
}

impl BorrowedOutput {
    /// Converts an output; its keys or changes replace those of the output before
    ///
    /// # Errors
    ///
    /// An output that is not for hosts in C: the endpoint evaluates all requests, and has no
    /// archive.
    pub(crate) fn convert(&mut self, output: Output) -> Result<milepost_output, CallError> {
        let mut converted = milepost_output {
            size: size_of::<milepost_output>(),
            kind: MILEPOST_OUTPUT_TIMEOUT,
            is_first: 0,
            handle: 0,
            timeout: 0,
            response: core::ptr::null_mut(),
            keys: core::ptr::null(),
            keys_len: 0,
            changes: core::ptr::null(),
            changes_len: 0,
            summary: core::ptr::null_mut(),
            chain_status: core::ptr::null_mut(),
            error: core::ptr::null_mut(),
            watch_event: 0,
            milestone: 0,
            event_id: milepost_bytes::NONE,
            compact_status: milepost_bytes::NONE,
            proof: core::ptr::null_mut(),
        };
        *self = Self::default();
        let (kind, handle) = match output {
            Output::Timeout(timeout) => {
                converted.timeout = timeout.unwrap_or(MILEPOST_TIMEOUT_NEVER);
                return Ok(converted);
            }
            Output::Response { handle, response, .. } => {
                converted.response = handle::create(ParsedResponse::new(response));
                (MILEPOST_OUTPUT_RESPONSE, handle)
            }
            Output::Pending { handle } => (MILEPOST_OUTPUT_PENDING, handle),
            Output::NeedRows { handle, keys, is_first } => {
                self.keys = FlatKeys::new(&keys);
                converted.keys = self.keys.spans().as_ptr();
                converted.keys_len = self.keys.spans().len();
                converted.is_first = i32::from(is_first);
                (MILEPOST_OUTPUT_NEED_ROWS, handle)
            }
            Output::Commit { handle, batch } => {
                self.batch = FlatBatch::new(batch);
                converted.changes = self.batch.changes().as_ptr();
                converted.changes_len = self.batch.changes().len();
                (MILEPOST_OUTPUT_COMMIT, handle)
            }
            Output::Completed { handle, result: Ok(completion) } => {
                match completion {
                    Completion::Block(summary) => converted.summary = handle::create(summary),
                    Completion::Chain(status) => converted.chain_status = handle::create(status),
                    Completion::Proof(Some(proof)) => {
                        converted.proof = handle::create(proof.to_json());
                    }
                    _ => {}
                }
                (MILEPOST_OUTPUT_COMPLETED, handle)
            }
            Output::Watch { handle, event: Ok(event) } => {
                converted.watch_event = match event.kind {
                    WatchEventKind::UnIncluded => MILEPOST_WATCH_UN_INCLUDED,
                    WatchEventKind::Reached => MILEPOST_WATCH_REACHED,
                    WatchEventKind::Forgotten => MILEPOST_WATCH_FORGOTTEN,
                    _ => MILEPOST_WATCH_STATUS,
                };
                converted.milestone = event.milestone as i32;
                let event = self.event.insert(event);
                converted.event_id = milepost_bytes::new(event.id.as_bytes());
                converted.compact_status = milepost_bytes::new(event.json.as_bytes());
                (MILEPOST_OUTPUT_WATCH, handle)
            }
            Output::Completed { handle, result: Err(error) }
            | Output::Watch { handle, event: Err(error) } => {
                let error = ErrorDetails::from(&CallError::from(error));
                converted.error = handle::create(error);
                (MILEPOST_OUTPUT_FAILED, handle)
            }
            Output::Wakeup { .. } | Output::Write { .. } | Output::Scan { .. } => {
                return Err(CallError::usage("no such output is for hosts in C"));
            }
        };
        Ok(milepost_output { kind, handle: handle.to_bits(), ..converted })
    }
}
