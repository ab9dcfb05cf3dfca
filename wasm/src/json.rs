//! Structured values as JSON text, for JavaScript to parse.
//!
//! Member names are those of the package's types, in camel case. Integers of 64 bits are JSON
//! numbers; the reader has to keep them exact.

use milepost::Error;
use milepost::codec::json::write;
use milepost::config::{BlockReference, Finality, SyncCheckpoint};
use milepost::endpoint::ChainStatus;
use milepost::import::{BlockPosition, ImportSummary};
use milepost::rpc::{
    ErrorDetails, Method, MethodCall, Outcomes, Request, StatusRequest, TransactionRef,
};
use milepost::status::{CompactStatus, LastSeen, Milestone, NextEvent, Observation};
use milepost::storage::BlockPoint;
use milepost::transaction::SignedTransaction;

/// The result of importing a block message
pub(crate) fn import_summary(summary: &ImportSummary) -> String {
    let mut object = Object::new();
    object.json("block", &block_point(&summary.block));
    object.text(
        "position",
        match summary.position {
            BlockPosition::Head => "head",
            BlockPosition::Known => "known",
            BlockPosition::Fork => "fork",
            _ => "other",
        },
    );
    object.json("reverted", &block_points(&summary.reverted));
    object.json("reapplied", &block_points(&summary.reapplied));
    object.point("lastFinal", summary.last_final);
    for (name, count) in [
        ("transactions", summary.transactions as u64),
        ("outcomes", summary.outcomes as u64),
        ("receipts", summary.receipts as u64),
        ("typeMismatches", summary.type_mismatches.count),
    ] {
        object.number(name, Some(count));
    }
    let first = summary.type_mismatches.first.as_ref();
    object.optional_text("firstTypeMismatch", first.map(Error::path));
    object.end()
}

/// What the storage holds of the chain
pub(crate) fn chain_status(chain: &ChainStatus) -> String {
    let mut object = Object::new();
    object.point("head", chain.head);
    object.point("lastFinal", chain.last_final);
    object.point("earliest", chain.earliest);
    object.optional_text("chainId", chain.chain_id.as_deref());
    object.number("latestProtocolVersion", chain.latest_protocol_version.map(u64::from));
    for (name, number) in [
        ("completeFrom", chain.complete_from.unwrap_or_default()),
        ("blocks", chain.blocks),
        ("generation", chain.generation),
    ] {
        object.number(name, Some(number));
    }
    object.end()
}

/// The calls of methods that the engine does not have, with their places among the valid ones
pub(crate) fn other_calls(request: &mut Request, body: &[u8]) -> String {
    let (mut list, mut index) = (List::new(), 0);
    for call in request.calls_mut() {
        if let Method::Other(other) = &call.method {
            let params = other.params.clone().and_then(|place| body.get(place));
            let params = params.and_then(|params| str::from_utf8(params).ok());
            let mut object = Object::new();
            object.number("index", Some(index));
            object.json("id", call.id.as_json());
            object.text("method", &other.name);
            object.json("params", params.unwrap_or("null"));
            list.push(&object.end());
        }
        index += 1;
    }
    list.end()
}

/// The errors of a response, each with the index of its call
pub(crate) fn errors(outcomes: &Outcomes) -> String {
    let (mut list, mut index) = (List::new(), 0);
    for outcome in outcomes.iter() {
        if let Some(error) = outcome.error.as_deref() {
            let ErrorDetails { hash, height, shard_id, limit, .. } = error.details();
            let mut object = Object::new();
            object.number("index", Some(index));
            object.text("name", error.name());
            object.optional_text("cause", error.cause_name());
            object.optional_text("hash", hash.map(|hash| hash.to_string()).as_deref());
            object.number("height", height);
            object.number("shardId", shard_id);
            object.number("limit", limit);
            list.push(&object.end());
        }
        index += 1;
    }
    list.end()
}

/// The next event of a watch after the event of this id: as over HTTP, but for the ends of ids;
/// empty if there is none yet
pub(crate) fn event(
    seen: &Observation,
    last_id: &str,
    wait_until: &str,
    with_result: bool,
) -> Result<String, Error> {
    let next = LastSeen::of_id(last_id).and_then(|last| seen.next_event(last));
    let CompactStatus { milestone, mut id, mut json, .. } = match next {
        Some(NextEvent::UnIncluded) => CompactStatus::in_no_block(seen.hash),
        _ => CompactStatus::new(seen),
    };
    let wait_until = Milestone::from_name(wait_until).unwrap_or(Milestone::Final);
    let name = match next {
        Some(NextEvent::Wait) => return Ok(String::new()),
        Some(NextEvent::UnIncluded) => "un-included",
        Some(NextEvent::Forgotten) => {
            last_id.clone_into(&mut id);
            let mut object = Object::new();
            object.text("transaction_hash", &seen.hash.to_string());
            json = object.end();
            "forgotten"
        }
        _ if milestone.satisfies(wait_until) => {
            let result = if with_result { seen.result()? } else { None };
            if let Some(result) = result {
                json = CompactStatus::new(seen).with_result(&result);
            }
            "reached"
        }
        _ if id == last_id => return Ok(String::new()),
        _ => "status",
    };
    let mut object = Object::new();
    object.text("event", name);
    object.text("id", &id);
    object.json("status", &json);
    Ok(object.end())
}

/// The JSON of an object, by functions without type parameters: the module has to be small
pub(crate) struct Object(String);

impl Object {
    pub(crate) fn new() -> Self {
        Self(String::new())
    }

    /// Adds a member with this JSON
    pub(crate) fn json(&mut self, name: &str, json: &str) {
        let start = if self.0.is_empty() { "{\"" } else { ",\"" };
        for part in [start, name, "\":", json] {
            self.0.push_str(part);
        }
    }

    pub(crate) fn text(&mut self, name: &str, text: &str) {
        self.json(name, &write(text));
    }

    pub(crate) fn optional_text(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.json(name, "null"),
        }
    }

    pub(crate) fn number(&mut self, name: &str, number: Option<u64>) {
        match number {
            Some(number) => self.json(name, &number.to_string()),
            None => self.json(name, "null"),
        }
    }

    fn point(&mut self, name: &str, point: Option<BlockPoint>) {
        match point {
            Some(point) => self.json(name, &block_point(&point)),
            None => self.json(name, "null"),
        }
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// The JSON of a list
pub(crate) struct List(String);

impl List {
    pub(crate) const fn new() -> Self {
        Self(String::new())
    }

    pub(crate) fn push(&mut self, item: &str) {
        self.0.push(if self.0.is_empty() { '[' } else { ',' });
        self.0.push_str(item);
    }

    pub(crate) fn end(mut self) -> String {
        self.0.push_str(if self.0.is_empty() { "[]" } else { "]" });
        self.0
    }
}

fn block_point(point: &BlockPoint) -> String {
    let mut object = Object::new();
    object.number("height", Some(point.height));
    object.text("hash", &point.hash.to_string());
    object.end()
}

fn block_points(points: &[BlockPoint]) -> String {
    let mut list = List::new();
    points.iter().for_each(|point| list.push(&block_point(point)));
    list.end()
}

/// What a request asks for; its id is a string of JSON text, because it may be any JSON scalar
pub(crate) fn request_summary(call: &MethodCall) -> String {
    let mut object = Object::new();
    match &call.method {
        Method::TransactionStatus(request) => {
            object.text("method", "transaction_status");
            object.text("id", call.id.as_json());
            add_status_request(request, &mut object);
        }
        Method::ProtocolConfig(reference) => {
            object.text("method", "protocol_config");
            object.text("id", call.id.as_json());
            let mut block = Object::new();
            match reference {
                BlockReference::Height(height) => block.number("height", Some(*height)),
                BlockReference::Hash(hash) => block.text("hash", &hash.to_string()),
                BlockReference::Finality(Finality::Optimistic) => {
                    block.text("finality", "optimistic");
                }
                BlockReference::Finality(Finality::NearFinal) => {
                    block.text("finality", "near-final");
                }
                BlockReference::Finality(Finality::Final) => block.text("finality", "final"),
                BlockReference::SyncCheckpoint(SyncCheckpoint::Genesis) => {
                    block.text("syncCheckpoint", "genesis");
                }
                _ => block.text("syncCheckpoint", "earliest_available"),
            }
            object.json("block", &block.end());
        }
        _ => {
            object.text("method", "other");
            object.text("id", call.id.as_json());
        }
    }
    object.end()
}

fn add_status_request(request: &StatusRequest, object: &mut Object) {
    let StatusRequest { transaction: transaction_ref, wait_until, receipts } = request;
    let (hash, sender_id, signed) = match transaction_ref {
        TransactionRef::Hash { hash, sender } => (*hash, sender.as_deref(), None),
        TransactionRef::Signed(signed) => {
            (signed.hash(), Some(signed.signer_id()), Some(transaction(signed.decode())))
        }
    };
    object.text("hash", &hash.to_string());
    object.optional_text("senderId", sender_id);
    object.text("waitUntil", wait_until.name());
    object.json("receipts", if *receipts { "true" } else { "false" });
    object.json("signed", signed.as_deref().unwrap_or("null"));
}

/// A signed transaction; its view is a string of JSON text, which the package exposes as it is
pub(crate) fn transaction(signed: SignedTransaction) -> String {
    let mut object = Object::new();
    let transaction = signed.transaction();
    object.text("hash", &signed.hash().to_string());
    object.text("signerId", signed.signer_id().as_str());
    object.text("publicKey", &transaction.public_key.to_string());
    object.text("receiverId", signed.receiver_id().as_str());
    object.text("blockHash", &transaction.block_hash.to_string());
    object.number("nonce", Some(transaction.nonce()));
    object.number("nonceIndex", transaction.nonce_index().map(u64::from));
    object.text("nonceMode", transaction.nonce_mode().name());
    object.text("signature", &signed.signature().to_string());
    object.json(
        "signatureValid",
        match signed.try_verify() {
            Some(true) => "true",
            Some(false) => "false",
            None => "null",
        },
    );
    object.text("json", &write(&signed.into_view()));
    object.end()
}
