//! Importing blocks: a message is read, checked and converted to canonical texts, then committed.
//!
//! - `import/ours`: all of it, into an empty storage in memory; the peer reads the same bytes into
//!   the types of `near-indexer-primitives`. `import/ours without commit` is without the commit,
//!   `import/ours with check` is that with the message checked against its hash.
//! - `import per receipt`: reading the blocks of one transaction, and the node's response about it,
//!   both divided by its number of receipts.
//! - `lower bound by …`: the same bytes read by a parser that keeps nothing, or copied.

use core::hint::black_box;
use core::time::Duration;

use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use milepost::endpoint::Engine;
use milepost::import::{BlockImport, BlockVerifier, ImportSettings, VerifyMode};
use milepost::storage::MemoryStorage;
use milepost_benches::{Cpu, Workload, group, practice_block, with_input};
use milepost_interop::peer;
use milepost_tests::recorded;

/// The allocator of a node
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The minimum length of a recorded block
const MIN_LEN: usize = 100_000;
/// The number of recorded blocks, the newest ones
const MAX_RECORDED: usize = 4;

/// The blocks to import, with their names
fn blocks() -> Vec<(String, Vec<u8>)> {
    let mut recorded = recorded::files("lake", "mainnet");
    recorded.retain(|(_, message)| message.len() >= MIN_LEN && is_readable(message));
    let newest = recorded.into_iter().rev().take(MAX_RECORDED);
    [20, 200]
        .map(|count| (format!("practice, {count} transactions"), practice_block(count)))
        .into_iter()
        .chain(newest)
        .collect()
}

fn read_as_peer(message: &[u8]) -> serde_json::Result<near_indexer_primitives::StreamerMessage> {
    serde_json::from_slice(message)
}

/// Lower bounds: the same messages read by other parsers that keep nothing, and copied
fn lower_bounds(
    group: &mut BenchmarkGroup<'_, Cpu>,
    size: &str,
    messages: &[Vec<u8>],
    scale: impl Fn(Duration) -> Duration,
) {
    group.bench_function(BenchmarkId::new("lower bound by serde_json", size), |bencher| {
        let ignored = |message: &Vec<u8>| -> serde::de::IgnoredAny {
            serde_json::from_slice(message).expect("JSON")
        };
        bencher.iter_custom(|count| {
            scale(with_input(count, || (), |()| messages.iter().map(ignored).for_each(drop)))
        });
    });
    group.bench_function(BenchmarkId::new("lower bound by simd-json", size), |bencher| {
        // It modifies its input, so each iteration gets a copy.
        let mut buffers = simd_json::Buffers::default();
        bencher.iter_custom(|count| {
            scale(with_input(
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
    group.bench_function(BenchmarkId::new("lower bound by copying", size), |bencher| {
        let mut copy = Vec::new();
        bencher.iter_custom(|count| {
            scale(with_input(
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

/// Whether both sides can read a block: old blocks lack members that newer types require
fn is_readable(message: &[u8]) -> bool {
    read_as_peer(message).is_ok() && read(message).is_ok()
}

fn read(message: &[u8]) -> Result<BlockImport, milepost::Error> {
    BlockImport::new(message, ImportSettings::default())
}

fn import(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "import");
    for (name, message) in blocks() {
        group.throughput(Throughput::Bytes(message.len() as u64));
        group.bench_function(BenchmarkId::new("peer", &name), |bencher| {
            bencher.iter_custom(|count| {
                with_input(
                    count,
                    || &message[..],
                    |message| read_as_peer(message).expect("a block"),
                )
            });
        });
        lower_bounds(&mut group, &name, core::slice::from_ref(&message), |total| total);
        group.bench_function(BenchmarkId::new("ours without commit", &name), |bencher| {
            bencher.iter_custom(|count| {
                with_input(count, || &message[..], |message| read(message).expect("a block"))
            });
        });
        group.bench_function(BenchmarkId::new("ours with check", &name), |bencher| {
            bencher.iter_custom(|count| {
                let verifier = || BlockVerifier::new(VerifyMode::Report);
                with_input(count, verifier, |mut verifier| {
                    let (_, import) = verifier.read(&message, ImportSettings::default());
                    (verifier, import.expect("a block"))
                })
            });
        });
        group.bench_function(BenchmarkId::new("ours", &name), |bencher| {
            bencher.iter_custom(|count| {
                let (engine, settings) = (Engine::default(), ImportSettings::default());
                with_input(count, MemoryStorage::new, |mut storage| {
                    let summary = engine.import_block(&message, &settings, &mut storage);
                    // Dropped within the measured time, as the peer's types are.
                    (storage, summary.expect("a block"))
                })
            });
        });
    }
    group.finish();
}

fn import_per_receipt(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "import per receipt");
    for receipts in [10_u32, 100, 1_000] {
        let workload = Workload::calls(receipts as usize);
        let per_receipt = |total: Duration| total / receipts;
        let node = peer::Node::of(&workload, &workload.messages);
        let hash = peer::hash(workload.hash);
        group.bench_function(BenchmarkId::new("peer", receipts), |bencher| {
            bencher.iter_custom(|count| {
                let id = || serde_json::Value::from("dontcare");
                per_receipt(with_input(count, id, |id| {
                    peer::write_response(id, node.status(hash).expect("a status"))
                }))
            });
        });
        lower_bounds(&mut group, &receipts.to_string(), workload.with_contents(), per_receipt);
        group.bench_function(BenchmarkId::new("ours", receipts), |bencher| {
            bencher.iter_custom(|count| {
                per_receipt(with_input(
                    count,
                    || workload.with_contents(),
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
    targets = import, import_per_receipt
}
criterion_main!(benches);
