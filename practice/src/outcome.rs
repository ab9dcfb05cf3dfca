//! Outcomes: how they are shown, and the leaf that each puts into its chunk's Merkle tree.

use alloc::string::String;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, CryptoHash};
use serde_json::{Value, json};

use crate::action::{amount, base64_of};
use crate::borsh;
use crate::merkle::{self, Step};

/// How an execution ended
#[derive(Clone, Debug)]
pub(crate) enum Status {
    Value(Vec<u8>),
    Receipt(CryptoHash),
    /// The error as it is shown, an `ActionError` or an `InvalidTxError`
    Failure(Value),
}

/// What came of a transaction or a receipt in one block
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
    /// The leaf: SHA-256 of the borsh list of the id, the outcome's own hash and every log's hash
    pub(crate) fn leaf(&self) -> CryptoHash {
        let mut out = Vec::new();
        borsh::length(&mut out, 2 + self.logs.len());
        out.extend_from_slice(self.id.as_bytes());
        out.extend_from_slice(self.digest().as_bytes());
        for log in &self.logs {
            out.extend_from_slice(CryptoHash::digest(log.as_bytes()).as_bytes());
        }
        CryptoHash::digest(&out)
    }

    /// The hash of the parts that are not logs; of a failure only that it failed
    fn digest(&self) -> CryptoHash {
        let mut out = Vec::new();
        borsh::length(&mut out, self.receipt_ids.len());
        for id in &self.receipt_ids {
            out.extend_from_slice(id.as_bytes());
        }
        out.extend_from_slice(&self.gas_burnt.to_le_bytes());
        out.extend_from_slice(&self.tokens_burnt.to_le_bytes());
        borsh::bytes(&mut out, self.executor_id.as_bytes());
        match &self.status {
            Status::Failure(_) => out.push(1),
            Status::Value(value) => {
                out.push(2);
                borsh::bytes(&mut out, value);
            }
            Status::Receipt(id) => {
                out.push(3);
                out.extend_from_slice(id.as_bytes());
            }
        }
        CryptoHash::digest(&out)
    }

    /// The outcome as block messages show it
    pub(crate) fn view(&self, block_hash: CryptoHash, proof: &[Step]) -> Value {
        json!({
            "proof": merkle::view(proof),
            "block_hash": block_hash,
            "id": self.id,
            "outcome": {
                "logs": self.logs,
                "receipt_ids": self.receipt_ids,
                "gas_burnt": self.gas_burnt,
                "tokens_burnt": amount(self.tokens_burnt),
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
