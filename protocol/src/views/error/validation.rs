//! Why actions, or a receipt that a contract made, are invalid.
//!
//! Limits stand beside the values that broke them, as the node tells them; they are not checked
//! against any configuration.

use alloc::string::String;

use super::super::wire::wire_enum;
use crate::primitives::{AccountId, Balance, Gas, PublicKey};

wire_enum! {
    /// Why the actions of a transaction or receipt are invalid
    pub enum ActionsValidationError {
        /// Removing the account must be the last action
        DeleteActionMustBeFinal,
        /// The calls have too much gas together
        TotalPrepaidGasExceeded {
            /// Most gas
            limit: Gas,
            /// Their gas
            total_prepaid_gas: Gas,
        },
        /// There are too many actions
        TotalNumberOfActionsExceeded {
            /// Most actions
            limit: u64,
            /// How many there are
            total_number_of_actions: u64,
        },
        /// The methods of a new key are too long together
        AddKeyMethodNamesNumberOfBytesExceeded {
            /// Most bytes
            limit: u64,
            /// Their bytes
            total_number_of_bytes: u64,
        },
        /// A method of a new key is too long
        AddKeyMethodNameLengthExceeded {
            /// Its bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// A sum does not fit its bits
        IntegerOverflow,
        /// No account id
        InvalidAccountId {
            /// What was given
            account_id: String,
        },
        /// The code is too large
        ContractSizeExceeded {
            /// Most bytes
            limit: u64,
            /// Its bytes
            size: u64,
        },
        /// The name of a method is too long
        FunctionCallMethodNameLengthExceeded {
            /// Its bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// The arguments of a call are too long
        FunctionCallArgumentsLengthExceeded {
            /// Their bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// This key cannot be a validator's
        UnsuitableStakingKey {
            /// The key
            public_key: PublicKey,
        },
        /// A call has no gas
        FunctionCallZeroAttachedGas,
        /// There is more than one delegate action
        DelegateActionMustBeOnlyOne,
        /// The protocol does not have this yet
        UnsupportedProtocolFeature {
            /// Name of the feature
            protocol_feature: String,
            /// Protocol version of the block
            version: u32,
        },
        /// The receiver's id does not follow from code and data
        InvalidDeterministicStateInitReceiver {
            /// The id that follows
            derived_id: AccountId,
            /// The receiver
            receiver_id: AccountId,
        },
        /// A key of the first state is too long
        DeterministicStateInitKeyLengthExceeded {
            /// Its bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// A value of the first state is too long
        DeterministicStateInitValueLengthExceeded {
            /// Its bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// A gas key has too many nonces, or none
        GasKeyInvalidNumNonces {
            /// Most nonces
            limit: u16,
            /// How many were asked for
            requested_nonces: u16,
        },
        /// A new gas key already has a balance
        AddGasKeyWithNonZeroBalance {
            /// yoctoNEAR that it has
            balance: Balance,
        },
        /// A gas key for function calls cannot have an allowance
        GasKeyFunctionCallAllowanceNotAllowed,
        /// There are too many actions that deploy code
        TotalNumberOfDeployActionsExceeded {
            /// Most of them
            limit: u64,
            /// How many there are
            number_of_deploy_actions: u64,
        },
        /// A call names no method
        FunctionCallEmptyMethodName,
        /// The receiver's id does not follow from the first state
        InvalidUniversalStateInitReceiver {
            /// The id that follows
            derived_id: AccountId,
            /// The receiver
            receiver_id: AccountId,
        },
        /// A key of the first state is too long
        UniversalStateInitKeyLengthExceeded {
            /// Its bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// A value of the first state is too long
        UniversalStateInitValueLengthExceeded {
            /// Its bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// The first state of a universal account cannot be read
        MalformedUniversalStateInit,
        /// The protocol no longer has this
        RemovedProtocolFeature {
            /// Name of the feature
            protocol_feature: String,
            /// Protocol version of the block
            version: u32,
        },
        /// A delegate action cannot take from a gas key
        WithdrawFromGasKeyNotAllowedInDelegate,
        /// The first states have too many access keys together
        TotalNumberOfStateInitKeysExceeded {
            /// Most keys
            limit: u64,
            /// How many there are
            number_of_keys: u64,
        },
        /// The first states have too many entries together
        TotalNumberOfStateInitEntriesExceeded {
            /// Most entries
            limit: u64,
            /// How many there are
            number_of_entries: u64,
        },
        /// Tokens cannot be sent to a universal account yet
        TransferToUniversalAccountNotAllowed {
            /// The account
            account_id: AccountId,
        },
    }
}

wire_enum! {
    /// Why a receipt that a contract made is invalid
    pub enum ReceiptValidationError {
        /// The predecessor is no account id
        InvalidPredecessorId {
            /// What was given
            account_id: String,
        },
        /// The receiver is no account id
        InvalidReceiverId {
            /// What was given
            account_id: String,
        },
        /// The signer is no account id
        InvalidSignerId {
            /// What was given
            account_id: String,
        },
        /// The receiver of the result is no account id
        InvalidDataReceiverId {
            /// What was given
            account_id: String,
        },
        /// The result is too long
        ReturnedValueLengthExceeded {
            /// Its bytes
            length: u64,
            /// Most bytes
            limit: u64,
        },
        /// The receipt waits for too many results
        NumberInputDataDependenciesExceeded {
            /// Most results
            limit: u64,
            /// How many it waits for
            number_of_input_data_dependencies: u64,
        },
        /// An action is invalid
        ActionsValidation(ActionsValidationError),
        /// The receipt is too large
        ReceiptSizeExceeded {
            /// Most bytes
            limit: u64,
            /// Its bytes
            size: u64,
        },
        /// Who gets what is left is no account id
        InvalidRefundTo {
            /// What was given
            account_id: String,
        },
    }
}
