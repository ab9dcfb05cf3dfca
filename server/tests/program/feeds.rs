//! Blocks from files, directories and lakes, served or imported into a store.

use std::fs;

use serde_json::json;

use crate::fixture::{self, text};
use crate::support::{Server, errors, request, run};

fn status_of(transaction: &milepost_practice::PracticeTransaction) -> String {
    let params = json!({
        "tx_hash": transaction.hash.to_string(),
        "sender_account_id": transaction.signer_id.to_string(),
        "wait_until": "NONE",
    });
    request("EXPERIMENTAL_tx_status", &params)
}

#[test]
fn files_and_lakes_give_the_same_responses() {
    let (files, lake) = (fixture::message_files(), fixture::lake());
    let from_files = Server::start(&["--blocks", text(files.path())]);
    let from_lake = Server::start(&["--blocks", text(lake.path())]);
    for server in [&from_files, &from_lake] {
        let status = server.get("/status").json();
        assert_eq!(status["head"]["height"], fixture::head());
        assert_eq!(status["blocks"], fixture::messages().len());
    }
    let mut found = 0;
    for transaction in fixture::transactions() {
        let body = status_of(transaction);
        let response = from_files.post("/", &body);
        assert_eq!(response.status, 200);
        let milestone = &response.json()["result"]["final_execution_status"];
        assert!(milestone.is_string(), "{}", response.text());
        assert_eq!(response.text(), from_lake.post("/", &body).text());
        found += 1;
    }
    assert!(found > 10, "only {found} transactions");
}

#[test]
fn every_block_of_a_final_feed_is_final() {
    let files = fixture::message_files();
    let by_headers = Server::start(&["--blocks", text(files.path())]);
    let server = Server::start(&["--blocks", text(files.path()), "--finality", "final"]);
    assert_eq!(server.get("/status").json()["final"]["height"], fixture::head());
    assert_ne!(by_headers.get("/status").json()["final"]["height"], fixture::head());
}

#[test]
fn retention_keeps_only_the_newest_blocks() {
    let files = fixture::message_files();
    let server = Server::start(&["--blocks", text(files.path()), "--retention", "blocks:5"]);
    let status = server.get("/status").json();
    assert_eq!(status["blocks"], 5);
    assert_eq!(status["head"]["height"], fixture::head());
    let first = fixture::transactions().next().expect("there are transactions");
    assert_eq!(server.post("/", &status_of(first)).cause(), "UNKNOWN_TRANSACTION");
}

#[test]
fn imported_configurations_are_served() {
    let (files, configs) = (fixture::message_files(), fixture::configs());
    let server =
        Server::start(&["--blocks", text(files.path()), "--configs", text(configs.path())]);
    let body = request("EXPERIMENTAL_protocol_config", &json!({ "finality": "final" }));
    let response = server.post("/EXPERIMENTAL_protocol_config", &body).json();
    assert_eq!(response["result"]["chain_id"], "practice");
    assert_eq!(server.get("/status").json()["chain_id"], "practice");
}

#[test]
fn a_store_keeps_imported_blocks() {
    let (files, directory) = (fixture::message_files(), tempfile::tempdir().unwrap());
    let store = directory.path().join("chain.milepost");
    let import = || run(&["import", "--store", text(&store), text(files.path())]);
    let first = import();
    assert!(first.status.success(), "{}", errors(&first));
    let printed = String::from_utf8_lossy(&first.stdout).into_owned();
    let expected = format!("blocks imported: {},", fixture::messages().len());
    assert!(printed.starts_with(&expected), "{printed}");
    let second = import();
    let printed = String::from_utf8_lossy(&second.stdout).into_owned();
    assert!(printed.starts_with("blocks imported: 0,"), "{printed}");
    assert!(printed.contains("already known: "), "{printed}");

    let transaction = fixture::transactions().next().expect("there are transactions");
    for _ in 0..2 {
        let server = Server::start(&["--store", text(&store)]);
        assert_eq!(server.get("/status").json()["head"]["height"], fixture::head());
        assert_eq!(server.post("/", &status_of(transaction)).status, 200);
    }
}

#[test]
fn an_invalid_message_stops_the_feed_and_earlier_blocks_stay() {
    let (files, directory) = (fixture::message_files(), tempfile::tempdir().unwrap());
    let store = directory.path().join("chain.milepost");
    let next = fixture::head() + 1;
    let broken = format!(r#"{{"block":{{"header":{{"height":{next}}}}},"shards":7}}"#);
    fs::write(files.path().join("broken.json"), broken).unwrap();
    let output = run(&["import", "--store", text(&store), text(files.path())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("broken.json: "), "{}", errors(&output));
    let server = Server::start(&["--store", text(&store)]);
    assert_eq!(server.get("/status").json()["head"]["height"], fixture::head());
}

#[test]
fn a_lake_block_without_shards_is_rejected() {
    let lake = fixture::lake();
    let block = lake.path().join(format!("near-lake/{:012}", fixture::head()));
    for entry in fs::read_dir(&block).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("block.json") {
            fs::remove_file(path).unwrap();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("chain.milepost");
    let output = run(&["import", "--store", text(&store), text(lake.path())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("without any shard_<n>.json"), "{}", errors(&output));
}

#[test]
fn errors_name_the_format_of_files_that_are_not_json() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (store, file) = (path("chain.milepost"), path("block.json"));
    for (bytes, expected) in [
        (&b""[..], "the file is empty"),
        (b"\x1f\x8b\x08\0\0", "compressed with gzip"),
        (b"\x28\xb5\x2f\xfd\x24", "compressed with zstd"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"\xff\xfe{\0}\0", "UTF-16"),
        (b"hello", "not a JSON object"),
        (b"{}", "no height at block.header.height"),
    ] {
        fs::write(&file, bytes).unwrap();
        let output = run(&["import", "--store", text(&store), text(&file)]);
        assert_eq!(output.status.code(), Some(1));
        assert!(errors(&output).contains(expected), "{}", errors(&output));
    }
}
