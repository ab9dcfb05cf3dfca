//! What things cost: the workloads of all benches, and the benches of what has no counterpart in a node.
//!
//! ```text
//! cargo bench -p milepost-benches --features jemalloc
//! cargo bench -p milepost-benches --bench waiters -- block
//! cargo test -p milepost-benches -- --nocapture
//! ```
//!
//! A bench measures processor time of its own thread ([`Cpu`]), so a busy machine disturbs it little;
//! caches are shared all the same, so what decides something is measured on a machine that is idle.
//! What is compared is measured in one run, by one clock, over the same data. Memory is counted by
//! tests, for bytes do not depend on the machine. With the feature `jemalloc`, benches allocate as a node
//! does.
//!
//! Benches that put the path of the reference node beside ours are in `interop/benches`, which depends on
//! the node's crates and uses the workloads from here: answers, requests, the protocol configuration,
//! ingest, codecs. `cargo xtask bench` runs both and writes the ratios into `docs/BENCHMARKS.md`.
//!
//! | bench | what is measured |
//! |---|---|
//! | `waiters` | requests that come, go, and are woken by a block, with 1 thousand to 1 million open |
//! | `endpoint` | one request that waits, the block that wakes it and its response, with 1 to 100 thousand others |
//! | `signatures` | checking the signature of a submitted transaction, of each scheme |
//!
//! The program `gate` goes ten paths for `cargo xtask gate`, which counts their instructions; `disk` says
//! what a settled transaction takes on disk; `native` is the other side of the bench of the npm package
//! (`bindings/js/bench`).
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
//!
//! Every block is new: ids are random, as they are on a chain, and none was seen by a block before,
//! so that no cache knows them. See [`Crowd`] for who waits, and [`Feed`] for what blocks bring.

#![forbid(unsafe_code)]

mod cpu;
mod crowd;

mod feed;
mod measure;
mod practice;
mod random;
mod shapes;
mod workload;

pub use cpu::Cpu;
pub use crowd::{Block, Crowd, Leaving, Newcomer};
pub use feed::Feed;
pub use measure::{copying, group, round_group, rounds, with_input};
pub use practice::practice_block;
pub use random::random_hash;
pub use workload::{Workload, stored, take_in};
