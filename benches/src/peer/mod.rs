//! The node's path, rebuilt from its public crates, to stand beside ours.
//!
//! A request is read into a generic JSON value and from there into a typed request; rows are borsh,
//! decoded one by one while the receipts are walked recursively; what was found becomes views, the
//! views a generic JSON value, the value bytes. Types, decoding and writing are the node's own; the
//! way from one to the next is written here after it.
//!
//! Left out, and so the peer is faster than a node: the database (its rows lie in a `HashMap`), the
//! way from the HTTP server to the actor that answers and back, epoch and shard lookups, metrics, and
//! the decoding of block headers. Where a node decodes all receipts that a shard sent in a block to find
//! one of them, the peer decodes that one.

mod config;
mod request;
mod rows;
mod status;

pub use config::Network;
pub use request::{Asked, asked, read};
pub use rows::Rows;
pub use status::{answer, response, satisfies};

use near_primitives::hash::CryptoHash;

/// The same hash in the peer's type
pub const fn hash(hash: milepost::primitives::CryptoHash) -> CryptoHash {
    CryptoHash(*hash.as_bytes())
}
