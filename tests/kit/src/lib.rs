//! Random numbers, and randomly edited texts, for the tests, simulations and benches of all crates.
//!
//! Results depend only on the seed and are the same on every platform and in every version:
//! recorded vectors, instruction counts and seeds of the simulation depend on them. Has no
//! dependencies and needs no `std`, so every crate can use it.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod damage;
mod rng;

pub use damage::damaged;
pub use rng::{Rng, mix};
