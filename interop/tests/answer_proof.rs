//! Proofs of answers against the node's crates: the leaf and the path of each outcome, the root of
//! the block that confirms it, and the chain of light headers are computed by the node.
//!
//! The chains have missing chunks, empty blocks, skipped heights, shards that are split, and one
//! shard. A transaction that is twice in a chunk, as protocol versions before 85 allow, is made
//! here from the node's tree, because no practice chain has one.

use milepost::endpoint::Engine;
use milepost::import::{BlockVerifier, ImportSettings, VerifyMode};
use milepost::primitives::CryptoHash;
use milepost::proof::{
    AnswerProof, KnownHashes, LightHeader, OutcomeConfirmation, confirmation_path, verify_answer,
};
use milepost::status::{ProofEnd, StatusQuery};
use milepost::storage::{MemoryStorage, Storage as _, run};
use milepost_practice::{Practice, Settings};
use milepost_testkit::Rng;
use near_primitives::hash::CryptoHash as NodeHash;
use near_primitives::merkle::{
    MerklePath, compute_root_from_path, compute_root_from_path_and_item, merklize,
};
use near_primitives::views::{
    ExecutionMetadataView, ExecutionOutcomeView, ExecutionOutcomeWithIdView, ExecutionStatusView,
    LightClientBlockLiteView,
};
use serde_json::{Value, json};

fn node_hash(rng: &mut Rng) -> NodeHash {
    NodeHash::hash_bytes(&rng.next_u64().to_le_bytes())
}

/// The node's view of a light header; the node also has a rounded time, which it does not hash
fn header_of(header: &Value) -> LightClientBlockLiteView {
    let mut header = header.clone();
    header["inner_lite"]["timestamp"] = json!(0);
    serde_json::from_value(header).unwrap()
}

fn hash_at(value: &Value) -> NodeHash {
    value.as_str().unwrap().parse().unwrap()
}

/// Checks a proof with the node's types; returns the number of outcomes
fn check_with_the_node(result: &Value, proof: &Value) -> usize {
    let headers: Vec<_> = proof["headers"].as_array().unwrap().iter().map(header_of).collect();
    for (header, next) in headers.iter().zip(&headers[1..]) {
        assert_eq!(header.hash(), next.prev_block_hash);
    }
    assert_eq!(headers.last().unwrap().hash(), hash_at(&proof["block_hash"]));
    let of_receipts = result["receipts_outcome"].as_array().unwrap();
    let outcomes: Vec<ExecutionOutcomeWithIdView> = [&result["transaction_outcome"]]
        .into_iter()
        .chain(of_receipts)
        .map(|outcome| serde_json::from_value(outcome.clone()).unwrap())
        .collect();
    let confirmations = proof["outcomes"].as_array().unwrap();
    for confirmation in confirmations {
        let id = hash_at(&confirmation["id"]);
        let outcome = outcomes.iter().find(|outcome| outcome.id == id).unwrap();
        let leaf = NodeHash::hash_borsh(outcome.to_hashes());
        let shard_root = compute_root_from_path(&outcome.proof, leaf);
        let path: MerklePath =
            serde_json::from_value(confirmation["outcome_root_proof"].clone()).unwrap();
        let block = hash_at(&confirmation["block_hash"]);
        let header = headers.iter().find(|header| header.hash() == block).unwrap();
        assert_eq!(
            compute_root_from_path_and_item(&path, shard_root),
            header.inner_lite.outcome_root
        );
    }
    confirmations.len()
}

#[test]
fn the_node_computes_what_proofs_of_practice_chains_state() {
    let demo = Settings { late_outcomes: 0, ..Settings::demo(31) };
    let simulation = Settings { late_outcomes: 0, forks: 0, ..Settings::simulation(32) };
    for settings in [
        demo.clone(),
        Settings { shards: 1, ..demo.clone() },
        Settings { epoch_length: 10, split_epoch: Some(1), missing_chunks: 300, ..demo },
        Settings { empty_blocks: 300, missing_chunks: 300, ..simulation },
    ] {
        let mut practice = Practice::new(settings.clone());
        let mut verifier = BlockVerifier::new(VerifyMode::Strict);
        let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
        let mut transactions = Vec::new();
        for _ in 0..60 {
            let message = practice.next_message();
            let (_, import) = verifier.read(&message.json, ImportSettings::default());
            let (batch, _) = import.unwrap().run(&storage).unwrap();
            storage.commit(batch).unwrap();
            transactions.extend(message.transactions.iter().map(|one| one.hash));
        }
        let mut outcomes = 0;
        for hash in transactions {
            let status = run(&mut StatusQuery::new(hash, 1_000), &storage).unwrap().unwrap();
            for end in [ProofEnd::Confirmation, ProofEnd::LastFinal] {
                let Some(proof) = engine.prove(hash, end, &storage).unwrap() else { continue };
                let mut result = Vec::new();
                status.write(true, &mut result).unwrap();
                let proof = proof.to_json();
                let known = KnownHashes {
                    transaction: hash,
                    block: serde_json::from_str::<Value>(&proof).unwrap()["block_hash"]
                        .as_str()
                        .unwrap()
                        .parse()
                        .unwrap(),
                };
                let proven = verify_answer(&result, proof.as_bytes(), known).unwrap();
                let count = check_with_the_node(
                    &serde_json::from_slice(&result).unwrap(),
                    &serde_json::from_str(&proof).unwrap(),
                );
                assert_eq!(proven.outcomes.len(), count);
                outcomes += count;
            }
        }
        assert!(outcomes > 50, "{outcomes} outcomes: {settings:?}");
    }
}

#[test]
fn paths_of_confirmations_are_those_of_the_node() {
    let rng = &mut Rng::new(1);
    for count in 1..40 {
        let roots: Vec<_> = (0..count).map(|_| node_hash(rng)).collect();
        let (root, paths) = merklize(&roots);
        let ours: Vec<_> = roots.iter().map(|root| CryptoHash::new(root.0)).collect();
        for (shard_root, expected) in ours.iter().zip(paths) {
            let path = json!(confirmation_path(*shard_root, &ours).unwrap());
            assert_eq!(path, json!(expected));
            let shard_root = NodeHash(*shard_root.as_bytes());
            assert_eq!(compute_root_from_path_and_item(&expected, shard_root), root);
        }
        assert_eq!(confirmation_path(CryptoHash::ZERO, &ours), None);
    }
}

#[test]
fn each_of_two_outcomes_of_a_transaction_that_is_twice_in_a_chunk_is_proven() {
    let rng = &mut Rng::new(2);
    let (id, block) = (node_hash(rng), node_hash(rng));
    let outcome = |status, gas| ExecutionOutcomeView {
        logs: vec!["a log".to_owned()],
        receipt_ids: vec![],
        gas_burnt: near_primitives::types::Gas::from_gas(gas),
        tokens_burnt: near_primitives::types::Balance::from_yoctonear(1),
        executor_id: "alice.near".parse().unwrap(),
        status,
        metadata: ExecutionMetadataView::default(),
    };
    let expired = near_primitives::errors::InvalidTxError::Expired;
    let outcomes = [
        outcome(ExecutionStatusView::SuccessValue(vec![7]), 5),
        outcome(ExecutionStatusView::Failure(expired.into()), 6),
        outcome(ExecutionStatusView::SuccessValue(vec![]), 8),
    ];
    let ids = [id, id, node_hash(rng)];
    let leaves: Vec<_> =
        outcomes.iter().zip(ids).map(|(outcome, id)| outcome.to_hashes(id)).collect();
    let (shard_root, paths) = merklize(&leaves);
    let roots = [node_hash(rng), shard_root, node_hash(rng)];
    let hash = |hash: NodeHash| CryptoHash::new(hash.0);
    let header = LightHeader {
        outcome_root: hash(merklize(&roots).0),
        height: 7,
        ..LightHeader::from_bytes(&[1; LightHeader::LEN])
    };
    let known = KnownHashes { transaction: hash(id), block: header.hash() };
    let proof = AnswerProof {
        transaction_hash: known.transaction,
        block_hash: known.block,
        outcomes: vec![OutcomeConfirmation {
            id: known.transaction,
            block_hash: known.block,
            outcome_root_proof: confirmation_path(hash(shard_root), &roots.map(hash)).unwrap(),
        }],
        headers: vec![header],
    };
    let proof = proof.to_json();
    let mut views = outcomes.into_iter().zip(paths).zip(ids).map(|((outcome, proof), id)| {
        ExecutionOutcomeWithIdView { proof, block_hash: block, id, outcome }
    });
    let mut statuses = Vec::new();
    for own in views.by_ref().take(2) {
        let answer = json!({ "transaction_outcome": own, "receipts_outcome": [] }).to_string();
        let proven = verify_answer(answer.as_bytes(), proof.as_bytes(), known).unwrap();
        assert!(proven.is_complete());
        statuses.push(proven.final_status);

        // An outcome that is neither of the two.
        let mut neither = own.clone();
        neither.outcome.gas_burnt = near_primitives::types::Gas::from_gas(7);
        let answer = json!({ "transaction_outcome": neither }).to_string();
        let error = verify_answer(answer.as_bytes(), proof.as_bytes(), known).unwrap_err();
        assert_eq!(error.kind(), milepost::ErrorKind::Chain);
    }
    assert_ne!(statuses[0], statuses[1]);
}
