//! Answering requests: a request body goes in, a response or a pending request comes out; a block
//! message goes in, one atomic change of the storage comes out.
//!
//! The [`Engine`] keeps no state: everything it answers from is in the storage, so answering takes
//! shared references only and may run on any number of threads. Every step exists as a query that
//! can be suspended ([`RequestQuery`], [`BlockImport`](crate::import::BlockImport)) and as a call
//! that runs it over a local storage. Requests that wait are kept apart, in an [`Endpoint`].

#[cfg(test)]
mod adversarial_tests;
#[cfg(feature = "archive")]
mod archive_exporter;
#[cfg(all(test, feature = "archive"))]
mod archive_exporter_tests;
#[cfg(all(test, feature = "archive"))]
mod archive_tests;
#[cfg(all(test, feature = "archive"))]
mod archive_writer_tests;
mod buffers;
mod call;
mod chain;
mod config_check;
mod end_reason;
#[expect(clippy::module_inception, reason = "named after the type it holds, as every file here is")]
mod endpoint;
mod engine;
#[cfg(all(test, feature = "archive", feature = "watch"))]
mod engine_tests;
mod evaluation;
#[cfg(feature = "archive")]
mod exports;
mod fast_path;
#[cfg(all(test, feature = "archive"))]
mod finality_tests;
mod operation;
mod output;
#[cfg(test)]
mod output_tests;
mod pending_request;
#[cfg(all(test, feature = "archive"))]
mod query_tests;
mod request_options;
mod request_query;
mod response;
mod retained_call;
mod round;
mod settings;
#[cfg(all(test, feature = "archive", feature = "watch"))]
mod settings_tests;
mod shard_check;
#[cfg(test)]
mod shard_tests;
mod suspend;
#[cfg(test)]
mod test_host;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unknown_tests;
mod validity;
mod validity_map;
#[cfg(test)]
mod validity_tests;
mod wait_config;
mod watch_event;
#[cfg(feature = "watch")]
mod watch_map;
#[cfg(feature = "watch")]
mod watch_table;
#[cfg(all(test, feature = "watch"))]
mod watch_tests;
#[cfg(feature = "watch")]
mod watches;

#[cfg(feature = "archive")]
pub use archive_exporter::{ArchiveExporter, ArchiveStatus, ExportAnswer, ExportStep};
pub use buffers::Buffers;
pub use chain::{ChainQuery, ChainStatus};
pub use end_reason::EndReason;
pub use endpoint::Endpoint;
pub use engine::Engine;
pub use evaluation::Evaluation;
pub use output::{Completion, Output};
pub use pending_request::PendingRequest;
pub use request_options::{RequestOptions, WaitMode};
pub use request_query::RequestQuery;
pub use response::{RequestState, Response, ResponseBody, ResponseChunk};
pub use settings::{Settings, UnknownTransaction};
pub use wait_config::WaitConfig;
pub use watch_event::{WatchEvent, WatchEventKind, WatchOptions};
#[cfg(feature = "watch")]
pub use watch_table::{WatchChange, WatchTable, WatchTarget};
