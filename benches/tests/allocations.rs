//! How often an answer allocates, counted call by call.
//!
//! Transactions of a practice chain are asked for, by their hash and by their bytes, after each of the
//! blocks in which they come to their end, and so is the configuration. Answers go into one buffer that
//! is used again and again, as that of a connection is, and so is the memory of the walk. There is one
//! test here, for all threads of a process count together.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::alloc::System;
use std::collections::VecDeque;

use milepost::codec::base64;
use milepost::engine::{Delivery, Engine, Response, Scratch};
use milepost::facts::MemoryStorage;
use milepost::ingest::IngestSettings;
use milepost::rpc::AnswerClass;
use milepost_practice::config::protocol_config;
use milepost_practice::{Practice, Settings};
use tracking_allocator::{AllocationGroupId, AllocationRegistry, AllocationTracker, Allocator};

#[global_allocator]
static ALLOCATOR: Allocator<System> = Allocator::system();

static COUNT: AtomicUsize = AtomicUsize::new(0);

struct Count;

impl AllocationTracker for Count {
    fn allocated(&self, _: usize, _: usize, _: usize, _: AllocationGroupId) {
        COUNT.fetch_add(1, Relaxed);
    }

    fn deallocated(
        &self,
        _: usize,
        _: usize,
        _: usize,
        _: AllocationGroupId,
        _: AllocationGroupId,
    ) {
    }
}

/// How many allocations `work` makes
fn counted(work: impl FnOnce()) -> usize {
    let before = COUNT.load(Relaxed);
    AllocationRegistry::enable_tracking();
    work();
    AllocationRegistry::disable_tracking();
    COUNT.load(Relaxed) - before
}

/// The most allocations of an answer
const MOST: usize = 2;

/// The answers that were counted
#[derive(Default)]
struct Tally {
    settled: usize,
    /// About transactions that were not settled yet
    walked: usize,
    configurations: usize,
    most: usize,
}

/// A host that answers in the same memory again and again
struct Host {
    engine: Engine,
    scratch: Scratch,
    out: Vec<u8>,
    tally: Tally,
}

impl Host {
    fn ask(&mut self, request: &str, storage: &MemoryStorage) {
        let Self { engine, scratch, out, tally } = self;
        let stands_in_a_row =
            matches!(engine.deliver(request.as_bytes(), None, storage, 0), Delivery::Pieces(_));
        // The first time it may grow.
        for first in [true, false] {
            let mut check = |respond: &mut dyn FnMut(&mut Vec<u8>) -> Response| {
                out.clear();
                let mut response = None;
                let count = counted(|| response = Some(respond(out)));
                assert!(
                    matches!(response, Some(Response::Written(AnswerClass::Result))),
                    "{request}"
                );
                if !first {
                    assert!(count <= MOST, "{count} allocations for {request}");
                    tally.most = tally.most.max(count);
                }
            };
            let body = request.as_bytes();
            check(&mut |out| engine.respond_with(scratch, body, None, storage, out));
            // That takes no scratch.
            if stands_in_a_row {
                check(&mut |out| engine.respond(body, None, storage, out));
            }
        }
        *match (request.contains("protocol_config"), stands_in_a_row) {
            (true, _) => &mut tally.configurations,
            (false, true) => &mut tally.settled,
            (false, false) => &mut tally.walked,
        } += 1;
    }
}

#[test]
fn an_answer_allocates_at_most_twice() {
    let (engine, settings) = (Engine::default(), IngestSettings::default());
    let mut chain = Practice::new(Settings::demo(5));
    let mut storage = MemoryStorage::new();
    engine.put_config(1, &protocol_config("practice", 1, 87, &[]), &mut storage).unwrap();
    AllocationRegistry::set_global_tracker(Count).unwrap();
    // Were allocations not seen, there would never be too many.
    assert_eq!(counted(|| drop(Vec::<u8>::with_capacity(64))), 1);

    let (scratch, out, tally) = (Scratch::default(), Vec::new(), Tally::default());
    let mut host = Host { engine, scratch, out, tally };
    let mut recent = VecDeque::new();
    for _ in 0..60 {
        let message = chain.next_message();
        engine.ingest(&message.json, &settings, &mut storage).unwrap();
        recent.push_back(message.transactions);
        // So long that the oldest of them are settled.
        if recent.len() > 12 {
            recent.pop_front();
        }
        for transaction in recent.iter().flatten() {
            let (hash, signer) = (transaction.hash, &transaction.signer_id);
            let mut signed = String::new();
            base64::encode(&transaction.signed, &mut signed);
            for (method, id, lookup) in [
                (
                    "EXPERIMENTAL_tx_status",
                    r#""dontcare""#,
                    format!(r#""tx_hash":"{hash}","sender_account_id":"{signer}""#),
                ),
                ("tx", "17", format!(r#""tx_hash":"{hash}","sender_account_id":"{signer}""#)),
                ("tx_status", r#""1f8c3a52-77de""#, format!(r#""signed_tx_base64":"{signed}""#)),
            ] {
                let request = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{lookup},"wait_until":"NONE"}}}}"#
                );
                host.ask(&request, &storage);
            }
        }
        if storage_has_a_final_block(&engine, &storage) {
            for finality in ["final", "optimistic"] {
                let request = format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_protocol_config","params":{{"finality":"{finality}"}}}}"#
                );
                host.ask(&request, &storage);
            }
        }
    }
    let Tally { settled, walked, configurations, most } = host.tally;
    println!("{settled} settled, {walked} walked, {configurations} configurations: at most {most}");
    assert!(settled > 500 && walked > 500 && configurations > 50, "{settled} {walked}");
}

fn storage_has_a_final_block(engine: &Engine, storage: &MemoryStorage) -> bool {
    engine.chain(storage).unwrap().last_final.is_some()
}
