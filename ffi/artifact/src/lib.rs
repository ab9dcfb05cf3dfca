//! The libraries that C programs link: `libmilepost.so` and `libmilepost.a`.
//!
//! Nothing is defined here: the functions are those of `milepost-ffi`, so that a Rust host that
//! has C parts can depend on that crate and need no second Rust library in its program.

#![forbid(unsafe_code)]

#[cfg(not(panic = "unwind"))]
compile_error!("a panic must be caught at the boundary: build with `panic = \"unwind\"`");

pub use milepost_ffi::*;
