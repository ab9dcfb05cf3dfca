//! What is delivered, in which order, and what will be asked about it.
//!
//! A practice chain delivers forks as they grow. Here some blocks of lost forks come in later than
//! that, when their fork may be forgotten already, and some old messages come in once more.

use std::collections::HashMap;

use milepost::codec::base64;
use milepost::primitives::CryptoHash;
use milepost::status::Milestone;
use milepost_practice::{BlockMessage, Practice};
use milepost_testkit::Rng;
use serde_json::{Value, json};

/// The most messages by which a block of a fork comes too late
const LATEST: u64 = 15;

/// A transaction to ask about, and how
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) hash: String,
    pub(crate) signer: String,
    pub(crate) signed: Vec<u8>,
    pub(crate) method: &'static str,
    /// By the signed transaction, not by its hash
    pub(crate) by_bytes: bool,
}

/// A transaction of the chain: when it comes in, and whether only on forks that are abandoned
pub(crate) struct Sighting {
    pub(crate) asked: Asked,
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) lost: bool,
}

impl Asked {
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

/// So many messages of the chain, parents before children, and old ones between them
pub(crate) fn messages(practice: &mut Practice, count: usize, rng: &mut Rng) -> Vec<BlockMessage> {
    let mut turns: HashMap<CryptoHash, u64> = HashMap::new();
    let mut queue: Vec<(u64, BlockMessage)> = Vec::new();
    for number in 0..count as u64 {
        let message = practice.next_message();
        let late = message.abandoned && rng.one_in(4);
        let wanted = number + if late { rng.below(LATEST) } else { 0 };
        let turn_of = |hash| turns.get(hash).copied().unwrap_or_default();
        let turn = wanted.max(turn_of(&message.prev_hash)).max(turn_of(&message.hash));
        turns.insert(message.hash, turn);
        queue.push((turn, message));
    }
    queue.sort_by_key(|(turn, _)| *turn);
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

/// Every transaction of the messages, in the order in which they come in
pub(crate) fn sightings(messages: &[BlockMessage], rng: &mut Rng) -> Vec<Sighting> {
    let mut sightings: Vec<Sighting> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        for transaction in &message.transactions {
            let hash = transaction.hash.to_string();
            if let Some(known) = sightings.iter_mut().find(|known| known.asked.hash == hash) {
                known.last = number;
                known.lost &= message.abandoned;
                continue;
            }
            let asked = Asked {
                hash,
                signer: transaction.signer_id.to_string(),
                signed: transaction.signed.clone(),
                method: ["EXPERIMENTAL_tx_status", "EXPERIMENTAL_tx_status", "tx", "tx_status"]
                    [rng.below(4) as usize],
                by_bytes: rng.one_in(5),
            };
            let lost = message.abandoned;
            sightings.push(Sighting { asked, first: number, last: number, lost });
        }
    }
    sightings
}
