//! Properties of every practice chain.

extern crate alloc;

mod chain;
mod milestones;
mod proofs;
