//! Receipts, the messages between accounts and shards.
//!
//! A yielded promise is an action receipt with a flag, and the data that resumes it is a data
//! receipt with a flag. A global contract is distributed in receipts of a third kind.

use alloc::vec::Vec;

use super::wire::{wire_enum, wire_struct};
use super::{ActionView, GlobalContractIdentifier};
use crate::primitives::{AccountId, Balance, Bytes, CryptoHash, Nonce, PublicKey, ShardId};

wire_struct! {
    /// A receipt
    pub struct ReceiptView {
        /// Account that sent it; `system` for a refund
        pub predecessor_id: AccountId,
        /// No longer used: 0
        pub priority: u64 = default,
        /// Its content
        pub receipt: ReceiptEnumView,
        /// Its id
        pub receipt_id: CryptoHash,
        /// Account that it is applied to
        pub receiver_id: AccountId,
    }
}

wire_enum! {
    /// The content of a receipt
    pub enum ReceiptEnumView {
        /// Actions
        Action {
            /// The actions, in order
            actions: Vec<ActionView>,
            /// Price of gas, in yoctoNEAR per unit
            gas_price: Balance,
            /// Ids of the data that it waits for
            input_data_ids: Vec<CryptoHash>,
            /// Whether it is a yielded promise, which a contract resumes
            is_promise_yield: bool = default,
            /// Receivers of the result
            output_data_receivers: Vec<DataReceiverView>,
            /// Account that receives refunds; `None` for the predecessor
            refund_to: Option<AccountId> = omitted,
            /// Account that signed the transaction
            signer_id: AccountId,
            /// Key that signed the transaction
            signer_public_key: PublicKey,
        },
        /// Data that another receipt waits for
        Data {
            /// The data; `None` if the execution that should have produced it failed
            data: Option<Bytes> = null,
            /// Id of the data
            data_id: CryptoHash,
            /// Whether it resumes a yielded promise
            is_promise_resume: bool = default,
        },
        /// The distribution of a global contract to all shards
        GlobalContractDistribution {
            /// Shards that have received it
            already_delivered_shards: Vec<ShardId>,
            /// SHA-256 of the code
            code: Bytes,
            /// Identifier of the contract
            id: GlobalContractIdentifier,
            /// Number of the deployment of this identifier
            nonce: Option<Nonce> = omitted,
            /// Target shard
            target_shard: ShardId,
        },
    }
}

wire_struct! {
    /// A receiver of the result of a receipt
    pub struct DataReceiverView {
        /// Id of the data that it waits for
        pub data_id: CryptoHash,
        /// The account
        pub receiver_id: AccountId,
    }
}
