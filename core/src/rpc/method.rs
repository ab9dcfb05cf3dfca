//! The table of the methods that are served: the name of each, and the function that reads its
//! params.
//!
//! A method that is not in the table may be one of the host's own. Its params are left where they
//! are, so the host reads them in its own way and nothing is parsed twice.

use alloc::string::String;
use alloc::sync::Arc;
use core::ops::Range;

use super::RpcError;
use super::fast_path::Params;
use super::params::{self, StatusRequest};
use super::read::truncated;
use crate::Error;
use crate::config::BlockReference;

/// A method with its params
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// The status of one transaction: `EXPERIMENTAL_tx_status`, `tx_status` or `tx`
    TransactionStatus(StatusRequest),
    /// The protocol configuration in force at a block: `EXPERIMENTAL_protocol_config`
    ProtocolConfig(BlockReference),
    /// A method that only the host may know; the engine answers it with `METHOD_NOT_FOUND`
    Other(OtherMethod),
    /// A call that the host has answered: the JSON of its result, or an error
    Answered(Result<Arc<[u8]>, RpcError>),
}

/// A method that is not served by the engine
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct OtherMethod {
    /// Its name
    pub name: String,
    /// The place of the params in the body of the request, if it has some; one JSON value
    pub params: Option<Range<usize>>,
}

impl OtherMethod {
    /// The error that the method does not exist
    pub fn not_found(&self) -> RpcError {
        RpcError::MethodNotFound { method: truncated(&self.name).into_owned() }
    }
}

/// A row of the method table
pub(super) struct MethodEntry {
    pub(super) name: &'static str,
    /// Reads `params`; `None` when the request has none
    pub(super) read: fn(Option<Params<'_, '_>>) -> Result<Method, Error>,
}

/// The two methods of the interface, and the two other names of the first one in NEAR nodes
static METHODS: [MethodEntry; 4] = [
    MethodEntry { name: "EXPERIMENTAL_tx_status", read: |params| status_request(params, true) },
    MethodEntry {
        name: "EXPERIMENTAL_protocol_config",
        read: |params| params::block_reference(params).map(Method::ProtocolConfig),
    },
    // The stable name since node 2.14.
    MethodEntry { name: "tx_status", read: |params| status_request(params, true) },
    // The oldest name; its result is without the receipts.
    MethodEntry { name: "tx", read: |params| status_request(params, false) },
];

fn status_request(params: Option<Params<'_, '_>>, receipts: bool) -> Result<Method, Error> {
    params::status_request(params, receipts).map(Method::TransactionStatus)
}

/// The names of the methods that are served; they are case-sensitive
///
/// ```
/// assert!(milepost::rpc::method_names().any(|name| name == "EXPERIMENTAL_tx_status"));
/// ```
pub fn method_names() -> impl ExactSizeIterator<Item = &'static str> {
    METHODS.iter().map(|entry| entry.name)
}

/// The entry of the method of this name
pub(super) fn find(name: &str) -> Option<&'static MethodEntry> {
    METHODS.iter().find(|entry| entry.name == name)
}
