//! Answers and their proofs over practice chains: what the engine returns is verified by the check
//! of clients, and every change of an answer or a proof is found.
//!
//! The chains have missing chunks, empty blocks, skipped heights, forks, one shard, and shards that
//! are split. The blocks are imported with the check against their hashes.

mod archived;

use std::collections::BTreeSet;

use milepost::ErrorKind;
use milepost::endpoint::Engine;
use milepost::import::{BlockVerifier, ImportSettings, VerifyMode};
use milepost::primitives::CryptoHash;
use milepost::proof::{
    KnownHashes, MAX_PROOF_HEADERS, ProvenAnswer, ProvenStatus, Unprovable, verify_answer,
};
use milepost::status::{Milestone, ProofEnd, ProofQuery, StatusQuery};
use milepost::storage::{MemoryStorage, Query as _, Snapshot as _, Step, Storage as _, run};
use milepost_practice::{Practice, Settings};
use serde_json::{Value, json};

struct Chain {
    practice: Practice,
    verifier: BlockVerifier,
    storage: MemoryStorage,
    engine: Engine,
    transactions: Vec<CryptoHash>,
    blocks: Vec<CryptoHash>,
}

impl Chain {
    fn new(settings: Settings) -> Self {
        Self {
            practice: Practice::new(settings),
            verifier: BlockVerifier::new(VerifyMode::Strict),
            storage: MemoryStorage::new(),
            engine: Engine::default(),
            transactions: Vec::new(),
            blocks: Vec::new(),
        }
    }

    fn import(&mut self, count: usize) {
        for _ in 0..count {
            self.import_next();
        }
    }

    /// Imports the next block, and returns its message
    fn import_next(&mut self) -> Vec<u8> {
        let message = self.practice.next_message();
        self.transactions.extend(message.transactions.iter().map(|one| one.hash));
        self.blocks.push(message.hash);
        let (_, import) = self.verifier.read(&message.json, ImportSettings::default());
        // Some blocks of a chain with forks are refused.
        if let Ok((batch, _)) = import.unwrap().run(&self.storage) {
            self.storage.commit(batch).unwrap();
        }
        message.json
    }

    /// The result of a request, and whether the transaction is final
    fn answer(&self, hash: CryptoHash) -> Option<(String, bool)> {
        let status = run(&mut StatusQuery::new(hash, 1_000), &self.storage).unwrap()?;
        let mut result = Vec::new();
        status.write(true, &mut result).unwrap();
        Some((String::from_utf8(result).unwrap(), status.milestone() == Milestone::Final))
    }

    fn proof(&self, hash: CryptoHash, end: ProofEnd) -> Option<String> {
        self.engine.prove(hash, end, &self.storage).unwrap().map(|proof| proof.to_json())
    }
}

fn block_hash(proof: &str) -> CryptoHash {
    let proof: Value = serde_json::from_str(proof).unwrap();
    proof["block_hash"].as_str().unwrap().parse().unwrap()
}

fn verify(answer: &str, proof: &str, transaction: CryptoHash) -> ProvenAnswer {
    let known = KnownHashes { transaction, block: block_hash(proof) };
    verify_answer(answer.as_bytes(), proof.as_bytes(), known).unwrap()
}

/// Settings of a chain for each thing that can happen to a block
fn variants() -> [Settings; 5] {
    let demo = Settings::demo(11);
    let simulation = Settings::simulation(12);
    [
        demo.clone(),
        Settings { transactions: 0..=1, shards: 1, ..demo.clone() },
        Settings { epoch_length: 10, split_epoch: Some(1), missing_chunks: 200, ..demo },
        Settings { missing_chunks: 500, ..simulation.clone() },
        Settings { epoch_length: 12, split_epoch: Some(2), empty_blocks: 300, ..simulation },
    ]
}

#[test]
fn every_outcome_of_final_transactions_is_proven() {
    for settings in variants() {
        let mut chain = Chain::new(settings.clone());
        chain.import(60);
        let (mut complete, mut partial) = (0, 0);
        for hash in chain.transactions.clone() {
            let Some((answer, is_final)) = chain.answer(hash) else { continue };
            let Some(proof) = chain.proof(hash, ProofEnd::Confirmation) else {
                assert!(!is_final || !answer.contains("\"outcome\""), "{settings:?}");
                continue;
            };
            let proven = verify(&answer, &proof, hash);
            assert_eq!(proven.transaction_hash, hash);
            if is_final && proven.is_complete() {
                let answer: Value = serde_json::from_str(&answer).unwrap();
                let outcomes = 1 + answer["receipts_outcome"].as_array().unwrap().len();
                assert_eq!(proven.outcomes.len(), outcomes, "{settings:?}");
                assert_eq!(proven.unproven_outcomes, []);
                let status = &answer["status"];
                let is_right = match proven.final_status.unwrap() {
                    ProvenStatus::Failure => status.get("Failure").is_some(),
                    ProvenStatus::SuccessValue(value) => {
                        *status == json!({ "SuccessValue": value.to_string() })
                    }
                    other => panic!("{other:?}"),
                };
                assert!(is_right, "{answer}");
                complete += 1;
            } else {
                partial += 1;
            }
        }
        assert!(complete > 5, "{complete} complete, {partial} partial: {settings:?}");
    }
}

/// A final transaction of a small chain with several outcomes, its answer and its proof
fn small() -> (Chain, CryptoHash, String, String) {
    let mut chain = Chain::new(Settings { shards: 2, transactions: 2..=3, ..Settings::demo(21) });
    chain.import(30);
    let found = chain.transactions.iter().find_map(|hash| {
        let (answer, is_final) = chain.answer(*hash)?;
        let proof = chain.proof(*hash, ProofEnd::Confirmation).filter(|_| is_final)?;
        let proven = verify(&answer, &proof, *hash);
        let steps = proof.matches("\"direction\"").count();
        let is_small = proof.len() < 4_500 && proven.outcomes.len() > 2 && steps > 0;
        is_small.then_some((*hash, answer, proof))
    });
    let (hash, answer, proof) = found.expect("a small proof");
    (chain, hash, answer, proof)
}

#[test]
fn every_changed_bit_of_a_proof_is_refused() {
    let (_, transaction, answer, proof) = small();
    let known = KnownHashes { transaction, block: block_hash(&proof) };
    for index in 0..proof.len() {
        for bit in 0..8 {
            let mut changed = proof.clone().into_bytes();
            changed[index] ^= 1 << bit;
            let result = verify_answer(answer.as_bytes(), &changed, known);
            assert!(result.is_err(), "byte {index}, bit {bit}: {result:?}");
        }
    }
}

#[test]
fn every_changed_member_of_an_outcome_is_refused_and_what_no_hash_covers_is_named() {
    let (_, transaction, answer, proof) = small();
    let known = KnownHashes { transaction, block: block_hash(&proof) };
    let original: Value = serde_json::from_str(&answer).unwrap();
    let verify =
        |answer: &Value| verify_answer(answer.to_string().as_bytes(), proof.as_bytes(), known);
    let expected = verify(&original).unwrap();
    let pointers = ["/transaction_outcome", "/receipts_outcome/0", "/receipts_outcome/1"];
    let changes = [
        ("/outcome/gas_burnt", json!(1)),
        ("/outcome/tokens_burnt", json!("1")),
        ("/outcome/executor_id", json!("eve.near")),
        ("/outcome/logs", json!(["one more"])),
        ("/outcome/receipt_ids", json!([])),
        ("/outcome/status", json!({ "SuccessValue": "AAAA" })),
        ("/outcome/status", json!({ "SuccessReceiptId": CryptoHash::ZERO })),
        ("/id", json!(CryptoHash::digest(b"another"))),
        ("/proof", json!([{ "direction": "Left", "hash": CryptoHash::ZERO }])),
    ];
    let mut refused = 0;
    for pointer in pointers {
        for (member, value) in &changes {
            let mut changed = original.clone();
            let target = changed.pointer_mut(&format!("{pointer}{member}")).unwrap();
            if target == value {
                continue;
            }
            *target = value.clone();
            let error = verify(&changed).unwrap_err();
            // An id that is not the proof's may be of another time.
            let kind = if *member == "/id" && pointer != pointers[0] {
                ErrorKind::Schema
            } else {
                ErrorKind::Chain
            };
            assert_eq!(error.kind(), kind, "{error}");
            refused += 1;
        }
        // Not covered, and therefore named.
        for (member, value) in [
            ("/outcome/metadata", json!({ "version": 1, "gas_profile": null })),
            ("/block_hash", json!(CryptoHash::ZERO)),
        ] {
            let mut changed = original.clone();
            *changed.pointer_mut(&format!("{pointer}{member}")).unwrap() = value;
            assert_eq!(verify(&changed).unwrap(), expected);
        }
    }
    assert!(refused > 20, "{refused}");
    for outcome in &expected.outcomes {
        for unprovable in [Unprovable::Metadata(outcome.id), Unprovable::ExecutionBlock(outcome.id)]
        {
            assert!(expected.unprovable.contains(&unprovable), "{unprovable:?}");
        }
    }
    for unprovable in
        [Unprovable::TransactionBody, Unprovable::ReceiptBodies, Unprovable::FinalExecutionStatus]
    {
        assert!(expected.unprovable.contains(&unprovable), "{unprovable:?}");
    }

    let mut status = original.clone();
    status["status"] = json!({ "SuccessValue": "bGll" });
    assert_eq!(verify(&status).unwrap_err().path(), "answer.status");
    let mut without = original.clone();
    without["receipts_outcome"].as_array_mut().unwrap().pop();
    assert_eq!(verify(&without).unwrap_err().path(), "proof.outcomes");
    let mut twice = original.clone();
    let first = twice["receipts_outcome"][0].clone();
    twice["receipts_outcome"].as_array_mut().unwrap().push(first);
    assert!(verify(&twice).unwrap_err().detail().contains("twice"));
}

#[test]
fn the_error_of_a_failure_is_no_part_of_what_is_proven() {
    let mut chain = Chain::new(Settings::demo(5));
    chain.import(60);
    let mut failures = 0;
    for hash in chain.transactions.clone() {
        let Some((answer, true)) = chain.answer(hash) else { continue };
        let mut answer: Value = serde_json::from_str(&answer).unwrap();
        let Some(proof) = chain.proof(hash, ProofEnd::Confirmation) else { continue };
        let Some(error) = answer["transaction_outcome"]["outcome"]["status"].get_mut("Failure")
        else {
            continue;
        };
        let before = verify(&chain.answer(hash).unwrap().0, &proof, hash);
        *error = json!({ "InvalidTxError": "Expired" });
        let proven = verify(&answer.to_string(), &proof, hash);
        assert_eq!(proven, before);
        assert!(proven.unprovable.contains(&Unprovable::Error(hash)));
        assert_eq!(proven.final_status, Some(ProvenStatus::Failure));
        assert!(!proven.to_json().contains("InvalidTxError"));
        failures += 1;
    }
    assert!(failures > 0);
}

#[test]
fn an_answer_about_another_transaction_or_block_is_refused() {
    let (chain, transaction, answer, proof) = small();
    let known = KnownHashes { transaction, block: block_hash(&proof) };
    let verify = |known| verify_answer(answer.as_bytes(), proof.as_bytes(), known).unwrap_err();
    let other = *chain.transactions.iter().find(|hash| **hash != transaction).unwrap();
    let error = verify(KnownHashes { transaction: other, ..known });
    assert_eq!((error.kind(), error.path()), (ErrorKind::Chain, "proof.transaction_hash"));
    let error = verify(KnownHashes { block: chain.blocks[0], ..known });
    assert_eq!((error.kind(), error.path()), (ErrorKind::Chain, "proof.block_hash"));
    // A proof that states what the client expects, and whose headers lead elsewhere.
    let forged = proof.replacen(
        &format!("\"block_hash\":\"{}\"", known.block),
        &format!("\"block_hash\":\"{}\"", chain.blocks[0]),
        1,
    );
    let known = KnownHashes { block: chain.blocks[0], ..known };
    let error = verify_answer(answer.as_bytes(), forged.as_bytes(), known).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Chain, "proof.headers"));

    // The outcomes of one transaction in the answer about another one.
    let (other_answer, _) = chain.answer(other).unwrap();
    let known = KnownHashes { transaction, block: block_hash(&proof) };
    let error = verify_answer(other_answer.as_bytes(), proof.as_bytes(), known).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Chain, "answer"));
}

#[test]
fn the_headers_end_in_the_block_that_is_named() {
    let (mut chain, transaction, answer, shortest) = small();
    chain.import(40);
    assert_eq!(chain.proof(transaction, ProofEnd::Confirmation), Some(shortest.clone()));
    let last_final = chain.engine.chain_status(&chain.storage).unwrap().last_final.unwrap();
    let head = *chain.blocks.last().unwrap();
    for (end, hash) in [
        ("final", last_final.hash),
        (&*head.to_string(), head),
        (&*last_final.hash.to_string(), last_final.hash),
    ] {
        let proof = chain.proof(transaction, end.parse().unwrap()).unwrap();
        assert_eq!(block_hash(&proof), hash);
        let proven = verify(&answer, &proof, transaction);
        assert!(proven.is_complete() && proof.len() > shortest.len());
    }
    // A block before the outcomes confirms none of them.
    assert_eq!(chain.proof(transaction, ProofEnd::Block(chain.blocks[0])), None);
    let unknown = ProofEnd::Block(CryptoHash::digest(b"no block"));
    let error = chain.engine.prove(transaction, unknown, &chain.storage).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Value, "block"));
    assert_eq!("finale".parse::<ProofEnd>().unwrap_err().path(), "block");

    // Without the last outcome in both texts the tree is not complete.
    let mut document: Value = serde_json::from_str(&shortest).unwrap();
    let mut shorter: Value = serde_json::from_str(&answer).unwrap();
    let last = shorter["receipts_outcome"].as_array_mut().unwrap().pop().unwrap();
    document["outcomes"].as_array_mut().unwrap().retain(|outcome| outcome["id"] != last["id"]);
    let proven = verify(&shorter.to_string(), &document.to_string(), transaction);
    assert_eq!((proven.pending_receipts.len(), proven.is_complete()), (1, false));

    // Cut after the first block that confirms an outcome: the others are not proven.
    let document: Value = serde_json::from_str(&shortest).unwrap();
    let first = document["outcomes"][0]["block_hash"].as_str().unwrap();
    let proof = chain.proof(transaction, first.parse().unwrap()).unwrap();
    let proven = verify(&answer, &proof, transaction);
    assert!(!proven.is_complete() && !proven.unproven_outcomes.is_empty());
    assert!(proven.outcomes.iter().all(|outcome| outcome.confirmed_by.to_string() == first));
}

#[test]
fn a_proof_has_a_limited_number_of_headers() {
    let settings = Settings { transactions: 0..=1, shards: 1, skips: 0, ..Settings::demo(3) };
    let mut chain = Chain::new(Settings { delays: 0, late_outcomes: 0, ..settings });
    chain.import(6);
    let transaction = chain.transactions[0];
    chain.import(MAX_PROOF_HEADERS + 6);
    let (answer, _) = chain.answer(transaction).unwrap();
    let head = ProofEnd::Block(*chain.blocks.last().unwrap());
    let error = chain.engine.prove(transaction, head, &chain.storage).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Limit, "block"));
    assert!(error.detail().contains("the limit is 1000 headers"), "{error}");
    let shortest = chain.proof(transaction, ProofEnd::Confirmation).unwrap();
    assert!(verify(&answer, &shortest, transaction).is_complete());

    let first = chain.blocks.iter().position(|hash| answer.contains(&hash.to_string())).unwrap();
    let last = chain.blocks[first + MAX_PROOF_HEADERS];
    let longest = chain.proof(transaction, ProofEnd::Block(last)).unwrap();
    assert!(verify(&answer, &longest, transaction).is_complete());
    let document: Value = serde_json::from_str(&longest).unwrap();
    let mut headers = document["headers"].as_array().unwrap().clone();
    assert_eq!(headers.len(), MAX_PROOF_HEADERS);
    assert!(longest.len() < 700 * MAX_PROOF_HEADERS, "{} bytes", longest.len());

    // The check does not read more either.
    headers.insert(0, headers[0].clone());
    let more = json!({
        "transaction_hash": transaction, "block_hash": last, "outcomes": [], "headers": headers,
    });
    let known = KnownHashes { transaction, block: last };
    let error = verify_answer(answer.as_bytes(), more.to_string().as_bytes(), known).unwrap_err();
    assert!(error.detail().contains("more than 1000 headers"), "{error}");
}

#[test]
fn blocks_that_were_not_checked_prove_nothing() {
    let mut practice = Practice::new(Settings::demo(1));
    let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
    let mut transactions = Vec::new();
    for _ in 0..10 {
        let message = practice.next_message();
        transactions.extend(message.transactions.iter().map(|one| one.hash));
        engine.import_block(&message.json, &ImportSettings::default(), &mut storage).unwrap();
    }
    let error = engine.prove(transactions[0], ProofEnd::Confirmation, &storage).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("without a check against its hash"), "{error}");
}

#[test]
fn there_is_no_proof_over_a_gap_of_the_feed() {
    let (mut chain, transaction, _, proof) = small();
    chain.practice.next_message();
    chain.import(5);
    let head = ProofEnd::Block(*chain.blocks.last().unwrap());
    let error = chain.engine.prove(transaction, head, &chain.storage).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.detail().contains("the feed had a gap"), "{error}");
    assert_eq!(chain.proof(transaction, ProofEnd::Confirmation), Some(proof));
}

#[test]
fn a_remote_storage_is_asked_a_few_times() {
    let (chain, transaction, _, proof) = small();
    let mut query = ProofQuery::new(transaction, 1_000, ProofEnd::Confirmation);
    let mut round_trips = 0;
    let found = loop {
        let mut rows = Vec::new();
        match query.poll().unwrap() {
            Step::Done(found) => break found,
            Step::NeedRows(keys) => chain.storage.get_many(keys, &mut rows).unwrap(),
        }
        round_trips += 1;
        // Rows that are missing change nothing.
        assert_eq!(query.supply_rows(&rows[1..]).unwrap_err().kind(), ErrorKind::Usage);
        query.supply_rows(&rows).unwrap();
    };
    assert_eq!(found.map(|proof| proof.to_json()), Some(proof));
    // The finalized transaction, both ends, the hashes of the blocks, the blocks.
    assert_eq!(round_trips, 4);
    assert_eq!(query.poll().unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn hostile_texts_are_refused() {
    let (_, transaction, answer, proof) = small();
    let known = KnownHashes { transaction, block: block_hash(&proof) };
    let verify =
        |answer: &str, proof: &str| verify_answer(answer.as_bytes(), proof.as_bytes(), known);
    let deep = "[".repeat(1_000_000);
    let long_path = format!(
        "[{}]",
        vec![json!({ "direction": "Left", "hash": CryptoHash::ZERO }).to_string(); 10_000]
            .join(",")
    );
    let unknown_direction = proof.replace("\"Left\"", "\"Up\"").replace("\"Right\"", "\"Up\"");
    let twice = proof.replacen("\"outcomes\":[", "\"outcomes\":[{\"id\":\"11111111111111111111111111111111\",\"block_hash\":\"11111111111111111111111111111111\",\"outcome_root_proof\":[]},{\"id\":\"11111111111111111111111111111111\",\"block_hash\":\"11111111111111111111111111111111\",\"outcome_root_proof\":[]},", 1);
    let start = proof.find("\"outcome_root_proof\":[").unwrap() + 21;
    let end = start + proof[start..].find(']').unwrap() + 1;
    let long = [&proof[..start], &long_path, &proof[end..]].concat();
    for (name, changed, kind) in [
        ("empty", String::new(), ErrorKind::Syntax),
        ("deep", deep, ErrorKind::Syntax),
        ("null", "null".into(), ErrorKind::Schema),
        ("a long path", long, ErrorKind::Chain),
        ("a direction", unknown_direction, ErrorKind::Schema),
        ("an outcome twice", twice, ErrorKind::Schema),
    ] {
        assert_eq!(verify(&answer, &changed).unwrap_err().kind(), kind, "{name}");
        if !matches!(kind, ErrorKind::Chain) && !name.starts_with("a") {
            assert_eq!(verify(&changed, &proof).unwrap_err().kind(), kind, "answer: {name}");
        }
    }
    let error = verify_answer(b"\xff", proof.as_bytes(), known).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Syntax, "answer"));
}

#[test]
fn the_size_of_what_proofs_need_is_a_few_hundred_bytes_for_each_block() {
    let mut chain = Chain::new(Settings { shards: 9, ..Settings::demo(2) });
    chain.import(1);
    let mut without = MemoryStorage::new();
    let message = Practice::new(Settings { shards: 9, ..Settings::demo(2) }).next_message();
    chain.engine.import_block(&message.json, &ImportSettings::default(), &mut without).unwrap();
    let size =
        |storage: &MemoryStorage| -> usize { storage.iter().map(|(_, row)| row.len()).sum() };
    // A header, and the root of each shard.
    assert_eq!(size(&chain.storage) - size(&without), 272 + 9 * 32);
}

#[test]
fn answers_of_a_server_are_read_as_results_are() {
    let (_, transaction, answer, proof) = small();
    let expected = verify(&answer, &proof, transaction);
    let response = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{answer}}}"#);
    assert_eq!(verify(&response, &proof, transaction), expected);
    let known = KnownHashes { transaction, block: block_hash(&proof) };
    let document = format!(r#"{{"transaction_hash":"{transaction}","proof":{proof}}}"#);
    let proven = verify_answer(answer.as_bytes(), document.as_bytes(), known).unwrap();
    assert_eq!(proven, expected);
    let ids: BTreeSet<_> = expected.outcomes.iter().map(|outcome| outcome.id).collect();
    assert_eq!(ids.len(), expected.outcomes.len());
    let json: Value = serde_json::from_str(&expected.to_json()).unwrap();
    assert_eq!(json["outcomes"].as_array().unwrap().len(), ids.len());
    assert_eq!(json["is_complete"], json!(true));
    assert_eq!(json["unproven_outcomes"], json!([]));
}

#[test]
fn why_there_is_no_proof_is_reported_when_the_query_is_polled() {
    let (chain, transaction, ..) = small();
    let unknown = ProofEnd::Block(CryptoHash::digest(b"no block"));
    let mut query = ProofQuery::new(transaction, 1_000, unknown);
    let error = loop {
        let mut rows = Vec::new();
        match query.poll() {
            Ok(Step::NeedRows(keys)) => chain.storage.get_many(keys, &mut rows).unwrap(),
            Ok(Step::Done(found)) => panic!("{found:?}"),
            Err(error) => break error,
        }
        // As of every query: the host that supplies the right number of rows has done its part.
        assert_eq!(query.supply_rows(&rows), Ok(()));
    };
    assert_eq!((error.kind(), error.path()), (ErrorKind::Value, "block"));
    assert_eq!(query.poll().unwrap_err().kind(), ErrorKind::Usage);
}
