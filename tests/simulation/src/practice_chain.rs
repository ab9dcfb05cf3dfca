//! Blocks of a practice chain, read from their messages, and the order in which they are imported.
//!
//! A practice chain delivers blocks in order of creation. Here some blocks of abandoned forks are
//! delayed, until their fork may have been pruned, and some old blocks are delivered again.

use std::collections::HashMap;
use std::rc::Rc;

use milepost::codec::base64;
use milepost::primitives::CryptoHash;
use milepost::transaction::SignedTransaction;
use milepost_practice::{BlockMessage, Practice};
use milepost_testkit::Rng;
use serde_json::Value;

use crate::block::{Block, Body, Content, Outcome, Signed, Status, Transaction};
use crate::hashes::{Hashes, Id};

/// The maximum delay of a fork block, in blocks
const MAX_DELAY: u64 = 15;

/// A transaction of the chain, the blocks that include it, and whether all are on abandoned forks
pub(crate) struct ObservedTransaction {
    pub(crate) transaction: Rc<Transaction>,
    /// Index of the first block that includes it, in the order of delivery
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) abandoned: bool,
}

/// The blocks of a chain in the order of their delivery, parents before children, with some
/// repeated
#[derive(Default)]
pub(crate) struct PracticeChain {
    pub(crate) hashes: Hashes,
    pub(crate) delivered: Vec<Rc<Block>>,
    /// In the order of their first block
    pub(crate) transactions: Vec<ObservedTransaction>,
    ids: HashMap<CryptoHash, Id>,
}

impl PracticeChain {
    /// The first `count` blocks, which include some transactions again `with_doubles`
    pub(crate) fn new(
        practice: &mut Practice,
        count: usize,
        with_doubles: bool,
        rng: &mut Rng,
    ) -> Self {
        let mut chain = Self::default();
        for message in deliver(practice, count, with_doubles, rng) {
            chain.add(&message);
        }
        chain
    }

    fn add(&mut self, message: &BlockMessage) {
        let id = self.id(message.hash);
        let known = self.delivered.iter().find(|block| block.id == id).cloned();
        let block = known.unwrap_or_else(|| Rc::new(self.read(id, message)));
        let (now, abandoned) = (self.delivered.len(), message.abandoned);
        for (transaction, _) in &block.content.included {
            match self.transactions.iter_mut().find(|it| it.transaction.id == transaction.id) {
                Some(known) => {
                    known.last = now;
                    known.abandoned &= abandoned;
                }
                None => self.transactions.push(ObservedTransaction {
                    transaction: Rc::clone(transaction),
                    first: now,
                    last: now,
                    abandoned,
                }),
            }
        }
        self.delivered.push(block);
    }

    fn id(&mut self, hash: CryptoHash) -> Id {
        *self.ids.entry(hash).or_insert_with(|| self.hashes.add(hash))
    }

    fn id_of(&mut self, hash: &Value) -> Id {
        let hash = text(hash).parse().expect("a hash");
        self.id(hash)
    }

    /// The number of a block that was read
    fn number(&mut self, hash: &Value) -> Option<usize> {
        let id = self.id_of(hash);
        self.delivered.iter().find(|block| block.id == id).map(|block| block.number)
    }

    fn read(&mut self, id: Id, message: &BlockMessage) -> Block {
        let json: Value = serde_json::from_slice(&message.json).expect("a message in JSON");
        let header = &json["block"]["header"];
        let mut content = Content::default();
        for shard in items(&json["shards"]) {
            let chunk = &shard["chunk"];
            for included in items(&chunk["transactions"]) {
                let transaction = self.transaction(&included["transaction"], message);
                // The first of two in a chunk counts.
                if content.includes(transaction.id) {
                    continue;
                }
                let outcome = &included["outcome"]["execution_outcome"];
                content.included.push((Rc::new(transaction), self.outcome(outcome)));
            }
            let bodies = items(&chunk["receipts"]).chain(items(&chunk["local_receipts"]));
            content.arrived.extend(bodies.filter_map(|body| self.body(body)));
            for executed in items(&shard["receipt_execution_outcomes"]) {
                let outcome = self.outcome(&executed["execution_outcome"]).expect("an outcome");
                content.executed.push((outcome, self.body(&executed["receipt"])));
            }
        }
        Block {
            number: self.delivered.len(),
            id,
            height: message.height,
            parent: self.number(&header["prev_hash"]),
            last_final: self.number(&header["last_final_block"]),
            near_final: self.number(&header["last_ds_final_block"]),
            epoch: Some(self.id_of(&header["epoch_id"])),
            content,
            message: message.json.clone(),
        }
    }

    fn transaction(&mut self, json: &Value, message: &BlockMessage) -> Transaction {
        let id = self.id_of(&json["hash"]);
        let mut all = message.transactions.iter();
        let signed = all.find(|it| it.hash == self.hashes.hash(id)).expect("it is signed");
        let decoded = SignedTransaction::decode(&signed.signed).expect("a transaction");
        let base = Some(self.id(decoded.transaction().block_hash));
        let mut text = String::new();
        base64::encode(&signed.signed, &mut text);
        Transaction {
            id,
            signer: signed.signer_id.to_string(),
            signer_is_receiver: json["signer_id"] == json["receiver_id"],
            text: json.to_string(),
            signed: Some(Signed { text, invalid: String::new(), base }),
        }
    }

    fn outcome(&mut self, json: &Value) -> Option<Rc<Outcome>> {
        let outcome = json.get("outcome")?;
        let status = &outcome["status"];
        let next = status.get("SuccessReceiptId").map(|next| Status::Receipt(self.id_of(next)));
        let value = status.get("SuccessValue").map(|_| Status::Value);
        let failure = status.get("Failure").map(|_| Status::Failure);
        Some(Rc::new(Outcome {
            id: self.id_of(&json["id"]),
            status: next.or(value).or(failure).unwrap_or(Status::Unknown),
            status_text: status.to_string(),
            receipts: items(&outcome["receipt_ids"]).map(|id| self.id_of(id)).collect(),
            text: json.to_string(),
        }))
    }

    fn body(&mut self, json: &Value) -> Option<Rc<Body>> {
        let id = self.id_of(json.get("receipt_id")?);
        Some(Rc::new(Body {
            id,
            refund: json["predecessor_id"] == "system",
            text: json.to_string(),
        }))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn deliver(
    practice: &mut Practice,
    count: usize,
    with_doubles: bool,
    rng: &mut Rng,
) -> Vec<BlockMessage> {
    let mut positions: HashMap<CryptoHash, u64> = HashMap::new();
    let mut queue: Vec<(u64, BlockMessage)> = Vec::new();
    for number in 0..count as u64 {
        let message = practice.next_message();
        if with_doubles {
            let signed = practice.recent().nth(rng.below(30) as usize).map(|it| it.signed.clone());
            let submitted = signed.map(|signed| match rng.one_in(3) {
                true => practice.submit_refused(&signed),
                false => practice.submit(&signed),
            });
            submitted.transpose().expect("a transaction");
        }
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
