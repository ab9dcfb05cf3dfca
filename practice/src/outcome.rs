//! Outcomes: their JSON, and their leaves in the Merkle tree of the shard.

use alloc::string::String;
use alloc::vec::Vec;

use milepost::codec::json;
use milepost::primitives::{AccountId, Balance, CryptoHash};
use milepost::proof::leaf;
use milepost::views::ExecutionOutcomeWithIdView;
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
    /// The outcome in the format of block messages, without its path
    pub(crate) fn view(&self, block_hash: CryptoHash) -> Value {
        json!({
            "proof": [],
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

/// The leaf of an outcome in the tree of its shard
pub(crate) fn outcome_leaf(view: &Value) -> CryptoHash {
    let outcome: ExecutionOutcomeWithIdView =
        json::read(&view.to_string()).expect("an outcome with all its members");
    leaf(&outcome).expect("a known status")
}
