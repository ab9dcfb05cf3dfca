//! The address of a server: `https://host[/path]`, or `http` where no secret is sent.
//!
//! An address holds no secret: credentials in it are refused, and so are a query and a fragment.

use core::fmt;
use core::net::IpAddr;

use reqwest::Url;

/// The address of a server
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Address(Url);

impl Address {
    /// Reads an address; no error repeats the text, which may hold credentials
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| format!("the address: {error}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("the address has credentials; give a token by file".to_owned());
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("the address has a query or a fragment".to_owned());
        }
        match url.scheme() {
            "https" | "http" if url.has_host() => Ok(Self(url)),
            scheme => Err(format!("the address is {scheme}, expected https")),
        }
    }

    /// The address of a path, such as `/v0/block/7`
    pub(crate) fn join(&self, path_and_query: &str) -> String {
        format!("{}{path_and_query}", self.0.as_str().trim_end_matches('/'))
    }

    pub(crate) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Whether there is no TLS
    pub(crate) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    /// Whether the server is on this machine
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }

    /// Whether a token for this server can be sent to another address: to its host and those below
    /// it, and never without TLS if the server has it
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

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_to_the_feed_and_below_it_only() {
        let feed = Address::parse("https://mainnet.neardata.xyz").unwrap();
        let trusts = |text: &str| feed.trusts(&Url::parse(text).unwrap());
        assert!(trusts("https://mainnet.neardata.xyz/v0/block/7"));
        assert!(trusts("https://a2.mainnet.neardata.xyz/v0/block/7"));
        assert!(!trusts("http://mainnet.neardata.xyz/v0/block/7"));
        assert!(!trusts("https://notmainnet.neardata.xyz/"));
        assert!(!trusts("https://evil.example/mainnet.neardata.xyz"));
    }
}
