//! Why a transaction failed: while it ran, or before it could.
//!
//! The engine itself says only one of these, an invalid signature; all others come out of blocks
//! and are passed on.

use alloc::string::String;

use super::super::wire::wire_enum;
use super::{ActionError, ActionsValidationError, InvalidAccessKeyError, StorageError};
use crate::primitives::{AccountId, Balance, Nonce};

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
        /// The signer is no account id
        InvalidSignerId {
            /// What was given
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
            /// It must be below this
            upper_bound: Nonce,
        },
        /// The receiver is no account id
        InvalidReceiverId {
            /// What was given
            receiver_id: String,
        },
        /// The signature is not the key's
        InvalidSignature,
        /// The signer cannot pay
        NotEnoughBalance {
            /// yoctoNEAR that the signer has
            balance: Balance,
            /// yoctoNEAR that it would cost
            cost: Balance,
            /// The signer
            signer_id: AccountId,
        },
        /// Too little would be left to cover the signer's state
        LackBalanceForState {
            /// yoctoNEAR that are missing
            amount: Balance,
            /// The signer
            signer_id: AccountId,
        },
        /// The cost does not fit 128 bits
        CostOverflow,
        /// The block that it refers to is on another chain
        InvalidChain,
        /// The block that it refers to is too old
        Expired,
        /// An action is invalid
        ActionsValidation(ActionsValidationError),
        /// The transaction is too large
        TransactionSizeExceeded {
            /// Most bytes
            limit: u64,
            /// Its bytes
            size: u64,
        },
        /// The version of the transaction is not allowed
        InvalidTransactionVersion,
        /// The node could not read its state
        StorageError(StorageError),
        /// The receiver's shard has too much to do
        ShardCongested {
            /// 0 for none to 1 for full
            congestion_level: f64,
            /// The shard
            shard_id: u32,
        },
        /// The receiver's shard misses chunks
        ShardStuck {
            /// Chunks missed
            missed_chunks: u64,
            /// The shard
            shard_id: u32,
        },
        /// The key has no such nonce
        InvalidNonceIndex {
            /// How many nonces the key has
            num_nonces: u16,
            /// Which was used; `None` for none
            tx_nonce_index: Option<u16> = null,
        },
        /// The gas key cannot pay
        NotEnoughGasKeyBalance {
            /// yoctoNEAR that the key has
            balance: Balance,
            /// yoctoNEAR that it would cost
            cost: Balance,
            /// The signer
            signer_id: AccountId,
        },
        /// The signer of a gas key cannot pay what goes with the actions
        NotEnoughBalanceForDeposit {
            /// yoctoNEAR that the signer has
            balance: Balance,
            /// yoctoNEAR that go with the actions
            cost: Balance,
            /// What was missing
            reason: DepositCostFailureReason,
            /// The signer
            signer_id: AccountId,
        },
    }
}

wire_enum! {
    /// Why a deposit could not be paid
    pub enum DepositCostFailureReason {
        /// The balance is too small
        NotEnoughBalance,
        /// Too little would be left to cover the state
        LackBalanceForState,
    }
}
