//! A client of any HTTP server, with the rules of the client of feeds: TLS, redirects, bounds,
//! and a token that goes to its server alone.

use milepost_follow::SourceError;

use super::{Address, Client, HttpResponse, Token};
use crate::source::Pace;

/// A client of an HTTP server
#[derive(Debug)]
pub struct HttpClient(Client);

impl HttpClient {
    /// A client of the server at this address, `https://HOST[/PATH]` or `http://HOST[/PATH]`
    ///
    /// # Errors
    ///
    /// The address cannot be read or has credentials, a token would be sent in clear text, or TLS
    /// cannot be set up on this machine.
    pub fn new(address: &str, token: Option<Token>) -> Result<Self, String> {
        let address = Address::parse(address)?;
        if token.is_some() && address.is_plain() && !address.is_loopback() {
            return Err("a token is sent by https only, except on this machine".to_owned());
        }
        Client::new(&address, token).map(Self).map_err(|error| error.detail)
    }

    /// The response to a GET of a path below the address, after redirects
    ///
    /// # Errors
    ///
    /// There is no whole response.
    pub async fn get(&self, path: &str) -> Result<HttpResponse, SourceError> {
        self.0.fetch(path, false, &Pace::unlimited()).await
    }

    /// The response to a POST of this body, declared as JSON, to a path below the address
    ///
    /// # Errors
    ///
    /// There is no whole response.
    pub async fn post(&self, path: &str, body: Vec<u8>) -> Result<HttpResponse, SourceError> {
        self.0.post(path, body, &Pace::unlimited()).await
    }
}

#[test]
fn a_token_is_not_sent_in_clear_text() {
    let new = |address: &str, has_token: bool| {
        let token = has_token.then(|| Token::new("secret").unwrap());
        HttpClient::new(address, token).map(drop)
    };
    for address in ["http://127.0.0.1:3030", "http://localhost/near", "https://rpc.example"] {
        assert_eq!(new(address, true), Ok(()), "{address}");
    }
    assert_eq!(new("http://rpc.example", false), Ok(()));
    for address in ["http://rpc.example", "ftp://rpc.example", "https://a:b@rpc.example"] {
        let error = new(address, true).unwrap_err();
        assert!(!error.contains("secret") && !error.contains("a:b"), "{error}");
    }
}
