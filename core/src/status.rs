//! The status of a transaction: the walk over its receipts, its final status, its milestone.
//!
//! Everything here follows from the rows of one state of the storage. Nothing waits, and JSON is
//! joined from fragments that were written when their block was imported.

mod buffers;
mod compact;
mod condition;
mod last_seen;
mod parts;
mod proof;
mod query;
mod receipt_tree;
mod summary;
#[cfg(all(test, feature = "archive"))]
mod tests;
mod transaction_status;
mod tree_status;

pub(crate) use buffers::{MAX_RETAINED_NODES, WalkBuffers};
pub use compact::CompactStatus;
pub use condition::WaitCondition;
pub use last_seen::{LastSeen, NextEvent};
pub use milepost_protocol::views::Milestone;
pub use parts::BurntAmounts;
pub use proof::{ProofEnd, ProofQuery};
pub use query::StatusQuery;
pub use summary::{Observation, StatusSummary, SummaryQuery};
pub use transaction_status::{FinalStatus, TransactionStatus};
