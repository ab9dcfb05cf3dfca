//! Ids: small numbers that stand for 32 bytes, so that the oracle works on lists instead of maps.
//!
//! Everything that has a hash (blocks, transactions, receipts) has a name in one list of its run.

use milepost::primitives::CryptoHash;
use milepost_testkit::Rng;

/// The place of a name in [`Names`]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Id(u32);

impl Id {
    pub(crate) const fn place(self) -> usize {
        self.0 as usize
    }
}

/// The hashes of one run and their texts
#[derive(Default)]
pub(crate) struct Names(Vec<String>);

impl Names {
    /// A name that nothing has yet
    pub(crate) fn fresh(&mut self, rng: &mut Rng) -> Id {
        self.add(CryptoHash::new(rng.bytes()))
    }

    /// A name for this hash, which has none yet
    pub(crate) fn add(&mut self, hash: CryptoHash) -> Id {
        self.0.push(hash.to_string());
        Id(self.0.len() as u32 - 1)
    }

    /// The hash in base58
    pub(crate) fn text(&self, id: Id) -> &str {
        &self.0[id.place()]
    }

    /// The first letters of the hash, for the log
    pub(crate) fn short(&self, id: Id) -> &str {
        &self.text(id)[..6]
    }

    /// How many there are
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
