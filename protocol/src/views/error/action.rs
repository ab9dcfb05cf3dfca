//! Errors of actions.
//!
//! Unknown variants are kept, as in all views. The errors of function calls are in other files.

use super::super::GlobalContractIdentifier;
use super::super::wire::{wire_enum, wire_struct};
use super::{FunctionCallError, InvalidAccessKeyError, ReceiptValidationError};
use crate::primitives::{AccountId, Balance, Nonce, PublicKey};

wire_struct! {
    /// The error of an action, and its index
    pub struct ActionError {
        /// Index of the action; `None` if no single action failed
        pub index: Option<u64> = null,
        /// Why
        pub kind: ActionErrorKind,
    }
}

wire_enum! {
    /// Why an action failed
    pub enum ActionErrorKind {
        /// The account to create exists already
        AccountAlreadyExists {
            /// The account
            account_id: AccountId,
        },
        /// The account does not exist
        AccountDoesNotExist {
            /// The account
            account_id: AccountId,
        },
        /// Only the registrar may create this top-level account
        CreateAccountOnlyByRegistrar {
            /// The account
            account_id: AccountId,
            /// Account that tried
            predecessor_id: AccountId,
            /// Account that may
            registrar_account_id: AccountId,
        },
        /// Only its parent may create this account
        CreateAccountNotAllowed {
            /// The account
            account_id: AccountId,
            /// Account that tried
            predecessor_id: AccountId,
        },
        /// Only the account itself may do this
        ActorNoPermission {
            /// The account
            account_id: AccountId,
            /// Account that tried
            actor_id: AccountId,
        },
        /// The key to delete does not exist
        DeleteKeyDoesNotExist {
            /// The account
            account_id: AccountId,
            /// The key
            public_key: PublicKey,
        },
        /// The key to add exists already
        AddKeyAlreadyExists {
            /// The account
            account_id: AccountId,
            /// The key
            public_key: PublicKey,
        },
        /// The account to delete has a stake
        DeleteAccountStaking {
            /// The account
            account_id: AccountId,
        },
        /// The balance is too low for the account's state
        LackBalanceForState {
            /// The account
            account_id: AccountId,
            /// Missing amount, in yoctoNEAR
            amount: Balance,
        },
        /// The account has no stake to withdraw
        TriesToUnstake {
            /// The account
            account_id: AccountId,
        },
        /// The balance is too low for the stake
        TriesToStake {
            /// The account
            account_id: AccountId,
            /// Balance, in yoctoNEAR
            balance: Balance,
            /// Current stake, in yoctoNEAR
            locked: Balance,
            /// Total stake, in yoctoNEAR
            stake: Balance,
        },
        /// The stake is below the minimum
        InsufficientStake {
            /// The account
            account_id: AccountId,
            /// Minimum stake, in yoctoNEAR
            minimum_stake: Balance,
            /// Requested stake, in yoctoNEAR
            stake: Balance,
        },
        /// The function call failed
        FunctionCallError(FunctionCallError),
        /// A receipt that the contract created is invalid
        NewReceiptValidationError(ReceiptValidationError),
        /// Accounts with such an id are created only by a transfer to them
        OnlyImplicitAccountCreationAllowed {
            /// The account
            account_id: AccountId,
        },
        /// The account to delete has too much state
        DeleteAccountWithLargeState {
            /// The account
            account_id: AccountId,
        },
        /// The signature of a delegate action is invalid
        DelegateActionInvalidSignature,
        /// The receiver of a delegate action's transaction is not its sender
        DelegateActionSenderDoesNotMatchTxReceiver {
            /// Receiver of the transaction
            receiver_id: AccountId,
            /// Sender of the delegate action
            sender_id: AccountId,
        },
        /// A delegate action has expired
        DelegateActionExpired,
        /// The key does not allow a delegate action
        DelegateActionAccessKeyError(InvalidAccessKeyError),
        /// The nonce of a delegate action is not greater than the key's
        DelegateActionInvalidNonce {
            /// Nonce of the key
            ak_nonce: Nonce,
            /// Nonce of the delegate action
            delegate_nonce: Nonce,
        },
        /// The nonce of a delegate action is too far ahead
        DelegateActionNonceTooLarge {
            /// Nonce of the delegate action
            delegate_nonce: Nonce,
            /// Exclusive upper bound
            upper_bound: Nonce,
        },
        /// The global contract does not exist
        GlobalContractDoesNotExist {
            /// The contract
            identifier: GlobalContractIdentifier,
        },
        /// The gas key does not exist
        GasKeyDoesNotExist {
            /// The account
            account_id: AccountId,
            /// The key
            public_key: PublicKey,
        },
        /// The balance of the gas key is too low
        InsufficientGasKeyBalance {
            /// The account
            account_id: AccountId,
            /// Balance of the key, in yoctoNEAR
            balance: Balance,
            /// The key
            public_key: PublicKey,
            /// Required balance, in yoctoNEAR
            required: Balance,
        },
        /// The balance of the gas key is too high to delete it
        GasKeyBalanceTooHigh {
            /// The account
            account_id: AccountId,
            /// Balance of the key, in yoctoNEAR
            balance: Balance,
            /// The key; `None` when the account is deleted with all of its keys
            public_key: Option<PublicKey> = null,
        },
        /// The gas key has no such nonce
        DelegateActionInvalidNonceIndex {
            /// Index that was used
            nonce_index: u16,
            /// Number of nonces of the key
            num_nonces: u16,
        },
        /// The total size of the promise results that a receipt takes is too large
        TotalPromiseInputSizeExceeded {
            /// Maximum number of bytes
            limit: u64,
            /// Their size in bytes
            size: u64,
        },
        /// The storage proof of the receipt's execution is too large
        ReceiptStorageProofSizeExceeded {
            /// Maximum number of bytes
            limit: u64,
        },
        /// The initial state of a universal account is malformed
        MalformedUniversalStateInit,
        /// The universal account is not initialized
        AccountNotInitialized {
            /// The account
            account_id: AccountId,
        },
    }
}
