//! Answering requests: a request body goes in, a response or a pending request comes out; a block
//! message goes in, one atomic change of the storage comes out.
//!
//! The [`Engine`] keeps no state: everything it answers from is in the storage, so answering takes
//! shared references only and may run on any number of threads. Every step exists as a query that
//! can be suspended ([`RequestQuery`], [`BlockImport`](crate::import::BlockImport)) and as a call
//! that runs it over a local storage. Requests that wait are kept apart, in an [`Endpoint`].

#[cfg(test)]
mod adversarial_requests;
mod buffers;
mod call;
mod chain;
#[expect(clippy::module_inception, reason = "named after the type it holds, as every file here is")]
mod endpoint;
mod engine;
mod fast_path;
mod pending_request;
mod request_query;
mod response;
mod settings;
#[cfg(test)]
mod tests;

pub use buffers::Buffers;
pub use chain::{ChainQuery, ChainStatus};
pub use endpoint::{Endpoint, Resumption, Suspension, WaitConfig};
pub use engine::Engine;
pub use pending_request::PendingRequest;
pub use request_query::RequestQuery;
pub use response::{RequestState, Response, ResponseBody, ResponseChunk};
pub use settings::{Settings, UnknownTransaction};
