//! The commands of the program beside the server: about stores, archives and other servers.

pub(crate) mod archive;
mod client;
pub(crate) mod conformance;
pub(crate) mod generated;
pub(crate) mod query;
mod receipt_tree;
pub(crate) mod store;
