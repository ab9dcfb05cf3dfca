//! Validation of a request without answering it.
//!
//! Checks the envelope and the params; does not check whether the transaction or the block is
//! known, or a signature.

use milepost::endpoint::Response;
use milepost::rpc::{InvalidRequest, Method, MethodCall, Request, parse};

use crate::boundary::ffi_function;
use crate::error::milepost_error;
use crate::response::{ParsedResponse, milepost_response};
use crate::settings::{HostSettings, milepost_settings};

ffi_function! {
    /// Validates the body of a request; returns the error response to an invalid one
    ///
    /// `response` is NULL after `MILEPOST_STATUS_OK` if the request is valid. For a batch with
    /// invalid calls it is the array of their responses. `calls` is the number of calls in the
    /// body, 0 if the body cannot be read. `settings` may be NULL for the defaults. `url_method` is
    /// the method that the request's URL names; pass length 0 if it names none.
    fn milepost_request_validate(
        #[optional] settings: *const milepost_settings,
        body: *const u8,
        body_len: usize,
        url_method: *const u8,
        url_method_len: usize,
        calls: *mut usize,
        response: *mut *mut milepost_response,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (body, url_method) = (body.bytes(body_len)?, url_method.url_method(url_method_len)?);
        let settings = HostSettings::or_default(settings);
        let (count, invalid) = validate(parse(body, url_method, &settings.engine.limits));
        calls.write(count);
        if let Some(invalid) = invalid {
            response.write(ParsedResponse::new(invalid));
        }
        Ok(())
    }
}

/// Returns the number of calls and the response to those that are invalid
fn validate(request: Request) -> (usize, Option<Response>) {
    let invalid = |call: Result<MethodCall, InvalidRequest>| match call {
        Ok(MethodCall { id, method: Method::Other(other), .. }) => {
            Some(Response::error(&id, other.not_found()))
        }
        Ok(_) => None,
        Err(invalid) => Some(Response::error(&invalid.id, invalid.rpc_error)),
    };
    match request {
        Request::Single(call) => (1, invalid(call)),
        Request::Invalid(error) => (0, invalid(Err(error))),
        Request::Batch(calls) => {
            let count = calls.len();
            (count, Response::batch(calls.into_iter().filter_map(invalid)))
        }
    }
}
