//! Blocks from files, directories and lakes, served or imported into a store.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

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
    let server = Server::start(&["--blocks", text(files.path()), "--finality", "all"]);
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
        (b"{\"shard_id\":3}", "block.json: a shard of a lake, without the file of its block"),
        (b" [ ]", "no block messages here"),
        (b"[{}", "block.json: byte 3: the array does not end"),
        (b"[{},{}]", "block.json: [0]: no height at block.header.height (byte 1)"),
    ] {
        fs::write(&file, bytes).unwrap();
        let output = run(&["import", "--store", text(&store), text(&file)]);
        assert_eq!(output.status.code(), Some(1));
        assert!(errors(&output).contains(expected), "{}", errors(&output));
    }
}

/// The error of the import of what is in a directory
fn import_error(path: &Path) -> String {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("chain.milepost");
    let output = run(&["import", "--store", text(&store), text(path)]);
    assert_eq!(output.status.code(), Some(1));
    errors(&output)
}

/// The directory of the first block in a lake
fn lake_block(lake: &TempDir) -> PathBuf {
    lake.path().join(format!("near-lake/{:012}", fixture::messages()[0].height))
}

#[test]
fn a_lake_block_without_one_of_its_shards_is_rejected() {
    let lake = fixture::lake();
    let shard = lake_block(&lake).join("shard_1.json");
    fs::remove_file(&shard).unwrap();
    let expected = format!("{}: missing, but block.json lists this shard", text(&shard));
    assert!(import_error(lake.path()).contains(&expected), "{}", import_error(lake.path()));

    // A lake whose blocks do not list their shards is believed.
    let block = lake_block(&lake).join("block.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&block).unwrap()).unwrap();
    value["chunks"] = Value::Null;
    fs::write(&block, value.to_string()).unwrap();
    let server = Server::start(&["--blocks", text(&lake_block(&lake))]);
    assert_eq!(server.get("/status").json()["blocks"], 1);
}

#[test]
fn errors_in_a_lake_count_in_the_file() {
    let lake = fixture::lake();
    let (block, shard) = (lake_block(&lake).join("block.json"), |number: usize| {
        lake_block(&lake).join(format!("shard_{number}.json"))
    });
    for (file, broken, expected) in [
        (shard(1), r#"{"shard_id":1,!"#, ": byte 15: key must be a string"),
        (
            shard(0),
            r#"{"shard_id":0"#,
            ": shard_id: the text ends while parsing an object (byte 13)",
        ),
        (
            shard(1),
            r#"{"shard_id":1,"chunk":7}"#,
            ": chunk: invalid type: integer `7`, expected a chunk (byte 23)",
        ),
        (shard(0), r#"{"chunk":{"receipts":[]}}"#, ": chunk: missing field `transactions` (byte "),
        (block.clone(), r#"{"header":{"height":7}}"#, ": header: missing field `hash` (byte "),
    ] {
        let whole = fs::read(&file).unwrap();
        fs::write(&file, broken).unwrap();
        let error = import_error(&lake_block(&lake));
        let expected = format!("{}{expected}", text(&file));
        assert!(error.contains(&expected), "{error}, expected {expected}");
        fs::write(&file, whole).unwrap();
    }
}

#[test]
fn what_a_file_is_does_not_depend_on_its_name() {
    let lake = fixture::lake();
    let first = lake_block(&lake);
    fs::rename(first.join("block.json"), first.join("head.json")).unwrap();
    let messages = fixture::messages();
    // Messages in files with the names of a lake.
    let second = lake.path().join("messages");
    fs::create_dir(&second).unwrap();
    fs::write(second.join("block.json"), &messages[1].json).unwrap();
    let third = lake.path().join("more");
    fs::create_dir(&third).unwrap();
    fs::write(third.join("shard_7.json"), &messages[2].json).unwrap();
    let lake_of_rest = lake.path().join("near-lake");
    for message in &messages[1..] {
        fs::remove_dir_all(lake_of_rest.join(format!("{:012}", message.height))).unwrap();
    }
    let server = Server::start(&["--blocks", text(lake.path())]);
    let status = server.get("/status").json();
    assert_eq!(
        (&status["blocks"], &status["head"]["height"]),
        (&json!(3), &json!(messages[2].height))
    );

    // The file of a block is enough; its shards are found beside it.
    let server = Server::start(&["--blocks", text(&first.join("head.json"))]);
    assert_eq!(server.get("/status").json()["blocks"], 1);
    fs::copy(first.join("head.json"), first.join("tail.json")).unwrap();
    assert!(import_error(&first).contains("are two blocks of a lake in one directory"));
}

#[test]
fn a_file_may_hold_an_array_of_messages() {
    let directory = tempfile::tempdir().unwrap();
    let (even, odd) = (directory.path().join("even.json"), directory.path().join("odd.json"));
    let array = |rest: usize| {
        let messages = fixture::messages().iter().enumerate().filter(|(at, _)| at % 2 == rest);
        let texts = messages.map(|(_, message)| String::from_utf8_lossy(&message.json));
        format!(" [\n{} ]\n", texts.collect::<Vec<_>>().join(" ,\n"))
    };
    fs::write(&even, array(0)).unwrap();
    fs::write(&odd, array(1)).unwrap();
    let server = Server::start(&["--blocks", text(directory.path())]);
    let status = server.get("/status").json();
    assert_eq!(status["blocks"], fixture::messages().len());
    assert_eq!(status["head"]["height"], fixture::head());

    // Of height 6, so that it is imported first.
    let start = format!("[{},\n", String::from_utf8_lossy(&fixture::messages()[0].json));
    let (at, shards) = (start.len(), r#"{"block":{"header":{"height":6}},"shards":7}"#);
    let missing = format!("even.json: [1].block.header: missing field `hash` (byte {})", at + 31);
    let camel_case = shards.replace('7', "[]").replace("6}", r#"6,"hash":"1","prevHash":"1"}"#);
    let named = "even.json: [1].block.header: camelCase members";
    let extra = format!("even.json: [1].block: expected `,` or `}}` (byte {})", at + 34);
    let unfinished = format!("even.json: [1]: no height at block.header.height (byte {at})");
    for (item, expected) in [
        (shards, missing.as_str()),
        (&camel_case, named),
        (r#"{"block":{}}"#, &unfinished),
        (r#"{"block":{"header":{"height":6}} x}"#, &extra),
    ] {
        fs::write(&even, format!("{start}{item}]")).unwrap();
        let error = import_error(&even);
        assert!(error.contains(expected), "{error}, expected {expected}");
    }
}
