//! The walk, the final status and the milestone, compared with a naive model over generated trees.
//!
//! A tree of receipts is drawn from a seed, with missing outcomes, missing bodies and blocks that
//! are not final. The model walks by recursion and evaluates each milestone by its definition. The
//! engine must agree, must need one round trip per level, and must handle rows that no valid chain
//! has.

use std::collections::{BTreeMap, BTreeSet};

use milepost::ErrorKind;
use milepost::primitives::CryptoHash;
use milepost::status::{FinalStatus, Milestone, StatusQuery, TransactionStatus};
use milepost::storage::rows::{
    BlockPoint, ChainRecord, OutcomeRecord, OutcomeStatus, ReceiptRecord, TransactionRecord,
};
use milepost::storage::{Batch, Key, MemoryStorage, Query as _, Step, Storage as _, Table, run};
use milepost_testkit::Rng;

#[derive(Clone, Debug)]
struct Receipt {
    children: Vec<u64>,
    /// `None`: not executed
    outcome: Option<Outcome>,
    refund: bool,
    body_known: bool,
}

#[derive(Clone, Debug)]
struct Outcome {
    height: u64,
    status: Status,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Status {
    Unknown,
    Failure,
    Value,
    Next(u64),
}

/// A transaction (receipt 0) and its receipts, and the last final height
#[derive(Debug)]
struct Tree {
    receipts: BTreeMap<u64, Receipt>,
    last_final: u64,
}

fn id(number: u64) -> CryptoHash {
    CryptoHash::digest(&number.to_le_bytes())
}

impl Tree {
    fn draw(rng: &mut Rng) -> Self {
        let mut tree = Self { receipts: BTreeMap::new(), last_final: rng.below(12) };
        let mut next = 1;
        let mut stack = vec![(0_u64, 0_u64)];
        while let Some((number, depth)) = stack.pop() {
            let width = if next > 40 || depth > 6 { 0 } else { rng.below(4) };
            let children: Vec<u64> = (next..next + width).collect();
            next += width;
            stack.extend(children.iter().map(|child| (*child, depth + 1)));
            let refund = number > 0 && children.is_empty() && rng.one_in(3);
            let status = match rng.below(9) {
                0 => Status::Failure,
                1 => Status::Unknown,
                2 if number > 0 => Status::Value,
                _ if children.is_empty() => Status::Value,
                _ => Status::Next(children[rng.below(children.len() as u64) as usize]),
            };
            // Deeper receipts are executed later.
            let height = depth + rng.below(4);
            let executed = !rng.one_in(if depth == 0 { 30 } else { 7 });
            let outcome = executed.then_some(Outcome { height, status });
            let body_known = outcome.is_some() || rng.one_in(2);
            tree.receipts.insert(number, Receipt { children, outcome, refund, body_known });
        }
        tree
    }

    fn store(&self) -> MemoryStorage {
        let mut batch = Batch::new();
        let point = BlockPoint { height: self.last_final, hash: CryptoHash::ZERO };
        let chain = ChainRecord { last_final: Some(point), ..ChainRecord::default() };
        batch.put(ChainRecord::key(), chain.encode());
        let transaction =
            TransactionRecord { height: 0, signer_is_receiver: false, fragment: b"T" };
        batch.put(Key::hash(Table::Transactions, id(0)), transaction.encode());
        for (number, receipt) in &self.receipts {
            if let Some(outcome) = &receipt.outcome {
                let ids: Vec<[u8; 32]> =
                    receipt.children.iter().map(|child| *id(*child).as_bytes()).collect();
                let record = OutcomeRecord {
                    height: outcome.height,
                    status: match outcome.status {
                        Status::Unknown => OutcomeStatus::Unknown,
                        Status::Failure => OutcomeStatus::Failure,
                        Status::Value => OutcomeStatus::SuccessValue,
                        Status::Next(next) => OutcomeStatus::SuccessReceiptId(id(next)),
                    },
                    status_text: (1, 1 + number.to_string().len() as u32),
                    receipt_ids: &ids,
                    fragment: format!("O{number}").as_bytes(),
                }
                .encode();
                batch.put(Key::hash(Table::Outcomes, id(*number)), record);
            }
            if receipt.body_known && *number > 0 {
                let body = format!("R{number}");
                let record =
                    ReceiptRecord { refund: receipt.refund, height: 0, fragment: body.as_bytes() };
                batch.put(Key::hash(Table::Receipts, id(*number)), record.encode());
            }
        }
        let mut storage = MemoryStorage::new();
        storage.commit(batch).unwrap();
        storage
    }

    fn outcome(&self, number: u64) -> Option<&Outcome> {
        self.receipts[&number].outcome.as_ref()
    }

    fn is_executed(&self, number: u64) -> bool {
        self.outcome(number).is_some_and(|outcome| outcome.status != Status::Unknown)
    }

    fn walk(&self, number: u64, order: &mut Vec<u64>, generated: &mut BTreeSet<u64>) {
        if self.outcome(number).is_none() {
            return;
        }
        order.push(number);
        for child in &self.receipts[&number].children {
            generated.insert(*child);
            self.walk(*child, order, generated);
        }
    }

    fn depth(&self, number: u64) -> usize {
        match self.outcome(number) {
            None => 0,
            Some(_) => {
                let children = self.receipts[&number].children.iter();
                children.map(|child| 1 + self.depth(*child)).max().unwrap_or(0)
            }
        }
    }

    fn leaf(&self, number: u64, first: bool) -> (FinalStatus, Option<u64>) {
        match self.outcome(number).map(|outcome| outcome.status) {
            None if first => (FinalStatus::NotStarted, None),
            None => (FinalStatus::Started, None),
            Some(Status::Unknown) if first => (FinalStatus::NotStarted, None),
            Some(Status::Unknown) => (FinalStatus::Started, None),
            Some(Status::Failure) => (FinalStatus::Failure, Some(number)),
            Some(Status::Value) => (FinalStatus::SuccessValue, Some(number)),
            Some(Status::Next(next)) => self.leaf(next, false),
        }
    }

    /// Whether a milestone is satisfied, by its definition in the interface
    fn satisfies(&self, milestone: Milestone) -> bool {
        let (mut order, mut generated) = (Vec::new(), BTreeSet::new());
        self.walk(0, &mut order, &mut generated);
        let Some(own) = self.outcome(0) else {
            return matches!(milestone, Milestone::None | Milestone::Included);
        };
        if own.status == Status::Unknown {
            return milestone == Milestone::None;
        }
        let is_final = |number: u64| {
            self.outcome(number).is_some_and(|outcome| outcome.height <= self.last_final)
        };
        let is_known_refund =
            |number: &u64| self.receipts[number].refund && self.receipts[number].body_known;
        let all = generated.iter().all(|number| self.is_executed(*number));
        let all_except_refunds =
            generated.iter().all(|number| self.is_executed(*number) || is_known_refund(number));
        match milestone {
            Milestone::None | Milestone::Included => true,
            Milestone::ExecutedOptimistic => all_except_refunds,
            Milestone::IncludedFinal => is_final(0),
            Milestone::Executed => is_final(0) && all_except_refunds,
            Milestone::Final => {
                is_final(0) && all && generated.iter().all(|number| is_final(*number))
            }
        }
    }
}

/// The bytes of the result, with the names of the fragments
fn expected_result(tree: &Tree, milestone: Milestone, receipts: bool) -> String {
    let (mut order, mut generated) = (Vec::new(), BTreeSet::new());
    tree.walk(0, &mut order, &mut generated);
    if order.is_empty() {
        return format!(r#"{{"final_execution_status":"{milestone}"}}"#);
    }
    let list = |letter: &str| {
        let names: Vec<String> = order[1..].iter().map(|n| format!("{letter}{n}")).collect();
        names.join(",")
    };
    let bodies = if receipts { format!(r#""receipts":[{}],"#, list("R")) } else { String::new() };
    let status = match tree.leaf(0, true) {
        (FinalStatus::NotStarted, _) => "\"NotStarted\"".to_string(),
        (_, Some(leaf)) => leaf.to_string(),
        (_, None) => "\"Started\"".to_string(),
    };
    format!(
        r#"{{"final_execution_status":"{milestone}",{bodies}"receipts_outcome":[{}],"status":{status},"transaction":T,"transaction_outcome":O0}}"#,
        list("O")
    )
}

fn query(storage: &MemoryStorage) -> TransactionStatus {
    run(&mut StatusQuery::new(id(0), 1000), storage).unwrap().unwrap()
}

#[test]
fn the_engine_agrees_with_the_naive_model() {
    let mut reached: BTreeMap<&str, usize> = BTreeMap::new();
    let mut statuses: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..20_000 {
        let tree = Tree::draw(&mut Rng::new(seed));
        let storage = tree.store();
        let status = query(&storage);
        let milestone = status.milestone();
        for expected in Milestone::ALL {
            assert_eq!(
                milestone.satisfies(expected),
                tree.satisfies(expected),
                "seed {seed}: {milestone} and {expected}, {tree:?}"
            );
        }
        assert_eq!(status.final_status(), tree.leaf(0, true).0, "seed {seed}: {tree:?}");
        for receipts in [true, false] {
            let mut result = Vec::new();
            status.write(receipts, &mut result).unwrap();
            let expected = expected_result(&tree, milestone, receipts);
            assert_eq!(String::from_utf8(result).unwrap(), expected, "seed {seed}");
        }
        *reached.entry(milestone.name()).or_default() += 1;
        *statuses.entry(format!("{:?}", status.final_status())).or_default() += 1;
    }
    for milestone in Milestone::ALL {
        assert!(reached.get(milestone.name()).is_some_and(|count| *count > 100), "{reached:?}");
    }
    assert_eq!(statuses.len(), 4, "{statuses:?}");
    assert!(statuses.values().all(|count| *count > 100), "{statuses:?}");
}

#[test]
fn a_query_needs_one_round_trip_per_level() {
    for seed in 0..500 {
        let tree = Tree::draw(&mut Rng::new(seed));
        let storage = tree.store();
        let mut query = StatusQuery::new(id(0), 1000);
        let mut round_trips = 0;
        loop {
            let keys = match query.poll().unwrap() {
                Step::NeedRows(keys) => keys.to_vec(),
                Step::Done(status) => break assert!(status.is_some()),
            };
            round_trips += 1;
            let mut rows = Vec::new();
            milepost::storage::Snapshot::get_many(&storage, &keys, &mut rows).unwrap();
            assert_eq!(query.supply_rows(&rows[1..]).unwrap_err().kind(), ErrorKind::Usage);
            query.supply_rows(&rows).unwrap();
        }
        assert_eq!(round_trips, 1 + tree.depth(0), "seed {seed}");
        assert_eq!(query.poll().unwrap_err().kind(), ErrorKind::Usage);
    }
}

fn outcome(status: OutcomeStatus, receipts: &[u64]) -> Vec<u8> {
    let receipt_ids: Vec<[u8; 32]> = receipts.iter().map(|n| *id(*n).as_bytes()).collect();
    let status_text = (0, 1);
    let record =
        OutcomeRecord { height: 1, status, status_text, receipt_ids: &receipt_ids, fragment: b"O" };
    record.encode()
}

fn storage_of(outcomes: &[(u64, Vec<u8>)]) -> MemoryStorage {
    let mut batch = Batch::new();
    let transaction = TransactionRecord { height: 0, signer_is_receiver: false, fragment: b"T" };
    batch.put(Key::hash(Table::Transactions, id(0)), transaction.encode());
    for (number, row) in outcomes {
        batch.put(Key::hash(Table::Outcomes, id(*number)), row.clone());
        let body = ReceiptRecord { refund: false, height: 0, fragment: b"R" };
        batch.put(Key::hash(Table::Receipts, id(*number)), body.encode());
    }
    let mut storage = MemoryStorage::new();
    storage.commit(batch).unwrap();
    storage
}

#[test]
fn a_walk_over_cyclic_receipts_ends() {
    let next = |number| OutcomeStatus::SuccessReceiptId(id(number));
    let storage = storage_of(&[
        (0, outcome(next(1), &[1, 1])),
        (1, outcome(next(2), &[2, 0])),
        (2, outcome(next(1), &[1, 2])),
    ]);
    let status = query(&storage);
    assert_eq!(status.final_status(), FinalStatus::Started);
    assert_eq!(status.outcomes().count(), 3);
}

#[test]
fn a_chain_of_a_hundred_thousand_receipts_does_not_overflow_the_stack() {
    let last = 100_000;
    let mut rows: Vec<(u64, Vec<u8>)> = (0..last)
        .map(|n| (n, outcome(OutcomeStatus::SuccessReceiptId(id(n + 1)), &[n + 1])))
        .collect();
    rows.push((last, outcome(OutcomeStatus::SuccessValue, &[])));
    let storage = storage_of(&rows);
    let mut query = StatusQuery::new(id(0), 200_000);
    let status = run(&mut query, &storage).unwrap().unwrap();
    assert_eq!(status.final_status(), FinalStatus::SuccessValue);
    assert_eq!(status.milestone(), Milestone::ExecutedOptimistic);

    let error = run(&mut StatusQuery::new(id(0), 1000), &storage).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().ends_with("more than 1000 receipts"), "{error}");
}

#[test]
fn damaged_rows_are_errors_and_never_panics() {
    let valid = storage_of(&[
        (0, outcome(OutcomeStatus::SuccessReceiptId(id(1)), &[1])),
        (1, outcome(OutcomeStatus::SuccessValue, &[])),
    ]);
    let keys: Vec<Key> = valid.iter().map(|(key, _)| *key).collect();
    let mut errors = 0;
    for key in keys {
        let row = milepost::storage::Snapshot::get(&valid, &key).unwrap().unwrap();
        for length in 0..row.len() {
            let mut storage = valid.clone();
            let mut batch = Batch::new();
            batch.put(key, &row[..length]);
            storage.commit(batch).unwrap();
            match run(&mut StatusQuery::new(id(0), 1000), &storage) {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{key:?} of {length} bytes");
                    errors += 1;
                }
                Ok(status) => {
                    let mut result = Vec::new();
                    let _ = status.unwrap().write(true, &mut result);
                }
            }
        }
    }
    assert!(errors > 100, "{errors}");
}
