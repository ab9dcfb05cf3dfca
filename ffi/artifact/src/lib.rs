//! Libraries that C programs link: `libmilepost.so` and `libmilepost.a`.
//!
//! Defines nothing: the functions are those of `milepost-ffi`, so that a Rust host with C parts can
//! depend on that crate and needs no second Rust library in its program.

#![forbid(unsafe_code)]

#[cfg(not(panic = "unwind"))]
compile_error!("panics are caught at the boundary: build with `panic = \"unwind\"`");

pub use milepost_ffi::*;
