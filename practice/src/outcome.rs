//! Outcomes: their JSON, and their leaves in the Merkle tree of the chunk.

use alloc::string::String;
use alloc::vec::Vec;

use milepost::codec::borsh::Writer;
use milepost::primitives::{AccountId, Balance, CryptoHash};
use serde_json::{Value, json};

use crate::action::base64_of;
use crate::merkle::{self, ProofStep};

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
    /// The leaf: SHA-256 of the borsh list of the id, the outcome's hash and the hash of every log
    pub(crate) fn leaf(&self) -> CryptoHash {
        let mut out = Writer::default();
        out.count(2 + self.logs.len()).raw(self.id.as_bytes()).raw(self.digest().as_bytes());
        for log in &self.logs {
            out.raw(CryptoHash::digest(log.as_bytes()).as_bytes());
        }
        CryptoHash::digest(&out.into_bytes())
    }

    /// The hash of the fields except the logs; a failure is hashed without its error
    fn digest(&self) -> CryptoHash {
        let mut out = Writer::default();
        out.count(self.receipt_ids.len());
        for id in &self.receipt_ids {
            out.raw(id.as_bytes());
        }
        out.u64(self.gas_burnt).u128(self.tokens_burnt).text(&self.executor_id);
        match &self.status {
            Status::Failure(_) => out.u8(1),
            Status::Value(value) => out.u8(2).bytes(value),
            Status::Receipt(id) => out.u8(3).raw(id.as_bytes()),
        };
        CryptoHash::digest(&out.into_bytes())
    }

    /// The outcome in the format of block messages
    pub(crate) fn view(&self, block_hash: CryptoHash, proof: &[ProofStep]) -> Value {
        json!({
            "proof": merkle::view(proof),
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
