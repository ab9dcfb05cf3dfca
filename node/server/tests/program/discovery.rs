//! The discovery documents, and that the server has every route they name.
//!
//! That the documents are valid, and that the responses to JSON-RPC requests are valid by them, is
//! tested in `bindings/js`. The responses of the other routes are compared here: their status, and
//! the names of their members.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::fixture;
use crate::support::{Response, Server, request};

const UNKNOWN: &str = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";

#[test]
fn documents_are_served_compressed_and_cached() {
    let server = Server::with_blocks(&["--base-path", "/near"]);
    for (path, version, servers) in [
        ("/near/openrpc.json", "openrpc", Value::Null),
        ("/near/openapi.json", "openapi", json!([{ "url": "/near" }])),
    ] {
        let plain = server.get(path);
        assert_eq!((plain.status, plain.header("content-type")), (200, Some("application/json")));
        assert_eq!(plain.header("access-control-allow-origin"), Some("*"));
        let document = plain.json();
        assert!(document[version].is_string());
        assert_eq!(document["info"]["version"], "1.2.11");
        assert_eq!(document["servers"], servers);

        let gzip = server.get_with(path, "accept-encoding: gzip");
        assert_eq!(gzip.header("content-encoding"), Some("gzip"));
        assert!(gzip.body.len() < 32 << 10, "{path} has {} bytes", gzip.body.len());
        let mut text = Vec::new();
        GzDecoder::new(&*gzip.body).read_to_end(&mut text).expect("it is whole");
        assert_eq!(text, plain.body);

        let tag = plain.header("etag").expect("a tag");
        assert_eq!(gzip.header("etag"), Some(tag));
        let again = server.get_with(path, &format!("if-none-match: {tag}"));
        assert_eq!((again.status, again.header("etag")), (304, Some(tag)));
        let mut client = server.connect();
        client.send(&format!("HEAD {path} HTTP/1.1\r\nhost: x\r\n\r\n"));
        let head = client.response_to("HEAD");
        assert_eq!(head.header("content-length"), Some(plain.body.len().to_string().as_str()));
        let post = server.post(path, "{}");
        assert_eq!((post.status, post.header("allow")), (405, Some("GET,HEAD")));
    }
}

#[test]
fn discover_returns_the_document_of_the_route() {
    let server = Server::with_blocks(&[]);
    let document = server.get("/openrpc.json").json();
    for path in ["/", "/rpc.discover"] {
        let response = server.post(path, &request("rpc.discover", &json!({})));
        assert_eq!(response.status, 200);
        let body = response.json();
        assert_eq!(
            (&body["result"], &body["id"], &body["jsonrpc"]),
            (&document, &json!("t"), &json!("2.0"))
        );
    }
}

#[test]
fn discover_in_a_batch_is_answered_as_alone() {
    let server = Server::with_blocks(&[]);
    let discover = |id: u64| {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "rpc.discover" }).to_string();
        (server.post("/", &call).text(), call)
    };
    let other = request("rpc.discovery", &json!({}));
    let ((first, first_call), (last, last_call)) = (discover(1), discover(2));
    let rejected = server.post("/", &other).text();
    let batch = server.post("/", &format!(" [{first_call},{other},{last_call}]"));
    assert_eq!((batch.status, batch.text()), (200, format!("[{first},{rejected},{last}]")));
    // A batch as a whole is rejected as before.
    let many = format!("[{}]", vec![first_call; 1_000].join(","));
    assert!(server.post("/", &many).text().starts_with("{\"jsonrpc\":\"2.0\",\"error\""));
}

#[test]
fn every_method_of_the_document_is_known() {
    let server = Server::with_blocks(&[]);
    let document = server.get("/openrpc.json").json();
    let methods = document["methods"].as_array().expect("methods");
    let mut unknown = Vec::new();
    for method in methods {
        let name = method["name"].as_str().expect("a name");
        if server.post("/", &request(name, &json!({}))).cause() == "METHOD_NOT_FOUND" {
            unknown.push(name);
        }
    }
    assert_eq!(unknown, ["subscribe_tx_status", "unsubscribe"], "these are for WebSockets");
    let names: Vec<&str> = methods.iter().filter_map(|method| method["name"].as_str()).collect();
    for name in milepost::rpc::method_names() {
        assert!(names.contains(&name), "{name} is not in the document");
    }
}

#[test]
fn every_route_of_the_document_is_served_as_it_says() {
    let server = Server::with_blocks(&[]);
    let document = server.get("/openapi.json").json();
    assert_eq!(document["servers"][0]["url"], "/");
    let transaction = fixture::transactions().next().expect("a transaction");
    let hash = transaction.hash.to_string();
    let status =
        server.get(&format!("/tx/{hash}?include=status,outcomes,receipts,logs,gas")).json();
    let receipt = status["outcomes"][0]["outcome"]["receipt_ids"][0].as_str().expect("a receipt");
    let block = status["block"]["hash"].as_str().expect("a block");
    let paths = document["paths"].as_object().expect("paths");
    for (path, operations) in paths {
        if operations.get("post").is_some() {
            let real = path.replace("{method}", "tx");
            let body =
                json!({ "tx_hash": UNKNOWN, "sender_account_id": "a.near", "wait_until": "NONE" });
            let response = server.post(&real, &request("tx", &body));
            check(&document, &operations["post"], "post", path, &response);
            continue;
        }
        // Streams of events end only with their request, so theirs is one that is rejected.
        let requests = match path.as_str() {
            "/events" => vec!["/events".to_owned(), "/events?tx=x".to_owned()],
            "/tx/{hash}/events" => vec!["/tx/x/events".to_owned()],
            "/tx/{hash}" => vec![
                format!("/tx/{hash}"),
                format!("/tx/{hash}?include=status,outcomes,receipts,logs,gas"),
                format!("/tx/{UNKNOWN}"),
                "/tx/x".to_owned(),
            ],
            "/receipt/{id}" => {
                vec![
                    format!("/receipt/{receipt}"),
                    format!("/receipt/{UNKNOWN}"),
                    "/receipt/x".into(),
                ]
            }
            "/blocks/{hashes}" => vec![
                format!("/blocks/{block},{UNKNOWN}"),
                format!("/blocks/{block}?include=timestamp"),
                "/blocks/x".into(),
            ],
            path => vec![path.to_owned()],
        };
        for request in requests {
            check(&document, &operations["get"], "get", path, &server.get(&request));
        }
    }
}

/// Compares a response with what the document says of it
fn check(document: &Value, operation: &Value, verb: &str, path: &str, response: &Response) {
    let declared = &operation["responses"][response.status.to_string()];
    assert!(declared.is_object(), "{verb} {path}: status {} is not declared", response.status);
    for name in ["x-request-id", "traceparent"] {
        let component = declared["headers"][name]["$ref"].as_str().expect("a declared header");
        let component = document.pointer(component.trim_start_matches('#'));
        assert!(component.is_some_and(Value::is_object), "{verb} {path}: {name}");
    }
    for (name, _) in declared["headers"].as_object().into_iter().flatten() {
        // These depend on the request.
        let of_some = ["x-milepost-transaction", "x-milepost-complete-heights"];
        let is_optional = of_some.contains(&name.as_str())
            || ["Preference-Applied", "traceparent"].contains(&name.as_str());
        let header = response.header(&name.to_lowercase());
        assert!(is_optional || header.is_some(), "{verb} {path}: no header {name}");
    }
    let Some(content) = declared["content"].as_object() else { return };
    let media_type = response.header("content-type").expect("a type").split(';').next();
    let schema = &content[media_type.expect("a type")]["schema"];
    if media_type == Some("application/json") {
        assert!(has_members(document, schema, &response.json()), "{path}: {}", response.text());
    }
}

/// Whether the members of a value are those of its schema, by their names
fn has_members(document: &Value, schema: &Value, value: &Value) -> bool {
    if let Some(reference) = schema["$ref"].as_str() {
        let component = document.pointer(reference.trim_start_matches('#'));
        return has_members(document, component.expect("the component exists"), value);
    }
    let alternatives = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    if let Some(alternatives) = alternatives.and_then(Value::as_array) {
        return alternatives.iter().any(|schema| has_members(document, schema, value));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    let is_open = schema["additionalProperties"] != false;
    let Some(members) = value.as_object() else { return schema["type"] != "object" };
    required.filter_map(Value::as_str).all(|name| members.contains_key(name))
        && members.keys().all(|name| is_open || schema["properties"].get(name).is_some())
}
