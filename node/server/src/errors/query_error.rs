//! Why a query has no result, and the response to a request whose query panicked.
//!
//! A query that panicked is a defect of the server and never an answer about the chain. Which HTTP
//! status an error gets is decided in `http`.

use core::fmt;
use core::time::Duration;

use milepost::endpoint::Response;
use milepost::rpc::{RequestId, ResponseKind, RpcError};
use milepost::{Error, ErrorKind};

/// Why a query has no result
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum QueryError {
    /// The store failed
    Failed(Error),
    /// The archive failed; when to try again
    Unavailable(Error, Duration),
    /// There is no proof with the block that the request names
    InvalidBlock(Error),
    /// The blocks in the store prove nothing
    NotProvable(Error),
    /// The query panicked, which no data and no request may bring about; the log has the place
    Panicked,
}

impl From<Error> for QueryError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl QueryError {
    /// Why there is no proof
    pub(crate) fn of_proof(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Value | ErrorKind::Limit => Self::InvalidBlock(error),
            ErrorKind::Usage => Self::NotProvable(error),
            _ => Self::Failed(error),
        }
    }

    /// This error of a query that has read an archive which failed, if that is known by when to try
    /// again
    pub(crate) fn with_retry_after(self, retry_after: Option<Duration>) -> Self {
        match (self, retry_after) {
            (
                Self::Failed(error) | Self::InvalidBlock(error) | Self::NotProvable(error),
                Some(pause),
            ) => Self::Unavailable(error, pause),
            (error, _) => error,
        }
    }

    /// The result of a query that ran, if it did not panic
    pub(crate) fn result_of<T>(ran: Option<Result<T, Error>>) -> Result<T, Self> {
        ran.map_or(Err(Self::Panicked), |result| result.map_err(Self::Failed))
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error)
            | Self::Unavailable(error, _)
            | Self::InvalidBlock(error)
            | Self::NotProvable(error) => error.fmt(formatter),
            Self::Panicked => formatter.write_str(DEFECT),
        }
    }
}

/// What clients get when a query panicked
pub(crate) const DEFECT: &str =
    "a defect of the server: the query panicked; the log of the server has the place";

/// The response to a request whose query panicked
pub(crate) fn panic_response() -> Response {
    let json = format!(
        r#"{{"name":"INTERNAL_ERROR","cause":{{"info":{{"error_message":"{DEFECT}"}},"name":"INTERNAL_ERROR"}},"code":-32000,"message":"Server error","data":"{DEFECT}"}}"#
    );
    let error = RpcError::Host { json, kind: ResponseKind::Internal, unreached: None };
    Response::error(&RequestId::null(), error)
}
