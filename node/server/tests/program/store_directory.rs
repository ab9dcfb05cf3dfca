//! A store in a directory: a file with the newest blocks, and an archive with all transactions.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::archive_commands::{Blocks, printed, stats};
use crate::fixture::text;
use crate::follow::status_of;
use crate::support::{Server, errors, run};

/// What the file has
fn info(store: &Path) -> Value {
    serde_json::from_str(&printed(&["store", "info", text(store)], 0)).unwrap()
}

#[test]
fn retention_bounds_the_file_and_the_archive_keeps_what_was_imported() {
    let (blocks, directory) = (Blocks::new(160), tempfile::tempdir().unwrap());
    let [whole, store] = ["whole.milepost", "store"].map(|name| directory.path().join(name));
    let new = format!("{}/", text(&store));
    let files = text(blocks.files.path());
    printed(&["import", "--store", text(&whole), files], 0);
    printed(&["import", "--store", &new, "--retention", "blocks:20", files], 0);
    assert!(whole.is_file() && store.join("chain.milepost").is_file());

    let answer = |store: &Path, hash: &str| {
        let answer = printed(&["status", "--store", text(store), "--json", hash], 0);
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    let transactions = blocks.finalized();
    for transaction in &transactions {
        let hash = transaction.hash.to_string();
        assert_eq!(answer(&store, &hash), answer(&whole, &hash), "{hash}");
    }
    let archive = store.join("archive");
    assert_eq!(stats(&archive)["all_writers"]["complete"][0][0], blocks.messages[0].height);
    assert_eq!(info(&whole)["earliest"], blocks.messages[0].height);

    // The server uses both.
    let newest = directory.path().join("newest");
    fs::create_dir(&newest).unwrap();
    let last = blocks.messages.last().unwrap();
    fs::write(newest.join("block.json"), &last.json).unwrap();
    let args = ["--store", text(&store), "--retention", "blocks:20", "--blocks", text(&newest)];
    let server = Server::start(&args);
    for transaction in &transactions {
        let response = server.post("/", &status_of(transaction, "FINAL"));
        assert_eq!(response.status, 200, "{}", response.text());
    }
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn a_server_forgets_in_the_file_what_the_archive_has() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    let new = format!("{}/", text(&store));
    let server =
        Server::start(&["--store", &new, "--follow", "practice", "--retention", "blocks:100"]);
    let archived = |status: &Value| status["archive"]["complete"][0][0].as_u64();
    server.until("blocks are archived and forgotten", || {
        let status = server.get("/status").json();
        archived(&status).is_some_and(|it| Some(it) < status["earliest"]["height"].as_u64())
    });
    let first = archived(&server.get("/status").json());
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    let complete = &stats(&store.join("archive"))["all_writers"]["complete"];
    assert_eq!(complete[0][0].as_u64(), first);
    assert!(info(&store)["earliest"].as_u64() > first);
    assert!(printed(&["store", "check", text(&store)], 0).contains(": sound, "));

    // With the archive nothing is missing.
    let log = directory.path().join("log");
    let args = ["--store", text(&store), "--follow", "practice", "--retention", "blocks:100"];
    let server = Server::start_logging(&args, fs::File::create(&log).unwrap());
    let is_complete = || archived(&server.get("/status").json()).is_some();
    server.until("the progress of the archive", is_complete);
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    assert_eq!(fs::read_to_string(&log).unwrap(), "");
}

#[test]
fn queries_of_a_directory_without_a_store_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let hash = "11111111111111111111111111111118";
    let output = run(&["status", "--store", text(directory.path()), hash]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("no such store"), "{}", errors(&output));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
