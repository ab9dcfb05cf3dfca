//! Facts and where they live: rows in the tables of a plain map.
//!
//! A storage is a map from ([`Table`], key) to bytes that can be read singly, read many at a time
//! and changed by an atomic [`Batch`]; nothing else is asked of it, so a hash map, a file, a
//! remote cluster or a callback can each be one. Questions over a storage are machines that can be
//! suspended ([`Question`]); [`drive`] runs one over any storage at hand.
//!
//! What the rows mean is said where they are encoded; ingest writes them, status and config read
//! them.

mod batch;
pub mod conformance;
mod key;
mod memory;
mod question;
pub mod record;
pub(crate) mod replay;
mod row;
mod storage;

pub use batch::Batch;
pub(crate) use key::sorted_by_keys;
pub use key::{Key, Table};
pub use memory::MemoryStorage;
pub(crate) use question::drive_in;
pub use question::{Question, Step, drive};
pub use row::Row;
pub use storage::{Rows, Storage};
