//! The protocol configuration: which block it is asked for, its shape, its bytes.

mod question;
mod selector;

pub use question::{ConfigAnswer, ConfigQuestion};
pub use selector::{BlockReference, Finality, SyncCheckpoint};
