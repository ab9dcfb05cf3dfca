//! The embedded page, and the paths that only the page uses.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::support::{Response, Server, request};

/// The paths that an HTML file refers to, all of them relative to it
fn references(html: &str) -> Vec<&str> {
    let quoted =
        [" src=\"./", " href=\"./"].into_iter().flat_map(|start| html.split(start).skip(1));
    quoted.filter_map(|rest| rest.split('"').next()).collect()
}

/// All files of the page with their URL paths
pub(crate) fn files() -> Vec<(String, PathBuf)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    let list = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("the page is committed");
        entries.map(|entry| entry.expect("an entry").path()).collect::<Vec<_>>()
    };
    let mut files = vec![("/".to_owned(), page.join("index.html"))];
    for path in list(&page.join("assets")) {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        files.push((format!("/assets/{name}"), path));
    }
    assert_eq!(list(&page).len(), 2, "index.html and assets");
    files
}

/// A response without a body: to HEAD, or 304
pub(crate) fn head(server: &Server, verb: &str, path: &str, header: &str) -> Response {
    let mut client = server.connect();
    client.send(&format!("{verb} {path} HTTP/1.1\r\nhost: x\r\n{header}\r\n"));
    client.response_to("HEAD")
}

#[test]
fn every_file_of_the_page_is_served() {
    let server = Server::with_blocks(&[]);
    for (path, file) in files() {
        let response = server.get(&path);
        assert_eq!(response.status, 200, "{path}");
        assert!(response.body == fs::read(&file).expect("a file"), "{path} has other bytes");
        let kind = match file.extension().and_then(|extension| extension.to_str()) {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("wasm") => "application/wasm",
            _ => panic!("{path} has an unknown extension"),
        };
        assert_eq!(response.header("content-type"), Some(kind), "{path}");
        let caching = if path == "/" { "no-cache" } else { "public, max-age=31536000, immutable" };
        assert_eq!(response.header("cache-control"), Some(caching), "{path}");
    }
    let html = server.get("/").text();
    assert!(!html.contains("=\"/"), "a link that ignores the base path in {html}");
    assert_eq!(server.get("/assets/nothing.js").status, 404);
    assert_eq!(server.get("/index.html").status, 404);
}

/// The limit of all files together, compressed as proxies do: a visitor on a slow mobile connection
/// (1 Mbit/s) has them within a second
const MAX_GZIP_SIZE: usize = 100_000;

#[test]
fn the_page_is_small_and_has_the_module_that_checks_proofs() {
    let mut sizes = Vec::new();
    for (path, file) in files() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(&file).expect("a file")).expect("memory");
        sizes.push((path, encoder.finish().expect("memory").len()));
    }
    let total: usize = sizes.iter().map(|(_, size)| size).sum();
    assert!(total <= MAX_GZIP_SIZE, "{total} bytes: {sizes:?}");
    assert!(sizes.iter().any(|(path, _)| path.ends_with(".wasm")), "{sizes:?}");
}

#[test]
fn the_links_of_the_page_work_below_a_base_path() {
    let server = Server::with_blocks(&["--base-path", "/near"]);
    for (path, location) in [("/near", "/near/"), ("/near?a=1&b", "/near/?a=1&b")] {
        for verb in ["GET", "HEAD"] {
            let redirect = head(&server, verb, path, "");
            assert_eq!((redirect.status, redirect.header("location")), (308, Some(location)));
        }
    }
    let html = server.get("/near/").text();
    let references = references(&html);
    assert!(references.len() >= 3, "an icon, a style and a script: {references:?}");
    for path in references {
        assert_eq!(server.get(&format!("/near/{path}")).status, 200, "{path}");
    }
}

#[test]
fn the_page_has_a_content_security_policy() {
    let server = Server::with_blocks(&[]);
    let page = server.get("/");
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'self'; script-src 'self' 'wasm-unsafe-eval';"));
    assert!(!policy.contains("unsafe-inline") && !policy.contains("http"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    // Other responses have no headers of the page.
    assert_eq!(server.get("/status").header("content-security-policy"), None);
}

#[test]
fn a_cached_page_is_not_sent_again() {
    let server = Server::with_blocks(&[]);
    let page = server.get("/");
    let tag = page.header("etag").expect("a tag");
    for verb in ["GET", "HEAD"] {
        let again = head(&server, verb, "/", &format!("if-none-match: {tag}\r\n"));
        assert_eq!((again.status, again.header("etag")), (304, Some(tag)), "{verb}");
    }
    let whole = head(&server, "HEAD", "/?from=bookmark", "");
    assert_eq!(whole.status, 200);
    assert_eq!(whole.header("content-length"), Some(page.body.len().to_string().as_str()));
}

#[test]
fn heights_of_blocks_are_served_by_hash() {
    let server = Server::with_blocks(&[]);
    let status = server.get("/status").json();
    let (head, last) = (&status["head"], &status["earliest"]);
    let unknown = "11111111111111111111111111111111";
    let name = |point: &Value| point["hash"].as_str().expect("a hash").to_owned();
    let path = format!("/blocks/{},{unknown},{}", name(head), name(last));
    let response = server.get(&path);
    let expected = json!({
        name(head): head["height"], name(last): last["height"], unknown: null,
    });
    assert_eq!((response.status, response.json()), (200, expected));
    // The time is that of the header, where a block was checked against its hash.
    let with_times = server.get(&format!("{path}?include=timestamp")).json();
    assert_eq!(with_times[name(head)]["height"], head["height"]);
    assert!(with_times[name(head)]["timestamp_nanosec"].is_null());
    assert!(with_times[unknown].is_null());
    let practice = Server::start(&[]);
    let head = &practice.get("/status").json()["head"];
    let path = format!("/blocks/{}?include=timestamp", name(head));
    let time = practice.get(&path).json()[name(head)]["timestamp_nanosec"].clone();
    let time: u64 = time.as_str().and_then(|time| time.parse().ok()).expect("a time");
    assert!(time > 1_767_225_600_000_000_000, "{time} is before genesis");
    assert_eq!(practice.get(&path.replace("timestamp", "time")).status, 400);
    for path in ["/blocks/", "/blocks/x", "/blocks/,"] {
        let response = server.get(path);
        assert_eq!(response.status, 400, "{path}");
        assert!(response.text().contains("blocks: hash 0: "), "{}", response.text());
    }
    assert_eq!(server.get("/blocks").status, 404);
}

#[test]
fn recent_practice_transactions_are_listed() {
    let server = Server::start(&["--timeout", "60s"]);
    server.until("a recent transaction", || {
        // The list is empty for a moment after the start.
        server.get("/practice/recent").json().as_array().is_some_and(|list| !list.is_empty())
    });
    let listed = &server.get("/practice/recent").json()[0];
    for name in ["tx_hash", "signer_id", "receiver_id", "kind", "label"] {
        assert!(listed[name].is_string(), "{name} in {listed}");
    }
    let params = json!({ "tx_hash": listed["tx_hash"], "sender_account_id": listed["signer_id"],
        "wait_until": "INCLUDED" });
    let response = server.post("/", &request("EXPERIMENTAL_tx_status", &params)).json();
    let block = &response["result"]["transaction_outcome"]["block_hash"];
    let block = block.as_str().unwrap_or_else(|| panic!("no block in {response}"));
    let height = &server.get(&format!("/blocks/{block}")).json()[block];
    assert!(height.as_u64() >= listed["height"].as_u64(), "{height}, {listed}");
    // Only a server with the practice chain has this path.
    assert_eq!(Server::with_blocks(&[]).get("/practice/recent").status, 404);
}

#[test]
fn the_newest_transactions_are_listed_whatever_the_feed() {
    let (files, practice) =
        (Server::with_blocks(&["--timeout", "10ms"]), Server::start(&["--timeout", "60s"]));
    for (server, feed) in [(files, "none"), (practice, "practice")] {
        assert_eq!(server.get("/status").json()["feed"], feed);
        let list = server.get("/tx/recent").json();
        let list = list.as_array().expect("a list");
        assert!((1..=24).contains(&list.len()), "{list:?}");
        let heights: Vec<_> = list.iter().map(|one| one["height"].as_u64().unwrap()).collect();
        assert!(heights.is_sorted_by(|a, b| a >= b), "{heights:?}");
        for listed in list {
            assert!(listed["actions"][0].is_string(), "{listed}");
            let hash = listed["tx_hash"].as_str().expect("a hash");
            let params = json!({ "tx_hash": hash, "sender_account_id": listed["signer_id"],
                "wait_until": "EXECUTED_OPTIMISTIC" });
            let response = server.post("/", &request("EXPERIMENTAL_tx_status", &params)).json();
            let transaction = &response["result"]["transaction"];
            // The last blocks of a file end before the receipts of their transactions.
            if response["error"]["cause"]["name"] == "TIMEOUT_ERROR" {
                assert_eq!(feed, "none");
                continue;
            }
            for name in ["signer_id", "receiver_id"] {
                assert_eq!(transaction[name], listed[name], "{response}");
            }
        }
        assert_eq!(list[0]["timestamp_nanosec"].is_string(), feed == "practice");
        assert_eq!(server.post("/tx/recent", "{}").status, 405);
    }
}
