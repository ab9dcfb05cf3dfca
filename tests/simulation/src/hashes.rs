//! Ids: indices into a list of the hashes of a run, so that the oracle needs no maps.
//!
//! Blocks, transactions and receipts share one list.

use milepost::primitives::CryptoHash;
use milepost_testkit::Rng;

/// The index of a hash in [`Hashes`]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Id(u32);

impl Id {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The hashes of a run, in base58 too
#[derive(Default)]
pub(crate) struct Hashes(Vec<(CryptoHash, String)>);

impl Hashes {
    /// Adds a random hash
    pub(crate) fn add_random(&mut self, rng: &mut Rng) -> Id {
        self.add(CryptoHash::new(rng.bytes()))
    }

    /// Adds a hash, which must be new
    pub(crate) fn add(&mut self, hash: CryptoHash) -> Id {
        self.0.push((hash, hash.to_string()));
        Id(self.0.len() as u32 - 1)
    }

    pub(crate) fn hash(&self, id: Id) -> CryptoHash {
        self.0[id.index()].0
    }

    /// The hash in base58
    pub(crate) fn text(&self, id: Id) -> &str {
        &self.0[id.index()].1
    }

    /// The first characters of the hash, for the log
    pub(crate) fn short(&self, id: Id) -> &str {
        &self.text(id)[..6]
    }

    /// The number of hashes
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
