//! Random ids of the workloads.

use milepost::primitives::CryptoHash;
use milepost_testkit::Rng;

/// An id that no block, row or cache has seen before
pub fn random_hash(rng: &mut Rng) -> CryptoHash {
    CryptoHash::new(rng.bytes())
}
