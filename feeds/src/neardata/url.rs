//! The address of a feed: a preset, or `neardata+https://host[/path]`.
//!
//! An address holds no secret: credentials in it are refused, and so are a query and a fragment.
//! `http` is for this machine only, because a token would be sent in clear text.

use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

use milepost::primitives::BlockHeight;
use reqwest::Url;

/// The public feed of mainnet
const MAINNET_HOST: &str = "mainnet.neardata.xyz";
/// The first heights of the parts of its archive after the first, as of crate
/// `fastnear-neardata-fetcher` 0.38.0; where a part is added, single blocks are taken
const MAINNET_ARCHIVES: [BlockHeight; 3] = [122_000_000, 142_000_000, 177_000_000];

/// The address of a feed with the URLs of neardata
///
/// ```
/// use milepost_feeds::FeedUrl;
///
/// let preset: FeedUrl = "mainnet".parse()?;
/// assert_eq!(preset.to_string(), "neardata+https://mainnet.neardata.xyz");
/// assert!("neardata+http://feed.example".parse::<FeedUrl>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FeedUrl(Url);

impl FeedUrl {
    /// The address of a path, such as `/v0/block/7`
    pub(crate) fn join(&self, path_and_query: &str) -> String {
        format!("{}{path_and_query}", self.0.as_str().trim_end_matches('/'))
    }

    /// The address of a path at the host that has the archive of a height: of the public feed of
    /// mainnet it is split, elsewhere it is on the host itself
    pub(crate) fn join_archive(&self, height: BlockHeight, path: &str) -> String {
        if self.0.host_str() != Some(MAINNET_HOST) {
            return self.join(path);
        }
        let part = MAINNET_ARCHIVES.iter().filter(|first| height >= **first).count();
        format!("https://a{part}.{MAINNET_HOST}{path}")
    }

    /// Whether the feed has no TLS, which only one on this machine may
    pub(crate) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    /// Whether a token for the feed can be sent to this address: to its host and those below it,
    /// and never without TLS if the feed has it
    pub(crate) fn trusts(&self, other: &Url) -> bool {
        let (Some(host), Some(other_host)) = (self.0.host_str(), other.host_str()) else {
            return false;
        };
        let is_below = other_host.strip_suffix(host).is_some_and(|rest| rest.ends_with('.'));
        other.scheme() == self.0.scheme() && (other_host == host || is_below)
    }
}

/// Whether the host of an address is this machine
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl FromStr for FeedUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address = match text {
            "mainnet" => "https://mainnet.neardata.xyz",
            "testnet" => "https://testnet.neardata.xyz",
            _ => text.strip_prefix("neardata+").ok_or(
                "a feed is none of mainnet, testnet and neardata+https://host[/path]".to_owned(),
            )?,
        };
        // The text may hold credentials, so no error repeats it.
        let url = Url::parse(address).map_err(|error| format!("the address of a feed: {error}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the address of a feed has credentials; give a token by file".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("the address of a feed has a query or a fragment".to_owned());
        }
        match url.scheme() {
            "https" if url.has_host() => Ok(Self(url)),
            "http" if is_loopback(&url) => Ok(Self(url)),
            "http" => Err("the address of a feed has to be https, except on this machine".into()),
            scheme => Err(format!("the address of a feed is {scheme}, expected https")),
        }
    }
}

impl fmt::Display for FeedUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "neardata+{}", self.0.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_presets_or_https() {
        let feed: FeedUrl = "neardata+https://feed.example/near/".parse().unwrap();
        assert_eq!(feed.join("/v0/block/7"), "https://feed.example/near/v0/block/7");
        let archive = |feed: &str| {
            let feed: FeedUrl = feed.parse().unwrap();
            feed.join_archive(142_000_000, "/raw/x.tgz")
        };
        assert_eq!(archive("mainnet"), "https://a2.mainnet.neardata.xyz/raw/x.tgz");
        assert_eq!(archive("testnet"), "https://testnet.neardata.xyz/raw/x.tgz");
        for text in ["neardata+http://127.0.0.1:7", "neardata+http://[::1]:7", "testnet"] {
            assert!(text.parse::<FeedUrl>().is_ok(), "{text}");
        }
        for text in [
            "",
            "betanet",
            "https://feed.example",
            "neardata+http://feed.example",
            "neardata+ftp://feed.example",
            "neardata+https://key@feed.example",
            "neardata+https://feed.example?apiKey=x",
        ] {
            let error = text.parse::<FeedUrl>().unwrap_err();
            assert!(!error.contains("key@") && !error.contains("=x"), "{error}");
        }
    }

    #[test]
    fn a_token_goes_to_the_feed_and_below_it_only() {
        let feed: FeedUrl = "mainnet".parse().unwrap();
        let trusts = |text: &str| feed.trusts(&Url::parse(text).unwrap());
        assert!(trusts("https://mainnet.neardata.xyz/v0/block/7"));
        assert!(trusts("https://a2.mainnet.neardata.xyz/v0/block/7"));
        assert!(!trusts("http://mainnet.neardata.xyz/v0/block/7"));
        assert!(!trusts("https://notmainnet.neardata.xyz/"));
        assert!(!trusts("https://evil.example/mainnet.neardata.xyz"));
    }
}
