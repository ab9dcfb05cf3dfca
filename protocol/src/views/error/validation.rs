//! Errors of invalid actions, and of invalid receipts that a contract created.
//!
//! Limits and values are as the node reports them; they are not compared with a configuration.

use alloc::string::String;

use super::super::wire::wire_enum;
use crate::primitives::{AccountId, Balance, Gas, PublicKey};

wire_enum! {
    /// Why the actions of a transaction or receipt are invalid
    pub enum ActionsValidationError {
        /// Deleting the account must be the last action
        DeleteActionMustBeFinal,
        /// The total attached gas is too high
        TotalPrepaidGasExceeded {
            /// Maximum gas
            limit: Gas,
            /// Total attached gas
            total_prepaid_gas: Gas,
        },
        /// There are too many actions
        TotalNumberOfActionsExceeded {
            /// Maximum number of actions
            limit: u64,
            /// Their number
            total_number_of_actions: u64,
        },
        /// The total length of a new key's method names is too large
        AddKeyMethodNamesNumberOfBytesExceeded {
            /// Maximum number of bytes
            limit: u64,
            /// Their size in bytes
            total_number_of_bytes: u64,
        },
        /// A method name of a new key is too long
        AddKeyMethodNameLengthExceeded {
            /// Its size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// An integer overflowed
        IntegerOverflow,
        /// Invalid account id
        InvalidAccountId {
            /// The text that was given
            account_id: String,
        },
        /// The code is too large
        ContractSizeExceeded {
            /// Maximum number of bytes
            limit: u64,
            /// Its size in bytes
            size: u64,
        },
        /// The name of a method is too long
        FunctionCallMethodNameLengthExceeded {
            /// Its size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// The arguments of a call are too long
        FunctionCallArgumentsLengthExceeded {
            /// Their size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// The key is not a valid validator key
        UnsuitableStakingKey {
            /// The key
            public_key: PublicKey,
        },
        /// A call has no gas
        FunctionCallZeroAttachedGas,
        /// There is more than one delegate action
        DelegateActionMustBeOnlyOne,
        /// The protocol does not support this yet
        UnsupportedProtocolFeature {
            /// Name of the feature
            protocol_feature: String,
            /// Protocol version of the block
            version: u32,
        },
        /// The receiver's id is not derived from code and data
        InvalidDeterministicStateInitReceiver {
            /// The derived id
            derived_id: AccountId,
            /// The receiver
            receiver_id: AccountId,
        },
        /// A key of the initial state is too long
        DeterministicStateInitKeyLengthExceeded {
            /// Its size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// A value of the initial state is too long
        DeterministicStateInitValueLengthExceeded {
            /// Its size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// A gas key has too many nonces, or none
        GasKeyInvalidNumNonces {
            /// Maximum number of nonces
            limit: u16,
            /// Requested number of nonces
            requested_nonces: u16,
        },
        /// A new gas key already has a balance
        AddGasKeyWithNonZeroBalance {
            /// Balance, in yoctoNEAR
            balance: Balance,
        },
        /// A gas key for function calls cannot have an allowance
        GasKeyFunctionCallAllowanceNotAllowed,
        /// There are too many actions that deploy code
        TotalNumberOfDeployActionsExceeded {
            /// Maximum number of them
            limit: u64,
            /// Their number
            number_of_deploy_actions: u64,
        },
        /// A call names no method
        FunctionCallEmptyMethodName,
        /// The receiver's id is not derived from the initial state
        InvalidUniversalStateInitReceiver {
            /// The derived id
            derived_id: AccountId,
            /// The receiver
            receiver_id: AccountId,
        },
        /// A key of the initial state is too long
        UniversalStateInitKeyLengthExceeded {
            /// Its size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// A value of the initial state is too long
        UniversalStateInitValueLengthExceeded {
            /// Its size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// The initial state of a universal account is malformed
        MalformedUniversalStateInit,
        /// The protocol no longer supports this
        RemovedProtocolFeature {
            /// Name of the feature
            protocol_feature: String,
            /// Protocol version of the block
            version: u32,
        },
        /// A delegate action cannot withdraw from a gas key
        WithdrawFromGasKeyNotAllowedInDelegate,
        /// The initial states have too many access keys in total
        TotalNumberOfStateInitKeysExceeded {
            /// Maximum number of keys
            limit: u64,
            /// Their number
            number_of_keys: u64,
        },
        /// The initial states have too many entries in total
        TotalNumberOfStateInitEntriesExceeded {
            /// Maximum number of entries
            limit: u64,
            /// Their number
            number_of_entries: u64,
        },
        /// Transfers to a universal account are not supported yet
        TransferToUniversalAccountNotAllowed {
            /// The account
            account_id: AccountId,
        },
    }
}

wire_enum! {
    /// Why a receipt that a contract created is invalid
    pub enum ReceiptValidationError {
        /// The predecessor is not an account id
        InvalidPredecessorId {
            /// The text that was given
            account_id: String,
        },
        /// The receiver is not an account id
        InvalidReceiverId {
            /// The text that was given
            account_id: String,
        },
        /// The signer is not an account id
        InvalidSignerId {
            /// The text that was given
            account_id: String,
        },
        /// The receiver of the result is not an account id
        InvalidDataReceiverId {
            /// The text that was given
            account_id: String,
        },
        /// The result is too long
        ReturnedValueLengthExceeded {
            /// Its size in bytes
            length: u64,
            /// Maximum number of bytes
            limit: u64,
        },
        /// The receipt waits for too many results
        NumberInputDataDependenciesExceeded {
            /// Maximum number of results
            limit: u64,
            /// Their number
            number_of_input_data_dependencies: u64,
        },
        /// An action is invalid
        ActionsValidation(ActionsValidationError),
        /// The receipt is too large
        ReceiptSizeExceeded {
            /// Maximum number of bytes
            limit: u64,
            /// Its size in bytes
            size: u64,
        },
        /// The receiver of refunds is not an account id
        InvalidRefundTo {
            /// The text that was given
            account_id: String,
        },
    }
}
