//! The answer about a transaction: from the bytes of a request, or from one that was read, to the bytes
//! of the response.
//!
//! What is compared is in the crate's documentation. Both sides answer about one transaction, from
//! rows of one sequence of block messages, and their answers are compared before the first is timed.

use core::hint::black_box;

use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost::engine::{Engine, Exchange, Reply, Scratch, Settings};
use milepost::facts::{Rows, drive};
use milepost::rpc::parse;
use milepost::status::StatusQuestion;
use milepost_benches::{Cpu, Workload, copying, group, stored, take_in, with_input};
use milepost_peer_benches as peer;
use milepost_redb::{Options, RedbStorage};

/// What a node allocates with
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Receipts of a transaction
const SIZES: [usize; 6] = [1, 3, 10, 100, 300, 1_000];

/// The body of an answer
fn body(reply: Reply) -> Vec<u8> {
    match reply {
        Reply::Answer(answer) => answer.body,
        Reply::Wait(wait) => panic!("{wait:?} for a request that does not"),
    }
}

/// Our side of a group: from a request that was read, all the way, and as a question that could be
/// suspended; the first two write into a buffer, and walk in a scratch, that are used again
fn ours(
    group: &mut BenchmarkGroup<'_, Cpu>,
    name: &str,
    request: &[u8],
    storage: &(impl Rows + ?Sized),
) {
    let (engine, settings) = (Engine::default(), Settings::default());
    let answer = body(engine.ask(request, None, storage));
    let (mut scratch, mut out) = (Scratch::default(), Vec::with_capacity(answer.len()));
    let incoming = || parse(request, None, &settings.limits);
    engine.answer_with(&mut scratch, incoming(), storage, &mut out);
    assert!(out == answer, "a response is an answer");
    group.bench_function(BenchmarkId::new("ours", name), |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, incoming, |incoming| {
                out.clear();
                engine.answer_with(&mut scratch, incoming, storage, &mut out);
                black_box(&out);
            })
        });
    });
    // Nothing that copies an answer costs less.
    group.bench_function(BenchmarkId::new("floor", name), |bencher| {
        bencher.iter_custom(|count| copying(count, &answer));
    });
    group.bench_function(BenchmarkId::new("ours lent", name), |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, incoming, |incoming| engine.deliver_answer(incoming, storage, 0))
        });
    });
    group.bench_function(BenchmarkId::new("ours with the request", name), |bencher| {
        bencher.iter_custom(|count| {
            with_input(
                count,
                || request,
                |request| {
                    out.clear();
                    engine.respond_with(&mut scratch, request, None, storage, &mut out);
                    black_box(&out);
                },
            )
        });
    });
    group.bench_function(BenchmarkId::new("ours as an exchange", name), |bencher| {
        bencher.iter_custom(|count| {
            let open = || Exchange::open(&settings, request, None);
            with_input(count, open, |exchange| body(exchange.drive(storage)))
        });
    });
}

/// The node's side, from rows in memory
fn node(
    group: &mut BenchmarkGroup<'_, Cpu>,
    name: &str,
    request: &[u8],
    (workload, messages): (&Workload, &[Vec<u8>]),
    storage: &(impl Rows + ?Sized),
) {
    node_from(group, name, request, workload, &peer::Rows::of(workload, messages), storage);
}

/// The node's side, from these rows
fn node_from(
    group: &mut BenchmarkGroup<'_, Cpu>,
    name: &str,
    request: &[u8],
    workload: &Workload,
    rows: &peer::Rows,
    storage: &(impl Rows + ?Sized),
) {
    let answer = body(Engine::default().ask(request, None, storage));
    assert!(answer == peer::answer(request, rows), "both sides answer the same about {name}");
    let hash = peer::hash(workload.hash);
    group.bench_function(BenchmarkId::new("peer", name), |bencher| {
        bencher.iter_custom(|count| {
            let id = || serde_json::Value::from("dontcare");
            with_input(count, id, |id| peer::response(id, rows.status(hash).expect("a status")))
        });
    });
    group.bench_function(BenchmarkId::new("peer with the request", name), |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, || request, |request| peer::answer(request, rows))
        });
    });
}

fn both(
    group: &mut BenchmarkGroup<'_, Cpu>,
    name: &str,
    request: &[u8],
    (workload, messages): (&Workload, &[Vec<u8>]),
    storage: &(impl Rows + ?Sized),
) {
    node(group, name, request, (workload, messages), storage);
    ours(group, name, request, storage);
}

fn in_memory(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "answer in memory");
    for receipts in SIZES {
        let workload = Workload::calls(receipts);
        let storage = stored(&workload.messages);
        let from = (&workload, &workload.messages[..]);
        both(&mut group, &receipts.to_string(), &workload.by_hash(), from, &storage);
    }
    let workload = Workload::deployment();
    let storage = stored(&workload.messages);
    let from = (&workload, &workload.messages[..]);
    both(&mut group, "1 MiB deployment", &workload.by_hash(), from, &storage);
    group.finish();
}

fn not_final(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "answer not final");
    for receipts in [1, 10, 100] {
        let workload = Workload::calls(receipts);
        let messages = workload.until_executed();
        let storage = stored(messages);
        let request = workload.by_hash();
        both(&mut group, &receipts.to_string(), &request, (&workload, messages), &storage);
    }
    group.finish();
}

fn on_redb(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "answer on redb");
    for receipts in [1, 10, 100, 1_000] {
        let workload = Workload::calls(receipts);
        let folder = tempfile::tempdir().expect("a folder for the file");
        let path = folder.path().join("rows.redb");
        let mut storage = RedbStorage::open(path, &Options::default()).expect("a new file");
        take_in(&workload.messages, &mut storage);
        let from = (&workload, &workload.messages[..]);
        // Its rows stay in memory.
        both(&mut group, &receipts.to_string(), &workload.by_hash(), from, &storage);
    }
    group.finish();
}

/// The same, and the node's side from rows in its own database
#[cfg(feature = "rocksdb")]
fn beside_rocksdb(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "answer on redb beside RocksDB");
    for receipts in [1, 10, 100, 1_000] {
        let workload = Workload::calls(receipts);
        let folder = tempfile::tempdir().expect("a folder for the file");
        let path = folder.path().join("rows.redb");
        let mut storage = RedbStorage::open(path, &Options::default()).expect("a new file");
        take_in(&workload.messages, &mut storage);
        let rows = peer::Rows::on_disk(&workload, &workload.messages);
        let (name, request) = (receipts.to_string(), workload.by_hash());
        node_from(&mut group, &name, &request, &workload, &rows, &storage);
        ours(&mut group, &name, &request, &storage);
    }
    group.finish();
}

#[cfg(not(feature = "rocksdb"))]
const fn beside_rocksdb(_: &mut Criterion<Cpu>) {}

fn status(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "walk and milestone");
    for receipts in [1, 10, 100, 1_000] {
        let workload = Workload::calls(receipts);
        walk(&mut group, &receipts.to_string(), &workload, &workload.messages);
    }
    for receipts in [1, 10, 100, 1_000] {
        let workload = Workload::calls(receipts);
        let name = format!("{receipts}, not final");
        walk(&mut group, &name, &workload, workload.until_executed());
    }
    group.finish();
}

fn walk(
    group: &mut BenchmarkGroup<'_, Cpu>,
    name: &str,
    workload: &Workload,
    messages: &[Vec<u8>],
) {
    let storage = stored(messages);
    let milestone = |hash| {
        let mut question = StatusQuestion::new(hash, 100_000);
        let standing = drive(&mut question, &storage).expect("rows of the engine");
        standing.expect("a transaction in a block").milestone()
    };
    let rows = peer::Rows::of(workload, messages);
    let hash = peer::hash(workload.hash);
    let status = rows.status(hash).expect("a transaction in a block").status;
    let status = serde_json::to_value(status).expect("a text");
    assert_eq!(status, milestone(workload.hash).to_string(), "both sides find the same");
    group.bench_function(BenchmarkId::new("peer", name), |bencher| {
        bencher.iter_custom(|count| with_input(count, || hash, |hash| rows.status(hash)));
    });
    group.bench_function(BenchmarkId::new("ours", name), |bencher| {
        bencher.iter_custom(|count| with_input(count, || workload.hash, milestone));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = in_memory, not_final, on_redb, beside_rocksdb, status
}
criterion_main!(benches);
