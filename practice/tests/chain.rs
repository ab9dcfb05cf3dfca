//! Properties of every practice chain.
//!
//! Each test reads the messages like a consumer: from the JSON, and the few fields beside it.

use alloc::collections::{BTreeMap, BTreeSet};
use std::collections::{HashMap, HashSet};

use ed25519_dalek::{Signature, VerifyingKey};
use milepost::codec::{base58, base64};
use milepost::primitives::{AccountId, Balance, Bytes, CryptoHash, Gas, PublicKey};
use milepost::transaction::{FunctionCallAction, SignedTransaction, UnknownFields};
use milepost_practice::{BlockMessage, Kind, Practice, Settings};
use serde_json::Value;

fn read(message: &BlockMessage) -> Value {
    serde_json::from_slice(&message.json).expect("every message is JSON")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

/// The outcomes of a shard in the order of its Merkle leaves, each with its receipt or null
fn outcomes(shard: &Value) -> Vec<(&Value, &Value)> {
    let transactions = shard["chunk"]["transactions"].as_array().into_iter().flatten();
    transactions
        .map(|transaction| &transaction["outcome"])
        .filter(|outcome| !outcome.is_null())
        .chain(list(&shard["receipt_execution_outcomes"]))
        .map(|entry| (&entry["execution_outcome"], &entry["receipt"]))
        .collect()
}

#[test]
fn a_submitted_transaction_may_have_all_that_its_numbers_can_say() {
    let mut practice = Practice::new(Settings::demo(1));
    let mut messages = core::iter::repeat_with(|| practice.next_message());
    let signed = messages.find_map(|message| message.transactions.first().cloned()).unwrap().signed;
    let (mut unsigned, signature) = SignedTransaction::decode(&signed).unwrap().into_parts();
    let call = FunctionCallAction {
        args: Bytes(Vec::new()),
        deposit: Balance(u128::MAX),
        gas: Gas(u64::MAX),
        method_name: "m".into(),
        unknown_fields: UnknownFields::new(),
    };
    unsigned.actions = vec![call.clone().into(), call.into()];
    let signed = SignedTransaction::new(unsigned, signature).unwrap();
    let hash = practice.submit(&signed.encode()).unwrap();
    assert_eq!(practice.submit_refused(&signed.encode()).unwrap(), hash);
    let included = |message: &BlockMessage| message.transactions.iter().any(|it| it.hash == hash);
    assert_eq!((0..8).filter(|_| included(&practice.next_message())).count(), 1);
}

#[test]
fn the_stream_follows_from_the_settings() {
    let mut first = Practice::new(Settings::simulation(5));
    let mut same = Practice::new(Settings::simulation(5));
    let mut other = Practice::new(Settings::simulation(6));
    for _ in 0..60 {
        let message = first.next_message();
        let again = same.next_message();
        assert_eq!((&message.json, message.arrival_ms), (&again.json, again.arrival_ms));
        assert_ne!(message.json, other.next_message().json);
    }
}

#[test]
fn blocks_extend_their_parent_and_finality_follows_the_header_rule() {
    let mut practice = Practice::new(Settings::demo(2));
    let mut chain: Vec<(u64, CryptoHash)> = Vec::new();
    let mut epochs = BTreeMap::new();
    let (mut skipped, mut before) = (0, 0);
    for _ in 0..260 {
        let message = practice.next_message();
        assert!(message.arrival_ms >= before);
        before = message.arrival_ms;
        let header = &read(&message)["block"]["header"];
        let hash = |name: &str| text(&header[name]).parse::<CryptoHash>().unwrap();
        assert_eq!(hash("hash"), message.hash);
        assert_eq!(header["height"], message.height);
        let Some(&(height, parent)) = chain.last() else {
            assert_eq!(message.prev_hash, CryptoHash::ZERO);
            chain.push((message.height, message.hash));
            continue;
        };
        assert_eq!((hash("prev_hash"), &header["prev_height"]), (parent, &height.into()));
        let consecutive = chain.windows(2).last().is_none_or(|pair| pair[0].0 + 1 == pair[1].0);
        if message.height == height + 1 {
            assert_eq!(hash("last_ds_final_block"), parent);
            if let [.., grandparent, _] = chain.as_slice()
                && consecutive
            {
                assert_eq!(hash("last_final_block"), grandparent.1);
            }
        } else {
            skipped += 1;
        }
        let last_final = hash("last_final_block");
        assert!(chain.len() < 3 || chain.iter().any(|(_, hash)| *hash == last_final));
        epochs.insert(text(&header["epoch_id"]), header["latest_protocol_version"].clone());
        chain.push((message.height, message.hash));
    }
    assert!(skipped > 0, "no height was skipped");
    let versions: BTreeSet<_> = epochs.values().map(Value::as_u64).collect();
    assert_eq!(epochs.len(), 6, "260 blocks and some skipped heights in epochs of 50");
    assert_eq!(versions, BTreeSet::from([Some(87), Some(88)]));
}

#[test]
fn every_outcome_belongs_to_a_transaction_or_receipt_and_its_proof_is_valid() {
    let mut practice = Practice::new(Settings::demo(3));
    // Ids that may have an outcome: of transactions in a chunk, of receipts in an outcome.
    let mut expected = HashSet::new();
    let mut received_ids = HashSet::new();
    let mut finalized = HashSet::new();
    let mut roots: HashMap<u64, String> = HashMap::new();
    for _ in 0..200 {
        let message = practice.next_message();
        let block = read(&message);
        for chunk in list(&block["block"]["chunks"]) {
            let fresh = chunk["height_included"] == message.height;
            if let Some(root) = roots.get(&chunk["shard_id"].as_u64().unwrap())
                && fresh
            {
                assert_eq!(&chunk["outcome_root"], root, "height {}", message.height);
            }
        }
        for shard in list(&block["shards"]) {
            for transaction in shard["chunk"]["transactions"].as_array().into_iter().flatten() {
                assert!(expected.insert(text(&transaction["transaction"]["hash"])));
            }
            for name in ["receipts", "local_receipts"] {
                for receipt in shard["chunk"][name].as_array().into_iter().flatten() {
                    assert!(
                        received_ids.insert(text(&receipt["receipt_id"])),
                        "a receipt was received twice"
                    );
                }
            }
        }
        let mut created = Vec::new();
        for shard in list(&block["shards"]) {
            let mut root = None;
            for (outcome, receipt) in outcomes(shard) {
                let id = text(&outcome["id"]);
                assert_eq!(text(&outcome["block_hash"]), message.hash.to_string());
                for child in list(&outcome["outcome"]["receipt_ids"]) {
                    created.push(text(child));
                }
                if !receipt.is_null() {
                    assert_eq!(text(&receipt["receipt_id"]), id);
                    assert!(received_ids.contains(&id), "receipt {id} was not received");
                    assert_eq!(receipt["receiver_id"], outcome["outcome"]["executor_id"]);
                }
                assert!(finalized.insert(id), "two outcomes have one id");
                let folded = fold(outcome);
                assert_eq!(*root.get_or_insert_with(|| folded.clone()), folded);
            }
            // Without a chunk nothing is executed, and the next one confirms the chunk before.
            if shard["chunk"].is_null() {
                assert_eq!(root, None);
            } else {
                let root = root.unwrap_or_else(|| CryptoHash::ZERO.to_string());
                roots.insert(shard["shard_id"].as_u64().unwrap(), root);
            }
        }
        for id in created {
            assert!(expected.insert(id), "an id was created twice");
        }
        for shard in list(&block["shards"]) {
            for (outcome, _) in outcomes(shard) {
                assert!(expected.contains(&text(&outcome["id"])), "an outcome of an unknown id");
            }
        }
    }
    assert!(finalized.len() > 1000);
    // Everything is executed after a few blocks.
    assert!(
        expected.len() - finalized.len() < 300,
        "{} are not executed",
        expected.len() - finalized.len()
    );
}

/// The root that an outcome and its proof result in, by the rules of the protocol
fn fold(outcome: &Value) -> String {
    let hash = |value: &Value| base58::decode::<32>(value.as_str().unwrap()).unwrap();
    let body = &outcome["outcome"];
    let ids: Vec<_> = list(&body["receipt_ids"]).iter().map(hash).collect();
    let executor = text(&body["executor_id"]);
    let mut partial = (ids.len() as u32).to_le_bytes().to_vec();
    partial.extend(ids.concat());
    partial.extend(body["gas_burnt"].as_u64().unwrap().to_le_bytes());
    partial.extend(text(&body["tokens_burnt"]).parse::<u128>().unwrap().to_le_bytes());
    partial.extend((executor.len() as u32).to_le_bytes());
    partial.extend(executor.as_bytes());
    let status = body["status"].as_object().unwrap();
    match status.iter().next().unwrap() {
        (name, value) if name == "SuccessValue" => {
            let value = base64::decode(value.as_str().unwrap(), base64::Padding::Required).unwrap();
            partial.push(2);
            partial.extend((value.len() as u32).to_le_bytes());
            partial.extend(value);
        }
        (name, id) if name == "SuccessReceiptId" => {
            partial.push(3);
            partial.extend(hash(id));
        }
        _ => partial.push(1),
    }
    let logs = list(&body["logs"]);
    let mut leaf = (2 + logs.len() as u32).to_le_bytes().to_vec();
    leaf.extend(hash(&outcome["id"]));
    leaf.extend(CryptoHash::digest(&partial).as_bytes());
    for log in logs {
        leaf.extend(CryptoHash::digest(log.as_str().unwrap().as_bytes()).as_bytes());
    }
    let mut folded = *CryptoHash::digest(&leaf).as_bytes();
    for step in list(&outcome["proof"]) {
        let other = hash(&step["hash"]);
        let pair = if step["direction"] == "Left" { [other, folded] } else { [folded, other] };
        folded = *CryptoHash::digest(&pair.concat()).as_bytes();
    }
    CryptoHash::new(folded).to_string()
}

#[test]
fn receipt_ids_follow_from_their_parent_the_height_and_their_index() {
    let mut practice = Practice::new(Settings::demo(4));
    let mut refunds = 0;
    for _ in 0..40 {
        let message = practice.next_message();
        for shard in list(&read(&message)["shards"]) {
            for (outcome, receipt) in outcomes(shard) {
                let parent: CryptoHash = text(&outcome["id"]).parse().unwrap();
                let derived: Vec<_> = (0..40_u64)
                    .map(|index| {
                        let mut bytes = parent.as_bytes().to_vec();
                        bytes.extend(message.height.to_le_bytes());
                        bytes.extend(index.to_le_bytes());
                        CryptoHash::digest(&bytes).to_string()
                    })
                    .collect();
                for id in list(&outcome["outcome"]["receipt_ids"]) {
                    assert!(derived.contains(&text(id)));
                }
                if receipt["predecessor_id"] == "system" {
                    refunds += 1;
                    assert_eq!(receipt["receipt"]["Action"]["gas_price"], "0");
                    assert_eq!(outcome["outcome"]["tokens_burnt"], "0");
                    assert!(list(&outcome["outcome"]["receipt_ids"]).is_empty());
                }
            }
        }
    }
    assert!(refunds > 50, "{refunds} refunds");
}

#[test]
fn transaction_hashes_and_signatures_are_valid() {
    let mut practice = Practice::new(Settings::demo(8));
    let mut versions = BTreeSet::new();
    for _ in 0..12 {
        let message = practice.next_message();
        let block = read(&message);
        let views: HashMap<_, _> = list(&block["shards"])
            .iter()
            .flat_map(|shard| shard["chunk"]["transactions"].as_array().into_iter().flatten())
            .map(|entry| (text(&entry["transaction"]["hash"]), &entry["transaction"]))
            .collect();
        assert_eq!(views.len(), message.transactions.len());
        for transaction in &message.transactions {
            // The signature is at the end: a tag and 64 bytes.
            let (body, signature) = transaction.signed.split_last_chunk::<64>().unwrap();
            let body = &body[..body.len() - 1];
            assert_eq!(CryptoHash::digest(body), transaction.hash);
            let view = views[&transaction.hash.to_string()];
            assert_eq!(view["signer_id"], transaction.signer_id.as_str());
            assert_eq!(view["receiver_id"], transaction.receiver_id.as_str());
            let key: PublicKey = text(&view["public_key"]).parse().unwrap();
            let key = VerifyingKey::from_bytes(key.as_bytes().try_into().unwrap()).unwrap();
            key.verify_strict(transaction.hash.as_bytes(), &Signature::from_bytes(signature))
                .unwrap();
            versions.insert(body[1] == 0);
        }
    }
    assert_eq!(versions.len(), 2, "transactions of both versions");
}

#[test]
fn every_variant_occurs_within_300_blocks() {
    let mut practice = Practice::new(Settings::demo(1));
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut kinds: BTreeMap<Kind, u32> = BTreeMap::new();
    // The number of the block that received a receipt.
    let mut received: HashMap<String, usize> = HashMap::new();
    let mut failed_with_deposit = 0;
    for number in 0..300 {
        let message = practice.next_message();
        for transaction in &message.transactions {
            *kinds.entry(transaction.kind).or_default() += 1;
        }
        let mut count = |what: &str| *seen.entry(what.into()).or_default() += 1;
        for shard in list(&read(&message)["shards"]) {
            if shard["chunk"].is_null() {
                count("missing chunk");
                continue;
            }
            for entry in list(&shard["chunk"]["transactions"]) {
                for action in list(&entry["transaction"]["actions"]) {
                    count(
                        action
                            .as_str()
                            .unwrap_or_else(|| action.as_object().unwrap().keys().next().unwrap()),
                    );
                }
                if entry["outcome"].is_null() {
                    count("transaction without outcome");
                }
                if entry["transaction"]["nonce_mode"] == "strict" {
                    count("strict nonce");
                }
            }
            for name in ["receipts", "local_receipts"] {
                for receipt in list(&shard["chunk"][name]) {
                    received.insert(text(&receipt["receipt_id"]), number);
                    let (kind, body) =
                        receipt["receipt"].as_object().unwrap().iter().next().unwrap();
                    count(&format!("{name}: {kind}"));
                    for flag in ["is_promise_yield", "is_promise_resume"] {
                        if body[flag] == true {
                            count(flag);
                        }
                    }
                    if kind == "Data" && body["data"].is_null() {
                        count("data of a failure");
                    }
                }
            }
            for (outcome, receipt) in outcomes(shard) {
                let body = &outcome["outcome"];
                let status = body["status"].as_object().unwrap();
                count(status.keys().next().unwrap());
                if let Some(error) = status.get("Failure") {
                    count(error.as_object().unwrap().keys().next().unwrap());
                    let kind = &error["ActionError"]["kind"];
                    if let Some((name, _)) = kind.as_object().and_then(|kind| kind.iter().next()) {
                        count(name);
                    }
                    failed_with_deposit += u32::from(list(&body["receipt_ids"]).len() == 2);
                }
                count(&format!("metadata {}", body["metadata"]["version"]));
                for log in list(&body["logs"]) {
                    let log = log.as_str().unwrap();
                    count(if log.starts_with("EVENT_JSON:") { "event" } else { "log" });
                    if !log.is_ascii() {
                        count("log beyond ascii");
                    }
                }
                let Some(delay) = received.get(&text(&outcome["id"])).map(|then| number - then)
                else {
                    count("outcome without receipt");
                    continue;
                };
                let refund = receipt["predecessor_id"] == "system";
                match (refund, delay) {
                    (true, 0) => count("immediate refund"),
                    (true, _) => count("refund later"),
                    (false, 3..) => count("delayed receipt"),
                    (false, _) => {}
                }
            }
        }
    }
    assert!(failed_with_deposit > 0, "no failure refunded both deposit and gas");
    for kind in Kind::ALL {
        assert!(kinds.get(&kind).is_some_and(|count| *count > 10), "{kind}: {kinds:?}");
        assert!(practice.latest(kind).is_some_and(|latest| latest.kind == kind));
    }
    for what in [
        "missing chunk",
        "CreateAccount",
        "DeployContract",
        "FunctionCall",
        "Transfer",
        "Stake",
        "AddKey",
        "DeleteKey",
        "DeleteAccount",
        "Delegate",
        "transaction without outcome",
        "strict nonce",
        "receipts: Action",
        "receipts: Data",
        "local_receipts: Action",
        "is_promise_yield",
        "is_promise_resume",
        "data of a failure",
        "SuccessValue",
        "SuccessReceiptId",
        "Failure",
        "ActionError",
        "InvalidTxError",
        "FunctionCallError",
        "AccountDoesNotExist",
        "AccountAlreadyExists",
        "LackBalanceForState",
        "metadata 1",
        "metadata 3",
        "metadata 4",
        "event",
        "log",
        "log beyond ascii",
        "outcome without receipt",
        "immediate refund",
        "refund later",
        "delayed receipt",
    ] {
        assert!(seen.contains_key(what), "{what} did not occur: {seen:?}");
    }
}

#[test]
fn a_simulation_has_abandoned_forks_and_repeated_messages() {
    let mut practice = Practice::new(Settings::simulation(9));
    let mut parents: HashMap<CryptoHash, CryptoHash> = HashMap::new();
    let mut heights: HashMap<CryptoHash, u64> = HashMap::new();
    let mut last: Option<BlockMessage> = None;
    let mut head = CryptoHash::ZERO;
    let mut finals = Vec::new();
    let (mut abandoned, mut both) = (HashSet::new(), 0);
    let (mut repeats, mut overtaken) = (0, 0);
    let mut included: HashMap<CryptoHash, u32> = HashMap::new();
    for _ in 0..400 {
        let message = practice.next_message();
        if message.repeated {
            repeats += 1;
            assert_eq!(last.as_ref().map(|last| &last.json), Some(&message.json));
            continue;
        }
        let header = &read(&message)["block"]["header"];
        assert!(message.prev_hash == CryptoHash::ZERO || heights.contains_key(&message.prev_hash));
        let highest = heights.values().copied().max().unwrap_or_default();
        parents.insert(message.hash, message.prev_hash);
        assert_eq!(
            heights.insert(message.hash, message.height),
            None,
            "a block was delivered twice"
        );
        for transaction in &message.transactions {
            let times = included.entry(transaction.hash).or_default();
            *times += 1;
            both += u32::from(*times == 2);
        }
        if message.abandoned {
            abandoned.insert(message.hash);
        } else {
            assert_eq!(message.prev_hash, head, "a canonical block extends the head");
            overtaken += u32::from(message.height <= highest);
            head = message.hash;
        }
        finals.push(text(&header["last_final_block"]).parse::<CryptoHash>().unwrap());
        last = Some(message);
    }
    assert!(repeats > 5 && abandoned.len() > 30, "{repeats} repeats, {abandoned:?}");
    assert!(overtaken > 5, "only {overtaken} times was a fork higher");
    assert!(both > 10, "only {both} transactions were on both sides of a fork");
    // Every block that became final is on the canonical chain.
    let mut chain = HashSet::from([CryptoHash::ZERO]);
    while head != CryptoHash::ZERO {
        chain.insert(head);
        head = parents[&head];
    }
    assert!(chain.is_disjoint(&abandoned));
    assert!(finals.iter().all(|hash| chain.contains(hash)));
}

#[test]
fn receipts_are_executed_on_the_shard_of_their_receiver() {
    for shards in [0, 1, 2, 7, 26, 100] {
        let settings = Settings { shards, late_outcomes: 0, ..Settings::demo(11) };
        let count = settings.shard_count();
        let mut practice = Practice::new(settings.clone());
        for _ in 0..8 {
            let message = practice.next_message();
            let block = read(&message);
            assert_eq!(list(&block["shards"]).len(), count);
            for (shard, entry) in list(&block["shards"]).iter().enumerate() {
                for (outcome, _) in outcomes(entry) {
                    let executor: AccountId =
                        text(&outcome["outcome"]["executor_id"]).parse().unwrap();
                    assert_eq!(settings.shard_of(&executor), shard);
                }
            }
        }
    }
}

#[test]
fn recent_transactions_are_limited() {
    let mut practice = Practice::new(Settings { recent: 9, ..Settings::demo(12) });
    for _ in 0..12 {
        practice.next_message();
        assert!(practice.recent().count() <= 9);
    }
    let newest: Vec<_> = practice.recent().map(|transaction| transaction.height).collect();
    assert!(newest.is_sorted_by(|newer, older| newer >= older), "{newest:?}");
}

#[test]
fn a_transfer_that_is_not_paid_for_states_its_own_cost() {
    let number = |value: &Value| text(value).parse::<u128>().expect("a number");
    let mut practice = Practice::new(Settings::demo(1));
    let (mut fees, mut burnt) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        let message = read(&practice.next_message());
        for transaction in list(&message["shards"])
            .iter()
            .flat_map(|shard| shard["chunk"]["transactions"].as_array().into_iter().flatten())
        {
            let deposit = &transaction["transaction"]["actions"][0]["Transfer"]["deposit"];
            let outcome = &transaction["outcome"]["execution_outcome"]["outcome"];
            if deposit.is_null() || outcome.is_null() {
                continue;
            }
            let error = &outcome["status"]["Failure"]["InvalidTxError"]["NotEnoughBalance"];
            if error.is_null() {
                burnt.push(number(&outcome["tokens_burnt"]));
                continue;
            }
            let (balance, cost) = (number(&error["balance"]), number(&error["cost"]));
            assert!(balance < cost && cost > number(deposit), "{transaction}");
            fees.push(cost - number(deposit));
        }
    }
    assert!(fees.len() > 3, "{fees:?}");
    // More than converting a transfer burns, and less than twice as much: its receipt burns too.
    let conversion = burnt.into_iter().max().expect("there are valid transfers");
    for fee in fees {
        assert!((conversion..2 * conversion).contains(&fee), "{fee}, {conversion}");
    }
}
