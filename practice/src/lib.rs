//! A practice chain: blocks, transactions and forks in the format of a NEAR network, generated from
//! a seed, for demos, tests, simulation and benches.
//!
//! [`Practice::next_message`] returns an endless sequence of block messages, in the format that
//! block sources deliver. Equal [`Settings`] result in equal bytes: there is no clock, no I/O and
//! no thread. Hashes of blocks and transactions, ids, transaction signatures, outcome proofs and
//! the roots that lead to them are real, so every message passes [`milepost::proof::check_block`].
//! Signatures of blocks and chunks, hashes of chunks, and roots of what a message does not contain,
//! are only well-formed.
//!
//! It is not a node: no contract runs. The execution of a transaction is drawn at random together
//! with the transaction.

#![forbid(unsafe_code)]

extern crate alloc;

pub mod config;

mod accounts;
mod action;
mod chain;
mod errors;
mod execution;
mod header;
mod kind;
mod layout;
mod merkle;
mod outcome;
mod practice;
mod receipt;
mod receipt_queues;
mod rng;
mod settings;
mod transaction;
mod transaction_generator;

pub use kind::Kind;
pub use practice::{BlockMessage, Practice, PracticeTransaction};
pub use settings::Settings;
