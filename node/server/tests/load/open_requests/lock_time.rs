//! How long the lock of the endpoint is held while one block wakes all requests, and how long it
//! takes to write their responses.
//!
//! The source file of the shared endpoint is compiled here with a lock that measures. The threads
//! do what the tasks of the server do: they evaluate a request that was woken, and remove it. Rows
//! are read only where a response is written, and no thread reads any while it holds the lock.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use std::thread;
use std::time::Instant;

use milepost::Error;
use milepost::endpoint::{Endpoint, Engine, Evaluation, RequestState, WaitConfig};
use milepost::import::ImportSettings;
use milepost::storage::{Key, MemoryStorage, Row, Snapshot};
use milepost_practice::{Practice, Settings};

use crate::support::request;
use crate::sync::{self, is_held, take_held};
use shared_endpoint::SharedEndpoint;

#[expect(dead_code, reason = "nothing here waits for a timeout")]
#[path = "../../../src/waits/shared_endpoint.rs"]
mod shared_endpoint;

/// Number of threads that write responses
const THREADS: usize = 2;

/// A storage that counts reads
struct CountedReads {
    storage: MemoryStorage,
    reads: AtomicUsize,
    /// Those by a thread that holds the lock
    reads_with_lock: AtomicUsize,
}

impl Snapshot for CountedReads {
    fn get(&self, key: &Key) -> Result<Option<Row>, Error> {
        self.reads.fetch_add(1, Relaxed);
        self.reads_with_lock.fetch_add(usize::from(is_held()), Relaxed);
        self.storage.get(key)
    }
}

/// What a thread did
#[derive(Default)]
struct Work {
    responses: usize,
    bytes: usize,
    writing: Duration,
    lock_held: Duration,
}

/// Has one block wake so many requests, and checks that no response is written under the lock
pub(crate) fn check(requests: usize) {
    let engine = Engine::default();
    let settings = ImportSettings::default();
    let mut chain = Practice::new(Settings { transactions: 20..=20, ..Settings::demo(1) });
    let mut storage = MemoryStorage::new();
    for _ in 0..3 {
        engine.import_block(&chain.next_message().json, &settings, &mut storage).expect("a block");
    }

    // All wait for the transactions of the next block.
    let block = chain.next_message();
    let config = WaitConfig::default().with_max_waiting(requests);
    let endpoint = SharedEndpoint::new(Endpoint::new(engine, config));
    let mut handles = Vec::with_capacity(requests);
    for (number, transaction) in block.transactions.iter().cycle().take(requests).enumerate() {
        let params = serde_json::json!({
            "tx_hash": transaction.hash.to_string(),
            "sender_account_id": transaction.signer_id.to_string(),
            "wait_until": "INCLUDED",
        });
        let body = request("EXPERIMENTAL_tx_status", &params);
        let state = engine.respond(engine.parse(body.as_bytes(), None), &storage);
        let RequestState::Pending(pending) = state else { panic!("it is answered") };
        let insert =
            |endpoint: &mut Endpoint<usize>| endpoint.handle_pending(0, pending, None, number);
        handles.push(endpoint.call(insert).0);
    }
    let inserting = take_held();

    let update = engine.import_block(&block.json, &settings, &mut storage).expect("a block");
    let update = &update.chain_update;
    let (_, outputs) = endpoint.call(|endpoint| endpoint.handle_chain_update(update));
    let waking = take_held();
    assert_eq!(outputs.wakeups.len(), requests);

    let (reads, reads_with_lock) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let snapshot = CountedReads { storage, reads, reads_with_lock };
    let write = |evaluations: Vec<(Evaluation, usize)>| {
        let mut work = Work::default();
        for (evaluation, number) in evaluations {
            let start = Instant::now();
            let RequestState::Ready(response) = evaluation.run(&snapshot) else {
                panic!("the block includes its transaction");
            };
            work.writing += start.elapsed();
            work.responses += 1;
            work.bytes += response.body.len();
            assert!(endpoint.call(|endpoint| endpoint.cancel(handles[number])).0);
        }
        Work { lock_held: take_held(), ..work }
    };
    let mut parts: [Vec<_>; THREADS] = Default::default();
    for (index, wakeup) in outputs.wakeups.into_iter().enumerate() {
        parts[index % THREADS].push(wakeup);
    }
    let work = thread::scope(|scope| {
        let threads = parts.map(|part| scope.spawn(|| write(part)));
        threads.map(|thread| thread.join().expect("no response fails"))
    });

    assert_eq!(work.iter().map(|work| work.responses).sum::<usize>(), requests);
    assert!(snapshot.reads.into_inner() >= requests);
    assert_eq!(snapshot.reads_with_lock.into_inner(), 0);
    assert_eq!(endpoint.call(|endpoint| endpoint.pending_count()).0, 0);

    let micros = |time: Duration| time.as_secs_f64() * 1e6 / requests as f64;
    let writing: Duration = work.iter().map(|work| work.writing).sum();
    let removing: Duration = work.iter().map(|work| work.lock_held).sum();
    let bytes: usize = work.iter().map(|work| work.bytes).sum();
    println!("woken by one block:         {requests}, lock held once for {waking:.2?}");
    println!("lock held to insert one:    {:.2} us", micros(inserting));
    println!("lock held to wake one:      {:.2} us", micros(waking));
    println!("lock held to remove one:    {:.2} us", micros(removing));
    println!("writing one response:       {:.2} us without the lock", micros(writing));
    println!("  of {} bytes", bytes / requests);
}
