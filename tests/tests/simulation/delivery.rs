//! The order in which blocks are imported, and the requests about their transactions.
//!
//! A practice chain delivers blocks in order of creation. Here some blocks of abandoned forks are
//! delayed, until their fork may have been pruned, and some old blocks are delivered again.

use std::collections::HashMap;

use milepost::codec::base64;
use milepost::primitives::CryptoHash;
use milepost::status::Milestone;
use milepost::transaction::SignedTransaction;
use milepost_practice::{BlockMessage, Practice};
use milepost_testkit::Rng;
use serde_json::{Value, json};

/// The maximum delay of a fork block, in blocks
const MAX_DELAY: u64 = 15;

/// A status request about a transaction
#[derive(Clone, Debug)]
pub(crate) struct StatusCall {
    pub(crate) hash: String,
    pub(crate) signer: String,
    pub(crate) signed: Vec<u8>,
    pub(crate) method: &'static str,
    /// Names the transaction by its bytes and not by its hash
    pub(crate) by_bytes: bool,
    /// The hash of its base block
    pub(crate) base: String,
}

/// A transaction of the chain, the blocks that include it, and whether all are on abandoned forks
pub(crate) struct ObservedTransaction {
    pub(crate) call: StatusCall,
    /// Index of the first block that includes it
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) abandoned: bool,
}

impl StatusCall {
    pub(crate) fn with_receipts(&self) -> bool {
        self.method != "tx"
    }

    pub(crate) fn request(&self, wait_until: Milestone, id: &Value) -> Value {
        let params = if self.by_bytes {
            let mut signed = String::new();
            base64::encode(&self.signed, &mut signed);
            json!({ "signed_tx_base64": signed, "wait_until": wait_until.name() })
        } else {
            json!({
                "tx_hash": self.hash,
                "sender_account_id": self.signer,
                "wait_until": wait_until.name(),
            })
        };
        json!({ "jsonrpc": "2.0", "id": id, "method": self.method, "params": params })
    }
}

/// The first `count` blocks of a chain, parents before children, with some repeated
pub(crate) fn messages(practice: &mut Practice, count: usize, rng: &mut Rng) -> Vec<BlockMessage> {
    let mut positions: HashMap<CryptoHash, u64> = HashMap::new();
    let mut queue: Vec<(u64, BlockMessage)> = Vec::new();
    for number in 0..count as u64 {
        let message = practice.next_message();
        let delayed = message.abandoned && rng.one_in(4);
        let earliest = number + if delayed { rng.below(MAX_DELAY) } else { 0 };
        let position_of = |hash| positions.get(hash).copied().unwrap_or_default();
        let position =
            earliest.max(position_of(&message.prev_hash)).max(position_of(&message.hash));
        positions.insert(message.hash, position);
        queue.push((position, message));
    }
    queue.sort_by_key(|(position, _)| *position);
    let mut delivered: Vec<BlockMessage> = Vec::new();
    for (_, message) in queue {
        delivered.push(message);
        if rng.one_in(25) {
            let old = rng.below(delivered.len() as u64) as usize;
            delivered.push(delivered[old].clone());
        }
    }
    delivered
}

/// The transactions of the blocks, in the order of their first block
pub(crate) fn observed_transactions(
    messages: &[BlockMessage],
    rng: &mut Rng,
) -> Vec<ObservedTransaction> {
    let mut transactions: Vec<ObservedTransaction> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        for transaction in &message.transactions {
            let hash = transaction.hash.to_string();
            if let Some(known) = transactions.iter_mut().find(|known| known.call.hash == hash) {
                known.last = number;
                known.abandoned &= message.abandoned;
                continue;
            }
            let signed = SignedTransaction::decode(&transaction.signed).expect("a transaction");
            let call = StatusCall {
                hash,
                base: signed.transaction().block_hash.to_string(),
                signer: transaction.signer_id.to_string(),
                signed: transaction.signed.clone(),
                method: ["EXPERIMENTAL_tx_status", "EXPERIMENTAL_tx_status", "tx", "tx_status"]
                    [rng.below(4) as usize],
                by_bytes: rng.one_in(5),
            };
            let abandoned = message.abandoned;
            transactions.push(ObservedTransaction { call, first: number, last: number, abandoned });
        }
    }
    transactions
}
