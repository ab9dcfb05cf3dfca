//! `milepost store` on the file of a server, while it runs and after it.

#![cfg(unix)]

use std::fs;
use std::path::Path;

use milepost::storage::{Batch, Key, Storage as _, Table};
use milepost_redb::{Options, RedbStorage};
use serde_json::Value;

use crate::fixture::{configs, head, message_files, text};
use crate::support::{Server, command, errors, run};

fn imported(store: &Path) {
    let (configs, files) = (configs(), message_files());
    let output = command(&["import", "--store", text(store), "--configs", text(configs.path())])
        .arg(files.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", errors(&output));
}

fn printed(args: &[&str], code: i32) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_store_is_described_checked_compacted_and_copied() {
    let directory = tempfile::tempdir().unwrap();
    let [store, copy] = ["chain.milepost", "copy.milepost"].map(|name| directory.path().join(name));
    imported(&store);
    let info: Value = serde_json::from_str(&printed(&["store", "info", text(&store)], 0)).unwrap();
    assert_eq!(info["head"], head());
    assert_eq!(info["format_version"], 3);
    assert!(info["tables"]["blocks"]["rows"].as_u64() == info["blocks"].as_u64());
    assert!(info["tables"]["transactions"]["stored_bytes"].as_u64().is_some_and(|it| it > 1000));
    assert_eq!(info["file_bytes"], fs::metadata(&store).unwrap().len());

    assert!(printed(&["store", "check", text(&store)], 0).contains(": sound, "));
    assert!(printed(&["store", "compact", text(&store)], 0).contains(" bytes, now "));
    assert!(printed(&["store", "backup", text(&store), text(&copy)], 0).contains(" rows, "));
    let of_copy: Value =
        serde_json::from_str(&printed(&["store", "info", text(&copy)], 0)).unwrap();
    for member in ["blocks", "head", "final", "earliest", "complete_from", "chain_id"] {
        assert_eq!(of_copy[member], info[member], "{member}");
    }

    let mut file = fs::read(&store).unwrap();
    let length = file.len();
    file.truncate(length / 2);
    fs::write(&store, file).unwrap();
    let report = printed(&["store", "check", text(&store)], 1);
    assert!(report.contains("problem"), "{report}");
}

#[test]
fn a_store_is_copied_while_its_server_runs() {
    let directory = tempfile::tempdir().unwrap();
    let [store, copy] = ["chain.milepost", "copy.milepost"].map(|name| directory.path().join(name));
    let socket = directory.path().join("chain.milepost.socket");
    // Left by a server that was killed.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let server = Server::start(&["--store", text(&store), "--follow", "practice:5"]);
    let height = || server.get("/status").json()["head"]["height"].as_u64().unwrap();
    let before = height();
    server.until("backups are served", || {
        run(&["store", "backup", text(&store), text(&copy)]).status.success()
    });
    let after = height();
    assert!(printed(&["store", "check", text(&copy)], 0).contains(": sound, "));
    let info: Value = serde_json::from_str(&printed(&["store", "info", text(&copy)], 0)).unwrap();
    assert!((before..=after).contains(&info["head"].as_u64().unwrap()), "{info}");

    for args in [&["store", "check"][..], &["store", "compact"], &["store", "info"]] {
        let output = run(&[args, &[text(&store)]].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(errors(&output).contains("is open already"), "{}", errors(&output));
    }
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    assert!(!socket.exists());

    // The copy is a store like any other.
    let server = Server::start(&["--store", text(&copy), "--follow", "practice:5"]);
    let height = || server.get("/status").json()["head"]["height"].as_u64().unwrap();
    let start = height();
    server.until("the chain grows", || height() > start);
}

/// A store whose file has more than 64 MiB, with two rows of no chain
///
/// redb stores the larger one in pages whose number is a power of two.
fn large(path: &Path) {
    let mut storage = RedbStorage::open(path, &Options::default()).unwrap();
    let mut batch = Batch::new();
    batch.put(Key::number(Table::Heights, 1), vec![33; 3 * 4096]);
    batch.put(Key::number(Table::Heights, 2), vec![2; 33 << 20]);
    storage.commit(batch).unwrap();
    drop(storage);
    assert!(fs::metadata(path).unwrap().len() > 64 << 20);
}

#[test]
fn a_damaged_store_ends_its_server_with_an_exit_code_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("chain.milepost");
    large(&store);
    let args =
        ["serve", "--listen", "127.0.0.1:0", "--follow", "practice", "--store", text(&store)];
    let mut file = fs::read(&store).unwrap();
    let page = file.chunks(4096).position(|page| page == [33; 4096]).unwrap();
    file[page * 4096] ^= 1;
    fs::write(&store, &file).unwrap();
    let output = run(&args);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    assert!(errors(&output).contains("is damaged"), "{}", errors(&output));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("http://127.0.0.1:"), "{printed}");

    // Found when it is opened.
    let file = fs::read(&store).unwrap();
    fs::write(&store, &file[..file.len() / 2]).unwrap();
    let output = run(&args);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
}

#[test]
fn a_server_that_has_verified_its_store_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("chain.milepost");
    large(&store);
    let server = Server::start(&["--follow", "practice", "--store", text(&store)]);
    server
        .until("the store is verified", || server.get("/status").json()["store_verified"] == true);
    assert!(server.metric("milepost_store_verified_bytes_total") > Some(33 << 20));
}

#[test]
fn commands_on_a_store_that_is_not_there_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let [store, copy] = ["chain.milepost", "copy.milepost"].map(|name| directory.path().join(name));
    for args in [
        &["store", "info", text(&store)][..],
        &["store", "check", text(&store)],
        &["store", "compact", text(&store)],
        &["store", "backup", text(&store), text(&copy)],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(errors(&output).contains("No such file"), "{}", errors(&output));
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
