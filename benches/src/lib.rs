//! What things cost: benches of the hot paths, each beside what it replaces.
//!
//! ```text
//! cargo xtask bench
//! cargo xtask bench request
//! cargo bench -p milepost-benches
//! cargo bench -p milepost-benches --features peers,jemalloc --bench waiters -- block
//! cargo test -p milepost-benches -- --nocapture
//! ```
//!
//! A bench measures processor time of its own thread ([`Cpu`]), so a busy machine disturbs it little;
//! caches are shared all the same, so what decides something is measured on a machine that is idle.
//! What is compared is measured in one run, by one clock, over the same data. Memory is counted by
//! tests, for bytes do not depend on the machine.
//!
//! With the feature `peers`, the path of a reference node stands beside ours, rebuilt from its public
//! crates (module `peer`); its figures are called `peer`. Answers of both sides are compared before they
//! are timed. With the feature `jemalloc`, both allocate as a node does. Building them takes minutes, so
//! they are off by default. `cargo xtask bench` runs everything with both and writes the ratios into
//! `docs/BENCHMARKS.md`.
//!
//! With the feature `rocksdb`, the node's answers are given from rows in its own database as well; it is
//! built from C++, for ten minutes and more: `cargo xtask bench --rocksdb`.
//!
//! | bench | what is measured | beside it |
//! |---|---|---|
//! | `answers` | the answer about a transaction with 1 to 1,000 receipts, or 1 MiB of code; in memory and on redb, final and not | a node's answer from borsh rows in memory |
//! | `requests` | a body until it is a checked request: by the bytes of a transaction, by its hash | a node's reading |
//! | `config` | the protocol configuration in force | a node's assembly of it |
//! | `ingest` | a block message until it is committed; the texts of one receipt | reading the same bytes into an indexer's types; a node's answer, per receipt |
//! | `codecs` | base58, base64, signed transactions, canonical JSON | the crates that a node uses |
//! | `waiters` | requests that come, go, and are woken by a block, with 1 thousand to 1 million open | asking all of them again at each block, by the engine and by a node |
//!
//! The program `gate` goes ten of these paths for `cargo xtask gate`, which counts their instructions;
//! `disk` says what a settled transaction takes on disk; `native` is the other side of the bench of the npm
//! package (`bindings/js/bench`).
//!
//! [`Workload`] is what the first four are about.
//!
//! `waiters` has a group for each of these, and a figure for each number of open requests:
//!
//! - `admit`, `cancel`: 100 requests come, or 100 that were waiting go.
//! - `block/wake`: a block that changed 2,000 facts, 100 of which someone sleeps on, is handed in: those
//!   100 are found and woken.
//! - `block/answer`: the same, and the 100 are asked until each is answered or asleep again.
//! - `block/ask all`: every open request is asked again, by the questions of this engine, which build no
//!   answer before its time. Left out with a million, where one block takes seconds.
//! - `block/build all`: the status of every open request is built with its receipts, as a node does for
//!   each block before it looks whether the milestone is reached; from the texts of this engine, which
//!   costs a small part of what a node's views cost.
//! - `block beside a node/ours`: the same as `block/answer`, with outcomes as long as on a chain.
//! - `block beside a node/peer`: the status of every open request is built of a node's types, as a
//!   node does for each block; answers are not written. Up to 10 thousand.
//!
//! Every block is new: ids are random, as they are on a chain, and none was seen by a block before,
//! so that no cache knows them. See [`Crowd`] for who waits, and [`Feed`] for what blocks bring.

#![forbid(unsafe_code)]

mod cpu;
mod crowd;

mod feed;
mod measure;
#[cfg(feature = "peers")]
pub mod peer;
mod random;
mod recorded;
mod shapes;
mod workload;

pub use cpu::Cpu;
pub use crowd::{Block, Crowd, Leaving, Newcomer};
pub use feed::Feed;
pub use measure::{copying, group, with_input};
pub use random::random_hash;
pub use recorded::{practice_block, recorded_blocks};
pub use workload::{Workload, stored, take_in};
