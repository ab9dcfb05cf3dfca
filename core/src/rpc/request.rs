//! The request object: four members, checked one after another.
//!
//! More is let in than a node lets in (an absent `id` or `jsonrpc` has a default), and what is
//! refused is refused with its reason and with its id, where a node gives one text for everything.

use alloc::string::{String, ToString};

use super::method::{method, method_names};
use super::plain::{Params, PlainRequest};
use super::read::{self, Members, Text, shown, string};
use super::{Call, Refusal, RequestId};
use crate::{Error, ErrorKind};

/// The members of a request object, in the order in which readers tell of them
pub(super) const REQUEST_MEMBERS: [&str; 4] = ["id", "jsonrpc", "method", "params"];

/// The refusal of a value where a request should be
pub(super) fn not_an_object(value: Text<'_>) -> Error {
    let kind = read::kind(value);
    Error::new(ErrorKind::Shape, format_args!("{kind}, expected a JSON-RPC request object"))
}

/// The id of a request that is refused for another reason; `null` if there are two, or one that
/// cannot be sent back
pub(super) fn readable_id(request: &Members<'_, 4>) -> RequestId {
    let [id, ..] = request.found();
    match id {
        Some(id) if request.repeated() != Some("id") => {
            RequestId::read(id).unwrap_or(RequestId::null())
        }
        _ => RequestId::null(),
    }
}

/// Checks a request object
///
/// `path_method` is the method that the address names.
pub(super) fn call(request: &Members<'_, 4>, path_method: Option<&str>) -> Result<Call, Refusal> {
    let [id, jsonrpc, name, params] = request.found();
    if request.repeated() == Some("id") {
        return Err(Refusal::of_request(RequestId::null(), twice("id")));
    }
    let id = match id.map(RequestId::read) {
        None => RequestId::default(),
        Some(Ok(id)) => id,
        Some(Err(error)) => {
            return Err(Refusal::of_request(RequestId::null(), error.at("id")));
        }
    };
    let operation = |id: &RequestId| {
        let refuse = |error: Error| Refusal::of_request(id.clone(), error);
        if let Some(name) = path_method
            && method(name).is_none()
        {
            return Err(Refusal::of_method(id.clone(), shown(name).into_owned()));
        }
        if let Some(name) = request.repeated() {
            return Err(refuse(twice(name)));
        }
        if let Some(name) = request.unknown() {
            let detail = "unknown member, expected jsonrpc, method, params or id";
            return Err(refuse(Error::new(ErrorKind::Shape, detail).at(name)));
        }
        if let Some(version) = jsonrpc {
            check_version(version).map_err(|error| refuse(error.at("jsonrpc")))?;
        }
        let name = match name {
            Some(name) => string(name, "a string"),
            None => {
                Err(Error::new(ErrorKind::Shape, format_args!("missing, expected {}", names())))
            }
        }
        .map_err(|error| refuse(error.at("method")))?;
        if let Some(path_method) = path_method
            && path_method != name
        {
            let detail = alloc::format!("{} contradicts the address {path_method}", shown(&name));
            return Err(refuse(Error::new(ErrorKind::Value, detail).at("method")));
        }
        let Some(method) = method(&name) else {
            return Err(Refusal::of_method(id.clone(), shown(&name).into_owned()));
        };
        (method.read)(params.map(Params::new))
            .map_err(|error| Refusal::of_params(id.clone(), error))
    };
    operation(&id).map(|operation| Call { id, operation })
}

/// A request that is as plain as nearly all are, and right; none if it is not, whatever is wrong with it
pub(super) fn plain_call(text: &str, path_method: Option<&str>) -> Option<Call> {
    let mut request = PlainRequest::default();
    request.read(text)?;
    let name = string(request.method?, "a string").ok()?;
    if path_method.is_some_and(|path_method| path_method != name) {
        return None;
    }
    // Looked at last: to move what was just written costs more than what is done in the meantime.
    let operation = (method(&name)?.read)(request.params());
    let id = request.id.map_or_else(|| Ok(RequestId::default()), RequestId::read);
    if let Some(version) = request.jsonrpc {
        check_version(version).ok()?;
    }
    Some(Call { id: id.ok()?, operation: operation.ok()? })
}

fn twice(name: &str) -> Error {
    Error::new(ErrorKind::Shape, "given more than once").at(name)
}

fn check_version(value: Text<'_>) -> Result<(), Error> {
    let expected = "\"2.0\"";
    let version = string(value, expected)?;
    if version == "2.0" {
        return Ok(());
    }
    let detail = alloc::format!("\"{}\", expected {expected}", shown(&version));
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
