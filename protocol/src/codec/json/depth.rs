//! The limits of nesting.
//!
//! They are those of `serde_json`, so that whatever is read here can be read there. Every reader of
//! this module counts levels against them and recurses on no stack.

/// The maximum nesting depth of arrays and objects, the same as that of `serde_json`
pub const MAX_DEPTH: usize = 127;

/// The maximum nesting depth of a value that becomes part of a response
///
/// A response must be readable for clients that read [`MAX_DEPTH`] levels. A receipt in the last
/// status of a timeout error in a batch is nested deepest: the batch, the response, `error`,
/// `cause`, `info`, `status` and `receipts` are 7 levels; one is in reserve.
pub const MAX_INNER_DEPTH: usize = MAX_DEPTH - 8;

/// The error text beyond the maximum depth
pub(super) const TOO_DEEP: &str = "too many levels of arrays and objects inside each other";
