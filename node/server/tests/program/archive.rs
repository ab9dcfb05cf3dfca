//! An archive in a directory behind a store in memory: what the store forgot is still answered,
//! also by a server that never had the blocks.

use std::path::Path;

use milepost_testing::feed::Faults;

use crate::archive_commands::stats;
use crate::follow::{canonical, chain, follow, serve_feed, status_of};
use crate::support::{Server, errors, run};

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
    server.until("the archive has heights", || {
        server.get("/status").json()["archive"]["complete"][0][0] == messages[0].height
    });
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

#[test]
fn an_archive_keeps_the_heights_that_it_is_told_to_keep() {
    let messages = chain(32, 160);
    let feed = serve_feed(&messages, Faults::default());
    let directory = tempfile::tempdir().unwrap();
    let store = format!("{}/", directory.path().join("store").to_str().expect("a path in UTF-8"));
    let first = messages[0].height;
    let from = first.to_string();
    let args = ["--max-age", "1h", "--from", &from, "--store", &store, "--retention", "blocks:20"];
    let server = follow(&feed, &[&args[..], &["--archive-retention", "heights:60"]].concat());
    let complete = || server.get("/status").json()["archive"]["complete"].clone();
    let last = messages.last().unwrap().height;
    server.until("the oldest heights are removed", || {
        let complete = complete();
        let [start, end] = [0, 1].map(|index| complete[0][index].as_u64().unwrap_or_default());
        let is_removed = server.metric("milepost_archive_removed_keys_total") > Some(0);
        start > last - 80 && end > last - 10 && is_removed
    });
    let end = complete()[0][1].as_u64().expect("a height");
    let (mut known, mut unknown) = (0, Vec::new());
    for message in canonical(&messages).filter(|message| message.height <= end) {
        for transaction in &message.transactions {
            let answer = server.post("/", &status_of(transaction, "NONE"));
            match answer.cause().as_str() {
                "" => known += 1,
                "UNKNOWN_TRANSACTION" => unknown.push(message.height),
                _ => panic!("{}", answer.text()),
            }
        }
    }
    // What is removed is whole heights, and nothing of those that are kept. More may be removed by
    // now than when the transactions were asked for.
    let start = complete()[0][0].as_u64().expect("a height");
    assert!(start < last - 50, "{}", complete());
    assert!(unknown.iter().all(|height| *height < start), "{unknown:?} below {start}");
    assert!(known > 10 && unknown.len() > 10, "{known} known, {} unknown", unknown.len());
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    let archive = format!("{store}archive");
    let stats = stats(Path::new(&archive));
    assert!(stats["writers"][0]["complete"][0][0].as_u64() >= Some(start), "{stats}");
    let heights = &stats["tables"]["archived_heights"]["rows"];
    // What the server was removing when it ended is removed by the next one.
    assert!(heights.as_u64() < Some(80), "{stats}");
}

#[test]
fn options_of_an_archive_need_one_that_they_are_about() {
    for (args, expected) in [
        (&["--archive-misses", "5"][..], "--archive-misses: there is no archive"),
        (&["--archive-write", "off"], "--archive-write: there is no archive"),
        (&["--archive-older", "old"], "--archive-older: there is no archive"),
        (&["--archive", "new", "--archive-older", "old"], "--archive-older: old: no such archive"),
        (&["--archive", "new", "--archive-older", "new"], "--archive-older: new is named twice"),
        (
            &["--archive", "memory", "--archive-write", "off", "--archive-retention", "heights:9"],
            "--archive-retention: a server that does not write removes nothing",
        ),
        (&["--archive-retention", "blocks:9"], "`blocks:9` is neither everything nor heights:N"),
    ] {
        let output = run(&[&["serve", "--listen", "127.0.0.1:0"], args].concat());
        assert!(!output.status.success());
        assert!(errors(&output).contains(expected), "{}", errors(&output));
    }
}
