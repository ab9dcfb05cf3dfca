//! The row of a finalized transaction, and the same status from that row.

use alloc::vec::Vec;

use super::rows::{chain, id, leads_to};
use super::*;
use crate::storage::rows::FinalizedTransaction;
use crate::storage::{Key, Table, run};

const RESULT: &str = r#"{"final_execution_status":"FINAL","receipts":[{"r":"a"},{"r":"c"},{"r":"b"}],"receipts_outcome":[{"o":"a","s":"of a"},{"o":"c","s":"of c"},{"o":"b","s":"of b"}],"status":"of c","transaction":{"t":1},"transaction_outcome":{"o":"t","s":"of t"}}"#;
const WITHOUT_RECEIPTS: &str = r#"{"final_execution_status":"FINAL","receipts_outcome":[{"o":"a","s":"of a"},{"o":"c","s":"of c"},{"o":"b","s":"of b"}],"status":"of c","transaction":{"t":1},"transaction_outcome":{"o":"t","s":"of t"}}"#;

/// The row of the transaction once block 12 is final
fn row(rows: &mut Rows) -> Option<Vec<u8>> {
    rows.chain(Some(12));
    rows.status().finalized_row(&chain(Some(12))).unwrap()
}

#[test]
fn a_row_is_made_once_nothing_can_change() {
    let mut rows = branched(false);
    assert!(row(&mut rows).is_some());
    // A body that is not final.
    rows.receipt("b", 13, false);
    assert_eq!(row(&mut rows), None);
    rows.receipt("b", 12, false);
    assert!(row(&mut rows).is_some());
    rows.remove_receipt("b");
    assert_eq!(row(&mut rows), None);
    // An outcome that is not final, or has no leaf.
    rows.receipt("b", 12, false);
    rows.outcome("b", 13, SuccessValue, &[]);
    assert_eq!(row(&mut rows), None);
    rows.outcome("b", 12, SuccessValue, &[]);
    rows.outcome("c", 12, leads_to("x"), &[]);
    assert_eq!(row(&mut rows), None);
    let mut rows = Rows::default();
    rows.transaction(10, false);
    assert_eq!(row(&mut rows), None);
    rows.outcome("t", 10, Failure, &[]);
    assert!(row(&mut rows).is_some());
}

#[test]
fn a_row_has_the_whole_status() {
    for (signer_is_receiver, last, failed) in
        [(false, Failure, true), (true, Failure, true), (false, SuccessValue, false)]
    {
        let mut rows = branched(signer_is_receiver);
        rows.outcome("c", 12, last, &[]);
        let row = row(&mut rows).unwrap();
        let record = FinalizedTransaction::decode(&row).unwrap().unwrap();
        assert_eq!((record.failed, record.height, record.receipt_count), (failed, 10, 3));
        assert_eq!(record.signer_is_receiver, signer_is_receiver);
        let result = match signer_is_receiver {
            false => RESULT.into(),
            true => RESULT.replace(r#"{"r":"a"},"#, ""),
        };
        assert_eq!(record.result, result.as_bytes());
        let text = |(start, end): (u32, u32)| &result[start as usize..end as usize];
        assert_eq!(text(record.transaction), r#"{"t":1}"#);
        assert!(text(record.receipts).starts_with(r#","receipts":["#));
        assert!(text(record.receipts).ends_with("]"));
        let a = if signer_is_receiver { None } else { Some(r#"{"r":"a"}"#) };
        let expected = [
            ("t", r#"{"o":"t","s":"of t"}"#, None),
            ("a", r#"{"o":"a","s":"of a"}"#, a),
            ("c", r#"{"o":"c","s":"of c"}"#, Some(r#"{"r":"c"}"#)),
            ("b", r#"{"o":"b","s":"of b"}"#, Some(r#"{"r":"b"}"#)),
        ];
        let outcomes: Vec<_> = record.outcomes().map(Result::unwrap).collect();
        assert_eq!(outcomes.len(), 4);
        for (outcome, (name, fragment, body)) in outcomes.iter().zip(expected) {
            assert_eq!(outcome.id, id(name));
            assert_eq!(outcome.outcome.fragment, fragment.as_bytes());
            assert_eq!(outcome.body, body.map(str::as_bytes));
        }
    }
}

#[test]
fn a_status_from_its_row_is_the_same() {
    for (last, expected) in
        [(Failure, FinalStatus::Failure), (SuccessValue, FinalStatus::SuccessValue)]
    {
        let mut rows = branched(false);
        rows.outcome("c", 12, last, &[]);
        let row = row(&mut rows).unwrap();
        rows.put(Key::hash(Table::Transactions, id("t")), row.clone());
        let status = rows.status();
        assert_eq!((status.milestone(), status.final_status()), (Final, expected));
        assert!(status.has_outcome());
        assert_eq!(status.condition(Final).unwrap(), None);
        assert_eq!(status.size_hint(), row.len());
        assert_eq!(rows.result(), RESULT);
        let mut result = Vec::new();
        status.write(false, &mut result).unwrap();
        assert_eq!(result, WITHOUT_RECEIPTS.as_bytes());
        let ids: Vec<_> = status.outcomes().map(|outcome| outcome.unwrap().0).collect();
        assert_eq!(ids, ["t", "a", "c", "b"].map(id));
        assert_eq!((status.pending_receipts().count(), status.receipt_ids().count()), (0, 0));
        assert_eq!(status.awaited_receipts(Final).unwrap(), []);
        assert_eq!(status.finalized_row(&chain(Some(12))).unwrap(), None);
        assert_eq!(status.local_receipt().unwrap(), None);
        assert_eq!(status.transaction().unwrap().height, 10);
        assert!(status.into_buffers().is_none());

        let observation = run(&mut SummaryQuery::new(id("t"), 100), &rows.storage).unwrap();
        assert_eq!(observation.conditions().unwrap(), []);
        let summary = observation.summary.unwrap();
        assert_eq!((summary.receipts, summary.executed_receipts), (3, 3));
        assert!(summary.is_finalized);
    }
}

#[test]
fn a_status_from_a_tree_gives_its_buffers_back() {
    assert!(branched(false).status().into_buffers().is_some());
}
