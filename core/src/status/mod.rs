//! The status of a transaction: the walk over its receipts, its final status, its milestone.

mod milestone;

pub use milestone::Milestone;
