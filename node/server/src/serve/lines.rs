//! The three lines that a server prints when it listens: its page, its API, and a request to try.
//!
//! The first line has the URL by which a client on this machine reaches the server, whatever
//! address it listens on: programs that start a server read it there.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::http::BasePath;

/// The lines
pub(crate) struct StartLines<'a> {
    /// The address that the server listens on
    pub(crate) address: SocketAddr,
    pub(crate) base_path: &'a BasePath,
    /// The chain that is served, in a few words
    pub(crate) note: Option<String>,
    /// A JSON-RPC request that has a result; without one, the state of the server is asked for
    pub(crate) request: Option<String>,
}

impl fmt::Display for StartLines<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = format!("http://{}{}/", reachable(self.address), self.base_path);
        let note = self.note.as_ref().map_or(String::new(), |note| format!("   ({note})"));
        writeln!(formatter, "Page  {url}{note}")?;
        writeln!(formatter, "API   {url}   (JSON-RPC 2.0, POST)")?;
        match &self.request {
            Some(request) => {
                let url = quoted(&url);
                let header = "-H 'content-type: application/json'";
                write!(formatter, "Try   curl -s {url} {header} -d '{request}'")
            }
            None => write!(formatter, "Try   curl -s {}", quoted(&format!("{url}status"))),
        }
    }
}

/// The address by which this machine reaches a listener: loopback in place of every address
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// A URL as a word of a shell, some of which read brackets as a pattern
fn quoted(url: &str) -> String {
    if url.contains('[') { format!("'{url}'") } else { url.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_have_an_address_that_can_be_reached() {
        for (address, base_path, url) in [
            ("127.0.0.1:3030", "/", "http://127.0.0.1:3030/"),
            ("0.0.0.0:3030", "/near/", "http://127.0.0.1:3030/near/"),
            ("[::]:80", "/", "http://[::1]:80/"),
            ("192.0.2.7:80", "/a/b", "http://192.0.2.7:80/a/b/"),
        ] {
            let base_path = &base_path.parse().unwrap();
            let address = address.parse().unwrap();
            let lines = StartLines { address, base_path, note: None, request: None }.to_string();
            let quote = if url.contains('[') { "'" } else { "" };
            let expected = format!(
                "Page  {url}\nAPI   {url}   (JSON-RPC 2.0, POST)\nTry   curl -s {quote}{url}status{quote}"
            );
            assert_eq!(lines, expected);
        }
    }

    #[test]
    fn a_request_is_quoted_for_a_shell() {
        let lines = StartLines {
            address: "127.0.0.1:1".parse().unwrap(),
            base_path: &BasePath::default(),
            note: Some("demonstration chain".to_owned()),
            request: Some(r#"{"id":1}"#.to_owned()),
        };
        let expected = "Page  http://127.0.0.1:1/   (demonstration chain)
API   http://127.0.0.1:1/   (JSON-RPC 2.0, POST)
Try   curl -s http://127.0.0.1:1/ -H 'content-type: application/json' -d '{\"id\":1}'";
        assert_eq!(lines.to_string(), expected);
    }
}
