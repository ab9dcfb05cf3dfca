//! Long responses are compressed for clients that accept gzip, and say that they depend on it.

use std::fs;
use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::json;

use crate::fixture;
use crate::page::{files, head};
use crate::support::{Response, Server, request};

const GZIP: &str = "accept-encoding: br, gzip";

/// A batch whose response has more than 64 KiB: each result has some 7 KB
fn batch() -> String {
    let calls = fixture::transactions().map(|transaction| {
        let params = json!({
            "tx_hash": transaction.hash.to_string(),
            "sender_account_id": transaction.signer_id.to_string(),
            "wait_until": "NONE",
        });
        request("EXPERIMENTAL_tx_status", &params)
    });
    let calls: Vec<_> = calls.collect();
    format!("[{}]", calls.join(","))
}

fn is_negotiated(response: &Response) -> bool {
    let values: Vec<_> = response.values("vary").collect();
    // Beside what CORS depends on.
    assert_eq!(values.iter().filter(|value| value.starts_with("origin,")).count(), 1, "{values:?}");
    values.iter().filter(|value| **value == "accept-encoding").count() == 1
}

/// Asserts that this is the compressed form of a plain response
fn assert_compressed(response: &Response, plain: &Response) {
    assert_eq!((response.status, response.header("content-encoding")), (200, Some("gzip")));
    assert!(response.body.len() * 3 < plain.body.len() * 2, "{} bytes", response.body.len());
    let mut text = Vec::new();
    GzDecoder::new(&*response.body).read_to_end(&mut text).expect("it is whole");
    assert!(text == plain.body, "other bytes");
    assert!(is_negotiated(response));
}

/// Asserts that this is a response as it would be without this module, but for `Vary`
fn assert_plain(response: &Response, plain: &Response) {
    assert_eq!((response.status, response.header("content-encoding")), (200, None));
    assert!(response.body == plain.body, "other bytes");
    assert!(is_negotiated(response));
}

#[test]
fn a_long_json_rpc_response_is_compressed_if_the_client_accepts_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("store.redb");
    for store in ["memory", fixture::text(&file)] {
        let server = Server::with_blocks(&["--store", store]);
        let plain = server.post("/", &batch());
        assert!(plain.body.len() > 64 << 10, "{} bytes", plain.body.len());
        assert_plain(&plain, &plain);
        assert_compressed(&server.post_with(&batch(), GZIP), &plain);
        for refusing in ["accept-encoding: gzip;q=0", "accept-encoding: br, zstd, identity"] {
            assert_plain(&server.post_with(&batch(), refusing), &plain);
        }
        server.until_metric("milepost_buffered_bytes", 0);

        let short = server.post_with(&request("EXPERIMENTAL_tx_status", &json!({})), GZIP);
        assert_eq!(short.header("content-encoding"), None);
        assert!(!is_negotiated(&short));
    }
}

#[test]
fn a_long_file_has_one_tag_in_both_codings_and_head_has_the_length_of_each() {
    let server = Server::with_blocks(&[]);
    let is_long = |file: &fs::Metadata| file.len() >= 64 << 10;
    let mut paths = files();
    paths.retain(|(_, file)| is_long(&fs::metadata(file).expect("a file")));
    assert!(!paths.is_empty(), "the page has a long file");
    for (path, _) in paths {
        let (plain, gzip) = (server.get(&path), server.get_with(&path, GZIP));
        assert_plain(&plain, &plain);
        assert_compressed(&gzip, &plain);
        let tag = plain.header("etag").expect("a tag");
        assert!(tag.starts_with("W/\""), "{tag}");
        assert_eq!(gzip.header("etag"), Some(tag));
        for (header, response) in [("", &plain), ("accept-encoding: gzip\r\n", &gzip)] {
            let without_body = head(&server, "HEAD", &path, header);
            for name in ["content-length", "content-encoding", "content-type", "etag"] {
                assert_eq!(without_body.header(name), response.header(name), "{name}");
            }
            assert!(is_negotiated(&without_body));
            let again = head(&server, "GET", &path, &format!("{header}if-none-match: {tag}\r\n"));
            assert_eq!((again.status, again.header("etag")), (304, Some(tag)));
            assert_eq!(again.header("content-encoding"), None);
            assert!(is_negotiated(&again));
        }
    }
    let short = server.get_with("/", GZIP);
    assert_eq!((short.status, short.header("content-encoding")), (200, None));
    assert!(!is_negotiated(&short));
}

#[test]
fn a_document_says_that_it_depends_on_what_the_client_accepts() {
    let server = Server::with_blocks(&[]);
    let plain = server.get("/openrpc.json");
    assert_plain(&plain, &plain);
    assert_compressed(&server.get_with("/openrpc.json", GZIP), &plain);
    let call = request("rpc.discover", &json!({}));
    assert_compressed(&server.post_with(&call, GZIP), &server.post("/", &call));
}

#[test]
fn events_are_not_compressed() {
    let server = Server::with_blocks(&[]);
    let hash = fixture::transactions().next().expect("a transaction").hash;
    let mut client = server.connect();
    client.send(&format!(
        "GET /tx/{hash}/events?include=status HTTP/1.1\r\nhost: x\r\n{GZIP}\r\nconnection: close\r\n\r\n"
    ));
    let response = client.rest();
    let (head, body) = response.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    assert!(!head.contains("content-encoding") && !head.contains("accept-encoding"), "{head}");
    assert!(body.contains("\nevent: reached\n"), "{body}");
}
