//! The protocol configuration: which block it is asked for, its shape, its bytes.

mod selector;

pub use selector::{BlockReference, Finality, SyncCheckpoint};
