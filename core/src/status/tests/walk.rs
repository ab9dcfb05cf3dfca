//! The walk over receipts: the rows of each level, the limit, finalized rows, the archive.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::rows::{Rows, chain, id, leads_to};
use super::*;
use crate::archive::{ArchiveLookup, Envelope, Origin, WriterId};
use crate::storage::rows::{ChainRecord, OutcomeRow};
use crate::storage::sealed::Sealed as _;
use crate::storage::{Key, Query as _, Snapshot as _, Step, Table};
use crate::{Error, ErrorKind};

type Ended = (Vec<String>, Result<Option<TransactionStatus>, Error>);

/// Runs a query, and lists the keys of each step as the table and the name of the row
fn steps(mut query: StatusQuery, rows: &Rows) -> Ended {
    let names = ["t", "a", "b", "c", "u"];
    let name = |key: &Key| {
        let name = names.into_iter().find(|name| id(name).as_bytes() == key.bytes_in_table());
        format!("{} {}", key.table().name(), name.unwrap_or_default())
    };
    let mut steps = Vec::new();
    loop {
        let keys = match query.poll() {
            Err(error) => return (steps, Err(error)),
            Ok(Step::Done(status)) => return (steps, Ok(status)),
            Ok(Step::NeedRows(keys)) => keys.to_vec(),
        };
        steps.push(keys.iter().map(name).collect::<Vec<_>>().join(", "));
        let row = |key: &Key| rows.storage.get(key).unwrap();
        if let Err(error) = query.supply_rows(&keys.iter().map(row).collect::<Vec<_>>()) {
            return (steps, Err(error));
        }
    }
}

fn query(max_receipts: usize) -> StatusQuery {
    StatusQuery::new(id("t"), max_receipts)
}

const FIRST: &str = "chain , transactions t, outcomes t";

/// The row of the finalized transaction `t` with these receipts
fn finalize(rows: &mut Rows) -> Vec<u8> {
    rows.chain(Some(12));
    rows.status().finalized_row(&chain(Some(12))).unwrap().unwrap()
}

#[test]
fn a_walk_asks_level_by_level() {
    let (asked, status) = steps(query(100), &branched(false));
    assert_eq!(
        asked,
        [FIRST, "outcomes a, receipts a, outcomes b, receipts b", "outcomes c, receipts c",]
    );
    assert_eq!(status.unwrap().unwrap().outcomes().count(), 4);
    let mut rows = Rows::default();
    let (asked, status) = steps(query(100), &rows);
    assert_eq!(asked, [FIRST]);
    assert!(status.unwrap().is_none());
    // An outcome without its transaction.
    rows.outcome("t", 10, leads_to("a"), &["a"]);
    let (asked, status) = steps(query(100), &rows);
    assert_eq!(asked, [FIRST]);
    assert!(status.unwrap().is_none());
    rows.transaction(10, false);
    let known = rows.storage.get(&Key::hash(Table::Transactions, id("t"))).unwrap();
    let known = StatusQuery::with_buffers(id("t"), 100, Some(known), WalkBuffers::default());
    let (asked, status) = steps(known, &rows);
    assert_eq!(asked, ["chain , outcomes t", "outcomes a, receipts a"]);
    assert_eq!(status.unwrap().unwrap().outcomes().count(), 1);
}

#[test]
fn a_walk_is_limited_by_its_receipts() {
    let mut rows = branched(false);
    let limit_error = |max: usize| {
        let path = id("t");
        (ErrorKind::Limit, format!("transaction {path}: more than {max} receipts"))
    };
    for finalized in [false, true] {
        if finalized {
            let row = finalize(&mut rows);
            rows.put(Key::hash(Table::Transactions, id("t")), row);
        }
        for (max, is_error) in [(0, true), (2, true), (3, false), (4, false)] {
            let (_, result) = steps(query(max), &rows);
            match result {
                Ok(status) => assert!(status.is_some() && !is_error, "{max}"),
                Err(error) => {
                    assert!(is_error, "{max}");
                    assert_eq!((error.kind(), error.to_string()), limit_error(max));
                }
            }
        }
    }
}

#[test]
fn a_walk_that_meets_its_finalized_row_takes_it() {
    let mut rows = branched(false);
    let finalized = finalize(&mut rows);
    // The rows of the first level are older than those after them.
    for is_kept in [true, false] {
        let mut rows = branched(false);
        rows.put(Key::hash(Table::Outcomes, id("a")), OutcomeRow::encode_finalized(id("t")));
        rows.put(Key::hash(Table::Outcomes, id("b")), OutcomeRow::encode_finalized(id("u")));
        let mut query = query(100);
        for level in 0..3 {
            if level == 2 && is_kept {
                rows.put(Key::hash(Table::Transactions, id("t")), finalized.clone());
            }
            let Step::NeedRows(keys) = query.poll().unwrap() else { panic!("it needs rows") };
            let keys = keys.to_vec();
            if level == 2 {
                assert_eq!(keys, [Key::hash(Table::Transactions, id("t"))]);
            }
            let row = |key: &Key| rows.storage.get(key).unwrap();
            query.supply_rows(&keys.iter().map(row).collect::<Vec<_>>()).unwrap();
        }
        let Ok(Step::Done(status)) = query.poll() else { panic!("it has ended") };
        assert_eq!(status.map(|status| status.milestone()), is_kept.then_some(Final));
    }
}

#[test]
fn an_outcome_in_the_row_of_another_transaction_is_read_there() {
    let finalized = finalize(&mut branched(false));
    let mut rows = branched(false);
    rows.put(Key::hash(Table::Transactions, id("u")), finalized);
    for name in ["a", "b"] {
        rows.put(Key::hash(Table::Outcomes, id(name)), OutcomeRow::encode_finalized(id("u")));
    }
    rows.remove_receipt("a");
    let (asked, status) = steps(query(100), &rows);
    assert_eq!(
        asked,
        [
            FIRST,
            "outcomes a, receipts a, outcomes b, receipts b",
            "transactions u",
            "outcomes c, receipts c",
        ]
    );
    let mut result = Vec::new();
    status.unwrap().unwrap().write(true, &mut result).unwrap();
    assert_eq!(String::from_utf8(result).unwrap(), branched(false).result());
    // Without that row its outcomes are unknown.
    rows.remove(Key::hash(Table::Transactions, id("u")));
    let (_, status) = steps(query(100), &rows);
    let status = status.unwrap().unwrap();
    let pending: Vec<_> = status.pending_receipts().map(|pending| pending.unwrap().0).collect();
    assert_eq!(pending, [id("a"), id("b")]);
}

#[test]
fn the_archive_is_asked_where_it_may_know_more() {
    let archived = Key::hash(Table::ArchivedTransactions, id("t"));
    let finalized = finalize(&mut branched(false));
    let none = Rows::default();
    let unfinished = branched(false);
    let mut refused = Rows::default();
    refused.transaction(10, false);
    refused.outcome("t", 10, Failure, &[]);
    let mut done = Rows::default();
    done.put(Key::hash(Table::Transactions, id("t")), finalized.clone());
    let mut executed_final = branched(false);
    executed_final.chain(Some(12));
    use ArchiveLookup::{Never, Unfinished, Unknown};
    for (rows, lookups) in [
        (none, &[Unknown, Unfinished][..]),
        (unfinished, &[Unfinished]),
        (refused, &[Unknown, Unfinished]),
        (done, &[]),
        (executed_final, &[]),
    ] {
        let mut with_row = Rows { storage: rows.storage.clone() };
        let envelope = Envelope::plain(Origin::of(WriterId(1)), &finalized).encode();
        with_row.put(archived, envelope);
        for lookup in [Never, Unknown, Unfinished] {
            let (asked, without) = steps(query(100).with_archive(lookup), &rows);
            let is_asked = asked.last().unwrap() == "archived_transactions t";
            assert_eq!(is_asked, lookups.contains(&lookup), "{lookup:?} {asked:?}");
            let (_, status) = steps(query(100).with_archive(lookup), &with_row);
            let is_archived = status.unwrap().is_some_and(|status| status.is_archived());
            assert_eq!(is_archived, is_asked, "{lookup:?}");
            // The status of the storage is kept if the archive has none.
            let known = rows.storage.get(&Key::hash(Table::Transactions, id("t"))).unwrap();
            assert_eq!(without.unwrap().is_some(), known.is_some());
        }
    }
}

#[test]
fn an_archived_status_is_that_of_its_row() {
    let finalized = finalize(&mut branched(false));
    let mut rows = Rows::default();
    let key = Key::hash(Table::ArchivedTransactions, id("t"));
    rows.put(key, Envelope::plain(Origin::of(WriterId(1)), &finalized).encode());
    let lookup = ArchiveLookup::Unknown;
    let (_, status) = steps(query(3).with_archive(lookup), &rows);
    let status = status.unwrap().unwrap();
    assert_eq!(status.milestone(), Final);
    assert_eq!(status.size_hint(), finalized.len());
    assert_eq!(status.outcomes().count(), 4);
    let (_, result) = steps(query(2).with_archive(lookup), &rows);
    assert_eq!(result.unwrap_err().detail(), "more than 2 receipts");

    let heights = Key::number(Table::ArchivedHeights, 10);
    let block = Envelope::plain(Origin::of(WriterId(1)), id("block").as_bytes()).encode();
    rows.put(heights, block);
    let mut summary = SummaryQuery::new(id("t"), 100).with_archive(lookup).restarted().unwrap();
    let observation = crate::storage::run(&mut summary, &rows.storage).unwrap();
    assert_eq!(observation.summary.unwrap().block_hash, Some(id("block")));

    let unfinished = branched(false).storage;
    let unfinished = unfinished.get(&Key::hash(Table::Transactions, id("t"))).unwrap().unwrap();
    rows.put(key, Envelope::plain(Origin::of(WriterId(1)), &unfinished).encode());
    let (_, result) = steps(query(100).with_archive(lookup), &rows);
    let error = result.unwrap_err();
    let detail = "the archived transaction is not finalized";
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::Corrupt, detail.into()));
}

#[test]
fn rows_of_another_number_leave_the_walk_unchanged() {
    let finalized = finalize(&mut branched(false));
    let mut rows = branched(false);
    rows.put(Key::hash(Table::Transactions, id("u")), finalized);
    rows.put(Key::hash(Table::Outcomes, id("b")), OutcomeRow::encode_finalized(id("u")));
    let mut query = query(100).with_archive(ArchiveLookup::Unfinished);
    assert_eq!(query.generation(), 0);
    for expected in [3, 4, 1, 2, 1] {
        let Step::NeedRows(keys) = query.poll().unwrap() else { panic!("it needs rows") };
        let keys = keys.to_vec();
        let needed: Vec<_> = keys.iter().map(|key| rows.storage.get(key).unwrap()).collect();
        assert_eq!(needed.len(), expected);
        assert!(query.needs_rows());
        for wrong in [&needed[1..], &[&needed[..], &[None]].concat()] {
            let error = query.supply_rows(wrong).unwrap_err();
            let detail = format!("{} rows supplied, {expected} asked for", wrong.len());
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::Usage, detail));
        }
        query.supply_rows(&needed).unwrap();
        if expected == 2 {
            assert!(!query.needs_rows());
        }
    }
    assert_eq!(query.generation(), 3);
    assert!(!query.needs_rows());
    let (asked, _) = steps(query.restarted().unwrap(), &rows);
    assert_eq!((asked.len(), &asked[0][..]), (5, FIRST));
    let unasked = query.supply_rows(&[]).unwrap_err();
    assert_eq!(unasked, Error::new(ErrorKind::Usage, "no rows were asked for"));
    assert!(matches!(query.poll(), Ok(Step::Done(Some(_)))));
    assert!(query.restarted().is_none());
    let error = query.poll().unwrap_err();
    assert_eq!(error, Error::new(ErrorKind::Usage, "the query is already complete"));
}

#[test]
fn a_walk_that_failed_has_ended() {
    let mut query = query(100);
    let corrupt = Key::hash(Table::Outcomes, id("t"));
    let mut rows = branched(false);
    rows.put(corrupt, b"x".into());
    let keys = [ChainRecord::key(), Key::hash(Table::Transactions, id("t")), corrupt];
    let needed: Vec<_> = keys.iter().map(|key| rows.storage.get(key).unwrap()).collect();
    assert_eq!(query.supply_rows(&needed).unwrap_err().kind(), ErrorKind::Version);
    assert!(query.restarted().is_none());
    let error = query.poll().unwrap_err();
    assert_eq!(error, Error::new(ErrorKind::Usage, "the query is already complete"));
}
