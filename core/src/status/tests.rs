//! The status of transactions by rows that are made here, with literal expectations.

mod compact;
mod finalized;
mod parts;
mod rows;
mod walk;

use alloc::format;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::*;
use crate::ErrorKind;
use crate::storage::rows::OutcomeStatus::{self, Failure, SuccessValue, Unknown};

use rows::{Rows, id, leads_to};

use FinalStatus::{NotStarted, Started};
use Milestone::{Executed, ExecutedOptimistic, Final, Included, IncludedFinal};

/// A transaction that is executed in block 10, and a receipt that block 12 executes
fn executed() -> Rows {
    let mut rows = Rows::default();
    rows.transaction(10, false);
    rows.outcome("t", 10, leads_to("a"), &["a"]);
    rows.receipt("a", 11, false);
    rows.outcome("a", 12, SuccessValue, &[]);
    rows
}

#[test]
fn a_milestone_is_reached_with_the_last_block_that_it_needs() {
    let mut rows = executed();
    for (last_final, expected) in [
        (None, ExecutedOptimistic),
        (Some(9), ExecutedOptimistic),
        (Some(10), Executed),
        (Some(11), Executed),
        (Some(12), Final),
        (Some(13), Final),
    ] {
        rows.chain(last_final);
        assert_eq!(rows.status().milestone(), expected, "{last_final:?}");
    }
    // The receipt is not executed, first of unknown kind, then a refund.
    rows.remove_outcome("a");
    for (last_final, refund, expected) in [
        (9, false, Included),
        (10, false, IncludedFinal),
        (12, false, IncludedFinal),
        (9, true, ExecutedOptimistic),
        (10, true, Executed),
        (12, true, Executed),
    ] {
        rows.receipt("a", 11, refund);
        rows.chain(Some(last_final));
        assert_eq!(rows.status().milestone(), expected, "{last_final} {refund}");
    }
    rows.outcome("t", 10, Unknown, &[]);
    assert_eq!(rows.status().milestone(), Milestone::None);
    rows.remove_outcome("t");
    assert_eq!(rows.status().milestone(), Included);
}

#[test]
fn every_outcome_has_to_be_final() {
    for (heights, expected) in
        [([11, 12], Final), ([11, 13], Executed), ([13, 11], Executed), ([13, 13], Executed)]
    {
        let mut rows = Rows::default();
        rows.transaction(10, false);
        rows.outcome("t", 10, leads_to("a"), &["a", "b"]);
        rows.outcome("a", heights[0], SuccessValue, &[]);
        rows.outcome("b", heights[1], SuccessValue, &[]);
        rows.chain(Some(12));
        assert_eq!(rows.status().milestone(), expected, "{heights:?}");
        let unmet = (expected != Final).then_some(WaitCondition::Finality(13));
        assert_eq!(rows.status().condition(Final).unwrap(), unmet, "{heights:?}");
    }
}

#[test]
fn a_condition_is_execution_before_finality() {
    let [t, a, b] = ["t", "a", "b"].map(id);
    let condition = |rows: &Rows, milestone| rows.status().condition(milestone).unwrap();
    let all = [Included, ExecutedOptimistic, IncludedFinal, Executed, Final];
    let conditions = |rows: &Rows| all.map(|milestone| condition(rows, milestone));
    let mut rows = executed();
    let finality = |height| Some(WaitCondition::Finality(height));
    rows.chain(Some(9));
    assert_eq!(conditions(&rows), [None, None, finality(10), finality(10), finality(12)]);
    rows.chain(Some(10));
    assert_eq!(conditions(&rows), [None, None, None, None, finality(12)]);
    rows.chain(Some(12));
    assert_eq!(conditions(&rows), [None; 5]);

    // The deepest receipt is pending.
    rows.outcome("a", 12, leads_to("b"), &["b"]);
    rows.chain(Some(9));
    let [executed, by_final] =
        [WaitCondition::OutcomeOrRefund(b), WaitCondition::Outcome(b)].map(Some);
    assert_eq!(conditions(&rows), [None, executed, finality(10), executed, by_final]);
    rows.receipt("b", 12, true);
    assert_eq!(conditions(&rows), [None, None, finality(10), finality(10), by_final]);
    rows.receipt("b", 12, false);
    assert_eq!(conditions(&rows), [None, executed, finality(10), executed, by_final]);
    rows.remove_outcome("a");
    let [executed, by_final] =
        [WaitCondition::OutcomeOrRefund(a), WaitCondition::Outcome(a)].map(Some);
    assert_eq!(conditions(&rows), [None, executed, finality(10), executed, by_final]);

    for status in [None, Some(Unknown)] {
        rows.remove_outcome("t");
        if let Some(status) = status {
            rows.outcome("t", 10, status, &[]);
        }
        let own = Some(WaitCondition::Outcome(t));
        let included = if status.is_some() { own } else { None };
        assert_eq!(conditions(&rows), [included, own, own, own, own]);
    }
}

#[test]
fn the_final_status_is_that_of_the_first_leaf() {
    let final_status = |own, a: Option<OutcomeStatus>, b: Option<OutcomeStatus>| {
        let mut rows = Rows::default();
        rows.transaction(10, false);
        rows.outcome("t", 10, own, &["a"]);
        if let Some(status) = a {
            rows.outcome("a", 11, status, &["b"]);
        }
        if let Some(status) = b {
            rows.outcome("b", 12, status, &[]);
        }
        rows.status().final_status()
    };
    let to = leads_to;
    for (own, a, b, expected) in [
        (Unknown, None, None, NotStarted),
        (Failure, Some(SuccessValue), None, FinalStatus::Failure),
        (SuccessValue, Some(Failure), None, FinalStatus::SuccessValue),
        (to("a"), None, None, Started),
        (to("a"), Some(Unknown), None, Started),
        (to("a"), Some(Failure), None, FinalStatus::Failure),
        (to("a"), Some(SuccessValue), Some(Failure), FinalStatus::SuccessValue),
        (to("a"), Some(to("b")), None, Started),
        (to("a"), Some(to("b")), Some(Failure), FinalStatus::Failure),
        (to("a"), Some(to("b")), Some(SuccessValue), FinalStatus::SuccessValue),
        // A receipt that no outcome generated, and two that lead to each other.
        (to("x"), None, None, Started),
        (to("a"), Some(to("b")), Some(to("a")), Started),
    ] {
        assert_eq!(final_status(own, a, b), expected, "{own:?} {a:?} {b:?}");
    }
    let mut rows = Rows::default();
    rows.transaction(10, false);
    assert_eq!(rows.status().final_status(), NotStarted);
}

#[test]
fn pending_and_awaited_receipts_are_those_without_an_outcome() {
    let mut rows = Rows::default();
    rows.transaction(10, false);
    rows.outcome("t", 10, leads_to("a"), &["a", "b", "c", "d"]);
    rows.receipt("a", 11, false);
    rows.outcome("a", 12, SuccessValue, &[]);
    rows.receipt("b", 11, false);
    rows.receipt("c", 11, true);
    let status = rows.status();
    let pending: Vec<_> = status.pending_receipts().map(Result::unwrap).collect();
    assert_eq!(pending, [(id("b"), false), (id("c"), true), (id("d"), false)]);
    let ids: Vec<_> = status.receipt_ids().collect();
    assert_eq!(ids, ["a", "b", "c", "d"].map(id));
    let [b, c] = [&br#"{"r":"b"}"#[..], br#"{"r":"c"}"#].map(Some);
    for (milestone, expected) in [
        (Included, &[][..]),
        (IncludedFinal, &[]),
        (ExecutedOptimistic, &[b, None]),
        (Executed, &[b, None]),
        (Final, &[b, c, None]),
    ] {
        assert_eq!(status.awaited_receipts(milestone).unwrap(), expected, "{milestone:?}");
    }
}

/// A transaction whose receipts `a` and `b` are executed, and `c` that `a` generated
fn branched(signer_is_receiver: bool) -> Rows {
    let mut rows = Rows::default();
    rows.transaction(10, signer_is_receiver);
    rows.outcome("t", 10, leads_to("a"), &["a", "b"]);
    rows.outcome("a", 11, leads_to("c"), &["c"]);
    rows.outcome("b", 11, SuccessValue, &[]);
    rows.outcome("c", 12, Failure, &[]);
    for name in ["a", "b", "c"] {
        rows.receipt(name, 11, false);
    }
    rows.chain(Some(11));
    rows
}

#[test]
fn a_result_lists_outcomes_depth_first() {
    let status = branched(false).status();
    let written = |receipts| {
        let mut result = Vec::new();
        status.write(receipts, &mut result).unwrap();
        assert!(status.size_hint() >= result.len());
        alloc::string::String::from_utf8(result).unwrap()
    };
    let outcomes = r#""receipts_outcome":[{"o":"a","s":"of a"},{"o":"c","s":"of c"},{"o":"b","s":"of b"}],"status":"of c","transaction":{"t":1},"transaction_outcome":{"o":"t","s":"of t"}}"#;
    assert_eq!(
        written(true),
        format!(
            r#"{{"final_execution_status":"EXECUTED","receipts":[{{"r":"a"}},{{"r":"c"}},{{"r":"b"}}],{outcomes}"#
        )
    );
    assert_eq!(written(false), format!(r#"{{"final_execution_status":"EXECUTED",{outcomes}"#));
    let ids: Vec<_> = status.outcomes().map(|outcome| outcome.unwrap().0).collect();
    assert_eq!(ids, ["t", "a", "c", "b"].map(id));
    assert_eq!(status.local_receipt().unwrap(), None);
    assert!(status.has_outcome());
    // The rows of four outcomes and three receipts, the row of the transaction, and 160 more.
    assert_eq!(status.size_hint(), branched(false).size() + 7 + 160);
}

#[test]
fn a_local_receipt_is_not_listed() {
    let status = branched(true).status();
    assert_eq!(status.local_receipt().unwrap(), Some(id("a")));
    let mut result = Vec::new();
    status.write(true, &mut result).unwrap();
    let expected = br#"{"final_execution_status":"EXECUTED","receipts":[{"r":"c"},{"r":"b"}],"#;
    assert_eq!(result.get(..expected.len()), Some(&expected[..]));
    // Nor need its body be known.
    let mut rows = branched(true);
    rows.remove_receipt("a");
    assert!(rows.status().write(true, &mut Vec::new()).is_ok());
    rows.remove_receipt("b");
    let error = rows.status().write(true, &mut Vec::new()).unwrap_err();
    let expected = format!("receipt {}: executed, but its body is not in the storage", id("b"));
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Corrupt, expected));
    assert!(rows.status().write(false, &mut Vec::new()).is_ok());
}

#[test]
fn a_result_without_a_leaf_says_how_far_it_is() {
    let mut rows = Rows::default();
    rows.transaction(10, false);
    assert_eq!(rows.result(), r#"{"final_execution_status":"INCLUDED"}"#);
    assert!(!rows.status().has_outcome());
    rows.outcome("t", 10, leads_to("a"), &["a"]);
    assert_eq!(
        rows.result(),
        r#"{"final_execution_status":"INCLUDED","receipts":[],"receipts_outcome":[],"status":"Started","transaction":{"t":1},"transaction_outcome":{"o":"t","s":"of t"}}"#
    );
    rows.outcome("t", 10, Unknown, &["a"]);
    assert_eq!(
        rows.result(),
        r#"{"final_execution_status":"NONE","receipts":[],"receipts_outcome":[],"status":"NotStarted","transaction":{"t":1},"transaction_outcome":{"o":"t","s":"of t"}}"#
    );
}

#[test]
fn a_receipt_that_is_generated_twice_is_listed_once() {
    let mut rows = Rows::default();
    rows.transaction(10, false);
    rows.outcome("t", 10, leads_to("a"), &["a", "b", "a"]);
    rows.outcome("a", 11, SuccessValue, &["b"]);
    rows.outcome("b", 11, SuccessValue, &["t"]);
    let ids: Vec<_> = rows.status().outcomes().map(|outcome| outcome.unwrap().0).collect();
    assert_eq!(ids, ["t", "a", "b"].map(id));
}
