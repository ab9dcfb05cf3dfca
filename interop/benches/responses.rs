//! The response about a transaction: from a request body, or from a parsed request, to a response
//! body.
//!
//! Both sides respond about one transaction, from rows of the same block messages, and their
//! responses are compared before they are timed.

use core::hint::black_box;

use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost::endpoint::{Buffers, Engine, RequestQuery, RequestState, Settings};
use milepost::rpc::parse;
use milepost::status::StatusQuery;
use milepost::storage::{Storage, run};
use milepost_benches::{Cpu, Workload, copying, group, import_all, stored, with_input};
use milepost_interop::peer;
use milepost_redb::{Options, RedbStorage};
use tempfile::TempDir;

/// The allocator of a node
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Numbers of receipts of a transaction
const SIZES: [usize; 6] = [1, 3, 10, 100, 300, 1_000];

/// The body of a response
fn body(state: RequestState) -> Vec<u8> {
    match state {
        RequestState::Ready(response) => response.body,
        RequestState::Pending(pending) => panic!("{pending:?} for a request with `NONE`"),
    }
}

/// The newest state, which every request takes anew, as a host does
fn snapshot<S: Storage>(storage: &S) -> S::Snapshot<'_> {
    storage.snapshot().expect("a readable storage")
}

/// The engine's side of a group: from a parsed request, from a request body, as a query that can be
/// suspended, and in chunks; the first two reuse their buffers
fn ours(group: &mut BenchmarkGroup<'_, Cpu>, name: &str, request: &[u8], storage: &impl Storage) {
    let (engine, settings) = (Engine::default(), Settings::default());
    let response = body(engine.respond(engine.parse(request, None), &snapshot(storage)));
    let (mut buffers, mut out) = (Buffers::default(), Vec::with_capacity(response.len()));
    let parsed = || parse(request, None, &settings.limits);
    engine.respond_into(parsed(), &snapshot(storage), &mut buffers, &mut out);
    assert!(out == response, "`respond_into` and `respond` agree");
    group.bench_function(BenchmarkId::new("ours", name), |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, parsed, |request| {
                out.clear();
                engine.respond_into(request, &snapshot(storage), &mut buffers, &mut out);
                black_box(&out);
            })
        });
    });
    // No side that copies the response can be faster.
    group.bench_function(BenchmarkId::new("lower bound", name), |bencher| {
        bencher.iter_custom(|count| copying(count, &response));
    });
    group.bench_function(BenchmarkId::new("ours in chunks", name), |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, parsed, |request| {
                engine.respond_chunks(request, &snapshot(storage), 0)
            })
        });
    });
    group.bench_function(BenchmarkId::new("ours with the request", name), |bencher| {
        bencher.iter_custom(|count| {
            with_input(
                count,
                || request,
                |request| {
                    out.clear();
                    engine.respond_into(
                        engine.parse(request, None),
                        &snapshot(storage),
                        &mut buffers,
                        &mut out,
                    );
                    black_box(&out);
                },
            )
        });
    });
    group.bench_function(BenchmarkId::new("ours as a query", name), |bencher| {
        bencher.iter_custom(|count| {
            with_input(
                count,
                || RequestQuery::new(&settings, parsed()),
                |query| body(query.run(&snapshot(storage))),
            )
        });
    });
}

/// The node's side, from rows in memory
fn peer(
    group: &mut BenchmarkGroup<'_, Cpu>,
    name: &str,
    request: &[u8],
    (workload, messages): (&Workload, &[Vec<u8>]),
    storage: &impl Storage,
) {
    peer_of(group, name, request, workload, &peer::Node::of(workload, messages), storage);
}

/// The node's side, from the rows of this node
fn peer_of(
    group: &mut BenchmarkGroup<'_, Cpu>,
    name: &str,
    request: &[u8],
    workload: &Workload,
    node: &peer::Node,
    storage: &impl Storage,
) {
    let engine = Engine::default();
    let response = body(engine.respond(engine.parse(request, None), &snapshot(storage)));
    assert!(response == peer::respond(request, node), "both sides respond the same about {name}");
    let hash = peer::hash(workload.hash);
    group.bench_function(BenchmarkId::new("peer", name), |bencher| {
        bencher.iter_custom(|count| {
            let id = || serde_json::Value::from("dontcare");
            with_input(count, id, |id| {
                peer::write_response(id, node.status(hash).expect("a status"))
            })
        });
    });
    group.bench_function(BenchmarkId::new("peer with the request", name), |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, || request, |request| peer::respond(request, node))
        });
    });
}

fn both(
    group: &mut BenchmarkGroup<'_, Cpu>,
    name: &str,
    request: &[u8],
    (workload, messages): (&Workload, &[Vec<u8>]),
    storage: &impl Storage,
) {
    peer(group, name, request, (workload, messages), storage);
    ours(group, name, request, storage);
}

fn in_memory(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "response in memory");
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
    let mut group = group(criterion, "response not final");
    for receipts in [1, 10, 100] {
        let workload = Workload::calls(receipts);
        let messages = workload.until_executed();
        let storage = stored(messages);
        let request = workload.by_hash();
        both(&mut group, &receipts.to_string(), &request, (&workload, messages), &storage);
    }
    group.finish();
}

/// A storage with the rows of a workload in a file, and the folder that is deleted when dropped
fn redb(workload: &Workload) -> (TempDir, RedbStorage) {
    let folder = tempfile::tempdir().expect("a folder for the file");
    let path = folder.path().join("rows.redb");
    let mut storage = RedbStorage::open(path, &Options::default()).expect("a new file");
    import_all(&workload.messages, &mut storage);
    (folder, storage)
}

fn on_redb(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "response on redb");
    for receipts in [1, 10, 100, 1_000] {
        let workload = Workload::calls(receipts);
        let (_folder, storage) = redb(&workload);
        let from = (&workload, &workload.messages[..]);
        // The peer's rows are in memory.
        both(&mut group, &receipts.to_string(), &workload.by_hash(), from, &storage);
    }
    group.finish();
}

/// The same, with the peer's rows in RocksDB
#[cfg(feature = "rocksdb")]
fn on_redb_and_rocksdb(criterion: &mut Criterion<Cpu>) {
    let mut group = group(criterion, "response on redb, peer on RocksDB");
    for receipts in [1, 10, 100, 1_000] {
        let workload = Workload::calls(receipts);
        let (_folder, storage) = redb(&workload);
        let node = peer::Node::on_rocksdb(&workload, &workload.messages);
        let (name, request) = (receipts.to_string(), workload.by_hash());
        peer_of(&mut group, &name, &request, &workload, &node, &storage);
        ours(&mut group, &name, &request, &storage);
    }
    group.finish();
}

#[cfg(not(feature = "rocksdb"))]
const fn on_redb_and_rocksdb(_: &mut Criterion<Cpu>) {}

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
        let mut query = StatusQuery::new(hash, 100_000);
        let status = run(&mut query, &storage).expect("rows of the engine");
        status.expect("a transaction in a block").milestone()
    };
    let node = peer::Node::of(workload, messages);
    let hash = peer::hash(workload.hash);
    let status = node.status(hash).expect("a transaction in a block").status;
    let status = serde_json::to_value(status).expect("a text");
    assert_eq!(status, milestone(workload.hash).to_string(), "both sides find the same milestone");
    group.bench_function(BenchmarkId::new("peer", name), |bencher| {
        bencher.iter_custom(|count| with_input(count, || hash, |hash| node.status(hash)));
    });
    group.bench_function(BenchmarkId::new("ours", name), |bencher| {
        bencher.iter_custom(|count| with_input(count, || workload.hash, milestone));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = in_memory, not_final, on_redb, on_redb_and_rocksdb, status
}
criterion_main!(benches);
