//! HTTP for sources: addresses, requests within a budget, the token.

mod address;
mod budget;
mod client;

pub use budget::Budget;
pub use client::Token;

pub(crate) use address::Address;
pub(crate) use client::{Client, HttpResponse};
