//! The feed as the follower asks it: a feed in memory with faults by the seed.
//!
//! A response that ends early is an error or a message without its end, as it is with a client of
//! HTTP that notices it and with one that does not.

use alloc::sync::Arc;
use core::time::Duration;

use milepost_feeds::{BlockRequest, Fetched, Finality, Source, SourceError, SourceErrorKind};
use milepost_testing::feed::{Feed, FeedResponse, Transfer};

/// A feed in this process
pub(super) struct MemorySource(pub(super) Arc<Feed>);

impl MemorySource {
    async fn fetch(&self, mut path: String) -> Result<Fetched, SourceError> {
        let response = loop {
            let response = self.0.respond(&path, None, None).await;
            match response.header {
                Some(("location", location)) => path = format!("{location}?fresh=1"),
                _ => break response,
            }
        };
        let FeedResponse { status, header, body, transfer } = response;
        let error = |kind, detail: &str| SourceError::new(kind, detail).with_status(status);
        let length = match transfer {
            Transfer::Whole => body.len(),
            Transfer::Cut(length) if length % 2 == 0 => {
                return Err(SourceError::new(SourceErrorKind::Temporary, "cut"));
            }
            Transfer::Cut(length) | Transfer::ShortLength(length) => length,
        };
        let text = String::from_utf8_lossy(&body[..length]);
        match status {
            200 if text == "null" => Ok(Fetched::Empty),
            200 => Ok(Fetched::Message(body[..length].to_vec())),
            404 if text.contains("TOO_HIGH") => Err(error(SourceErrorKind::TooHigh, &text)),
            404 if text.contains("TOO_LOW") => Err(error(SourceErrorKind::TooLow, &text)),
            404 if text.contains("DOES_NOT_EXIST") => Ok(Fetched::Empty),
            _ => {
                let seconds = header.and_then(|(_, value)| value.parse().ok());
                let error = error(SourceErrorKind::Temporary, &text);
                Err(error.with_retry_after(seconds.map(Duration::from_secs)))
            }
        }
    }
}

impl Source for MemorySource {
    async fn block(&self, request: BlockRequest) -> Result<Fetched, SourceError> {
        let kind = if request.finality == Finality::Final { "block" } else { "block_opt" };
        let query = if request.bypass_caches { "?fresh=1" } else { "" };
        self.fetch(format!("/v0/{kind}/{}{query}", request.height)).await
    }

    async fn last_final(&self) -> Result<Fetched, SourceError> {
        self.fetch("/v0/last_block/final?fresh=1".to_owned()).await
    }
}
