//! The shared vectors, their declarations and their runners; and the fuzz targets.
//!
//! A vector is a request over known blocks and the exact bytes of its response; every surface of
//! the project must give the same bytes. `cargo xtask vectors` writes the files in `vectors/` from
//! the declarations, never from the engine: a response is built from declared parts. The tests of a
//! single crate are in that crate.

#![forbid(unsafe_code)]

pub mod conformance_table;
pub mod declare;
pub mod fuzz;
pub mod node;
pub mod recorded;
pub mod shown;
pub mod sources;
pub mod vectors;
