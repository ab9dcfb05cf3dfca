//! The C interface of milepost: `extern "C"` functions that cannot crash their host.
//!
//! `include/milepost.h` is generated from this crate, and `docs/C-API.md` says the grammar that all
//! of it keeps. Every function is defined through one macro of [`boundary`], which checks what C
//! cannot: pointers that are NULL, handles in use, calls from inside a callback, panics. The
//! functions themselves are safe code over checked arguments.
//!
//! A Rust host that has C parts can depend on this crate: the functions are in its program then,
//! once, and no second Rust library is. It can call them as well:
//!
//! ```
//! use core::ptr;
//!
//! use milepost_ffi::answer::{milepost_answer_body, milepost_answer_free};
//! use milepost_ffi::engine::{milepost_engine_answer, milepost_engine_free, milepost_engine_new};
//! use milepost_ffi::status::MILEPOST_STATUS_OK;
//! use milepost_ffi::value::milepost_bytes;
//!
//! let (mut engine, mut answer) = (ptr::null_mut(), ptr::null_mut());
//! let mut body = milepost_bytes { data: ptr::null(), len: 0 };
//! let request = b"{\"method\":\"tx\"}";
//! // SAFETY: each pointer is to what the function says, and each handle is freed once.
//! let text = unsafe {
//!     milepost_engine_new(ptr::null(), &mut engine, ptr::null_mut());
//!     let status = milepost_engine_answer(
//!         engine, request.as_ptr(), request.len(), ptr::null(), 0, &mut answer, ptr::null_mut(),
//!     );
//!     assert_eq!(status, MILEPOST_STATUS_OK);
//!     milepost_answer_body(answer, &mut body);
//!     let text = core::slice::from_raw_parts(body.data, body.len).to_vec();
//!     milepost_answer_free(answer);
//!     milepost_engine_free(engine);
//!     text
//! };
//! assert!(text.starts_with(b"{\"jsonrpc\":\"2.0\",\"error\":"));
//! ```

#![deny(unsafe_op_in_unsafe_fn)]
#![expect(non_camel_case_types, reason = "types have their names in C")]
#![expect(clippy::exhaustive_structs, reason = "the members of a structure are the interface")]

pub mod answer;
pub mod boundary;
pub mod check;
pub mod desk;
pub mod engine;
pub mod error;
pub mod exchange;
pub mod ingest;
pub mod message;
pub mod request;
pub mod settings;
pub mod sink;
pub mod status;
pub mod storage;
pub mod transaction;
pub mod value;
pub mod version;
