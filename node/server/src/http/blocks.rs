//! `GET /blocks/<hash>,<hash>,…`: the heights of blocks, and their times if they are included.
//!
//! An outcome names its block by hash, so a client that orders outcomes in time needs the heights.
//! The height of an unknown block (never seen, or no longer in the store) is `null`. At most 100
//! hashes per request.

use alloc::sync::Arc;
use core::net::IpAddr;

use hyper::StatusCode;
use milepost::primitives::{BlockHeight, CryptoHash};
use serde_json::{Map, Value, json};

use super::query_string::QueryString;
use super::response::{HttpResponse, json_value, query_failed, rejected};
use crate::errors::QueryError;
use crate::queries::Queries;

/// Maximum number of hashes per request: each is a read of the store
pub(super) const MAX_HASHES: usize = 100;

/// The heights of the blocks with these comma-separated hashes; each with the time of the block if
/// the query includes that
pub(super) async fn heights(
    queries: &Arc<Queries>,
    client: IpAddr,
    list: &str,
    query: &QueryString,
) -> HttpResponse {
    let hashes = match parse(list) {
        Ok(hashes) => hashes,
        Err(text) => return rejected(queries, StatusCode::BAD_REQUEST, &text),
    };
    let has_times = match query.get("include") {
        None | Some("") => false,
        Some("timestamp") => true,
        Some(name) => {
            let text = format!("include: `{name}` is not timestamp");
            return rejected(queries, StatusCode::BAD_REQUEST, &text);
        }
    };
    let names = hashes.iter().map(ToString::to_string).collect::<Vec<_>>();
    match read(queries, client, hashes, has_times).await {
        Ok(blocks) => {
            let blocks = Value::Object(Map::from_iter(names.into_iter().zip(blocks)));
            json_value(StatusCode::OK, &blocks)
        }
        Err(error) => query_failed(&error),
    }
}

async fn read(
    queries: &Arc<Queries>,
    client: IpAddr,
    hashes: Vec<CryptoHash>,
    has_times: bool,
) -> Result<Vec<Value>, QueryError> {
    if !has_times {
        return Ok(queries.heights(client, hashes).await?.into_iter().map(Value::from).collect());
    }
    let times = queries.block_times(hashes.clone()).await?;
    let heights = queries.heights(client, hashes).await?;
    let block = |(height, time): (Option<BlockHeight>, Option<u64>)| match height {
        Some(height) => {
            let time = time.map(|time| time.to_string());
            json!({ "height": height, "timestamp_nanosec": time })
        }
        None => Value::Null,
    };
    Ok(heights.into_iter().zip(times).map(block).collect())
}

fn parse(list: &str) -> Result<Vec<CryptoHash>, String> {
    let count = list.split(',').count();
    if count > MAX_HASHES {
        return Err(format!("blocks: {count} hashes, the limit is {MAX_HASHES}"));
    }
    let hash = |(index, text): (usize, &str)| {
        text.parse().map_err(|error| format!("blocks: hash {index}: {error}"))
    };
    list.split(',').enumerate().map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::{MAX_HASHES, parse};

    #[test]
    fn hashes_are_parsed_up_to_the_limit() {
        let hash = "11111111111111111111111111111111";
        let list = |count: usize| vec![hash; count].join(",");
        assert_eq!(parse(hash).map(|hashes| hashes.len()), Ok(1));
        assert_eq!(parse(&list(MAX_HASHES)).map(|hashes| hashes.len()), Ok(MAX_HASHES));
        assert!(parse(&list(MAX_HASHES + 1)).unwrap_err().contains("the limit is 100"));
        assert!(parse("").unwrap_err().starts_with("blocks: hash 0: "));
        assert!(parse(&format!("{hash},x")).unwrap_err().starts_with("blocks: hash 1: "));
    }
}
