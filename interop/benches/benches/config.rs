//! The protocol configuration of a final block: from a request that was read, or all the way, to the
//! bytes of the response.
//!
//! A node assembles it for each request from its settings and those of the version; the engine has it
//! as a text. The peer looks up no block and no epoch.

use core::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use milepost::engine::{Engine, Exchange, Reply, Settings};
use milepost::rpc::parse;
use milepost_benches::{Cpu, Workload, copying, group, stored, with_input};
use milepost_peer_benches::ConfigPeer;

/// What a node allocates with
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const REQUEST: &[u8] = br#"{"jsonrpc":"2.0","id":"dontcare","method":"EXPERIMENTAL_protocol_config","params":{"finality":"final"}}"#;

fn body(reply: Reply) -> Vec<u8> {
    match reply {
        Reply::Answer(answer) => answer.body,
        Reply::Wait(wait) => panic!("{wait:?} for a configuration"),
    }
}

fn config(criterion: &mut Criterion<Cpu>) {
    let network = ConfigPeer::mainnet();
    let text = network.text();

    let (engine, settings) = (Engine::default(), Settings::default());
    let mut storage = stored(&Workload::calls(1).messages);
    engine.put_config(network.genesis_height(), &text, &mut storage).expect("a configuration");
    let answer = body(engine.ask(REQUEST, None, &storage));
    assert!(answer.len() > text.len(), "{}", answer.escape_ascii());

    let mut group = group(criterion, "protocol configuration");
    assert!(answer == network.answer(REQUEST), "both sides answer the same");
    group.bench_function("peer/final", |bencher| {
        bencher.iter_custom(|count| {
            let id = || serde_json::Value::from("dontcare");
            with_input(count, id, |id| network.response(id))
        });
    });
    group.bench_function("peer with the request/final", |bencher| {
        bencher
            .iter_custom(|count| with_input(count, || REQUEST, |request| network.answer(request)));
    });
    let mut out = Vec::with_capacity(answer.len());
    let incoming = || parse(REQUEST, None, &settings.limits);
    engine.answer(incoming(), &storage, &mut out);
    assert!(out == answer, "a response is an answer");
    group.bench_function("ours/final", |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, incoming, |incoming| {
                out.clear();
                engine.answer(incoming, &storage, &mut out);
                black_box(&out);
            })
        });
    });
    // Nothing that copies the answer costs less.
    group.bench_function("floor/final", |bencher| {
        bencher.iter_custom(|count| copying(count, &answer));
    });
    group.bench_function("ours lent/final", |bencher| {
        bencher.iter_custom(|count| {
            with_input(count, incoming, |incoming| engine.deliver_answer(incoming, &storage, 0))
        });
    });
    group.bench_function("ours as an exchange/final", |bencher| {
        bencher.iter_custom(|count| {
            let open = || Exchange::open(&settings, REQUEST, None);
            with_input(count, open, |exchange| body(exchange.drive(&storage)))
        });
    });
    group.bench_function("ours with the request/final", |bencher| {
        bencher.iter_custom(|count| {
            with_input(
                count,
                || REQUEST,
                |request| {
                    out.clear();
                    engine.respond(request, None, &storage, &mut out);
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
