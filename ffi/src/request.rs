//! A request before it is answered: its calls, and answers of the host to methods of its own.
//!
//! The body is parsed once. A host that has methods besides the engine's looks at the calls,
//! answers its own, and hands the request to an engine or an endpoint, which writes all responses.
//! Validity is that of the envelope and the params: whether a transaction or a block is known, or a
//! signature valid, is not looked at.

use core::fmt;

use milepost::Error;
use milepost::codec::json;
use milepost::endpoint::Response;
use milepost::rpc::{InvalidRequest, Method, MethodCall, Request, RequestId, RpcError, parse};
use serde::de::IgnoredAny;

use crate::boundary::ffi_function;
use crate::boundary::handle::{Exclusive, Handle};
use crate::boundary::parameter::sized_outputs;
use crate::error::milepost_error;
use crate::response::{
    ParsedResponse, kind_of_number, milepost_response, milepost_response_kind_t,
};
use crate::settings::{HostSettings, milepost_settings};
use crate::status::CallError;
use crate::value::milepost_bytes;

/// A parsed request
pub struct milepost_request {
    _private: (),
}

/// A request with its body, in which the params of other methods are
pub struct ParsedRequest {
    pub(crate) request: Request,
    body: Vec<u8>,
}

impl fmt::Debug for ParsedRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.request.fmt(formatter)
    }
}

impl Handle for milepost_request {
    type Value = ParsedRequest;
    type Ownership = Exclusive;
    const NAME: &'static str = "milepost_request";
}

/// A call of a request; bytes belong to the request
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct milepost_call {
    /// `sizeof` of this structure, set by the caller; members beyond it are not written
    pub size: usize,
    /// Its id, as JSON
    pub id: milepost_bytes,
    /// Name of its method, if the engine does not have it; else no bytes
    pub other_method: milepost_bytes,
    /// Params of such a method, as JSON; no bytes if the call has none
    pub other_params: milepost_bytes,
    /// 1 if its envelope and its params are valid, else 0: then the engine answers with the error
    pub is_valid: i32,
}

sized_outputs! { milepost_call }

impl ParsedRequest {
    fn calls(&self) -> &[Result<MethodCall, InvalidRequest>] {
        match &self.request {
            Request::Single(call) => core::slice::from_ref(call),
            Request::Batch(calls) => calls,
            Request::Invalid(_) => &[],
        }
    }

    fn call_mut(&mut self, index: usize) -> Result<&mut MethodCall, CallError> {
        let len = self.calls().len();
        let calls = match &mut self.request {
            Request::Single(call) => core::slice::from_mut(call),
            Request::Batch(calls) => calls,
            Request::Invalid(_) => &mut [],
        };
        let call = calls.get_mut(index).ok_or_else(|| CallError::index(index, len))?;
        call.as_mut().map_err(|_| CallError::usage("the call is invalid, the engine answers it"))
    }
}

ffi_function! {
    /// Parses the body of a request; every body is a request, valid or not
    ///
    /// `settings` may be NULL for the defaults; its limits should be those of the engine.
    /// `url_method` is the method that the request's URL names; pass length 0 if it names none.
    fn milepost_request_parse(
        #[optional] settings: *const milepost_settings,
        body: *const u8,
        body_len: usize,
        url_method: *const u8,
        url_method_len: usize,
        request: *mut *mut milepost_request,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let (body, url_method) = (body.bytes(body_len)?, url_method.url_method(url_method_len)?);
        let limits = HostSettings::or_default(settings).engine.limits;
        let parsed = parse(body, url_method, &limits);
        request.write(ParsedRequest { request: parsed, body: body.to_vec() });
        Ok(())
    }
}

ffi_function! {
    /// Number of calls; 0 if the body cannot be read, or is a batch that is invalid as a whole
    fn milepost_request_calls(
        request: *mut milepost_request,
        calls: *mut usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        calls.write(request.calls().len());
        Ok(())
    }
}

ffi_function! {
    /// A call by its index; its bytes are valid until the call is answered
    fn milepost_request_call(
        request: *mut milepost_request,
        index: usize,
        call: *mut milepost_call,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let calls = request.calls();
        let found = calls.get(index).ok_or_else(|| CallError::index(index, calls.len()))?;
        let (id, other) = match found {
            Ok(MethodCall { id, method: Method::Other(other), .. }) => (id, Some(other)),
            Ok(MethodCall { id, .. }) | Err(InvalidRequest { id, .. }) => (id, None),
        };
        let params = other.and_then(|other| request.body.get(other.params.clone()?));
        call.write(milepost_call {
            size: size_of::<milepost_call>(),
            id: milepost_bytes::new(id.as_json().as_bytes()),
            other_method: other.map_or(milepost_bytes::NONE, |other| {
                milepost_bytes::new(other.name.as_bytes())
            }),
            other_params: params.map_or(milepost_bytes::NONE, milepost_bytes::new),
            is_valid: i32::from(found.is_ok()),
        });
        Ok(())
    }
}

ffi_function! {
    /// Answers a valid call by the host, with this result as JSON
    ///
    /// The engine writes the envelope around it. The JSON is copied as it is, and has to be one
    /// value. An answer replaces the one before.
    fn milepost_request_answer(
        request: *mut milepost_request,
        index: usize,
        result: *const u8,
        result_len: usize,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let result = one_value(result.text(result_len)?, "result")?;
        request.call_mut(index)?.answer(Ok(result.as_bytes().into()));
        Ok(())
    }
}

ffi_function! {
    /// Answers a valid call by the host, with this error object as JSON
    ///
    /// `kind` is that of the response, `MILEPOST_RESPONSE_KIND_...`, unless it is one of a batch.
    fn milepost_request_refuse(
        request: *mut milepost_request,
        index: usize,
        rpc_error: *const u8,
        rpc_error_len: usize,
        kind: milepost_response_kind_t,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        let kind = kind_of_number(kind)?;
        let json = one_value(rpc_error.text(rpc_error_len)?, "rpc_error")?.to_owned();
        request.call_mut(index)?.answer(Err(RpcError::Host { json, kind, unreached: None }));
        Ok(())
    }
}

ffi_function! {
    /// The response to the calls that are invalid or of a method that nobody answers; NULL after
    /// `MILEPOST_STATUS_OK` if there are none
    ///
    /// For a batch it is the array of their responses.
    fn milepost_request_invalid(
        request: *mut milepost_request,
        response: *mut *mut milepost_response,
        #[optional] error: *mut *mut milepost_error,
    ) -> milepost_status_t {
        if let Some(invalid) = invalid(&request.request) {
            response.write(ParsedResponse::new(invalid));
        }
        Ok(())
    }
}

ffi_function! {
    /// Frees a request, and with it all bytes that belong to it
    fn milepost_request_free(request: *mut milepost_request);
}

/// This text, which would break the response if it was not one JSON value
fn one_value<'text>(text: &'text str, name: &str) -> Result<&'text str, Error> {
    json::read::<IgnoredAny>(text).map_err(|error| error.at(name))?;
    Ok(text)
}

/// The response to the calls that are invalid
fn invalid(request: &Request) -> Option<Response> {
    let error = |id: &RequestId, error: &RpcError| Some(Response::error(id, error.clone()));
    let of_call = |call: &Result<MethodCall, InvalidRequest>| match call {
        Ok(MethodCall { id, method: Method::Other(other), .. }) => error(id, &other.not_found()),
        Ok(_) => None,
        Err(InvalidRequest { id, rpc_error, .. }) => error(id, rpc_error),
    };
    match request {
        Request::Single(call) => of_call(call),
        Request::Invalid(InvalidRequest { id, rpc_error, .. }) => error(id, rpc_error),
        Request::Batch(calls) => Response::batch(calls.iter().filter_map(of_call)),
    }
}
