//! Thousands of mutated bodies: nothing panics, and every error response is JSON of bounded size
//! with an id that the body has.

use alloc::format;
use alloc::string::ToString;

use milepost_testkit::Rng;

use super::*;

fn mutate(body: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    const TOKENS: [&[u8]; 14] = [
        b"\"",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"null",
        b"1e999",
        b"\\ud800",
        b"\xff",
        b"\x00",
        b"\"id\":3,",
        b"\\",
    ];
    let start = rng.index(body.len() + 1);
    match rng.below(6) {
        0 => body.truncate(start),
        1 => {
            let token = TOKENS[rng.index(TOKENS.len())];
            body.splice(start..start, token.iter().copied());
        }
        2 => {
            let end = (start + rng.index(9)).min(body.len());
            body.drain(start..end);
        }
        3 if start < body.len() => body[start] = rng.next_u64() as u8,
        4 => {
            let first = rng.index(other.len());
            let end = first + rng.index(other.len() - first);
            body.splice(start..start, other[first..end].iter().copied());
        }
        _ => {
            let end = (start + rng.index(40)).min(body.len());
            let copy = body[start..end].to_vec();
            body.splice(start..start, copy);
        }
    }
}

fn check_response(id: &RequestId, rpc_error: RpcError, body: &[u8]) {
    let mut out = Vec::new();
    write_error(id, rpc_error, &mut out);
    let text = String::from_utf8_lossy(body);
    let response: serde_json::Value = match serde_json::from_slice(&out) {
        Ok(response) => response,
        Err(error) => panic!("{error}: {} for {text}", String::from_utf8_lossy(&out)),
    };
    assert_eq!(response["jsonrpc"], "2.0", "{text}");
    assert_eq!(response["error"]["name"], "REQUEST_VALIDATION_ERROR", "{text}");
    let data = response["error"]["data"].as_str().unwrap_or_else(|| panic!("no data for {text}"));
    if response["error"]["code"] == -32601 {
        // The name of the unknown method, which may be empty.
        assert_eq!(response["error"]["cause"]["info"]["method_name"], data, "{text}");
    } else {
        assert!(!data.is_empty(), "{text}");
    }
    assert!(out.len() < 4096, "{text}");
    let id = id.as_json();
    let from_body = body.windows(id.len()).any(|window| window == id.as_bytes());
    assert!(from_body || id == "null" || id == "\"dontcare\"", "{id} for {text}");
}

#[test]
fn mutated_bodies_get_a_response() {
    let bodies = [
        format!(
            r#"{{"jsonrpc":"2.0","id":"dontcare","method":"EXPERIMENTAL_tx_status","params":{{"tx_hash":"{HASH}","sender_account_id":"sender.testnet","wait_until":"FINAL"}}}}"#
        ),
        format!(r#"{{"id":[1,{{"a":2}}],"method":"tx","params":["{SIGNED}"]}}"#),
        format!(r#"{{"id":7,"method":"tx_status","params":["{HASH}","a.near"]}}"#),
        r#"{"id":1.5,"method":"EXPERIMENTAL_protocol_config","params":{"block_id":187310138}}"#
            .to_string(),
        format!(
            r#"[{{"id":1,"method":"EXPERIMENTAL_protocol_config","params":{{"block_id":"{HASH}"}}}},{{"id":"é","method":"tx","params":{{"signed_tx_base64":"{SIGNED}"}}}}]"#
        ),
    ];
    let mut rng = Rng::new(1);
    let limits = Limits { max_batch: 4, ..Limits::default() };
    let (mut valid_count, mut invalid_count) = (0, 0);
    for round in 0..30_000 {
        let mut body = bodies[round % bodies.len()].clone().into_bytes();
        let other = bodies[rng.index(bodies.len())].as_bytes();
        for _ in 0..=rng.below(4) {
            mutate(&mut body, other, &mut rng);
        }
        let items = match parse(&body, None, &limits) {
            Request::Single(item) => [item].into(),
            Request::Batch(items) => {
                assert!((1..=limits.max_batch).contains(&items.len()));
                items
            }
            Request::Invalid(invalid) => [Err(invalid)].into(),
        };
        for item in items {
            match item {
                Ok(MethodCall { id, method: Method::Other(other), .. }) => {
                    if let Some(place) = other.params.clone() {
                        let params = serde_json::from_slice::<serde::de::IgnoredAny>(&body[place]);
                        assert!(params.is_ok(), "{}", String::from_utf8_lossy(&body));
                    }
                    check_response(&id, other.not_found(), &body);
                    invalid_count += 1;
                }
                Ok(_) => valid_count += 1,
                Err(invalid) => {
                    check_response(&invalid.id, invalid.rpc_error, &body);
                    invalid_count += 1;
                }
            }
        }
    }
    // The mutations must leave some bodies valid and make others invalid.
    assert!(valid_count > 500 && invalid_count > 10_000, "{valid_count}, {invalid_count}");
}
