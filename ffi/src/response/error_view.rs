//! The error of a response as C reads it: names, values, and pointers to both.

use milepost::rpc::RpcError;

use super::milepost_rpc_error;
use crate::value::{milepost_bytes, milepost_hash};

/// An error with the values that its structure points to
#[derive(Debug)]
pub(super) struct ErrorView {
    pub(super) rpc_error: milepost_rpc_error,
    _values: Box<Values>,
}

/// Boxed, so that they have an address that stays
#[derive(Debug)]
struct Values {
    info: Vec<u8>,
    hash: Option<milepost_hash>,
    height: Option<u64>,
    shard_id: Option<u64>,
    limit: Option<u64>,
}

// SAFETY: the pointers are into the body, which the response keeps beside the view and never
// changes, into the values, which do not change either, and to static text.
unsafe impl Send for ErrorView {}
// SAFETY: as above.
unsafe impl Sync for ErrorView {}

impl ErrorView {
    /// The view of an error, whose text is this part of the body
    pub(super) fn new(error: &RpcError, json: &[u8]) -> Self {
        let details = error.details();
        let values = Box::new(Values {
            info: error.info().unwrap_or_default().into_bytes(),
            hash: details.hash.map(milepost_hash::from),
            height: details.height,
            shard_id: details.shard_id,
            limit: details.limit,
        });
        let cause = error.cause_name().unwrap_or_default();
        let rpc_error = milepost_rpc_error {
            size: size_of::<milepost_rpc_error>(),
            name: milepost_bytes::new(error.name().as_bytes()),
            cause: milepost_bytes::new(cause.as_bytes()),
            info: milepost_bytes::new(&values.info),
            json: milepost_bytes::new(json),
            hash: pointer(&values.hash),
            height: pointer(&values.height),
            shard_id: pointer(&values.shard_id),
            limit: pointer(&values.limit),
        };
        Self { rpc_error, _values: values }
    }
}

fn pointer<T>(value: &Option<T>) -> *const T {
    value.as_ref().map_or(core::ptr::null(), core::ptr::from_ref)
}
