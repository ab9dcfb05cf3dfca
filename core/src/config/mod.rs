//! The protocol configuration: which block it is asked for, its shape, its bytes.
//!
//! Typed views are for hosts that look inside. They are lossless: what a view has read it writes
//! again, in the order of a node's answer, with members it does not know and without members that
//! were not there. Answers themselves are made of the text that was checked when it came in.

mod put;
mod question;
mod selector;

pub use milepost_protocol::config::*;
pub use put::PutQuestion;
pub use question::{ConfigAnswer, ConfigQuestion};
pub use selector::{BlockReference, Finality, SyncCheckpoint};
