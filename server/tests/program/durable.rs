//! The practice chain on a durable store.

#![cfg(unix)]

use crate::fixture::text;
use crate::support::{Server, command, errors};

fn height(server: &Server) -> u64 {
    server.get("/status").json()["head"]["height"].as_u64().expect("a practice chain has a head")
}

#[test]
fn a_practice_chain_continues_at_the_head_of_its_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("practice.milepost");
    let server = Server::start(&["--store", text(&store), "--seed", "5"]);
    let before = server.get("/status").json()["head"].clone();
    let earliest = server.get("/status").json()["earliest"].clone();
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));

    let server = Server::start(&["--store", text(&store), "--seed", "5"]);
    let start = height(&server);
    assert!(before["height"].as_u64().is_some_and(|height| height <= start));
    assert_eq!(server.get("/status").json()["earliest"], earliest);
    // The next block extends the head of the store.
    server.until("the chain grows", || height(&server) > start);
    server.signal("INT");
    assert_eq!(server.ended().code(), Some(0));

    let other_seed = command(&["serve", "--listen", "127.0.0.1:0", "--store", text(&store)])
        .args(["--seed", "6"])
        .output()
        .unwrap();
    assert_eq!(other_seed.status.code(), Some(1));
    assert!(errors(&other_seed).contains("another practice chain"), "{}", errors(&other_seed));
}
