//! The lines that a server prints at its start, whose command a shell runs as it is printed.

use core::net::Ipv6Addr;
use std::process::Command;

use serde_json::Value;

use crate::fixture::{message_files, text};
use crate::support::{Server, command, run};

/// Starts a server; its three lines and the output of the printed command
fn started(args: &[&str]) -> ([String; 3], Value) {
    let mut serve = command(&["serve"]);
    serve.args(args);
    let server = Server::spawn(serve);
    let line = || server.line().expect("a line");
    let lines = [server.first.clone(), line(), line()];
    let script = lines[2].strip_prefix("Try   ").expect("a command");
    let output = Command::new("sh").args(["-c", script]).output().expect("`sh` exists");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{script}: {output:?}");
    let value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{script}: {printed}"));
    (lines, value)
}

#[test]
fn the_printed_command_is_answered_for_every_form_of_address() {
    let mut cases = vec![
        (&["--listen", "127.0.0.1:0"][..], "http://127.0.0.1:", "/"),
        (&["--listen", "0.0.0.0:0"], "http://127.0.0.1:", "/"),
        (&["--listen", "127.0.0.1:0", "--base-path", "/near"], "http://127.0.0.1:", "/near/"),
        (&["--listen", "localhost:0"], "http://", "/"),
    ];
    // Containers may have no IPv6.
    if std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        cases.push((&["--listen", "[::]:0"], "http://[::1]:", "/"));
        cases.push((&["--listen", "[::1]:0", "--base-path", "/near/"], "http://[::1]:", "/near/"));
    }
    for (args, start, end) in cases {
        let (lines, answer) = started(args);
        let rest = lines[0].strip_prefix("Page  ").expect("the page");
        let (url, note) = rest.split_once(' ').expect("a note");
        assert!(url.starts_with(start) && url.ends_with(end), "{args:?}: {url}");
        assert_eq!(note.trim_start(), "(demonstration chain, a block every 0.6 s)");
        assert_eq!(lines[1], format!("API   {url}   (JSON-RPC 2.0, POST)"));
        assert_eq!(answer["result"]["final_execution_status"], "FINAL", "{args:?}: {answer}");
    }
}

#[test]
fn the_default_address_is_that_of_a_node() {
    // Another process may have the port.
    let Ok(free) = std::net::TcpListener::bind("127.0.0.1:3030") else { return };
    drop(free);
    let (lines, answer) = started(&[]);
    assert_eq!(
        lines[0],
        "Page  http://127.0.0.1:3030/   (demonstration chain, a block every 0.6 s)"
    );
    assert_eq!(answer["result"]["final_execution_status"], "FINAL", "{answer}");
}

#[test]
fn a_server_without_a_transaction_to_show_prints_a_request_for_its_state() {
    let (files, folder) = (message_files(), tempfile::tempdir().unwrap());
    let store = folder.path().join("chain.milepost");
    let listen = ["--listen", "127.0.0.1:0"];
    let (lines, answer) = started(&[&listen[..], &["--blocks", text(files.path())]].concat());
    assert!(lines[0].ends_with('/'), "{}", lines[0]);
    assert!(answer["head"].is_object(), "{answer}");
    // The practice chain forgets the transaction that it would print.
    let practice = ["--follow", "practice", "--store", text(&store), "--retention", "blocks:50"];
    let (_, answer) = started(&[&listen[..], &practice].concat());
    assert_eq!(answer["chain_id"], "practice");
    assert!(run(&["store", "check", text(&store)]).status.success());
    let (lines, answer) = started(&[&listen[..], &["--store", text(&store)]].concat());
    assert!(lines[0].contains("   (no feed: blocks "), "{}", lines[0]);
    assert!(lines[2].ends_with("/status"), "{}", lines[2]);
    assert_eq!(answer["chain_id"], "practice");
}
