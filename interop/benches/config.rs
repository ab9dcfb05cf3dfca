//! The protocol configuration of a final block: from a request body, or from a parsed request, to a
//! response body.
//!
//! A node assembles it for each request from the genesis settings and those of the version; the
//! engine stores it as JSON. The peer does not look up the block and its epoch.

use core::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use milepost::endpoint::{Buffers, Engine, RequestQuery, RequestState, Settings};
use milepost::import::ImportSettings;
use milepost::rpc::parse;
use milepost_benches::{Cpu, Workload, copying, group, stored, with_input};
use milepost_interop::peer::ConfigPeer;

/// The allocator of a node
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const REQUEST: &[u8] = br#"{"jsonrpc":"2.0","id":"dontcare","method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;

fn body(state: RequestState) -> Vec<u8> {
    match state {
        RequestState::Ready(response) => response.body,
        RequestState::Pending(pending) => panic!("{pending:?} for a configuration"),
    }
}

fn config(criterion: &mut Criterion<Cpu>) {
    let network = ConfigPeer::mainnet();
    let text = network.text();

    let (engine, settings) = (Engine::default(), Settings::default());
    let mut storage = stored(&Workload::calls(1).messages);
    let import_settings = ImportSettings::default();
    engine
        .put_config(network.genesis_height(), &text, &import_settings, &mut storage)
        .expect("a configuration");
    let response = body(engine.respond(engine.parse(REQUEST, None), &storage));
    assert!(response.len() > text.len(), "{}", response.escape_ascii());

    let mut group = group(criterion, "protocol configuration");
    assert!(response == network.respond(REQUEST), "both sides respond the same");
    group.bench_function("peer/final", |bencher| {
        bencher.iter_custom(|count| {
            let id = || serde_json::Value::from("dontcare");
            with_input(count, id, |id| network.write_response(id))
        });
    });
    group.bench_function("peer with the request/final", |bencher| {
        bencher
            .iter_custom(|count| with_input(count, || REQUEST, |request| network.respond(request)));
    });
    let (mut buffers, mut out) = (Buffers::default(), Vec::with_capacity(response.len()));
    let parsed = || parse(REQUEST, None, &settings.limits);
    engine.respond_into(parsed(), &storage, &mut buffers, &mut out);
    assert!(out == response, "`respond_into` and `respond` agree");
    group.bench_function("ours/final", |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, parsed, |request| {
                out.clear();
                engine.respond_into(request, &storage, &mut buffers, &mut out);
                black_box(&out);
            })
        });
    });
    // No side that copies the response can be faster.
    group.bench_function("lower bound/final", |bencher| {
        bencher.iter_custom(|count| copying(count, &response));
    });
    group.bench_function("ours in chunks/final", |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, parsed, |request| engine.respond_chunks(request, &storage, 0))
        });
    });
    group.bench_function("ours as a query/final", |bencher| {
        bencher.iter_custom(|count| {
            with_input(
                count,
                || RequestQuery::new(&settings, parsed()),
                |query| body(query.run(&storage)),
            )
        });
    });
    group.bench_function("ours with the request/final", |bencher| {
        bencher.iter_custom(|count| {
            with_input(
                count,
                || REQUEST,
                |body| {
                    out.clear();
                    let request = engine.parse(body, None);
                    engine.respond_into(request, &storage, &mut buffers, &mut out);
                    black_box(&out);
                },
            )
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = config
}
criterion_main!(benches);
