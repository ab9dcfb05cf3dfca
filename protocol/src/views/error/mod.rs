//! Why a transaction failed, to the last leaf.
//!
//! The trees are those of protocol version 88 and of every version before: variants that nodes no
//! longer make are read from old blocks. What a newer node adds is kept as `Other`.

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
