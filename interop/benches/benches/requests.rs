//! Reading requests: from the bytes of a body to a checked, typed request.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost::codec::base64;
use milepost::primitives::CryptoHash;
use milepost::rpc::{Call, Incoming, Limits, Lookup, Operation, parse};
use milepost_benches::{Cpu, Workload, group, with_input};
use milepost_peer_benches as peer;

/// What a node allocates with
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn read(body: &[u8]) -> Call {
    match parse(body, None, &Limits::default()) {
        Incoming::Single(Ok(call)) => call,
        refused => panic!("{refused:?}"),
    }
}

/// What no reading of a transaction's bytes can leave out: the bytes out of their text, and the hash
/// that names them
fn decoded_and_named(text: &str) -> (Vec<u8>, CryptoHash) {
    /// A tag and 64 bytes
    const SIGNATURE: usize = 65;

    let bytes = base64::decode(text, base64::Padding::Required).expect("base64");
    let hash = CryptoHash::digest(&bytes[..bytes.len() - SIGNATURE]);
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
        let Operation::TransactionStatus(request) = read(&body).operation else {
            panic!("a request for a transaction's status")
        };
        let (hash, by_bytes) = match request.lookup {
            Lookup::Hash { hash, .. } => (hash, false),
            Lookup::Signed(signed) => (signed.hash(), true),
        };
        assert_eq!(hash, workload.hash);
        let asked = peer::asked(&body);
        assert_eq!(asked.hash(), peer::hash(hash), "both sides read the same");
        let reached = serde_json::to_value(&asked.request.wait_until).expect("a text");
        assert_eq!(reached, request.wait_until.to_string());
        group.bench_function(BenchmarkId::new("peer", name), |bencher| {
            bencher.iter_custom(|count| with_input(count, || &body[..], peer::asked));
        });
        group.bench_function(BenchmarkId::new("ours", name), |bencher| {
            bencher.iter_custom(|count| with_input(count, || &body[..], read));
        });
        if by_bytes {
            let mut text = String::new();
            base64::encode(&workload.signed, &mut text);
            group.bench_function(BenchmarkId::new("floor", name), |bencher| {
                bencher.iter_custom(|count| with_input(count, || &text[..], decoded_and_named));
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
