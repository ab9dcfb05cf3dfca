//! What tests, simulations and benches of every crate share: random numbers, and texts damaged at random.
//!
//! Everything follows from a seed, is the same on every platform and in every run, and stays the same
//! between versions: recorded vectors, counts of instructions and seeds of the simulation depend on it.
//! Has no dependencies and needs no `std`, so that every crate can use it, the engine included. Leaves
//! out what only one crate needs, and anything that is shipped.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod damage;
mod rng;

pub use damage::damaged;
pub use rng::{Rng, mix};
