//! The wire types of NEAR's `EXPERIMENTAL_tx_status` and `EXPERIMENTAL_protocol_config`: codecs,
//! primitives, JSON views, signed transactions and protocol configurations.
//!
//! The crate `milepost` is the engine that answers both methods. This crate has the types that it
//! reads and writes, for programs that need only those. Every value is valid: it is checked when it
//! is read. Views keep unknown members and variants, so that a newer node's data is not lost.
//!
//! ```
//! use milepost_protocol::codec::json;
//! use milepost_protocol::views::ActionView;
//!
//! let action: ActionView = json::read(r#"{"Transfer": {"deposit": "5", "memo": "new"}}"#)?;
//! assert!(matches!(&action, ActionView::Transfer { deposit, .. } if deposit.0 == 5));
//! assert_eq!(json::write(&action), r#"{"Transfer":{"deposit":"5","memo":"new"}}"#);
//!
//! let error = json::read::<ActionView>(r#"{"Transfer": {"deposit": "-5"}}"#).unwrap_err();
//! assert_eq!(error.path(), "Transfer.deposit");
//! assert_eq!(error.detail(), "byte 45 at offset 0 is not a decimal digit");
//! # Ok::<(), milepost_protocol::Error>(())
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`codec`] | base58, base64, borsh, JSON text |
//! | [`primitives`] | hashes, account ids, keys, amounts |
//! | [`views`] | the JSON types of transaction status |
//! | [`proof`] | Merkle trees, hashes of blocks and outcomes, the check of a block message |
//! | [`transaction`] | signed transactions in borsh, and their signatures |
//! | [`config`] | the JSON types of protocol configurations |
//!
//! The crate does no I/O and has no state. It needs `alloc` but not `std`, except with the feature
//! `simd-base64`, which detects the features of the processor once. Both crates are released in
//! lockstep: items that are hidden from the documentation are for the engine and may change in any
//! release.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "simd-base64")]
extern crate std;

mod error;

pub mod codec;
pub mod config;
pub mod primitives;
pub mod proof;
pub mod transaction;
pub mod views;

pub use error::{Error, ErrorKind};

/// Runs the examples of the readme
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
const _: () = ();
