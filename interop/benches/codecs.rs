//! Codecs: base58, base64, the bytes of a signed transaction, and canonical JSON.
//!
//! The peer uses the node's crates: `bs58`, `base64`, `borsh` with the hash that decoding computes,
//! and `serde_json` by way of a generic value, whose members are sorted as well.

use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use milepost::codec::{base58, base64, json};
use milepost::transaction::SignedTransaction;
use milepost_benches::{Cpu, Workload, group, random_hash, with_input};
use milepost_testkit::Rng;

/// The allocator of a node
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Benches both sides of a codec, after a comparison of their results
fn both<Input: Copy, Output: PartialEq, Peer>(
    group: &mut BenchmarkGroup<'_, Cpu>,
    name: &str,
    input: Input,
    ours: impl Fn(Input) -> Output,
    peer: impl Fn(Input) -> Peer,
    convert: impl Fn(&Peer) -> Output,
) {
    assert!(convert(&peer(input)) == ours(input), "both sides of {name} return the same");
    group.bench_function(BenchmarkId::new("peer", name), |bencher| {
        bencher.iter_custom(|count| with_input(count, || input, &peer));
    });
    group.bench_function(BenchmarkId::new("ours", name), |bencher| {
        bencher.iter_custom(|count| with_input(count, || input, &ours));
    });
}

fn base58_text(bytes: &[u8]) -> String {
    let mut text = String::new();
    base58::encode(bytes, &mut text);
    text
}

fn base64_text(bytes: &[u8]) -> String {
    let mut text = String::new();
    base64::encode(bytes, &mut text);
    text
}

fn codecs(criterion: &mut Criterion<Cpu>) {
    let mut rng = Rng::new(1);
    let mut group = group(criterion, "codec");
    let group = &mut group;

    let hash = *random_hash(&mut rng).as_bytes();
    let text = base58_text(&hash);
    both(
        group,
        "base58 of 32 bytes",
        &hash,
        |bytes: &[u8; 32]| base58_text(bytes),
        |bytes: &[u8; 32]| near_primitives::hash::CryptoHash(*bytes).to_string(),
        Clone::clone,
    );
    both(
        group,
        "base58 to 32 bytes",
        &text[..],
        |text: &str| base58::decode::<32>(text).expect("a hash"),
        |text: &str| text.parse::<near_primitives::hash::CryptoHash>().expect("a hash"),
        |hash| hash.0,
    );
    for (name, length) in [("200 bytes", 200), ("1 MiB", 1 << 20)] {
        let bytes: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
        let text = base64_text(&bytes);
        both(
            group,
            &format!("base64 of {name}"),
            &bytes[..],
            base64_text,
            |bytes: &[u8]| near_primitives::serialize::to_base64(bytes),
            Clone::clone,
        );
        both(
            group,
            &format!("base64 to {name}"),
            &text[..],
            |text: &str| base64::decode(text, base64::Padding::Required).expect("base64"),
            |text: &str| near_primitives::serialize::from_base64(text).expect("base64"),
            Clone::clone,
        );
    }
    for (name, workload) in [("200 bytes", Workload::calls(1)), ("1 MiB", Workload::deployment())] {
        both(
            group,
            &format!("transaction of {name}"),
            &workload.signed[..],
            |bytes: &[u8]| SignedTransaction::decode(bytes).expect("a transaction"),
            |bytes: &[u8]| {
                borsh::from_slice::<near_primitives::transaction::SignedTransaction>(bytes)
                    .expect("a transaction")
            },
            |peer| {
                assert_eq!(peer.hash().0, *workload.hash.as_bytes());
                SignedTransaction::decode(&workload.signed).expect("a transaction")
            },
        );
    }
    let block = Workload::calls(10);
    let message = core::str::from_utf8(&block.with_contents()[1]).expect("JSON");
    both(
        group,
        "canonical text of a block",
        message,
        |text: &str| {
            let mut out = String::new();
            json::canonical(text, &mut out).expect("JSON");
            out
        },
        |text: &str| {
            let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
            value.to_string()
        },
        Clone::clone,
    );
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = codecs
}
criterion_main!(benches);
