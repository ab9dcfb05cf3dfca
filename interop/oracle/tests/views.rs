//! The views: against the node's own types, and against recorded answers.
//!
//! Equality is of bytes: what the views write is what a node puts on the wire. Recorded answers
//! are read from a folder beside the repository where there is one.

extern crate alloc;

#[path = "views/differential.rs"]
mod differential;
#[path = "views/node.rs"]
mod node;
#[path = "views/random.rs"]
mod random;
#[path = "views/recorded.rs"]
mod recorded;
