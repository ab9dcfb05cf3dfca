//! The feed as a lake in an object store: the final blocks, each in an object and its shards in
//! others. A request has to be signed; the signature is not checked.

use serde_json::Value;

use super::answer::{Feed, FeedResponse};

impl Feed {
    /// The response to a GET of an object
    pub(crate) fn object(&self, height: &str, file: &str, token: Option<&str>) -> FeedResponse {
        let error = |status, code: &str| {
            FeedResponse::new(status, &format!("<Error><Code>{code}</Code></Error>"))
        };
        if !token.is_some_and(|token| token.starts_with("AWS4-HMAC-SHA256 Credential=")) {
            return error(403, "AccessDenied");
        }
        self.advance();
        let is_lost =
            self.faults.lost_objects.iter().any(|lost| *lost == format!("{height}/{file}"));
        let message = height.parse().ok().filter(|_| height.len() == 12 && !is_lost);
        let message = message.and_then(|height| self.state().chain.message(true, height));
        let message = message.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        let object = message.and_then(|mut message| match file {
            "block.json" => Some(message["block"].take()),
            _ => {
                let id: u64 = file.strip_prefix("shard_")?.strip_suffix(".json")?.parse().ok()?;
                let mut shards = message["shards"].as_array_mut()?.drain(..);
                shards.find(|shard| shard["shard_id"] == id)
            }
        });
        match object {
            Some(object) => FeedResponse::new(200, &object.to_string())
                .with_header("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT"),
            None => error(404, "NoSuchKey"),
        }
    }
}
