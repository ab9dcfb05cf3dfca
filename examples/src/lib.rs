//! Parts of programs that embed Milepost, to be copied and adapted: a storage in a SQLite file, and
//! an endpoint on a task of tokio. The programs are in `src/bin`, their guide is `README.md`.
//!
//! Nothing here is an interface: what is missing for a host's needs is the host's to change.

#![forbid(unsafe_code)]

pub mod sqlite_storage;
pub mod tokio_endpoint;
pub mod watch_stream;

#[cfg(test)]
use tempfile as _;
use {axum as _, milepost_practice as _, serde as _, serde_json as _};
