//! Rows and the storage that holds them: tables of a plain key-value map.
//!
//! A storage maps ([`Table`], key) to bytes. It reads one row or many rows of one state
//! ([`Snapshot`]) and applies an atomic [`Batch`] ([`Storage`]); a hash map, a file, a remote
//! cluster or a callback can each be one. Reads of the engine are queries that can be suspended
//! where rows are needed ([`Query`]); [`run`] drives one over a local storage.
//!
//! `import` writes the rows, `status` and `config` read them; [`rows`] encodes them.

mod batch;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod driver;
mod failed_call;
mod key;
mod memory;
mod optimistic;
mod query;
pub(crate) mod restartable;
mod row;
#[doc(hidden)]
pub mod rows;
mod snapshot;
mod write_buffer;

pub use batch::Batch;
pub use driver::run;
pub(crate) use driver::run_with_rows;
pub(crate) use failed_call::{failed_call, failed_read};
pub(crate) use key::sorted_by_keys;
pub use key::{Key, Table};
pub use memory::MemoryStorage;
pub use optimistic::OptimisticQuery;
pub use query::{Query, Step};
pub(crate) use query::{already_complete, check_row_count, sealed};
pub use row::Row;
pub use rows::{BlockPoint, ConfigRecord, OutcomeRecord, OutcomeStatus, TransactionRecord};
pub use snapshot::{Isolation, Snapshot, Storage};
pub use write_buffer::{BufferedSnapshot, WriteBuffer};
