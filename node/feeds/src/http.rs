//! HTTP for sources: addresses, requests, the token.

mod address;
mod client;
mod http_client;
mod rpc_client;

pub use client::{HttpResponse, Token};
pub use http_client::HttpClient;
pub use rpc_client::{RpcClient, RpcResponse};

pub(crate) use address::Address;
pub(crate) use client::Client;
#[cfg(feature = "object-store")]
pub(crate) use client::with_tls;
