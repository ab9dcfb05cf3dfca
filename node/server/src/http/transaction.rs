//! `GET /tx/<hash>` and `GET /receipt/<id>`: the compact status of a transaction, and the
//! transaction and the outcome of a receipt.
//!
//! A lookup is by hash alone, on every shard; `sender_account_id` is accepted and checked, because
//! clients of a node have to send it. Before a transaction is finalized, a request costs the walk
//! over its receipts; what is finalized changes only if an archive is repaired, and may be cached
//! for an hour.

use alloc::sync::Arc;
use core::net::IpAddr;

use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, ETAG, HeaderValue};
use milepost::primitives::{AccountId, CryptoHash};
use milepost::status::ProofEnd;

use super::complete_heights::CompleteHeights;
use super::entity_tag;
use super::query_string::QueryString;
use super::response::{HttpResponse, json_bytes, query_failed, rejected};
use crate::queries::{FoundReceipt, Include, Queries};

/// For what can change
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");
/// For what is finalized: a repair of the archive may replace a row that was wrong
const FINALIZED: HeaderValue = HeaderValue::from_static("public, max-age=3600, must-revalidate");
/// For a refusal, which an execution can replace while the transaction is valid
const REFUSED: HeaderValue = HeaderValue::from_static("public, max-age=60, must-revalidate");

/// The transaction that a request is about, by its path and its query
pub(super) fn parse_hash(text: &str, query: &QueryString) -> Result<CryptoHash, String> {
    if let Some(sender) = query.get("sender_account_id") {
        sender.parse::<AccountId>().map_err(|error| format!("sender_account_id: {error}"))?;
    }
    text.parse().map_err(|error| format!("tx: {error}"))
}

/// The compact status of the transaction in the path
pub(super) async fn status(
    queries: &Arc<Queries>,
    client: IpAddr,
    hash: &str,
    query: &QueryString,
) -> HttpResponse {
    let parsed = parse_hash(hash, query).and_then(|hash| {
        let include: Include = query.get("include").unwrap_or_default().parse()?;
        let end = query.get("block").map_or(Ok(ProofEnd::default()), str::parse);
        Ok((hash, include, end.map_err(|error| error.to_string())?))
    });
    let (hash, include, end) = match parsed {
        Ok(parsed) => parsed,
        Err(text) => return rejected(queries, StatusCode::BAD_REQUEST, &text),
    };
    let heights = CompleteHeights::note(queries);
    let (summary, json) = match queries.compact_status(client, hash, include, end).await {
        Ok(observed) => observed,
        Err(error) => return query_failed(&error),
    };
    let Some(summary) = summary else {
        let text = format!("transaction {hash} is in no block that is stored");
        return not_found(queries, &text, heights).await;
    };
    let tag = entity_tag::of(json.as_bytes());
    let mut response = json_bytes(StatusCode::OK, json.into_bytes());
    response.headers_mut().insert(ETAG, tag);
    // The block that confirms the newest outcome may not be final yet.
    let is_finalized = summary.is_finalized && !include.proof;
    let caching = match (is_finalized, summary.is_refusal()) {
        (false, _) => REVALIDATE,
        (true, true) => REFUSED,
        (true, false) => FINALIZED,
    };
    response.headers_mut().insert(CACHE_CONTROL, caching);
    response
}

/// The transaction and the outcome of the receipt in the path
pub(super) async fn of_receipt(queries: &Arc<Queries>, client: IpAddr, id: &str) -> HttpResponse {
    let id: CryptoHash = match id.parse() {
        Ok(id) => id,
        Err(error) => {
            return rejected(queries, StatusCode::BAD_REQUEST, &format!("receipt: {error}"));
        }
    };
    let heights = CompleteHeights::note(queries);
    let found = match queries.receipt(client, id).await {
        Ok(found) => found,
        Err(error) => return query_failed(&error),
    };
    let Some(receipt) = found else {
        let text = format!("receipt {id} comes from no transaction that is stored");
        return not_found(queries, &text, heights).await;
    };
    let FoundReceipt { transaction, outcome, is_finalized } = receipt;
    let outcome = outcome.as_deref().unwrap_or("null");
    let body = format!(
        r#"{{"receipt_id":"{id}","transaction_hash":"{transaction}","outcome":{outcome}}}"#
    );
    let mut response = json_bytes(StatusCode::OK, body.into_bytes());
    let caching = if is_finalized { FINALIZED } else { REVALIDATE };
    response.headers_mut().insert(CACHE_CONTROL, caching);
    response
}

/// The response about what is in no block here, which may come in a later one
async fn not_found(queries: &Arc<Queries>, text: &str, heights: CompleteHeights) -> HttpResponse {
    let mut response = rejected(queries, StatusCode::NOT_FOUND, text);
    response.headers_mut().insert(CACHE_CONTROL, REVALIDATE);
    heights.add_header(queries, response.headers_mut()).await;
    response
}
