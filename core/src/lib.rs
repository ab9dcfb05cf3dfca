//! How far along the road a NEAR transaction is: an engine that answers two JSON-RPC operations
//! of a node, `EXPERIMENTAL_tx_status` and `EXPERIMENTAL_protocol_config`, over any storage.
//!
//! The crate is pure: facts, requests and time go in, answers come out. It does no I/O, reads no
//! clock, starts no thread and keeps no global; it needs `alloc` and nothing of `std`, unless the
//! feature `quick-base64` is asked for, which finds out once what the processor can do. Hosts
//! (a server, a C library, a web page) live in crates of their own and wrap this one.
//!
//! A block message goes in, and answers come out:
//!
//! ```
//! use milepost::engine::{Engine, Reply};
//! use milepost::facts::MemoryStorage;
//! use milepost::ingest::IngestSettings;
//!
//! let message = br#"{"block": {"header": {"height": 7, "epoch_id": "11111111111111111111111111111111",
//!     "hash": "11111111111111111111111111111117", "prev_hash": "11111111111111111111111111111116"}},
//!     "shards": []}"#;
//! let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
//! engine.ingest(message, &IngestSettings::default(), &mut storage)?;
//!
//! let body = br#"{"method": "EXPERIMENTAL_tx_status", "params": {"sender_account_id": "alice.near",
//!     "tx_hash": "11111111111111111111111111111118", "wait_until": "FINAL"}}"#;
//! match engine.ask(body, None, &storage) {
//!     Reply::Answer(answer) => panic!("{answer:?}"),
//!     // Nothing is known of it: ask again after the next block, and give up in the end.
//!     Reply::Wait(mut wait) => {
//!         assert!(wait.again(&storage).is_none());
//!         assert!(wait.expire(&storage).body.starts_with(b"{\"jsonrpc\":\"2.0\",\"error\""));
//!     }
//! }
//! # Ok::<(), milepost::Error>(())
//! ```
//!
//! # Rooms
//!
//! From the ground up; each uses only those above it in this table.
//!
//! | room | what is in it |
//! |---|---|
//! | [`facts`] | rows, storages, questions that can be suspended |
//! | [`status`] | the walk over receipts, the final status, the milestones |
//! | [`config`] | the protocol configuration, and which one is in force |
//! | [`ingest`] | block messages, forks, finality, retention |
//! | [`rpc`] | the envelope, params and errors of JSON-RPC |
//! | [`waiting`] | who sleeps on which fact, until when |
//! | [`engine`] | the front desk: requests and blocks in, answers and waits out |

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod config;
pub mod engine;
pub mod facts;
pub mod ingest;
pub mod rpc;
pub mod status;
pub mod waiting;

pub use milepost_protocol::{Error, ErrorKind, codec, primitives, transaction, views};
