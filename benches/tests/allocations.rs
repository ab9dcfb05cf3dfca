//! How often an answer allocates, counted call by call.
//!
//! Transactions of a practice chain are asked for, by their hash and by their bytes, once everything
//! about them is final, and the configuration at the final head; answers go into one buffer that is used again and again, as that of
//! a connection is. There is one test here, for all threads of a process count together.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::alloc::System;

use milepost::codec::base64;
use milepost::engine::{Engine, Response};
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

#[test]
fn an_answer_allocates_at_most_twice() {
    let (engine, settings) = (Engine::default(), IngestSettings::default());
    let mut chain = Practice::new(Settings::demo(5));
    let mut storage = MemoryStorage::new();
    engine.put_config(1, &protocol_config("practice", 1, 87, &[]), &mut storage).unwrap();
    let mut requests = Vec::new();
    for block in 0..40 {
        let message = chain.next_message();
        engine.ingest(&message.json, &settings, &mut storage).unwrap();
        for transaction in &message.transactions {
            for (method, id) in [
                ("EXPERIMENTAL_tx_status", r#""dontcare""#),
                ("tx", "17"),
                ("tx_status", r#""1f8c3a52-77de""#),
            ] {
                requests.push(format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"tx_hash":"{}","sender_account_id":"{}","wait_until":"FINAL"}}}}"#,
                    transaction.hash, transaction.signer_id
                ));
            }
            let mut signed = String::new();
            base64::encode(&transaction.signed, &mut signed);
            let mut by_bytes =
                vec![format!(r#"{{"signed_tx_base64":"{signed}","wait_until":"FINAL"}}"#)];
            // Such params cannot ask for the end, so only what has long ended is asked for.
            if block < 25 {
                by_bytes.push(format!(r#"["{signed}"]"#));
            }
            for params in by_bytes {
                requests.push(format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_tx_status","params":{params}}}"#
                ));
            }
        }
    }
    for finality in ["final", "optimistic"] {
        requests.push(format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"EXPERIMENTAL_protocol_config","params":{{"finality":"{finality}"}}}}"#
        ));
    }
    AllocationRegistry::set_global_tracker(Count).unwrap();
    // Were allocations not seen, there would never be too many.
    assert_eq!(counted(|| drop(Vec::<u8>::with_capacity(64))), 1);

    let (mut answered, mut most, mut out) = (0, 0, Vec::with_capacity(1 << 20));
    for request in &requests {
        out.clear();
        let mut response = None;
        let count = counted(|| {
            response = Some(engine.respond(request.as_bytes(), None, &storage, &mut out));
        });
        // The newest transactions are not final yet.
        let Some(Response::Written(class)) = response else { continue };
        assert_eq!(class, AnswerClass::Result, "{request}");
        assert!(count <= MOST, "{count} allocations for {request}");
        (answered, most) = (answered + 1, most.max(count));
    }
    println!("{answered} of {} requests answered, with at most {most} allocations", requests.len());
    assert!(answered > requests.len() / 2, "{answered} of {}", requests.len());
}
