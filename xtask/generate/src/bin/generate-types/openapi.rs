//! The OpenAPI document: the routes of the server.
//!
//! The types of the chain are the components of the OpenRPC document. A test requires every route
//! of `docs/HTTP.md`, and the tests of the server validate its responses. The server sets `servers`
//! when it serves the document.

mod blocks;
mod request_context;

use serde_json::{Map, Value, json};

use crate::json_schema::{self, reference};
use crate::vectors::Example;
use crate::{INTERFACE, openrpc, rpc_errors};

/// The whole document, without `servers`
pub(crate) fn document() -> Result<Value, String> {
    let mut schemas = json_schema::components();
    schemas.extend(rpc_errors::components());
    schemas.extend(openrpc::envelopes());
    schemas.extend(own_schemas());
    // A status has the milestone besides. Validators that refuse members which are not declared let
    // these pass.
    schemas["FinalExecutionOutcomeView"]["unevaluatedProperties"] = true.into();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Milepost: NEAR transaction status and protocol configuration",
            "description": format!(
                "JSON-RPC of interface version {INTERFACE}, described in full by /openrpc.json, and routes for clients that would poll.",
            ),
            "version": INTERFACE,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        // Without authentication, which is left to a proxy.
        "security": [],
        "paths": paths()?,
        "components": {
            "schemas": schemas,
            "headers": headers(),
            "parameters": parameters(),
        },
    });
    request_context::add_to(&mut document);
    Ok(document)
}

fn paths() -> Result<Value, String> {
    let mut paths = json!({
        "/": { "post": rpc("rpc", "JSON-RPC: one request, or a batch", Vec::new())? },
        "/{method}": {
            "post": rpc("rpcOfMethod", "JSON-RPC, with the method in the path as well", vec![
                json!({
                    "name": "method",
                    "in": "path",
                    "required": true,
                    "description": "The method, which the body may leave out",
                    "schema": { "type": "string" },
                }),
            ])?,
        },
        "/tx/{hash}": { "get": get(
            "transactionStatus",
            "The compact status of a transaction",
            "Without the result itself. The status of a finalized transaction may be cached for an hour.",
            &[path_hash("hash", "Hash of the transaction"), shared("sender"), list_of_parts(), end_of_proof(), shared("minHeight")],
            &[
                ("200", json_response("The compact status", "CompactStatus", true)),
                ("304", json!({ "description": "The client has it" })),
                ("501", json_response("What is stored proves nothing", "Failed", false)),
                BAD_REQUEST(), NOT_FOUND(), UNAVAILABLE(),
            ],
        ) },
        "/tx/{hash}/events": { "get": events(
            "transactionEvents",
            "The changes of a transaction, as server-sent events",
            &[
                path_hash("hash", "Hash of the transaction"),
                shared("sender"), shared("waitUntil"), shared("include"), last_event_id(), shared("minHeight"),
            ],
        ) },
        "/events": { "get": events(
            "events",
            "The changes of up to 256 transactions in one stream",
            &[
                json!({
                    "name": "tx",
                    "in": "query",
                    "required": true,
                    "description": "Hash of a transaction; repeated for each",
                    "schema": { "type": "array", "items": reference("CryptoHash"), "minItems": 1, "maxItems": 256 },
                }),
                shared("waitUntil"), shared("include"), last_event_id(), shared("minHeight"),
            ],
        ) },
        "/ws": { "get": get(
            "webSocket",
            "A WebSocket: JSON-RPC, and subscriptions to changes",
            "A text message is a JSON-RPC request or a batch. The methods subscribe_tx_status and unsubscribe are in /openrpc.json; \
             the params of a notification are a TransactionNotification.",
            &[],
            &[
                ("101", json!({ "description": "The connection is a WebSocket now" })),
                ("403", json_response("Pages of this origin may not read responses", "Failed", false)),
                ("426", json_response("No upgrade to a WebSocket of version 13", "Failed", false)),
            ],
        ) },
        "/receipt/{id}": { "get": get(
            "receiptTransaction",
            "A receipt: the transaction that it comes from, and its outcome",
            "The outcome is null until the receipt is executed. Once the transaction is finalized, the response may be cached for an hour.",
            &[path_hash("id", "Id of the receipt"), shared("minHeight")],
            &[
                ("200", json_response("The transaction and the outcome", "ReceiptTransaction", false)),
                BAD_REQUEST(), NOT_FOUND(), UNAVAILABLE(),
            ],
        ) },
        "/tx/recent": { "get": blocks::recent() },
        "/blocks/{hashes}": { "get": blocks::blocks() },
        "/status": { "get": get(
            "status",
            "The chain as the server has it",
            "",
            &[shared("minHeight")],
            &[("200", json_response("The state", "ServerStatus", false)), UNAVAILABLE()],
        ) },
        "/metrics": { "get": get(
            "metrics",
            "Counters, gauges and histograms",
            "",
            &[],
            &[
                ("200", json!({
                    "description": "In the text format of Prometheus",
                    "content": { "text/plain": { "schema": { "type": "string" } } },
                })),
                UNAVAILABLE(),
            ],
        ) },
    });
    for (path, id) in [("/health", "health"), ("/ready", "ready")] {
        let text = "The newest block is too old, the store failed, or (`/ready`) the server stops";
        let unhealthy = json_response(text, "NotReady", false);
        paths[path]["get"] = get(
            id,
            "Whether the server is up to date",
            "",
            &[],
            &[("200", json_response("It is", "Health", false)), ("503", unhealthy)],
        );
    }
    for (path, id, about) in [
        ("/openrpc.json", "openrpc", "The methods, as an OpenRPC document"),
        ("/openapi.json", "openapi", "The routes, as this document"),
    ] {
        let document = json!({
            "description": "The document",
            "headers": { "ETag": { "$ref": "#/components/headers/ETag" } },
            "content": { "application/json": { "schema": { "type": "object" } } },
        });
        let not_modified = json!({ "description": "The client has it" });
        paths[path]["get"] = get(id, about, "", &[], &[("200", document), ("304", not_modified)]);
    }
    Ok(paths)
}

/// An operation that reads
fn get(
    id: &str,
    summary: &str,
    description: &str,
    parameters: &[Value],
    responses: &[(&str, Value)],
) -> Value {
    let responses =
        responses.iter().map(|(status, response)| ((*status).to_owned(), response.clone()));
    let mut operation = json!({
        "operationId": id,
        "summary": summary,
        "responses": responses.collect::<Map<String, Value>>(),
    });
    if !description.is_empty() {
        operation["description"] = description.into();
    }
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    operation
}

fn events(id: &str, summary: &str, parameters: &[Value]) -> Value {
    let stream = json!({
        "description": "`status`, `un-included`, `reached`, `forgotten`, `timeout`, `failed` and `end` events; the data of each is JSON, that of the \
                        first three a TransactionEvent",
        "content": { "text/event-stream": { "schema": { "type": "string" } } },
    });
    let none = json!({ "description": "The client has the last event" });
    let description = "The current state comes first. A comment comes every 15 s.";
    let responses = [("200", stream), ("204", none), BAD_REQUEST(), UNAVAILABLE()];
    get(id, summary, description, parameters, &responses)
}

fn rpc(id: &str, summary: &str, parameters: Vec<Value>) -> Result<Value, String> {
    let one_or_batch = |name: &str| json!({ "anyOf": [reference(name), { "type": "array", "items": reference(name), "minItems": 1 }] });
    let example =
        |name: &str| Example::read(name).map(|it| (it.name, it.about, it.request, it.response));
    let (mut requests, mut responses) = (Map::new(), Map::new());
    for name in ["milestone-included", "config-none", "unknown-at-once"] {
        let (name, about, request, response) = example(name)?;
        requests.insert(name.clone(), json!({ "summary": about, "value": request }));
        responses.insert(name, json!({ "summary": about, "value": response }));
    }
    let response = |description: &str, examples: Map<String, Value>| {
        json!({
            "description": description,
            "headers": {
                "x-milepost-complete-heights": { "$ref": "#/components/headers/CompleteHeights" },
                "x-milepost-head": { "$ref": "#/components/headers/Head" },
                "x-milepost-transaction": { "$ref": "#/components/headers/Transaction" },
                "Preference-Applied": { "$ref": "#/components/headers/PreferenceApplied" },
            },
            "content": { "application/json": { "schema": one_or_batch("RpcResponse"), "examples": examples } },
        })
    };
    let error = |description: &str| {
        json!({
            "description": description,
            "content": { "application/json": { "schema": reference("RpcResponse") } },
        })
    };
    let mut by_status =
        json!({ "200": response("A result, a batch, or an error of the method", responses) });
    for (status, description) in rpc_errors::by_http_status() {
        by_status[status.to_string()] = error(&description);
    }
    for (status, description) in [
        ("413", "The body is larger than `--body-limit`"),
        ("415", "The body is not declared as JSON"),
    ] {
        by_status[status] = error(description);
    }
    let mut all = vec![shared("prefer"), shared("minHeight")];
    all.extend(parameters);
    Ok(json!({
        "operationId": id,
        "summary": summary,
        "parameters": all,
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": one_or_batch("RpcRequest"), "examples": requests } },
        },
        "responses": by_status,
    }))
}

type StatusAndResponse = (&'static str, Value);

const BAD_REQUEST: fn() -> StatusAndResponse =
    || ("400", json_response("The path, the query or a header cannot be read", "Failed", false));
const NOT_FOUND: fn() -> StatusAndResponse = || {
    let mut response = json_response("It is in no block that is stored", "Failed", false);
    response["headers"]["x-milepost-complete-heights"] =
        json!({ "$ref": "#/components/headers/CompleteHeights" });
    ("404", response)
};
const UNAVAILABLE: fn() -> StatusAndResponse = || {
    let text = "A limit, a head that is too low, or a store or an archive that cannot be read";
    let mut response = json_response(text, "Failed", false);
    response["headers"]["Retry-After"] = json!({ "$ref": "#/components/headers/RetryAfter" });
    ("503", response)
};

fn json_response(description: &str, component: &str, has_tag: bool) -> Value {
    let mut headers = json!({ "x-milepost-head": { "$ref": "#/components/headers/Head" } });
    if has_tag {
        headers["ETag"] = json!({ "$ref": "#/components/headers/ETag" });
    }
    json!({
        "description": description,
        "headers": headers,
        "content": { "application/json": { "schema": reference(component) } },
    })
}

fn path_hash(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": description,
        "schema": reference("CryptoHash"),
    })
}

fn list_of_parts() -> Value {
    json!({
        "name": "include",
        "in": "query",
        "description": "Parts beyond the compact status, separated by commas",
        "style": "form",
        "explode": false,
        "schema": {
            "type": "array",
            "items": { "enum": ["receipts", "outcomes", "logs", "gas", "status", "proof"] },
        },
    })
}

fn end_of_proof() -> Value {
    json!({
        "name": "block",
        "in": "query",
        "description": "The block in which the headers of the proof end: a hash, or `final` for the newest final one; without it, \
                        the one that confirms the newest outcome",
        "schema": { "anyOf": [reference("CryptoHash"), { "const": "final" }] },
    })
}

fn last_event_id() -> Value {
    json!({
        "name": "Last-Event-ID",
        "in": "header",
        "description": "The id of the last event that the client has, which is not sent again",
        "schema": { "type": "string" },
    })
}

fn shared(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

fn parameters() -> Value {
    json!({
        "minHeight": {
            "name": "x-milepost-min-height",
            "in": "header",
            "description": "The head has to be this high: the request waits for it up to 2 s, then it is answered by 503",
            "schema": reference("Uint64"),
        },
        "prefer": {
            "name": "Prefer",
            "in": "header",
            "description": "How long the request waits for its milestone, at most `--max-wait` (RFC 7240)",
            "schema": { "type": "string" },
            "example": "wait=30",
        },
        "sender": {
            "name": "sender_account_id",
            "in": "query",
            "description": "The account that signed it, which is not needed",
            "schema": reference("AccountId"),
        },
        "waitUntil": {
            "name": "wait_until",
            "in": "query",
            "description": "The milestone of the last event; FINAL by default",
            "schema": reference("TxExecutionStatus"),
        },
        "include": {
            "name": "include",
            "in": "query",
            "description": "`status`: the last event has the whole result",
            "schema": { "enum": ["status"] },
        },
    })
}

fn headers() -> Value {
    json!({
        "Head": {
            "description": "The height of the newest block",
            "schema": reference("Uint64"),
        },
        "ETag": {
            "description": "The entity tag, for If-None-Match",
            "schema": { "type": "string" },
        },
        "CompleteHeights": {
            "description": "Heights of the blocks in which a transaction was looked for that is unknown, at most the 8 newest ranges",
            "schema": { "pattern": "^[0-9]+-[0-9]+(, [0-9]+-[0-9]+)*$", "type": "string" },
        },
        "RetryAfter": {
            "description": "Seconds after which a retry may succeed, where that is known",
            "schema": { "type": "integer" },
        },
        "Transaction": {
            "description": "The transactions of a request that ended without its result",
            "schema": { "type": "string" },
        },
        "PreferenceApplied": {
            "description": "The wait that applied, in whole seconds",
            "schema": { "type": "string" },
            "example": "wait=30",
        },
    })
}

/// The types of the routes that are not JSON-RPC
fn own_schemas() -> Map<String, Value> {
    let height = || json!({ "anyOf": [reference("Uint64"), { "type": "null" }] });
    let text = || json!({ "type": "string" });
    let block = json!({
        "type": "object",
        "required": ["height", "hash"],
        "properties": {
            "height": reference("Uint64"),
            "hash": { "anyOf": [reference("CryptoHash"), { "type": "null" }] },
        },
    });
    let point = json!({ "anyOf": [block, { "type": "null" }] });
    let kind = json!({ "enum": ["NotStarted", "Started", "Failure", "SuccessValue"] });
    let logs = json!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["id", "logs"],
            "properties": { "id": reference("CryptoHash"), "logs": { "type": "array", "items": text() } },
        },
    });
    let compact = json!({
        "description": "The compact status of a transaction; one in no block has only its hash and NONE",
        "type": "object",
        "required": ["transaction_hash", "final_execution_status"],
        "properties": {
            "transaction_hash": reference("CryptoHash"),
            "final_execution_status": reference("TxExecutionStatus"),
            "status": { "anyOf": [kind, reference("FinalExecutionStatus")] },
            "block": block,
            "receipts_known": { "type": "integer", "minimum": 0 },
            "receipts_executed": { "type": "integer", "minimum": 0 },
            "receipts_failed": { "type": "integer", "minimum": 0 },
            "finalized": { "type": "boolean" },
            "outcomes": { "type": "array", "items": reference("ExecutionOutcomeWithIdView") },
            "receipts": { "type": "array", "items": reference("ReceiptView") },
            "logs": logs,
            "gas_burnt": { "type": "integer", "minimum": 0 },
            "tokens_burnt": reference("NearToken"),
            "proof": { "anyOf": [reference("AnswerProof"), { "type": "null" }] },
        },
        "additionalProperties": false,
    });
    let mut event = compact.clone();
    event["description"] = "The data of an event: the compact status, and in the last one the result if it was asked for".into();
    event["properties"]["result"] = reference("RpcTransactionResponse");
    let status = json!({
        "type": "object",
        "required": ["version", "chain_id", "protocol_version", "latest_protocol_version", "head", "final", "earliest", "complete_from", "blocks", "waiting", "store_verified", "feed", "block_commit_delay_seconds", "config_missing_since"],
        "properties": {
            "version": text(),
            "chain_id": { "type": ["string", "null"] },
            "protocol_version": { "description": "The version in force at the head; null without a configuration", "type": ["integer", "null"] },
            "latest_protocol_version": { "description": "The newest version that the producer of the head supports", "type": ["integer", "null"] },
            "head": point,
            "final": point,
            "earliest": point,
            "complete_from": height(),
            "blocks": { "type": "integer", "minimum": 0 },
            "waiting": { "type": "integer", "minimum": 0 },
            "store_verified": {
                "type": "boolean", "description": "Whether all rows that were in the store at the start are found; false while a large file is verified in the background",
            },
            "config_missing_since": {
                "description": "The first block of the first epoch whose configuration no upstream has; what was in force before it stays",
                "anyOf": point["anyOf"],
            },
            "feed": { "description": "Whether blocks come in, and from where", "enum": ["followed", "behind", "practice", "none"] },
            "block_commit_delay_seconds": {
                "type": ["number", "null"], "minimum": 0,
                "description": "From the timestamp of a block to its commit here, of the newest block that was committed at the head of the feed, by the clock of the server; null before the first and without a feed",
            },
            "archive": {
                "description": "What the archive has, if the server has one: the first and the last height of each range without a gap",
                "type": "object",
                "required": ["complete"],
                "properties": {
                    "complete": {
                        "type": "array",
                        "items": { "type": "array", "items": height(), "minItems": 2, "maxItems": 2 },
                    },
                },
                "additionalProperties": false,
            },
        },
        "additionalProperties": false,
    });
    let health = |statuses: &[&str]| {
        json!({
            "type": "object",
            "required": ["status", "head"],
            "properties": {
                "status": { "enum": statuses },
                "head": height(),
                "age_seconds": { "type": ["integer", "null"], "minimum": 0 },
            },
            "additionalProperties": false,
        })
    };
    let failed = json!({
        "type": "object",
        "required": ["status", "error"],
        "properties": { "status": { "const": "failed" }, "error": text() },
        "additionalProperties": false,
    });
    let receipt = json!({
        "type": "object",
        "required": ["receipt_id", "transaction_hash", "outcome"],
        "properties": {
            "receipt_id": reference("CryptoHash"),
            "transaction_hash": reference("CryptoHash"),
            "outcome": { "anyOf": [reference("ExecutionOutcomeWithIdView"), { "type": "null" }] },
        },
        "additionalProperties": false,
    });
    let notification = json!({
        "description": "The params of a notification over a WebSocket",
        "type": "object",
        "required": ["subscription", "result"],
        "properties": {
            "subscription": reference("Uint64"),
            "result": {
                "type": "object",
                "required": ["event", "id", "status"],
                "properties": {
                    "event": { "enum": ["status", "un-included", "reached", "forgotten", "timeout", "failed", "end"] },
                    "id": { "type": ["string", "null"] },
                    "status": { "type": "object" },
                },
            },
        },
    });
    [
        ("AnswerProof", answer_proof()),
        ("CompactStatus", compact),
        ("TransactionEvent", event),
        ("TransactionNotification", notification),
        ("ServerStatus", status),
        ("Health", health(&["ok"])),
        ("NotReady", json!({ "anyOf": [health(&["behind", "stopping"]), reference("Failed")] })),
        ("Failed", failed),
        ("ReceiptTransaction", receipt),
        ("BlockHeights", blocks::heights()),
        ("RecentTransactions", blocks::recent_transactions()),
    ]
    .into_iter()
    .map(|(name, schema)| (name.to_owned(), schema))
    .collect()
}

/// An object that has all of these members
fn record(members: &[(&str, Value)]) -> Value {
    let names: Vec<_> = members.iter().map(|(name, _)| name).collect();
    let properties: Map<_, _> =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "required": names, "properties": properties })
}

fn answer_proof() -> Value {
    let hash = || reference("CryptoHash");
    let list = |items: Value| json!({ "type": "array", "items": items });
    let outcome = record(&[
        ("id", hash()),
        ("block_hash", hash()),
        ("outcome_root_proof", list(reference("MerklePathItem"))),
    ]);
    let inner_lite = record(&[
        ("height", reference("Uint64")),
        ("epoch_id", hash()),
        ("next_epoch_id", hash()),
        ("prev_state_root", hash()),
        ("outcome_root", hash()),
        ("timestamp_nanosec", json!({ "type": "string" })),
        ("next_bp_hash", hash()),
        ("block_merkle_root", hash()),
    ]);
    let header = record(&[
        ("prev_block_hash", hash()),
        ("inner_rest_hash", hash()),
        ("inner_lite", inner_lite),
    ]);
    let mut proof = record(&[
        ("transaction_hash", hash()),
        ("block_hash", hash()),
        ("outcomes", list(outcome)),
        ("headers", list(header)),
    ]);
    proof["description"] =
        "What proves the outcomes of a transaction, up to a block that the client trusts".into();
    proof["properties"]["headers"]["maxItems"] = 1_000.into();
    proof
}

#[test]
fn every_route_of_the_page_is_in_the_document() {
    let page = include_str!("../../../../../docs/HTTP.md");
    let document = document().expect("the vectors can be read");
    let mut routes = 0;
    for line in page.lines().take_while(|line| !line.starts_with("## ")) {
        let Some(cell) = line.strip_prefix("| `") else { continue };
        let cell = cell.split(" |").next().expect("a cell");
        let (verb, paths) = cell.split_once(' ').expect("a verb and a path");
        for path in paths.split(", ") {
            let path =
                path.trim_matches('`').trim_start_matches("POST ").trim_start_matches("GET ");
            let path = path.split('?').next().expect("a path");
            let path =
                path.replace("<hash>,<hash>", "<hashes>").replace('<', "{").replace('>', "}");
            // Not for programs that call this document's routes.
            let is_other = ["/v0/…", "/"].contains(&&*path) || path.starts_with("/practice/");
            if is_other && verb == "GET" {
                continue;
            }
            let operation = &document["paths"][&path][verb.to_lowercase()];
            assert!(operation.is_object(), "{verb} {path} is not in the document");
            routes += 1;
        }
    }
    assert_eq!(routes, document["paths"].as_object().expect("paths").len());
}
