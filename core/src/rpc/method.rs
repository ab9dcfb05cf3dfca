//! The methods that are served, in one table: name, and how its params become an operation.

use super::params::{self, StatusRequest};
use super::plain::Params;
use crate::Error;
use crate::config::BlockReference;

/// What a request asks for
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Operation {
    /// The status of one transaction: `EXPERIMENTAL_tx_status`, `tx_status` or `tx`
    TransactionStatus(StatusRequest),
    /// The protocol configuration in force at a block: `EXPERIMENTAL_protocol_config`
    ProtocolConfig(BlockReference),
}

/// A row of the method table
pub(super) struct Method {
    pub(super) name: &'static str,
    /// Reads `params`; `None` when the request has none
    pub(super) read: fn(Option<Params<'_, '_>>) -> Result<Operation, Error>,
}

/// The two operations of the interface, and the two other names that nodes give the first one
static METHODS: [Method; 4] = [
    Method { name: "EXPERIMENTAL_tx_status", read: |params| status(params, true) },
    Method {
        name: "EXPERIMENTAL_protocol_config",
        read: |params| params::block_reference(params).map(Operation::ProtocolConfig),
    },
    // The stable name since node 2.14.
    Method { name: "tx_status", read: |params| status(params, true) },
    // The oldest name; its answer leaves the receipts out.
    Method { name: "tx", read: |params| status(params, false) },
];

fn status(params: Option<Params<'_, '_>>, receipts: bool) -> Result<Operation, Error> {
    params::status_request(params, receipts).map(Operation::TransactionStatus)
}

/// The names of the methods that are served; case matters
///
/// ```
/// assert!(milepost::rpc::method_names().any(|name| name == "EXPERIMENTAL_tx_status"));
/// ```
pub fn method_names() -> impl ExactSizeIterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name)
}

/// The method of this name
pub(super) fn method(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}
