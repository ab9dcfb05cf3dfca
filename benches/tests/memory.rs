//! How much memory open requests take, counted byte by byte.
//!
//! Every allocation is reported by the allocator and counted as glibc's `malloc` would take it from
//! the machine: with its header and rounded up. Only what the desk keeps is counted, and at its
//! peak, so also the moment in which a table that grows is there twice. There is one test here, for
//! all threads of a process count together.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::alloc::System;

use milepost::codec::base64;
use milepost::engine::{Called, Desk, Engine, Patience};
use milepost::facts::MemoryStorage;
use milepost::waiting::Ticket;
use milepost_benches::random_hash;
use milepost_practice::{Practice, Settings};
use milepost_testkit::Rng;
use tracking_allocator::{AllocationGroupId, AllocationRegistry, AllocationTracker, Allocator};

#[global_allocator]
static ALLOCATOR: Allocator<System> = Allocator::system();

/// Bytes in use
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// The most bytes that were in use
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Count;

impl AllocationTracker for Count {
    fn allocated(&self, _: usize, size: usize, _: usize, _: AllocationGroupId) {
        let live = LIVE.fetch_add(taken(size), Relaxed) + taken(size);
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
        LIVE.fetch_sub(taken(size), Relaxed);
    }
}

/// What glibc on a machine of 64 bits takes for so many bytes: a header of 8, in steps of 16, at
/// least 32; from 128 KiB on a header of 16, in pages of 4 KiB
const fn taken(size: usize) -> usize {
    if size >= 128 * 1024 {
        return (size + 16).next_multiple_of(4096);
    }
    let chunk = (size + 8).next_multiple_of(16);
    if chunk < 32 { 32 } else { chunk }
}

const OPEN: usize = 1_000_000;
/// How many of them submit their transaction; the others look it up
const SUBMITTED: usize = 1_000;
const MOST_BYTES: usize = 256 << 20;

/// The ids that clients send: `near-api-js`, a counter, a UUID, none
fn id(number: usize) -> String {
    match number % 4 {
        0 => r#""id":"dontcare","#.into(),
        1 => format!(r#""id":{number},"#),
        2 => format!(r#""id":"6f9619ff-8b86-4d01-b42d-{number:012x}","#),
        _ => String::new(),
    }
}

/// The params of requests about transactions that are in no block
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
    let looked_up = (SUBMITTED..OPEN).map(move |_| {
        format!(r#"{{"tx_hash":"{}","sender_account_id":"alice.near"}}"#, random_hash(&mut rng))
    });
    submitted.chain(looked_up)
}

#[test]
fn a_million_open_requests_fit_into_256_mib_and_are_given_back() {
    let storage = MemoryStorage::new();
    let mut tickets: Vec<Ticket> = Vec::with_capacity(OPEN);
    let mut desk = Desk::new(Engine::default(), Patience::default().with_limit(OPEN));
    AllocationRegistry::set_global_tracker(Count).unwrap();
    for (params, number) in params().zip(0..) {
        let id = id(number);
        let body = format!(
            r#"{{"jsonrpc":"2.0",{id}"method":"EXPERIMENTAL_tx_status","params":{params}}}"#
        );
        AllocationRegistry::enable_tracking();
        let called = desk.call(number as u64 / 100, body.as_bytes(), None, &storage);
        AllocationRegistry::disable_tracking();
        let Called::Wait(ticket) = called else { panic!("{body}: {called:?}") };
        tickets.push(ticket);
    }
    assert_eq!(desk.open(), OPEN);
    let (live, peak) = (LIVE.load(Relaxed), PEAK.load(Relaxed));
    println!(
        "{OPEN} open requests: {} MiB, at most {} MiB; {} bytes per request",
        live >> 20,
        peak >> 20,
        live / OPEN
    );
    assert!(peak <= MOST_BYTES, "{peak} bytes, the limit is {MOST_BYTES}");
    // Were allocations not seen, nothing would be too much: a hash alone has 32 bytes.
    assert!(live >= OPEN * 32, "{live} bytes for {OPEN} requests");

    AllocationRegistry::enable_tracking();
    tickets.iter().for_each(|ticket| assert!(desk.cancel(*ticket)));
    AllocationRegistry::disable_tracking();
    assert_eq!(desk.open(), 0);
    let left = LIVE.load(Relaxed);
    println!("all cancelled: {} KiB", left >> 10);
    assert!(left <= 1 << 20, "{left} bytes for no request");
}
