//! Views against the node's own types, and against recorded responses.
//!
//! Compares bytes: views write what a node sends. Recorded responses are read from a folder next to
//! the repository, if it exists.

extern crate alloc;

#[path = "views/differential.rs"]
mod differential;
#[path = "views/node.rs"]
mod node;
#[path = "views/random.rs"]
mod random;
#[path = "views/recorded.rs"]
mod recorded;

fn canonical(text: &str) -> String {
    let mut out = String::new();
    milepost::codec::json::canonical(text, &mut out).unwrap();
    out
}
