//! Random ids of the workloads.

use milepost::primitives::CryptoHash;
use milepost_testkit::Rng;

/// A random id, which no block, row or cache contains yet
pub fn random_hash(rng: &mut Rng) -> CryptoHash {
    CryptoHash::new(rng.bytes())
}
