//! Errors of transactions, invalid ones and failed executions.
//!
//! The engine itself produces those that need no state; all others are in blocks.

use alloc::string::String;

use super::super::wire::wire_enum;
use super::{ActionError, ActionsValidationError, InvalidAccessKeyError, StorageError};
use crate::primitives::{AccountId, Balance, Fraction, Nonce};

wire_enum! {
    /// Why a transaction failed
    pub enum TxExecutionError {
        /// An action failed
        ActionError(ActionError),
        /// The transaction is invalid
        InvalidTxError(InvalidTxError),
    }
}

wire_enum! {
    /// Why a transaction is invalid
    pub enum InvalidTxError {
        /// The access key does not allow it
        InvalidAccessKeyError(InvalidAccessKeyError),
        /// The signer is not an account id
        InvalidSignerId {
            /// The text that was given
            signer_id: String,
        },
        /// The signer's account does not exist
        SignerDoesNotExist {
            /// The signer
            signer_id: AccountId,
        },
        /// The nonce is not greater than the key's
        InvalidNonce {
            /// Nonce of the key
            ak_nonce: Nonce,
            /// Nonce of the transaction
            tx_nonce: Nonce,
        },
        /// The nonce is too far ahead
        NonceTooLarge {
            /// Nonce of the transaction
            tx_nonce: Nonce,
            /// Exclusive upper bound
            upper_bound: Nonce,
        },
        /// The receiver is not an account id
        InvalidReceiverId {
            /// The text that was given
            receiver_id: String,
        },
        /// The signature is invalid
        InvalidSignature,
        /// The balance of the signer is too low
        NotEnoughBalance {
            /// Balance of the signer, in yoctoNEAR
            balance: Balance,
            /// Cost, in yoctoNEAR
            cost: Balance,
            /// The signer
            signer_id: AccountId,
        },
        /// The remaining balance would be too low for the signer's state
        LackBalanceForState {
            /// Missing amount, in yoctoNEAR
            amount: Balance,
            /// The signer
            signer_id: AccountId,
        },
        /// The cost does not fit 128 bits
        CostOverflow,
        /// The block hash belongs to another chain
        InvalidChain,
        /// The block hash has expired
        Expired,
        /// An action is invalid
        ActionsValidation(ActionsValidationError),
        /// The transaction is too large
        TransactionSizeExceeded {
            /// Maximum number of bytes
            limit: u64,
            /// Its size in bytes
            size: u64,
        },
        /// The version of the transaction is not allowed
        InvalidTransactionVersion,
        /// The node could not read its state
        StorageError(StorageError),
        /// The receiver's shard is congested
        ShardCongested {
            /// From 0 for none to 1 for full
            congestion_level: Fraction,
            /// The shard
            shard_id: u32,
        },
        /// The receiver's shard has missed chunks
        ShardStuck {
            /// Number of missed chunks
            missed_chunks: u64,
            /// The shard
            shard_id: u32,
        },
        /// The key has no such nonce
        InvalidNonceIndex {
            /// Number of nonces of the key
            num_nonces: u16,
            /// Index that was used, if any
            tx_nonce_index: Option<u16> = null,
        },
        /// The balance of the gas key is too low
        NotEnoughGasKeyBalance {
            /// Balance of the key, in yoctoNEAR
            balance: Balance,
            /// Cost, in yoctoNEAR
            cost: Balance,
            /// The signer
            signer_id: AccountId,
        },
        /// The balance of the signer of a gas key is too low for the deposits
        NotEnoughBalanceForDeposit {
            /// Balance of the signer, in yoctoNEAR
            balance: Balance,
            /// Total deposit of the actions, in yoctoNEAR
            cost: Balance,
            /// Reason
            reason: DepositCostFailureReason,
            /// The signer
            signer_id: AccountId,
        },
    }
}

wire_enum! {
    /// Why a deposit could not be paid
    pub enum DepositCostFailureReason {
        /// The balance is too low
        NotEnoughBalance,
        /// The remaining balance would be too low for the state
        LackBalanceForState,
    }
}
