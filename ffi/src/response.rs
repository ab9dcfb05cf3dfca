//! A response: its body, its kind and errors, and the contents of a status without a JSON parser.
//!
//! The engine says what the body contains and where; only the contents of a transaction's status
//! are read from its result, on first use. A response never changes, so any number of threads may
//! read it.

mod error_view;
mod status_view;

use core::fmt;
use core::ops::Range;
use std::sync::OnceLock;

use milepost::Error;
use milepost::endpoint::Response;
use milepost::rpc::ResponseKind;

use crate::boundary::ffi_function;
use crate::boundary::handle::{Handle, Immutable};
use crate::boundary::parameter::sized_outputs;
use crate::error::milepost_error;
use crate::status::CallError;
use crate::value::{milepost_bytes, milepost_hash};
use error_view::ErrorView;
use status_view::StatusView;

/// Response to a request
pub struct milepost_response {
    _private: (),
}

/// A response with views of its contents
pub struct ParsedResponse {
    // The views are declared before `response`, whose bytes they point to, so they are dropped
    // first.
    status: OnceLock<Result<Option<StatusView>, Error>>,
    error: OnceLock<Option<ErrorView>>,
    response: Response,
}

impl ParsedResponse {
    pub(crate) const fn new(response: Response) -> Self {
        Self { status: OnceLock::new(), error: OnceLock::new(), response }
    }

    /// The bytes at a place that the engine gives
    fn bytes(&self, place: &Range<usize>) -> &[u8] {
        self.response.body.get(place.clone()).unwrap_or_default()
    }

    /// The result, if the response is not an error or a batch
    fn result(&self) -> Option<&[u8]> {
        let outcome = self.response.outcomes.only().filter(|it| it.error.is_none())?;
        Some(self.bytes(&outcome.value))
    }

    fn status_view(&self) -> Result<&StatusView, CallError> {
        let read = || self.result().map_or(Ok(None), StatusView::read);
        let status = self.status.get_or_init(read).as_ref().map_err(Error::clone)?;
        status.as_ref().ok_or_else(|| CallError::usage("the response is not a transaction status"))
    }

    fn error_view(&self) -> Option<&ErrorView> {
        let view = || {
            let outcome = self.response.outcomes.only()?;
            Some(ErrorView::new(outcome.error.as_deref()?, self.bytes(&outcome.value)))
        };
        self.error.get_or_init(view).as_ref()
    }

    /// Number of responses in a batch; 0 if the response is not a batch
    fn batch_len(&self) -> usize {
        let outcomes = &self.response.outcomes;
        if outcomes.is_batch() { outcomes.iter().count() } else { 0 }
    }
}

impl fmt::Debug for ParsedResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.response.fmt(formatter)
    }
}

impl Handle for milepost_response {
    type Value = ParsedResponse;
    type Ownership = Immutable;
    const NAME: &'static str = "milepost_response";
}

/// Kind of a response
pub type milepost_response_kind_t = i32;

/// A result, or a batch of any responses
pub const MILEPOST_RESPONSE_KIND_RESULT: milepost_response_kind_t = 1;
/// `REQUEST_VALIDATION_ERROR`
pub const MILEPOST_RESPONSE_KIND_REQUEST_VALIDATION: milepost_response_kind_t = 2;
/// `HANDLER_ERROR` with `TIMEOUT_ERROR`
pub const MILEPOST_RESPONSE_KIND_TIMEOUT: milepost_response_kind_t = 3;
/// `HANDLER_ERROR` with `UNKNOWN_BLOCK` for a height below the head: skipped or removed
pub const MILEPOST_RESPONSE_KIND_SKIPPED_BLOCK: milepost_response_kind_t = 4;
/// Any other `HANDLER_ERROR`
pub const MILEPOST_RESPONSE_KIND_HANDLER: milepost_response_kind_t = 5;
/// `INTERNAL_ERROR`
pub const MILEPOST_RESPONSE_KIND_INTERNAL: milepost_response_kind_t = 6;
/// `INTERNAL_ERROR` of a service that is full or shutting down; a later request may succeed
pub const MILEPOST_RESPONSE_KIND_UNAVAILABLE: milepost_response_kind_t = 7;
/// A kind that this library has no number for
pub const MILEPOST_RESPONSE_KIND_OTHER: milepost_response_kind_t = 255;

/// Milestone of a transaction:
/// `NONE < INCLUDED < {EXECUTED_OPTIMISTIC, INCLUDED_FINAL} < EXECUTED < FINAL`
pub type milepost_milestone_t = i32;

/// Not included in a block
pub const MILEPOST_MILESTONE_NONE: milepost_milestone_t = 0;
/// In a block that may not be final
pub const MILEPOST_MILESTONE_INCLUDED: milepost_milestone_t = 1;
/// In a block, and all receipts except refunds are executed; no block need be final
pub const MILEPOST_MILESTONE_EXECUTED_OPTIMISTIC: milepost_milestone_t = 2;
/// In a final block
pub const MILEPOST_MILESTONE_INCLUDED_FINAL: milepost_milestone_t = 3;
/// In a final block, and all receipts except refunds are executed
pub const MILEPOST_MILESTONE_EXECUTED: milepost_milestone_t = 4;
/// In a final block, and all receipts, refunds included, are executed in final blocks
pub const MILEPOST_MILESTONE_FINAL: milepost_milestone_t = 5;

/// Execution status of a transaction as a whole or of one outcome; it defines the payload
pub type milepost_execution_status_t = i32;

/// The transaction is unknown; no payload
pub const MILEPOST_EXECUTION_STATUS_NONE: milepost_execution_status_t = 0;
/// Of an outcome: not executed yet; no payload
pub const MILEPOST_EXECUTION_STATUS_UNKNOWN: milepost_execution_status_t = 1;
/// Of a transaction: not executed yet; no payload
pub const MILEPOST_EXECUTION_STATUS_NOT_STARTED: milepost_execution_status_t = 2;
/// Of a transaction: executed in part; no payload
pub const MILEPOST_EXECUTION_STATUS_STARTED: milepost_execution_status_t = 3;
/// The execution failed; the payload is the failure, as JSON
pub const MILEPOST_EXECUTION_STATUS_FAILURE: milepost_execution_status_t = 4;
/// The execution returned a value; the payload is the bytes of the value
pub const MILEPOST_EXECUTION_STATUS_SUCCESS_VALUE: milepost_execution_status_t = 5;
/// The status is that of a receipt; the payload is the 32 bytes of the receipt's id
pub const MILEPOST_EXECUTION_STATUS_SUCCESS_RECEIPT_ID: milepost_execution_status_t = 6;
/// A status that this library has no number for; the payload is the whole status, as JSON
pub const MILEPOST_EXECUTION_STATUS_OTHER: milepost_execution_status_t = 255;

/// Result of a request for a transaction's status; bytes belong to the response
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_transaction_status {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// Milestone that the transaction has reached: `MILEPOST_MILESTONE_...`
    pub milestone: milepost_milestone_t,
    /// Status of the transaction as a whole: `MILEPOST_EXECUTION_STATUS_...`
    pub execution_status: milepost_execution_status_t,
    /// Payload of `execution_status`
    pub payload: milepost_bytes,
    /// The transaction, as JSON; no bytes if it is unknown
    pub transaction: milepost_bytes,
    /// Number of outcomes: that of the transaction, then those of receipts; 0 if it is unknown
    pub outcomes: usize,
    /// Number of receipts; 0 also if the request did not ask for receipts
    pub receipts: usize,
}

/// An execution outcome; bytes and arrays belong to the response
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_outcome {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// Hash of the transaction, or id of the receipt
    pub id: milepost_hash,
    /// Block whose chunk executed it
    pub block_hash: milepost_hash,
    /// Account that executed it
    pub executor_id: milepost_bytes,
    /// Its status: `MILEPOST_EXECUTION_STATUS_...`
    pub execution_status: milepost_execution_status_t,
    /// Payload of `execution_status`
    pub payload: milepost_bytes,
    /// Gas burnt
    pub gas_burnt: u64,
    /// yoctoNEAR burnt, modulo 2^64
    pub tokens_burnt_low: u64,
    /// yoctoNEAR burnt, divided by 2^64
    pub tokens_burnt_high: u64,
    /// Ids of the receipts that it created
    pub receipt_ids: *const milepost_hash,
    /// Number of receipt ids
    pub receipt_ids_len: usize,
    /// Log lines of the contract, unescaped
    pub logs: *const milepost_bytes,
    /// Number of log lines
    pub logs_len: usize,
    /// The whole outcome, with its id and proof, as JSON
    pub json: milepost_bytes,
}

/// Error of an error response; bytes belong to the response
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_rpc_error {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// `name` of the error, such as `HANDLER_ERROR`
    pub name: milepost_bytes,
    /// `name` of its cause, such as `TIMEOUT_ERROR`; no bytes of an error that the host gave
    pub cause: milepost_bytes,
    /// `info` of its cause, as JSON; no bytes if there is none
    pub info: milepost_bytes,
    /// The whole error, as JSON; the bytes are those of the body
    pub json: milepost_bytes,
    /// Hash of the transaction or block that it is about; NULL if it names none
    pub hash: *const milepost_hash,
    /// Height that it is about; NULL if it names none
    pub height: *const u64,
    /// Shard that is not tracked; NULL if it names none
    pub shard_id: *const u64,
    /// Limit that is reached; NULL if it names none
    pub limit: *const u64,
}

sized_outputs! { milepost_transaction_status milepost_outcome milepost_rpc_error }

const fn kind_number(kind: ResponseKind) -> milepost_response_kind_t {
    match kind {
        ResponseKind::Result => MILEPOST_RESPONSE_KIND_RESULT,
        ResponseKind::RequestValidation => MILEPOST_RESPONSE_KIND_REQUEST_VALIDATION,
        ResponseKind::Timeout => MILEPOST_RESPONSE_KIND_TIMEOUT,
        ResponseKind::SkippedBlock => MILEPOST_RESPONSE_KIND_SKIPPED_BLOCK,
        ResponseKind::Handler => MILEPOST_RESPONSE_KIND_HANDLER,
        ResponseKind::Internal => MILEPOST_RESPONSE_KIND_INTERNAL,
        ResponseKind::Unavailable => MILEPOST_RESPONSE_KIND_UNAVAILABLE,
        _ => MILEPOST_RESPONSE_KIND_OTHER,
    }
}

/// The kind of this number
///
/// # Errors
///
/// It is none of an error.
pub(crate) fn kind_of_number(number: milepost_response_kind_t) -> Result<ResponseKind, CallError> {
    Ok(match number {
        MILEPOST_RESPONSE_KIND_REQUEST_VALIDATION => ResponseKind::RequestValidation,
        MILEPOST_RESPONSE_KIND_TIMEOUT => ResponseKind::Timeout,
        MILEPOST_RESPONSE_KIND_SKIPPED_BLOCK => ResponseKind::SkippedBlock,
        MILEPOST_RESPONSE_KIND_HANDLER => ResponseKind::Handler,
        MILEPOST_RESPONSE_KIND_INTERNAL => ResponseKind::Internal,
        MILEPOST_RESPONSE_KIND_UNAVAILABLE => ResponseKind::Unavailable,
        _ => return Err(CallError::invalid_enum("kind of an error", number)),
    })
}

ffi_function! {
    /// The body to send: compact JSON
    fn milepost_response_body(
        response: *const milepost_response,
        body: *mut milepost_bytes,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        body.write(milepost_bytes::new(&response.response.body));
        Ok(())
    }
}

ffi_function! {
    /// Kind of the response, `MILEPOST_RESPONSE_KIND_...`, from which a host can choose an HTTP
    /// status
    fn milepost_response_kind(
        response: *const milepost_response,
        kind: *mut milepost_response_kind_t,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        kind.write(kind_number(response.response.kind()));
        Ok(())
    }
}

ffi_function! {
    /// The member `result` of the response, as JSON, for any method
    ///
    /// `MILEPOST_STATUS_USAGE` if the response is an error or a batch.
    fn milepost_response_result_json(
        response: *const milepost_response,
        json: *mut milepost_bytes,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let no_result = || CallError::usage("the response has no result");
        json.write(milepost_bytes::new(response.result().ok_or_else(no_result)?));
        Ok(())
    }
}

ffi_function! {
    /// The result of a request for a transaction's status
    ///
    /// `MILEPOST_STATUS_USAGE` if the response is an error, a batch, or of another method.
    fn milepost_response_transaction_status(
        response: *const milepost_response,
        transaction_status: *mut milepost_transaction_status,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        transaction_status.write(response.status_view()?.status);
        Ok(())
    }
}

ffi_function! {
    /// An outcome of the transaction: index 0 is that of the transaction itself, then come those of
    /// receipts in the order of the body
    fn milepost_response_outcome(
        response: *const milepost_response,
        index: usize,
        outcome: *mut milepost_outcome,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let outcomes = &response.status_view()?.outcomes;
        let out_of_range = || CallError::index(index, outcomes.len());
        outcome.write(*outcomes.get(index).ok_or_else(out_of_range)?);
        Ok(())
    }
}

ffi_function! {
    /// A receipt of the transaction, as JSON, in the order of the body
    fn milepost_response_receipt(
        response: *const milepost_response,
        index: usize,
        json: *mut milepost_bytes,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let receipts = &response.status_view()?.receipts;
        let out_of_range = || CallError::index(index, receipts.len());
        json.write(*receipts.get(index).ok_or_else(out_of_range)?);
        Ok(())
    }
}

ffi_function! {
    /// The error of an error response
    ///
    /// `MILEPOST_STATUS_USAGE` if the response is a result or a batch.
    fn milepost_response_rpc_error(
        response: *const milepost_response,
        rpc_error: *mut milepost_rpc_error,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let no_error = || CallError::usage("the response is not an error");
        rpc_error.write(response.error_view().ok_or_else(no_error)?.rpc_error);
        Ok(())
    }
}

ffi_function! {
    /// Number of responses in a batch; 0 if the response is not a batch
    fn milepost_response_batch_len(
        response: *const milepost_response,
        len: *mut usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        len.write(response.batch_len());
        Ok(())
    }
}

ffi_function! {
    /// One response of a batch, as a response of its own with a kind of its own
    fn milepost_response_batch_item(
        response: *const milepost_response,
        index: usize,
        item: *mut *mut milepost_response,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let len = response.batch_len();
        let found = if index < len { response.response.item(index) } else { None };
        item.write(ParsedResponse::new(found.ok_or_else(|| CallError::index(index, len))?));
        Ok(())
    }
}

ffi_function! {
    /// Frees a response, and with it all bytes that belong to it
    fn milepost_response_free(response: *mut milepost_response);
}
