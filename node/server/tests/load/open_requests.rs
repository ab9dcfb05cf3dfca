//! Many concurrent requests to the program: 500, or as many as `MILEPOST_OPEN_REQUESTS` says.
//!
//! `cargo xtask verify open-requests` runs these tests with 10,000; each then takes a minute or
//! two and two processors, and they run one at a time. No test asserts a speed: tests wait for
//! conditions, and the watchdog only ends a run that hangs. The printed measurements are
//! informative.

mod client;
mod expected;
mod lock_time;

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::env;
use std::sync::LazyLock;
use std::time::Instant;

use milepost::status::Milestone;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time;

use client::{Client, Response};
use expected::ResponseHistory;

use crate::alone;
use crate::host::{self, Usage};
use crate::support::{Server, request};

/// Number of concurrent requests that tests send
static REQUESTS: LazyLock<usize> = LazyLock::new(|| match env::var("MILEPOST_OPEN_REQUESTS") {
    Ok(number) => number.parse().expect("MILEPOST_OPEN_REQUESTS is a number"),
    Err(_) => FEW_REQUESTS,
});
/// Number of requests of a run of all tests: many more than threads, and sent within a second
const FEW_REQUESTS: usize = 500;
/// The timeout of a run
const WATCHDOG: Duration = Duration::from_secs(300);

/// Transactions of blocks that a server with a practice chain does not have when it starts
static HISTORIES: LazyLock<Arc<Vec<ResponseHistory>>> = LazyLock::new(|| {
    // The lead is the time in which requests are sent and none of their conditions is met: half a
    // minute for many requests, then some 140 transactions; 4 seconds for few, then the fast ones
    // of some 20.
    let is_long = *REQUESTS > FEW_REQUESTS;
    let (lead, span, max_blocks) = if is_long { (50, 21, usize::MAX) } else { (6, 3, 5) };
    Arc::new(expected::response_histories(lead, span, max_blocks))
});

#[test]
fn requests_are_answered_at_their_milestones() {
    check_responses(&[]);
}

#[test]
fn requests_are_answered_from_a_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("practice.redb");
    let path = path.to_str().expect("a path in UTF-8");
    check_responses(&["--store", path]);
}

/// Sends requests for all transactions and milestones, and compares every response with the chain
fn check_responses(args: &[&str]) {
    let _lock = alone();
    let (requests, histories) = (*REQUESTS, Arc::clone(&HISTORIES));
    let server = practice_server(args);
    let before = Usage::of(server.id());

    let runtime = runtime();
    let mut tasks = JoinSet::new();
    for number in 0..requests {
        let (histories, address) = (Arc::clone(&histories), server.address);
        tasks.spawn_on(
            async move {
                let (history, wait_until) = query(&histories, number);
                let mut client = send(address, &history.request(wait_until)).await;
                let response = receive(&mut client).await;
                let status_now = history.request(Milestone::None);
                client.send(&status_now).await.expect("the connection stays open");
                (number, response, receive(&mut client).await)
            },
            runtime.handle(),
        );
    }
    server.until_metric("milepost_requests_pending", requests as u64);
    let open = Usage::of(server.id());

    let mut prompt = 0;
    let answered = within(&runtime, tasks.join_all());
    assert_eq!(answered.len(), requests);
    for (number, response, later) in answered {
        let (history, wait_until) = query(&histories, number);
        let index = index_of(history, &response);
        let first = history.first_index(wait_until);
        assert!(index >= first, "{wait_until} was not reached: {}", text(&response));
        // Statuses never go back.
        assert!(index_of(history, &later) >= index, "{} after {}", text(&later), text(&response));
        prompt += usize::from(index == first);
    }
    assert_eq!(server.metric("milepost_requests_pending"), Some(0));
    assert_eq!(server.metric("milepost_waits_total{end=\"reached\"}"), Some(requests as u64));
    // A commit is observed after the last request that it woke.
    server.until("a commit is observed", || {
        let count = server.metric("milepost_commit_to_last_response_seconds_count");
        count.is_some_and(|count| count > 0)
    });

    println!("concurrent requests:        {requests}");
    println!(
        "answered:                   {requests}, {prompt} of them by the first possible block"
    );
    report(&server, before, open);
    for line in server.get("/metrics").text().lines() {
        if line.starts_with("milepost_commit_to_last_response_seconds") {
            println!("  {line}");
        }
    }
}

#[test]
fn disconnected_requests_free_their_permits() {
    let _lock = alone();
    let (requests, histories) = (*REQUESTS, Arc::clone(&HISTORIES));
    // Ten more connections for the metrics.
    let (connections, waiting) = ((requests + 10).to_string(), requests.to_string());
    let server = practice_server(&["--max-connections", &connections, "--max-waiting", &waiting]);
    let before = Usage::of(server.id());
    let half = requests / 2;

    let runtime = runtime();
    let mut staying = JoinSet::new();
    for number in 0..half {
        let (histories, address) = (Arc::clone(&histories), server.address);
        staying.spawn_on(
            async move {
                let (history, wait_until) = query(&histories, number);
                let mut client = send(address, &history.request(wait_until)).await;
                (number, receive(&mut client).await)
            },
            runtime.handle(),
        );
    }
    let leaving = unanswerable_requests(&runtime, server.address, half);
    server.until_metric("milepost_requests_pending", requests as u64);
    let open = Usage::of(server.id());

    disconnect(&runtime, leaving);
    server.until_metric("milepost_requests_pending", half as u64);
    assert_eq!(server.metric("milepost_waits_total{end=\"disconnected\"}"), Some(half as u64));

    // These need the connections and the pending requests that were freed.
    let others = unanswerable_requests(&runtime, server.address, half);
    server.until_metric("milepost_requests_pending", requests as u64);
    let rejected =
        within(&runtime, async { receive(&mut send(server.address, &unknown()).await).await });
    assert_unavailable(&rejected, &format!("{requests} of {requests}"));
    assert_eq!(server.metric("milepost_waits_total{end=\"reached\"}"), Some(0));
    disconnect(&runtime, others);

    let answered = within(&runtime, staying.join_all());
    assert_eq!(answered.len(), half);
    for (number, response) in answered {
        let (history, wait_until) = query(&histories, number);
        let index = index_of(history, &response);
        let first = history.first_index(wait_until);
        assert!(index >= first, "{wait_until} was not reached: {}", text(&response));
    }
    server.until_metric("milepost_requests_pending", 0);
    assert_eq!(server.metric("milepost_waits_total{end=\"disconnected\"}"), Some(requests as u64));
    assert_eq!(server.metric("milepost_waits_total{end=\"reached\"}"), Some(half as u64));

    println!("concurrent requests:        {requests}, twice");
    println!("ended:                      {requests} disconnected, {half} answered");
    report(&server, before, open);
}

#[test]
fn a_shutdown_answers_all_requests() {
    let _lock = alone();
    let requests = *REQUESTS;
    let server = practice_server(&[]);
    let before = Usage::of(server.id());
    let runtime = runtime();
    let mut clients = unanswerable_requests(&runtime, server.address, requests);
    server.until_metric("milepost_requests_pending", requests as u64);
    let open = Usage::of(server.id());
    let mut tasks = JoinSet::new();
    for mut client in clients.drain(..) {
        tasks.spawn_on(
            async move {
                let response = receive(&mut client).await;
                client.end().await.expect("the connection is closed, not reset");
                response
            },
            runtime.handle(),
        );
    }

    report(&server, before, open);
    server.signal("TERM");
    let start = Instant::now();
    let responses = within(&runtime, tasks.join_all());
    let elapsed = start.elapsed();
    assert_eq!(server.ended().code(), Some(0));
    assert_eq!(responses.len(), requests);
    for response in responses {
        assert_unavailable(&response, "the service stops");
    }
    println!("answered at the shutdown:   {requests} after {elapsed:.2?}, exit code 0");
}

#[test]
fn no_response_is_written_under_the_lock() {
    let _lock = alone();
    lock_time::check(*REQUESTS);
}

fn runtime() -> Runtime {
    Runtime::new().expect("a runtime")
}

/// Runs a future to its end, within the timeout of a run
fn within<T>(runtime: &Runtime, future: impl Future<Output = T>) -> T {
    let result = runtime.block_on(async { time::timeout(WATCHDOG, future).await });
    result.unwrap_or_else(|_| panic!("not finished after {} s", WATCHDOG.as_secs()))
}

/// A server with the practice chain; started under the usual limit of open files, which would be
/// too low for many requests
fn practice_server(args: &[&str]) -> Server {
    let practice = format!("practice:{}", expected::SEED);
    let common = ["--follow", &practice, "--timeout", "1h"];
    let start = || Server::start(&[&common, args].concat());
    // The connections of all tests that run at a time, and a margin.
    if *REQUESTS > FEW_REQUESTS {
        return host::with_default_file_limit(*REQUESTS as u64 + 240, start);
    }
    host::set_file_limit(4 * *REQUESTS as u64 + 240);
    start()
}

/// The transaction and the milestone of a request; all requests together cover every pair
fn query(histories: &[ResponseHistory], number: usize) -> (&ResponseHistory, Milestone) {
    let milestones = &Milestone::ALL[1..];
    let round = number / histories.len();
    (&histories[number % histories.len()], milestones[round % milestones.len()])
}

/// A request that waits for a transaction that does not exist
fn unknown() -> String {
    let params = json!({
        "tx_hash": "GKwe8PT8YLdJiztcH7TpVkf7GVHFtHu4tNW9x5woDp6T",
        "sender_account_id": "alice.near",
        "wait_until": "INCLUDED",
    });
    request("EXPERIMENTAL_tx_status", &params)
}

/// Clients that have sent such a request
fn unanswerable_requests(runtime: &Runtime, address: SocketAddr, count: usize) -> Vec<Client> {
    let mut tasks = JoinSet::new();
    for _ in 0..count {
        tasks.spawn_on(async move { send(address, &unknown()).await }, runtime.handle());
    }
    within(runtime, tasks.join_all())
}

/// Closes connections, every second one by a reset
fn disconnect(runtime: &Runtime, clients: Vec<Client>) {
    let _guard = runtime.enter();
    for (number, client) in clients.into_iter().enumerate() {
        if number % 2 == 0 {
            client.reset().expect("the connection is open");
        }
    }
}

async fn send(address: SocketAddr, body: &str) -> Client {
    let mut client = Client::connect(address).await.expect("the server accepts");
    client.send(body).await.expect("the server reads the request");
    client
}

async fn receive(client: &mut Client) -> Response {
    client.receive().await.expect("the server responds")
}

/// The index of a response among those of its transaction
fn index_of(history: &ResponseHistory, response: &Response) -> usize {
    assert_eq!(response.status, 200, "{}", text(response));
    let index = history.index_of(&response.body);
    index.unwrap_or_else(|| panic!("not a response of any block: {}", text(response)))
}

/// Asserts that a response is a JSON-RPC error with status 503 and this text
fn assert_unavailable(response: &Response, expected: &str) {
    let text = text(response);
    assert_eq!(response.status, 503, "{text}");
    let body: Value = serde_json::from_slice(&response.body).expect("the body is JSON");
    assert_eq!(body["id"], "t");
    assert_eq!(body["error"]["cause"]["name"], "INTERNAL_ERROR");
    assert!(text.contains(expected), "{text}");
}

fn text(response: &Response) -> String {
    String::from_utf8_lossy(&response.body).into_owned()
}

/// Prints the resource usage of the server
fn report(server: &Server, before: Usage, open: Usage) {
    let now = Usage::of(server.id());
    let each = open.resident.saturating_sub(before.resident) / *REQUESTS as u64;
    println!("memory of the server:       {} MB at most", now.peak / 1_000_000);
    println!("  per pending request:      {each} bytes");
    println!("processor time:             {:.1} s", now.seconds);
}
