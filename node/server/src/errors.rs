//! Errors of the program, of queries and of requests, and the kinds that were logged.

mod failed_requests;
mod failure;
mod logged_kinds;
mod query_error;

pub(crate) use failed_requests::{ARCHIVE_FAILED, FailedRequests};
pub(crate) use failure::{Failure, chains_differ};
pub(crate) use logged_kinds::LoggedKinds;
#[cfg(test)]
pub(crate) use query_error::DEFECT;
pub(crate) use query_error::{QueryError, panic_response};
