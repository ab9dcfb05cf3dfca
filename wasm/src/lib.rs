//! The WebAssembly module of the npm package `milepost`.
//!
//! An [`Endpoint`] is the engine with its pending requests, over a storage in memory or one of the
//! host, whose rows it asks for. Nothing here calls JavaScript, so no borrow is held across such a
//! call and callbacks may call in again. Numbers of 64 bits are `BigInt`s, structured values are
//! JSON text. Timers, promises, error classes and storages are the high-level API, in
//! `bindings/js`.
//!
//! A panic is a trap, which JavaScript sees as an exception. WebAssembly cannot unwind, so the
//! instance is lost: `bindings/js` gives each endpoint an instance of its own.

#![forbid(unsafe_code)]

mod archive;
mod config;
mod endpoint;
mod error;
mod json;
mod packed_rows;
mod response_buffer;
mod stateless;

pub use config::Config;
pub use endpoint::{Endpoint, OutputKind};
pub use error::EngineError;
pub use stateless::{
    decode_transaction, decode_transaction_base64, method_names, validate_request, version,
};
