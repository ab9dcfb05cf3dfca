//! The request object: four members, checked one after the other.
//!
//! Accepts more than a NEAR node does: an absent `id` or `jsonrpc` has a default. A request that is
//! rejected gets its reason and its id in the response, where a node responds with one fixed text.

use alloc::string::{String, ToString};
use core::ops::Range;

use super::fast_path::{FastRequest, Params};
use super::method::{self, Method, OtherMethod, method_names};
use super::read::{Members, RawValue, string, truncated};
use super::{InvalidRequest, Limits, MethodCall, RequestId};
use crate::{Error, ErrorKind};

/// The error of a value that is no request object
pub(super) fn type_error(value: RawValue<'_>) -> Error {
    let found = value.json_type();
    Error::new(ErrorKind::Schema, format_args!("{found}, expected a JSON-RPC request object"))
}

/// The id of a request that is invalid for another reason; `null` if it has two ids, or one that a
/// response cannot repeat
fn readable_id(request: &Members<'_, 4>, limits: &Limits) -> RequestId {
    let [id, ..] = request.values();
    match id {
        Some(id) if request.duplicate() != Some("id") => {
            RequestId::read(id, limits).unwrap_or(RequestId::null())
        }
        _ => RequestId::null(),
    }
}

/// The error of a request object that could not be read to its end
pub(super) fn unreadable(
    request: &Members<'_, 4>,
    error: Error,
    limits: &Limits,
) -> InvalidRequest {
    let invalid = InvalidRequest::of_request(readable_id(request, limits), error);
    InvalidRequest { method_name: readable_method(request), ..invalid }
}

/// The name of the method, if it is one that is served
fn readable_method(request: &Members<'_, 4>) -> Option<&'static str> {
    let [_, _, name, _] = request.values();
    method::find(&string(name?, "a string").ok()?).map(|entry| entry.name)
}

/// Slow path: the call in a request object of this body, or its error
pub(super) fn parse_call(
    request: &Members<'_, 4>,
    body: &str,
    url_method: Option<&str>,
    limits: &Limits,
) -> Result<MethodCall, InvalidRequest> {
    parse_members(request, body, url_method, limits)
        .map_err(|invalid| InvalidRequest { method_name: readable_method(request), ..invalid })
}

fn parse_members(
    request: &Members<'_, 4>,
    body: &str,
    url_method: Option<&str>,
    limits: &Limits,
) -> Result<MethodCall, InvalidRequest> {
    let [id, jsonrpc, name, params] = request.values();
    if request.duplicate() == Some("id") {
        return Err(InvalidRequest::of_request(RequestId::null(), duplicate_error("id")));
    }
    let id = match id.map(|id| RequestId::read(id, limits)) {
        None => RequestId::default(),
        Some(Ok(id)) => id,
        Some(Err(error)) => {
            return Err(InvalidRequest::of_request(RequestId::null(), error.at("id")));
        }
    };
    let parse_method = |id: &RequestId| {
        let invalid = |error: Error| InvalidRequest::of_request(id.clone(), error);
        let other = |name: &str| {
            let params = params.map(|params| place_in(body, params.text()));
            (None, Method::Other(OtherMethod { name: name.into(), params }))
        };
        if let Some(url_method) = url_method
            && method::find(url_method).is_none()
        {
            let other = other(url_method);
            return match name.map(|name| string(name, "a string")) {
                None => Ok(other),
                Some(Ok(name)) if name == url_method => Ok(other),
                Some(_) => {
                    let name = truncated(url_method).into_owned();
                    Err(InvalidRequest::of_method(id.clone(), name))
                }
            };
        }
        if let Some(name) = request.duplicate() {
            return Err(invalid(duplicate_error(name)));
        }
        if let Some(name) = request.unknown() {
            let detail = "unknown member, expected jsonrpc, method, params or id";
            return Err(invalid(Error::new(ErrorKind::Schema, detail).at(name)));
        }
        if let Some(version) = jsonrpc {
            check_version(version).map_err(|error| invalid(error.at("jsonrpc")))?;
        }
        let name = match name {
            Some(name) => string(name, "a string"),
            None => {
                Err(Error::new(ErrorKind::Schema, format_args!("missing, expected {}", names())))
            }
        }
        .map_err(|error| invalid(error.at("method")))?;
        if let Some(url_method) = url_method
            && url_method != name
        {
            let detail = format_args!("{}, but the URL names {url_method}", truncated(&name));
            return Err(invalid(Error::new(ErrorKind::Value, detail).at("method")));
        }
        let Some(entry) = method::find(&name) else {
            return Ok(other(&name));
        };
        match (entry.read)(params.map(Params::new)) {
            Ok(method) => Ok((Some(entry.name), method)),
            Err(error) => Err(InvalidRequest::of_params(id.clone(), error)),
        }
    };
    parse_method(&id).map(|(method_name, method)| MethodCall { id, method_name, method })
}

/// Fast path: the call in a well-formed and valid request; `None` for any other, whatever is wrong
pub(super) fn parse_call_fast(
    text: &str,
    url_method: Option<&str>,
    limits: &Limits,
) -> Option<MethodCall> {
    let mut request = FastRequest::default();
    request.read(text)?;
    let name = string(request.method?, "a string").ok()?;
    if url_method.is_some_and(|url_method| url_method != name) {
        return None;
    }
    // The result is checked last: moving what was just written costs more than the work in between.
    let entry = method::find(&name)?;
    let method = (entry.read)(request.params());
    let id = request.id.map_or_else(|| Ok(RequestId::default()), |id| RequestId::read(id, limits));
    if let Some(version) = request.jsonrpc {
        check_version(version).ok()?;
    }
    Some(MethodCall { id: id.ok()?, method_name: Some(entry.name), method: method.ok()? })
}

/// The place of a part of a text
fn place_in(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    start..start + part.len()
}

fn duplicate_error(name: &str) -> Error {
    Error::new(ErrorKind::Schema, "given more than once").at(name)
}

fn check_version(value: RawValue<'_>) -> Result<(), Error> {
    let expected = "\"2.0\"";
    let version = string(value, expected)?;
    if version == "2.0" {
        return Ok(());
    }
    let detail = alloc::format!("\"{}\", expected {expected}", truncated(&version));
    Err(Error::new(ErrorKind::Value, detail))
}

fn names() -> String {
    let mut text = "one of".to_string();
    for (index, name) in method_names().enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        text.push_str(name);
    }
    text
}
