//! `milepost import` from a lake in an object store: faults, missing objects, and a directory.

use std::fs;
use std::path::Path;
use std::process::Output;

use milepost_practice::{BlockMessage, Practice, Settings};
use milepost_testing::feed::{Faults, Feed, FeedChain, FeedServer};
use serde_json::Value;

use crate::fixture::text;
use crate::support::{command, errors};

/// Canonical blocks with skipped heights
fn chain() -> Vec<BlockMessage> {
    let settings = Settings {
        shards: 2,
        forks: 0,
        skips: 100,
        repeats: 0,
        missing_chunks: 100,
        interval: 1..=1,
        ..Settings::simulation(11)
    };
    let mut practice = Practice::new(settings);
    (0..60).map(|_| practice.next_message()).collect()
}

/// An object store whose first 50 blocks at least are final
fn store(chain: &[BlockMessage], faults: Faults) -> FeedServer {
    let (first, messages) = (chain[0].height, chain.to_vec());
    let feed = Feed::new(FeedChain::new(messages.into_iter(), first, 1_000), faults);
    let server = FeedServer::start(feed).expect("a port");
    while server.feed().last(true).is_none_or(|last| last < chain[50].height) {
        std::thread::sleep(core::time::Duration::from_millis(5));
    }
    server
}

fn import(server: &FeedServer, file: &Path, args: &[&str]) -> Output {
    command(&["import", "--store", text(file)])
        .args(args)
        .env("AWS_ENDPOINT", server.endpoint())
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_REGION", "eu-central-1")
        .env("AWS_ACCESS_KEY_ID", "an-id")
        .env("AWS_SECRET_ACCESS_KEY", "a-secret")
        .env("RUST_LOG", "trace")
        .output()
        .unwrap()
}

#[test]
fn a_range_of_a_bucket_is_imported() {
    let chain = chain();
    let faults = Faults { seed: 1, cut: 20, failures: 30, ..Faults::default() };
    let server = store(&chain, faults);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store");
    let (from, to) = (chain[5].height.to_string(), chain[45].height.to_string());
    let range = ["s3://lake/chain", "--from", &from, "--until", &to];
    let output = import(&server, &file, &range);
    assert!(output.status.success(), "{}", errors(&output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.starts_with("blocks imported: 41, transactions: "), "{printed}");
    for secret in ["a-secret", "AWS4-HMAC"] {
        assert!(!errors(&output).contains(secret), "a secret in the log");
    }
    let again = import(&server, &file, &range);
    let printed = String::from_utf8_lossy(&again.stdout).into_owned();
    assert!(printed.contains("already known: 41"), "{printed}");
}

#[test]
fn a_missing_object_is_named() {
    let chain = chain();
    let is_new = |message: &BlockMessage, shard: usize| {
        let message: Value = serde_json::from_slice(&message.json).unwrap();
        message["shards"][shard]["chunk"].is_object()
    };
    let with_chunk = chain[10..40].iter().find(|message| is_new(message, 1)).unwrap().height;
    for lost in
        [format!("{with_chunk:012}/shard_1.json"), format!("{:012}/block.json", chain[20].height)]
    {
        let faults = Faults { lost_objects: vec![lost.clone()], ..Faults::default() };
        let server = store(&chain, faults);
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (chain[5].height.to_string(), chain[45].height.to_string());
        let args = ["s3://lake/chain", "--from", &from, "--until", &to];
        let output = import(&server, &directory.path().join("store"), &args);
        assert_eq!(output.status.code(), Some(1));
        let expected = format!("s3://lake/chain/{lost}: missing, but ");
        assert!(errors(&output).contains(&expected), "{}", errors(&output));
        // A partial feed needs the shards that are tracked, and the block.
        let args = [&args[..], &["--track-shards", "0"]].concat();
        let output = import(&server, &directory.path().join("partial"), &args);
        assert_eq!(output.status.success(), lost.ends_with("shard_1.json"), "{}", errors(&output));
    }
}

#[test]
fn what_is_wrong_with_a_lake_is_said() {
    let server = store(&chain(), Faults::default());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store");
    for (args, expected) in [
        (&["s3://lake/chain"][..], "is imported with --from HEIGHT and --until HEIGHT"),
        (&["s3://key@lake", "--from", "1", "--until", "2"], "a lake is neither s3://bucket"),
        (&["file:///no/such/lake", "--from", "1", "--until", "2"], "file:///no/such/lake: "),
    ] {
        let output = import(&server, &file, args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", errors(&output));
        assert!(errors(&output).contains(expected), "{args:?}: {}", errors(&output));
    }
}

#[test]
fn a_range_of_a_directory_is_imported() {
    let chain = chain();
    let server = store(&chain, Faults::default());
    let directory = tempfile::tempdir().unwrap();
    let lake = directory.path().join("lake");
    for message in &chain[..30] {
        let parts: Value = serde_json::from_slice(&message.json).unwrap();
        let block = lake.join(format!("{:012}", message.height));
        fs::create_dir_all(&block).unwrap();
        fs::write(block.join("block.json"), parts["block"].to_string()).unwrap();
        for shard in parts["shards"].as_array().unwrap() {
            let name = format!("shard_{}.json", shard["shard_id"]);
            fs::write(block.join(name), shard.to_string()).unwrap();
        }
    }
    let (from, to) = (chain[3].height.to_string(), chain[22].height.to_string());
    let url = format!("file://{}", text(&lake));
    // The same blocks by the address and by the path.
    for (name, place) in [("address", url.as_str()), ("path", text(&lake))] {
        let file = directory.path().join(name);
        let output = import(&server, &file, &[place, "--from", &from, "--until", &to]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.starts_with("blocks imported: 20,"), "{printed}{}", errors(&output));
    }
}
