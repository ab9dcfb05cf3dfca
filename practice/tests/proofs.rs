//! Every block of a practice chain agrees with its hash and with the blocks before it.
//!
//! The catalogue of lies, `tests/tests/lies.rs`, changes each kind of member; here are the rules
//! about shards: their split, their order, their number, and feeds of some of them.

use alloc::collections::BTreeSet;

use milepost::primitives::CryptoHash;
use milepost::proof::{OutcomeLinks, VerificationResult, check_block};
use milepost_practice::{Practice, PracticeTransaction, Settings};
use serde_json::{Value, json};

/// The settings of a chain for each thing that can happen to a block
fn variants(seed: u64) -> [Settings; 7] {
    let demo = Settings::demo(seed);
    let simulation = Settings::simulation(seed);
    let eventful = Settings {
        epoch_length: 12,
        split_epoch: Some(2),
        empty_blocks: 150,
        missing_chunks: 250,
        ..simulation.clone()
    };
    [
        demo.clone(),
        simulation.clone(),
        Settings { missing_chunks: 500, ..simulation.clone() },
        Settings { empty_blocks: 400, ..simulation },
        Settings { epoch_length: 10, split_epoch: Some(1), ..demo.clone() },
        Settings { transactions: 0..=1, shards: 1, ..demo },
        eventful,
    ]
}

#[test]
fn every_block_verifies_with_all_settings() {
    for seed in 0..3 {
        for settings in variants(seed) {
            let mut practice = Practice::new(settings.clone());
            let mut links = OutcomeLinks::default();
            let mut confirmed = 0;
            for _ in 0..50 {
                let message = practice.next_message();
                let check = check_block(&message.json);
                assert_eq!(check.hashes, Some((message.hash, message.prev_hash)));
                confirmed += check.confirmed_roots.len();
                assert_eq!(links.verify(&check), VerificationResult::Verified, "{settings:?}");
            }
            assert!(confirmed > 30, "{confirmed} roots: {settings:?}");
        }
    }
}

#[test]
fn a_transaction_that_a_chunk_lists_twice_has_one_outcome_from_version_85_on() {
    let signed = |transaction: &PracticeTransaction| transaction.signed.clone();
    let mut other = Practice::new(Settings::demo(8));
    let signed = loop {
        if let Some(signed) = other.next_message().transactions.first().map(signed) {
            break signed;
        }
    };
    for (version, counts) in [(84, (3, 2)), (85, (1, 1))] {
        let settings =
            Settings { shards: 1, missing_chunks: 0, transactions: 0..=0, ..Settings::demo(1) };
        let mut practice = Practice::new(Settings { protocol_version: version, ..settings });
        practice.next_message();
        practice.submit(&signed).unwrap();
        practice.submit_refused(&signed).unwrap();
        practice.submit(&signed).unwrap();
        let messages: Vec<_> = (0..3).map(|_| practice.next_message()).collect();
        let mut links = OutcomeLinks::default();
        for message in &messages {
            let check = check_block(&message.json);
            assert_eq!(links.verify(&check), VerificationResult::Verified);
        }
        assert_eq!(messages[0].transactions.len(), 3);
        let block: Value = serde_json::from_slice(&messages[0].json).unwrap();
        let listed = block["shards"][0]["chunk"]["transactions"].as_array().unwrap();
        let outcomes: BTreeSet<_> = listed.iter().map(|it| it["outcome"].to_string()).collect();
        let receipts: BTreeSet<_> = listed
            .iter()
            .flat_map(|it| {
                it["outcome"]["execution_outcome"]["outcome"]["receipt_ids"].as_array().unwrap()
            })
            .map(Value::to_string)
            .collect();
        assert_eq!((outcomes.len(), receipts.len()), counts, "{version}");
    }
}

#[test]
fn each_part_of_a_split_shard_confirms_its_outcomes() {
    let settings = |missing_chunks| Settings {
        epoch_length: 6,
        split_epoch: Some(1),
        transactions: 6..=9,
        missing_chunks,
        ..Settings::demo(3)
    };
    for missing_chunks in [0, 300] {
        let mut practice = Practice::new(settings(missing_chunks));
        let mut links = OutcomeLinks::default();
        let mut parts = Vec::new();
        let mut announced = 0;
        for _ in 0..14 {
            let message = practice.next_message().json;
            let mut check = check_block(&message);
            let before = links.clone();
            assert_eq!(links.verify(&check), VerificationResult::Verified);
            let block: Value = serde_json::from_slice(&message).unwrap();
            announced += u32::from(block["block"]["header"]["shard_split"] == json!([2, "q0"]));
            // The first chunk of each part, with another root.
            for at in 0..check.confirmed_roots.len() {
                let confirmed = check.confirmed_roots[at];
                if confirmed.shard_id > 3 && !parts.contains(&confirmed.shard_id) {
                    parts.push(confirmed.shard_id);
                    check.confirmed_roots[at].root = CryptoHash::digest(b"another");
                    let result = before.clone().verify(&check);
                    assert!(matches!(result, VerificationResult::Wrong(_)), "{result:?}");
                    check.confirmed_roots[at] = confirmed;
                }
            }
        }
        parts.sort_unstable();
        assert_eq!((parts, announced), (vec![4, 5], 1));
    }
}

#[test]
fn outcomes_may_be_in_any_order_and_none_may_be_missing() {
    let mut practice = Practice::new(Settings { transactions: 9..=9, ..Settings::demo(7) });
    let (mut shuffled, mut incomplete) = (0, 0);
    for _ in 0..7 {
        let block: Value = serde_json::from_slice(&practice.next_message().json).unwrap();
        for shard in 0..4 {
            let pointer = format!("/shards/{shard}/receipt_execution_outcomes");
            let count = block.pointer(&pointer).unwrap().as_array().unwrap().len();
            for index in 1..count {
                let mut changed = block.clone();
                let executed = changed.pointer_mut(&pointer).unwrap().as_array_mut().unwrap();
                executed.swap(0, index);
                let check = check_block(changed.to_string().as_bytes());
                assert_eq!(check.result, VerificationResult::Verified);
                shuffled += 1;

                let executed = changed.pointer_mut(&pointer).unwrap().as_array_mut().unwrap();
                executed.pop();
                let check = check_block(changed.to_string().as_bytes());
                let VerificationResult::Wrong(error) = check.result else {
                    panic!("{:?}", check.result)
                };
                assert_eq!(error.path(), format!("shards[{shard}].outcomes"));
                incomplete += 1;
            }
        }
    }
    assert!(shuffled > 50 && incomplete > 50, "{shuffled}, {incomplete}");
}

#[test]
fn an_outcome_of_another_transaction_or_receipt_is_wrong() {
    let mut practice = Practice::new(Settings::demo(7));
    let mut changes = [0; 2];
    for _ in 0..8 {
        let block: Value = serde_json::from_slice(&practice.next_message().json).unwrap();
        for shard in 0..4 {
            for (which, member) in [
                "chunk/transactions/0/transaction/hash",
                "receipt_execution_outcomes/0/receipt/receipt_id",
            ]
            .into_iter()
            .enumerate()
            {
                let mut changed = block.clone();
                let pointer = format!("/shards/{shard}/{member}");
                let Some(id) = changed.pointer_mut(&pointer) else { continue };
                *id = json!(CryptoHash::digest(b"another"));
                if which == 0
                    && block["shards"][shard]["chunk"]["transactions"][0]["outcome"].is_null()
                {
                    continue;
                }
                let check = check_block(changed.to_string().as_bytes());
                let VerificationResult::Wrong(error) = check.result else {
                    panic!("{:?}", check.result)
                };
                assert!(error.path().ends_with(".id"), "{error}");
                changes[which] += 1;
            }
        }
    }
    assert!(changes.iter().all(|count| *count > 5), "{changes:?}");
}

#[test]
fn the_number_of_shards_that_are_compared_is_limited() {
    let message = Practice::new(Settings::demo(1)).next_message().json;
    let with = |list: &str, count: usize| {
        let item = r#"{"shard_id":7,"receipt_execution_outcomes":[]},"#.repeat(count);
        let text = str::from_utf8(&message).unwrap();
        text.replace(list, &[list, &item].concat()).into_bytes()
    };
    let wrong = |message: Vec<u8>| match check_block(&message).result {
        VerificationResult::Wrong(error) => error.path().to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(check_block(&with(r#""shards":["#, 1_000)).result, VerificationResult::Verified);
    assert_eq!(wrong(with(r#""shards":["#, 5_000)), "shards");
    // Headers that are read, and do not lead to the roots of the header.
    let chunk =
        serde_json::from_slice::<Value>(&message).unwrap()["block"]["chunks"][0].to_string();
    let chunks = [r#""chunks":["#, &[&chunk, ","].concat().repeat(5_000)].concat();
    let text = str::from_utf8(&message).unwrap().replace(r#""chunks":["#, &chunks);
    assert_eq!(wrong(text.into_bytes()), "block.chunks");
}

/// The message as a feed of these shards has it
fn partial(message: &[u8], shards: &[u64]) -> Value {
    let mut message: Value = serde_json::from_slice(message).unwrap();
    let is_kept = |shard: &Value| shards.contains(&shard["shard_id"].as_u64().unwrap());
    message["shards"].as_array_mut().unwrap().retain(is_kept);
    message
}

/// The shards with a new chunk
fn new_chunks(message: &Value) -> Vec<u64> {
    let height = &message["block"]["header"]["height"];
    let chunks = message["block"]["chunks"].as_array().unwrap().iter();
    let new = chunks.filter(|chunk| chunk["height_included"] == *height);
    new.map(|chunk| chunk["shard_id"].as_u64().unwrap()).collect()
}

#[test]
fn blocks_of_a_partial_feed_are_never_wrong_and_their_shards_are_checked() {
    let (mut unverifiable, mut wrong, mut wrong_next) = (0, 0, 0);
    for seed in 0..3 {
        let settings = Settings {
            shards: 4,
            missing_chunks: 200,
            epoch_length: 15,
            split_epoch: Some(1),
            ..Settings::simulation(seed)
        };
        let tracked: Vec<u64> = (0..3).collect();
        let mut practice = Practice::new(settings);
        let mut links = OutcomeLinks::default();
        let mut changed: Option<OutcomeLinks> = None;
        for _ in 0..50 {
            let message = partial(&practice.next_message().json, &tracked);
            let check = check_block(message.to_string().as_bytes());
            // What an earlier block executed is another than what this one confirms.
            if let Some(changed) = &mut changed {
                let result = changed.verify(&check);
                wrong_next += usize::from(matches!(result, VerificationResult::Wrong(_)));
            }
            let before = links.clone();
            match links.verify(&check) {
                VerificationResult::Verified => {
                    assert!(new_chunks(&message).iter().all(|id| tracked.contains(id)));
                }
                VerificationResult::Unverifiable(error) => {
                    assert!(new_chunks(&message).iter().any(|id| !tracked.contains(id)));
                    assert_eq!(error.path(), "shards", "{error}");
                    unverifiable += 1;
                }
                VerificationResult::Wrong(error) => panic!("{error}"),
            }
            for index in 0..message["shards"].as_array().unwrap().len() {
                let path = format!("/shards/{index}/receipt_execution_outcomes");
                let count = message.pointer(&path).unwrap().as_array().unwrap().len();
                if count == 0 {
                    continue;
                }
                let mut message = message.clone();
                let outcome = format!("{path}/0/execution_outcome/outcome/gas_burnt");
                *message.pointer_mut(&outcome).unwrap() = 7.into();
                let check = check_block(message.to_string().as_bytes());
                if matches!(check.result, VerificationResult::Wrong(_)) {
                    wrong += 1;
                } else {
                    // The only outcome of a shard is compared when the next chunk confirms it.
                    let mut before = before.clone();
                    assert!(!matches!(before.verify(&check), VerificationResult::Wrong(_)));
                    changed = Some(before);
                }
            }
        }
    }
    let found = [unverifiable, wrong, wrong_next];
    assert!(found.iter().all(|count| *count > 10), "{found:?}");
}

#[test]
fn blocks_without_a_list_of_chunks_are_never_wrong_in_a_partial_feed() {
    let settings = Settings { shards: 3, ..Settings::demo(6) };
    let mut practice = Practice::new(settings);
    for _ in 0..20 {
        let message = practice.next_message().json;
        let mut message = partial(&message, &[0, 2]);
        message["block"].as_object_mut().unwrap().remove("chunks").unwrap();
        let result = check_block(message.to_string().as_bytes()).result;
        let VerificationResult::Unverifiable(error) = result else { panic!("{result:?}") };
        assert_eq!(error.path(), "shards");
        message["block"]["header"]["gas_price"] = "1".into();
        let result = check_block(message.to_string().as_bytes()).result;
        assert!(matches!(result, VerificationResult::Wrong(_)), "{result:?}");
    }
}
