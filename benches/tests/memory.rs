//! The memory of open requests, in bytes.
//!
//! Every allocation is counted with the size that glibc's `malloc` takes for it: with its header
//! and rounded up. Only allocations of the endpoint are counted, also at their peak, when a growing
//! table exists twice. This file has one test, because the tracker counts all threads of a process.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::alloc::System;

use milepost::codec::base64;
use milepost::endpoint::{Endpoint, Engine, RequestState, WaitConfig};
use milepost::storage::MemoryStorage;
use milepost::waiting::RequestHandle;
use milepost_benches::random_hash;
use milepost_practice::{Practice, Settings};
use milepost_testkit::Rng;
use tracking_allocator::{AllocationGroupId, AllocationRegistry, AllocationTracker, Allocator};

#[global_allocator]
static ALLOCATOR: Allocator<System> = Allocator::system();

/// Bytes in use
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// The maximum of bytes in use
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counter;

impl AllocationTracker for Counter {
    fn allocated(&self, _: usize, size: usize, _: usize, _: AllocationGroupId) {
        let live = LIVE.fetch_add(allocated_len(size), Relaxed) + allocated_len(size);
        PEAK.fetch_max(live, Relaxed);
    }

    fn deallocated(
        &self,
        _: usize,
        size: usize,
        _: usize,
        _: AllocationGroupId,
        _: AllocationGroupId,
    ) {
        LIVE.fetch_sub(allocated_len(size), Relaxed);
    }
}

/// Bytes that glibc on a 64-bit machine takes for an allocation: a header of 8, in steps of 16, at
/// least 32; from 128 KiB on a header of 16, in pages of 4 KiB
const fn allocated_len(size: usize) -> usize {
    if size >= 128 * 1024 {
        return (size + 16).next_multiple_of(4096);
    }
    let chunk = (size + 8).next_multiple_of(16);
    if chunk < 32 { 32 } else { chunk }
}

const OPEN: usize = 1_000_000;
/// Number of requests that submit their transaction; the others name its hash
const SUBMITTED: usize = 1_000;
const MAX_BYTES: usize = 256 << 20;

/// Ids as clients send them: that of `near-api-js`, a counter, a UUID, none
fn id(number: usize) -> String {
    match number % 4 {
        0 => r#""id":"dontcare","#.into(),
        1 => format!(r#""id":{number},"#),
        2 => format!(r#""id":"6f9619ff-8b86-4d01-b42d-{number:012x}","#),
        _ => String::new(),
    }
}

/// Params of requests for transactions that are in no block
fn params() -> impl Iterator<Item = String> {
    let mut chain = Practice::new(Settings::demo(3));
    let submitted = core::iter::from_fn(move || Some(chain.next_message().transactions))
        .flatten()
        .take(SUBMITTED)
        .map(|transaction| {
            let mut text = String::new();
            base64::encode(&transaction.signed, &mut text);
            format!(r#"{{"signed_tx_base64":"{text}","wait_until":"FINAL"}}"#)
        });
    let mut rng = Rng::new(4);
    let by_hash = (SUBMITTED..OPEN).map(move |_| {
        format!(r#"{{"tx_hash":"{}","sender_account_id":"alice.near"}}"#, random_hash(&mut rng))
    });
    submitted.chain(by_hash)
}

#[test]
fn a_million_open_requests_fit_into_256_mib_which_cancelling_frees() {
    let storage = MemoryStorage::new();
    let mut handles: Vec<RequestHandle> = Vec::with_capacity(OPEN);
    let mut endpoint =
        Endpoint::new(Engine::default(), WaitConfig::default().with_max_waiting(OPEN));
    AllocationRegistry::set_global_tracker(Counter).unwrap();
    for (params, number) in params().zip(0..) {
        let id = id(number);
        let body = format!(
            r#"{{"jsonrpc":"2.0",{id}"method":"EXPERIMENTAL_tx_status","params":{params}}}"#
        );
        AllocationRegistry::enable_tracking();
        let engine = *endpoint.engine();
        let state = engine.respond(engine.parse(body.as_bytes(), None), &storage);
        let RequestState::Pending(pending) = state else { panic!("{body}: {state:?}") };
        let handle = endpoint.handle_pending(number as u64 / 100, pending, None, ());
        AllocationRegistry::disable_tracking();
        handles.push(handle);
    }
    assert_eq!(endpoint.pending_count(), OPEN);
    let (live, peak) = (LIVE.load(Relaxed), PEAK.load(Relaxed));
    println!(
        "{OPEN} open requests: {} MiB, at most {} MiB; {} bytes per request",
        live >> 20,
        peak >> 20,
        live / OPEN
    );
    assert!(peak <= MAX_BYTES, "{peak} bytes, the limit is {MAX_BYTES}");
    // Without a working tracker, every count would be 0: a hash alone has 32 bytes.
    assert!(live >= OPEN * 32, "{live} bytes for {OPEN} requests");

    AllocationRegistry::enable_tracking();
    handles.iter().for_each(|handle| assert!(endpoint.cancel(*handle)));
    AllocationRegistry::disable_tracking();
    assert_eq!(endpoint.pending_count(), 0);
    let left = LIVE.load(Relaxed);
    println!("all cancelled: {} KiB", left >> 10);
    assert!(left <= 1 << 20, "{left} bytes without open requests");
}
