//! Ten thousand requests open at once, on the program as its users start it.
//!
//! `cargo xtask open-requests` runs these tests; each takes a minute or two and both processors, so
//! the manifest leaves them out of plain `cargo test`. No test measures speed: what has to come is
//! waited for, and the watchdog only ends a run that hangs. The figures that are printed are for
//! people.

#![cfg(unix)]
#![expect(unused_crate_dependencies, reason = "the program is driven, its parts are not used")]

extern crate alloc;

mod ahead;
mod client;
#[expect(dead_code, reason = "shared with tests that need more of it")]
#[path = "../program/fixture.rs"]
mod fixture;
mod host;
#[expect(dead_code, reason = "shared with tests that need more of it")]
#[path = "../program/support.rs"]
mod support;

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use milepost::status::Milestone;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time;

use ahead::Road;
use client::{Answer, Caller};
use host::Usage;
use support::{Server, request};

/// Requests that are open at the same time
const CROWD: usize = 10_000;
/// Blocks from the head to the first transaction that is asked for: half a minute in which the
/// crowd gathers, while nothing that it waits for happens
const LEAD: u64 = 50;
/// Heights whose transactions are asked for, some 140
const SPAN: u64 = 20;
/// What only a run that hangs takes
const WATCHDOG: Duration = Duration::from_secs(300);

#[test]
fn ten_thousand_are_answered_at_their_milestones() {
    answers_at_milestones(&[]);
}

#[test]
fn ten_thousand_are_answered_out_of_a_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("practice.redb");
    answers_at_milestones(&["--store", path.to_str().expect("a path in UTF-8")]);
}

/// Opens a crowd that waits for everything there is, and holds every answer against the chain
fn answers_at_milestones(args: &[&str]) {
    let _turn = turn();
    let server = practice_server(args);
    let roads = roads_ahead(&server);
    let before = Usage::of(server.id());

    let runtime = runtime();
    let mut crowd = JoinSet::new();
    for number in 0..CROWD {
        let (roads, address) = (Arc::clone(&roads), server.address);
        crowd.spawn_on(
            async move {
                let (road, wanted) = wish(&roads, number);
                let mut caller = call(address, &road.request(wanted)).await;
                let answer = receive(&mut caller).await;
                caller.send(&road.request(Milestone::None)).await.expect("it stays open");
                (number, answer, receive(&mut caller).await)
            },
            runtime.handle(),
        );
    }
    server.until_metric("milepost_waits_open", CROWD as u64);
    let open = Usage::of(server.id());

    let mut prompt = 0;
    let answered = within(&runtime, crowd.join_all());
    assert_eq!(answered.len(), CROWD);
    for (number, answer, after) in answered {
        let (road, wanted) = wish(&roads, number);
        let step = step_of(road, &answer);
        assert!(step >= road.first(wanted), "{wanted} was not reached: {}", text(&answer));
        // Nothing is taken back: a moment later at least the same is true.
        assert!(step_of(road, &after) >= step, "{} after {}", text(&after), text(&answer));
        prompt += usize::from(step == road.first(wanted));
    }
    assert_eq!(server.metric("milepost_waits_open"), Some(0));
    assert_eq!(server.metric("milepost_waits_total{end=\"reached\"}"), Some(CROWD as u64));
    // A commit is measured when the next one comes.
    server.until("a commit is measured", || {
        server.metric("milepost_commit_to_last_answer_seconds_count").is_some_and(|count| count > 0)
    });

    println!("requests open at once:      {CROWD}");
    println!(
        "answered:                   {CROWD}, {prompt} of them with the block they waited for"
    );
    report(&server, before, open);
    for line in server.get("/metrics").text().lines() {
        if line.starts_with("milepost_commit_to_last_answer_seconds") {
            println!("  {line}");
        }
    }
}

#[test]
fn five_thousand_that_go_away_leave_their_places_to_others() {
    let _turn = turn();
    // Ten more connections for those that look at the figures.
    let (connections, waiting) = ((CROWD + 10).to_string(), CROWD.to_string());
    let server = practice_server(&["--max-connections", &connections, "--max-waiting", &waiting]);
    let roads = roads_ahead(&server);
    let before = Usage::of(server.id());
    let half = CROWD / 2;

    let runtime = runtime();
    let mut staying = JoinSet::new();
    for number in 0..half {
        let (roads, address) = (Arc::clone(&roads), server.address);
        staying.spawn_on(
            async move {
                let (road, wanted) = wish(&roads, number);
                let mut caller = call(address, &road.request(wanted)).await;
                (number, receive(&mut caller).await)
            },
            runtime.handle(),
        );
    }
    let leaving = crowd_for_nothing(&runtime, server.address, half);
    server.until_metric("milepost_waits_open", CROWD as u64);
    let open = Usage::of(server.id());

    leave(&runtime, leaving);
    server.until_metric("milepost_waits_open", half as u64);
    assert_eq!(server.metric("milepost_waits_total{end=\"gone\"}"), Some(half as u64));

    // Without the places of those that went there would be neither connections for these nor waits.
    let others = crowd_for_nothing(&runtime, server.address, half);
    server.until_metric("milepost_waits_open", CROWD as u64);
    let refused =
        within(&runtime, async { receive(&mut call(server.address, &nothing()).await).await });
    assert_unavailable(&refused, &format!("{CROWD} of {CROWD} are taken"));
    assert_eq!(server.metric("milepost_waits_total{end=\"reached\"}"), Some(0));
    leave(&runtime, others);

    let answered = within(&runtime, staying.join_all());
    assert_eq!(answered.len(), half);
    for (number, answer) in answered {
        let (road, wanted) = wish(&roads, number);
        let step = step_of(road, &answer);
        assert!(step >= road.first(wanted), "{wanted} was not reached: {}", text(&answer));
    }
    server.until_metric("milepost_waits_open", 0);
    assert_eq!(server.metric("milepost_waits_total{end=\"gone\"}"), Some(CROWD as u64));
    assert_eq!(server.metric("milepost_waits_total{end=\"reached\"}"), Some(half as u64));

    println!("requests open at once:      {CROWD}, twice");
    println!("gone, the rest answered:    {CROWD} gone, {half} answered");
    report(&server, before, open);
}

#[test]
fn a_stop_answers_ten_thousand() {
    let _turn = turn();
    let server = practice_server(&[]);
    let before = Usage::of(server.id());
    let runtime = runtime();
    let mut crowd = crowd_for_nothing(&runtime, server.address, CROWD);
    server.until_metric("milepost_waits_open", CROWD as u64);
    let open = Usage::of(server.id());
    let mut answers = JoinSet::new();
    for mut caller in crowd.drain(..) {
        answers.spawn_on(
            async move {
                let answer = receive(&mut caller).await;
                caller.end().await.expect("the connection is closed, not reset");
                answer
            },
            runtime.handle(),
        );
    }

    report(&server, before, open);
    server.signal("TERM");
    let stop = Instant::now();
    let answers = within(&runtime, answers.join_all());
    let took = stop.elapsed();
    assert_eq!(server.ended().code(), Some(0));
    assert_eq!(answers.len(), CROWD);
    for answer in answers {
        assert_unavailable(&answer, "the service stops");
    }
    println!("answered by a stop:         {CROWD} after {took:.2?}, exit code 0");
}

/// One test at a time: the files and the processors are enough for one
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn runtime() -> Runtime {
    Runtime::new().expect("threads to run on")
}

/// Runs to the end, but not for ever
fn within<T>(runtime: &Runtime, future: impl Future<Output = T>) -> T {
    let watched = runtime.block_on(async { time::timeout(WATCHDOG, future).await });
    watched.unwrap_or_else(|_| panic!("no end after {} s", WATCHDOG.as_secs()))
}

/// A server that plays the practice chain, started with few open files
fn practice_server(args: &[&str]) -> Server {
    let seed = ahead::SEED.to_string();
    let always = ["--seed", &seed, "--wait-timeout", "1h"];
    host::with_usual_files(|| Server::start(&[&always, args].concat()))
}

/// The transactions that the server does not know yet and soon will
fn roads_ahead(server: &Server) -> Arc<Vec<Road>> {
    let head = server.get("/status").json()["head"]["height"].as_u64().expect("a head");
    Arc::new(ahead::roads(head + LEAD, head + LEAD + SPAN))
}

/// What this one of a crowd waits for: every transaction, with every milestone that is waited for
fn wish(roads: &[Road], number: usize) -> (&Road, Milestone) {
    let wanted = &Milestone::ALL[1..];
    (&roads[number % roads.len()], wanted[(number / roads.len()) % wanted.len()])
}

/// The request that waits for a transaction that never comes
fn nothing() -> String {
    let params = json!({
        "tx_hash": "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T",
        "sender_account_id": "alice.near",
        "wait_until": "INCLUDED",
    });
    request("EXPERIMENTAL_tx_status", &params)
}

/// Callers that wait for it
fn crowd_for_nothing(runtime: &Runtime, address: SocketAddr, count: usize) -> Vec<Caller> {
    let mut crowd = JoinSet::new();
    for _ in 0..count {
        crowd.spawn_on(async move { call(address, &nothing()).await }, runtime.handle());
    }
    within(runtime, crowd.join_all())
}

/// Ends connections, every second one by a reset
fn leave(runtime: &Runtime, crowd: Vec<Caller>) {
    let _sockets = runtime.enter();
    for (number, caller) in crowd.into_iter().enumerate() {
        if number % 2 == 0 {
            caller.reset().expect("the connection is open");
        }
    }
}

async fn call(address: SocketAddr, body: &str) -> Caller {
    let mut caller = Caller::connect(address).await.expect("the server accepts");
    caller.send(body).await.expect("the server takes the request");
    caller
}

async fn receive(caller: &mut Caller) -> Answer {
    caller.receive().await.expect("the server answers")
}

/// The place of an answer on the road of its transaction
fn step_of(road: &Road, answer: &Answer) -> usize {
    assert_eq!(answer.status, 200, "{}", text(answer));
    road.step_of(&answer.body).unwrap_or_else(|| panic!("no block gave this: {}", text(answer)))
}

/// That an answer is the whole answer of a service that cannot let anyone wait
fn assert_unavailable(answer: &Answer, why: &str) {
    let said = text(answer);
    assert_eq!(answer.status, 503, "{said}");
    let body: Value = serde_json::from_slice(&answer.body).expect("the body is JSON");
    assert_eq!(body["id"], "t");
    assert_eq!(body["error"]["cause"]["name"], "INTERNAL_ERROR");
    assert!(said.contains(why), "{said}");
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// Prints what the server took
fn report(server: &Server, before: Usage, open: Usage) {
    let now = Usage::of(server.id());
    let each = open.resident.saturating_sub(before.resident) / CROWD as u64;
    println!("memory of the server:       {} MB at most", now.peak / 1_000_000);
    println!("  per request that waits:   {each} bytes");
    println!("processor time:             {:.1} s, all in all", now.seconds);
}
