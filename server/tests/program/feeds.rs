//! Blocks out of files, directories and lakes, served or put into a store.

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
fn files_and_lakes_give_the_same_answers() {
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
        let answer = from_files.post("/", &body);
        assert_eq!(answer.status, 200);
        assert!(answer.json()["result"]["final_execution_status"].is_string(), "{}", answer.text());
        assert_eq!(answer.text(), from_lake.post("/", &body).text());
        found += 1;
    }
    assert!(found > 10, "only {found} transactions");
}

#[test]
fn a_feed_of_final_blocks_makes_everything_final() {
    let files = fixture::message_files();
    let plain = Server::start(&["--blocks", text(files.path())]);
    let server = Server::start(&["--blocks", text(files.path()), "--finality", "final"]);
    assert_eq!(server.get("/status").json()["final"]["height"], fixture::head());
    assert_ne!(plain.get("/status").json()["final"]["height"], fixture::head());
}

#[test]
fn only_the_newest_blocks_are_kept_if_so_wished() {
    let files = fixture::message_files();
    let server = Server::start(&["--blocks", text(files.path()), "--retention", "blocks:5"]);
    let status = server.get("/status").json();
    assert_eq!(status["blocks"], 5);
    assert_eq!(status["head"]["height"], fixture::head());
    let first = fixture::transactions().next().expect("there are transactions");
    assert_eq!(server.post("/", &status_of(first)).cause(), "UNKNOWN_TRANSACTION");
}

#[test]
fn configurations_come_into_force_with_their_heights() {
    let (files, configs) = (fixture::message_files(), fixture::configs());
    let server =
        Server::start(&["--blocks", text(files.path()), "--configs", text(configs.path())]);
    let body = request("EXPERIMENTAL_protocol_config", &json!({ "finality": "final" }));
    let answer = server.post("/EXPERIMENTAL_protocol_config", &body).json();
    assert_eq!(answer["result"]["chain_id"], "practice");
    assert_eq!(server.get("/status").json()["chain_id"], "practice");
}

#[test]
fn a_store_keeps_what_was_taken_in() {
    let (files, place) = (fixture::message_files(), tempfile::tempdir().unwrap());
    let store = place.path().join("chain.milepost");
    let ingest = || run(&["ingest", "--store", text(&store), text(files.path())]);
    let first = ingest();
    assert!(first.status.success(), "{}", errors(&first));
    let said = String::from_utf8_lossy(&first.stdout).into_owned();
    assert!(
        said.starts_with(&format!("blocks taken in: {},", fixture::messages().len())),
        "{said}"
    );
    let again = ingest();
    let said = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(said.starts_with("blocks taken in: 0,") && said.contains("in already: "), "{said}");

    let wanted = fixture::transactions().next().expect("there are transactions");
    for _ in 0..2 {
        let server = Server::start(&["--store", text(&store)]);
        assert_eq!(server.get("/status").json()["head"]["height"], fixture::head());
        assert_eq!(server.post("/", &status_of(wanted)).status, 200);
    }
}

#[test]
fn a_broken_message_stops_the_feed_and_what_came_before_stays() {
    let (files, place) = (fixture::message_files(), tempfile::tempdir().unwrap());
    let store = place.path().join("chain.milepost");
    let next = fixture::head() + 1;
    let broken = format!(r#"{{"block":{{"header":{{"height":{next}}}}},"shards":7}}"#);
    fs::write(files.path().join("broken.json"), broken).unwrap();
    let output = run(&["ingest", "--store", text(&store), text(files.path())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("broken.json: "), "{}", errors(&output));
    let server = Server::start(&["--store", text(&store)]);
    assert_eq!(server.get("/status").json()["head"]["height"], fixture::head());
}

#[test]
fn a_lake_block_without_shards_is_refused() {
    let lake = fixture::lake();
    let block = lake.path().join(format!("near-lake/{:012}", fixture::head()));
    for entry in fs::read_dir(&block).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("block.json") {
            fs::remove_file(path).unwrap();
        }
    }
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("chain.milepost");
    let output = run(&["ingest", "--store", text(&store), text(lake.path())]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("no shard_<n>.json beside it"), "{}", errors(&output));
}

#[test]
fn files_that_are_no_json_are_called_what_they_are() {
    let place = tempfile::tempdir().unwrap();
    let (store, file) = (place.path().join("chain.milepost"), place.path().join("block.json"));
    for (bytes, expected) in [
        (&b""[..], "the file is empty"),
        (b"\x1f\x8b\x08\0\0", "compressed with gzip"),
        (b"\x28\xb5\x2f\xfd\x24", "compressed with zstd"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"\xff\xfe{\0}\0", "UTF-16"),
        (b"hello", "no JSON object"),
        (b"{}", "no height at block.header.height"),
    ] {
        fs::write(&file, bytes).unwrap();
        let output = run(&["ingest", "--store", text(&store), text(&file)]);
        assert_eq!(output.status.code(), Some(1));
        assert!(errors(&output).contains(expected), "{}", errors(&output));
    }
}
