//! A rejection of a request by its head or by a limit, before it reaches the engine.

use hyper::StatusCode;
use hyper::header::HeaderName;

/// Why a request is rejected before it reaches the engine
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct HttpError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The header that names what is accepted instead
    pub(crate) accepted: Option<(HeaderName, &'static str)>,
}

impl HttpError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), accepted: None }
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the request body exceeds the limit of {limit} bytes"),
        )
    }

    /// An unsupported media type or content coding; RFC 9110 has the headers of both
    pub(crate) fn unsupported(message: &str, header: HeaderName, value: &'static str) -> Self {
        let error = Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        Self { accepted: Some((header, value)), ..error }
    }

    pub(crate) fn incomplete() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "the request body ended early")
    }
}
