//! Endpoints for operators: `/health`, `/ready`, `/status` and `/metrics`.

use hyper::StatusCode;
use milepost::endpoint::ChainStatus;
use milepost::storage::BlockPoint;
use prometheus_client::encoding::prometheus_text;
use serde_json::json;
use tokio::task;

use super::respond::HttpContext;
use super::response::{HttpResponse, json_value, query_failed, with_type};
use crate::chain::Phase;
use crate::metrics::{self, gauge, process};

/// `/health`: whether the newest block is as new as it has to be
pub(super) async fn health(context: &HttpContext) -> HttpResponse {
    match context.queries.chain_status().await {
        Ok(chain) => health_of(context, &chain),
        Err(error) => query_failed(&error),
    }
}

fn health_of(context: &HttpContext, chain: &ChainStatus) -> HttpResponse {
    let head = chain.head.map(|head| head.height);
    let Some(feed) = &context.feed_status else {
        return json_value(StatusCode::OK, &json!({ "status": "ok", "head": head }));
    };
    let (status, word) = match feed.is_up_to_date() {
        true => (StatusCode::OK, "ok"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "behind"),
    };
    let age = feed.age().map(|age| age.as_secs());
    json_value(status, &json!({ "status": word, "head": head, "age_seconds": age }))
}

/// `/ready`: as [`health`], and 503 from the first signal on
pub(super) async fn ready(context: &HttpContext) -> HttpResponse {
    let chain = match context.queries.chain_status().await {
        Ok(chain) => chain,
        Err(error) => return query_failed(&error),
    };
    if context.queries.chain.phase() < Phase::Draining {
        return health_of(context, &chain);
    }
    let head = chain.head.map(|head| head.height);
    let body = json!({ "status": "stopping", "head": head });
    json_value(StatusCode::SERVICE_UNAVAILABLE, &body)
}

/// `/metrics`, in the text format of Prometheus
pub(super) async fn metrics(context: &HttpContext) -> HttpResponse {
    let chain = match context.queries.chain_status().await {
        Ok(chain) => chain,
        Err(error) => return query_failed(&error),
    };
    // Empty if it panicked, which is logged.
    let mut all = task::spawn_blocking(process::registry).await.unwrap_or_default();
    let registry = all.sub_registry_with_prefix("milepost");
    context.queries.chain.metrics.register(registry, &chain);
    let (buffered, help) = (context.memory.used(), "Bytes that count towards --max-buffered");
    gauge(registry, "buffered_bytes", help, Some(buffered));
    context.queries.failed.register(registry);
    let (open, transactions) = context.queries.chain.waits.watching.counts();
    let help = "Transactions watched, counted for each watcher";
    gauge(registry, "watches_open", help, Some(open));
    let help = "Transactions that have a watcher";
    gauge(registry, "transactions_watched", help, Some(transactions));
    if let Some(archive) = context.queries.chain.archive() {
        archive.register(registry);
    }
    if let Some(feed) = &context.feed_status {
        feed.register(registry);
    }
    if let Some(upstreams) = &context.upstreams {
        upstreams.register(registry);
    }
    with_type(StatusCode::OK, prometheus_text::CONTENT_TYPE, metrics::text(&all).into())
}

/// `/status`: the chain in the store, and how blocks come in
pub(super) async fn status(context: &HttpContext) -> HttpResponse {
    let state = async {
        Ok((context.queries.chain_status().await?, context.queries.protocol_version().await?))
    };
    let (chain, protocol_version) = match state.await {
        Ok(state) => state,
        Err(error) => return query_failed(&error),
    };
    let point = |point: Option<BlockPoint>| {
        point.map(|point| json!({ "height": point.height, "hash": point.hash.to_string() }))
    };
    let delay = context.feed_status.as_ref().and_then(|feed| feed.commit_delay());
    let mut body = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "chain_id": chain.chain_id,
        "protocol_version": protocol_version,
        "latest_protocol_version": chain.latest_protocol_version,
        "head": point(chain.head),
        "final": point(chain.last_final),
        "earliest": point(chain.earliest),
        "complete_from": chain.complete_from,
        "blocks": chain.blocks,
        "waiting": context.queries.chain.metrics.pending.get(),
        "store_verified": context.queries.chain.store().is_verified(),
        "feed": feed_state(context),
        "block_commit_delay_seconds": delay.map(|delay| delay.as_secs_f64()),
        "config_missing_since":
            point(context.feed_status.as_ref().and_then(|feed| feed.config_missing_since())),
    });
    if let Some(archive) = context.queries.chain.archive() {
        let heights = archive.heights();
        let ranges = heights.archived.iter();
        let ranges: Vec<_> = ranges.map(|range| [*range.start(), *range.end()]).collect();
        body["archive"] = json!({ "complete": ranges });
    }
    json_value(StatusCode::OK, &body)
}

/// Whether blocks come in: `none`, the `practice` chain, or a feed that is `followed` or `behind`
fn feed_state(context: &HttpContext) -> &'static str {
    match (&context.feed_status, &context.demo_index) {
        (Some(feed), _) if feed.is_complete() => "none",
        (Some(feed), _) if feed.is_up_to_date() => "followed",
        (Some(_), _) => "behind",
        (None, Some(_)) => "practice",
        (None, None) => "none",
    }
}
