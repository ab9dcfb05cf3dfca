//! What the tests that cross crates share: the vectors, their declarations and their runners.
//!
//! A vector is a request over known facts and the exact bytes of its answer; every surface of the
//! project must give the same bytes. The files in `vectors/` are written from the declarations
//! here by `cargo xtask vectors`, which never asks the engine: an answer is put together from the
//! parts that a person listed. Tests that belong to one crate live in that crate.

#![forbid(unsafe_code)]

pub mod declare;
pub mod recorded;
pub mod vectors;

/// The page that people read first: its example is compiled with the documentation tests
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct ReadMe;
