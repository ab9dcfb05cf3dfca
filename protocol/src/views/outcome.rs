//! Outcomes of transactions and receipts, with their Merkle proofs.
//!
//! The proofs are not verified here.

use alloc::string::String;
use alloc::vec::Vec;

use super::wire::{wire_enum, wire_struct};
use super::{ExecutionMetadataView, ExecutionStatusView};
use crate::primitives::{AccountId, Balance, CryptoHash, Gas};

wire_struct! {
    /// An outcome with its id, block and proof
    pub struct ExecutionOutcomeWithIdView {
        /// Hash of the block whose chunk executed it
        pub block_hash: CryptoHash,
        /// Hash of the transaction, or id of the receipt
        pub id: CryptoHash,
        /// The outcome
        pub outcome: ExecutionOutcomeView,
        /// Merkle path from the outcome to the outcome root
        pub proof: Vec<MerklePathItem>,
    }
}

wire_struct! {
    /// The outcome of executing a transaction or receipt
    pub struct ExecutionOutcomeView {
        /// Account that executed it; the signer for a transaction
        pub executor_id: AccountId,
        /// Gas burnt
        pub gas_burnt: Gas,
        /// Log lines of the contract
        pub logs: Vec<String>,
        /// Metadata of the execution
        pub metadata: ExecutionMetadataView = default,
        /// Ids of the receipts that it created
        pub receipt_ids: Vec<CryptoHash>,
        /// Status of the execution
        pub status: ExecutionStatusView,
        /// Tokens burnt, in yoctoNEAR
        pub tokens_burnt: Balance,
    }
}

wire_struct! {
    /// One step of a path to a Merkle root
    pub struct MerklePathItem {
        /// Side of the sibling
        pub direction: Direction,
        /// Hash of the sibling
        pub hash: CryptoHash,
    }
}

wire_enum! {
    /// The side of a sibling in a Merkle path
    pub enum Direction {
        /// Left
        Left,
        /// Right
        Right,
    }
}
