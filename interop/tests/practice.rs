//! The practice chain against the node's crates: messages are read by the indexer's types,
//! transactions by the node's Borsh reader, delegate actions by its signature check; hashes and
//! roots of blocks are computed by the node.
//!
//! Late outcomes are left out, because the indexer's types do not have them.

use borsh::BorshDeserialize as _;
use milepost_interop::oracle::Record;
use milepost_practice::{Kind, Practice, Settings};
use near_indexer_primitives::StreamerMessage;
use near_primitives::action::Action;
use near_primitives::block_header::BlockHeader;
use near_primitives::hash::CryptoHash;
use near_primitives::merkle::{compute_root_from_path, merklize};
use near_primitives::transaction::SignedTransaction;
use near_primitives::views::{ChunkHeaderView, SignedTransactionView};
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
    let mut record = Record::new("practice");
    for (number, settings) in [Settings::demo(1), Settings::simulation(2)].into_iter().enumerate() {
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
            let hash = CryptoHash::hash_bytes(&message.json);
            record.add(&json!([number, message.height, hash.to_string()]));
        }
    }
    record.finish();
}

#[test]
fn the_node_computes_the_hashes_and_roots_of_every_block() {
    let root_of = |hashes: Vec<CryptoHash>| merklize(&hashes).0;
    let eventful = Settings {
        epoch_length: 12,
        split_epoch: Some(2),
        empty_blocks: 150,
        missing_chunks: 250,
        ..Settings::simulation(4)
    };
    for settings in [Settings::demo(1), eventful] {
        let mut practice = chain_without_late_outcomes(settings);
        let mut outcomes = 0;
        for _ in 0..100 {
            let message = practice.next_message();
            let read: StreamerMessage = serde_json::from_slice(&message.json).unwrap();
            let (view, chunks) = (read.block.header, read.block.chunks);
            let header = BlockHeader::from(view.clone());
            assert_eq!(header.hash().0, *message.hash.as_bytes(), "height {}", message.height);
            let roots = |member: fn(&ChunkHeaderView) -> CryptoHash| {
                root_of(chunks.iter().map(member).collect())
            };
            assert_eq!(view.prev_state_root, roots(|chunk| chunk.prev_state_root));
            assert_eq!(view.outcome_root, roots(|chunk| chunk.outcome_root));
            assert_eq!(view.chunk_receipts_root, roots(|chunk| chunk.outgoing_receipts_root));
            assert_eq!(view.chunk_tx_root, roots(|chunk| chunk.tx_root));
            let headers: Vec<_> =
                chunks.iter().map(|chunk| (chunk.chunk_hash, chunk.height_included)).collect();
            assert_eq!(view.chunk_headers_root, merklize(&headers).0);
            for shard in read.shards {
                let of_receipts =
                    shard.receipt_execution_outcomes.into_iter().map(|it| it.execution_outcome);
                let of_transactions = shard.chunk.into_iter().flat_map(|chunk| chunk.transactions);
                let of_transactions = of_transactions.map(|it| it.outcome.execution_outcome);
                let mut roots = of_receipts.chain(of_transactions).map(|outcome| {
                    outcomes += 1;
                    let leaf = CryptoHash::hash_borsh(outcome.to_hashes());
                    compute_root_from_path(&outcome.proof, leaf)
                });
                let first = roots.next();
                assert!(roots.all(|root| Some(root) == first), "height {}", message.height);
            }
        }
        assert!(outcomes > 100, "{outcomes}");
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
