//! A request body with the calls in it: parsed once, before anything is answered.
//!
//! The body is kept with the calls, because the params of the server's own methods are read from it
//! and because it counts of the memory of clients.

use milepost::rpc::{InvalidRequest, Method, MethodCall, Request, RequestId};

use crate::http::RequestBody;
use crate::metrics::MethodLabel;

/// A request body and its calls
pub(crate) struct ParsedRequest {
    pub(crate) request: Request,
    /// The method, as a label
    pub(crate) label: MethodLabel,
    pub(crate) body: RequestBody,
}

impl ParsedRequest {
    /// The id of the response to the request as a whole
    pub(crate) fn id(&self) -> RequestId {
        match &self.request {
            Request::Single(Ok(MethodCall { id, .. }) | Err(InvalidRequest { id, .. })) => {
                id.clone()
            }
            _ => RequestId::null(),
        }
    }

    /// The call, if it is one of a method that the engine does not have: its id, its name, and its
    /// params as JSON
    pub(crate) fn other_method(&self) -> Option<(&RequestId, &str, Option<&str>)> {
        match &self.request {
            Request::Single(Ok(call)) => other_method(call, &self.body),
            _ => None,
        }
    }
}

/// The id, the name and the params of a call in this body, if the engine does not have its method
pub(crate) fn other_method<'call>(
    call: &'call MethodCall,
    body: &'call RequestBody,
) -> Option<(&'call RequestId, &'call str, Option<&'call str>)> {
    let Method::Other(other) = &call.method else { return None };
    // The engine has found the params in this body, which is UTF-8.
    let params = other.params.clone().and_then(|place| body.as_ref().get(place));
    let params = params.and_then(|params| str::from_utf8(params).ok());
    Some((&call.id, &other.name, params))
}
