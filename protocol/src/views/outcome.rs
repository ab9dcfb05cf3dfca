//! Outcomes: what executing a transaction or receipt did, and the proof that a block holds it.

use alloc::string::String;
use alloc::vec::Vec;

use super::wire::{wire_enum, wire_struct};
use super::{ExecutionMetadataView, ExecutionStatusView};
use crate::primitives::{AccountId, Balance, CryptoHash, Gas};

wire_struct! {
    /// An outcome, what it is of, and where it is
    pub struct ExecutionOutcomeWithIdView {
        /// Block whose chunk executed it
        pub block_hash: CryptoHash,
        /// Hash of the transaction, or id of the receipt
        pub id: CryptoHash,
        /// The outcome
        pub outcome: ExecutionOutcomeView,
        /// Path from the outcome to the outcome root of its chunk
        pub proof: Vec<MerklePathItem>,
    }
}

wire_struct! {
    /// What executing a transaction or receipt did
    pub struct ExecutionOutcomeView {
        /// Account that executed it; the signer's for a transaction
        pub executor_id: AccountId,
        /// Gas that it burnt
        pub gas_burnt: Gas,
        /// Lines that the contract logged
        pub logs: Vec<String>,
        /// How it was executed
        pub metadata: ExecutionMetadataView = default,
        /// Receipts that it made
        pub receipt_ids: Vec<CryptoHash>,
        /// How it ended
        pub status: ExecutionStatusView,
        /// yoctoNEAR that it burnt
        pub tokens_burnt: Balance,
    }
}

wire_struct! {
    /// One step of a path to a Merkle root
    pub struct MerklePathItem {
        /// On which side of the path the hash is
        pub direction: Direction,
        /// Hash of the neighbour
        pub hash: CryptoHash,
    }
}

wire_enum! {
    /// A side
    pub enum Direction {
        /// The left
        Left,
        /// The right
        Right,
    }
}
