//! C interface of milepost: `extern "C"` functions that check all that C lets them check.
//!
//! `include/milepost.h` is generated from this crate; `docs/C-API.md` states the conventions that
//! all functions keep. Every function is defined through one macro of [`boundary`], which checks
//! what C cannot: NULL pointers, handles in use, calls from inside a callback, panics. The function
//! bodies are safe code over checked arguments.
//!
//! A Rust host with C parts can depend on this crate: its program then contains the functions once,
//! and needs no second Rust library. It can call them too:
//!
//! ```
//! use core::ptr;
//!
//! use milepost_ffi::engine::{milepost_engine_free, milepost_engine_new, milepost_engine_respond};
//! use milepost_ffi::response::{milepost_response_body, milepost_response_free};
//! use milepost_ffi::status::MILEPOST_STATUS_OK;
//! use milepost_ffi::value::milepost_bytes;
//!
//! let (mut engine, mut response) = (ptr::null_mut(), ptr::null_mut());
//! let mut body = milepost_bytes { data: ptr::null(), len: 0 };
//! let request = b"{\"method\":\"tx\"}";
//! // SAFETY: each pointer is valid for what the function takes, and each handle is freed once.
//! let text = unsafe {
//!     milepost_engine_new(ptr::null(), &mut engine, ptr::null_mut());
//!     let status = milepost_engine_respond(
//!         engine, request.as_ptr(), request.len(), ptr::null(), 0, &mut response, ptr::null_mut(),
//!     );
//!     assert_eq!(status, MILEPOST_STATUS_OK);
//!     milepost_response_body(response, &mut body, ptr::null_mut());
//!     let text = core::slice::from_raw_parts(body.data, body.len).to_vec();
//!     milepost_response_free(response);
//!     milepost_engine_free(engine);
//!     text
//! };
//! assert!(text.starts_with(b"{\"jsonrpc\":\"2.0\",\"error\":"));
//! ```

#![deny(unsafe_op_in_unsafe_fn)]
#![expect(non_camel_case_types, reason = "types have their names in C")]
#![expect(clippy::exhaustive_structs, reason = "the members of a structure are the interface")]

#[cfg(test)]
use milepost_tests as _;

pub mod archive;
pub mod archive_check;
pub mod archive_status;
pub mod boundary;
pub mod chain;
pub mod endpoint;
pub mod engine;
mod engine_archive;
mod engine_storage;
pub mod error;
pub mod hash;
pub mod import_summary;
pub mod message_builder;
pub mod output;
pub mod proof;
pub mod request;
pub mod response;
pub mod settings;
pub mod sink;
pub mod status;
pub mod storage;
pub mod storage_check;
pub mod transaction;
pub mod value;
pub mod version;
