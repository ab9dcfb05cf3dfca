//! The path of the reference node, rebuilt from its public crates, and the benches that put it beside ours.
//!
//! ```text
//! cargo bench --manifest-path interop/Cargo.toml --target-dir target/interop -p milepost-peer-benches \
//!     --features jemalloc
//! ```
//!
//! A request becomes a generic JSON value and then typed; rows are borsh, decoded one by one while the
//! receipts are walked recursively; what was found becomes views, these a generic JSON value, that
//! bytes. Types, decoding and writing are the node's own; the way between them is written here. Answers of
//! both sides are compared before they are timed; figures of this side are called `peer`. The workloads and
//! the clock are those of `milepost-benches`. With the feature `jemalloc`, both sides allocate as a node
//! does.
//!
//! Left out, and so the peer is faster than a node: the database (its rows lie in a `HashMap`, or with
//! the feature `rocksdb` in one without compression, which is built from C++ for ten minutes and more),
//! actors, epochs, shards, metrics, block headers, and of a shard's receipts in a block all but the one
//! asked for.
//!
//! | bench | what is measured | beside it |
//! |---|---|---|
//! | `answers` | the answer about a transaction with 1 to 1,000 receipts, or 1 MiB of code; in memory and on redb, final and not | a node's answer from borsh rows in memory |
//! | `requests` | a body until it is a checked request: by the bytes of a transaction, by its hash | a node's reading |
//! | `config` | the protocol configuration in force | a node's assembly of it |
//! | `ingest` | a block message until it is committed; the texts of one receipt | reading the same bytes into an indexer's types; a node's answer, per receipt |
//! | `codecs` | base58, base64, signed transactions, canonical JSON | the crates that a node uses |
//! | `waiters` | a block for which 1 or 10 thousand wait | building the status of every open request of a node's types, as a node does for each block |
//!
//! The program `http-peer` is the node's path behind HTTP, for `cargo xtask bench --http`.

#![forbid(unsafe_code)]

mod config;
mod crowd;
#[cfg(feature = "rocksdb")]
mod disk;
mod request;
mod rows;
mod status;
mod store;

pub use config::ConfigPeer;
pub use crowd::CrowdBesideANode;
pub use request::{Asked, asked, read};
pub use rows::Rows;
pub use status::{answer, response, satisfies};

use near_primitives::hash::CryptoHash;

/// The same hash in the peer's type
pub const fn hash(hash: milepost::primitives::CryptoHash) -> CryptoHash {
    CryptoHash(*hash.as_bytes())
}
