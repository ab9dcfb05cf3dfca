//! The body of a request: JSON by its label, whole, within a limit of size and time.
//!
//! A body that is too large is refused as soon as that is known. The client is then still sending, and
//! would lose the refusal if the connection closed under it; so what comes in is taken and thrown
//! away for a while, unless the client asked first (`Expect`) and has sent nothing yet.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::Poll;
use core::time::Duration;

use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::{Body as _, Bytes, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use tokio::time;

/// How long a body may take, at any size
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the rest of a refused body is taken in
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a request is refused before the engine sees it
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

impl Refusal {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    fn too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the request body exceeds the limit of {limit} bytes"),
        )
    }

    fn cut_off() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "the request body ended early")
    }
}

/// Refuses a request that is not labelled as JSON
pub(super) fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let label = headers.get(CONTENT_TYPE);
    let is_usual = label.is_some_and(|label| label == "application/json");
    if is_usual || label.and_then(|label| label.to_str().ok()).is_some_and(is_json) {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "expected a request with `Content-Type: application/json`",
    ))
}

/// Whether a media type is `application/json` or `application/*+json`, with any parameters
fn is_json(label: &str) -> bool {
    let essence = label.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.strip_prefix("application/").is_some_and(|subtype| {
        subtype == "json" || subtype.strip_suffix("+json").is_some_and(|name| !name.is_empty())
    })
}

/// Reads a body, up to `limit` bytes
///
/// Most bodies have come with their head, in one piece: these are taken as they are, without a copy
/// and without a timer. `asks_first` is a client that sends its body only after a word from us.
pub(super) async fn read(
    mut body: Incoming,
    asks_first: bool,
    limit: usize,
) -> Result<Bytes, Refusal> {
    if body.size_hint().lower() > limit as u64 {
        if !asks_first {
            Box::pin(drain(&mut body, limit)).await;
        }
        return Err(Refusal::too_large(limit));
    }
    let arrived = poll_fn(|context| Poll::Ready(Pin::new(&mut body).poll_frame(context))).await;
    let mut whole = Gathered::default();
    match arrived {
        Poll::Ready(None) => return Ok(Bytes::new()),
        Poll::Ready(Some(frame)) => {
            whole.take(frame, limit)?;
            if body.is_end_stream() {
                return Ok(whole.into_bytes());
            }
        }
        Poll::Pending => {}
    }
    Box::pin(receive(body, whole, limit)).await
}

/// Reads the rest of a body that takes its time
async fn receive(mut body: Incoming, whole: Gathered, limit: usize) -> Result<Bytes, Refusal> {
    let read = time::timeout(BODY_TIMEOUT, whole.gather(&mut body, limit)).await;
    let whole = read.unwrap_or_else(|_| {
        let seconds = BODY_TIMEOUT.as_secs();
        Err(Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            format!("the request body took longer than {seconds} s"),
        ))
    });
    if whole.as_ref().is_err_and(|refusal| refusal.status == StatusCode::PAYLOAD_TOO_LARGE) {
        drain(&mut body, limit).await;
    }
    whole
}

/// What has come of a body
#[derive(Default)]
struct Gathered {
    first: Bytes,
    rest: Vec<u8>,
}

impl Gathered {
    fn take(
        &mut self,
        frame: Result<Frame<Bytes>, hyper::Error>,
        limit: usize,
    ) -> Result<(), Refusal> {
        let Ok(data) = frame.map_err(|_| Refusal::cut_off())?.into_data() else { return Ok(()) };
        if self.first.len() + self.rest.len() + data.len() > limit {
            return Err(Refusal::too_large(limit));
        }
        if self.first.is_empty() {
            self.first = data;
        } else {
            self.rest.extend_from_slice(&data);
        }
        Ok(())
    }

    async fn gather(mut self, body: &mut Incoming, limit: usize) -> Result<Bytes, Refusal> {
        while let Some(frame) = body.frame().await {
            self.take(frame, limit)?;
        }
        Ok(self.into_bytes())
    }

    fn into_bytes(mut self) -> Bytes {
        if self.rest.is_empty() {
            return self.first;
        }
        self.rest.splice(..0, self.first);
        self.rest.into()
    }
}

/// Takes in and throws away, for a while, what the client still sends
async fn drain(body: &mut Incoming, limit: usize) {
    let taking = async {
        let mut taken = 0;
        while let Some(Ok(frame)) = body.frame().await {
            taken += frame.data_ref().map_or(0, Bytes::len);
            if taken > limit.saturating_mul(2) {
                break;
            }
        }
    };
    // Not in time: then the connection closes on a client that is still sending.
    let _ = time::timeout(DRAIN_TIMEOUT, taking).await;
}

#[cfg(test)]
mod tests {
    use super::is_json;

    #[test]
    fn json_has_several_names() {
        for label in
            ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"]
        {
            assert!(is_json(label), "{label}");
        }
        for label in
            ["", "text/plain", "json", "application/+json", "application/jsonp", "text/json"]
        {
            assert!(!is_json(label), "{label}");
        }
    }
}
