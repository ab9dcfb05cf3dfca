//! A chain of blocks: its head, its receipts in progress, and the production of the next block.
//!
//! A clone of a chain is a fork of it. Finality follows the header rule of the protocol, so it
//! advances only over blocks of consecutive heights.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, CryptoHash};
use serde_json::{Value, json};

use crate::Settings;
use crate::accounts::{self, Accounts};
use crate::execution::{BlockContext, GAS_PRICE};
use crate::merkle;
use crate::receipt_queues::{self, BlockInput, ReceiptQueues, ShardResult};
use crate::transaction::Transaction;

/// Number of approvals of the previous block in a header
const APPROVALS: u64 = 5;

/// What all blocks of a chain have in common
#[derive(Debug)]
pub(crate) struct ChainParameters {
    pub(crate) settings: Settings,
    pub(crate) accounts: Accounts,
    pub(crate) boundaries: Vec<String>,
}

impl ChainParameters {
    /// The shard of an account
    pub(crate) fn shard_of(&self, account_id: &AccountId) -> usize {
        receipt_queues::shard_of(&self.boundaries, account_id)
    }
}

/// A chain of blocks
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub(crate) head: Head,
    pub(crate) queues: ReceiptQueues,
}

/// The last block of a chain
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) height: u64,
    pub(crate) hash: CryptoHash,
    pub(crate) prev_hash: CryptoHash,
    pub(crate) last_final: CryptoHash,
    pub(crate) last_ds_final: CryptoHash,
    /// Nanoseconds since 1970
    pub(crate) time: u64,
    /// Number of blocks up to this one
    pub(crate) ordinal: u64,
    epoch: u64,
    epoch_start: u64,
    epoch_id: CryptoHash,
    next_epoch_id: CryptoHash,
    /// Per shard, the root of the outcomes of this block, which is in the header of the next one
    outcome_roots: Vec<CryptoHash>,
    /// Per shard, the newest chunk header
    chunk_headers: Vec<Value>,
    /// Per shard, gas burnt in this block
    gas_used: Vec<u64>,
}

/// The content of the next block
#[derive(Debug)]
pub(crate) struct BlockProposal {
    pub(crate) height: u64,
    pub(crate) time: u64,
    /// Per shard, whether it has a new chunk
    pub(crate) chunk_mask: Vec<bool>,
    pub(crate) transactions: Vec<Transaction>,
    /// Makes the hash of the block unique
    pub(crate) salt: u64,
}

impl Chain {
    /// A chain without blocks
    pub(crate) fn new(settings: &Settings) -> Self {
        let epoch = |number| {
            CryptoHash::digest(format!("epoch {number}, seed {}", settings.seed).as_bytes())
        };
        let shards = settings.shard_count();
        let head = Head {
            height: 0,
            hash: CryptoHash::ZERO,
            prev_hash: CryptoHash::ZERO,
            last_final: CryptoHash::ZERO,
            last_ds_final: CryptoHash::ZERO,
            time: settings.genesis_time,
            ordinal: 0,
            epoch: 0,
            epoch_start: settings.genesis_height,
            epoch_id: epoch(0),
            next_epoch_id: epoch(1),
            outcome_roots: vec![CryptoHash::ZERO; shards],
            chunk_headers: vec![Value::Null; shards],
            gas_used: vec![0; shards],
        };
        Self { head, queues: ReceiptQueues::default() }
    }

    /// Appends the next block and returns its message
    pub(crate) fn extend(
        &mut self,
        parameters: &ChainParameters,
        proposal: BlockProposal,
    ) -> Vec<u8> {
        let parent = &self.head;
        let BlockProposal { height, time, chunk_mask, transactions, salt } = proposal;
        let hash = block_hash(parent, height, time, salt, &transactions);
        let consecutive = height == parent.height + 1;
        let approved = consecutive && parent.last_ds_final == parent.prev_hash;
        let new_epoch =
            height >= parent.epoch_start.saturating_add(parameters.settings.epoch_length);
        let mut head = Head {
            height,
            hash,
            prev_hash: parent.hash,
            last_final: if approved { parent.prev_hash } else { parent.last_final },
            last_ds_final: if consecutive { parent.hash } else { parent.last_ds_final },
            time,
            ordinal: parent.ordinal + 1,
            ..parent.clone()
        };
        if new_epoch {
            head.epoch += 1;
            head.epoch_start = height;
            head.epoch_id = parent.next_epoch_id;
            head.next_epoch_id = parent.hash;
        }
        let context = BlockContext {
            height,
            block_hash: hash,
            names_contracts: head.epoch >= parameters.settings.upgrade_epoch,
            delays: parameters.settings.delays,
        };
        let block = BlockInput {
            ordinal: head.ordinal,
            context,
            chunk_mask: &chunk_mask,
            boundaries: &parameters.boundaries,
        };
        let results = self.queues.run(block, transactions);
        for (shard, result) in results.iter().enumerate().filter(|(shard, _)| chunk_mask[*shard]) {
            head.chunk_headers[shard] =
                chunk_header(parent, &head, shard, &result.transaction_hashes);
        }
        let header = header(parameters, parent, &head, &chunk_mask);
        let mut text = format!(
            r#"{{"block":{{"author":"{}","header":{header},"chunks":{}}},"shards":["#,
            parameters.accounts.validator(height),
            json!(head.chunk_headers),
        );
        for (shard, result) in results.into_iter().enumerate() {
            if shard > 0 {
                text.push(',');
            }
            head.gas_used[shard] = gas_used(&result);
            let author = parameters.accounts.validator(height + 1 + shard as u64);
            let chunk = chunk_mask[shard]
                .then(|| (author.to_string(), head.chunk_headers[shard].to_string()));
            head.outcome_roots[shard] = write_shard(&mut text, shard, chunk, &result, hash);
        }
        text.push_str("]}");
        self.head = head;
        text.into_bytes()
    }
}

/// Gas that the outcomes of a shard burnt
fn gas_used(result: &ShardResult) -> u64 {
    let transactions = result.transactions.iter().filter_map(|(_, outcome)| outcome.as_ref());
    let receipts = result.executed.iter().map(|executed| &executed.outcome);
    transactions.chain(receipts).map(|outcome| outcome.gas_burnt).sum()
}

/// SHA-256 of the fields that distinguish blocks
fn block_hash(
    parent: &Head,
    height: u64,
    time: u64,
    salt: u64,
    transactions: &[Transaction],
) -> CryptoHash {
    let mut bytes = parent.hash.as_bytes().to_vec();
    for number in [height, time, salt] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for hash in
        parent.outcome_roots.iter().chain(transactions.iter().map(|transaction| &transaction.hash))
    {
        bytes.extend_from_slice(hash.as_bytes());
    }
    CryptoHash::digest(&bytes)
}

/// A placeholder for the root of data that a practice chain does not have
fn root(label: &str, block_hash: CryptoHash, shard: usize) -> CryptoHash {
    CryptoHash::digest(format!("{label} {block_hash} {shard}").as_bytes())
}

fn header(parameters: &ChainParameters, parent: &Head, head: &Head, chunk_mask: &[bool]) -> Value {
    let hash = head.hash;
    let approvals: Value = (0..APPROVALS)
        // Some approvals are missing.
        .map(|index| {
            (!(head.height + index).is_multiple_of(7))
                .then(|| accounts::placeholder_signature(hash, &format!("approval {index}")))
        })
        .map(|approval| json!(approval))
        .collect();
    json!({
        "height": head.height,
        "prev_height": parent.height,
        "epoch_id": head.epoch_id,
        "next_epoch_id": head.next_epoch_id,
        "hash": hash,
        "prev_hash": head.prev_hash,
        "prev_state_root": root("state", head.prev_hash, 0),
        "block_body_hash": root("body", hash, 0),
        "chunk_receipts_root": root("receipts", hash, 0),
        "chunk_headers_root": root("headers", hash, 0),
        "chunk_tx_root": root("transactions", hash, 0),
        "outcome_root": merkle::tree(&parent.outcome_roots).0,
        "chunks_included": chunk_mask.iter().filter(|chunk_mask| **chunk_mask).count(),
        "challenges_root": CryptoHash::ZERO,
        "timestamp": head.time,
        "timestamp_nanosec": head.time.to_string(),
        "random_value": root("random", hash, 0),
        "validator_proposals": [],
        "chunk_mask": chunk_mask,
        "gas_price": GAS_PRICE.to_string(),
        "block_ordinal": head.ordinal,
        "rent_paid": "0",
        "validator_reward": "0",
        "total_supply": "1000000000000000000000000000000000",
        "challenges_result": [],
        "last_final_block": head.last_final,
        "last_ds_final_block": head.last_ds_final,
        "next_bp_hash": root("producers", head.next_epoch_id, 0),
        "block_merkle_root": root("blocks", hash, 0),
        "epoch_sync_data_hash": null,
        "approvals": approvals,
        "signature": accounts::placeholder_signature(hash, "block"),
        "latest_protocol_version": parameters.settings.protocol_version_of(head.epoch),
        "chunk_endorsements": chunk_mask.iter().map(|_| vec![31_u8]).collect::<Vec<_>>(),
        "shard_split": null,
    })
}

fn chunk_header(parent: &Head, head: &Head, shard: usize, transactions: &[CryptoHash]) -> Value {
    let chunk_hash = root("chunk", head.hash, shard);
    let burnt = u128::from(parent.gas_used[shard]) * GAS_PRICE;
    json!({
        "chunk_hash": chunk_hash,
        "prev_block_hash": head.prev_hash,
        "outcome_root": parent.outcome_roots[shard],
        "prev_state_root": root("state", head.prev_hash, shard),
        "encoded_merkle_root": root("encoded", head.hash, shard),
        "encoded_length": 8 + 200 * transactions.len(),
        "height_created": head.height,
        "height_included": head.height,
        "shard_id": shard,
        "gas_used": parent.gas_used[shard],
        "gas_limit": 1_000_000_000_000_000_u64,
        "rent_paid": "0",
        "validator_reward": "0",
        "balance_burnt": burnt.to_string(),
        "outgoing_receipts_root": root("outgoing", head.prev_hash, shard),
        "tx_root": merkle::tree(transactions).0,
        "validator_proposals": [],
        "congestion_info": {
            "delayed_receipts_gas": "0",
            "buffered_receipts_gas": "0",
            "receipt_bytes": 0,
            "allowed_shard": shard,
        },
        "bandwidth_requests": { "V1": { "requests": [] } },
        "signature": accounts::placeholder_signature(chunk_hash, "chunk"),
    })
}

/// Appends the JSON of a shard; returns the root of its outcomes
fn write_shard(
    text: &mut String,
    shard: usize,
    chunk: Option<(String, String)>,
    result: &ShardResult,
    block_hash: CryptoHash,
) -> CryptoHash {
    let transactions = result.transactions.iter().filter_map(|(_, outcome)| outcome.as_ref());
    let outcomes = transactions.chain(result.executed.iter().map(|executed| &executed.outcome));
    let leaves: Vec<_> = outcomes.map(|outcome| outcome.leaf()).collect();
    let (root, proofs) = merkle::tree(&leaves);
    let mut proofs = proofs.into_iter();
    // One proof per outcome, in the order of the leaves.
    let mut proof = || proofs.next().unwrap_or_default();

    text.push_str(&format!(r#"{{"shard_id":{shard},"chunk":"#));
    match chunk {
        Some((author, header)) => {
            text.push_str(&format!(r#"{{"author":"{author}","header":{header},"transactions":"#));
            write_array(text, result.transactions.iter(), |text, (view, outcome)| {
                let outcome = match outcome {
                    Some(outcome) => {
                        let view = outcome.view(block_hash, &proof());
                        format!(r#"{{"execution_outcome":{view},"receipt":null}}"#)
                    }
                    None => "null".into(),
                };
                text.push_str(&format!(r#"{{"transaction":{view},"outcome":{outcome}}}"#));
            });
            text.push_str(r#","receipts":"#);
            write_array(text, result.received.iter(), |text, receipt| text.push_str(receipt));
            text.push_str(r#","local_receipts":"#);
            write_array(text, result.local.iter(), |text, receipt| text.push_str(receipt));
            text.push('}');
        }
        None => text.push_str("null"),
    }
    text.push_str(r#","receipt_execution_outcomes":"#);
    write_array(text, result.executed.iter(), |text, executed| {
        let view = executed.outcome.view(block_hash, &proof());
        let receipt = executed.receipt.as_deref().unwrap_or("null");
        let tx_hash = executed.tx_hash;
        text.push_str(&format!(
            r#"{{"execution_outcome":{view},"receipt":{receipt},"tx_hash":"{tx_hash}"}}"#
        ));
    });
    text.push_str(r#","state_changes":[]}"#);
    root
}

/// Appends a JSON array
fn write_array<T>(
    text: &mut String,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    text.push('[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            text.push(',');
        }
        write(text, item);
    }
    text.push(']');
}
