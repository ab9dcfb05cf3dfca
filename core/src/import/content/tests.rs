//! The passes over a message compared with each other, and summaries with the views.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use milepost_practice::{Practice, Settings};
use milepost_testkit::{Rng, damaged};
use serde_json::Value;

use super::BlockContent;
use super::block_reader::{Pass, read_again, read_pass};
use crate::Error;
use crate::codec::json;
use crate::config::TrackedShards;
use crate::import::ImportSettings;
use crate::import::message::check_complete;
use crate::import::summary::{
    Members, OutcomeSummary, ReceiptSummary, RowSummary, TransactionSummary, check_canonical,
};
use crate::primitives::CryptoHash;
use crate::storage::rows::OutcomeStatus;
use crate::views::TypeMismatches;
use crate::views::schema::{HasSchema as _, Repairs};

/// What damage puts into a text
const PIECES: &[&str] = &[
    "\"", "\\", ",", ":", "{", "}", "[", "]", "0", "-", ".", "e", " ", "1", "null", "x", "=", "A",
    "\\n", "true", "\"\"", "é", "_", "system",
];

/// The first messages of a chain, as text
fn messages(count: usize) -> Vec<String> {
    let mut chain =
        Practice::new(Settings { transactions: 1..=2, shards: 2, ..Settings::simulation(3) });
    (0..count).map(|_| String::from_utf8(chain.next_message().json).unwrap()).collect()
}

/// The message with the shards before the block, which the first pass does not accept
fn shards_first(message: &str) -> String {
    let value: Value = serde_json::from_str(message).unwrap();
    format!(r#"{{"shards":{},"block":{}}}"#, value["shards"], value["block"])
}

#[test]
fn the_first_pass_gives_the_content_of_the_further_ones() {
    let strict = &ImportSettings::default().with_strict_types(true);
    let mut rng = Rng::new(11);
    let (mut first, mut further) = (0, 0);
    for message in messages(30) {
        assert!(read_pass(&message, Pass::TextOrder, strict, &mut ()).is_ok());
        for round in 0..60 {
            let text =
                if round == 0 { message.clone() } else { damaged(&message, PIECES, &mut rng) };
            let settings = &strict.with_strict_types(round % 2 == 0);
            match read_pass(&text, Pass::TextOrder, settings, &mut ()) {
                Ok(content) => {
                    assert_eq!(Ok(content), read_again(&text, settings), "{text}");
                    first += 1;
                }
                Err(_) => further += 1,
            }
        }
        let reordered = shards_first(&message);
        assert!(read_pass(&reordered, Pass::TextOrder, strict, &mut ()).is_err());
        assert_eq!(BlockContent::read(reordered.as_bytes(), strict), read_again(&message, strict));
    }
    assert!(first > 200 && further > 200, "{first} {further}");
}

#[test]
fn blanks_and_the_order_of_members_change_nothing() {
    fn reversed(value: &Value, out: &mut String) {
        match value {
            Value::Object(members) => {
                out.push_str("{ ");
                for (index, (key, value)) in members.iter().rev().enumerate() {
                    out.push_str(if index > 0 { " ,\n" } else { "" });
                    out.push_str(&format!("{} :\t", Value::from(&**key)));
                    reversed(value, out);
                }
                out.push_str(" }");
            }
            Value::Array(items) => {
                out.push('[');
                for (index, value) in items.iter().enumerate() {
                    out.push_str(if index > 0 { " , " } else { "\r\n" });
                    reversed(value, out);
                }
                out.push(']');
            }
            scalar => out.push_str(&scalar.to_string()),
        }
    }
    let strict = &ImportSettings::default().with_strict_types(true);
    for message in messages(12) {
        let value: Value = serde_json::from_str(&message).unwrap();
        let [mut block, mut shards] = [String::new(), String::new()];
        reversed(&value["block"], &mut block);
        reversed(&value["shards"], &mut shards);
        let text = format!("{{\"block\": {block}, \"shards\": {shards}}}\n");
        let content = read_pass(&text, Pass::TextOrder, strict, &mut ()).ok();
        assert_eq!(content, read_again(&message, strict).ok());
        assert!(content.is_some());
    }
}

/// Transactions, receipts and outcomes with every variant, one text each
fn texts_of_every_variant() -> [Vec<String>; 3] {
    const HASH: &str = "4WEvGGUYUzBvwXfrNSAu2i8S3HN7w5eXTokh9XRCCEu6";
    const KEY: &str = "ed25519:4WEvGGUYUzBvwXfrNSAu2i8S3HN7w5eXTokh9XRCCEu6";
    // 64 bytes.
    const ZEROES: &str = "1111111111111111111111111111111111111111111111111111111111111111";
    let signature = "ed25519:4Rvk6HnAupVbnSC8JS44sXpMBEndrZG476LeKw71k55CZS6iqraQvoAbrqcM9D8WkX4tsszPrzydD7ahXDfn6ztX";
    let inner = format!(
        r#"["CreateAccount",{{"CreateAccount":{{}}}},{{"Transfer":{{"deposit":"1"}}}},{{"FunctionCall":{{"args":"e30=","deposit":"0","gas":3,"method_name":"m"}}}},
        {{"AddKey":{{"access_key":{{"nonce":0,"permission":"FullAccess"}},"public_key":"{KEY}"}}}}]"#
    )
    .replace("\"CreateAccount\",{", "{");
    let actions = format!(
        r#"["CreateAccount",{{"DeployContract":{{"code":"AQIDBA=="}}}},{{"FunctionCall":{{"args":"e30=","deposit":"1","gas":30000000000000,"method_name":"call \"it\""}}}},
        {{"Transfer":{{"deposit":"340282366920938463463374607431768211455"}}}},{{"Stake":{{"public_key":"{KEY}","stake":"0"}}}},
        {{"AddKey":{{"access_key":{{"nonce":18446744073709551615,"permission":{{"FunctionCall":{{"allowance":null,"method_names":["a"],"receiver_id":"b.near"}}}}}},"public_key":"{KEY}"}}}},
        {{"AddKey":{{"access_key":{{"nonce":0,"permission":{{"GasKeyFullAccess":{{"balance":"0","num_nonces":3}}}}}},"public_key":"secp256k1:{ZEROES}"}}}},
        {{"DeleteKey":{{"public_key":"{KEY}"}}}},{{"DeleteAccount":{{"beneficiary_id":"b.near"}}}},
        {{"Delegate":{{"delegate_action":{{"actions":{inner},"max_block_height":9,"nonce":1,"public_key":"{KEY}","receiver_id":"r.near","sender_id":"s.near"}},"signature":"{signature}"}}}},
        {{"UseGlobalContract":{{"code_hash":"{HASH}"}}}},{{"UseGlobalContractByAccountId":{{"account_id":"g.near"}}}},
        {{"DeterministicStateInit":{{"code":{{"hash":"{HASH}"}},"data":{{}},"deposit":"0"}}}},{{"NewThing":{{"a":[1,{{}}]}}}},"NewWord",{{"CreateAccount":null}}]"#
    );
    let action = |actions: &str, more: &str| {
        format!(
            r#"{{"predecessor_id":"system","priority":0,"receipt":{{"Action":{{"actions":{actions},"gas_price":"100","input_data_ids":["{HASH}"],"is_promise_yield":false,{more}
            "output_data_receivers":[{{"data_id":"{HASH}","receiver_id":"o.near"}}],"signer_id":"s.near","signer_public_key":"{KEY}"}}}},"receipt_id":"{HASH}","receiver_id":"r.near"}}"#
        )
    };
    let receipt = |body: &str| {
        format!(
            r#"{{"predecessor_id":"p.near","receipt":{body},"receipt_id":"{HASH}","receiver_id":"r.near","z":1}}"#
        )
    };
    let outcome = |status: &str, metadata: &str| {
        format!(
            r#"{{"block_hash":"{HASH}","id":"{HASH}","outcome":{{"executor_id":"e.near","gas_burnt":223182562500,"logs":["one","tw\"o\\"],{metadata}
            "receipt_ids":["{HASH}","11111111111111111111111111111112"],"status":{status},"tokens_burnt":"0"}},"proof":[{{"direction":"Left","hash":"{HASH}"}},{{"direction":"Right","hash":"{HASH}"}}]}}"#
        )
    };
    let transaction = |actions: &str, more: &str| {
        format!(
            r#"{{"actions":{actions},"hash":"{HASH}","nonce":1,{more}"priority_fee":0,"public_key":"{KEY}","receiver_id":"r.near","signature":"{signature}","signer_id":"r.near"}}"#
        )
    };
    let short = r#"[{"Transfer":{"deposit":"5"}}]"#;
    [
        alloc::vec![
            transaction(&actions, ""),
            transaction(short, r#""nonce_index":3,"nonce_mode":"strict","#),
            transaction(short, "")
        ],
        alloc::vec![
            action(&actions, ""),
            action(short, r#""refund_to":"x.near","#),
            receipt(&format!(r#"{{"Data":{{"data":"e30=","data_id":"{HASH}"}}}}"#)),
            receipt(&format!(
                r#"{{"Data":{{"data":null,"data_id":"{HASH}","is_promise_resume":true}}}}"#
            )),
            receipt(&format!(
                r#"{{"GlobalContractDistribution":{{"already_delivered_shards":[0,7],"code":"","id":{{"CodeHash":"{HASH}"}},"target_shard":1}}}}"#
            )),
        ],
        alloc::vec![
            outcome(r#"{"SuccessValue":""}"#, ""),
            outcome(
                &format!(r#"{{"SuccessReceiptId":"{HASH}"}}"#),
                r#""metadata":{"gas_profile":null,"version":1},"#
            ),
            outcome(
                r#""Unknown""#,
                r#""metadata":{"gas_profile":[{"cost":"C","cost_category":"X","gas_used":"77"}],"version":3},"#
            ),
            outcome(
                r#"{"Failure":{"ActionError":{"index":0,"kind":{"FunctionCallError":{"ExecutionError":"Smart contract panicked: \u001b[0m"}}}}}"#,
                &format!(
                    r#""metadata":{{"contracts":[null,{{"local":"{HASH}"}},{{"global_account_id":"g.near"}}],"gas_profile":[],"version":4}},"#
                ),
            ),
            outcome(
                r#"{"Failure":{"InvalidTxError":{"InvalidNonce":{"ak_nonce":5,"tx_nonce":4}}}}"#,
                ""
            ),
            outcome(r#"{"Later":[]}"#, ""),
        ],
    ]
}

/// The summary of a canonical text, which is rewritten where it is not as a node writes it
fn summary_of<S: RowSummary>(text: &mut String, strict: bool) -> Result<(S, Repairs), Error> {
    let (offsets, repairs, _) = check_canonical(S::View::SCHEMA, S::NAMES, text, strict)?;
    let summary = S::read(Members { text, offsets });
    Ok((summary.map_err(|error| error.into_error(text))?, repairs))
}

/// Checks on damaged texts that a summary has the members of the text, and that with strict types a
/// text has one exactly if its repaired text is read as the view; counts the summaries
fn check_summaries<S>(texts: &[String], expected: fn(&Value, &str) -> S, rng: &mut Rng) -> usize
where
    S: RowSummary<View: serde::de::DeserializeOwned> + PartialEq + core::fmt::Debug,
{
    let mut accepted = 0;
    let canonical = |text: &str| {
        let mut out = String::new();
        json::canonical(text, &mut out).ok().map(|()| out)
    };
    for text in texts {
        for round in 0..8_000 {
            let text = if round == 0 { text.clone() } else { damaged(text, PIECES, rng) };
            let Some(text) = canonical(&text) else { continue };
            let mut repaired = text.clone();
            match (summary_of::<S>(&mut repaired, true), json::read::<S::View>(&repaired)) {
                (Ok((summary, _)), Ok(_)) => {
                    let expected = expected(&json::read(&repaired).unwrap(), &repaired);
                    assert_eq!(summary, expected, "{repaired}");
                    accepted += 1;
                }
                (summary, view) => {
                    assert!(summary.is_err() && view.is_err(), "{text}");
                    assert!(round > 0, "{text}");
                }
            }
            check_lenient_summary::<S>(&text, repaired);
        }
    }
    accepted
}

/// Checks that without strict types a text has a summary too if it has one with them, and reports
/// members otherwise
fn check_lenient_summary<S>(text: &str, repaired: String)
where
    S: RowSummary + PartialEq + core::fmt::Debug,
{
    let mut lenient = text.to_string();
    let strict = summary_of::<S>(&mut text.to_string(), true);
    let mut type_mismatches = TypeMismatches::default();
    match summary_of::<S>(&mut lenient, false) {
        Ok((summary, repairs)) => {
            repairs.report(&lenient, &String::new, &mut type_mismatches);
            assert_eq!(type_mismatches.count == 0, strict.is_ok(), "{text}");
            assert_eq!(type_mismatches.count > 0, type_mismatches.first.is_some(), "{text}");
            if let Ok((expected, _)) = strict {
                assert_eq!((summary, lenient), (expected, repaired), "{text}");
            }
        }
        Err(_) => assert!(strict.is_err(), "{text}"),
    }
}

#[test]
fn summaries_have_the_members_of_the_texts() {
    let transaction = |value: &Value, _: &str| TransactionSummary {
        hash: value["hash"].as_str().unwrap().parse().unwrap(),
        signer_is_receiver: value["signer_id"] == value["receiver_id"],
    };
    let receipt = |value: &Value, _: &str| ReceiptSummary {
        id: value["receipt_id"].as_str().unwrap().parse().unwrap(),
        refund: value["predecessor_id"] == "system",
    };
    let outcome = |value: &Value, text: &str| {
        let hash = |value: &Value| value.as_str().unwrap().parse::<CryptoHash>().unwrap();
        let status = &value["outcome"]["status"];
        // The last member but one of the outcome.
        let start = text.rfind(",\"status\":").unwrap() + ",\"status\":".len();
        let length = json::write(status).len();
        OutcomeSummary {
            id: hash(&value["id"]),
            block_hash: hash(&value["block_hash"]),
            receipt_ids: value["outcome"]["receipt_ids"]
                .as_array()
                .unwrap()
                .iter()
                .map(|id| *hash(id).as_bytes())
                .collect(),
            status: if let Some(id) = status.get("SuccessReceiptId") {
                OutcomeStatus::SuccessReceiptId(hash(id))
            } else if status.get("SuccessValue").is_some() {
                OutcomeStatus::SuccessValue
            } else if status.get("Failure").is_some() {
                OutcomeStatus::Failure
            } else {
                OutcomeStatus::Unknown
            },
            status_text: start..start + length,
        }
    };
    let mut rng = Rng::new(5);
    let [transactions, receipts, outcomes] = texts_of_every_variant();
    let accepted = check_summaries(&transactions, transaction, &mut rng)
        + check_summaries(&receipts, receipt, &mut rng)
        + check_summaries(&outcomes, outcome, &mut rng);
    assert!(accepted > 4_000, "{accepted}");
}

#[test]
fn a_message_has_each_new_chunk_that_its_block_lists() {
    let message: Value = serde_json::from_str(&messages(1)[0]).unwrap();
    let check_of = |message: &Value, shards| {
        let settings = &ImportSettings::default().with_strict_types(true).with_track_shards(shards);
        let listed = message.to_string();
        let first = shards_first(&listed);
        let [read, reordered] =
            [&listed, &first].map(|text| BlockContent::read(text.as_bytes(), settings).map(drop));
        let [read, reordered, checked] =
            [read, reordered, check_complete(listed.as_bytes(), shards).map(drop)]
                .map(|result| result.map_err(|error| error.to_string()));
        assert_eq!(read, checked);
        // Only the offset in the text may differ.
        assert_eq!(read.is_ok(), reordered.is_ok());
        read
    };
    let check = |message: &Value| check_of(message, TrackedShards::ALL);
    assert_eq!(check(&message), Ok(()));
    let height = message["block"]["header"]["height"].clone();
    let incomplete = |shard| Err(format!("shards: incomplete, shard {shard} lacks its chunk"));
    let mut no_chunk = message.clone();
    no_chunk["shards"][1]["chunk"] = Value::Null;
    assert_eq!(check(&no_chunk), incomplete(1));
    let mut no_shard = message.clone();
    no_shard["shards"].as_array_mut().unwrap().remove(0);
    assert_eq!(check(&no_shard), incomplete(0));
    // A partial feed has the chunks of its shards.
    let [first, second] = [0, 1].map(|id| TrackedShards::new([id]).unwrap());
    assert_eq!([first, second].map(|id| check_of(&no_shard, id)), [incomplete(0), Ok(())]);
    assert_eq!([first, second].map(|id| check_of(&no_chunk, id)), [Ok(()), incomplete(1)]);
    assert_eq!(check_of(&no_shard, first.with_shard(1).unwrap()), incomplete(0));
    // A chunk under the id of another shard is not the one of this shard.
    let mut other_shard = message.clone();
    other_shard["shards"][1]["shard_id"] = 7.into();
    assert_eq!(check(&other_shard), incomplete(1));
    let mut anonymous = message.clone();
    anonymous["shards"][1].as_object_mut().unwrap().remove("shard_id");
    assert_eq!(check(&anonymous), incomplete(1));
    // A chunk of an earlier block is in the message of that block, and no list asks for nothing.
    no_chunk["block"]["chunks"][1]["height_included"] = (height.as_u64().unwrap() - 1).into();
    assert_eq!(check(&no_chunk), Ok(()));
    for list in [Value::Null, Value::Array(Vec::new())] {
        no_shard["block"]["chunks"] = list;
        assert_eq!(check(&no_shard), Ok(()));
    }
    no_shard["block"]["chunks"] =
        serde_json::json!([{ "shard_id": "x", "height_included": height }]);
    let error = check(&no_shard).unwrap_err();
    assert!(error.starts_with("block.chunks[0].shard_id: invalid type"), "{error}");
}

#[test]
fn a_shard_with_a_new_chunk_has_its_outcomes() {
    let message: Value = serde_json::from_str(&messages(1)[0]).unwrap();
    let read = |message: &Value| {
        let read = BlockContent::read(message.to_string().as_bytes(), &ImportSettings::default());
        // Without the offset.
        read.map(drop).map_err(|error| format!("{}: {}", error.path(), error.detail()))
    };
    let mut absent = message.clone();
    let shard = absent["shards"][1].as_object_mut().unwrap();
    shard.remove("receipt_execution_outcomes").unwrap();
    let missing = "shards[1]: missing field `receipt_execution_outcomes`";
    assert_eq!(read(&absent), Err(String::from(missing)));
    // Without a new chunk nothing is executed.
    absent["shards"][1]["chunk"] = Value::Null;
    absent["block"]["chunks"] = Value::Null;
    assert_eq!(read(&absent), Ok(()));
}
