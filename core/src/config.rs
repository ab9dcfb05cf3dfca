//! The protocol configuration: which one is in force at a block, and how one is imported.
//!
//! The typed views are for hosts that read values. They are lossless: a view is written with the
//! members it was read with, in the order of a node's response, unknown ones included. Responses
//! copy the text that was checked on import.

mod import;
mod query;
mod selector;
mod tracked_shards;

pub use import::ConfigImport;
pub use milepost_protocol::config::*;
pub(crate) use query::ResolveConfig;
pub use query::{ConfigQuery, ConfigResult};
pub use selector::{BlockReference, Finality, SyncCheckpoint};
pub use tracked_shards::TrackedShards;
