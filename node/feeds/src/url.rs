//! The address of a feed: a preset, `neardata+https://host[/path]`, or `node+http://host:port`.
//!
//! The part before `+` says what kind of server it is. `http` is for this machine only where a
//! token would be sent in clear text; a node takes none, and is often next to the server.

use core::fmt;
use core::str::FromStr;

use milepost_follow::{SourceError, SourceErrorKind};

use crate::http::Address;

/// The address of a feed
///
/// ```
/// use milepost_feeds::FeedUrl;
///
/// let preset: FeedUrl = "mainnet".parse()?;
/// assert_eq!(preset.to_string(), "neardata+https://mainnet.neardata.xyz");
/// let node: FeedUrl = "node+http://node.example:3030".parse()?;
/// assert!("neardata+http://feed.example".parse::<FeedUrl>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FeedUrl {
    pub(crate) kind: FeedKind,
    pub(crate) address: Address,
}

/// What kind of server a feed is
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FeedKind {
    NearData,
    Node,
}

impl FeedUrl {
    /// The name of the chain (`chain_id` of its configurations), if this is a public feed
    pub fn chain_id(&self) -> Option<&'static str> {
        ["mainnet", "testnet"]
            .into_iter()
            .find(|name| name.parse().is_ok_and(|it: Self| it == *self))
    }

    /// The address, if the feed is of this kind
    pub(crate) fn address_of(&self, kind: FeedKind) -> Result<&Address, String> {
        if self.kind == kind {
            Ok(&self.address)
        } else {
            Err(format!("{self} is the address of another kind of feed"))
        }
    }

    /// The address, if the feed is a node to which a token may be sent, should there be one
    pub(crate) fn node_address(&self, has_token: bool) -> Result<&Address, SourceError> {
        let unsupported = |detail| SourceError::new(SourceErrorKind::Unsupported, detail);
        let address = self.address_of(FeedKind::Node).map_err(unsupported)?;
        if has_token && address.is_plain() && !address.is_loopback() {
            let detail = "a token is sent to a node by https only, except on this machine";
            return Err(unsupported(detail.to_owned()));
        }
        Ok(address)
    }
}

impl FeedKind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::NearData => "neardata+",
            Self::Node => "node+",
        }
    }
}

impl FromStr for FeedUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = match text {
            "mainnet" => "neardata+https://mainnet.neardata.xyz",
            "testnet" => "neardata+https://testnet.neardata.xyz",
            _ => text,
        };
        // The text may hold credentials, so no error repeats it.
        let kinds = [FeedKind::NearData, FeedKind::Node];
        let (kind, address) = kinds
            .into_iter()
            .find_map(|kind| Some((kind, text.strip_prefix(kind.prefix())?)))
            .ok_or(
                "expected mainnet, testnet, neardata+https://HOST[/PATH] or node+http://HOST:PORT",
            )?;
        let address = Address::parse(address)?;
        if kind == FeedKind::NearData && address.is_plain() && !address.is_loopback() {
            return Err("the address of a feed has to be https, except on this machine".into());
        }
        Ok(Self { kind, address })
    }
}

impl fmt::Display for FeedUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.kind.prefix(), self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_feed_has_the_name_of_its_chain() {
        for (text, chain_id) in [
            ("mainnet", Some("mainnet")),
            ("neardata+https://testnet.neardata.xyz", Some("testnet")),
            ("neardata+https://feed.example", None),
            ("node+https://mainnet.neardata.xyz", None),
        ] {
            assert_eq!(text.parse::<FeedUrl>().unwrap().chain_id(), chain_id, "{text}");
        }
    }

    #[test]
    fn addresses_are_presets_or_https_or_nodes() {
        let feed: FeedUrl = "neardata+https://feed.example/near/".parse().unwrap();
        assert_eq!(feed.address.join("/v0/block/7"), "https://feed.example/near/v0/block/7");
        for text in [
            "neardata+http://127.0.0.1:7",
            "neardata+http://[::1]:7",
            "testnet",
            "node+http://10.0.0.7:3030",
            "node+https://rpc.example/key",
        ] {
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
            "node+http://key@node.example",
            "node+ftp://node.example",
        ] {
            let error = text.parse::<FeedUrl>().unwrap_err();
            assert!(!error.contains("key@") && !error.contains("=x"), "{error}");
        }
    }
}
