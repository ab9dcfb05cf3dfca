//! The compact status as literal JSON, and the conditions that can change it.

use alloc::format;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;

use super::rows::{Rows, id, leads_to};
use super::*;
use crate::ErrorKind;
use crate::storage::rows::OutcomeStatus::{Failure, SuccessValue};
use crate::storage::rows::encode_block_hash;
use crate::storage::sealed::Sealed as _;
use crate::storage::{Key, Query as _, Snapshot as _, Step, Table, run};

impl Rows {
    fn observe(&self) -> Observation {
        run(&mut SummaryQuery::new(id("t"), 100), &self.storage).unwrap()
    }

    fn conditions(&self) -> Vec<WaitCondition> {
        self.observe().conditions().unwrap()
    }

    /// The hash of the block of height 10
    fn block(&mut self) {
        let row = encode_block_hash(Table::Heights, &id("block"));
        self.put(Key::number(Table::Heights, 10), row);
    }
}

/// The hash of the transaction, SHA-256 of `t`
const HASH: &str = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";

#[test]
fn a_compact_status_is_this_json() {
    let mut rows = Rows::default();
    let compact = |rows: &Rows| CompactStatus::new(&rows.observe());
    let status = compact(&rows);
    assert_eq!(status.milestone, Milestone::None);
    let unknown = format!(r#"{{"transaction_hash":"{HASH}","final_execution_status":"NONE"}}"#);
    assert_eq!(status.json, unknown);
    assert_eq!(status.id, "NONE-0-3hmG6nvQcp");
    assert_eq!(
        status.with_result(r#"{"a":1}"#),
        format!(
            r#"{{"transaction_hash":"{HASH}","final_execution_status":"NONE","result":{{"a":1}}}}"#
        )
    );
    assert_eq!(rows.observe().result().unwrap(), None);

    rows.transaction(10, false);
    let status = compact(&rows);
    let included = format!(
        r#"{{"transaction_hash":"{HASH}","final_execution_status":"INCLUDED","status":"NotStarted","block":{{"height":10,"hash":null}},"receipts_known":0,"receipts_executed":0,"receipts_failed":0,"finalized":false}}"#
    );
    assert_eq!((status.milestone, status.json), (Included, included));
    assert_eq!(status.id, "INCLUDED-10-8B8D4jSiMZ");

    rows.block();
    rows.chain(Some(10));
    rows.outcome("t", 10, leads_to("a"), &["a", "b"]);
    rows.outcome("b", 11, SuccessValue, &[]);
    let block = id("block");
    assert_eq!(
        compact(&rows).json,
        format!(
            r#"{{"transaction_hash":"{HASH}","final_execution_status":"INCLUDED_FINAL","status":"Started","block":{{"height":10,"hash":"{block}"}},"receipts_known":2,"receipts_executed":1,"receipts_failed":0,"finalized":false}}"#
        )
    );
    for (outcome, expected, failed) in [(SuccessValue, "SuccessValue", 0), (Failure, "Failure", 1)]
    {
        rows.outcome("a", 11, outcome, &[]);
        assert_eq!(
            compact(&rows).with_result("null"),
            format!(
                r#"{{"transaction_hash":"{HASH}","final_execution_status":"EXECUTED","status":"{expected}","block":{{"height":10,"hash":"{block}"}},"receipts_known":2,"receipts_executed":2,"receipts_failed":{failed},"finalized":false,"result":null}}"#
            )
        );
    }
    assert_eq!(
        rows.observe().compact_json(Some(r#"{"x":2}"#), r#","y":3"#),
        format!(
            r#"{{"transaction_hash":"{HASH}","final_execution_status":"EXECUTED","status":{{"x":2}},"block":{{"height":10,"hash":"{block}"}},"receipts_known":2,"receipts_executed":2,"receipts_failed":1,"finalized":false,"y":3}}"#
        )
    );
    for name in ["a", "b"] {
        rows.receipt(name, 11, false);
    }
    assert_eq!(rows.observe().result().unwrap(), Some(rows.result()));
}

#[test]
fn a_refusal_is_a_failure_without_receipts() {
    let mut rows = Rows::default();
    rows.transaction(10, false);
    let is_refusal = |rows: &Rows| rows.observe().summary.unwrap().is_refusal();
    for (outcome, receipts, expected) in
        [(Failure, &[][..], true), (Failure, &["a"], false), (SuccessValue, &[], false)]
    {
        rows.outcome("t", 10, outcome, receipts);
        assert_eq!(is_refusal(&rows), expected);
    }
}

#[test]
fn an_observation_waits_for_what_can_change_it() {
    use WaitCondition::{Anything, Finality, Inclusion, Outcome, OutcomeOrRefund};
    let [t, a, b] = ["t", "a", "b"].map(id);
    let mut rows = Rows::default();
    assert_eq!(rows.conditions(), [Inclusion(t)]);
    rows.transaction(10, false);
    assert_eq!(rows.conditions(), [Outcome(t), Finality(10)]);
    rows.chain(Some(9));
    assert_eq!(rows.conditions(), [Outcome(t), Finality(10)]);
    rows.chain(Some(10));
    assert_eq!(rows.conditions(), [Outcome(t)]);

    // Executed in the block after its inclusion.
    rows.outcome("t", 11, leads_to("a"), &["a"]);
    assert_eq!(rows.conditions(), [Outcome(t), OutcomeOrRefund(a), Finality(11)]);
    rows.receipt("a", 13, false);
    assert_eq!(rows.conditions(), [Outcome(t), OutcomeOrRefund(a), Finality(11)]);
    rows.receipt("a", 13, true);
    assert_eq!(rows.conditions(), [Outcome(t), Outcome(a), Finality(11), Finality(13)]);
    rows.outcome("a", 14, SuccessValue, &["b"]);
    let expected = |rest: &[WaitCondition]| [&[Outcome(t), OutcomeOrRefund(b)], rest].concat();
    for (last_final, rest) in [
        (10, &[Finality(11), Finality(14)][..]),
        (11, &[Finality(14)]),
        (13, &[Finality(14)]),
        (14, &[]),
        (15, &[]),
    ] {
        rows.chain(Some(last_final));
        assert_eq!(rows.conditions(), expected(rest), "{last_final}");
    }
    // The newest is not the last one.
    rows.chain(Some(9));
    rows.outcome("b", 12, SuccessValue, &[]);
    assert_eq!(rows.conditions(), [Outcome(t), Finality(11), Finality(14)]);
    rows.chain(Some(14));
    assert_eq!(rows.conditions(), [Anything]);
}

#[test]
fn an_observation_has_at_most_64_conditions() {
    let names: Vec<_> = (0..70).map(|number| number.to_string()).collect();
    let names: Vec<_> = names.iter().map(|name| &name[..]).collect();
    for (pending, expected) in [(60, 63), (61, 64), (62, 1), (63, 1), (70, 1)] {
        let mut rows = Rows::default();
        rows.transaction(10, false);
        // The last of the receipts is executed, later than all others.
        rows.outcome("t", 10, SuccessValue, &[&["x"], &names[..pending]].concat());
        rows.outcome("x", 12, SuccessValue, &[]);
        let conditions = rows.conditions();
        assert_eq!(conditions.len(), expected, "{pending}");
        let is_any = conditions == [WaitCondition::Anything];
        assert_eq!(is_any, expected == 1, "{pending}");
    }
}

#[test]
fn an_observation_is_of_one_generation() {
    let mut rows = Rows::default();
    assert_eq!(rows.observe().generation, 0);
    rows.chain(None);
    let observation = rows.observe();
    assert_eq!((observation.generation, observation.hash), (3, id("t")));
    assert!(observation.summary.is_none() && observation.status.is_none());
}

#[test]
fn a_summary_needs_one_row_more() {
    let mut rows = Rows::default();
    rows.transaction(10, false);
    rows.block();
    let mut query = SummaryQuery::new(id("t"), 100);
    for keys in [
        vec![
            Key::number(Table::Chain, 0),
            Key::hash(Table::Transactions, id("t")),
            Key::hash(Table::Outcomes, id("t")),
        ],
        vec![Key::number(Table::Heights, 10)],
    ] {
        let Step::NeedRows(needed) = query.poll().unwrap() else { panic!("it needs rows") };
        assert_eq!(needed, keys);
        let error = query.supply_rows(&[]).unwrap_err();
        let detail = format!("0 rows supplied, {} asked for", keys.len());
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Usage, detail));
        assert!(query.restarted().is_some());
        let row = |key: &Key| rows.storage.get(key).unwrap();
        query.supply_rows(&keys.iter().map(row).collect::<Vec<_>>()).unwrap();
    }
    let error = query.supply_rows(&[]).unwrap_err();
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Usage, "no rows were asked for"));
    let Ok(Step::Done(observation)) = query.poll() else { panic!("it has ended") };
    assert_eq!(observation.summary.unwrap().block_hash, Some(id("block")));
    assert!(query.restarted().is_none());
    let error = query.poll().unwrap_err();
    assert_eq!((error.kind(), error.detail()), (ErrorKind::Usage, "the query is already complete"));
}
