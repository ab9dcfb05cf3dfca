//! `GET /blocks/<hash>,<hash>,…`: at which heights blocks stand.
//!
//! An outcome names its block by hash, so whoever draws outcomes in time asks for the heights here.
//! A block that is not known (never seen, or no longer kept) is `null`. At most 100 hashes at a time;
//! nothing else about a block is told.

use alloc::sync::Arc;

use hyper::StatusCode;
use milepost::primitives::CryptoHash;
use serde_json::{Map, Value, json};

use crate::node::Node;

/// The most hashes of a question: each is a read of the store
const MOST: usize = 100;

/// The heights of the blocks with these hashes, which have commas between them
pub(super) async fn heights(node: &Arc<Node>, names: &str) -> (StatusCode, Value) {
    let hashes = match parse(names) {
        Ok(hashes) => hashes,
        Err(text) => return failed(StatusCode::BAD_REQUEST, text),
    };
    let names = hashes.iter().map(ToString::to_string).collect::<Vec<_>>();
    match node.heights(hashes).await {
        Ok(heights) => {
            let members = names.into_iter().zip(heights.into_iter().map(Value::from));
            (StatusCode::OK, Value::Object(Map::from_iter(members)))
        }
        Err(error) => failed(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    }
}

fn failed(status: StatusCode, text: String) -> (StatusCode, Value) {
    (status, json!({ "status": "failed", "error": text }))
}

fn parse(names: &str) -> Result<Vec<CryptoHash>, String> {
    let count = names.split(',').count();
    if count > MOST {
        return Err(format!("blocks: {count} hashes, the limit is {MOST}"));
    }
    let hash = |(place, name): (usize, &str)| {
        name.parse().map_err(|error| format!("blocks: hash {place}: {error}"))
    };
    names.split(',').enumerate().map(hash).collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST, parse};

    #[test]
    fn hashes_are_read_up_to_the_limit() {
        let hash = "11111111111111111111111111111111";
        assert_eq!(parse(hash).map(|hashes| hashes.len()), Ok(1));
        assert_eq!(parse(&vec![hash; MOST].join(",")).map(|hashes| hashes.len()), Ok(MOST));
        assert!(parse(&vec![hash; MOST + 1].join(",")).unwrap_err().contains("the limit is 100"));
        assert!(parse("").unwrap_err().starts_with("blocks: hash 0: "));
        assert!(parse(&format!("{hash},x")).unwrap_err().starts_with("blocks: hash 1: "));
    }
}
