//! The commands `milepost status` and `milepost config`, on a node and on a store.

use crate::fixture::{self, text};
use crate::support::{Server, errors, run};

const UNKNOWN: &str = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";

fn printed(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", errors(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_node_and_a_store_print_the_same() {
    let (files, configs) = (fixture::message_files(), fixture::configs());
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("chain.milepost");
    let (files, configs) = (text(files.path()), text(configs.path()));
    printed(&["import", "--store", text(&store), "--configs", configs, files]);
    let server = Server::start(&["--blocks", files, "--configs", configs]);
    let url = server.url();

    for transaction in fixture::transactions() {
        let (hash, signer) = (transaction.hash.to_string(), transaction.signer_id.to_string());
        let from_node = printed(&["status", &hash, &signer, "--url", &url]);
        assert_eq!(printed(&["status", &hash, "--store", text(&store)]), from_node);
        assert!(from_node.starts_with(&format!("transaction {hash}\nmilestone ")), "{from_node}");
    }
    let first = fixture::transactions().next().expect("there are transactions").hash.to_string();
    let tree = printed(&["status", &first, "--url", &url]);
    assert!(tree.contains("└─ receipt "), "{tree}");
    let json = printed(&["status", &first, "--url", &url, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["result"]["transaction"]["hash"], first.as_str());

    for block in [&["final"][..], &["genesis"], &[]] {
        let config = |target: [&str; 2]| printed(&[&["config"], block, &target].concat());
        let from_node = config(["--url", &url]);
        assert!(from_node.contains("  \"chain_id\": \"practice\",\n"), "{from_node}");
        assert_eq!(config(["--store", text(&store)]), from_node);
    }
}

#[test]
fn the_exit_code_of_a_missing_result_is_1() {
    let server = Server::with_blocks(&["--timeout", "20ms"]);
    let url = server.url();
    for (args, expected) in [
        (&["status", UNKNOWN, "--url", &url][..], "UNKNOWN_TRANSACTION"),
        (&["status", UNKNOWN, "a.near", "--wait-until", "FINAL", "--url", &url], "TIMEOUT_ERROR"),
        (&["config", "7", "--url", &url], "UNKNOWN_BLOCK"),
        (&["config", UNKNOWN, "--url", &url], "UNKNOWN_BLOCK"),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", errors(&output));
        assert!(errors(&output).contains(expected), "{args:?}: {}", errors(&output));
        assert!(output.stdout.is_empty());
    }
    let output = run(&["status", UNKNOWN, "--json", "--url", &url]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("UNKNOWN_TRANSACTION"));
    let invalid = run(&["config", "no hash", "--url", &url]);
    assert_eq!(invalid.status.code(), Some(2));
}
