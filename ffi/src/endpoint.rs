//! The endpoint: pending requests, without a callback, a thread or a runtime.
//!
//! The host passes in requests, blocks, rows, results of commits and the time (`handle_*`), and
//! takes out what is to be done (`poll_output`). An endpoint with an engine reads and commits by
//! the engine's storage. An endpoint without one is for hosts with remote storage: it asks them
//! for rows and commits.

use core::fmt;

use milepost::endpoint::{Endpoint, Engine, RequestOptions, RequestState, Response, WatchOptions};
use milepost::import::ImportSettings;
use milepost::primitives::CryptoHash;
use milepost::rpc::Request;
use milepost::status::Milestone;
use milepost::waiting::RequestHandle;
use milepost::{Error, ErrorKind};

use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Handle, SharedValue};
use crate::boundary::parameter::ArrayStart;
use crate::engine::{config_scope, milepost_engine};
use crate::error::milepost_error;
use crate::import_summary::milepost_import_summary;
use crate::output::{BorrowedOutput, MILEPOST_TIMEOUT_NEVER, milepost_output};
use crate::proof::proof_end;
use crate::request::milepost_request;
use crate::response::{ParsedResponse, milepost_milestone_t, milepost_response};
use crate::settings::{HostSettings, milepost_settings};
use crate::status::CallError;
use crate::storage::{copy_rows, milepost_row};
use crate::value::milepost_hash;

/// An engine together with the requests that wait
pub struct milepost_endpoint {
    _private: (),
}

/// An endpoint, and where its rows are
pub struct EndpointState {
    endpoint: Endpoint,
    rows: RowSource,
    output: BorrowedOutput,
}

/// Where the rows of an endpoint are
enum RowSource {
    /// In the storage of an engine
    Engine(SharedValue<milepost_engine>),
    /// Where the host has them, which imports with these settings
    Host(ImportSettings),
}

impl EndpointState {
    /// Answers a request, or lets it wait
    fn handle_request(
        &mut self,
        now: u64,
        timeout: u64,
        request: Request,
    ) -> Result<RequestState<Response, RequestHandle>, CallError> {
        let Self { endpoint, rows, .. } = self;
        let own_timeout = (timeout != MILEPOST_TIMEOUT_DEFAULT).then_some(timeout);
        let RowSource::Engine(engine) = rows else {
            let options = RequestOptions::default().with_timeout(own_timeout);
            let handle = endpoint.handle_request(now, request, options, ());
            if timeout == 0 {
                // Its deadline has come, so it never waits.
                endpoint.handle_timeout(now);
            }
            return Ok(RequestState::Pending(handle));
        };
        let snapshot = engine.snapshot()?;
        Ok(match engine.engine().respond(request, &snapshot) {
            RequestState::Ready(response) => RequestState::Ready(response),
            RequestState::Pending(pending) if timeout == 0 => {
                RequestState::Ready(pending.expire(&snapshot))
            }
            RequestState::Pending(pending) => {
                RequestState::Pending(endpoint.handle_pending(now, pending, own_timeout, ()))
            }
        })
    }
}

impl fmt::Debug for EndpointState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EndpointState")
            .field("pending_count", &self.endpoint.pending_count())
            .field("watch_count", &self.endpoint.watch_count())
            .finish_non_exhaustive()
    }
}

impl Handle for milepost_endpoint {
    type Value = EndpointState;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_endpoint";
}

/// Timeout of a request: that of the endpoint's settings
pub const MILEPOST_TIMEOUT_DEFAULT: u64 = 0xffff_ffff_ffff_fffe;

/// The error of a storage, for this reason of the host
fn storage_error(reason: &ArrayStart<'_, u8>, len: usize) -> Result<Error, CallError> {
    Ok(Error::new(ErrorKind::Storage, String::from_utf8_lossy(reason.bytes(len)?)))
}

ffi_function! {
    /// Creates an endpoint without pending requests
    ///
    /// It shares the engine, which may be freed before it. `engine` may be NULL for a host with
    /// remote storage. `settings` may be NULL for the defaults; an endpoint with an engine answers
    /// and imports by the engine's settings.
    fn milepost_endpoint_new(
        #[optional] engine: *const milepost_engine,
        #[optional] settings: *const milepost_settings,
        endpoint: *mut *mut milepost_endpoint,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let settings = HostSettings::or_default(settings);
        let (responder, rows) = match engine {
            Some(engine) => (engine.engine(), RowSource::Engine(engine.to_shared_value())),
            None => (Engine::new(settings.engine), RowSource::Host(settings.import)),
        };
        endpoint.write(EndpointState {
            endpoint: Endpoint::new(responder, settings.wait_config)
                .with_verify_mode(settings.verify_mode),
            rows,
            output: BorrowedOutput::default(),
        });
        Ok(())
    }
}

ffi_function! {
    /// Answers the body of a request, or lets it wait until `now` plus `timeout`
    ///
    /// With an engine `response` is the response, if there is one at once. If `response` is NULL
    /// after `MILEPOST_STATUS_OK`, it comes as an output `MILEPOST_OUTPUT_RESPONSE` with the
    /// request handle `handle`. `timeout` may be `MILEPOST_TIMEOUT_DEFAULT`, or
    /// `MILEPOST_TIMEOUT_NEVER`; a request with timeout 0 does not wait, and is answered as if it
    /// had timed out. `url_method` is the method that the request's URL names; pass length 0 if it
    /// names none.
    fn milepost_endpoint_handle_request(
        endpoint: *mut milepost_endpoint,
        now: u64,
        timeout: u64,
        body: *const u8,
        body_len: usize,
        url_method: *const u8,
        url_method_len: usize,
        handle: *mut u64,
        response: *mut *mut milepost_response,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (body, url_method) = (body.bytes(body_len)?, url_method.url_method(url_method_len)?);
        let request = endpoint.endpoint.engine().parse(body, url_method);
        match endpoint.handle_request(now, timeout, request)? {
            RequestState::Ready(ready) => response.write(ParsedResponse::new(ready)),
            RequestState::Pending(pending) => handle.write(pending.to_bits()),
        }
        Ok(())
    }
}

ffi_function! {
    /// Answers a parsed request with the answers that the host has given, or lets it wait, as
    /// `milepost_endpoint_handle_request` does
    ///
    /// The request stays with the host, which may free it after the call.
    fn milepost_endpoint_handle_parsed(
        endpoint: *mut milepost_endpoint,
        now: u64,
        timeout: u64,
        request: *mut milepost_request,
        handle: *mut u64,
        response: *mut *mut milepost_response,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        match endpoint.handle_request(now, timeout, request.request.clone())? {
            RequestState::Ready(ready) => response.write(ParsedResponse::new(ready)),
            RequestState::Pending(pending) => handle.write(pending.to_bits()),
        }
        Ok(())
    }
}

ffi_function! {
    /// Imports a block message, in one commit, and then wakes the requests that it affects
    ///
    /// With an engine as `milepost_engine_import_block`: it is committed, and `summary` is what it
    /// did. Otherwise `summary` is NULL after `MILEPOST_STATUS_OK`: imports run one after the other
    /// by outputs, and this one ends in `MILEPOST_OUTPUT_COMPLETED` or `MILEPOST_OUTPUT_FAILED`
    /// with the handle `handle`.
    fn milepost_endpoint_handle_block(
        endpoint: *mut milepost_endpoint,
        message: *const u8,
        message_len: usize,
        handle: *mut u64,
        #[optional] summary: *mut *mut milepost_import_summary,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let message = message.bytes(message_len)?;
        let EndpointState { endpoint, rows, .. } = &mut *endpoint;
        match rows {
            RowSource::Host(settings) => {
                handle.write(endpoint.handle_block(message, settings)?.to_bits());
            }
            RowSource::Engine(engine) => {
                let imported = engine.import_block(message)?;
                endpoint.handle_chain_update(&imported.chain_update);
                if let Some(summary) = summary {
                    summary.write(imported);
                }
            }
        }
        Ok(())
    }
}

ffi_function! {
    /// Puts a protocol configuration in force in an epoch, or from a height on, in one commit
    ///
    /// As `milepost_engine_put_config`, and done with an engine. Without one it is an import as
    /// that of `milepost_endpoint_handle_block`, without a summary.
    fn milepost_endpoint_handle_config(
        endpoint: *mut milepost_endpoint,
        #[optional] epoch_id: *const milepost_hash,
        height: u64,
        config: *const u8,
        config_len: usize,
        handle: *mut u64,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (scope, config) = (config_scope(epoch_id, height), config.text(config_len)?);
        let EndpointState { endpoint, rows, .. } = &mut *endpoint;
        match rows {
            RowSource::Host(settings) => {
                handle.write(endpoint.handle_config(scope, config, settings)?.to_bits());
            }
            RowSource::Engine(engine) => engine.put_config(scope, config)?,
        }
        Ok(())
    }
}

ffi_function! {
    /// Asks for the state of the chain in the storage; it comes as `MILEPOST_OUTPUT_COMPLETED`, or
    /// `MILEPOST_OUTPUT_FAILED`, with the handle `handle`
    fn milepost_endpoint_handle_chain_query(
        endpoint: *mut milepost_endpoint,
        handle: *mut u64,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        handle.write(endpoint.endpoint.handle_chain_query().to_bits());
        Ok(())
    }
}

ffi_function! {
    /// Asks for the proof of the outcomes of a transaction, with rows that the host supplies; it
    /// comes as `MILEPOST_OUTPUT_COMPLETED`, or `MILEPOST_OUTPUT_FAILED`, with the handle `handle`
    ///
    /// `block` and the failures are those of `milepost_engine_prove`, except that a text which is
    /// neither a hash nor `final` is refused at once (`MILEPOST_STATUS_VALUE`).
    fn milepost_endpoint_handle_proof_query(
        endpoint: *mut milepost_endpoint,
        transaction: *const milepost_hash,
        block: *const u8,
        block_len: usize,
        handle: *mut u64,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let end = proof_end(block.text(block_len)?)?;
        let query = endpoint.endpoint.handle_proof_query(transaction.bytes.into(), end);
        handle.write(query.to_bits());
        Ok(())
    }
}

ffi_function! {
    /// Watches a transaction until it reaches a milestone, `MILEPOST_MILESTONE_...`
    ///
    /// Its state comes as `MILEPOST_OUTPUT_WATCH` with the handle `handle`, first at once and then
    /// whenever it has changed; of the states that were not polled in between only the newest one.
    /// The watch ends with the event `MILEPOST_WATCH_REACHED`, whose status has the whole result of
    /// the transaction, as its member `result`, if `with_result` is 1; or with
    /// `MILEPOST_OUTPUT_FAILED`. `milepost_endpoint_cancel` ends it before. Without an engine
    /// outputs ask for the rows of each observation, which has a handle of its own and ends with
    /// `MILEPOST_OUTPUT_PENDING`. `MILEPOST_STATUS_LIMIT` if there are
    /// `MILEPOST_SETTING_MAX_WAITING` watches, `MILEPOST_STATUS_USAGE` after
    /// `milepost_endpoint_shutdown`.
    fn milepost_endpoint_watch(
        endpoint: *mut milepost_endpoint,
        transaction: *const milepost_hash,
        wait_until: milepost_milestone_t,
        with_result: i32,
        handle: *mut u64,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let milestone = Milestone::ALL.into_iter().find(|one| *one as i32 == wait_until);
        let milestone =
            milestone.ok_or_else(|| CallError::invalid_enum("milestone", wait_until))?;
        let with_result = match with_result {
            0 => false,
            1 => true,
            other => return Err(CallError::invalid_enum("value of with_result (0 or 1)", other)),
        };
        let options =
            WatchOptions::default().with_wait_until(milestone).with_result(with_result);
        let hash = CryptoHash::new(transaction.bytes);
        handle.write(endpoint.endpoint.watch(hash, options)?.to_bits());
        Ok(())
    }
}

ffi_function! {
    /// Supplies the rows of an output `MILEPOST_OUTPUT_NEED_ROWS`, in the order of its keys; they
    /// are copied
    ///
    /// `MILEPOST_STATUS_USAGE` unless the operation needs rows and there is one for each key;
    /// nothing is changed then. Rows of a request that was cancelled are ignored.
    fn milepost_endpoint_handle_rows(
        endpoint: *mut milepost_endpoint,
        handle: u64,
        rows: *const milepost_row,
        rows_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let rows = copy_rows(rows.items(rows_len)?)?;
        Ok(endpoint.endpoint.handle_rows(RequestHandle::from_bits(handle), Ok(&rows))?)
    }
}

ffi_function! {
    /// Ends an operation whose rows cannot be supplied, in place of
    /// `milepost_endpoint_handle_rows`: a request is answered with `INTERNAL_ERROR` and this
    /// reason, any other operation fails
    fn milepost_endpoint_fail_rows(
        endpoint: *mut milepost_endpoint,
        handle: u64,
        reason: *const u8,
        reason_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let failure = storage_error(&reason, reason_len)?;
        Ok(endpoint.endpoint.handle_rows(RequestHandle::from_bits(handle), Err(failure))?)
    }
}

ffi_function! {
    /// Takes in whether the changes of an output `MILEPOST_OUTPUT_COMMIT` were committed, and wakes
    /// the requests that they affect if so
    ///
    /// `committed` is 1, or 0 if none was committed, for this reason; pass length 0 with 1.
    /// `MILEPOST_STATUS_USAGE` if there is no such output.
    fn milepost_endpoint_handle_commit_result(
        endpoint: *mut milepost_endpoint,
        handle: u64,
        committed: i32,
        reason: *const u8,
        reason_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let failure = storage_error(&reason, reason_len)?;
        let result = match committed {
            0 => Err(failure),
            1 => Ok(()),
            other => return Err(CallError::invalid_enum("value of committed (0 or 1)", other)),
        };
        Ok(endpoint.endpoint.handle_commit_result(RequestHandle::from_bits(handle), result)?)
    }
}

ffi_function! {
    /// Wakes the requests that a block affects which was committed elsewhere
    ///
    /// That is by the engine or by another endpoint; poll outputs next.
    fn milepost_endpoint_handle_chain_update(
        endpoint: *mut milepost_endpoint,
        summary: *const milepost_import_summary,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        endpoint.endpoint.handle_chain_update(&summary.chain_update);
        Ok(())
    }
}

ffi_function! {
    /// Passes the time: wakes the requests whose deadline is not after `now`; poll outputs next
    fn milepost_endpoint_handle_timeout(
        endpoint: *mut milepost_endpoint,
        now: u64,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        endpoint.endpoint.handle_timeout(now);
        Ok(())
    }
}

ffi_function! {
    /// Returns what is to be done or handed out next; `MILEPOST_OUTPUT_TIMEOUT` if there is nothing
    ///
    /// Call until there is nothing, after every `milepost_endpoint_handle_...` call; a host may
    /// stop at any time and hand in something else. An endpoint with an engine needs no rows and
    /// no commits. Keys, changes and texts are valid until the next call with `endpoint`. To free:
    /// `response`, `summary`, `chain_status`, `proof` and `error` of the output, if they are not
    /// NULL.
    fn milepost_endpoint_poll_output(
        endpoint: *mut milepost_endpoint,
        output: *mut milepost_output,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let EndpointState { endpoint, rows, output: borrowed } = &mut *endpoint;
        let polled = match rows {
            RowSource::Engine(engine) => endpoint.poll_output_with(&engine.snapshot()?),
            RowSource::Host(_) => endpoint.poll_output(),
        };
        output.write(borrowed.convert(polled)?);
        Ok(())
    }
}

ffi_function! {
    /// When to call `milepost_endpoint_handle_timeout` next, or `MILEPOST_TIMEOUT_NEVER`
    fn milepost_endpoint_next_timeout(
        endpoint: *const milepost_endpoint,
        timeout: *mut u64,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        timeout.write(endpoint.endpoint.next_timeout().unwrap_or(MILEPOST_TIMEOUT_NEVER));
        Ok(())
    }
}

ffi_function! {
    /// Removes a request whose client went away, a query for the state of the chain, or a watch;
    /// `was_pending` is 1 if it was pending, else 0
    ///
    /// Imports are not cancelled: their commits may be in progress.
    fn milepost_endpoint_cancel(
        endpoint: *mut milepost_endpoint,
        handle: u64,
        was_pending: *mut i32,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let was = endpoint.endpoint.cancel(RequestHandle::from_bits(handle));
        was_pending.write(i32::from(was));
        Ok(())
    }
}

ffi_function! {
    /// Ends all waiting: pending requests are evaluated once more and then get an error; poll
    /// outputs next
    ///
    /// Later requests that would have to wait get an error too. Watches end with
    /// `MILEPOST_OUTPUT_FAILED`. Other operations continue.
    fn milepost_endpoint_shutdown(
        endpoint: *mut milepost_endpoint,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        endpoint.endpoint.shutdown();
        Ok(())
    }
}

ffi_function! {
    /// Number of calls of all pending requests
    fn milepost_endpoint_pending_count(
        endpoint: *const milepost_endpoint,
        count: *mut usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        count.write(endpoint.endpoint.pending_count());
        Ok(())
    }
}

ffi_function! {
    /// Frees an endpoint and its pending requests
    fn milepost_endpoint_free(endpoint: *mut milepost_endpoint);
}
