//! Parsing requests: from a request body to a checked, typed request.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost::codec::base64;
use milepost::primitives::CryptoHash;
use milepost::rpc::{Limits, Method, MethodCall, Request, TransactionRef, parse};
use milepost_benches::{Cpu, Workload, group, with_input};
use milepost_interop::peer;

/// The allocator of a node
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn parse_call(body: &[u8]) -> MethodCall {
    match parse(body, None, &Limits::default()) {
        Request::Single(Ok(call)) => call,
        other => panic!("{other:?}"),
    }
}

/// The necessary work for a transaction's bytes: decoding base64, and hashing
fn decode_and_hash(text: &str) -> (Vec<u8>, CryptoHash) {
    /// A tag and 64 bytes
    const SIGNATURE_LEN: usize = 65;

    let bytes = base64::decode(text, base64::Padding::Required).expect("base64");
    let hash = CryptoHash::digest(&bytes[..bytes.len() - SIGNATURE_LEN]);
    (bytes, hash)
}

fn requests(criterion: &mut Criterion<Cpu>) {
    let (calls, deployment) = (Workload::calls(1), Workload::deployment());
    let mut group = group(criterion, "request");
    for (name, workload, body) in [
        ("form A, 200 B of arguments", &calls, calls.by_bytes()),
        ("form A, 1 MiB of code", &deployment, deployment.by_bytes()),
        ("form B", &calls, calls.by_hash()),
    ] {
        let Method::TransactionStatus(request) = parse_call(&body).method else {
            panic!("a request for a transaction's status")
        };
        let (hash, by_bytes) = match request.transaction {
            TransactionRef::Hash { hash, .. } => (hash, false),
            TransactionRef::Signed(signed) => (signed.hash(), true),
        };
        assert_eq!(hash, workload.hash);
        let parsed = peer::parse_request(&body);
        assert_eq!(parsed.hash(), peer::hash(hash), "both sides parse the same");
        let wait_until = serde_json::to_value(&parsed.request.wait_until).expect("a text");
        assert_eq!(wait_until, request.wait_until.to_string());
        group.bench_function(BenchmarkId::new("peer", name), |bencher| {
            bencher.iter_custom(|count| with_input(count, || &body[..], peer::parse_request));
        });
        group.bench_function(BenchmarkId::new("ours", name), |bencher| {
            bencher.iter_custom(|count| with_input(count, || &body[..], parse_call));
        });
        if by_bytes {
            let mut text = String::new();
            base64::encode(&workload.signed, &mut text);
            group.bench_function(BenchmarkId::new("lower bound", name), |bencher| {
                bencher.iter_custom(|count| with_input(count, || &text[..], decode_and_hash));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = requests
}
criterion_main!(benches);
