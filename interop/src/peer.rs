//! The path of the reference node, rebuilt from its public crates, and the benches that compare it
//! with the engine.
//!
//! ```text
//! cargo bench --manifest-path interop/Cargo.toml --target-dir target/interop \
//!     -p milepost-interop --features jemalloc
//! ```
//!
//! A request becomes a generic JSON value and then a typed request; rows are Borsh, decoded one by
//! one while the receipts are walked recursively; the result becomes views, these a generic JSON
//! value, and this bytes. Types, decoding and encoding are the node's own; the code between them is
//! written here. Responses of both sides are compared before they are timed; figures of this side
//! are named `peer`. The workloads and the clock are those of `milepost-benches`. With the feature
//! `jemalloc`, both sides allocate as a node does.
//!
//! The peer is faster than a node, because it leaves out: the database (its rows are in a
//! `HashMap`, or with the feature `rocksdb` in RocksDB without compression), actors, epochs,
//! shards, metrics, block headers, and of a shard's receipts in a block all except the requested
//! one.
//!
//! | bench | what is measured | the peer |
//! |---|---|---|
//! | `responses` | the response about a transaction with 1 to 1,000 receipts, or 1 MiB of code; in memory and on redb, final and not | a node's response from Borsh rows in memory |
//! | `requests` | from a body to a checked request: by the bytes of a transaction, by its hash | a node's parsing |
//! | `config` | the protocol configuration in force | a node's assembly of it |
//! | `import` | from a block message to its commit; the texts of one receipt | reading the same bytes into an indexer's types; a node's response, per receipt |
//! | `codecs` | base58, base64, signed transactions, canonical JSON | the crates that a node uses |
//! | `waiters` | a block with 1 or 10 thousand pending requests | building the status of every open request with a node's types, as a node does for each block |
//!
//! The program `disk` prints the size of a node's rows in RocksDB, compressed as in a node.

mod config;
mod followed_requests;
mod node;
mod request;
#[cfg(feature = "rocksdb")]
mod rocksdb_store;
mod status;
mod store;
mod table;

pub use config::ConfigPeer;
pub use followed_requests::FollowedRequests;
pub use node::Node;
pub use request::{ParsedRequest, parse_message, parse_request};
pub use status::{respond, satisfies, write_response};

use near_primitives::hash::CryptoHash;

/// The same hash in the peer's type
pub const fn hash(hash: milepost::primitives::CryptoHash) -> CryptoHash {
    CryptoHash(*hash.as_bytes())
}
