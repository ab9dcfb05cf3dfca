//! Members of other types than a node writes: those that are rewritten, imported or refused.
//!
//! One block has a transaction, a receipt and two outcomes; each case replaces some text in it.

use alloc::format;
use alloc::string::{String, ToString as _};

use super::{BlockImport, ImportSettings, ImportSummary};
use crate::Error;
use crate::storage::rows::{OutcomeRecord, ReceiptRecord, TransactionRecord};
use crate::storage::{Key, MemoryStorage, Snapshot as _, Storage as _, Table, run};

const HASH: &str = "11111111111111111111111111111112";
const RECEIPT: &str = "11111111111111111111111111111113";
const KEY: &str = "ed25519:11111111111111111111111111111111";

/// A block message, compact and sorted
fn message() -> String {
    let outcome = |id, status: &str| {
        format!(
            r#"{{"block_hash":"{HASH}","id":"{id}","outcome":{{"executor_id":"a.near","gas_burnt":5,"logs":[],"metadata":{{"gas_profile":[{{"cost":"C","cost_category":"X","gas_used":"7"}}],"version":3}},"receipt_ids":["{RECEIPT}"],"status":{status},"tokens_burnt":"6"}},"proof":[]}}"#
        )
    };
    let delegate = format!(
        r#"{{"Delegate":{{"delegate_action":{{"actions":[{{"Transfer":{{"deposit":"3"}}}}],"max_block_height":9,"nonce":1,"public_key":"{KEY}","receiver_id":"r.near","sender_id":"s.near"}},"signature":"{KEY}"}}}}"#
    );
    let call = r#"{"FunctionCall":{"args":"e30=","deposit":"1","gas":30,"method_name":"m"}}"#;
    let transaction = format!(
        r#"{{"actions":["CreateAccount",{call},{delegate}],"hash":"{HASH}","nonce":1,"priority_fee":0,"public_key":"{KEY}","receiver_id":"b.near","signature":"{KEY}","signer_id":"a.near"}}"#
    );
    let receipt = format!(
        r#"{{"predecessor_id":"a.near","priority":0,"receipt":{{"Data":{{"data":null,"data_id":"{HASH}","is_promise_resume":false}}}},"receipt_id":"{RECEIPT}","receiver_id":"b.near"}}"#
    );
    format!(
        r#"{{"block":{{"header":{{"height":7,"hash":"{HASH}","prev_hash":"11111111111111111111111111111111","epoch_id":"11111111111111111111111111111111"}}}},"shards":[{{"chunk":{{"transactions":[{{"transaction":{transaction},"outcome":{{"execution_outcome":{}}}}}],"receipts":[],"instant_receipts":[{receipt}]}},"receipt_execution_outcomes":[{{"execution_outcome":{},"receipt":{receipt}}}]}}]}}"#,
        outcome(HASH, &format!(r#"{{"SuccessReceiptId":"{RECEIPT}"}}"#)),
        outcome(RECEIPT, r#"{"SuccessValue":""}"#),
    )
    // Valid keys are no valid signatures, so this one is longer.
    .replace(
        &format!(r#""signature":"{KEY}""#),
        &format!(r#""signature":"ed25519:{}""#, "1".repeat(64)),
    )
}

/// The texts that are stored, one after the other, and the summary
fn import(message: &str, strict_types: bool) -> Result<(String, ImportSummary), Error> {
    let settings = ImportSettings::default().with_strict_types(strict_types);
    let mut storage = MemoryStorage::new();
    let mut import = BlockImport::new(message.as_bytes(), settings)?;
    let (batch, summary) = run(&mut import, &storage)?;
    storage.commit(batch).unwrap();
    let mut texts = String::new();
    for (table, id) in [
        (Table::Transactions, HASH),
        (Table::Receipts, RECEIPT),
        (Table::Outcomes, HASH),
        (Table::Outcomes, RECEIPT),
    ] {
        let row = storage.get(&Key::hash(table, id.parse().unwrap())).unwrap().unwrap();
        let fragment = match table {
            Table::Transactions => TransactionRecord::decode(&row).unwrap().fragment,
            Table::Receipts => ReceiptRecord::decode(&row).unwrap().fragment,
            _ => OutcomeRecord::decode(&row).unwrap().fragment,
        };
        texts.push_str(str::from_utf8(fragment).unwrap());
    }
    Ok((texts, summary))
}

#[test]
fn a_member_with_one_meaning_is_stored_as_a_node_writes_it() {
    let (expected, summary) = import(&message(), true).unwrap();
    assert_eq!((summary.transactions, summary.receipts, summary.outcomes), (1, 1, 2));
    for (written, retyped) in [
        (r#""gas_burnt":5"#, r#""gas_burnt":"5""#),
        (r#""gas":30"#, r#""gas":"030""#),
        (r#""gas_used":"7""#, r#""gas_used":7"#),
        (r#""tokens_burnt":"6""#, r#""tokens_burnt":6"#),
        (r#""deposit":"1""#, r#""deposit":"+1""#),
        (r#""deposit":"3""#, r#""deposit":"003""#),
        (r#""CreateAccount""#, r#"{ "CreateAccount" : null }"#),
        (r#""nonce":1"#, r#""nonce":"1""#),
        (r#""priority":0"#, r#""priority":"0""#),
        (r#""version":3"#, r#""version":"\u0033""#),
    ] {
        let retyped = message().replace(written, retyped);
        assert_ne!(retyped, message());
        for strict_types in [false, true] {
            let (texts, found) = import(&retyped, strict_types).unwrap();
            assert_eq!(texts, expected);
            assert_eq!(found, summary, "{retyped}");
        }
    }
}

#[test]
fn any_other_member_is_taken_in_and_counted_unless_types_are_strict() {
    const TRANSACTION: &str = "shards[0].chunk.transactions[0].transaction";
    const OUTCOME: &str = "shards[0].chunk.transactions[0].outcome.execution_outcome.outcome";
    let message = message();
    let (expected, _) = import(&message, true).unwrap();
    for (written, retyped, count, path) in [
        (r#""gas_burnt":5"#, r#""gas_burnt":{"refunded":5}"#, 2, "gas_burnt"),
        (r#""gas_burnt":5"#, r#""gas_burnt":-5"#, 2, "gas_burnt"),
        (r#""logs":[]"#, r#""logs":null"#, 2, "logs"),
        (r#""executor_id":"a.near""#, r#""executor_id":"A""#, 2, "executor_id"),
        (r#"{"SuccessValue":""}"#, r#"{"SuccessValue":[]}"#, 1, ""),
        (r#"{"SuccessValue":""}"#, r#"{"Failure":7}"#, 1, ""),
    ] {
        let retyped_message = message.replace(written, retyped);
        let (texts, summary) = import(&retyped_message, false).unwrap();
        assert_eq!(texts, expected.replace(written, retyped));
        let type_mismatches = summary.type_mismatches;
        assert_eq!(type_mismatches.count, count);
        let first = type_mismatches.first.unwrap();
        assert_eq!(first.offset(), None);
        if !path.is_empty() {
            assert_eq!(first.path(), format!("{OUTCOME}.{path}"));
        }
        let error = import(&retyped_message, true).unwrap_err();
        assert_eq!((error.path(), error.detail()), (first.path(), first.detail()));
        let value = retyped_message.find(retyped).unwrap();
        let value = value..value + retyped.len() + 1;
        assert!(value.contains(&error.offset().unwrap()), "{error}");
    }
    let retyped = message.replace(r#""method_name":"m""#, r#""method_name":1"#);
    let first = import(&retyped, false).unwrap().1.type_mismatches.first.unwrap();
    assert_eq!(first.path(), format!("{TRANSACTION}.actions[1].FunctionCall.method_name"));
}

#[test]
fn what_the_engine_reads_is_required_in_any_case() {
    for (written, broken, path) in [
        (r#""SuccessReceiptId":"11"#, r#""SuccessReceiptId":"0"#, "SuccessReceiptId"),
        (r#"{"SuccessValue":""}"#, r#""SuccessValue""#, "outcome.status"),
        (r#"{"SuccessValue":""}"#, r#"{"Failure":{},"SuccessValue":""}"#, "outcome.status"),
        (r#"{"SuccessValue":""}"#, r#"{"New":1,"SuccessValue":""}"#, "outcome.status"),
        (r#"{"SuccessValue":""}"#, "7", "outcome.status"),
        (r#"{"SuccessValue":""}"#, "{}", "outcome.status"),
        (r#""receipt_ids":["11"#, r#""receipt_ids":["0"#, "receipt_ids[0]"),
        (r#""receipt_ids":[""#, r#""receipt_ids":[7,""#, "receipt_ids[0]"),
        (r#""id":""#, r#""id":"0"#, "execution_outcome.id"),
        (r#""block_hash":""#, r#""block_hash":"0"#, "execution_outcome.block_hash"),
        (r#"],"hash":""#, r#"],"hash":"0"#, "transaction.hash"),
        (r#""signer_id":"a.near""#, r#""signer_id":7"#, "signer_id"),
        (r#""predecessor_id":"a.near""#, r#""predecessor_id":null"#, "predecessor_id"),
        (r#""receipt_id":""#, r#""receipt_id":"0"#, "receipt_id"),
        (r#""height":7"#, r#""height":"7""#, "height"),
        // A member that is missing has no type.
        (r#""gas_burnt":5,"#, "", "execution_outcome.outcome"),
        (r#"{"Transfer":{"deposit":"3"}}"#, r#"{"Transfer":{}}"#, "actions[0].Transfer"),
        // A delegate action inside another is no action of a later version.
        (r#"{"Transfer":{"deposit":"3"}}"#, r#"{"DelegateV2":{}}"#, "actions[0].DelegateV2"),
        (r#"{"Transfer":{"deposit":"3"}}"#, r#""Delegate""#, "actions[0]"),
    ] {
        let message = message().replace(written, broken);
        for strict_types in [false, true] {
            let error = import(&message, strict_types).unwrap_err();
            assert!(error.path().contains(path), "{broken}: {error}");
        }
    }
    // The member that holds some of them may be of any type.
    let text = message();
    let outcome = text.rfind(r#""outcome":{"executor"#).unwrap();
    let end = text.rfind(r#","proof""#).unwrap();
    let message = format!("{}\"outcome\":[]{}", &text[..outcome], &text[end..]);
    let error = import(&message, false).unwrap_err();
    assert_eq!(error.detail(), "missing field `receipt_ids`");
    assert!(import(&message, true).unwrap_err().path().ends_with("execution_outcome.outcome"));
}

#[test]
fn instant_receipts_are_read_as_other_receipts_are() {
    // The outcomes carry receipts too, so here they do not.
    let text = message();
    let start = text.find(r#","receipt_execution_outcomes""#).unwrap();
    let message = format!("{},\"receipt_execution_outcomes\":[]}}]}}", &text[..start]);
    let settings = ImportSettings::default();
    let mut storage = MemoryStorage::new();
    let mut import = BlockImport::new(message.as_bytes(), settings).unwrap();
    let (batch, summary) = run(&mut import, &storage).unwrap();
    storage.commit(batch).unwrap();
    assert_eq!(summary.receipts, 1);
    let key = Key::hash(Table::Receipts, RECEIPT.parse().unwrap());
    assert!(storage.get(&key).unwrap().is_some());
    let broken = message.replace(r#""instant_receipts":["#, r#""instant_receipts":[7,"#);
    let error = BlockImport::new(broken.as_bytes(), settings).unwrap_err();
    assert_eq!(error.path(), "shards[0].chunk.instant_receipts[0]".to_string());
}
