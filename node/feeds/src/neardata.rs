//! A feed with the URLs of neardata, over HTTP.
//!
//! Says which URL has what, and what a status means; caches are passed by a header and by a query
//! that no cache has seen.

mod archive;

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use milepost::primitives::BlockHeight;

use crate::http::{Address, Budget, Client, HttpResponse, Token};
use crate::source::{BlockRequest, Fetched, Finality, Source, SourceError, SourceErrorKind};
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
    /// Number of requests that bypassed caches, which makes the URL of each a new one
    bypassed: AtomicU64,
}

impl NearData {
    /// The feed at this address, within the default [`Budget`]
    ///
    /// # Errors
    ///
    /// The address is of another kind of feed, or TLS cannot be set up on this machine.
    pub fn new(url: &FeedUrl, token: Option<Token>) -> Result<Self, SourceError> {
        Self::with_budget(url, token, Budget::default())
    }

    /// The feed at this address, within a budget
    ///
    /// # Errors
    ///
    /// The address is of another kind of feed, or TLS cannot be set up on this machine.
    pub fn with_budget(
        url: &FeedUrl,
        token: Option<Token>,
        budget: Budget,
    ) -> Result<Self, SourceError> {
        let address = url
            .address_of(FeedKind::NearData)
            .map_err(|detail| SourceError::new(SourceErrorKind::Unsupported, detail))?;
        let client = Client::new(address, token, budget)?;
        Ok(Self { address: address.clone(), client, bypassed: AtomicU64::new(0) })
    }

    /// Number of requests that were sent, redirects included
    pub fn requests(&self) -> u64 {
        self.client.requests()
    }

    /// The maximum number of requests in a minute
    pub const fn requests_per_minute(&self) -> u32 {
        self.client.requests_per_minute()
    }

    async fn fetch(&self, path: &str, bypass_caches: bool) -> Result<Fetched, SourceError> {
        let path = if bypass_caches {
            // Unique across restarts as well, as far as the clock is.
            let time = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
            format!("{path}?fresh={time}-{}", self.bypassed.fetch_add(1, Relaxed))
        } else {
            path.to_owned()
        };
        let response = self.client.fetch(&path, bypass_caches).await?;
        interpret(response).map_err(|error| {
            let detail = format!("{path}: {}", error.detail);
            SourceError { detail, ..error }
        })
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
fn interpret(response: HttpResponse) -> Result<Fetched, SourceError> {
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
        200 if body.trim_ascii() == b"null" => Ok(Fetched::Empty),
        200 if body.trim_ascii_start().starts_with(b"<") => {
            Err(error(SourceErrorKind::Temporary, &"HTML in place of a block"))
        }
        200 => Ok(Fetched::Message(body)),
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
            text if text.contains("BLOCK_DOES_NOT_EXIST") => Ok(Fetched::Empty),
            text => Err(error(SourceErrorKind::Temporary, &format!("HTTP 404 {text}"))),
        },
        _ => Err(error(SourceErrorKind::Temporary, &format!("HTTP {status} {}", said()))),
    }
}

impl Source for NearData {
    async fn block(&self, request: BlockRequest) -> Result<Fetched, SourceError> {
        let endpoint = match request.finality {
            Finality::Optimistic => "block_opt",
            Finality::Final => "block",
        };
        let path = format!("/v0/{endpoint}/{}", request.height);
        self.fetch(&path, request.bypass_caches).await
    }

    async fn archive(&self, first: BlockHeight) -> Result<Option<Vec<Vec<u8>>>, SourceError> {
        let digits = format!("{first:012}");
        let path = format!("/raw/{}/{}/{digits}.tgz", &digits[..6], &digits[6..9]);
        let address = archive_address(&self.address, first, &path);
        let response = self.client.fetch_from(address, &path, false).await?;
        match response.status {
            200 => {
                // Some 20 MB of text: some tenths of a second of work.
                let unpack = move || archive::unpack(&response.body);
                let unpacked = tokio::task::spawn_blocking(unpack).await;
                let unpacked = unpacked.unwrap_or_else(|error| Err(error.to_string()));
                unpacked.map(Some).map_err(|error| {
                    let detail = format!("{path}: {error}");
                    SourceError::new(SourceErrorKind::Temporary, detail)
                })
            }
            404 => Ok(None),
            status => {
                let error = format!("{path}: HTTP {status}");
                Err(SourceError::new(SourceErrorKind::Temporary, error).with_status(status))
            }
        }
    }

    async fn last_final(&self) -> Result<Fetched, SourceError> {
        // The redirect to the block is cached for a day by some caches.
        self.fetch("/v0/last_block/final", true).await
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

    fn of(status: u16, body: &str) -> Result<Fetched, SourceErrorKind> {
        let response = HttpResponse { status, body: body.into(), retry_after: None };
        interpret(response).map_err(|error| error.kind)
    }

    #[test]
    fn a_status_decides_what_is_done() {
        let typed = |name| format!(r#"{{"error":"x","type":"{name}"}}"#);
        assert_eq!(of(200, " null\n"), Ok(Fetched::Empty));
        assert_eq!(of(200, "{}"), Ok(Fetched::Message(b"{}".to_vec())));
        assert_eq!(of(404, &typed("BLOCK_HEIGHT_TOO_HIGH")), Err(SourceErrorKind::TooHigh));
        assert_eq!(of(404, &typed("BLOCK_HEIGHT_TOO_LOW")), Err(SourceErrorKind::TooLow));
        assert_eq!(of(404, &typed("BLOCK_DOES_NOT_EXIST")), Ok(Fetched::Empty));
        assert_eq!(of(404, "<html>"), Err(SourceErrorKind::Temporary));
        assert_eq!(of(200, "\n<!doctype html>"), Err(SourceErrorKind::Temporary));
        assert_eq!(of(401, ""), Err(SourceErrorKind::PermissionDenied));
        for status in [400, 429, 500, 502, 503] {
            assert_eq!(of(status, ""), Err(SourceErrorKind::Temporary));
        }
    }
}
