//! The embedded page, built or plain, and the paths that only the page uses.

use serde_json::{Value, json};

use crate::support::{Response, Server, request};

/// The paths that an HTML file refers to, all of them relative to it
fn references(html: &str) -> Vec<&str> {
    let quoted =
        [" src=\"./", " href=\"./"].into_iter().flat_map(|start| html.split(start).skip(1));
    quoted.filter_map(|rest| rest.split('"').next()).collect()
}

/// A response without a body: to HEAD, or 304
fn head(server: &Server, verb: &str, path: &str, header: &str) -> Response {
    let mut client = server.connect();
    client.send(&format!("{verb} {path} HTTP/1.1\r\nhost: x\r\n{header}\r\n"));
    client.response_to("HEAD")
}

#[test]
fn the_page_and_its_files_are_served() {
    let server = Server::with_blocks(&[]);
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let html = page.text();
    assert!(!html.contains("=\"/"), "a link that ignores the base path in {html}");
    let own: Vec<_> = references(&html).into_iter().filter(|path| path.contains('.')).collect();
    assert!(own.len() >= 2, "an icon and a style: {own:?}");
    for path in own {
        let file = server.get(&format!("/{path}"));
        assert_eq!(file.status, 200, "{path}");
        let kind = match path.rsplit('.').next() {
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => panic!("{path} has an unknown extension"),
        };
        assert_eq!(file.header("content-type"), Some(kind), "{path}");
        assert!(!file.body.is_empty());
    }
    assert_eq!(server.get("/assets/nothing.js").status, 404);
    assert_eq!(server.get("/index.html").status, 404);
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
    assert!(references.len() >= 2, "{references:?}");
    // Without the practice chain, a link to it leads nowhere.
    for path in references.into_iter().filter(|path| !path.starts_with("practice/")) {
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
