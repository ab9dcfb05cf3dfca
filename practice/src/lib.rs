//! A practice chain: blocks, transactions and forks in the shape of a NEAR network, made from a
//! seed, for demos, tests, simulation and benches.
//!
//! [`Practice::next_message`] gives one block message after the other, without end, in the form
//! that block sources deliver. Equal [`Settings`] give equal bytes: there is no clock, no I/O and
//! no thread. Hashes, ids, transaction signatures and outcome proofs are real; signatures of
//! blocks and chunks, and the roots that no one can check from the messages, are only well formed.
//!
//! It is not a node: no contract runs. What comes of a transaction is drawn when it is written.

#![forbid(unsafe_code)]

extern crate alloc;

pub mod config;

mod action;
mod cast;
mod execution;
mod failures;
mod kind;
mod ledger;
mod merkle;
mod outcome;
mod practice;
mod queues;
mod receipt;
mod rng;
mod script;
mod settings;
mod transaction;

pub use kind::Kind;
pub use practice::{BlockMessage, Practice, PracticeTransaction};
pub use settings::Settings;
