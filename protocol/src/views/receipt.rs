//! Receipts: what shards send each other.
//!
//! Two flags tell four kinds apart: a yielded promise is an action receipt, the data that resumes
//! it a data receipt. Published code travels in a receipt of its own.

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
        /// What it carries
        pub receipt: ReceiptEnumView,
        /// Its id
        pub receipt_id: CryptoHash,
        /// Account that it goes to
        pub receiver_id: AccountId,
    }
}

wire_enum! {
    /// What a receipt carries
    pub enum ReceiptEnumView {
        /// Actions to apply
        Action {
            /// What to do, in this order
            actions: Vec<ActionView>,
            /// yoctoNEAR that a unit of gas was bought for
            gas_price: Balance,
            /// Data that must have arrived before
            input_data_ids: Vec<CryptoHash>,
            /// Whether it waits for a contract to resume it
            is_promise_yield: bool = default,
            /// Who gets the result
            output_data_receivers: Vec<DataReceiverView>,
            /// Who gets what is left; `None` for the predecessor
            refund_to: Option<AccountId> = omitted,
            /// Account that signed the transaction
            signer_id: AccountId,
            /// Key that signed the transaction
            signer_public_key: PublicKey,
        },
        /// A result that another receipt waits for
        Data {
            /// The result; `None` when what should have made it failed
            data: Option<Bytes> = null,
            /// What the other receipt waits for
            data_id: CryptoHash,
            /// Whether it resumes a yielded promise
            is_promise_resume: bool = default,
        },
        /// Published code on its way to every shard
        GlobalContractDistribution {
            /// Shards that have it
            already_delivered_shards: Vec<ShardId>,
            /// SHA-256 of the code
            code: Bytes,
            /// What it is published under
            id: GlobalContractIdentifier,
            /// Counts what was published under one account
            nonce: Option<Nonce> = omitted,
            /// Shard it goes to
            target_shard: ShardId,
        },
    }
}

wire_struct! {
    /// Who gets the result of a receipt
    pub struct DataReceiverView {
        /// What the receiver waits for
        pub data_id: CryptoHash,
        /// The account
        pub receiver_id: AccountId,
    }
}
