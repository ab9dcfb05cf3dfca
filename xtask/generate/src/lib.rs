//! The generator of the C header, for its program and for tests that compare with the sources. The
//! other generators are programs alone.

#![forbid(unsafe_code)]

pub mod header;

// Dependencies of the programs.
#[cfg(feature = "npm")]
use wasm_bindgen_cli_support as _;
#[cfg(feature = "types")]
use {milepost_protocol as _, serde_json as _};
