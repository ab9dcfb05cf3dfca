//! The workloads of all benches, and the benches of what has no counterpart in a node.
//!
//! ```text
//! cargo bench -p milepost-benches --features jemalloc
//! cargo bench -p milepost-benches --bench waiters -- block
//! cargo test -p milepost-benches -- --nocapture
//! ```
//!
//! A bench measures processor time of its own thread ([`Cpu`]), so other processes disturb it
//! little; they still share the caches, so measure on an idle machine before you decide on a
//! figure. Compared figures are of one run, one clock and the same data. Memory is counted by
//! tests, because bytes do not depend on the machine. With the feature `jemalloc`, benches allocate
//! as a node does.
//!
//! `interop` measures the path of the reference node beside the engine with the workloads
//! of this crate: responses, requests, the protocol configuration, import, codecs. `cargo xtask
//! bench` runs both.
//!
//! | bench | what is measured |
//! |---|---|
//! | `waiters` | requests that are suspended, cancelled, and woken by a block, with 1 thousand to 1 million open |
//! | `endpoint` | one pending request, the block that wakes it and its response, with 1 to 100 thousand others |
//! | `signatures` | verifying the signature of a submitted transaction, of each scheme |
//!
//! The program `gate` runs ten hot paths for `cargo xtask gate`, which counts their instructions;
//! `native` is the native side of the bench of the npm package (`bindings/js/bench`).
//!
//! `waiters` has these groups, each with a figure for each number of open requests:
//!
//! - `waiters/suspend`, `waiters/cancel`: 100 requests are suspended, or 100 pending ones are
//!   cancelled.
//! - `block/wake`: the endpoint gets a block with 2,000 changes, for 100 of which a request waits,
//!   and finds and wakes those 100 requests.
//! - `block/wake and respond`: the same, and the 100 are evaluated until each is answered or waits
//!   again.
//! - `block/evaluate all`: every open request is evaluated again by the engine's queries, which
//!   write no response before the milestone is reached. Left out with a million, where a block
//!   takes seconds.
//! - `block/build all`: the status of every open request is built with its receipts, as a node does
//!   for each block before it checks the milestone; from the engine's texts, which costs a small
//!   part of what a node's views cost.
//!
//! The ids in each block are random and new, as on a chain, so no cache has them. [`OpenRequests`]
//! describes the requests, and [`Feed`] the blocks.

#![forbid(unsafe_code)]

mod cpu;
mod feed;
#[cfg(feature = "measure")]
mod measure;
mod open_requests;
mod outcomes;
mod practice;
mod random;
mod workload;

pub use cpu::Cpu;
pub use feed::Feed;
#[cfg(feature = "measure")]
pub use measure::{copying, group, round_group, rounds, with_input};
pub use open_requests::{Block, NewRequest, OpenRequest, OpenRequests};
pub use practice::{Answers, StoredChain, practice_block};
pub use random::random_hash;
pub use workload::{Workload, import_all, stored};
