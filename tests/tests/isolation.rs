//! Queries over a storage that changes while it is read: each response is that of one state.
//!
//! Blocks of a practice chain are imported, and before each read of a request the next block is
//! committed. A storage that declares single reads must give the response of the state before or
//! after that commit. The same reads without a check give responses that were never true, which
//! shows that the test can fail.

use core::cell::Cell;

use milepost::endpoint::{Engine, RequestQuery, RequestState};
use milepost::import::ImportSettings;
use milepost::storage::{
    Isolation, Key, MemoryStorage, OptimisticQuery, Query as _, Row, Snapshot, Step,
};
use milepost::{Error, ErrorKind};
use milepost_practice::{Practice, Settings};
use serde_json::json;

/// Reads one state until a number of reads is over, then another one
struct Switching<'storage> {
    states: [&'storage MemoryStorage; 2],
    reads: Cell<usize>,
    reads_of_first: usize,
    isolation: Isolation,
}

impl Switching<'_> {
    fn has_switched(&self) -> bool {
        self.reads.get() > self.reads_of_first
    }
}

impl Snapshot for Switching<'_> {
    fn isolation(&self) -> Isolation {
        self.isolation
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.reads.set(self.reads.get() + 1);
        self.states[usize::from(self.has_switched())].get(key)
    }
}

/// Everything that a response reports
fn text(state: RequestState) -> String {
    match state {
        RequestState::Ready(response) => String::from_utf8(response.body).expect("UTF-8"),
        RequestState::Pending(pending) => {
            format!("{:?} at {}", pending.condition(), pending.generation())
        }
    }
}

/// Runs a query as a host with remote rows does: the rows of a level in another order
fn run_suspended(query: RequestQuery, snapshot: &Switching<'_>) -> RequestState {
    let mut query = OptimisticQuery::new(query, snapshot.isolation);
    loop {
        let keys = match query.poll().expect("valid rows") {
            Step::Done(state) => return state,
            Step::NeedRows(keys) => keys,
        };
        let mut rows = vec![None; keys.len()];
        for (key, row) in keys.iter().zip(&mut rows).rev() {
            *row = snapshot.get(key).expect("a memory storage");
        }
        query.supply_rows(&rows).expect("one row for each key");
    }
}

/// The requests about the newest transactions and the configuration, and a batch of all
fn requests(transactions: &[(String, String)]) -> Vec<String> {
    let statuses =
        transactions.iter().rev().take(12).zip(["NONE", "INCLUDED_FINAL", "FINAL"].iter().cycle());
    let mut calls: Vec<_> = statuses
        .map(|((hash, signer), wait_until)| {
            let params =
                json!({"tx_hash": hash, "sender_account_id": signer, "wait_until": wait_until});
            json!({"jsonrpc": "2.0", "id": 1, "method": "EXPERIMENTAL_tx_status", "params": params})
        })
        .collect();
    for block in [
        json!({"finality": "final"}),
        json!({"finality": "near-final"}),
        json!({"sync_checkpoint": "earliest_available"}),
    ] {
        calls.push(json!({"jsonrpc": "2.0", "id": 2, "method": "EXPERIMENTAL_protocol_config", "params": block}));
    }
    let batch = json!([calls[0], calls[1], calls[calls.len() - 1]]);
    calls.push(batch);
    calls.iter().map(ToString::to_string).collect()
}

#[derive(Debug, Default)]
struct Counts {
    compared: usize,
    restarted: usize,
    mixed: usize,
}

fn compare(
    body: &str,
    states: [&MemoryStorage; 2],
    respond: impl Fn(&Switching<'_>) -> String,
    counts: &mut Counts,
) {
    let expected = states.map(|state| {
        let states = [state, state];
        let (reads, isolation) = (Cell::new(0), Isolation::Snapshot);
        respond(&Switching { states, reads, reads_of_first: 0, isolation })
    });
    for isolation in [Isolation::ReadCommitted, Isolation::Snapshot] {
        for reads_of_first in 0.. {
            let reads = Cell::new(0);
            let snapshot = Switching { states, reads, reads_of_first, isolation };
            let found = respond(&snapshot);
            let has_switched = snapshot.has_switched();
            let is_of_one_state = expected.contains(&found);
            if isolation == Isolation::Snapshot {
                counts.mixed += usize::from(!is_of_one_state);
            } else {
                assert!(is_of_one_state, "read {reads_of_first} of {body}\n{found}\n{expected:?}");
                counts.compared += 1;
                counts.restarted += usize::from(has_switched && found != expected[0]);
            }
            if !has_switched {
                break;
            }
        }
    }
}

#[test]
fn a_response_is_that_of_one_state() {
    let engine = Engine::default();
    let mut counts = Counts::default();
    for seed in 0..3 {
        let mut chain = Practice::new(Settings::simulation(seed));
        let mut storage = MemoryStorage::new();
        let mut transactions = Vec::new();
        for number in 0..40 {
            let before = storage.clone();
            let message = chain.next_message();
            if number % 8 == 0 {
                let text =
                    json!({"chain_id": "dev", "genesis_height": 1, "protocol_version": number});
                let settings = ImportSettings::default();
                let put =
                    engine.put_config(message.height, &text.to_string(), &settings, &mut storage);
                put.unwrap();
            }
            // Some messages of this chain are on forks that are refused.
            let _ = engine.import_block(&message.json, &ImportSettings::default(), &mut storage);
            transactions.extend(
                message
                    .transactions
                    .iter()
                    .map(|one| (one.hash.to_string(), one.signer_id.to_string())),
            );
            if transactions.len() < 12 || number % 3 != 0 {
                continue;
            }
            for body in requests(&transactions) {
                let states = [&before, &storage];
                let parse = || engine.parse(body.as_bytes(), None);
                let local = |snapshot: &Switching<'_>| text(engine.respond(parse(), snapshot));
                compare(&body, states, local, &mut counts);
                let remote = |snapshot: &Switching<'_>| {
                    text(run_suspended(RequestQuery::new(engine.settings(), parse()), snapshot))
                };
                compare(&body, states, remote, &mut counts);
            }
        }
    }
    println!("{counts:?}");
    assert!(
        counts.compared > 10_000 && counts.restarted > 5_000 && counts.mixed > 50,
        "{counts:?}"
    );
}

/// A storage with another generation at every read
struct Restless(Cell<u64>);

impl Snapshot for Restless {
    fn isolation(&self) -> Isolation {
        Isolation::ReadCommitted
    }

    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        use milepost::storage::rows::ChainRecord;

        self.0.set(self.0.get() + 1);
        let chain = ChainRecord { generation: self.0.get(), ..ChainRecord::default() };
        Ok((*key == ChainRecord::key()).then(|| chain.encode().into()))
    }
}

#[test]
fn restarts_are_bounded() {
    let error = Engine::default().chain_status(&Restless(Cell::new(0))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    assert!(error.to_string().contains("the limit is 16 restarts"), "{error}");
    let batch =
        br#"[{"id":1,"method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}},
        {"id":2,"method":"tx_status","params":["11111111111111111111111111111112","a.near"]},7]"#;
    let engine = Engine::default();
    let state = engine.respond(engine.parse(batch, None), &Restless(Cell::new(0)));
    let body = text(state);
    assert_eq!(body.matches("the limit is 16 restarts").count(), 4, "{body}");
    assert_eq!(body.matches("\"error\":").count(), 3, "{body}");
}
