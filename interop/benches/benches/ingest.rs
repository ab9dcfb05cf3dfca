//! Taking in blocks: a message is read, checked and rendered; then it is committed.
//!
//! - `ingest/ours`: the whole of it, into an empty storage in memory. Beside it, the same bytes are read
//!   into the types of `near-indexer-primitives`, which is where an indexer's work begins.
//! - `ingest/ours without commit`: reading, checking and rendering only.
//! - `cold render`: reading, checking and rendering the blocks of one transaction with so many receipts,
//!   divided by these. Beside it, the node's answer about the same transaction, divided likewise.
//! - `floor of …` in both: the same bytes, read by others and kept by nobody, or copied and not read.

use core::hint::black_box;
use core::time::Duration;

use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use milepost::engine::Engine;
use milepost::facts::MemoryStorage;
use milepost::ingest::{IngestQuestion, IngestSettings};
use milepost_benches::{Cpu, Workload, group, practice_block, with_input};
use milepost_peer_benches as peer;
use milepost_tests::recorded;

/// What a node allocates with
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Recorded blocks that are shorter say little
const SHORTEST: usize = 100_000;
/// The most recorded blocks: the newest ones
const RECORDED: usize = 4;

/// The blocks to be taken in, with their names
fn blocks() -> Vec<(String, Vec<u8>)> {
    let mut recorded = recorded::files("lake", "mainnet");
    recorded.retain(|(_, message)| message.len() >= SHORTEST && reads(message));
    let newest = recorded.into_iter().rev().take(RECORDED);
    [20, 200]
        .map(|count| (format!("practice, {count} transactions"), practice_block(count)))
        .into_iter()
        .chain(newest)
        .collect()
}

fn streamed(message: &[u8]) -> serde_json::Result<near_indexer_primitives::StreamerMessage> {
    serde_json::from_slice(message)
}

/// Figures of what cannot be left out: the same messages read by others, who keep nothing of them
fn floors(
    group: &mut BenchmarkGroup<'_, Cpu>,
    size: &str,
    messages: &[Vec<u8>],
    each: impl Fn(Duration) -> Duration,
) {
    group.bench_function(BenchmarkId::new("floor of serde_json", size), |bencher| {
        let ignored = |message: &Vec<u8>| -> serde::de::IgnoredAny {
            serde_json::from_slice(message).expect("JSON")
        };
        bencher.iter_custom(|count| {
            each(with_input(count, || (), |()| messages.iter().map(ignored).for_each(drop)))
        });
    });
    group.bench_function(BenchmarkId::new("floor of simd-json", size), |bencher| {
        // It writes into what it reads, so each time it is given bytes of its own.
        let mut buffers = simd_json::Buffers::default();
        bencher.iter_custom(|count| {
            each(with_input(
                count,
                || messages.to_vec(),
                |mut messages| {
                    for message in &mut messages {
                        let tape = simd_json::to_tape_with_buffers(message, &mut buffers);
                        drop(tape.expect("JSON"));
                    }
                },
            ))
        });
    });
    group.bench_function(BenchmarkId::new("floor of copying", size), |bencher| {
        let mut copy = Vec::new();
        bencher.iter_custom(|count| {
            each(with_input(
                count,
                || (),
                |()| {
                    for message in messages {
                        copy.clear();
                        copy.extend_from_slice(message);
                        black_box(&copy);
                    }
                },
            ))
        });
    });
}

/// Whether both sides can read it: old blocks lack what newer types want
fn reads(message: &[u8]) -> bool {
    streamed(message).is_ok() && read(message).is_ok()
}

fn read(message: &[u8]) -> Result<IngestQuestion, milepost::Error> {
    IngestQuestion::new(message, IngestSettings::default())
}

fn whole(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "ingest");
    for (name, message) in blocks() {
        group.throughput(Throughput::Bytes(message.len() as u64));
        group.bench_function(BenchmarkId::new("peer", &name), |bencher| {
            bencher.iter_custom(|count| {
                with_input(count, || &message[..], |message| streamed(message).expect("a block"))
            });
        });
        floors(&mut group, &name, core::slice::from_ref(&message), |whole| whole);
        group.bench_function(BenchmarkId::new("ours without commit", &name), |bencher| {
            bencher.iter_custom(|count| {
                with_input(count, || &message[..], |message| read(message).expect("a block"))
            });
        });
        group.bench_function(BenchmarkId::new("ours", &name), |bencher| {
            bencher.iter_custom(|count| {
                let (engine, settings) = (Engine::default(), IngestSettings::default());
                with_input(count, MemoryStorage::new, |mut storage| {
                    let ingested = engine.ingest(&message, &settings, &mut storage);
                    // With what it holds, as the peer's types are.
                    (storage, ingested.expect("a block"))
                })
            });
        });
    }
    group.finish();
}

fn cold(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "cold render");
    for receipts in [10_u32, 100, 1_000] {
        let workload = Workload::calls(receipts as usize);
        let each = |whole: Duration| whole / receipts;
        let rows = peer::Rows::of(&workload, &workload.messages);
        let hash = peer::hash(workload.hash);
        group.bench_function(BenchmarkId::new("peer", receipts), |bencher| {
            bencher.iter_custom(|count| {
                let id = || serde_json::Value::from("dontcare");
                each(with_input(count, id, |id| {
                    peer::response(id, rows.status(hash).expect("a status"))
                }))
            });
        });
        floors(&mut group, &receipts.to_string(), workload.with_facts(), each);
        group.bench_function(BenchmarkId::new("ours", receipts), |bencher| {
            bencher.iter_custom(|count| {
                each(with_input(
                    count,
                    || workload.with_facts(),
                    |messages| {
                        let read = |message: &Vec<u8>| read(message).expect("a block");
                        messages.iter().map(read).collect::<Vec<_>>()
                    },
                ))
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = whole, cold
}
criterion_main!(benches);
