//! Block messages: a whole block with its transactions, receipts and outcomes.
//!
//! Hashes are derived from names, so the block `a101` has the same hash in its own header, in the
//! next header and in outcomes. There are two shards: `alice.near` is on shard 0 and all other
//! accounts on shard 1. Headers have every member; proofs, roots and signatures are made up.

use serde_json::{Value, json};

use super::json::reversed;
use super::parts::{Transaction, hash};

/// The name from which the id of a block's epoch is derived, unless another is set
pub(super) const FIRST_EPOCH: &str = "first epoch";

/// A builder of a block message
#[derive(Clone, Debug)]
pub(super) struct Block {
    name: String,
    height: u64,
    previous: (String, u64),
    epoch: &'static str,
    last_final: String,
    last_near_final: String,
    shards: [Shard; 2],
    /// The shard whose chunk is listed and left out
    missing_chunk: Option<usize>,
    /// Whether the message has shard 0 only, as in a partial feed
    is_partial: bool,
}

/// The content of a shard
#[derive(Clone, Debug, Default)]
struct Shard {
    transactions: Vec<Value>,
    receipts: Vec<Value>,
    outcomes: Vec<Value>,
}

impl Block {
    /// A block of this name and height, on top of another one
    ///
    /// Its header names no final block until [`finality`](Self::finality) sets one.
    pub(super) fn new(name: &str, height: u64, previous: (&str, u64)) -> Self {
        Self {
            name: name.into(),
            height,
            previous: (previous.0.into(), previous.1),
            epoch: FIRST_EPOCH,
            last_final: String::new(),
            last_near_final: String::new(),
            shards: Default::default(),
            missing_chunk: None,
            is_partial: false,
        }
    }

    /// The same block without the chunk of this shard
    #[must_use]
    pub(super) fn without_chunk(self, shard: usize) -> Self {
        Self { missing_chunk: Some(shard), ..self }
    }

    /// The same block in a feed of shard 0
    #[must_use]
    pub(super) fn partial(self) -> Self {
        Self { is_partial: true, ..self }
    }

    /// The same block in the epoch of this name
    #[must_use]
    pub(super) fn epoch(self, epoch: &'static str) -> Self {
        Self { epoch, ..self }
    }

    /// Sets the names of the last final and the last nearly final block in the header
    #[must_use]
    pub(super) fn finality(mut self, last_final: &str, last_near_final: &str) -> Self {
        self.last_final = last_final.into();
        self.last_near_final = last_near_final.into();
        self
    }

    /// Adds a transaction and its outcome
    #[must_use]
    pub(super) fn transaction(mut self, transaction: &Transaction, outcome: &Value) -> Self {
        self.shards[shard_of(&transaction.signer)].transactions.push(json!({
            "transaction": transaction.view,
            "outcome": { "execution_outcome": outcome, "receipt": null },
        }));
        self
    }

    /// Adds a transaction whose outcome is in a later block
    #[must_use]
    pub(super) fn transaction_without_outcome(mut self, transaction: &Transaction) -> Self {
        self.shards[shard_of(&transaction.signer)]
            .transactions
            .push(json!({ "transaction": transaction.view }));
        self
    }

    /// Adds the outcome of a transaction of this signer from an earlier block
    #[must_use]
    pub(super) fn transaction_outcome(mut self, signer: &str, outcome: &Value) -> Self {
        self.shards[shard_of(signer)]
            .outcomes
            .push(json!({ "execution_outcome": outcome, "receipt": null }));
        self
    }

    /// Adds a receipt that reaches its shard in this block and is executed later
    #[must_use]
    pub(super) fn receives(mut self, receipt: &Value) -> Self {
        self.shards[shard_of_receipt(receipt)].receipts.push(receipt.clone());
        self
    }

    /// Adds a receipt that leaves its sender's shard, whose chunk has its body
    #[must_use]
    pub(super) fn sends(mut self, sender: &str, receipt: &Value) -> Self {
        self.shards[shard_of(sender)].receipts.push(receipt.clone());
        self
    }

    /// Adds a receipt that is executed in this block, and its outcome
    #[must_use]
    pub(super) fn executes(mut self, receipt: &Value, outcome: &Value) -> Self {
        self.shards[shard_of_receipt(receipt)]
            .outcomes
            .push(json!({ "execution_outcome": outcome, "receipt": receipt }));
        self
    }

    /// The name of its file
    pub(super) fn file_name(&self) -> String {
        let suffix = self.missing_chunk.map(|shard| format!("-without-chunk-{shard}"));
        self.name.clone() + &suffix.unwrap_or_default()
    }

    /// The name from which the block's hash is derived
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The height of the block
    pub(super) const fn height(&self) -> u64 {
        self.height
    }

    /// The text of the message
    pub(super) fn message(&self) -> String {
        let header = self.header();
        let chunk = |shard: usize| self.chunk_header(shard);
        let shards = self.shards.iter().enumerate().map(|(number, shard)| {
            let content = json!({
                "author": "validator.near",
                "header": chunk(number),
                "transactions": shard.transactions,
                "receipts": shard.receipts,
            });
            json!({
                "shard_id": number,
                "chunk": (self.missing_chunk != Some(number)).then_some(content),
                "receipt_execution_outcomes": shard.outcomes,
                "state_changes": [],
            })
        });
        let shards: Vec<Value> = shards.take(if self.is_partial { 1 } else { 2 }).collect();
        reversed(&json!({
            "block": { "author": "validator.near", "header": header, "chunks": [chunk(0), chunk(1)] },
            "shards": shards,
        }))
    }

    fn header(&self) -> Value {
        let named = |name: &str| match name {
            "" => "11111111111111111111111111111111".to_owned(),
            name => hash(name),
        };
        let root = |kind: &str| hash(&format!("{kind} of {}", self.name));
        // One block a second, from the first second of 2026 on.
        let time = (1_767_225_600 + self.height) * 1_000_000_000;
        json!({
            "height": self.height,
            "prev_height": self.previous.1,
            "epoch_id": hash(self.epoch),
            "next_epoch_id": hash("second epoch"),
            "hash": hash(&self.name),
            "prev_hash": named(&self.previous.0),
            "prev_state_root": root("state"),
            "block_body_hash": root("body"),
            "chunk_receipts_root": root("receipts"),
            "chunk_headers_root": root("chunk headers"),
            "chunk_tx_root": root("transactions"),
            "outcome_root": root("outcomes"),
            "chunks_included": 2,
            "challenges_root": "11111111111111111111111111111111",
            "timestamp": time,
            "timestamp_nanosec": time.to_string(),
            "random_value": root("randomness"),
            "validator_proposals": [],
            "chunk_mask": [true, true],
            "gas_price": "100000000",
            "block_ordinal": self.height - 99,
            "rent_paid": "0",
            "validator_reward": "0",
            "total_supply": "1000000000000000000000000000000000",
            "challenges_result": [],
            "last_final_block": named(&self.last_final),
            "last_ds_final_block": named(&self.last_near_final),
            "next_bp_hash": root("producers"),
            "block_merkle_root": root("blocks"),
            "epoch_sync_data_hash": null,
            "approvals": [null],
            "signature": "ed25519:1111111111111111111111111111111111111111111111111111111111111111",
            "latest_protocol_version": 85,
            "chunk_endorsements": [[1], [1]],
        })
    }

    fn chunk_header(&self, shard: usize) -> Value {
        let root = |kind: &str| hash(&format!("{kind} of shard {shard} of {}", self.name));
        json!({
            "chunk_hash": root("chunk"),
            "prev_block_hash": hash(&self.previous.0),
            "outcome_root": root("outcomes"),
            "prev_state_root": root("state"),
            "encoded_merkle_root": root("parts"),
            "encoded_length": 364,
            "height_created": self.height,
            "height_included": self.height,
            "shard_id": shard,
            "gas_used": 0,
            "gas_limit": 1_000_000_000_000_000_u64,
            "rent_paid": "0",
            "validator_reward": "0",
            "balance_burnt": "0",
            "outgoing_receipts_root": root("receipts"),
            "tx_root": root("transactions"),
            "validator_proposals": [],
            "congestion_info": {
                "delayed_receipts_gas": "0",
                "buffered_receipts_gas": "0",
                "receipt_bytes": 0,
                "allowed_shard": shard,
            },
            "bandwidth_requests": { "V1": { "requests": [] } },
            "signature": "ed25519:1111111111111111111111111111111111111111111111111111111111111111",
        })
    }
}

fn shard_of(account: &str) -> usize {
    usize::from(account != "alice.near")
}

fn shard_of_receipt(receipt: &Value) -> usize {
    shard_of(receipt["receiver_id"].as_str().unwrap_or_default())
}
