//! Errors of transactions.
//!
//! The types include all variants up to protocol version 88; some are only in old blocks. A variant
//! of a newer node is kept as `Other`.

mod access_key;
mod action;
mod function_call;
mod host;
mod storage;
mod transaction;
mod validation;

pub use access_key::InvalidAccessKeyError;
pub use action::{ActionError, ActionErrorKind};
pub use function_call::{
    CompilationError, FunctionCallError, MethodResolveError, PrepareError, WasmTrap,
};
pub use host::HostError;
pub use storage::{MissingTrieValue, MissingTrieValueContext, StorageError};
pub use transaction::{DepositCostFailureReason, InvalidTxError, TxExecutionError};
pub use validation::{ActionsValidationError, ReceiptValidationError};
