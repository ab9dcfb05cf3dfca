//! One chain of blocks: its tip, what is under way on it, and how the next block is made.
//!
//! Cloning a ledger gives a rival that goes its own way from there. Finality follows the header
//! rule of the protocol, so it advances only over blocks of consecutive heights.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use milepost::primitives::{AccountId, CryptoHash};
use serde_json::{Value, json};

use crate::Settings;
use crate::cast::{self, Cast};
use crate::execution::{GAS_PRICE, Place};
use crate::merkle;
use crate::queues::{self, Block, Queues, Work};
use crate::transaction::Transaction;

/// Signatures of the block before that a header shows
const APPROVALS: u64 = 5;

/// What does not change while the chain grows
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) settings: Settings,
    pub(crate) cast: Cast,
    pub(crate) boundaries: Vec<String>,
}

impl World {
    /// The shard of an account
    pub(crate) fn shard_of(&self, account_id: &AccountId) -> usize {
        queues::shard_of(&self.boundaries, account_id)
    }
}

/// A chain of blocks
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub(crate) tip: Tip,
    pub(crate) queues: Queues,
}

/// The last block of a chain
#[derive(Clone, Debug)]
pub(crate) struct Tip {
    pub(crate) height: u64,
    pub(crate) hash: CryptoHash,
    pub(crate) prev_hash: CryptoHash,
    pub(crate) last_final: CryptoHash,
    pub(crate) last_ds_final: CryptoHash,
    /// Nanoseconds since 1970
    pub(crate) time: u64,
    /// How many blocks came before the next one
    pub(crate) ordinal: u64,
    epoch: u64,
    epoch_start: u64,
    epoch_id: CryptoHash,
    next_epoch_id: CryptoHash,
    /// Per shard, over the outcomes of this block: headers show it one block later
    outcome_roots: Vec<CryptoHash>,
    /// Per shard, as this block shows it
    chunk_headers: Vec<Value>,
    /// Per shard, gas burnt in this block
    gas_used: Vec<u64>,
}

/// What the next block is made of
#[derive(Debug)]
pub(crate) struct Proposal {
    pub(crate) height: u64,
    pub(crate) time: u64,
    /// Per shard, whether it has a new chunk
    pub(crate) present: Vec<bool>,
    pub(crate) transactions: Vec<Transaction>,
    /// Makes the block differ from every other one
    pub(crate) salt: u64,
}

impl Ledger {
    /// A chain without blocks
    pub(crate) fn new(settings: &Settings) -> Self {
        let epoch = |number| {
            CryptoHash::digest(format!("epoch {number}, seed {}", settings.seed).as_bytes())
        };
        let shards = settings.shard_count();
        let tip = Tip {
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
        Self { tip, queues: Queues::default() }
    }

    /// Makes the next block and gives its message
    pub(crate) fn extend(&mut self, world: &World, proposal: Proposal) -> Vec<u8> {
        let parent = &self.tip;
        let Proposal { height, time, present, transactions, salt } = proposal;
        let hash = block_hash(parent, height, time, salt, &transactions);
        let consecutive = height == parent.height + 1;
        let approved = consecutive && parent.last_ds_final == parent.prev_hash;
        let new_epoch = height >= parent.epoch_start.saturating_add(world.settings.epoch_length);
        let mut tip = Tip {
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
            tip.epoch += 1;
            tip.epoch_start = height;
            tip.epoch_id = parent.next_epoch_id;
            tip.next_epoch_id = parent.hash;
        }
        let place = Place {
            height,
            block_hash: hash,
            names_contracts: tip.epoch >= world.settings.upgrade_epoch,
            delays: world.settings.delays,
        };
        let block =
            Block { ordinal: tip.ordinal, place, present: &present, boundaries: &world.boundaries };
        let work = self.queues.run(block, transactions);
        for (shard, work) in work.iter().enumerate().filter(|(shard, _)| present[*shard]) {
            tip.chunk_headers[shard] = chunk_header(parent, &tip, shard, &work.hashes);
        }
        let header = header(world, parent, &tip, &present);
        let mut text = format!(
            r#"{{"block":{{"author":"{}","header":{header},"chunks":{}}},"shards":["#,
            world.cast.validator(height),
            json!(tip.chunk_headers),
        );
        for (shard, work) in work.into_iter().enumerate() {
            if shard > 0 {
                text.push(',');
            }
            tip.gas_used[shard] = gas_used(&work);
            let author = world.cast.validator(height + 1 + shard as u64);
            let chunk =
                present[shard].then(|| (author.to_string(), tip.chunk_headers[shard].to_string()));
            tip.outcome_roots[shard] = write_shard(&mut text, shard, chunk, &work, hash);
        }
        text.push_str("]}");
        self.tip = tip;
        text.into_bytes()
    }
}

/// Gas that the outcomes of a shard burnt
fn gas_used(work: &Work) -> u64 {
    let transactions = work.transactions.iter().filter_map(|(_, outcome)| outcome.as_ref());
    let receipts = work.done.iter().map(|done| &done.outcome);
    transactions.chain(receipts).map(|outcome| outcome.gas_burnt).sum()
}

/// SHA-256 over all that tells a block from every other one
fn block_hash(
    parent: &Tip,
    height: u64,
    time: u64,
    salt: u64,
    transactions: &[Transaction],
) -> CryptoHash {
    let mut bytes = parent.hash.as_bytes().to_vec();
    for number in [height, time, salt] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for hash in parent.outcome_roots.iter().chain(transactions.iter().map(|one| &one.hash)) {
        bytes.extend_from_slice(hash.as_bytes());
    }
    CryptoHash::digest(&bytes)
}

/// A root of something that a practice chain does not keep, told from others by its label
fn root(label: &str, block_hash: CryptoHash, shard: usize) -> CryptoHash {
    CryptoHash::digest(format!("{label} {block_hash} {shard}").as_bytes())
}

fn header(world: &World, parent: &Tip, tip: &Tip, present: &[bool]) -> Value {
    let hash = tip.hash;
    let approvals: Value = (0..APPROVALS)
        // Now and then one of them is missing.
        .map(|one| {
            (!(tip.height + one).is_multiple_of(7))
                .then(|| cast::seal(hash, &format!("approval {one}")))
        })
        .map(|approval| json!(approval))
        .collect();
    json!({
        "height": tip.height,
        "prev_height": parent.height,
        "epoch_id": tip.epoch_id,
        "next_epoch_id": tip.next_epoch_id,
        "hash": hash,
        "prev_hash": tip.prev_hash,
        "prev_state_root": root("state", tip.prev_hash, 0),
        "block_body_hash": root("body", hash, 0),
        "chunk_receipts_root": root("receipts", hash, 0),
        "chunk_headers_root": root("headers", hash, 0),
        "chunk_tx_root": root("transactions", hash, 0),
        "outcome_root": merkle::tree(&parent.outcome_roots).0,
        "chunks_included": present.iter().filter(|present| **present).count(),
        "challenges_root": CryptoHash::ZERO,
        "timestamp": tip.time,
        "timestamp_nanosec": tip.time.to_string(),
        "random_value": root("random", hash, 0),
        "validator_proposals": [],
        "chunk_mask": present,
        "gas_price": GAS_PRICE.to_string(),
        "block_ordinal": tip.ordinal,
        "rent_paid": "0",
        "validator_reward": "0",
        "total_supply": "1000000000000000000000000000000000",
        "challenges_result": [],
        "last_final_block": tip.last_final,
        "last_ds_final_block": tip.last_ds_final,
        "next_bp_hash": root("producers", tip.next_epoch_id, 0),
        "block_merkle_root": root("blocks", hash, 0),
        "epoch_sync_data_hash": null,
        "approvals": approvals,
        "signature": cast::seal(hash, "block"),
        "latest_protocol_version": world.settings.protocol_version_of(tip.epoch),
        "chunk_endorsements": present.iter().map(|_| vec![31_u8]).collect::<Vec<_>>(),
        "shard_split": null,
    })
}

fn chunk_header(parent: &Tip, tip: &Tip, shard: usize, transactions: &[CryptoHash]) -> Value {
    let chunk_hash = root("chunk", tip.hash, shard);
    let burnt = u128::from(parent.gas_used[shard]) * GAS_PRICE;
    json!({
        "chunk_hash": chunk_hash,
        "prev_block_hash": tip.prev_hash,
        "outcome_root": parent.outcome_roots[shard],
        "prev_state_root": root("state", tip.prev_hash, shard),
        "encoded_merkle_root": root("encoded", tip.hash, shard),
        "encoded_length": 8 + 200 * transactions.len(),
        "height_created": tip.height,
        "height_included": tip.height,
        "shard_id": shard,
        "gas_used": parent.gas_used[shard],
        "gas_limit": 1_000_000_000_000_000_u64,
        "rent_paid": "0",
        "validator_reward": "0",
        "balance_burnt": burnt.to_string(),
        "outgoing_receipts_root": root("outgoing", tip.prev_hash, shard),
        "tx_root": merkle::tree(transactions).0,
        "validator_proposals": [],
        "congestion_info": {
            "delayed_receipts_gas": "0",
            "buffered_receipts_gas": "0",
            "receipt_bytes": 0,
            "allowed_shard": shard,
        },
        "bandwidth_requests": { "V1": { "requests": [] } },
        "signature": cast::seal(chunk_hash, "chunk"),
    })
}

/// Appends what a shard did; gives the root over its outcomes
fn write_shard(
    text: &mut String,
    shard: usize,
    chunk: Option<(String, String)>,
    work: &Work,
    block_hash: CryptoHash,
) -> CryptoHash {
    let transactions = work.transactions.iter().filter_map(|(_, outcome)| outcome.as_ref());
    let outcomes = transactions.chain(work.done.iter().map(|done| &done.outcome));
    let leaves: Vec<_> = outcomes.map(|outcome| outcome.leaf()).collect();
    let (root, proofs) = merkle::tree(&leaves);
    let mut proofs = proofs.into_iter();
    // There is a proof for every outcome, in the order of the leaves.
    let mut proof = || proofs.next().unwrap_or_default();

    text.push_str(&format!(r#"{{"shard_id":{shard},"chunk":"#));
    match chunk {
        Some((author, header)) => {
            text.push_str(&format!(r#"{{"author":"{author}","header":{header},"transactions":"#));
            list(text, work.transactions.iter(), |text, (view, outcome)| {
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
            list(text, work.received.iter(), |text, receipt| text.push_str(receipt));
            text.push_str(r#","local_receipts":"#);
            list(text, work.local.iter(), |text, receipt| text.push_str(receipt));
            text.push('}');
        }
        None => text.push_str("null"),
    }
    text.push_str(r#","receipt_execution_outcomes":"#);
    list(text, work.done.iter(), |text, done| {
        let view = done.outcome.view(block_hash, &proof());
        let receipt = done.receipt.as_deref().unwrap_or("null");
        let tx_hash = done.tx_hash;
        text.push_str(&format!(
            r#"{{"execution_outcome":{view},"receipt":{receipt},"tx_hash":"{tx_hash}"}}"#
        ));
    });
    text.push_str(r#","state_changes":[]}"#);
    root
}

/// Appends a JSON array
fn list<T>(
    text: &mut String,
    these: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    text.push('[');
    for (place, this) in these.enumerate() {
        if place > 0 {
            text.push(',');
        }
        write(text, this);
    }
    text.push(']');
}
