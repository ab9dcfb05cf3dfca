//! Blocks as the simulation thinks of them, and the messages that tell the engine about them.
//!
//! Every transaction, outcome and receipt carries the text that an answer must show: compact, with
//! its members in order. Messages are the smallest that are taken in; what answers never show (roots,
//! proofs, chunk headers) is left out.

use core::fmt::Write as _;
use std::rc::Rc;

use crate::names::{Id, Names};

/// A transaction of the pool
pub(crate) struct Transaction {
    pub(crate) id: Id,
    /// Its first receipt is local, and its body is shown by no answer
    pub(crate) to_itself: bool,
    pub(crate) text: String,
    /// What a client sends to ask for it by its bytes, in base64: rightly signed, and wrongly
    pub(crate) signed: Option<(&'static str, &'static str)>,
}

/// How an execution ended
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Status {
    Unknown,
    Failure,
    Value,
    Receipt(Id),
}

/// What came of a transaction or a receipt, in one block
pub(crate) struct Outcome {
    pub(crate) id: Id,
    pub(crate) status: Status,
    pub(crate) status_text: String,
    pub(crate) receipts: Vec<Id>,
    pub(crate) text: String,
}

/// A receipt
pub(crate) struct Body {
    pub(crate) id: Id,
    pub(crate) refund: bool,
    pub(crate) text: String,
}

/// What happens in a block
#[derive(Default)]
pub(crate) struct Content {
    /// Transactions, most with their outcome
    pub(crate) included: Vec<(Rc<Transaction>, Option<Rc<Outcome>>)>,
    /// Outcomes, most with the receipt that was executed
    pub(crate) executed: Vec<(Rc<Outcome>, Option<Rc<Body>>)>,
    /// Receipts that reach their shard
    pub(crate) arrived: Vec<Rc<Body>>,
}

/// A block; its number is its place in the list of all blocks that were made
pub(crate) struct Block {
    pub(crate) number: usize,
    pub(crate) id: Id,
    pub(crate) height: u64,
    /// The number of its parent; the first block has none
    pub(crate) parent: Option<usize>,
    /// The number of the block that its header calls final
    pub(crate) last_final: Option<usize>,
    pub(crate) content: Content,
    pub(crate) message: Vec<u8>,
}

impl Content {
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &Rc<Outcome>> {
        let own = self.included.iter().filter_map(|(_, outcome)| outcome.as_ref());
        own.chain(self.executed.iter().map(|(outcome, _)| outcome))
    }

    pub(crate) fn bodies(&self) -> impl Iterator<Item = &Rc<Body>> {
        self.arrived.iter().chain(self.executed.iter().filter_map(|(_, body)| body.as_ref()))
    }

    pub(crate) fn has_outcome(&self, id: Id) -> bool {
        self.outcomes().any(|outcome| outcome.id == id)
    }
}

/// What a header says beside the content
pub(crate) struct Header<'names> {
    pub(crate) height: u64,
    pub(crate) hash: &'names str,
    /// Hash and height of the parent
    pub(crate) parent: Option<(&'names str, u64)>,
    pub(crate) last_final: Option<&'names str>,
}

/// "No block" in a header
const NOTHING: &str = "11111111111111111111111111111111";

/// The message about a block, with its content on this many shards
pub(crate) fn message(header: &Header<'_>, content: &Content, shards: usize) -> Vec<u8> {
    let mut text = String::with_capacity(1024);
    let (parent, parent_height) = header.parent.unwrap_or((NOTHING, 0));
    let last_final = header.last_final.unwrap_or(NOTHING);
    let Header { height, hash, .. } = header;
    let _ = write!(
        text,
        r#"{{"block":{{"header":{{"height":{height},"hash":"{hash}","prev_hash":"{parent}","epoch_id":"{NOTHING}","last_final_block":"{last_final}""#
    );
    if header.parent.is_some() {
        let _ = write!(text, r#","prev_height":{parent_height}"#);
    }
    text.push_str("}},\"shards\":[");
    for shard in 0..shards {
        if shard > 0 {
            text.push(',');
        }
        // Dealt by place: what a shard is makes no difference to the engine.
        text.push_str("{\"chunk\":{\"transactions\":[");
        let mut separator = "";
        for (transaction, outcome) in dealt(&content.included, shard, shards) {
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
            let bodies = dealt(&content.arrived, shard, shards);
            for body in bodies.filter(|body| body.id.place() % 2 == list) {
                let _ = write!(text, "{separator}{}", body.text);
                separator = ",";
            }
        }
        text.push_str("]},\"receipt_execution_outcomes\":[");
        let mut separator = "";
        for (outcome, body) in dealt(&content.executed, shard, shards) {
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

fn dealt<T>(items: &[T], shard: usize, shards: usize) -> impl Iterator<Item = &T> {
    items.iter().skip(shard).step_by(shards)
}

impl Transaction {
    /// An unsigned transaction of the pool; `nonce` tells it from the others
    pub(crate) fn new(id: Id, to_itself: bool, nonce: u64, names: &Names) -> Self {
        let receiver = if to_itself { "alice.near" } else { "bob.near" };
        let text = format!(
            r#"{{"actions":[],"hash":"{}","nonce":{nonce},"public_key":"{KEY}","receiver_id":"{receiver}","signature":"{SIGNATURE}","signer_id":"alice.near"}}"#,
            names.text(id)
        );
        Self { id, to_itself, text, signed: None }
    }
}

impl Outcome {
    /// An outcome in the block of this id; `gas` tells it from those of other forks
    pub(crate) fn new(
        id: Id,
        block: Id,
        status: Status,
        receipts: Vec<Id>,
        gas: u64,
        names: &Names,
    ) -> Self {
        let status_text = match status {
            Status::Unknown => r#""Unknown""#.to_owned(),
            Status::Failure => {
                r#"{"Failure":{"ActionError":{"index":0,"kind":{"AccountDoesNotExist":{"account_id":"eve.near"}}}}}"#
                    .to_owned()
            }
            Status::Value => format!(r#"{{"SuccessValue":"{}"}}"#, ["", "MQ=="][gas as usize % 2]),
            Status::Receipt(next) => format!(r#"{{"SuccessReceiptId":"{}"}}"#, names.text(next)),
        };
        let listed: Vec<String> =
            receipts.iter().map(|id| format!("\"{}\"", names.text(*id))).collect();
        let text = format!(
            r#"{{"block_hash":"{}","id":"{}","outcome":{{"executor_id":"bob.near","gas_burnt":{gas},"logs":[],"receipt_ids":[{}],"status":{status_text},"tokens_burnt":"0"}},"proof":[]}}"#,
            names.text(block),
            names.text(id),
            listed.join(","),
        );
        Self { id, status, status_text, receipts, text }
    }
}

impl Body {
    pub(crate) fn new(id: Id, refund: bool, names: &Names) -> Self {
        let from = if refund { "system" } else { "alice.near" };
        let text = format!(
            r#"{{"predecessor_id":"{from}","receipt":{{"Action":{{"actions":[],"gas_price":"1","input_data_ids":[],"output_data_receivers":[],"signer_id":"alice.near","signer_public_key":"{KEY}"}}}},"receipt_id":"{}","receiver_id":"bob.near"}}"#,
            names.text(id)
        );
        Self { id, refund, text }
    }
}

/// The public key that is all zero
const KEY: &str = "ed25519:11111111111111111111111111111111";
/// The signature that is all zero
const SIGNATURE: &str = "ed25519:1111111111111111111111111111111111111111111111111111111111111111";
