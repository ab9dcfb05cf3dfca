//! An answer: its body to be sent, its class, and what is in it, without a JSON parser.
//!
//! The body is there at once; what is in it is looked for when someone first asks, and then kept.
//! An answer never changes, so any number of threads may read it.

mod view;

use core::fmt;
use std::sync::OnceLock;

use milepost::Error;
use milepost::engine::Answer;
use milepost::rpc::AnswerClass;

use crate::boundary::ffi_function;
use crate::boundary::handle::{Fixed, Handle};
use crate::error::milepost_error;
use crate::status::Refusal;
use crate::value::{milepost_bytes, milepost_hash};
use view::{Contents, View};

/// The answer to a request
pub struct milepost_answer {
    _private: (),
}

/// A body, its class, and what is in it
pub struct Answered {
    /// Read before `answer` is dropped, whose bytes it points to
    view: OnceLock<Result<View, Error>>,
    answer: Answer,
}

impl Answered {
    pub(crate) const fn new(answer: Answer) -> Self {
        Self { view: OnceLock::new(), answer }
    }

    fn view(&self) -> Result<&View, Refusal> {
        let read = || View::read(&self.answer.body);
        self.view.get_or_init(read).as_ref().map_err(|error| error.clone().into())
    }

    fn contents(&self) -> Result<&Contents, Refusal> {
        let view = self.view()?;
        view.contents.as_ref().ok_or_else(|| Refusal::usage("the answer is none of a status"))
    }
}

impl fmt::Debug for Answered {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.answer.fmt(formatter)
    }
}

impl Handle for milepost_answer {
    type Value = Answered;
    type Ownership = Fixed;
    const NAME: &'static str = "milepost_answer";
}

/// What kind of answer it is
pub type milepost_class_t = i32;

/// A result, or a batch of any answers
pub const MILEPOST_CLASS_RESULT: milepost_class_t = 1;
/// `REQUEST_VALIDATION_ERROR`
pub const MILEPOST_CLASS_REQUEST_VALIDATION: milepost_class_t = 2;
/// `HANDLER_ERROR` with `TIMEOUT_ERROR`
pub const MILEPOST_CLASS_TIMEOUT: milepost_class_t = 3;
/// `HANDLER_ERROR` with `UNKNOWN_BLOCK` for a height below the head: skipped or removed
pub const MILEPOST_CLASS_SKIPPED_BLOCK: milepost_class_t = 4;
/// Any other `HANDLER_ERROR`
pub const MILEPOST_CLASS_HANDLER: milepost_class_t = 5;
/// `INTERNAL_ERROR`
pub const MILEPOST_CLASS_INTERNAL: milepost_class_t = 6;
/// `INTERNAL_ERROR` of a service that has no place for the request now, and may have later
pub const MILEPOST_CLASS_UNAVAILABLE: milepost_class_t = 7;
/// Something that this library has no number for
pub const MILEPOST_CLASS_OTHER: milepost_class_t = 255;

/// How far along a transaction is: `NONE < INCLUDED < {EXECUTED_OPTIMISTIC, INCLUDED_FINAL} < EXECUTED < FINAL`
pub type milepost_milestone_t = i32;

/// Waits to be included in a block
pub const MILEPOST_MILESTONE_NONE: milepost_milestone_t = 0;
/// In a block that may not be final
pub const MILEPOST_MILESTONE_INCLUDED: milepost_milestone_t = 1;
/// In a block, and all receipts but refunds are executed; no block need be final
pub const MILEPOST_MILESTONE_EXECUTED_OPTIMISTIC: milepost_milestone_t = 2;
/// In a final block
pub const MILEPOST_MILESTONE_INCLUDED_FINAL: milepost_milestone_t = 3;
/// In a final block, and all receipts but refunds are executed
pub const MILEPOST_MILESTONE_EXECUTED: milepost_milestone_t = 4;
/// In a final block, and all receipts, refunds included, are executed in final blocks
pub const MILEPOST_MILESTONE_FINAL: milepost_milestone_t = 5;

/// How an execution ended, or a transaction as a whole; it says what the payload is
pub type milepost_ending_t = i32;

/// Nothing is known of it; no payload
pub const MILEPOST_ENDING_NONE: milepost_ending_t = 0;
/// Of an outcome: not executed yet; no payload
pub const MILEPOST_ENDING_UNKNOWN: milepost_ending_t = 1;
/// Of a transaction: not executed yet; no payload
pub const MILEPOST_ENDING_NOT_STARTED: milepost_ending_t = 2;
/// Of a transaction: executed in part; no payload
pub const MILEPOST_ENDING_STARTED: milepost_ending_t = 3;
/// It failed; the payload is the failure, as JSON
pub const MILEPOST_ENDING_FAILURE: milepost_ending_t = 4;
/// It gave a value; the payload is the bytes of the value
pub const MILEPOST_ENDING_SUCCESS_VALUE: milepost_ending_t = 5;
/// It ends as a receipt ends; the payload is the 32 bytes of the receipt's id
pub const MILEPOST_ENDING_SUCCESS_RECEIPT_ID: milepost_ending_t = 6;
/// Something that this library has no number for; the payload is the whole status, as JSON
pub const MILEPOST_ENDING_OTHER: milepost_ending_t = 255;

/// The result of a request for a transaction's status; bytes belong to the answer
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_result {
    /// How far along the transaction is: `MILEPOST_MILESTONE_...`
    pub milestone: milepost_milestone_t,
    /// How it did as a whole: `MILEPOST_ENDING_...`
    pub ending: milepost_ending_t,
    /// What that gave
    pub payload: milepost_bytes,
    /// The transaction, as JSON; no bytes when nothing is known of it
    pub transaction: milepost_bytes,
    /// Number of outcomes: that of the transaction, then those of receipts; 0 when nothing is known of it
    pub outcomes: usize,
    /// Number of receipts; 0 also when the request was not for receipts
    pub receipts: usize,
}

/// An outcome; bytes and arrays belong to the answer
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_outcome {
    /// Hash of the transaction, or id of the receipt
    pub id: milepost_hash,
    /// Block whose chunk executed it
    pub block_hash: milepost_hash,
    /// Account that executed it
    pub executor_id: milepost_bytes,
    /// How it ended: `MILEPOST_ENDING_...`
    pub ending: milepost_ending_t,
    /// What that gave
    pub payload: milepost_bytes,
    /// Gas that it burnt
    pub gas_burnt: u64,
    /// yoctoNEAR that it burnt, modulo 2^64
    pub tokens_burnt_low: u64,
    /// yoctoNEAR that it burnt, divided by 2^64
    pub tokens_burnt_high: u64,
    /// Ids of the receipts that it made
    pub receipt_ids: *const milepost_hash,
    /// How many there are
    pub receipt_ids_len: usize,
    /// Lines that the contract logged, unescaped
    pub logs: *const milepost_bytes,
    /// How many there are
    pub logs_len: usize,
    /// The whole outcome, with its id and proof, as JSON
    pub json: milepost_bytes,
}

/// What is wrong with a request that is answered by an error; bytes belong to the answer
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_failure {
    /// Which kind, as in `HANDLER_ERROR`
    pub name: milepost_bytes,
    /// Why, as in `TIMEOUT_ERROR`
    pub cause: milepost_bytes,
    /// What the cause says beside its name, as JSON; no bytes when it says nothing
    pub info: milepost_bytes,
    /// The whole error, as JSON
    pub json: milepost_bytes,
}

const fn class(class: AnswerClass) -> milepost_class_t {
    match class {
        AnswerClass::Result => MILEPOST_CLASS_RESULT,
        AnswerClass::RequestValidation => MILEPOST_CLASS_REQUEST_VALIDATION,
        AnswerClass::Timeout => MILEPOST_CLASS_TIMEOUT,
        AnswerClass::SkippedBlock => MILEPOST_CLASS_SKIPPED_BLOCK,
        AnswerClass::Handler => MILEPOST_CLASS_HANDLER,
        AnswerClass::Internal => MILEPOST_CLASS_INTERNAL,
        AnswerClass::Unavailable => MILEPOST_CLASS_UNAVAILABLE,
        _ => MILEPOST_CLASS_OTHER,
    }
}

ffi_function! {
    /// The body to send: compact JSON
    fn milepost_answer_body(answer: *const milepost_answer, body: *mut milepost_bytes) -> milepost_status_t {
        body.put(milepost_bytes::of(&answer.answer.body));
        Ok(())
    }
}

ffi_function! {
    /// What kind of answer it is, `MILEPOST_CLASS_...`, for a host that chooses an HTTP status by it
    fn milepost_answer_class(answer: *const milepost_answer, class: *mut milepost_class_t) -> milepost_status_t {
        class.put(self::class(answer.answer.class));
        Ok(())
    }
}

ffi_function! {
    /// The member `result` of the answer, as JSON, whatever was asked for
    ///
    /// `MILEPOST_STATUS_USAGE` when the answer is an error or a batch.
    fn milepost_answer_result_json(
        answer: *const milepost_answer,
        json: *mut milepost_bytes,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let result = answer.view()?.result.ok_or_else(|| Refusal::usage("the answer has no result"))?;
        json.put(result);
        Ok(())
    }
}

ffi_function! {
    /// The result of a request for a transaction's status
    ///
    /// `MILEPOST_STATUS_USAGE` when the answer is an error, a batch, or none of a status.
    fn milepost_answer_result(
        answer: *const milepost_answer,
        result: *mut milepost_result,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        result.put(answer.contents()?.result);
        Ok(())
    }
}

ffi_function! {
    /// An outcome of the result: with index 0 that of the transaction, then those of receipts in the order of the body
    fn milepost_answer_outcome(
        answer: *const milepost_answer,
        index: usize,
        outcome: *mut milepost_outcome,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let outcomes = &answer.contents()?.outcomes;
        outcome.put(*outcomes.get(index).ok_or_else(|| Refusal::index(index, outcomes.len()))?);
        Ok(())
    }
}

ffi_function! {
    /// A receipt of the result, as JSON, in the order of the body
    fn milepost_answer_receipt(
        answer: *const milepost_answer,
        index: usize,
        json: *mut milepost_bytes,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let receipts = &answer.contents()?.receipts;
        json.put(*receipts.get(index).ok_or_else(|| Refusal::index(index, receipts.len()))?);
        Ok(())
    }
}

ffi_function! {
    /// What is wrong with a request that is answered by an error
    ///
    /// `MILEPOST_STATUS_USAGE` when the answer is a result or a batch.
    fn milepost_answer_failure(
        answer: *const milepost_answer,
        failure: *mut milepost_failure,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let found = answer.view()?.failure.ok_or_else(|| Refusal::usage("the answer is no error"))?;
        failure.put(found);
        Ok(())
    }
}

ffi_function! {
    /// How many answers a batch has; 0 when the answer is that of one request
    fn milepost_answer_parts(
        answer: *const milepost_answer,
        parts: *mut usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        parts.put(answer.view()?.parts.len());
        Ok(())
    }
}

ffi_function! {
    /// One answer of a batch, as an answer of its own
    ///
    /// Its class is that of the batch, `MILEPOST_CLASS_RESULT`; `milepost_answer_failure` tells whether it is an error.
    fn milepost_answer_part(
        answer: *const milepost_answer,
        index: usize,
        part: *mut *mut milepost_answer,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let parts = &answer.view()?.parts;
        let range = parts.get(index).ok_or_else(|| Refusal::index(index, parts.len()))?;
        // The ranges are those of values within this very body.
        let body = answer.answer.body.get(range.clone()).unwrap_or_default().to_vec();
        part.put(Answered::new(Answer { body, class: answer.answer.class }));
        Ok(())
    }
}

ffi_function! {
    /// Frees an answer, and with it all bytes that came of it
    fn milepost_answer_free(answer: *mut milepost_answer);
}
