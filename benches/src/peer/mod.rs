//! The node's path, rebuilt from its public crates, to stand beside ours.
//!
//! A request becomes a generic JSON value and then typed; rows are borsh, decoded one by one while the
//! receipts are walked recursively; what was found becomes views, these a generic JSON value, that
//! bytes. Types, decoding and writing are the node's own; the way between them is written here.
//!
//! Left out, and so the peer is faster than a node: the database (its rows lie in a `HashMap`, or with
//! the feature `rocksdb` in one without compression), actors, epochs, shards, metrics, block headers, and
//! of a shard's receipts in a block all but the one asked for.

mod config;
#[cfg(feature = "rocksdb")]
mod disk;
mod request;
mod rows;
mod status;
mod store;

pub use config::Network;
pub use request::{Asked, asked, read};
pub use rows::Rows;
pub use status::{answer, response, satisfies};

use near_primitives::hash::CryptoHash;

/// The same hash in the peer's type
pub const fn hash(hash: milepost::primitives::CryptoHash) -> CryptoHash {
    CryptoHash(*hash.as_bytes())
}
