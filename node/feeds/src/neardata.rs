//! A feed with the URLs of neardata, over HTTP.
//!
//! Says which URL has what, and what a status means; caches are passed by a header and by a query
//! that no cache has seen.

mod archive;

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use milepost::primitives::BlockHeight;
use milepost_follow::{
    Ask, BlockRequest, FeedSettings, Finality, Response, SourceError, SourceErrorKind,
};

use crate::http::{Address, Client, HttpResponse, Token};
use crate::source::{Pace, Source};
use crate::url::{FeedKind, FeedUrl};

/// The public feed of mainnet
const MAINNET_HOST: &str = "mainnet.neardata.xyz";
/// The first heights of the parts of its archive after the first, as of crate
/// `fastnear-neardata-fetcher` 0.38.0; where a part is added, single blocks are taken
const MAINNET_ARCHIVES: [BlockHeight; 3] = [122_000_000, 142_000_000, 177_000_000];

/// A feed with the URLs of neardata
///
/// Requests go through the proxies of the usual environment variables, except to this machine. A
/// response is at most 64 MiB after decompression, and takes at most a minute.
#[derive(Debug)]
pub struct NearData {
    address: Address,
    client: Client,
    requests_per_minute: u32,
    /// Number of requests that bypassed caches, which makes the URL of each a new one
    bypassed: AtomicU64,
}

impl NearData {
    /// The feed at this address, with 170 requests a minute
    ///
    /// # Errors
    ///
    /// The address is of another kind of feed, or TLS cannot be set up on this machine.
    pub fn new(url: &FeedUrl, token: Option<Token>) -> Result<Self, SourceError> {
        let address = url
            .address_of(FeedKind::NearData)
            .map_err(|detail| SourceError::new(SourceErrorKind::Unsupported, detail))?;
        let client = Client::new(address, token)?;
        let requests_per_minute = FeedSettings::default().requests_per_minute;
        let bypassed = AtomicU64::new(0);
        Ok(Self { address: address.clone(), client, requests_per_minute, bypassed })
    }

    /// The same with another number of requests a minute
    #[must_use]
    pub const fn with_requests_per_minute(mut self, requests: u32) -> Self {
        self.requests_per_minute = requests;
        self
    }

    /// Number of requests that were sent, redirects included
    pub fn requests(&self) -> u64 {
        self.client.requests()
    }

    async fn fetch(
        &self,
        path: &str,
        bypass_caches: bool,
        pace: &Pace,
    ) -> Result<Response, SourceError> {
        let path = if bypass_caches {
            // Unique across restarts as well, as far as the clock is.
            let time = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
            format!("{path}?fresh={time}-{}", self.bypassed.fetch_add(1, Relaxed))
        } else {
            path.to_owned()
        };
        let response = self.client.fetch(&path, bypass_caches, pace).await?;
        interpret(response).map_err(|mut error| {
            let path = path.split('?').next().unwrap_or_default();
            error.detail = format!("{path}: {}", error.detail);
            error
        })
    }

    async fn archive(&self, first: BlockHeight, pace: &Pace) -> Result<Response, SourceError> {
        let digits = format!("{first:012}");
        let path = format!("/raw/{}/{}/{digits}.tgz", &digits[..6], &digits[6..9]);
        let address = archive_address(&self.address, first, &path);
        let response = self.client.fetch_from(address, &path, false, pace).await?;
        match response.status {
            200 => {
                // Some 20 MB of text: some tenths of a second of work.
                let unpack = move || archive::unpack(&response.body);
                let unpacked = tokio::task::spawn_blocking(unpack).await;
                let unpacked = unpacked.unwrap_or_else(|error| Err(error.to_string()));
                unpacked.map(Response::Archive).map_err(|error| {
                    let detail = format!("{path}: {error}");
                    SourceError::new(SourceErrorKind::Temporary, detail)
                })
            }
            404 => Ok(Response::Absent { newest: None }),
            status => {
                let error = format!("{path}: HTTP {status}");
                let error = SourceError::new(SourceErrorKind::Temporary, error);
                Err(error.with_status(status).with_retry_after(response.retry_after))
            }
        }
    }
}

/// The address of a path at the host that has the archive of a height: of the public feed of
/// mainnet it is split, elsewhere it is on the host itself
fn archive_address(feed: &Address, height: BlockHeight, path: &str) -> String {
    if feed.host() != MAINNET_HOST {
        return feed.join(path);
    }
    let part = MAINNET_ARCHIVES.iter().filter(|first| height >= **first).count();
    format!("https://a{part}.{MAINNET_HOST}{path}")
}

/// What a response says
fn interpret(response: HttpResponse) -> Result<Response, SourceError> {
    let HttpResponse { status, body, retry_after } = response;
    // The type of a 404, or some other text that explains the status.
    let said = || -> String {
        let text = String::from_utf8_lossy(&body);
        text.chars().filter(|mark| !mark.is_control()).take(200).collect()
    };
    let error = |kind, what: &dyn fmt::Display| {
        SourceError::new(kind, what).with_status(status).with_retry_after(retry_after)
    };
    match status {
        200 if body.trim_ascii() == b"null" => Ok(Response::Absent { newest: None }),
        200 if body.trim_ascii_start().starts_with(b"<") => {
            Err(error(SourceErrorKind::Temporary, &"HTML in place of a block"))
        }
        200 => Ok(Response::Message(body)),
        401 => {
            Err(error(SourceErrorKind::PermissionDenied, &"the feed refuses the token (HTTP 401)"))
        }
        403 => Err(error(
            SourceErrorKind::PermissionDenied,
            &"the feed refuses this client (HTTP 403)",
        )),
        404 => match said() {
            text if text.contains("BLOCK_HEIGHT_TOO_HIGH") => {
                Err(error(SourceErrorKind::TooHigh, &"above the newest block of the feed"))
            }
            text if text.contains("BLOCK_HEIGHT_TOO_LOW") => {
                Err(error(SourceErrorKind::TooLow, &"below the first block of the feed"))
            }
            text if text.contains("BLOCK_DOES_NOT_EXIST") => Ok(Response::Absent { newest: None }),
            text => Err(error(SourceErrorKind::Temporary, &format!("HTTP 404 {text}"))),
        },
        _ => Err(error(SourceErrorKind::Temporary, &format!("HTTP {status} {}", said()))),
    }
}

impl Source for NearData {
    fn settings(&self) -> FeedSettings {
        FeedSettings::default().with_requests_per_minute(self.requests_per_minute).with_archives()
    }

    async fn answer(&self, ask: Ask, pace: &Pace) -> Result<Response, SourceError> {
        match ask {
            Ask::Block(BlockRequest { height, finality, bypass_caches, .. }) => {
                let endpoint = match finality {
                    Finality::Optimistic => "block_opt",
                    Finality::Final => "block",
                };
                self.fetch(&format!("/v0/{endpoint}/{height}"), bypass_caches, pace).await
            }
            Ask::Archive(first) => self.archive(first, pace).await,
            // The redirect to the block is cached for a day by some caches.
            Ask::LastFinal => self.fetch("/v0/last_block/final", true, pace).await,
            Ask::Head(finality) => {
                let name = match finality {
                    Finality::Optimistic => "optimistic",
                    Finality::Final => "final",
                };
                let path = format!("/v0/last_block/{name}");
                match self.fetch(&format!("{path}/headers"), true, pace).await {
                    // A server with these URLs need not have this one.
                    Err(error) if error.status == Some(404) => self.fetch(&path, true, pace).await,
                    result => result,
                }
            }
            Ask::ChainId => Ok(Response::ChainId(None)),
            Ask::BlockByHash(_) => Ok(Response::Absent { newest: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_of_mainnet_is_split() {
        let archive = |feed: &str| {
            let feed: FeedUrl = feed.parse().unwrap();
            archive_address(&feed.address, 142_000_000, "/raw/x.tgz")
        };
        assert_eq!(archive("mainnet"), "https://a2.mainnet.neardata.xyz/raw/x.tgz");
        assert_eq!(archive("testnet"), "https://testnet.neardata.xyz/raw/x.tgz");
    }

    fn of(status: u16, body: &str) -> Result<Response, SourceErrorKind> {
        let response = HttpResponse { status, body: body.into(), retry_after: None };
        interpret(response).map_err(|error| error.kind)
    }

    #[test]
    fn a_status_decides_what_is_done() {
        let typed = |name| format!(r#"{{"error":"x","type":"{name}"}}"#);
        assert_eq!(of(200, " null\n"), Ok(Response::Absent { newest: None }));
        assert_eq!(of(200, "{}"), Ok(Response::Message(b"{}".to_vec())));
        assert_eq!(of(404, &typed("BLOCK_HEIGHT_TOO_HIGH")), Err(SourceErrorKind::TooHigh));
        assert_eq!(of(404, &typed("BLOCK_HEIGHT_TOO_LOW")), Err(SourceErrorKind::TooLow));
        assert_eq!(of(404, &typed("BLOCK_DOES_NOT_EXIST")), Ok(Response::Absent { newest: None }));
        assert_eq!(of(404, "<html>"), Err(SourceErrorKind::Temporary));
        assert_eq!(of(200, "\n<!doctype html>"), Err(SourceErrorKind::Temporary));
        assert_eq!(of(401, ""), Err(SourceErrorKind::PermissionDenied));
        for status in [400, 429, 500, 502, 503] {
            assert_eq!(of(status, ""), Err(SourceErrorKind::Temporary));
        }
    }
}
