//! Tests of the archives through their public API.

#![expect(unused_crate_dependencies, reason = "tests use some of the dependencies")]

mod archive;
mod damage;
