//! `GET /tx/<hash>` and `GET /receipt/<id>`: the compact status of a transaction, and the
//! transaction of a receipt.
//!
//! A lookup is by hash alone, on every shard; `sender_account_id` is accepted and checked, because
//! clients of a node have to send it. Before a transaction is finalized, a request costs the walk
//! over its receipts; what is finalized changes only if an archive is repaired, and may be cached
//! for an hour. The transaction of a receipt may be cached for ever.

use alloc::sync::Arc;

use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, ETAG, HeaderValue};
use milepost::primitives::{AccountId, CryptoHash};
use milepost::status::ProofEnd;
use serde_json::json;

use super::complete_heights::CompleteHeights;
use super::entity_tag;
use super::query_string::QueryString;
use super::route::{HttpResponse, empty, failed, json_bytes, json_value, query_failed};
use crate::compact_status::Include;
use crate::service::Service;

/// For what can change
const REVALIDATE: HeaderValue = HeaderValue::from_static("no-cache");
/// For what is finalized: a repair of the archive may replace a row that was wrong
const FINALIZED: HeaderValue = HeaderValue::from_static("public, max-age=3600, must-revalidate");
/// For a refusal, which an execution can replace while the transaction is valid
const REFUSED: HeaderValue = HeaderValue::from_static("public, max-age=60, must-revalidate");
/// For what never changes: a year, the longest time that caches count
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// The transaction that a request is about, by its path and its query
pub(super) fn parse_hash(text: &str, query: &QueryString) -> Result<CryptoHash, String> {
    if let Some(sender) = query.get("sender_account_id") {
        sender.parse::<AccountId>().map_err(|error| format!("sender_account_id: {error}"))?;
    }
    text.parse().map_err(|error| format!("tx: {error}"))
}

/// The compact status of the transaction in the path
pub(super) async fn status(
    service: &Arc<Service>,
    hash: &str,
    query: &QueryString,
    if_none_match: Option<&HeaderValue>,
) -> HttpResponse {
    let parsed = parse_hash(hash, query).and_then(|hash| {
        let include: Include = query.get("include").unwrap_or_default().parse()?;
        let end = query.get("block").map_or(Ok(ProofEnd::default()), str::parse);
        Ok((hash, include, end.map_err(|error| error.to_string())?))
    });
    let (hash, include, end) = match parsed {
        Ok(parsed) => parsed,
        Err(text) => return rejected(service, StatusCode::BAD_REQUEST, &text),
    };
    let heights = CompleteHeights::note(service);
    let (summary, json) = match service.compact_status(hash, include, end).await {
        Ok(observed) => observed,
        Err(error) => return query_failed(&error),
    };
    let Some(summary) = summary else {
        let text = format!("transaction {hash} is in no block that is stored");
        return not_found(service, &text, heights).await;
    };
    let tag = entity_tag::of(json.as_bytes());
    let mut response = if entity_tag::is_match(if_none_match, &tag) {
        empty(StatusCode::NOT_MODIFIED)
    } else {
        json_bytes(StatusCode::OK, json.into_bytes())
    };
    // The block that confirms the newest outcome may not be final yet.
    let is_finalized = summary.is_finalized && !include.proof;
    let caching = match (is_finalized, summary.is_refusal()) {
        (false, _) => REVALIDATE,
        (true, true) => REFUSED,
        (true, false) => FINALIZED,
    };
    response.headers_mut().insert(CACHE_CONTROL, caching);
    // Base58 in quotes is valid in a header.
    if let Ok(tag) = HeaderValue::try_from(tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

/// The transaction of the receipt in the path
pub(super) async fn of_receipt(service: &Arc<Service>, id: &str) -> HttpResponse {
    let receipt: CryptoHash = match id.parse() {
        Ok(receipt) => receipt,
        Err(error) => {
            return rejected(service, StatusCode::BAD_REQUEST, &format!("receipt: {error}"));
        }
    };
    let heights = CompleteHeights::note(service);
    let found = match service.receipt_transaction(receipt).await {
        Ok(found) => found,
        Err(error) => return query_failed(&error),
    };
    let Some(transaction) = found else {
        let text = format!("receipt {receipt} comes from no transaction that is stored");
        return not_found(service, &text, heights).await;
    };
    let body = json!({
        "receipt_id": receipt.to_string(),
        "transaction_hash": transaction.to_string(),
    });
    let mut response = json_value(StatusCode::OK, &body);
    // The id of a receipt is a hash of where it comes from.
    response.headers_mut().insert(CACHE_CONTROL, IMMUTABLE);
    response
}

/// The response about what is in no block here, which may come in a later one
async fn not_found(service: &Arc<Service>, text: &str, heights: CompleteHeights) -> HttpResponse {
    let mut response = rejected(service, StatusCode::NOT_FOUND, text);
    response.headers_mut().insert(CACHE_CONTROL, REVALIDATE);
    heights.add_header(service, response.headers_mut()).await;
    response
}

/// A rejection, which is counted
pub(super) fn rejected(service: &Service, status: StatusCode, text: &str) -> HttpResponse {
    service.metrics.request_rejected(status.as_u16());
    json_value(status, &failed(text))
}
