//! The wire types of NEAR's `tx_status` and `protocol_config`: codecs, primitives, views, signed
//! transactions and configurations, each valid once it has been read.
//!
//! The crate `milepost` is the engine that answers both operations; this one is what it reads and
//! writes, for hosts that need the types alone. It does no I/O and keeps no state; it needs `alloc`
//! and nothing of `std`, unless the feature `quick-base64` is enabled, which detects once what the
//! processor can do. Both crates are released in lockstep.
//!
//! ```
//! use milepost_protocol::codec::json;
//! use milepost_protocol::views::ActionView;
//!
//! let action: ActionView = json::read(r#"{"Transfer": {"deposit": "5"}}"#)?;
//! assert_eq!(json::write(&action), r#"{"Transfer":{"deposit":"5"}}"#);
//! # Ok::<(), milepost_protocol::Error>(())
//! ```
//!
//! Items that are hidden from the documentation are shared with the engine only and may change with
//! every release.
//!
//! | module | content |
//! |---|---|
//! | [`codec`] | base58, base64, borsh, JSON text |
//! | [`primitives`] | hashes, account ids, keys, amounts |
//! | [`views`] | the JSON types of a transaction's status |
//! | [`transaction`] | signed transactions in borsh, and their signatures |
//! | [`config`] | the JSON types of a protocol configuration |

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "quick-base64")]
extern crate std;

mod error;

pub mod codec;
pub mod config;
pub mod primitives;
pub mod transaction;
pub mod views;

pub use error::{Error, ErrorKind};
