//! Errors of access keys.
//!
//! An access key can reject a transaction or a delegate action.

use alloc::string::String;

use super::super::wire::wire_enum;
use crate::primitives::{AccountId, Balance, PublicKey};

wire_enum! {
    /// Why an access key does not allow a transaction or a delegate action
    pub enum InvalidAccessKeyError {
        /// The account has no such key
        AccessKeyNotFound {
            /// The account
            account_id: AccountId,
            /// The key
            public_key: PublicKey,
        },
        /// The key is for another receiver
        ReceiverMismatch {
            /// Receiver that the key is for
            ak_receiver: String,
            /// Receiver of the transaction
            tx_receiver: AccountId,
        },
        /// The key is for other methods
        MethodNameMismatch {
            /// Method that was called
            method_name: String,
        },
        /// Only a key with full access may do this
        RequiresFullAccess,
        /// The key's allowance does not cover the cost
        NotEnoughAllowance {
            /// The account
            account_id: AccountId,
            /// Remaining allowance, in yoctoNEAR
            allowance: Balance,
            /// Cost, in yoctoNEAR
            cost: Balance,
            /// The key
            public_key: PublicKey,
        },
        /// A key for function calls cannot send tokens
        DepositWithFunctionCall,
        /// A gas key signed a delegate action without a nonce index
        DelegateActionRequiresNonGasKey,
        /// A key that is not a gas key signed a delegate action with a nonce index
        DelegateActionRequiresGasKey,
    }
}
