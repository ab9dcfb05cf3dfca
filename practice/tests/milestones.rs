//! Every milestone occurs: each is the status of some transaction for at least one block.
//!
//! The milestones are derived here from the messages alone, by the rules of the protocol and
//! without the engine, on a chain without forks.

use alloc::collections::BTreeMap;
use std::collections::HashMap;

use milepost_practice::{Kind, Practice, Settings};
use serde_json::Value;

/// What the messages contained so far
#[derive(Default)]
struct ChainHistory {
    /// Height and receipts of every outcome
    outcomes: HashMap<String, (u64, Vec<String>)>,
    /// Whether a receipt is a refund
    refunds: HashMap<String, bool>,
    heights: HashMap<String, u64>,
    last_final: u64,
}

impl ChainHistory {
    fn import(&mut self, block: &Value) {
        let header = &block["block"]["header"];
        let height = header["height"].as_u64().unwrap();
        self.heights.insert(header["hash"].as_str().unwrap().into(), height);
        let last_final = header["last_final_block"].as_str().unwrap();
        self.last_final = self.heights.get(last_final).copied().unwrap_or_default();
        for shard in block["shards"].as_array().unwrap() {
            let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
            for receipt in list(&shard["chunk"]["receipts"]) {
                let refund = receipt["predecessor_id"] == "system";
                self.refunds.insert(receipt["receipt_id"].as_str().unwrap().into(), refund);
            }
            let transactions = list(&shard["chunk"]["transactions"]);
            let transactions = transactions.iter().map(|entry| &entry["outcome"]);
            let receipts = list(&shard["receipt_execution_outcomes"]);
            for entry in transactions.chain(&receipts).filter(|entry| !entry.is_null()) {
                let outcome = &entry["execution_outcome"];
                let children = list(&outcome["outcome"]["receipt_ids"]);
                let children = children.iter().map(|id| id.as_str().unwrap().into()).collect();
                self.outcomes.insert(outcome["id"].as_str().unwrap().into(), (height, children));
            }
        }
    }

    fn milestone(&self, transaction: &str) -> &'static str {
        let Some((height, first)) = self.outcomes.get(transaction) else {
            return "INCLUDED";
        };
        let (mut all_executed, mut only_refunds_pending, mut last) = (true, true, 0);
        let mut stack = first.clone();
        while let Some(id) = stack.pop() {
            match self.outcomes.get(&id) {
                Some((height, children)) => {
                    last = last.max(*height);
                    stack.extend_from_slice(children);
                }
                None => {
                    all_executed = false;
                    only_refunds_pending &= self.refunds.get(&id).copied().unwrap_or_default();
                }
            }
        }
        match (
            *height <= self.last_final,
            only_refunds_pending,
            all_executed && last <= self.last_final,
        ) {
            (false, true, _) => "EXECUTED_OPTIMISTIC",
            (false, false, _) => "INCLUDED",
            (true, false, _) => "INCLUDED_FINAL",
            (true, true, false) => "EXECUTED",
            (true, true, true) => "FINAL",
        }
    }
}

#[test]
fn every_milestone_occurs_and_every_transaction_becomes_final() {
    let mut practice = Practice::new(Settings::demo(1));
    let mut history = ChainHistory::default();
    let mut pending_transactions: Vec<(String, Kind, u64)> = Vec::new();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for number in 0..120 {
        let message = practice.next_message();
        history.import(&serde_json::from_slice(&message.json).unwrap());
        for transaction in message.transactions {
            pending_transactions.push((transaction.hash.to_string(), transaction.kind, number));
        }
        pending_transactions.retain(|(hash, kind, since)| {
            let milestone = history.milestone(hash);
            *seen.entry(milestone).or_default() += 1;
            // 6 receipts of at most 9 blocks each, refunds and finality, with some chunks missing.
            let age = number - since;
            assert!(age < 80, "a {kind} of {age} blocks ago is {milestone}");
            milestone != "FINAL"
        });
    }
    for milestone in ["INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED", "FINAL"] {
        assert!(seen.get(milestone).is_some_and(|times| *times > 20), "{milestone}: {seen:?}");
    }
}
