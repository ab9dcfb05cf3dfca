//! Verifying the signature of a submitted transaction, of each scheme.
//!
//! The engine does this once for a submitted transaction that it does not know. The transaction is
//! decoded before the clock starts, which also computes the signed hash.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ed25519_dalek::Signer as _;
use milepost::primitives::{Balance, PublicKey, Scheme, Signature};
use milepost::transaction::{
    SignedTransaction, Transaction, TransactionVersion, TransferAction, UnknownFields,
};
use milepost_benches::{Cpu, group, random_hash, with_input};
use milepost_testkit::Rng;
use ml_dsa::MlDsa65;

/// The allocator of a node
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn ed25519(rng: &mut Rng) -> SignedTransaction {
    let key = ed25519_dalek::SigningKey::from_bytes(&rng.bytes());
    let public_key = key.verifying_key().to_bytes();
    transfer(Scheme::Ed25519, &public_key, rng, |digest| key.sign(digest).to_bytes().to_vec())
}

fn secp256k1(rng: &mut Rng) -> SignedTransaction {
    let seed: [u8; 32] = rng.bytes();
    let key = k256::ecdsa::SigningKey::from_slice(&seed).expect("a scalar of the group");
    let point = key.verifying_key().to_sec1_point(false);
    // Without the tag byte of uncompressed points.
    transfer(Scheme::Secp256k1, &point.as_bytes()[1..], rng, |digest| {
        let (signature, recovery_id) = key.sign_prehash_recoverable(digest);
        [&signature.to_bytes()[..], &[recovery_id.to_byte()]].concat()
    })
}

fn ml_dsa_65(rng: &mut Rng) -> SignedTransaction {
    let seed: [u8; 32] = rng.bytes();
    let key = ml_dsa::ExpandedSigningKey::<MlDsa65>::from_seed(&seed.into());
    let public_key = key.verifying_key().encode();
    transfer(Scheme::MlDsa65, &public_key, rng, |digest| {
        key.sign_deterministic(digest, &[]).expect("an empty context").encode().to_vec()
    })
}

/// A transfer with this public key, signed by `sign`
fn transfer(
    scheme: Scheme,
    public_key: &[u8],
    rng: &mut Rng,
    sign: impl FnOnce(&[u8; 32]) -> Vec<u8>,
) -> SignedTransaction {
    let transfer = TransferAction { deposit: Balance(1), unknown_fields: UnknownFields::new() };
    let transaction = Transaction {
        version: TransactionVersion::V0 { nonce: 1 },
        signer_id: "alice.near".parse().expect("an account id"),
        public_key: PublicKey::new(scheme, public_key).expect("a key"),
        receiver_id: "bob.near".parse().expect("an account id"),
        block_hash: random_hash(rng),
        actions: vec![transfer.into()],
    };
    let signature = sign(transaction.hash().expect("a hash").as_bytes());
    let signature = Signature::new(scheme, &signature).expect("a signature");
    SignedTransaction::new(transaction, signature).expect("a transaction")
}

fn signatures(criterion: &mut Criterion<Cpu>) {
    let rng = &mut Rng::new(1);
    let mut group = group(criterion, "signature");
    for (name, signed) in
        [("ed25519", ed25519(rng)), ("secp256k1", secp256k1(rng)), ("ml-dsa-65", ml_dsa_65(rng))]
    {
        assert!(signed.verify(), "{name}: a signature of the key");
        group.bench_function(BenchmarkId::new("ours", name), |bencher| {
            bencher.iter_custom(|count| with_input(count, || &signed, SignedTransaction::verify));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = signatures
}
criterion_main!(benches);
