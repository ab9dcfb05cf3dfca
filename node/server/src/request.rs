//! The parts of a request that all layers share: its sender and its id, its body with the memory
//! that counts, the buffer of its response, and its rejection.

mod context;
mod http_error;
mod large_buffers;
mod memory_budget;

pub(crate) use context::{RequestContext, own_value};
pub(crate) use http_error::HttpError;
pub(crate) use large_buffers::BUFFERS;
pub(crate) use memory_budget::{BodyPermit, MemoryBudget, MemoryPermit, RequestBody};
