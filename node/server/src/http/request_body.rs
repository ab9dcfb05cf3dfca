//! Reads a request body: uncompressed JSON by its headers, whole, within limits of size and time.
//!
//! A body that is too large is rejected as soon as that is known. The client may still be sending
//! and would lose the response if the connection closed, so its data is read and discarded for a
//! while, unless the client sent `Expect` and no body yet.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::Poll;
use core::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Frame, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderValue,
    TRANSFER_ENCODING,
};
use hyper::{StatusCode, Version};
use tokio::time;

use crate::request::{HttpError, MemoryBudget, MemoryPermit, RequestBody};

/// Maximum time to receive a body of any size
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Size of a segment of a body
const SEGMENT: usize = 8 << 10;
/// Maximum time to discard the rest of a rejected body
const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);

/// Checks what RFC 9112 asks of a head of HTTP/1.1, in sections 3.2 and 6.1
pub(super) fn check_head(version: Version, headers: &HeaderMap) -> Result<(), HttpError> {
    if version != Version::HTTP_11 {
        return Ok(());
    }
    if headers.get_all(HOST).iter().count() != 1 {
        return Err(HttpError::new(StatusCode::BAD_REQUEST, "expected exactly one `Host`"));
    }
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    if !headers.get_all(TRANSFER_ENCODING).iter().all(is_chunked) {
        let message = "expected no `Transfer-Encoding` but chunked";
        return Err(HttpError::new(StatusCode::NOT_IMPLEMENTED, message));
    }
    Ok(())
}

/// Checks that the headers of a request announce uncompressed JSON
pub(super) fn check_headers(headers: &HeaderMap) -> Result<(), HttpError> {
    if !headers.get_all(CONTENT_ENCODING).iter().all(is_identity) {
        let message = "expected a request without `Content-Encoding`, not compressed";
        return Err(HttpError::unsupported(message, ACCEPT_ENCODING, "identity"));
    }
    let media_type = headers.get(CONTENT_TYPE);
    let is_exact = media_type.is_some_and(|media_type| media_type == "application/json");
    if is_exact || media_type.and_then(|text| text.to_str().ok()).is_some_and(is_json) {
        return Ok(());
    }
    let message = "expected a request with `Content-Type: application/json`";
    Err(HttpError::unsupported(message, ACCEPT, "application/json"))
}

/// Whether a content coding leaves the body as it is
fn is_identity(coding: &HeaderValue) -> bool {
    coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity")
}

/// Whether a media type is `application/json` or `application/*+json`, with any parameters
fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.strip_prefix("application/").is_some_and(|subtype| {
        subtype == "json" || subtype.strip_suffix("+json").is_some_and(|name| !name.is_empty())
    })
}

/// Reads a body of at most `limit` bytes
///
/// Most bodies arrive together with their head, in one frame, and are read without a timer.
/// `expects_continue`: the client sends the body only after a response to `Expect`.
pub(super) async fn read(
    mut body: Incoming,
    expects_continue: bool,
    limit: usize,
    budget: &MemoryBudget,
) -> Result<RequestBody, HttpError> {
    if body.size_hint().lower() > limit as u64 {
        if !expects_continue {
            Box::pin(discard(&mut body, limit)).await;
        }
        return Err(HttpError::too_large(limit));
    }
    let first = poll_fn(|context| Poll::Ready(Pin::new(&mut body).poll_frame(context))).await;
    let mut buffer = BodyBuffer::default();
    match first {
        Poll::Ready(None) => return budget.body(Bytes::new()),
        Poll::Ready(Some(frame)) => {
            let data = data(frame)?;
            if body.is_end_stream() && data.len() <= limit {
                return budget.body(data);
            }
            buffer.push(&data, limit)?;
        }
        Poll::Pending => {}
    }
    Box::pin(receive(body, buffer, limit, budget.begin())).await
}

/// Reads the rest of a body within [`BODY_TIMEOUT`]
async fn receive(
    mut body: Incoming,
    buffer: BodyBuffer,
    limit: usize,
    permit: MemoryPermit,
) -> Result<RequestBody, HttpError> {
    let read = time::timeout(BODY_TIMEOUT, buffer.read_to_end(&mut body, limit, permit)).await;
    let bytes = read.unwrap_or_else(|_| {
        let seconds = BODY_TIMEOUT.as_secs();
        Err(HttpError::new(
            StatusCode::REQUEST_TIMEOUT,
            format!("the request body took longer than {seconds} s"),
        ))
    });
    if bytes.as_ref().is_err_and(|error| error.status == StatusCode::PAYLOAD_TOO_LARGE) {
        discard(&mut body, limit).await;
    }
    bytes
}

/// The received part of a body
///
/// In segments, which are joined at the end: a buffer that grows would be copied again and again,
/// and what it leaves behind was three times the memory of bodies that many clients send slowly. A
/// frame is copied, because one byte of it would keep the whole buffer that it was read into.
#[derive(Default)]
struct BodyBuffer {
    /// All but the last are full
    segments: Vec<Vec<u8>>,
    length: usize,
    /// Bytes of memory that it takes
    held: usize,
}

impl BodyBuffer {
    fn push(&mut self, mut data: &[u8], limit: usize) -> Result<(), HttpError> {
        if self.length + data.len() > limit {
            return Err(HttpError::too_large(limit));
        }
        self.length += data.len();
        while !data.is_empty() {
            match self.segments.last_mut() {
                Some(segment) if segment.len() < segment.capacity() => {
                    let fits = data.len().min(segment.capacity() - segment.len());
                    let (head, tail) = data.split_at(fits);
                    segment.extend_from_slice(head);
                    data = tail;
                }
                _ => {
                    // Most bodies are short, and are whole with the first frame.
                    let is_first = self.segments.is_empty();
                    let capacity = if is_first { data.len().min(SEGMENT) } else { SEGMENT };
                    self.segments.push(Vec::with_capacity(capacity));
                    self.held += capacity;
                }
            }
        }
        Ok(())
    }

    async fn read_to_end(
        mut self,
        body: &mut Incoming,
        limit: usize,
        mut permit: MemoryPermit,
    ) -> Result<RequestBody, HttpError> {
        permit.grow_to(self.held)?;
        while let Some(frame) = body.frame().await {
            self.push(&data(frame)?, limit)?;
            permit.grow_to(self.held)?;
        }
        Ok(RequestBody::new(self.into_bytes(), permit))
    }

    fn into_bytes(self) -> Bytes {
        let mut bytes = Vec::with_capacity(self.length);
        self.segments.iter().for_each(|segment| bytes.extend_from_slice(segment));
        bytes.into()
    }
}

/// The data of a frame, of which trailers have none
fn data(frame: Result<Frame<Bytes>, hyper::Error>) -> Result<Bytes, HttpError> {
    let frame = frame.map_err(|_| HttpError::incomplete())?;
    Ok(frame.into_data().unwrap_or_default())
}

/// Reads and discards what the client still sends, within limits
pub(super) async fn discard(body: &mut Incoming, limit: usize) {
    let discarding = async {
        let mut discarded = 0;
        while let Some(Ok(frame)) = body.frame().await {
            discarded += frame.data_ref().map_or(0, Bytes::len);
            if discarded > limit.saturating_mul(2) {
                break;
            }
        }
    };
    // After the timeout the connection closes although the client is still sending.
    let _ = time::timeout(DISCARD_TIMEOUT, discarding).await;
}

#[cfg(test)]
mod tests {
    use super::is_json;

    #[test]
    fn json_media_types_are_recognized() {
        for json in
            ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"]
        {
            assert!(is_json(json), "{json}");
        }
        for other in
            ["", "text/plain", "json", "application/+json", "application/jsonp", "text/json"]
        {
            assert!(!is_json(other), "{other}");
        }
    }
}
