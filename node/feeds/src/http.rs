//! HTTP for sources: addresses, requests within a budget, the token.

mod address;
mod budget;
mod client;
mod http_client;
mod rpc_client;

pub use budget::Budget;
pub use client::{HttpResponse, Token};
pub use http_client::HttpClient;
pub use rpc_client::{RpcClient, RpcResponse};

pub(crate) use address::Address;
pub(crate) use client::Client;
#[cfg(feature = "object-store")]
pub(crate) use client::with_tls;
