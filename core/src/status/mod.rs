//! The status of a transaction: the walk over its receipts, its final status, its milestone.
//!
//! Everything here follows from rows of one state of the storage; nothing waits and nothing is
//! rendered that was not rendered when its block came in.

mod blocker;
mod memory;
mod question;
mod standing;
mod tree;
mod walked;

pub use blocker::Blocker;
pub(crate) use memory::{KEPT, Memory};
pub use milepost_protocol::views::Milestone;
pub use question::StatusQuestion;
pub use standing::{FinalStatus, Standing};
