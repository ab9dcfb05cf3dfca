//! The check of block messages against their own hashes, and the proofs that follow from them, on
//! recorded blocks of the network. Skipped without them.

use std::collections::BTreeMap;

use milepost::codec::json;
use milepost::endpoint::Engine;
use milepost::import::{BlockVerifier, ImportSettings, VerifyMode};
use milepost::primitives::CryptoHash;
use milepost::proof::{
    KnownHashes, OutcomeLinks, VerificationResult, check_block, fold, leaf, verify_answer,
};
use milepost::status::{ProofEnd, StatusQuery};
use milepost::storage::{MemoryStorage, Storage as _, run};
use milepost::views::ExecutionOutcomeWithIdView;
use milepost_tests::recorded;
use serde_json::{Value, json};

/// Blocks whose `chunk_receipts_root` is a copy of another root, in the files as they were found
const CORRUPT: [&str; 5] = [
    "mainnet_000034834053",
    "mainnet_000042598892",
    "mainnet_000051188689",
    "mainnet_000051188690",
    "mainnet_000055905793",
];
/// Blocks whose headers lack members that their hashes cover
const INCOMPLETE: [&str; 2] = ["mainnet_000134585465", "testnet_000182018895"];

fn blocks() -> BTreeMap<String, Vec<u8>> {
    recorded::files("lake", "").into_iter().collect()
}

/// A message with the member that is wrong as its hash has it
fn repaired(message: &[u8]) -> Vec<u8> {
    let VerificationResult::Wrong(error) = check_block(message).result else {
        return message.to_vec();
    };
    let (_, member) = error.path().rsplit_once('.').unwrap();
    let (expected, found) = error.detail().split_once(", found ").unwrap();
    let expected = expected.strip_prefix("expected ").unwrap();
    let member = |value: &str| format!("\"{member}\":\"{value}\"");
    let text = String::from_utf8(message.to_vec()).unwrap().replace("\": \"", "\":\"");
    let repaired = text.replace(&member(found), &member(expected));
    assert_ne!(repaired, text);
    repaired.into()
}

#[test]
fn recorded_blocks_verify_unless_they_are_corrupt_or_incomplete() {
    let blocks = blocks();
    let mut verified = 0;
    for (name, message) in &blocks {
        let name = name.as_str();
        let result = check_block(message).result;
        let (read, _) =
            BlockVerifier::new(VerifyMode::Report).read(message, ImportSettings::default());
        assert_eq!(read.unwrap().result, result, "{name}");
        match result {
            VerificationResult::Verified => {
                assert!(!CORRUPT.contains(&name) && !INCOMPLETE.contains(&name), "{name}");
                verified += 1;
            }
            VerificationResult::Wrong(error) => {
                assert!(CORRUPT.contains(&name), "{name}: {error}");
                assert_eq!(error.path(), "block.header.chunk_receipts_root", "{name}");
            }
            VerificationResult::Unverifiable(error) => {
                assert!(INCOMPLETE.contains(&name), "{name}: {error}");
                assert_eq!(error.path(), "block.header", "{name}");
            }
        }
    }
    assert!(blocks.is_empty() || (verified, blocks.len()) == (20, 27), "{verified} verified");
}

#[test]
fn a_genesis_alone_verifies_with_an_outcome_root_of_zeros() {
    let genesis = include_str!("../vectors/node/000000.json");
    assert_eq!(check_block(genesis.as_bytes()).result, VerificationResult::Verified);
    let settings = ImportSettings::default();
    let strict = |message: &str| {
        let (_, import) = BlockVerifier::new(VerifyMode::Strict).read(message.as_bytes(), settings);
        import.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(strict(genesis), Ok(()));
    // No other block has zeros.
    let later = genesis.replacen(
        &format!(r#""prev_hash":"{}""#, CryptoHash::ZERO),
        &format!(r#""prev_hash":"{}""#, CryptoHash::digest(b"a parent")),
        1,
    );
    let error = strict(&later).unwrap_err();
    assert!(error.starts_with("block.header.outcome_root: expected "), "{error}");
}

#[test]
fn corrupt_blocks_verify_when_the_member_is_repaired() {
    for (name, message) in blocks() {
        if CORRUPT.contains(&&*name) {
            assert_eq!(
                check_block(&repaired(&message)).result,
                VerificationResult::Verified,
                "{name}"
            );
        }
    }
}

#[test]
fn the_next_chunk_of_a_shard_confirms_the_root_of_its_outcomes() {
    let mut shards = 0;
    let blocks = blocks();
    for (block, next) in [
        ("mainnet_000034834052", "mainnet_000034834053"),
        ("mainnet_000051188689", "mainnet_000051188690"),
    ] {
        let (Some(block), Some(next)) = (blocks.get(block), blocks.get(next)) else { return };
        let (block, mut next) = (check_block(&repaired(block)), check_block(&repaired(next)));
        let mut links = OutcomeLinks::default();
        assert_eq!(links.verify(&block), VerificationResult::Verified);
        assert_eq!(links.verify(&next), VerificationResult::Verified);
        shards += block.outcome_roots.len();
        assert!(next.confirmed_roots.contains(&block.outcome_roots[0]));

        next.confirmed_roots[0].root = next.outcome_roots[0].root;
        let mut links = OutcomeLinks::default();
        assert_eq!(links.verify(&next), VerificationResult::Verified, "nothing to compare with");
        links.verify(&block);
        assert!(matches!(links.verify(&next), VerificationResult::Wrong(_)));
    }
    assert_eq!(shards, 2);
}

/// The outcomes of a message by shard, transactions first
fn outcomes(message: &Value) -> BTreeMap<u64, Vec<ExecutionOutcomeWithIdView>> {
    let shards = message["shards"].as_array().unwrap();
    let shards = shards.iter().map(|shard| {
        let of_transactions = shard["chunk"]["transactions"].as_array().into_iter().flatten();
        let of_receipts = shard["receipt_execution_outcomes"].as_array().into_iter().flatten();
        let outcomes = of_transactions
            .map(|transaction| &transaction["outcome"]["execution_outcome"])
            .chain(of_receipts.map(|executed| &executed["execution_outcome"]))
            .map(|outcome| json::read(&outcome.to_string()).unwrap());
        (shard["shard_id"].as_u64().unwrap(), outcomes.collect())
    });
    shards.collect()
}

#[test]
fn the_paths_of_all_outcomes_of_a_shard_lead_to_one_root() {
    let (mut count, mut files) = (0, 0);
    let blocks = blocks();
    for (name, message) in &blocks {
        let check = check_block(&repaired(message));
        let message: Value = serde_json::from_slice(message).unwrap();
        files += 1;
        for (shard, outcomes) in outcomes(&message) {
            let roots: Vec<CryptoHash> = outcomes
                .iter()
                .map(|outcome| fold(leaf(outcome).unwrap(), &outcome.proof).unwrap())
                .collect();
            let Some(root) = roots.first() else { continue };
            assert!(roots.iter().all(|other| other == root), "{name}, shard {shard}");
            // What cannot be checked against the hash has no roots either.
            let found = check.outcome_roots.iter().find(|found| found.shard_id == shard);
            assert!(
                found.map_or(INCOMPLETE.contains(&name.as_str()), |found| found.root == *root),
                "{name}, shard {shard}"
            );
            count += roots.len();
        }
    }
    assert!(files == 0 || (files, count) == (27, 2_224), "{count} outcomes in {files} files");
}

/// Recorded blocks that follow one another; the last one lacks all chunks, so it confirms nothing
const CHAINS: [&[&str]; 3] = [
    &["mainnet_000034834052", "mainnet_000034834053"],
    &["mainnet_000051188689", "mainnet_000051188690"],
    &["mainnet_000070834059", "mainnet_000070834061"],
];

#[test]
fn outcomes_of_recorded_transactions_are_proven_by_the_block_after() {
    let blocks = blocks();
    let mut proven_outcomes = Vec::new();
    for names in CHAINS {
        let Some(chain) = names.iter().map(|name| blocks.get(*name)).collect::<Option<Vec<_>>>()
        else {
            return;
        };
        let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
        let mut verifier = BlockVerifier::new(VerifyMode::Strict);
        let mut transactions = Vec::new();
        for message in chain {
            let (_, import) = verifier.read(&repaired(message), ImportSettings::default());
            let (batch, _) = import.unwrap().run(&storage).unwrap();
            storage.commit(batch).unwrap();
            let message: Value = serde_json::from_slice(message).unwrap();
            for shard in message["shards"].as_array().unwrap() {
                let list = shard["chunk"]["transactions"].as_array();
                let hashes = list.into_iter().flatten().map(|it| &it["transaction"]["hash"]);
                transactions.extend(hashes.map(|hash| hash.as_str().unwrap().to_owned()));
            }
        }
        // Proven outcomes, and transactions of which all are proven.
        let mut counts = (0, 0);
        for hash in transactions {
            let hash: CryptoHash = hash.parse().unwrap();
            let Some(proof) = engine.prove(hash, ProofEnd::Confirmation, &storage).unwrap() else {
                continue;
            };
            let known = KnownHashes { transaction: hash, block: proof.block_hash };
            let mut answer = Vec::new();
            let status = run(&mut StatusQuery::new(hash, 1_000), &storage).unwrap().unwrap();
            status.write(true, &mut answer).unwrap();
            let text = proof.to_json();
            let proven = verify_answer(&answer, text.as_bytes(), known).unwrap();
            assert_eq!(proven.outcomes.len(), proof.outcomes.len());
            counts.0 += proven.outcomes.len();
            counts.1 += usize::from(proven.is_complete());

            // Every outcome is that of the message, and another one is refused.
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            for outcome in &proven.outcomes {
                let of_receipts = answer["receipts_outcome"].as_array().unwrap();
                let receipt = of_receipts.iter().position(|it| it["id"] == json!(outcome.id));
                let place = match receipt {
                    Some(index) => format!("/receipts_outcome/{index}/outcome"),
                    None => "/transaction_outcome/outcome".to_owned(),
                };
                let mut changed = answer.clone();
                let content = changed.pointer_mut(&place).unwrap();
                assert_eq!(content["gas_burnt"], json!(outcome.gas_burnt));
                assert_eq!(content["logs"], json!(outcome.logs));
                content["gas_burnt"] = json!(outcome.gas_burnt.0 + 1);
                let changed = changed.to_string();
                let error = verify_answer(changed.as_bytes(), text.as_bytes(), known).unwrap_err();
                assert_eq!(error.path(), format!("outcome {}", outcome.id));
            }
        }
        proven_outcomes.push(counts);
    }
    assert_eq!(proven_outcomes, [(2, 0), (16, 1), (0, 0)]);
}
