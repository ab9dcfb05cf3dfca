//! Errors of the driver as errors of the engine: kind `Storage`, with the driver's as the source.
//!
//! The driver's texts name nodes, consistency levels and statements, and hold neither rows nor
//! passwords.

use core::error;
use core::fmt;

use milepost::{Error, ErrorKind};

/// What was done, and how the driver failed at it
pub(crate) fn failed(
    what: impl fmt::Display,
    source: impl error::Error + Send + Sync + 'static,
) -> Error {
    let detail = format_args!("cassandra: {what}: {source}");
    Error::new(ErrorKind::Storage, detail).with_source(source)
}

/// A result that does not have the columns or types of the schema
pub(crate) fn malformed(source: impl error::Error + Send + Sync + 'static) -> Error {
    let detail = format_args!("cassandra: a result is not one of this schema: {source}");
    Error::new(ErrorKind::Corrupt, detail).with_source(source)
}
