//! An async HTTP service over a SQLite file: `service FILE ADDRESS`.
//!
//! `POST /` answers requests, which wait for their milestones; `POST /blocks` imports a block
//! message. A client that closes its connection cancels its request.

#![forbid(unsafe_code)]

use core::hash::BuildHasher as _;
use std::hash::RandomState;
use std::path::Path;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header::CONTENT_TYPE};
use axum::{Router, body::Bytes, response::IntoResponse, routing::post};
use milepost::endpoint::{Engine, WaitConfig};
use milepost::import::ImportSettings;
use milepost_examples::{sqlite_storage::SqliteStorage, tokio_endpoint::TokioEndpoint};
use {futures_core as _, milepost_practice as _};
use {rusqlite as _, serde as _, serde_json as _};

#[cfg(test)]
use tempfile as _;

/// Block messages of mainnet have up to 30 MB
const MAX_BODY: usize = 64 << 20;

async fn respond(State(endpoint): State<TokioEndpoint>, body: Bytes) -> impl IntoResponse {
    match endpoint.request(body.into(), None).await {
        Ok(response) => {
            let status = StatusCode::from_u16(response.kind().http_status()).unwrap_or_default();
            (status, [(CONTENT_TYPE, "application/json")], response.body).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn import(State(endpoint): State<TokioEndpoint>, message: Bytes) -> impl IntoResponse {
    match endpoint.import_block(message.into()).await {
        Ok(summary) => (StatusCode::OK, summary.block.hash.to_string()),
        Err(error) => (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(address)) = (arguments.next(), arguments.next()) else {
        return Err("usage: service FILE ADDRESS".into());
    };
    let (engine, storage) = (Engine::default(), SqliteStorage::open(Path::new(&file))?);
    // Clients choose the hashes that they wait for, so a map of them needs a seed.
    let wait_config = WaitConfig::default().with_hash_seed(RandomState::new().hash_one(0));
    let endpoint = TokioEndpoint::spawn(engine, wait_config, ImportSettings::default(), storage);
    let routes = Router::new().route("/", post(respond)).route("/blocks", post(import));
    let service = routes.layer(DefaultBodyLimit::max(MAX_BODY)).with_state(endpoint);
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("{}", listener.local_addr()?);
    Ok(axum::serve(listener, service).await?)
}
