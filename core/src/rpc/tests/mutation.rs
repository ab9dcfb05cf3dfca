//! Thousands of damaged bodies: nothing panics, and every refusal is JSON of bounded size with an
//! id that was there.

use alloc::format;
use alloc::string::ToString;

use milepost_testkit::Rng;

use super::*;

fn damage(body: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    const PIECES: [&[u8]; 14] = [
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
    let at = rng.index(body.len() + 1);
    match rng.below(6) {
        0 => body.truncate(at),
        1 => {
            body.splice(at..at, PIECES[rng.index(PIECES.len())].iter().copied());
        }
        2 => {
            let end = (at + rng.index(9)).min(body.len());
            body.drain(at..end);
        }
        3 if at < body.len() => body[at] = rng.next_u64() as u8,
        4 => {
            let start = rng.index(other.len());
            let end = start + rng.index(other.len() - start);
            body.splice(at..at, other[start..end].iter().copied());
        }
        _ => {
            let end = (at + rng.index(40)).min(body.len());
            let piece = body[at..end].to_vec();
            body.splice(at..at, piece);
        }
    }
}

fn check(refusal: &Refusal, body: &[u8]) {
    let mut out = Vec::new();
    refusal.write(&mut out);
    let shown = String::from_utf8_lossy(body);
    let answer: serde_json::Value = match serde_json::from_slice(&out) {
        Ok(answer) => answer,
        Err(error) => panic!("{error}: {} for {shown}", String::from_utf8_lossy(&out)),
    };
    assert_eq!(answer["jsonrpc"], "2.0", "{shown}");
    assert_eq!(answer["error"]["name"], "REQUEST_VALIDATION_ERROR", "{shown}");
    let data = answer["error"]["data"].as_str().unwrap_or_else(|| panic!("no data for {shown}"));
    // The data of an unknown method are its name, which may be empty.
    assert!(!data.is_empty() || answer["error"]["code"] == -32601, "{shown}");
    assert!(out.len() < 4096, "{shown}");
    let id = refusal.id.as_json();
    let from_body = body.windows(id.len()).any(|window| window == id.as_bytes());
    assert!(from_body || id == "null" || id == "\"dontcare\"", "{id} for {shown}");
}

#[test]
fn damaged_bodies_are_answered() {
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
    let limits = Limits { max_batch: 4 };
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..30_000 {
        let mut body = bodies[round % bodies.len()].clone().into_bytes();
        let other = bodies[rng.index(bodies.len())].as_bytes();
        for _ in 0..=rng.below(4) {
            damage(&mut body, other, &mut rng);
        }
        let items = match parse(&body, None, &limits) {
            Incoming::Single(item) => [item].into(),
            Incoming::Batch(items) => {
                assert!((1..=limits.max_batch).contains(&items.len()));
                items
            }
            Incoming::Refused(refusal) => [Err(refusal)].into(),
        };
        for item in items {
            match item {
                Ok(_) => accepted += 1,
                Err(refusal) => {
                    check(&refusal, &body);
                    refused += 1;
                }
            }
        }
    }
    // Both kinds must occur, or the damage proves nothing.
    assert!(accepted > 500 && refused > 10_000, "{accepted} accepted, {refused} refused");
}
