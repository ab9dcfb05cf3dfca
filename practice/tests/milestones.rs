//! A demo can show every milestone: each of them is the last word on some transaction for at
//! least one block of the chain.
//!
//! The milestones are worked out here from the messages alone, by the rules of the protocol and
//! without the engine, on a chain without forks.

extern crate alloc;

use alloc::collections::BTreeMap;
use std::collections::HashMap;

use ed25519_dalek as _;
use milepost as _;
use milepost_practice::{Kind, Practice, Settings};
use serde_json::Value;

/// What the chain has said so far
#[derive(Default)]
struct Facts {
    /// Height and receipts of every outcome
    outcomes: HashMap<String, (u64, Vec<String>)>,
    /// Receipts that give something back
    refunds: HashMap<String, bool>,
    heights: HashMap<String, u64>,
    last_final: u64,
}

impl Facts {
    fn take_in(&mut self, block: &Value) {
        let header = &block["block"]["header"];
        let height = header["height"].as_u64().unwrap();
        self.heights.insert(header["hash"].as_str().unwrap().into(), height);
        let last_final = header["last_final_block"].as_str().unwrap();
        self.last_final = self.heights.get(last_final).copied().unwrap_or_default();
        for shard in block["shards"].as_array().unwrap() {
            let of = |value: &Value| value.as_array().cloned().unwrap_or_default();
            for receipt in of(&shard["chunk"]["receipts"]) {
                let refund = receipt["predecessor_id"] == "system";
                self.refunds.insert(receipt["receipt_id"].as_str().unwrap().into(), refund);
            }
            let transactions = of(&shard["chunk"]["transactions"]);
            let transactions = transactions.iter().map(|entry| &entry["outcome"]);
            let receipts = of(&shard["receipt_execution_outcomes"]);
            for entry in transactions.chain(&receipts).filter(|entry| !entry.is_null()) {
                let outcome = &entry["execution_outcome"];
                let children = of(&outcome["outcome"]["receipt_ids"]);
                let children = children.iter().map(|id| id.as_str().unwrap().into()).collect();
                self.outcomes.insert(outcome["id"].as_str().unwrap().into(), (height, children));
            }
        }
    }

    fn milestone(&self, transaction: &str) -> &'static str {
        let Some((height, first)) = self.outcomes.get(transaction) else {
            return "INCLUDED";
        };
        let (mut done, mut but_refunds, mut last) = (true, true, 0);
        let mut open = first.clone();
        while let Some(id) = open.pop() {
            match self.outcomes.get(&id) {
                Some((height, children)) => {
                    last = last.max(*height);
                    open.extend_from_slice(children);
                }
                None => {
                    done = false;
                    but_refunds &= self.refunds.get(&id).copied().unwrap_or_default();
                }
            }
        }
        match (*height <= self.last_final, but_refunds, done && last <= self.last_final) {
            (false, true, _) => "EXECUTED_OPTIMISTIC",
            (false, false, _) => "INCLUDED",
            (true, false, _) => "INCLUDED_FINAL",
            (true, true, false) => "EXECUTED",
            (true, true, true) => "FINAL",
        }
    }
}

#[test]
fn every_milestone_is_seen_and_every_transaction_becomes_final() {
    let mut practice = Practice::new(Settings::demo(1));
    let mut facts = Facts::default();
    let mut under_way: Vec<(String, Kind, u64)> = Vec::new();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for number in 0..120 {
        let message = practice.next_message();
        facts.take_in(&serde_json::from_slice(&message.json).unwrap());
        for transaction in message.transactions {
            under_way.push((transaction.hash.to_string(), transaction.kind, number));
        }
        under_way.retain(|(hash, kind, since)| {
            let milestone = facts.milestone(hash);
            *seen.entry(milestone).or_default() += 1;
            // 6 steps of at most 9 blocks each, refunds and finality, with some chunks missing.
            let age = number - since;
            assert!(age < 80, "a {kind} of {age} blocks ago is {milestone}");
            milestone != "FINAL"
        });
    }
    for milestone in ["INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED", "FINAL"] {
        assert!(seen.get(milestone).is_some_and(|times| *times > 20), "{milestone}: {seen:?}");
    }
}
