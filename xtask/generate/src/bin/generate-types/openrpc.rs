//! The OpenRPC document: the methods of the server, their params, results and errors.
//!
//! Types are components from the tables of `milepost-protocol`; examples are shared vectors, whose
//! responses a test validates against the components. The server sets `servers` when it serves the
//! document, because the URL depends on its base path.

use serde_json::{Map, Value, json};

use crate::json_schema::{self, reference};
use crate::vectors::Example;
use crate::{INTERFACE, rpc_errors};

/// A method of the server
struct Method {
    name: &'static str,
    summary: &'static str,
    description: &'static str,
    params: fn() -> Vec<Value>,
    result: (&'static str, fn() -> Value),
    /// Causes of its errors besides those of all requests
    causes: &'static [&'static str],
    /// The vectors that are its examples
    examples: &'static [&'static str],
}

const STATUS_CAUSES: &[&str] = &[
    "INVALID_TRANSACTION",
    "DOES_NOT_TRACK_SHARD",
    "REQUEST_ROUTED",
    "UNKNOWN_TRANSACTION",
    "TIMEOUT_ERROR",
];

const METHODS: [Method; 7] = [
    Method {
        name: "EXPERIMENTAL_tx_status",
        summary: "The status of a transaction, with its receipts",
        description: "Looks a transaction up by its hash, or by the signed transaction itself, and waits until it has \
                      reached `wait_until`. Params may also be an array: [signed_tx_base64], or [tx_hash, sender_account_id].",
        params: status_params,
        result: ("RpcTransactionResponse", || reference("RpcTransactionResponse")),
        causes: STATUS_CAUSES,
        examples: &["milestone-final", "lookup-signed"],
    },
    Method {
        name: "tx_status",
        summary: "The same as EXPERIMENTAL_tx_status",
        description: "The name of the method since node 2.14.",
        params: status_params,
        result: ("RpcTransactionResponse", || reference("RpcTransactionResponse")),
        causes: STATUS_CAUSES,
        examples: &["lookup-tx-status"],
    },
    Method {
        name: "tx",
        summary: "The status of a transaction, without its receipts",
        description: "As EXPERIMENTAL_tx_status, and the result has no `receipts`.",
        params: status_params,
        result: ("RpcTransactionResponse", || reference("RpcTransactionResponse")),
        causes: STATUS_CAUSES,
        examples: &["lookup-tx"],
    },
    Method {
        name: "EXPERIMENTAL_protocol_config",
        summary: "The protocol configuration in force at a block",
        description: "The block is given by exactly one of the params.",
        params: config_params,
        result: ("RpcProtocolConfigResponse", || reference("RpcProtocolConfigResponse")),
        causes: &["UNKNOWN_BLOCK"],
        examples: &["config-final"],
    },
    Method {
        name: "subscribe_tx_status",
        summary: "Subscribes to the changes of transactions, over a WebSocket only",
        description: "The response comes before the first notification, whose method is `tx_status` and whose params are \
                      those of a TransactionEvent.",
        params: subscription_params,
        result: ("subscription", || reference("Uint64")),
        causes: &[],
        examples: &[],
    },
    Method {
        name: "unsubscribe",
        summary: "Ends a subscription, over a WebSocket only",
        description: "The params may also be an array with the number.",
        params: || {
            vec![param("subscription", "The number of the subscription", true, reference("Uint64"))]
        },
        result: ("found", || json!({ "type": "boolean", "description": "Whether there was one" })),
        causes: &[],
        examples: &[],
    },
    Method {
        name: "rpc.discover",
        summary: "This document",
        description: "Also at /openrpc.json.",
        params: Vec::new,
        result: (
            "OpenRPC Schema",
            || json!({ "type": "object", "required": ["openrpc", "info", "methods"] }),
        ),
        causes: &[],
        examples: &[],
    },
];

/// The names of the methods that a request can have, in the order of the document
pub(crate) fn method_names() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name)
}

/// The whole document, without `servers`
pub(crate) fn document() -> Result<Value, String> {
    let mut schemas = json_schema::components();
    schemas.extend(rpc_errors::components());
    let methods: Result<Vec<Value>, String> = METHODS.iter().map(Method::object).collect();
    Ok(json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "Milepost: NEAR transaction status and protocol configuration",
            "description": format!(
                "JSON-RPC 2.0 over HTTP POST, and over a WebSocket at /ws. Interface version {INTERFACE}. Unknown members and \
                 variants of newer protocol versions pass through.",
            ),
            "version": INTERFACE,
        },
        "methods": methods?,
        "components": { "schemas": schemas },
    }))
}

impl Method {
    fn object(&self) -> Result<Value, String> {
        let (name, schema) = &self.result;
        let mut method = json!({
            "name": self.name,
            "summary": self.summary,
            "description": self.description,
            "params": (self.params)(),
            "paramStructure": "by-name",
            "result": { "name": name, "schema": schema() },
            "errors": rpc_errors::of_method(self.causes),
        });
        let examples: Result<Vec<Value>, String> =
            self.examples.iter().map(|vector| example(vector)).collect();
        if !self.examples.is_empty() {
            method["examples"] = examples?.into();
        }
        Ok(method)
    }
}

/// A vector with a result as an example
fn example(vector: &str) -> Result<Value, String> {
    let Example { name, about, request, response } = Example::read(vector)?;
    let params = request["params"].as_object().cloned().unwrap_or_default();
    let params = params.into_iter().map(|(name, value)| json!({ "name": name, "value": value }));
    Ok(json!({
        "name": name,
        "summary": about,
        "params": params.collect::<Vec<Value>>(),
        "result": { "name": "result", "value": response["result"] },
    }))
}

fn param(name: &str, description: &str, is_required: bool, schema: Value) -> Value {
    json!({
        "name": name,
        "description": description,
        "required": is_required,
        "schema": schema,
    })
}

fn status_params() -> Vec<Value> {
    let text = "Hash of the transaction, with sender_account_id";
    vec![
        param(
            "signed_tx_base64",
            "The signed transaction, in place of its hash",
            false,
            reference("Base64"),
        ),
        param("tx_hash", text, false, reference("CryptoHash")),
        param("sender_account_id", "The account that signed it", false, reference("AccountId")),
        wait_until("EXECUTED_OPTIMISTIC"),
    ]
}

fn wait_until(default: &str) -> Value {
    let text = format!("The milestone to wait for; {default} by default");
    param("wait_until", &text, false, reference("TxExecutionStatus"))
}

fn config_params() -> Vec<Value> {
    let block_id = json!({ "anyOf": [reference("Uint64"), reference("CryptoHash")] });
    let finality = json!({ "enum": ["optimistic", "near-final", "final"] });
    let checkpoint = json!({ "enum": ["genesis", "earliest_available"] });
    vec![
        param("block_id", "Height or hash of the block", false, block_id),
        param("finality", "The newest block of this finality", false, finality),
        param("sync_checkpoint", "A checkpoint of the chain", false, checkpoint),
    ]
}

fn subscription_params() -> Vec<Value> {
    let hashes = json!({
        "type": "array", "items": reference("CryptoHash"), "minItems": 1, "maxItems": 256,
    });
    let include = json!({ "enum": ["status"] });
    vec![
        param("tx_hashes", "The transactions", true, hashes),
        wait_until("FINAL"),
        param("include", "`status`: the last event has the whole result", false, include),
    ]
}

/// The schemas of a JSON-RPC request and of a response to one, for a document of routes
pub(crate) fn envelopes() -> Map<String, Value> {
    let names: Vec<&str> = method_names().collect();
    let id = json!({ "description": "Any value; the response repeats it" });
    let request = json!({
        "type": "object",
        "required": ["method"],
        "properties": {
            "jsonrpc": { "const": "2.0" },
            "id": id,
            "method": { "enum": names },
            "params": { "anyOf": [{ "type": "object" }, { "type": "array" }] },
        },
        "additionalProperties": false,
    });
    let result = json!({
        "anyOf": [
            reference("RpcTransactionResponse"),
            reference("RpcProtocolConfigResponse"),
            { "type": "object", "required": ["openrpc"] },
        ],
    });
    let response = |member: &str, schema: Value| {
        json!({
            "type": "object",
            "required": ["jsonrpc", member, "id"],
            "properties": { "jsonrpc": { "const": "2.0" }, member: schema, "id": {} },
            "additionalProperties": false,
        })
    };
    let one_of = [response("result", result), response("error", reference("RpcError"))];
    [("RpcRequest", request), ("RpcResponse", json!({ "oneOf": one_of }))]
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}
