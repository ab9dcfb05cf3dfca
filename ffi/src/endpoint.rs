//! The endpoint: pending requests, without a callback, a thread or a runtime.
//!
//! The host passes in events (`handle_*`) and takes out responses (`poll_*`); time is a number that
//! the host passes. An endpoint with an engine reads the engine's storage. An endpoint without one
//! is for hosts with remote storage, which run requests themselves and pass those that have to
//! wait.

use core::fmt;

use milepost::endpoint::{Endpoint, Engine, RequestState, Resumption, Suspension};
use milepost::storage::Storage;
use milepost::waiting::RequestHandle;

use crate::block_import::milepost_import_summary;
use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Handle, SharedValue};
use crate::engine::milepost_engine;
use crate::error::milepost_error;
use crate::pending_request::{PendingRequestState, milepost_pending_request};
use crate::response::{ParsedResponse, milepost_response};
use crate::settings::{HostSettings, milepost_settings};
use crate::status::CallError;

/// An engine together with the requests that wait
pub struct milepost_endpoint {
    _private: (),
}

/// An endpoint, and the engine whose storage it reads
pub struct EndpointState {
    endpoint: Endpoint,
    engine: Option<SharedValue<milepost_engine>>,
}

impl fmt::Debug for EndpointState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EndpointState")
            .field("pending_count", &self.endpoint.pending_count())
            .finish_non_exhaustive()
    }
}

impl Handle for milepost_endpoint {
    type Value = EndpointState;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_endpoint";
}

/// No next timeout: no request is pending
pub const MILEPOST_TIMEOUT_NEVER: u64 = 0xffff_ffff_ffff_ffff;

/// State of a request after it was passed to an endpoint
pub type milepost_request_state_t = i32;

/// It waits, identified by its request handle
pub const MILEPOST_REQUEST_STATE_WAITING: milepost_request_state_t = 1;
/// Poll it once more: a block was imported in between, the endpoint is full, or the request expired
pub const MILEPOST_REQUEST_STATE_RETRY: milepost_request_state_t = 2;
/// It is answered and no longer pending
pub const MILEPOST_REQUEST_STATE_READY: milepost_request_state_t = 3;
/// It was cancelled in between; discard its response
pub const MILEPOST_REQUEST_STATE_CANCELLED: milepost_request_state_t = 4;

impl EndpointState {
    /// The endpoint and its engine, for functions that need a storage
    fn with_engine(&mut self) -> Result<(&mut Endpoint, &SharedValue<milepost_engine>), CallError> {
        match &self.engine {
            Some(engine) => Ok((&mut self.endpoint, engine)),
            None => Err(CallError::usage("the endpoint was created without an engine")),
        }
    }
}

ffi_function! {
    /// Creates an endpoint without pending requests
    ///
    /// It shares the engine, which may be freed before it. `engine` may be NULL for a host with
    /// remote storage. `settings` may be NULL for the defaults; an endpoint with an engine answers
    /// by the engine's settings.
    fn milepost_endpoint_new(
        #[optional] engine: *const milepost_engine,
        #[optional] settings: *const milepost_settings,
        endpoint: *mut *mut milepost_endpoint,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let settings = HostSettings::or_default(settings);
        let responder = match &engine {
            Some(engine) => engine.engine,
            None => Engine::new(settings.engine),
        };
        endpoint.write(EndpointState {
            endpoint: Endpoint::new(responder, settings.wait_config),
            engine: engine.map(|engine| engine.to_shared_value()),
        });
        Ok(())
    }
}

ffi_function! {
    /// Answers the body of a request, or lets it wait until `now` plus the timeout
    ///
    /// If `response` is NULL after `MILEPOST_STATUS_OK` the request is pending, and
    /// `milepost_endpoint_poll_response` returns its response with the request handle `handle`.
    /// `url_method` is the method that the request's URL names; pass length 0 if it names none.
    fn milepost_endpoint_handle_request(
        endpoint: *mut milepost_endpoint,
        now: u64,
        body: *const u8,
        body_len: usize,
        url_method: *const u8,
        url_method_len: usize,
        handle: *mut u64,
        response: *mut *mut milepost_response,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (body, url_method) = (body.bytes(body_len)?, url_method.url_method(url_method_len)?);
        let (endpoint, engine) = endpoint.with_engine()?;
        match endpoint.handle_request(now, body, url_method, &engine.read()?.snapshot()?) {
            RequestState::Ready(ready) => response.write(ParsedResponse::new(ready)),
            RequestState::Pending(pending) => handle.write(pending.to_bits()),
        }
        Ok(())
    }
}

ffi_function! {
    /// Imports a block message by the engine, in one commit, and wakes the requests that it affects
    ///
    /// As `milepost_engine_import_block`; poll responses next.
    fn milepost_endpoint_handle_block(
        endpoint: *mut milepost_endpoint,
        message: *const u8,
        message_len: usize,
        #[optional] summary: *mut *mut milepost_import_summary,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let message = message.bytes(message_len)?;
        let (endpoint, engine) = endpoint.with_engine()?;
        let imported = engine.import_block(message)?;
        endpoint.handle_chain_update(&imported.chain_update);
        if let Some(summary) = summary {
            summary.write(imported);
        }
        Ok(())
    }
}

ffi_function! {
    /// Wakes the requests that a block affects which was committed elsewhere
    ///
    /// That is by the engine, by another endpoint, or by the host; poll responses next.
    fn milepost_endpoint_handle_chain_update(
        endpoint: *mut milepost_endpoint,
        summary: *const milepost_import_summary,
    ) -> milepost_status_t {
        endpoint.endpoint.handle_chain_update(&summary.chain_update);
        Ok(())
    }
}

ffi_function! {
    /// Passes the time: wakes the requests whose deadline is not after `now`; poll responses next
    fn milepost_endpoint_handle_timeout(
        endpoint: *mut milepost_endpoint,
        now: u64,
    ) -> milepost_status_t {
        endpoint.endpoint.handle_timeout(now);
        Ok(())
    }
}

ffi_function! {
    /// Returns the response to a request that was pending; NULL if there is none now
    ///
    /// Call until it returns NULL, after every `milepost_endpoint_handle_...` call.
    fn milepost_endpoint_poll_response(
        endpoint: *mut milepost_endpoint,
        handle: *mut u64,
        response: *mut *mut milepost_response,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (endpoint, engine) = endpoint.with_engine()?;
        if let Some((answered, ready)) = endpoint.poll_response(&engine.read()?.snapshot()?) {
            handle.write(answered.to_bits());
            response.write(ParsedResponse::new(ready));
        }
        Ok(())
    }
}

ffi_function! {
    /// When to call `milepost_endpoint_handle_timeout` next, or `MILEPOST_TIMEOUT_NEVER`
    fn milepost_endpoint_next_timeout(
        endpoint: *const milepost_endpoint,
        timeout: *mut u64,
    ) -> milepost_status_t {
        timeout.write(endpoint.endpoint.next_timeout().unwrap_or(MILEPOST_TIMEOUT_NEVER));
        Ok(())
    }
}

ffi_function! {
    /// Removes a request whose client went away; `was_pending` is 1 if it was pending, else 0
    fn milepost_endpoint_cancel(
        endpoint: *mut milepost_endpoint,
        handle: u64,
        was_pending: *mut i32,
    ) -> milepost_status_t {
        let was = endpoint.endpoint.cancel(RequestHandle::from_bits(handle));
        was_pending.write(i32::from(was));
        Ok(())
    }
}

ffi_function! {
    /// Ends all waiting: pending requests are evaluated once more and then get an error; poll
    /// responses next
    ///
    /// Later requests that would have to wait get an error too.
    fn milepost_endpoint_shutdown(endpoint: *mut milepost_endpoint) -> milepost_status_t {
        endpoint.endpoint.shutdown();
        Ok(())
    }
}

ffi_function! {
    /// Number of calls of all pending requests
    fn milepost_endpoint_pending_count(
        endpoint: *const milepost_endpoint,
        count: *mut usize,
    ) -> milepost_status_t {
        count.write(endpoint.endpoint.pending_count());
        Ok(())
    }
}

ffi_function! {
    /// Lets a request wait whose poll returned `MILEPOST_STEP_PENDING`
    ///
    /// `MILEPOST_REQUEST_STATE_WAITING`: the endpoint has it, under the request handle `handle`,
    /// and `milepost_endpoint_poll_request` returns it; free `request`.
    /// `MILEPOST_REQUEST_STATE_RETRY`: poll `request` again.
    fn milepost_endpoint_suspend(
        endpoint: *mut milepost_endpoint,
        now: u64,
        request: *mut milepost_pending_request,
        state: *mut milepost_request_state_t,
        handle: *mut u64,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let pending = request.take_waiting()?;
        match endpoint.endpoint.suspend(now, pending) {
            Suspension::Waiting(waiting) => {
                state.write(MILEPOST_REQUEST_STATE_WAITING);
                handle.write(waiting.to_bits());
            }
            Suspension::Retry(query) => {
                *request = PendingRequestState::new(query);
                state.write(MILEPOST_REQUEST_STATE_RETRY);
            }
        }
        Ok(())
    }
}

ffi_function! {
    /// Returns a request that has to be run again by the host; NULL if there is none now
    ///
    /// `milepost_endpoint_resume` or `milepost_endpoint_cancel` has to follow, or the request stays
    /// pending.
    fn milepost_endpoint_poll_request(
        endpoint: *mut milepost_endpoint,
        handle: *mut u64,
        request: *mut *mut milepost_pending_request,
    ) -> milepost_status_t {
        if let Some((request_handle, query)) = endpoint.endpoint.poll_request() {
            handle.write(request_handle.to_bits());
            request.write(PendingRequestState::new(query));
        }
        Ok(())
    }
}

ffi_function! {
    /// Takes back a request that the host has run again
    ///
    /// `MILEPOST_REQUEST_STATE_READY`: send its response. `MILEPOST_REQUEST_STATE_CANCELLED`: it
    /// was cancelled in between. `MILEPOST_REQUEST_STATE_WAITING`: it waits again.
    /// `MILEPOST_REQUEST_STATE_RETRY`: poll `request` again, and pass it again. The host keeps
    /// `request`, and frees it.
    fn milepost_endpoint_resume(
        endpoint: *mut milepost_endpoint,
        handle: u64,
        request: *mut milepost_pending_request,
        state: *mut milepost_request_state_t,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let handle = RequestHandle::from_bits(handle);
        if request.is_answered() {
            state.write(match endpoint.endpoint.cancel(handle) {
                true => MILEPOST_REQUEST_STATE_READY,
                false => MILEPOST_REQUEST_STATE_CANCELLED,
            });
            return Ok(());
        }
        let pending = request.take_waiting()?;
        state.write(match endpoint.endpoint.resume(handle, RequestState::Pending(pending)) {
            Resumption::Waiting => MILEPOST_REQUEST_STATE_WAITING,
            Resumption::Retry(query) => {
                *request = PendingRequestState::new(query);
                MILEPOST_REQUEST_STATE_RETRY
            }
            Resumption::Ready(_) => MILEPOST_REQUEST_STATE_READY,
            Resumption::Cancelled => MILEPOST_REQUEST_STATE_CANCELLED,
        });
        Ok(())
    }
}

ffi_function! {
    /// Frees an endpoint and its pending requests
    fn milepost_endpoint_free(endpoint: *mut milepost_endpoint);
}
