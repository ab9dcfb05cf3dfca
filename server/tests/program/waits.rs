//! Requests that wait: until a block comes, time is up, the client goes, or the service stops.

use std::process::Command;

use milepost_practice::{Kind, Practice, PracticeTransaction, Settings};
use serde_json::{Value, json};

use crate::support::{Server, post, request};

fn never() -> String {
    let hash = "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T";
    let params =
        json!({ "tx_hash": hash, "sender_account_id": "alice.near", "wait_until": "INCLUDED" });
    request("tx", &params)
}

#[test]
fn a_client_that_goes_away_gives_its_place_back() {
    let server = Server::quiet(&["--wait-timeout", "1h"]);
    let mut client = server.connect();
    client.send(&post("/", &never()));
    server.until_metric("milepost_waits_open", 1);
    assert_eq!(server.get("/status").json()["waiting"], 1);
    drop(client);
    server.until_metric("milepost_waits_open", 0);
    assert_eq!(server.metric("milepost_waits_total{end=\"gone\"}"), Some(1));
}

#[test]
fn time_up_is_an_answer_on_a_connection_that_lives_on() {
    let server = Server::quiet(&["--wait-timeout", "20ms"]);
    let mut client = server.connect();
    for _ in 0..2 {
        client.send(&post("/", &never()));
        let answer = client.answer();
        assert_eq!((answer.status, answer.cause().as_str()), (408, "TIMEOUT_ERROR"));
        assert_eq!(answer.json().pointer("/error/cause/info"), None);
    }
    assert_eq!(server.metric("milepost_waits_total{end=\"timeout\"}"), Some(2));
}

#[test]
fn there_are_as_many_places_as_the_command_line_says() {
    let server = Server::quiet(&["--wait-timeout", "1h", "--max-waiting", "2"]);
    let mut clients = [server.connect(), server.connect()];
    clients.iter_mut().for_each(|client| client.send(&post("/", &never())));
    server.until_metric("milepost_waits_open", 2);
    let refused = server.post("/", &never());
    assert_eq!((refused.status, refused.cause().as_str()), (503, "INTERNAL_ERROR"));
    let text = refused.text();
    let full = "no place to wait: 2 of 2 are taken, and the request needs 1";
    assert!(text.contains(full), "{text}");
    // What need not wait needs no place.
    let known = server.post("/", &never().replace("\"INCLUDED\"", "\"NONE\""));
    assert_eq!(known.cause(), "UNKNOWN_TRANSACTION");
    // A client that goes makes room for another.
    let [gone, _stays] = clients;
    drop(gone);
    server.until_metric("milepost_waits_open", 1);
    let mut next = server.connect();
    next.send(&post("/", &never()));
    server.until_metric("milepost_waits_open", 2);
}

#[test]
fn an_unknown_transaction_is_answered_at_once_if_wanted() {
    let server = Server::quiet(&["--wait-timeout", "1h", "--unknown", "immediate"]);
    let answer = server.post("/", &never());
    assert_eq!((answer.status, answer.cause().as_str()), (200, "UNKNOWN_TRANSACTION"));
}

#[test]
fn the_reason_of_a_timeout_is_told_when_asked_for() {
    let server = Server::quiet(&["--wait-timeout", "20ms", "--timeout-cause"]);
    let answer = server.post("/", &never()).json();
    assert_eq!(
        answer.pointer("/error/cause/info/cause").and_then(Value::as_str),
        Some("NOT_OBSERVED")
    );
}

#[test]
#[cfg(unix)]
fn a_stop_answers_who_waits_and_ends_well() {
    for signal in ["TERM", "INT"] {
        let server = Server::quiet(&["--wait-timeout", "1h"]);
        let mut waiting = server.connect();
        waiting.send(&post("/", &never()));
        // An idle connection that is kept alive must not hold up the end.
        let mut idle = server.connect();
        idle.send("GET /health HTTP/1.1\r\nhost: x\r\n\r\n");
        assert_eq!(idle.answer().status, 200);
        server.until_metric("milepost_waits_open", 1);
        server.signal(signal);
        let answer = waiting.answer();
        assert_eq!((answer.status, answer.cause().as_str()), (503, "INTERNAL_ERROR"));
        assert!(answer.text().contains("the service stops"), "{}", answer.text());
        assert_eq!(server.ended().code(), Some(0));
    }
}

#[test]
fn a_block_ends_the_waits_that_it_fulfils() {
    let server = Server::start(&["--wait-timeout", "1h"]);
    // On a busy machine a request may come when its block is there already; then it did not wait, and the
    // next one asks further ahead.
    let waited = [8, 16, 32].into_iter().any(|ahead| {
        let height = server.get("/status").json()["head"]["height"].as_u64().expect("a head");
        let transaction = transfer_behind(height + ahead);
        let params = json!({
            "tx_hash": transaction.hash.to_string(),
            "sender_account_id": transaction.signer_id.to_string(),
            "wait_until": "FINAL",
        });
        let answer = server.post("/", &request("EXPERIMENTAL_tx_status", &params));
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json()["result"]["final_execution_status"], "FINAL");
        server.metric("milepost_waits_total{end=\"reached\"}") == Some(1)
    });
    assert!(waited);
    server.until_metric("milepost_commit_to_last_answer_seconds_count", 1);
}

/// A transfer in a block behind this height: the chain follows from its seed, so it can be asked for before
/// it happens
fn transfer_behind(height: u64) -> PracticeTransaction {
    let mut chain = Practice::new(Settings::demo(1));
    loop {
        let message = chain.next_message();
        let transfer = |transaction: &PracticeTransaction| transaction.kind == Kind::Transfer;
        if message.height > height
            && let Some(transaction) = message.transactions.into_iter().find(transfer)
        {
            return transaction;
        }
    }
}

#[test]
fn the_practice_chain_tells_what_can_be_asked() {
    // Longer than the patience of this test: whatever waits for nothing fails it.
    let server = Server::start(&["--wait-timeout", "1h"]);
    let (mut methods, mut milestones, mut trees) = (Vec::new(), Vec::new(), 0);
    while let Some(line) = server.line() {
        if line.ends_with("/status") {
            break;
        }
        if let Some((_, path)) = line.split_once("/practice/") {
            // A milestone at the moment of asking, whenever that is.
            let answer = server.get(&format!("/practice/{path}"));
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.json()["result"]["final_execution_status"], path);
            milestones.push(path.to_owned());
        } else if line.starts_with("curl") {
            let body = line.split('\'').nth(3).expect("the body stands between quotes");
            let body: Value = serde_json::from_str(body).expect("the body is JSON");
            let params = &body["params"];
            methods.push((body["method"].clone(), params.get("signed_tx_base64").is_some()));
            let answer = server.post("/", &body.to_string());
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert!(answer.json().get("result").is_some(), "{}", answer.text());
        } else if let Some((program, rest)) = line.split_once(" status ") {
            // The program is named so that a shell finds it, wherever it was started from.
            let output = Command::new(program).arg("status").args(rest.split(' ')).output();
            let output = output.expect("the line names a program");
            assert!(output.status.success(), "{line}");
            trees += 1;
        }
    }
    assert_eq!(trees, 1);
    assert_eq!(
        milestones,
        ["INCLUDED", "EXECUTED_OPTIMISTIC", "INCLUDED_FINAL", "EXECUTED", "FINAL"]
    );
    assert_eq!(server.get("/practice/included").status, 404);
    // Nothing comes to stand there, so there is nothing to wait for.
    assert_eq!(server.get("/practice/NONE").status, 404);
    assert_eq!(server.post("/practice/FINAL", "{}").status, 405);
    assert_eq!(server.post("/practice/recent", "{}").status, 405);
    for wanted in [
        ("EXPERIMENTAL_tx_status", false),
        ("EXPERIMENTAL_tx_status", true),
        ("EXPERIMENTAL_protocol_config", false),
    ] {
        assert!(methods.contains(&(wanted.0.into(), wanted.1)), "{wanted:?} in {methods:?}");
    }
}
