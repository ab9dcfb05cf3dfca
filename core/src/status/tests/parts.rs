//! The parts of a status as literal JSON, from the tree and from the row of the finalized one.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::rows::{Rows, chain, id, leads_to};
use super::*;
use crate::storage::rows::{FinalizedTransaction, OutcomeRecord};
use crate::storage::{Key, Table};
use crate::{Error, ErrorKind};

/// The text that a function appends
fn text(write: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>) -> String {
    let mut json = Vec::new();
    write(&mut json).unwrap();
    String::from_utf8(json).unwrap()
}

/// Outcomes, receipts and final status
fn parts(status: &TransactionStatus) -> [String; 3] {
    [
        text(|json| status.write_outcomes(json)),
        text(|json| status.write_receipts(json)),
        text(|json| status.write_final_status(json)),
    ]
}

/// The status of `rows` from the row of the finalized transaction
fn finalized(rows: &mut Rows) -> TransactionStatus {
    rows.chain(Some(12));
    let row = rows.status().finalized_row(&chain(Some(12))).unwrap().unwrap();
    rows.put(Key::hash(Table::Transactions, id("t")), row);
    rows.status()
}

/// Puts an outcome whose execution is this JSON
fn put_execution(rows: &mut Rows, name: &str, receipts: &[&str], execution: &str) {
    let fragment = format!(r#"{{"id":"{name}","outcome":{execution}}}"#);
    let receipt_ids: Vec<_> = receipts.iter().map(|name| *id(name).as_bytes()).collect();
    let record = OutcomeRecord {
        height: 11,
        status: SuccessValue,
        status_text: (0, 0),
        receipt_ids: &receipt_ids,
        fragment: fragment.as_bytes(),
    };
    rows.put(Key::hash(Table::Outcomes, id(name)), record.encode());
}

#[test]
fn parts_are_the_same_from_a_tree_and_from_a_finalized_row() {
    for (signer_is_receiver, receipts) in [
        (false, r#"[{"r":"a"},{"r":"c"},{"r":"b"}]"#),
        // The local receipt is not listed.
        (true, r#"[{"r":"c"},{"r":"b"}]"#),
    ] {
        let mut rows = branched(signer_is_receiver);
        let expected = [
            r#"[{"o":"t","s":"of t"},{"o":"a","s":"of a"},{"o":"c","s":"of c"},{"o":"b","s":"of b"}]"#,
            receipts,
            r#""of c""#,
        ];
        assert_eq!(parts(&rows.status()), expected);
        assert_eq!(parts(&finalized(&mut rows)), expected);
    }
}

#[test]
fn a_transaction_that_is_not_executed_has_empty_parts() {
    let mut rows = Rows::default();
    rows.transaction(10, false);
    assert_eq!(parts(&rows.status()), ["[]", "[]", r#""NotStarted""#]);
    rows.outcome("t", 10, leads_to("a"), &["a"]);
    let own = r#"[{"o":"t","s":"of t"}]"#;
    assert_eq!(parts(&rows.status()), [own, "[]", r#""Started""#]);
    // Only the receipts need the body of one that is executed.
    rows.outcome("a", 11, SuccessValue, &[]);
    let status = rows.status();
    assert_eq!(text(|json| status.write_final_status(json)), r#""of a""#);
    let error = status.write_receipts(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

#[test]
fn the_final_status_is_found_when_its_outcome_is_listed_first() {
    let mut rows = Rows::default();
    rows.transaction(10, false);
    // `t` leads to `b`, `b` to `a`; both are receipts of `t`, and `a` is listed before `b`.
    rows.outcome("t", 10, leads_to("b"), &["a", "b"]);
    rows.outcome("b", 11, leads_to("a"), &["a"]);
    rows.outcome("a", 12, Failure, &[]);
    for name in ["a", "b"] {
        rows.receipt(name, 11, false);
    }
    let status = finalized(&mut rows);
    assert_eq!(text(|json| status.write_final_status(json)), r#""of a""#);
}

#[test]
fn a_finalized_row_without_a_leaf_is_corrupt() {
    let mut rows = Rows::default();
    let own = OutcomeRecord {
        height: 10,
        status: leads_to("t"),
        status_text: (0, 0),
        receipt_ids: &[],
        fragment: b"",
    };
    let mut index = Vec::new();
    FinalizedTransaction::add_outcome(&mut index, id("t"), &own, (0, 2), None);
    let record = FinalizedTransaction {
        failed: false,
        height: 10,
        signer_is_receiver: false,
        receipt_count: 0,
        receipts: (0, 0),
        transaction: (0, 0),
        index: &index,
        result: b"{}",
    };
    rows.put(Key::hash(Table::Transactions, id("t")), record.encode());
    let error = rows.status().write_final_status(&mut Vec::new()).unwrap_err();
    let detail = "the finalized transaction has no final status";
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Corrupt, detail));
}

#[test]
fn amounts_are_summed_and_logs_are_listed_by_outcome() {
    let mut rows = Rows::default();
    rows.transaction(10, false);
    let max = u64::MAX;
    put_execution(
        &mut rows,
        "t",
        &["a", "b", "c"],
        &format!(r#"{{"gas_burnt":{max},"logs":[],"tokens_burnt":"5"}}"#),
    );
    put_execution(
        &mut rows,
        "a",
        &[],
        &format!(r#"{{"gas_burnt":{max},"logs":["x\n",1.50],"tokens_burnt":"7"}}"#),
    );
    put_execution(&mut rows, "b", &[], r#"{"logs":["y"]}"#);
    // Amounts and logs that are not of their types.
    let other = r#"{"gas_burnt":"1","logs":"z","tokens_burnt":1}"#;
    put_execution(&mut rows, "c", &[], other);
    let sum = BurntAmounts { gas: 2 * u128::from(max), tokens: 12 };
    let logs = format!(
        r#"[{{"id":"{}","logs":["x\n",1.50]}},{{"id":"{}","logs":["y"]}}]"#,
        id("a"),
        id("b")
    );
    for name in ["a", "b", "c"] {
        rows.receipt(name, 11, false);
    }
    for status in [rows.status(), finalized(&mut rows)] {
        assert_eq!(status.burnt_amounts().unwrap(), sum);
        assert_eq!(text(|json| status.write_logs(json)), logs);
    }
}

#[test]
fn an_outcome_that_is_not_json_is_corrupt() {
    let mut rows = Rows::default();
    rows.transaction(10, false);
    put_execution(&mut rows, "t", &[], r#"{"gas_burnt":1,}"#);
    let error = rows.status().burnt_amounts().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.detail(), "outcome: key must be a string (byte 36)");
    assert_eq!(rows.status().write_logs(&mut Vec::new()).unwrap_err(), error);
}
