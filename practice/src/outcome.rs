//! Outcomes: their JSON, and their leaves in the Merkle tree of the shard.

use alloc::string::String;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, Balance, CryptoHash, Gas};
use milepost::proof::{PartialExecutionOutcome, PartialExecutionStatus};
use milepost::views::MerklePathItem;
use serde_json::{Value, json};

use crate::action::base64_of;

/// How an execution ended
#[derive(Clone, Debug)]
pub(crate) enum Status {
    Value(Vec<u8>),
    Receipt(CryptoHash),
    /// The JSON of the error, an `ActionError` or an `InvalidTxError`
    Failure(Value),
}

/// The outcome of a transaction or a receipt
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) id: CryptoHash,
    pub(crate) executor_id: AccountId,
    pub(crate) gas_burnt: u64,
    pub(crate) tokens_burnt: u128,
    pub(crate) logs: Vec<String>,
    pub(crate) receipt_ids: Vec<CryptoHash>,
    pub(crate) status: Status,
    pub(crate) metadata: Value,
}

impl Outcome {
    /// The leaf in the tree of the shard
    pub(crate) fn leaf(&self) -> CryptoHash {
        let partial = PartialExecutionOutcome {
            receipt_ids: &self.receipt_ids,
            gas_burnt: Gas(self.gas_burnt),
            tokens_burnt: Balance(self.tokens_burnt),
            executor_id: self.executor_id.as_str(),
            status: match &self.status {
                Status::Failure(_) => PartialExecutionStatus::Failure,
                Status::Value(value) => PartialExecutionStatus::SuccessValue(value),
                Status::Receipt(id) => PartialExecutionStatus::SuccessReceiptId(*id),
            },
        };
        let logs: Vec<_> = self.logs.iter().map(|log| CryptoHash::digest(log.as_bytes())).collect();
        partial.leaf(self.id, &logs)
    }

    /// The outcome in the format of block messages
    pub(crate) fn view(&self, block_hash: CryptoHash, proof: &[MerklePathItem]) -> Value {
        json!({
            "proof": proof,
            "block_hash": block_hash,
            "id": self.id,
            "outcome": {
                "logs": self.logs,
                "receipt_ids": self.receipt_ids,
                "gas_burnt": self.gas_burnt,
                "tokens_burnt": Balance(self.tokens_burnt),
                "executor_id": self.executor_id,
                "status": match &self.status {
                    Status::Value(value) => json!({ "SuccessValue": base64_of(value) }),
                    Status::Receipt(id) => json!({ "SuccessReceiptId": id }),
                    Status::Failure(error) => json!({ "Failure": error }),
                },
                "metadata": self.metadata,
            },
        })
    }
}
