//! Why an action failed.
//!
//! Variants that no version knows yet are kept as they came, like everywhere in the views. What a
//! function call failed of has files of its own.

use super::super::GlobalContractIdentifier;
use super::super::wire::{wire_enum, wire_struct};
use super::{FunctionCallError, InvalidAccessKeyError, ReceiptValidationError};
use crate::primitives::{AccountId, Balance, Nonce, PublicKey};

wire_struct! {
    /// Which action failed, and why
    pub struct ActionError {
        /// The action, counted from 0; `None` when no single action is at fault
        pub index: Option<u64> = null,
        /// Why
        pub kind: ActionErrorKind,
    }
}

wire_enum! {
    /// Why an action failed
    pub enum ActionErrorKind {
        /// The account to create is there already
        AccountAlreadyExists {
            /// The account
            account_id: AccountId,
        },
        /// There is no such account
        AccountDoesNotExist {
            /// The account
            account_id: AccountId,
        },
        /// Only the registrar may create this top-level account
        CreateAccountOnlyByRegistrar {
            /// The account
            account_id: AccountId,
            /// Who tried
            predecessor_id: AccountId,
            /// Who may
            registrar_account_id: AccountId,
        },
        /// Only its parent may create this account
        CreateAccountNotAllowed {
            /// The account
            account_id: AccountId,
            /// Who tried
            predecessor_id: AccountId,
        },
        /// Only the account itself may do this
        ActorNoPermission {
            /// The account
            account_id: AccountId,
            /// Who tried
            actor_id: AccountId,
        },
        /// The key to remove is not there
        DeleteKeyDoesNotExist {
            /// The account
            account_id: AccountId,
            /// The key
            public_key: PublicKey,
        },
        /// The key to add is there already
        AddKeyAlreadyExists {
            /// The account
            account_id: AccountId,
            /// The key
            public_key: PublicKey,
        },
        /// The account to remove has a stake
        DeleteAccountStaking {
            /// The account
            account_id: AccountId,
        },
        /// Too little is left to cover the account's state
        LackBalanceForState {
            /// The account
            account_id: AccountId,
            /// yoctoNEAR that are missing
            amount: Balance,
        },
        /// There is no stake to take back
        TriesToUnstake {
            /// The account
            account_id: AccountId,
        },
        /// The account has too little to stake as much
        TriesToStake {
            /// The account
            account_id: AccountId,
            /// yoctoNEAR that it has
            balance: Balance,
            /// yoctoNEAR that are staked already
            locked: Balance,
            /// yoctoNEAR to be staked in all
            stake: Balance,
        },
        /// The stake is below the least
        InsufficientStake {
            /// The account
            account_id: AccountId,
            /// yoctoNEAR that must be staked at least
            minimum_stake: Balance,
            /// yoctoNEAR to be staked
            stake: Balance,
        },
        /// The call failed
        FunctionCallError(FunctionCallError),
        /// A receipt that the contract made is invalid
        NewReceiptValidationError(ReceiptValidationError),
        /// An account of this id is created by sending tokens to it
        OnlyImplicitAccountCreationAllowed {
            /// The account
            account_id: AccountId,
        },
        /// The account to remove has too much state
        DeleteAccountWithLargeState {
            /// The account
            account_id: AccountId,
        },
        /// The signature of a delegate action is not the key's
        DelegateActionInvalidSignature,
        /// A delegate action went to another account than its sender
        DelegateActionSenderDoesNotMatchTxReceiver {
            /// Account that it went to
            receiver_id: AccountId,
            /// Account that signed it
            sender_id: AccountId,
        },
        /// A delegate action came too late
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
            /// It must be below this
            upper_bound: Nonce,
        },
        /// No such code is published
        GlobalContractDoesNotExist {
            /// The code
            identifier: GlobalContractIdentifier,
        },
        /// There is no such gas key
        GasKeyDoesNotExist {
            /// The account
            account_id: AccountId,
            /// The key
            public_key: PublicKey,
        },
        /// The gas key has too little
        InsufficientGasKeyBalance {
            /// The account
            account_id: AccountId,
            /// yoctoNEAR that the key has
            balance: Balance,
            /// The key
            public_key: PublicKey,
            /// yoctoNEAR that it should have
            required: Balance,
        },
        /// The gas key has too much to be removed
        GasKeyBalanceTooHigh {
            /// The account
            account_id: AccountId,
            /// yoctoNEAR that the key has
            balance: Balance,
            /// The key; `None` when the account is removed with all of its keys
            public_key: Option<PublicKey> = null,
        },
        /// The gas key has no such nonce
        DelegateActionInvalidNonceIndex {
            /// Which was used
            nonce_index: u16,
            /// How many the key has
            num_nonces: u16,
        },
        /// The results that a receipt waits for are too large together
        TotalPromiseInputSizeExceeded {
            /// Most bytes
            limit: u64,
            /// Their bytes
            size: u64,
        },
        /// Executing the receipt needs too large a proof of the state
        ReceiptStorageProofSizeExceeded {
            /// Most bytes
            limit: u64,
        },
        /// The first state of a universal account cannot be read
        MalformedUniversalStateInit,
        /// The universal account has no keys, code or data yet
        AccountNotInitialized {
            /// The account
            account_id: AccountId,
        },
    }
}
