//! The JSON types of transaction status, for hosts that read responses.
//!
//! Reading a view applies the defaults of the node; writing it gives the node's normal form, with
//! sorted members. Unknown members and variants are kept. Views are `non_exhaustive`, because
//! protocol upgrades add members: construct them with [`json::read`](crate::codec::json::read).
//! Only the structures of signed actions are not, see [`transaction`](crate::transaction). The
//! engine joins stored texts and builds no views on its hot path.
//!
//! ```
//! use milepost_protocol::codec::json;
//! use milepost_protocol::views::ActionView;
//!
//! let text = r#"{"Transfer": {"deposit": "5", "memo": [1, 2]}}"#;
//! let action: ActionView = json::read(text).unwrap();
//! let ActionView::Transfer { deposit, unknown_fields, .. } = &action else {
//!     panic!("not a transfer");
//! };
//! assert_eq!((deposit.0, unknown_fields.find("memo").unwrap().as_str()), (5, "[1,2]"));
//! assert_eq!(json::write(&action), r#"{"Transfer":{"deposit":"5","memo":[1,2]}}"#);
//! ```

mod action;
mod delegate;
pub mod error;
#[doc(hidden)]
mod metadata;
mod milestone;
mod outcome;
mod permission;
mod receipt;
mod response;
#[doc(hidden)]
pub mod schema;
mod status;
#[cfg(test)]
mod tests;
mod transaction;
pub(crate) mod unknown_fields;
pub(crate) mod wire;

pub use action::{ActionView, GlobalContractIdentifierView, StateInitData};
pub use delegate::{
    AddKeyAction, CreateAccountAction, DelegateAction, DelegateActionV2, DeleteAccountAction,
    DeleteKeyAction, DeployContractAction, DeployGlobalContractAction,
    DeterministicAccountStateInit, DeterministicAccountStateInitV1, DeterministicStateInitAction,
    FunctionCallAction, GlobalContractDeployMode, GlobalContractIdentifier, NonDelegateAction,
    StakeAction, TransactionNonce, TransferAction, TransferToGasKeyAction,
    UniversalStateInitAction, UseGlobalContractAction, VersionedDelegateActionPayload,
    WithdrawFromGasKeyAction,
};
pub use metadata::{AccountContractView, CostGasUsed, ExecutionMetadataView};
pub use milestone::Milestone;
pub use outcome::{Direction, ExecutionOutcomeView, ExecutionOutcomeWithIdView, MerklePathItem};
pub use permission::{
    AccessKey, AccessKeyPermission, AccessKeyPermissionView, AccessKeyView, FunctionCallPermission,
    GasKeyInfo,
};
pub use receipt::{DataReceiverView, ReceiptEnumView, ReceiptView};
pub use response::{FinalExecutionOutcomeView, RpcTransactionResponse};
pub use schema::TypeMismatches;
pub use status::{ExecutionStatusView, FinalExecutionStatus};
pub use transaction::{NonceMode, SignedTransactionView};
pub use unknown_fields::{RawJson, UnknownFields, UnknownVariant};
