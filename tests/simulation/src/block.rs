//! The model of a block, and its block message.
//!
//! Every transaction, outcome and receipt has the text that responses must contain: compact JSON
//! with sorted members. Messages are the smallest that import accepts; they lack what no response
//! has (roots, proofs, chunk headers).

use core::fmt::Write as _;
use std::rc::Rc;

use milepost::storage::rows::BlockPoint;

use crate::hashes::{Hashes, Id};

/// A transaction
pub(crate) struct Transaction {
    pub(crate) id: Id,
    pub(crate) signer: String,
    /// Its first receipt is local, and no response has the body of it
    pub(crate) signer_is_receiver: bool,
    pub(crate) text: String,
    pub(crate) signed: Option<Signed>,
}

/// A signed transaction in base64
#[derive(Clone)]
pub(crate) struct Signed {
    pub(crate) text: String,
    /// The same with an invalid signature; empty where no request has that
    pub(crate) invalid: String,
    /// Its base block, if that is a block of the run
    pub(crate) base: Option<Id>,
}

/// The status of an outcome
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Status {
    Unknown,
    Failure,
    Value,
    Receipt(Id),
}

/// The outcome of a transaction or a receipt in one block
pub(crate) struct Outcome {
    pub(crate) id: Id,
    pub(crate) status: Status,
    pub(crate) status_text: String,
    pub(crate) receipts: Vec<Id>,
    pub(crate) text: String,
}

/// The body of a receipt
pub(crate) struct Body {
    pub(crate) id: Id,
    pub(crate) refund: bool,
    pub(crate) text: String,
}

/// The content of a block
#[derive(Default)]
pub(crate) struct Content {
    /// Transactions, most of them with their outcome
    pub(crate) included: Vec<(Rc<Transaction>, Option<Rc<Outcome>>)>,
    /// Outcomes, most of them with the executed receipt
    pub(crate) executed: Vec<(Rc<Outcome>, Option<Rc<Body>>)>,
    /// Receipts that reach their shard
    pub(crate) arrived: Vec<Rc<Body>>,
}

/// A block; its number is its index in the list of all blocks
pub(crate) struct Block {
    pub(crate) number: usize,
    pub(crate) id: Id,
    pub(crate) height: u64,
    /// The number of its parent; the first block has none
    pub(crate) parent: Option<usize>,
    /// The numbers of the last final and the last nearly final block in its header
    pub(crate) last_final: Option<usize>,
    pub(crate) near_final: Option<usize>,
    /// Its epoch, if the blocks have more than one
    pub(crate) epoch: Option<Id>,
    pub(crate) content: Content,
    pub(crate) message: Vec<u8>,
}

impl Block {
    pub(crate) fn point(&self, hashes: &Hashes) -> BlockPoint {
        BlockPoint { height: self.height, hash: hashes.hash(self.id) }
    }
}

impl Content {
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &Rc<Outcome>> {
        let of_transactions = self.included.iter().filter_map(|(_, outcome)| outcome.as_ref());
        of_transactions.chain(self.executed.iter().map(|(outcome, _)| outcome))
    }

    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Rc<Body>> {
        self.arrived.iter().chain(self.executed.iter().filter_map(|(_, body)| body.as_ref()))
    }

    pub(crate) fn includes(&self, id: Id) -> bool {
        self.included.iter().any(|(transaction, _)| transaction.id == id)
    }

    pub(crate) fn has_outcome(&self, id: Id) -> bool {
        self.outcomes().any(|outcome| outcome.id == id)
    }
}

/// The header of a block
pub(crate) struct Header<'hashes> {
    pub(crate) height: u64,
    pub(crate) hash: &'hashes str,
    /// Hash and height of the parent
    pub(crate) parent: Option<(&'hashes str, u64)>,
    pub(crate) last_final: Option<&'hashes str>,
}

/// The hash of no block
const NO_BLOCK: &str = "11111111111111111111111111111111";

/// The message of a block, with its content on this many shards
pub(crate) fn message(header: &Header<'_>, content: &Content, shards: usize) -> Vec<u8> {
    let mut text = String::with_capacity(1024);
    let (parent, parent_height) = header.parent.unwrap_or((NO_BLOCK, 0));
    let last_final = header.last_final.unwrap_or(NO_BLOCK);
    let Header { height, hash, .. } = header;
    let _ = write!(
        text,
        r#"{{"block":{{"header":{{"height":{height},"hash":"{hash}","prev_hash":"{parent}","epoch_id":"{NO_BLOCK}","last_final_block":"{last_final}""#
    );
    if header.parent.is_some() {
        let _ = write!(text, r#","prev_height":{parent_height}"#);
    }
    text.push_str("}},\"shards\":[");
    for shard in 0..shards {
        if shard > 0 {
            text.push(',');
        }
        // Items are distributed by index, because shards make no difference to the engine.
        text.push_str("{\"chunk\":{\"transactions\":[");
        let mut separator = "";
        for (transaction, outcome) in on_shard(&content.included, shard, shards) {
            let _ = write!(text, r#"{separator}{{"transaction":{}"#, transaction.text);
            if let Some(outcome) = outcome {
                let _ = write!(text, r#","outcome":{{"execution_outcome":{}}}"#, outcome.text);
            }
            text.push('}');
            separator = ",";
        }
        for (list, name) in ["receipts", "local_receipts"].into_iter().enumerate() {
            let _ = write!(text, r#"],"{name}":["#);
            let mut separator = "";
            let bodies = on_shard(&content.arrived, shard, shards);
            for body in bodies.filter(|body| body.id.index() % 2 == list) {
                let _ = write!(text, "{separator}{}", body.text);
                separator = ",";
            }
        }
        text.push_str("]},\"receipt_execution_outcomes\":[");
        let mut separator = "";
        for (outcome, body) in on_shard(&content.executed, shard, shards) {
            let _ = write!(text, r#"{separator}{{"execution_outcome":{}"#, outcome.text);
            if let Some(body) = body {
                let _ = write!(text, r#","receipt":{}"#, body.text);
            }
            text.push('}');
            separator = ",";
        }
        text.push_str("]}");
    }
    text.push_str("]}");
    text.into_bytes()
}

/// The items of one of the shards
fn on_shard<T>(items: &[T], shard: usize, shards: usize) -> impl Iterator<Item = &T> {
    items.iter().skip(shard).step_by(shards)
}

impl Transaction {
    /// An unsigned transaction; `nonce` makes it unique
    pub(crate) fn new(id: Id, signer_is_receiver: bool, nonce: u64, hashes: &Hashes) -> Self {
        let signer = "alice.near".to_owned();
        let receiver = if signer_is_receiver { &signer } else { "bob.near" };
        let text = format!(
            r#"{{"actions":[],"hash":"{}","nonce":{nonce},"public_key":"{KEY}","receiver_id":"{receiver}","signature":"{SIGNATURE}","signer_id":"{signer}"}}"#,
            hashes.text(id)
        );
        Self { id, signer, signer_is_receiver, text, signed: None }
    }
}

impl Outcome {
    /// An outcome in this block; `gas` makes it differ from those on other forks
    pub(crate) fn new(
        id: Id,
        block: Id,
        status: Status,
        receipts: Vec<Id>,
        gas: u64,
        hashes: &Hashes,
    ) -> Self {
        let status_text = match status {
            Status::Unknown => r#""Unknown""#.to_owned(),
            Status::Failure => {
                r#"{"Failure":{"ActionError":{"index":0,"kind":{"AccountDoesNotExist":{"account_id":"eve.near"}}}}}"#
                    .to_owned()
            }
            Status::Value => format!(r#"{{"SuccessValue":"{}"}}"#, ["", "MQ=="][gas as usize % 2]),
            Status::Receipt(next) => format!(r#"{{"SuccessReceiptId":"{}"}}"#, hashes.text(next)),
        };
        let listed: Vec<String> =
            receipts.iter().map(|id| format!("\"{}\"", hashes.text(*id))).collect();
        let text = format!(
            r#"{{"block_hash":"{}","id":"{}","outcome":{{"executor_id":"bob.near","gas_burnt":{gas},"logs":[],"receipt_ids":[{}],"status":{status_text},"tokens_burnt":"0"}},"proof":[]}}"#,
            hashes.text(block),
            hashes.text(id),
            listed.join(","),
        );
        Self { id, status, status_text, receipts, text }
    }
}

impl Body {
    pub(crate) fn new(id: Id, refund: bool, hashes: &Hashes) -> Self {
        let from = if refund { "system" } else { "alice.near" };
        let text = format!(
            r#"{{"predecessor_id":"{from}","receipt":{{"Action":{{"actions":[],"gas_price":"1","input_data_ids":[],"output_data_receivers":[],"signer_id":"alice.near","signer_public_key":"{KEY}"}}}},"receipt_id":"{}","receiver_id":"bob.near"}}"#,
            hashes.text(id)
        );
        Self { id, refund, text }
    }
}

/// The public key that is all zero
const KEY: &str = "ed25519:11111111111111111111111111111111";
/// The signature that is all zero
const SIGNATURE: &str = "ed25519:1111111111111111111111111111111111111111111111111111111111111111";
