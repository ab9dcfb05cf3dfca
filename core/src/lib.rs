//! Milepost answers NEAR's `EXPERIMENTAL_tx_status` and `EXPERIMENTAL_protocol_config` from the
//! blocks that it imports, over any storage. This crate is the engine; hosts (an HTTP server, a C
//! library, a WebAssembly module, any Rust program) wrap it.
//!
//! The engine is sans-IO: blocks, requests, rows and the time go in, responses and batches to
//! commit come out. It performs no I/O, reads no clock, starts no thread and has no global state.
//! It needs `alloc` but not `std`, and contains no unsafe code.
//!
//! The program below imports five recorded blocks, which are part of the crate, and answers a
//! request from them:
//!
//! ```standalone_crate
//! use milepost::endpoint::{Engine, RequestState};
//! use milepost::{import::ImportSettings, storage::MemoryStorage};
//!
//! fn main() -> Result<(), milepost::Error> {
//!     let (engine, mut storage) = (Engine::default(), MemoryStorage::new());
//!     for block in include_str!("../blocks.jsonl").lines() {
//!         engine.import_block(block.as_bytes(), &ImportSettings::default(), &mut storage)?;
//!     }
//!     let body = br#"{"jsonrpc": "2.0", "id": 1, "method": "EXPERIMENTAL_tx_status",
//!         "params": ["SLRXdgh3pFS4jqMjxHCpU71fc1pT5EZgxaaT1Ghumxq", "y.test.near"]}"#;
//!     if let RequestState::Ready(response) = engine.respond(engine.parse(body, None), &storage) {
//! #       let answer = String::from_utf8_lossy(&response.body);
//! #       assert!(answer.contains(r#""final_execution_status":"FINAL""#));
//! #       assert!(answer.contains(r#""status":{"SuccessValue":""},"transaction":{"#));
//!         println!("{}", String::from_utf8_lossy(&response.body));
//!     }
//! #   else { panic!("the transaction is final") }
//!     Ok(())
//! }
//! ```
//!
//! It prints, shortened:
//!
//! ```json
//! {"jsonrpc":"2.0","result":{"final_execution_status":"FINAL","receipts":[…],
//!  "receipts_outcome":[…],"status":{"SuccessValue":""},"transaction":{…},
//!  "transaction_outcome":{…}},"id":1}
//! ```
//!
//! # Three ways to use it
//!
//! **A local storage: [`Engine`].** One call imports a block, and one call responds to a request
//! from a [`Snapshot`](storage::Snapshot) of the stored rows, which is one state between two
//! commits. The program above does that. A request for a milestone that is not reached is returned
//! as [`RequestState::Pending`](endpoint::RequestState::Pending): evaluate it again after the next
//! block, or end it with [`expire`](endpoint::PendingRequest::expire).
//!
//! **A remote storage: [`Query`].** A query returns the keys of the rows that it needs, and
//! continues when they are supplied, so the host fetches them in its own way: asynchronously, from
//! a C event loop or with JavaScript promises. [`BlockImport`] is the query of an import,
//! [`RequestQuery`] that of a request. All rows of one query have to come from one state between
//! two commits; where each read is of the newest one, an
//! [`OptimisticQuery`](storage::OptimisticQuery) checks that nothing was committed in between:
//!
//! ```
//! use milepost::endpoint::{Engine, RequestQuery, RequestState};
//! use milepost::import::{BlockImport, ImportSettings};
//! use milepost::storage::{Batch, Key, Query, Row, Step};
//! # use milepost::storage::{MemoryStorage, Snapshot, Storage};
//! # struct Client(MemoryStorage);
//! # impl Client {
//! #     fn fetch(&self, key: &Key) -> Option<Row> { self.0.get(key).unwrap() }
//! #     fn send(&mut self, batch: Batch) { self.0.commit(batch).unwrap() }
//! # }
//!
//! /// Runs a query; `client.fetch` and `client.send` are the host's
//! fn run<Q: Query>(mut query: Q, client: &Client) -> Result<Q::Output, milepost::Error> {
//!     loop {
//!         let rows: Vec<Option<Row>> = match query.poll()? {
//!             Step::NeedRows(keys) => keys.iter().map(|key| client.fetch(key)).collect(),
//!             Step::Done(output) => return Ok(output),
//!         };
//!         query.supply_rows(&rows)?;
//!     }
//! }
//!
//! # let block = br#"{"block": {"header": {"height": 7,
//! #     "hash": "11111111111111111111111111111117",
//! #     "prev_hash": "11111111111111111111111111111116",
//! #     "epoch_id": "11111111111111111111111111111111"}}, "shards": []}"#;
//! # let body = br#"{"method": "tx", "params": ["11111111111111111111111111111118", "a.near"]}"#;
//! # let mut client = Client(MemoryStorage::new());
//! let (batch, _summary) = run(BlockImport::new(block, ImportSettings::default())?, &client)?;
//! client.send(batch);
//! let engine = Engine::default();
//! let query = RequestQuery::new(engine.settings(), engine.parse(body, None));
//! assert!(matches!(run(query, &client)?, RequestState::Pending(_)));
//! # Ok::<(), milepost::Error>(())
//! ```
//!
//! **Many pending requests: [`Endpoint`].** It keeps the pending requests, with their deadlines. A
//! block wakes only the requests that it affects, whether ten or a million are pending. Over a
//! remote storage it also runs requests and imports, and asks for their rows and commits:
//!
//! ```
//! use milepost::endpoint::{Endpoint, Engine, Output, RequestState, WaitConfig};
//! use milepost::rpc::ResponseKind;
//! use milepost::storage::MemoryStorage;
//!
//! let (engine, storage) = (Engine::default(), MemoryStorage::new());
//! let mut endpoint = Endpoint::new(engine, WaitConfig::default().with_timeout(10_000));
//! let body = br#"{"method": "tx", "params": ["11111111111111111111111111111118", "alice.near"]}"#;
//! let state = engine.respond(engine.parse(body, None), &storage);
//! let RequestState::Pending(pending) = state else { panic!("the transaction is unknown") };
//! endpoint.handle_pending(0, pending, None, "a connection");
//! // After everything that is handed in, blocks and the time among it, outputs are polled:
//! assert!(matches!(endpoint.poll_output_with(&storage), Output::Timeout(Some(_))));
//! endpoint.handle_timeout(10_000);
//! let Output::Response { response, tag, .. } = endpoint.poll_output_with(&storage) else {
//!     panic!("the deadline has passed")
//! };
//! assert_eq!((response.kind(), tag), (ResponseKind::Timeout, "a connection"));
//! ```
//!
//! # Crate features
//!
//! | feature | default | effect |
//! |---|---|---|
//! | `archive` | yes | [`archive`]: finalized transactions leave the storage for an archive |
//! | `signatures` | yes | verifies submitted transactions in all schemes, not ed25519 alone |
//! | `watch` | yes | `Endpoint::watch`, `endpoint::WatchTable`: report changes of transactions |
//! | `simd-base64` | no | decodes base64 with vector instructions; uses `std` to detect them |
//! | `conformance` | no | `storage::conformance`, `archive::conformance`: tests that every storage and archive should pass |
//!
//! # Terms
//!
//! All other words are those of NEAR, of JSON-RPC 2.0 and of databases. These are ours:
//!
//! - **Milestone**: how far a transaction is processed; a request waits for one. NEAR's
//!   `TxExecutionStatus`, the values of `wait_until`. Below `FINAL` refunds are not waited for; a
//!   receipt counts as one once a block shows its body, a block later than a node knows it.
//! - **Fragment**: the JSON text of a transaction, receipt, outcome or configuration, validated and
//!   written once on import. A result is joined from fragments.
//! - **Finalized transaction**: a transaction about which nothing can change any more, stored as
//!   one row with its complete result.
//! - **Wait condition**: an unmet condition without which a milestone cannot be reached, such as an
//!   outcome that is missing. A pending request waits for one of them.
//! - **Generation** of the canonical chain: a number that increases with every change of it.
//! - **Practice chain**: blocks made from a seed, for tests and demos.
//! - **Vector**: blocks, requests and the expected responses, which every host runs.
//! - **Hot store**: the storage of recent blocks, with forks, and of transactions that are not
//!   finalized.
//! - **Archive**: the storage of finalized transactions, one immutable row each.
//! - **Feed**: a source of block messages, in the order of the chain.
//!
//! # Modules
//!
//! Each uses only those above it.
//!
//! | module | content |
//! |---|---|
//! | [`storage`] | rows, storages, and queries that can be suspended |
//! | [`archive`] | the storage of finalized transactions, shared by any number of servers |
//! | [`status`] | the walk over receipts, the final status, the milestones |
//! | [`config`] | the protocol configurations, and which one is in force |
//! | [`import`] | block messages, forks, finality, retention |
//! | [`rpc`] | the envelope, params and errors of JSON-RPC |
//! | [`waiting`] | pending requests by wait condition and deadline |
//! | [`endpoint`] | requests and blocks in, responses and pending requests out |
//!
//! The crate `milepost-protocol` has the modules [`codec`], [`primitives`], [`proof`],
//! [`transaction`] and [`views`], which are re-exported here.
//!
//! [`BlockImport`]: import::BlockImport
//! [`Endpoint`]: endpoint::Endpoint
//! [`Engine`]: endpoint::Engine
//! [`Query`]: storage::Query
//! [`RequestQuery`]: endpoint::RequestQuery

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(feature = "archive")]
pub mod archive;
pub mod config;
pub mod endpoint;
pub mod import;
pub mod rpc;
pub mod status;
pub mod storage;
pub mod waiting;

pub use milepost_protocol::{Error, ErrorKind, codec, primitives, proof, transaction, views};
