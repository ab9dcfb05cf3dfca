//! The practice chain against the node's crates: messages are read by the indexer's types,
//! transactions by the node's Borsh reader, delegate actions by its signature check.
//!
//! Late outcomes are left out, because the indexer's types do not have them.

use borsh::BorshDeserialize as _;
use milepost_practice::{Kind, Practice, Settings};
use near_indexer_primitives::StreamerMessage;
use near_primitives::action::Action;
use near_primitives::transaction::SignedTransaction;
use near_primitives::views::SignedTransactionView;
use serde_json::{Value, json};

fn chain_without_late_outcomes(settings: Settings) -> Practice {
    Practice::new(Settings { late_outcomes: 0, ..settings })
}

/// The members of `value` that `sample` has too, at every depth
fn intersection(value: &Value, sample: &Value) -> Value {
    match (value, sample) {
        (Value::Object(value), Value::Object(sample)) => value
            .iter()
            .filter_map(|(name, value)| {
                Some((name.clone(), intersection(value, sample.get(name)?)))
            })
            .collect(),
        (Value::Array(values), Value::Array(samples)) if values.len() == samples.len() => {
            values.iter().zip(samples).map(|(value, sample)| intersection(value, sample)).collect()
        }
        _ => value.clone(),
    }
}

#[test]
fn the_indexer_reads_every_message_without_loss() {
    for settings in [Settings::demo(1), Settings::simulation(2)] {
        let mut practice = chain_without_late_outcomes(settings);
        for _ in 0..150 {
            let message = practice.next_message();
            let read: StreamerMessage = serde_json::from_slice(&message.json)
                .unwrap_or_else(|error| panic!("height {}: {error}", message.height));
            assert_eq!(read.block.header.hash.0, *message.hash.as_bytes());
            let mut ours: Value = serde_json::from_slice(&message.json).unwrap();
            let theirs = serde_json::to_value(&read).unwrap();
            // The indexer leaves out the transaction of a receipt.
            for shard in ours["shards"].as_array_mut().unwrap() {
                for entry in shard["receipt_execution_outcomes"].as_array_mut().unwrap() {
                    entry.as_object_mut().unwrap().remove("tx_hash");
                }
            }
            assert_eq!(intersection(&theirs, &ours), ours, "height {}", message.height);
        }
    }
}

#[test]
fn the_node_reads_hashes_and_verifies_every_transaction() {
    let mut practice = chain_without_late_outcomes(Settings::demo(3));
    let mut delegates = 0;
    for _ in 0..60 {
        let message = practice.next_message();
        let block: Value = serde_json::from_slice(&message.json).unwrap();
        let shards = block["shards"].as_array().unwrap();
        for transaction in &message.transactions {
            let read = SignedTransaction::try_from_slice(&transaction.signed).unwrap();
            let hash = read.get_hash();
            assert_eq!(hash.0, *transaction.hash.as_bytes());
            assert!(read.signature.verify(hash.as_ref(), read.transaction.public_key()));
            for action in read.transaction.actions() {
                if let Action::Delegate(delegate) = action {
                    assert!(delegate.verify());
                    assert_eq!(transaction.kind, Kind::Delegate);
                    delegates += 1;
                }
            }
            let view = json!(SignedTransactionView::from(read));
            let ours = shards
                .iter()
                .flat_map(|shard| shard["chunk"]["transactions"].as_array().into_iter().flatten())
                .map(|entry| &entry["transaction"])
                .find(|ours| ours["hash"] == view["hash"]);
            assert_eq!(ours, Some(&view));
        }
    }
    assert!(delegates > 5, "{delegates} delegate actions");
}
