//! The number of allocations per response.
//!
//! Requests name transactions of a practice chain, by hash and by bytes, after each of the blocks
//! in which they are executed and finalized, and the configuration. Responses are written into one
//! reused buffer, as on a connection, and the buffers of the walk are reused too. This file has one
//! test, because the tracker counts all threads of a process.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::alloc::System;
use std::collections::VecDeque;

use milepost::codec::base64;
use milepost::endpoint::{Buffers, Engine, RequestState, ResponseBody};
use milepost::import::ImportSettings;
use milepost::rpc::Outcomes;
use milepost::storage::MemoryStorage;
use milepost_practice::config::protocol_config;
use milepost_practice::{Practice, Settings};
use tracking_allocator::{AllocationGroupId, AllocationRegistry, AllocationTracker, Allocator};

#[global_allocator]
static ALLOCATOR: Allocator<System> = Allocator::system();

static COUNT: AtomicUsize = AtomicUsize::new(0);

struct Counter;

impl AllocationTracker for Counter {
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

/// The number of allocations of `work`
fn counted(work: impl FnOnce()) -> usize {
    let before = COUNT.load(Relaxed);
    AllocationRegistry::enable_tracking();
    work();
    AllocationRegistry::disable_tracking();
    COUNT.load(Relaxed) - before
}

/// The maximum number of allocations per response
const MAX_ALLOCATIONS: usize = 2;

/// Numbers of checked requests, and the most allocations of one
#[derive(Default)]
struct Tally {
    finalized: usize,
    /// About transactions that were not finalized yet
    walked: usize,
    configurations: usize,
    max: usize,
}

/// A host that reuses its buffers
struct Host {
    engine: Engine,
    buffers: Buffers,
    out: Vec<u8>,
    tally: Tally,
}

impl Host {
    fn check(&mut self, request: &str, storage: &MemoryStorage) {
        let Self { engine, buffers, out, tally } = self;
        let body = request.as_bytes();
        let state = engine.respond_chunks(engine.parse(body, None), storage, 0);
        let is_one_row = matches!(state, RequestState::Ready(ResponseBody::Chunks(_)));
        // The buffers may grow the first time.
        for first in [true, false] {
            let mut count_one = |respond: &mut dyn FnMut(
                &mut Vec<u8>,
            ) -> RequestState<Outcomes>| {
                out.clear();
                let mut response = None;
                let count = counted(|| response = Some(respond(out)));
                assert!(
                    matches!(&response, Some(RequestState::Ready(it)) if it.errors().next().is_none()),
                    "{request}"
                );
                if !first {
                    assert!(count <= MAX_ALLOCATIONS, "{count} allocations for {request}");
                    tally.max = tally.max.max(count);
                }
            };
            count_one(&mut |out| {
                engine.respond_into(engine.parse(body, None), storage, buffers, out)
            });
            // The fast path does not need the buffers.
            if is_one_row {
                count_one(&mut |out| {
                    let request = engine.parse(body, None);
                    engine.respond_into(request, storage, &mut Buffers::default(), out)
                });
            }
        }
        *match (request.contains("protocol_config"), is_one_row) {
            (true, _) => &mut tally.configurations,
            (false, true) => &mut tally.finalized,
            (false, false) => &mut tally.walked,
        } += 1;
    }
}

#[test]
fn a_response_allocates_at_most_twice() {
    let (engine, settings) = (Engine::default(), ImportSettings::default());
    let mut chain = Practice::new(Settings::demo(5));
    let mut storage = MemoryStorage::new();
    let config = protocol_config("practice", 1, 87, &[]);
    engine.put_config(1, &config, &settings, &mut storage).unwrap();
    AllocationRegistry::set_global_tracker(Counter).unwrap();
    // Without a working tracker, every count would be 0.
    assert_eq!(counted(|| drop(Vec::<u8>::with_capacity(64))), 1);

    let (buffers, out, tally) = (Buffers::default(), Vec::new(), Tally::default());
    let mut host = Host { engine, buffers, out, tally };
    let mut recent = VecDeque::new();
    for _ in 0..60 {
        let message = chain.next_message();
        engine.import_block(&message.json, &settings, &mut storage).unwrap();
        recent.push_back(message.transactions);
        // Long enough that the oldest are finalized.
        if recent.len() > 12 {
            recent.pop_front();
        }
        for transaction in recent.iter().flatten() {
            let (hash, signer) = (transaction.hash, &transaction.signer_id);
            let mut signed = String::new();
            base64::encode(&transaction.signed, &mut signed);
            for (method, id, transaction) in [
                (
                    "EXPERIMENTAL_tx_status",
                    r#""dontcare""#,
                    format!(r#""tx_hash":"{hash}","sender_account_id":"{signer}""#),
                ),
                ("tx", "17", format!(r#""tx_hash":"{hash}","sender_account_id":"{signer}""#)),
                ("tx_status", r#""1f8c3a52-77de""#, format!(r#""signed_tx_base64":"{signed}""#)),
            ] {
                let request = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{transaction},"wait_until":"NONE"}}}}"#
                );
                host.check(&request, &storage);
            }
        }
        if has_final_block(&engine, &storage) {
            for finality in ["final", "optimistic"] {
                let request = format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_protocol_config","params":{{"finality":"{finality}"}}}}"#
                );
                host.check(&request, &storage);
            }
        }
    }
    let Tally { finalized, walked, configurations, max } = host.tally;
    println!(
        "{finalized} finalized, {walked} walked, {configurations} configurations: at most {max}"
    );
    assert!(finalized > 500 && walked > 500 && configurations > 50, "{finalized} {walked}");
}

fn has_final_block(engine: &Engine, storage: &MemoryStorage) -> bool {
    engine.chain_status(storage).unwrap().last_final.is_some()
}
