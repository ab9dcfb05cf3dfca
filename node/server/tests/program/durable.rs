//! A durable store: the practice chain on it, and the rule of finality by which it was filled.

#![cfg(unix)]

use crate::fixture::{head, message_files, text};
use crate::support::{Server, command, errors};

fn height(server: &Server) -> u64 {
    server.get("/status").json()["head"]["height"].as_u64().expect("a practice chain has a head")
}

#[test]
fn a_practice_chain_continues_at_the_head_of_its_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("practice.milepost");
    let server = Server::start(&["--store", text(&store), "--follow", "practice:5"]);
    let before = server.get("/status").json()["head"].clone();
    let earliest = server.get("/status").json()["earliest"].clone();
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));

    let server = Server::start(&["--store", text(&store), "--follow", "practice:5"]);
    let start = height(&server);
    assert!(before["height"].as_u64().is_some_and(|height| height <= start));
    assert_eq!(server.get("/status").json()["earliest"], earliest);
    // The next block extends the head of the store.
    server.until("the chain grows", || height(&server) > start);
    server.signal("INT");
    assert_eq!(server.ended().code(), Some(0));

    let other_seed = command(&["serve", "--listen", "127.0.0.1:0", "--store", text(&store)])
        .args(["--follow", "practice:6"])
        .output()
        .unwrap();
    assert_eq!(other_seed.status.code(), Some(2));
    assert!(errors(&other_seed).contains("another practice chain"), "{}", errors(&other_seed));
}

#[test]
fn the_rule_of_finality_of_a_store_is_remembered_and_a_change_of_it_is_logged() {
    let (directory, files) = (tempfile::tempdir().unwrap(), message_files());
    let store = directory.path().join("chain.milepost");
    let import = |args: &[&str]| {
        let output = command(&["import", "--store", text(&store), text(files.path())])
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", errors(&output));
        errors(&output)
    };
    let last_final = |args: &[&str]| {
        let server = Server::start(&[&["--store", text(&store)], args].concat());
        let height = server.get("/status").json()["final"]["height"].as_u64();
        server.signal("TERM");
        assert_eq!(server.ended().code(), Some(0));
        height
    };
    let becomes = format!("filled with --finality headers: its blocks up to {} become", head());
    let stay = format!("filled with --finality all: its blocks up to {} stay final", head());
    let is_silent = |log: &str| !log.contains("--finality");
    assert!(is_silent(&import(&[])) && is_silent(&import(&["--finality", "headers"])));
    assert!(last_final(&[]).is_some_and(|height| height < head()));
    // No new block is needed to apply it.
    assert_eq!(last_final(&["--finality", "all"]), Some(head()));
    assert!(is_silent(&import(&[])) && is_silent(&import(&["--finality", "all"])));
    let log = import(&["--finality", "headers"]);
    assert!(log.contains(&stay), "{log}");
    assert_eq!(last_final(&[]), Some(head()));

    std::fs::remove_file(&store).unwrap();
    // It was not lost.
    std::fs::remove_file(store.with_extension("milepost.acknowledged")).unwrap();
    import(&[]);
    let log = import(&["--finality", "all"]);
    assert!(log.contains(&becomes), "{log}");
}
