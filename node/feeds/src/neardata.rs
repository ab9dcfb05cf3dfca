//! A feed with the URLs of neardata, over HTTP.
//!
//! Caches are passed by a header and by a query that no cache has seen.

mod archive;

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use milepost::primitives::BlockHeight;
use milepost_follow::neardata::{Get, interpret};
use milepost_follow::{Ask, FeedSettings, Response, SourceError, SourceErrorKind};

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
    /// The address is that of another kind of feed, or TLS cannot be set up on this machine.
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

    async fn fetch(&self, get: &Get, pace: &Pace) -> Result<Response, SourceError> {
        let mut response = Ok(Response::Absent { newest: None });
        for path in &get.paths {
            let query = if get.bypass_caches {
                // Unique across restarts as well, as far as the clock is.
                let time = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
                format!("?fresh={time}-{}", self.bypassed.fetch_add(1, Relaxed))
            } else {
                String::new()
            };
            let target = format!("{path}{query}");
            let fetched = self.client.fetch(&target, get.bypass_caches, pace).await?;
            let HttpResponse { status, body, retry_after } = fetched;
            response = interpret(path, status, body, retry_after);
            if status != 404 {
                break;
            }
        }
        response
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

impl Source for NearData {
    fn settings(&self) -> FeedSettings {
        FeedSettings::default().with_requests_per_minute(self.requests_per_minute).with_archives()
    }

    async fn answer(&self, ask: Ask, pace: &Pace) -> Result<Response, SourceError> {
        match (ask, Get::new(ask)) {
            (_, Some(get)) => self.fetch(&get, pace).await,
            (Ask::Archive(first), None) => self.archive(first, pace).await,
            (Ask::ChainId, None) => Ok(Response::ChainId(None)),
            (_, None) => Ok(Response::Absent { newest: None }),
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
}
