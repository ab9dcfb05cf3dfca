//! An archive in a directory behind a store in memory: what the store forgot is still answered,
//! also by a server that never had the blocks.

use std::path::Path;

use milepost_feed_server::Faults;

use crate::follow::{canonical, chain, follow, serve_feed, status_of};
use crate::support::Server;

/// The height of the oldest block in the store
fn earliest(server: &Server) -> u64 {
    server.get("/status").json()["earliest"]["height"].as_u64().unwrap_or_default()
}

#[test]
fn what_a_store_forgot_is_answered_from_a_directory() {
    let messages = chain(31, 160);
    let feed = serve_feed(&messages, Faults::default());
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    let archive = archive.to_str().expect("a path in UTF-8");
    let first = messages[0].height.to_string();
    let args = ["--max-age", "1h", "--retention", "blocks:20"];
    let server = follow(&feed, &[&args[..], &["--from", &first, "--archive", archive]].concat());
    let included = canonical(&messages).find(|message| !message.transactions.is_empty());
    let included = included.expect("a block with a transaction");
    server.until("the block is forgotten", || earliest(&server) > included.height);
    let request = status_of(&included.transactions[0], "FINAL");
    let answer = server.post("/", &request);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let status = &answer.json()["result"]["final_execution_status"];
    assert_eq!(*status, "FINAL", "{}", answer.text());
    assert!(!server.get("/status").json()["archive"]["complete"].as_array().unwrap().is_empty());
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));

    // Without the archive it is unknown; with it, a server that starts at the end knows it.
    let last = messages.last().unwrap().height.to_string();
    let late = [&args[..], &["--from", &last]].concat();
    let unknown = status_of(&included.transactions[0], "NONE");
    let without = follow(&feed, &late);
    let answer_without = without.post("/", &unknown);
    assert_eq!(answer_without.cause(), "UNKNOWN_TRANSACTION");
    // It has no block, so it names no heights.
    assert_eq!(answer_without.header("x-milepost-complete-heights"), None);
    let reader =
        follow(&feed, &[&late[..], &["--archive", archive, "--archive-write", "off"]].concat());
    assert_eq!(reader.post("/", &request).json()["result"], answer.json()["result"]);
    let missing = reader.get(&format!("/tx/{}", "1".repeat(31) + "8"));
    let heights = missing.header("x-milepost-complete-heights").expect("heights");
    assert!(heights.starts_with(&format!("{first}-")), "{heights}");
    assert!(Path::new(archive).is_dir());
}
