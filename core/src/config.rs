//! The protocol configuration: which one is in force at a block, and how one is imported.
//!
//! A configuration belongs to an epoch. Where a host names a height instead, it is in force from
//! there on in epochs that have none of their own.
//!
//! The typed views are for hosts that read values. They are lossless: a view is written with the
//! members it was read with, in the order of a node's response, unknown ones included. Responses
//! copy the text that was checked on import.

mod import;
mod in_force;
mod query;
mod scope;
mod selector;
mod tracked_shards;

pub use import::ConfigImport;
pub(crate) use in_force::{BlockEpoch, ReadRows, kept};
pub use milepost_protocol::config::*;
pub(crate) use query::ResolveConfig;
pub use query::{ConfigQuery, ConfigResult};
pub use scope::ConfigScope;
pub use selector::{BlockReference, Finality, SyncCheckpoint};
pub use tracked_shards::TrackedShards;
