//! The routes about blocks and what is in the newest ones.

use serde_json::{Value, json};

use super::{BAD_REQUEST, UNAVAILABLE, get, json_response, record, reference, shared};

/// `GET /blocks/<hash>,…`
pub(super) fn blocks() -> Value {
    get(
        "blockHeights",
        "The heights of up to 100 blocks",
        "The height of a block that is not stored is null.",
        &[
            json!({
                "name": "hashes",
                "in": "path",
                "required": true,
                "description": "Hashes of blocks, separated by commas",
                "style": "simple",
                "schema": { "type": "array", "items": reference("CryptoHash"), "maxItems": 100 },
            }),
            json!({
                "name": "include",
                "in": "query",
                "description": "Gives each block as an object with its height and its time",
                "schema": { "const": "timestamp" },
            }),
            shared("minHeight"),
        ],
        &[
            ("200", json_response("Heights by hash", "BlockHeights", false)),
            BAD_REQUEST(),
            UNAVAILABLE(),
        ],
    )
}

/// `GET /tx/recent`
pub(super) fn recent() -> Value {
    get(
        "recentTransactions",
        "The newest transactions in blocks, newest first",
        "",
        &[shared("minHeight")],
        &[
            ("200", json_response("The transactions", "RecentTransactions", false)),
            BAD_REQUEST(),
            UNAVAILABLE(),
        ],
    )
}

pub(super) fn heights() -> Value {
    let block = record(&[("height", reference("Uint64")), ("timestamp_nanosec", time())]);
    let alternatives = [reference("Uint64"), block, json!({ "type": "null" })];
    json!({
        "type": "object",
        "propertyNames": reference("CryptoHash"),
        "additionalProperties": { "anyOf": alternatives },
    })
}

pub(super) fn recent_transactions() -> Value {
    let account = || json!({ "type": ["string", "null"] });
    let transaction = record(&[
        ("tx_hash", reference("CryptoHash")),
        ("signer_id", account()),
        ("receiver_id", account()),
        ("actions", json!({ "type": "array", "items": { "type": "string" }, "maxItems": 8 })),
        ("method_name", account()),
        ("height", reference("Uint64")),
        ("timestamp_nanosec", time()),
    ]);
    json!({ "type": "array", "items": transaction, "maxItems": 24 })
}

/// Nanoseconds since 1970, if the block was checked against its hash
fn time() -> Value {
    json!({ "type": ["string", "null"], "pattern": "^[0-9]+$" })
}
