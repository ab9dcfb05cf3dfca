//! Requests for hosts with remote storage.
//!
//! A [`milepost_pending_request`] returns the keys of the rows that it needs, is resumed with the
//! rows, and ends in a response or waits for its milestone. A waiting request is resumed after a
//! block or at its deadline, by the host itself or through an endpoint.

use core::mem;

use milepost::endpoint::{PendingRequest, RequestQuery, RequestState};
use milepost::rpc;
use milepost::storage::{OptimisticQuery, Query as _, Step};
use milepost::{Error, ErrorKind};

use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Handle};
use crate::error::milepost_error;
use crate::response::{ParsedResponse, milepost_response};
use crate::settings::{HostSettings, milepost_settings};
use crate::status::CallError;
use crate::storage::{self, FlatKeys, milepost_row};
use crate::value::{milepost_bytes, milepost_hash};

/// A request over a remote storage
pub struct milepost_pending_request {
    _private: (),
}

impl Handle for milepost_pending_request {
    type Value = PendingRequestState;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_pending_request";
}

/// What a suspended query needs next
pub type milepost_step_t = i32;

/// The rows of the keys that were returned with it
pub const MILEPOST_STEP_NEED_ROWS: milepost_step_t = 1;
/// Nothing: it is done
pub const MILEPOST_STEP_DONE: milepost_step_t = 2;
/// A block: the milestone is not reached
pub const MILEPOST_STEP_PENDING: milepost_step_t = 3;

/// Why a waiting request is resumed
pub type milepost_resume_t = i32;

/// A block was imported: the request is answered, or waits again
pub const MILEPOST_RESUME_BLOCK: milepost_resume_t = 1;
/// The deadline has passed: the request is answered, with `TIMEOUT_ERROR` if the milestone is not
/// reached
pub const MILEPOST_RESUME_EXPIRED: milepost_resume_t = 2;

/// Stage of a request, and the keys that it returned last
#[derive(Default)]
pub struct PendingRequestState {
    stage: Stage,
    keys: FlatKeys,
}

#[derive(Default)]
enum Stage {
    Running(Box<OptimisticQuery<RequestQuery>>),
    Waiting(Box<PendingRequest>),
    Answered,
    /// An endpoint has the request
    #[default]
    Moved,
}

impl PendingRequestState {
    /// A request whose query is to be run
    pub(crate) fn new(query: RequestQuery) -> Self {
        let isolation = query.isolation();
        let query = Box::new(OptimisticQuery::new(query, isolation));
        Self { stage: Stage::Running(query), keys: FlatKeys::default() }
    }

    /// Takes out the request that waits
    pub(crate) fn take_waiting(&mut self) -> Result<PendingRequest, CallError> {
        match mem::take(&mut self.stage) {
            Stage::Waiting(pending) => Ok(*pending),
            other => {
                self.stage = other;
                Err(CallError::usage("the request does not wait"))
            }
        }
    }

    pub(crate) const fn is_answered(&self) -> bool {
        matches!(self.stage, Stage::Answered)
    }

    fn take_running(&mut self) -> Result<Box<OptimisticQuery<RequestQuery>>, CallError> {
        match mem::take(&mut self.stage) {
            Stage::Running(query) => Ok(query),
            other => {
                self.stage = other;
                Err(CallError::usage("the request is answered, waits, or is at an endpoint"))
            }
        }
    }

    fn poll(&mut self) -> Result<(milepost_step_t, Option<ParsedResponse>), CallError> {
        if matches!(self.stage, Stage::Waiting(_)) {
            return Ok((MILEPOST_STEP_PENDING, None));
        }
        let mut query = self.take_running()?;
        let state = match query.poll()? {
            Step::NeedRows(keys) => {
                self.keys = FlatKeys::new(keys);
                None
            }
            Step::Done(state) => Some(state),
        };
        let Some(state) = state else {
            self.stage = Stage::Running(query);
            return Ok((MILEPOST_STEP_NEED_ROWS, None));
        };
        self.keys = FlatKeys::default();
        match state {
            RequestState::Ready(response) => {
                self.stage = Stage::Answered;
                Ok((MILEPOST_STEP_DONE, Some(ParsedResponse::new(response))))
            }
            RequestState::Pending(pending) => {
                self.stage = Stage::Waiting(Box::new(pending));
                Ok((MILEPOST_STEP_PENDING, None))
            }
        }
    }
}

ffi_function! {
    /// Creates a request over a remote storage from its body; poll it next
    ///
    /// Every body has a response. `settings` may be NULL for the defaults. `url_method` is the
    /// method that the request's URL names; pass length 0 if it names none.
    fn milepost_pending_request_new(
        #[optional] settings: *const milepost_settings,
        body: *const u8,
        body_len: usize,
        url_method: *const u8,
        url_method_len: usize,
        request: *mut *mut milepost_pending_request,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (body, url_method) = (body.bytes(body_len)?, url_method.url_method(url_method_len)?);
        let settings = HostSettings::or_default(settings).engine;
        let parsed = rpc::parse(body, url_method, &settings.limits);
        request.write(PendingRequestState::new(RequestQuery::new(&settings, parsed)));
        Ok(())
    }
}

ffi_function! {
    /// Advances the request and returns what it needs next
    ///
    /// `MILEPOST_STEP_NEED_ROWS`: supply the rows of `keys` by
    /// `milepost_pending_request_supply_rows`, all from one state of the storage unless
    /// `MILEPOST_SETTING_ISOLATION` is set; polling before that returns the same keys.
    /// `MILEPOST_STEP_DONE`: `response` is its response. `MILEPOST_STEP_PENDING`: it waits for a
    /// block; go on with `milepost_pending_request_resume` or `milepost_endpoint_suspend`. The keys
    /// belong to `request`.
    fn milepost_pending_request_poll(
        request: *mut milepost_pending_request,
        step: *mut milepost_step_t,
        keys: *mut *const milepost_bytes,
        keys_len: *mut usize,
        response: *mut *mut milepost_response,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (next, answered) = request.poll()?;
        step.write(next);
        let spans = request.keys.spans();
        keys.write(spans.as_ptr());
        keys_len.write(spans.len());
        if let Some(answered) = answered {
            response.write(answered);
        }
        Ok(())
    }
}

ffi_function! {
    /// Supplies the rows of the keys that the last poll returned, in their order; they are copied
    ///
    /// `MILEPOST_STATUS_USAGE` unless there is one row for each key; nothing is changed then.
    fn milepost_pending_request_supply_rows(
        request: *mut milepost_pending_request,
        rows: *const milepost_row,
        rows_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let rows = storage::copy_rows(rows.items(rows_len)?)?;
        match &mut request.stage {
            Stage::Running(query) => Ok(query.supply_rows(&rows)?),
            Stage::Waiting(_) | Stage::Answered | Stage::Moved => {
                Err(CallError::usage("the request needs no rows"))
            }
        }
    }
}

ffi_function! {
    /// Ends a request whose rows are unavailable: the response is `INTERNAL_ERROR` with this reason
    fn milepost_pending_request_fail(
        request: *mut milepost_pending_request,
        reason: *const u8,
        reason_len: usize,
        response: *mut *mut milepost_response,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let reason = String::from_utf8_lossy(reason.bytes(reason_len)?);
        let query = request.take_running()?;
        request.stage = Stage::Answered;
        let failure = Error::new(ErrorKind::Storage, reason);
        response.write(ParsedResponse::new(query.into_query().fail(&failure)));
        Ok(())
    }
}

ffi_function! {
    /// Resumes a waiting request, for the reason `MILEPOST_RESUME_...`; poll it next
    fn milepost_pending_request_resume(
        request: *mut milepost_pending_request,
        reason: milepost_resume_t,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let resume = match reason {
            MILEPOST_RESUME_BLOCK => PendingRequest::resume,
            MILEPOST_RESUME_EXPIRED => PendingRequest::resume_expired,
            unknown => return Err(CallError::invalid_enum("reason to resume", unknown)),
        };
        let pending = request.take_waiting()?;
        *request = PendingRequestState::new(resume(pending));
        Ok(())
    }
}

ffi_function! {
    /// The transaction that a pending call of a waiting request waits for
    ///
    /// Pending calls are numbered from 0; calls that are ready do not count. Only a block can bring
    /// what they wait for.
    fn milepost_pending_request_transaction(
        request: *const milepost_pending_request,
        index: usize,
        transaction: *mut milepost_hash,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let Stage::Waiting(pending) = &request.stage else {
            return Err(CallError::usage("the request does not wait"));
        };
        let out_of_range = || CallError::index(index, pending.pending_calls());
        transaction.write(pending.transactions().nth(index).ok_or_else(out_of_range)?.into());
        Ok(())
    }
}

ffi_function! {
    /// Frees a request, answered or not
    fn milepost_pending_request_free(request: *mut milepost_pending_request);
}
