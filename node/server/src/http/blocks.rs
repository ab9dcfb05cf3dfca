//! `GET /blocks/<hash>,<hash>,…`: the heights of blocks, and their times if they are included.
//!
//! An outcome names its block by hash, so a client that orders outcomes in time needs the heights.
//! The height of an unknown block (never seen, or no longer in the store) is `null`. At most 100
//! hashes per request.

use alloc::sync::Arc;
use core::net::IpAddr;

use hyper::StatusCode;
use milepost::primitives::CryptoHash;
use serde_json::{Value, json};

use super::query_string::QueryString;
use super::response::{HttpResponse, json_value, query_failed, rejected};
use crate::queries::{HeightAndTime, Queries};

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
    let block = |block: Option<HeightAndTime>| match block {
        None => Value::Null,
        Some((height, _)) if !has_times => height.into(),
        Some((height, time)) => {
            let time = time.map(|time| time.to_string());
            json!({ "height": height, "timestamp_nanosec": time })
        }
    };
    match queries.heights(client, hashes).await {
        Ok(blocks) => {
            let blocks = names.into_iter().zip(blocks.into_iter().map(block));
            json_value(StatusCode::OK, &Value::Object(blocks.collect()))
        }
        Err(error) => query_failed(&error),
    }
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
