//! HTTP for sources: addresses, requests within a budget, the token.

mod address;
mod budget;
mod client;
mod rpc_client;

pub use budget::Budget;
pub use client::Token;
pub use rpc_client::{RpcClient, RpcResponse};

pub(crate) use address::Address;
#[cfg(feature = "object-store")]
pub(crate) use client::with_tls;
pub(crate) use client::{Client, HttpResponse};
