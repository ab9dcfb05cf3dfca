//! Recorded blocks of the network: the status of every transaction in them.
//!
//! Every fragment of a response must be the JSON of the block with sorted keys. The expected
//! response is computed from the block messages alone: an index of outcomes and receipts, a
//! recursive walk, and the milestones by their definition. Skipped without the recorded blocks.

use std::collections::{BTreeMap, HashMap, HashSet};

use milepost::endpoint::{Engine, RequestState};
use milepost::import::{FinalityRule, ImportSettings};
use milepost::rpc::ResponseKind;
use milepost::storage::MemoryStorage;
use milepost_tests::recorded;
use serde_json::{Value, json};

fn blocks() -> Vec<(u64, Vec<u8>, Value)> {
    let read = |(_, bytes): (String, Vec<u8>)| {
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        (value["block"]["header"]["height"].as_u64().unwrap(), bytes, value)
    };
    let mut blocks: Vec<_> = recorded::files("lake", "").into_iter().map(read).collect();
    blocks.sort_by_key(|(height, ..)| *height);
    blocks
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// The content of all block messages, by id
#[derive(Default)]
struct Index {
    transactions: BTreeMap<String, Value>,
    outcomes: HashMap<String, Value>,
    receipts: HashMap<String, Value>,
}

impl Index {
    fn new(blocks: &[(u64, Vec<u8>, Value)]) -> Self {
        let mut index = Self::default();
        for (.., block) in blocks {
            for shard in block["shards"].as_array().unwrap() {
                let chunk = &shard["chunk"];
                for included in chunk["transactions"].as_array().into_iter().flatten() {
                    let transaction = included["transaction"].clone();
                    let hash = text(&transaction["hash"]).to_string();
                    index.transactions.insert(hash, transaction);
                    index.add_outcome(&included["outcome"]["execution_outcome"]);
                }
                let local = chunk["local_receipts"].as_array().into_iter().flatten();
                for receipt in chunk["receipts"].as_array().into_iter().flatten().chain(local) {
                    index.add_receipt(receipt);
                }
                for executed in shard["receipt_execution_outcomes"].as_array().unwrap() {
                    index.add_outcome(&executed["execution_outcome"]);
                    index.add_receipt(&executed["receipt"]);
                }
            }
        }
        index
    }

    fn add_outcome(&mut self, outcome: &Value) {
        let id = text(&outcome["id"]).to_string();
        assert!(self.outcomes.insert(id, outcome.clone()).is_none());
    }

    fn add_receipt(&mut self, receipt: &Value) {
        let id = text(&receipt["receipt_id"]).to_string();
        self.receipts.insert(id, receipt.clone());
    }

    fn generated(&self, id: &str) -> Vec<String> {
        let outcome = self.outcomes.get(id).map(|outcome| &outcome["outcome"]["receipt_ids"]);
        let ids = outcome.and_then(Value::as_array).into_iter().flatten();
        ids.map(|id| text(id).to_string()).collect()
    }

    fn walk(&self, id: &str, order: &mut Vec<String>, pending: &mut Vec<String>) {
        if !self.outcomes.contains_key(id) {
            pending.push(id.to_string());
            return;
        }
        order.push(id.to_string());
        for child in self.generated(id) {
            self.walk(&child, order, pending);
        }
    }

    fn final_status(&self, id: &str) -> Value {
        match self.outcomes.get(id).map(|outcome| &outcome["outcome"]["status"]) {
            None => json!("Started"),
            Some(status) => match status.get("SuccessReceiptId") {
                Some(next) => self.final_status(text(next)),
                None => status.clone(),
            },
        }
    }

    /// The expected result; every block is final
    fn result(&self, hash: &str) -> Value {
        let transaction = &self.transactions[hash];
        let (mut order, mut pending) = (Vec::new(), Vec::new());
        self.walk(hash, &mut order, &mut pending);
        let refunds: HashSet<&str> = self
            .receipts
            .iter()
            .filter(|(_, receipt)| receipt["predecessor_id"] == "system")
            .map(|(id, _)| id.as_str())
            .collect();
        let milestone = if pending.is_empty() {
            "FINAL"
        } else if pending.iter().all(|id| refunds.contains(id.as_str())) {
            "EXECUTED"
        } else {
            "INCLUDED_FINAL"
        };
        let local = (transaction["signer_id"] == transaction["receiver_id"])
            .then(|| self.generated(hash).first().cloned())
            .flatten();
        let listed = order.iter().skip(1);
        let receipts: Vec<&Value> = listed
            .clone()
            .filter(|id| Some(*id) != local.as_ref())
            .map(|id| &self.receipts[id])
            .collect();
        json!({
            "final_execution_status": milestone,
            "receipts": receipts,
            "receipts_outcome": listed.map(|id| &self.outcomes[id]).collect::<Vec<_>>(),
            "status": self.final_status(hash),
            "transaction": transaction,
            "transaction_outcome": self.outcomes[hash],
        })
    }
}

#[test]
fn statuses_of_recorded_transactions_have_the_json_of_their_blocks() {
    let blocks = blocks();
    let engine = Engine::default();
    let mut storage = MemoryStorage::new();
    let settings = ImportSettings::default().with_finality(FinalityRule::All);
    for (height, message, _) in &blocks {
        let summary = engine.import_block(message, &settings, &mut storage);
        assert_eq!(summary.map(|summary| summary.block.height), Ok(*height));
    }
    let index = Index::new(&blocks);
    let mut milestones: BTreeMap<String, usize> = BTreeMap::new();
    for (hash, transaction) in &index.transactions {
        let body = json!({
            "jsonrpc": "2.0", "id": "dontcare", "method": "EXPERIMENTAL_tx_status",
            "params": {"tx_hash": hash, "sender_account_id": transaction["signer_id"], "wait_until": "NONE"},
        });
        let RequestState::Ready(response) =
            engine.respond(engine.parse(body.to_string().as_bytes(), None), &storage)
        else {
            panic!("{hash} is pending");
        };
        assert_eq!(response.kind(), ResponseKind::Result);
        let expected = index.result(hash);
        // serde_json sorts the keys of objects.
        let expected_body = format!(r#"{{"jsonrpc":"2.0","result":{expected},"id":"dontcare"}}"#);
        assert_eq!(String::from_utf8(response.body).unwrap(), expected_body);
        *milestones.entry(text(&expected["final_execution_status"]).to_string()).or_default() += 1;
    }
    println!("{milestones:?}");
    assert_eq!(milestones.values().sum::<usize>(), index.transactions.len());
}
