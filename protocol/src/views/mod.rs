//! The shapes of the wire, for hosts that look inside an answer.
//!
//! Reading a view applies the defaults of the node's readers; writing it gives the node's normal
//! form, members sorted at every level. Unknown members and unknown variants survive. Scalars are
//! valid once read. The engine itself joins finished texts and builds no views on its hot path.
//!
//! ```
//! use milepost_protocol::codec::json;
//! use milepost_protocol::views::ActionView;
//!
//! let action: ActionView = json::read(r#"{"Transfer": {"deposit": "5", "memo": [1, 2]}}"#).unwrap();
//! let ActionView::Transfer { deposit, extra } = &action else { panic!("no transfer") };
//! assert_eq!((deposit.0, extra.find("memo").unwrap().as_str()), (5, "[1,2]"));
//! assert_eq!(json::write(&action), r#"{"Transfer":{"deposit":"5","memo":[1,2]}}"#);
//! ```

mod action;
mod answer;
mod delegate;
pub mod error;
pub(crate) mod extra;
mod metadata;
mod milestone;
mod outcome;
mod permission;
mod receipt;
#[doc(hidden)]
pub mod recognise;
#[doc(hidden)]
pub mod shape;
mod status;
mod transaction;
pub(crate) mod wire;

pub use action::{ActionView, GlobalContractIdentifierView, StateInitData};
pub use answer::{FinalExecutionOutcomeView, RpcTransactionResponse};
pub use delegate::{
    AddKeyAction, CreateAccountAction, DelegateAction, DelegateActionV2, DeleteAccountAction,
    DeleteKeyAction, DeployContractAction, DeployGlobalContractAction,
    DeterministicAccountStateInit, DeterministicAccountStateInitV1, DeterministicStateInitAction,
    FunctionCallAction, GlobalContractDeployMode, GlobalContractIdentifier, NonDelegateAction,
    StakeAction, TransactionNonce, TransferAction, TransferToGasKeyAction,
    UniversalStateInitAction, UseGlobalContractAction, VersionedDelegateActionPayload,
    WithdrawFromGasKeyAction,
};
pub use extra::{Extra, Raw, UnknownVariant};
pub use metadata::{AccountContractView, CostGasUsed, ExecutionMetadataView};
pub use milestone::Milestone;
pub use outcome::{Direction, ExecutionOutcomeView, ExecutionOutcomeWithIdView, MerklePathItem};
pub use permission::{
    AccessKey, AccessKeyPermission, AccessKeyPermissionView, AccessKeyView, FunctionCallPermission,
    GasKeyInfo,
};
pub use receipt::{DataReceiverView, ReceiptEnumView, ReceiptView};
pub use status::{ExecutionStatusView, FinalExecutionStatus};
pub use transaction::{NonceMode, SignedTransactionView};
