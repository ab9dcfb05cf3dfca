//! A live feed is followed while the server serves: faults, restarts, and chains that do not fit.

use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use core::time::Duration;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use std::{env, fs};

use milepost_practice::config::protocol_config;
use milepost_practice::{BlockMessage, Practice, PracticeTransaction, Settings};
use milepost_testing::feed::{Faults, Feed, FeedChain, FeedServer};
use serde_json::{Value, json};

use crate::fixture::text;
use crate::support::{Server, command, errors, request};
use crate::upstream::{Received, Scripted, Upstream, error};

/// At least this number of messages of a chain with forks that is produced from now on, a block
/// each 20 ms; the last blocks are on no fork
pub(crate) fn chain(seed: u64, count: usize) -> Vec<BlockMessage> {
    chain_from(seed, count, UNIX_EPOCH.elapsed().expect("the clock is after 1970"))
}

/// The same from this time on, since 1970
pub(crate) fn chain_from(seed: u64, count: usize, genesis_time: Duration) -> Vec<BlockMessage> {
    let settings = Settings {
        shards: 2,
        transactions: 0..=2,
        interval: 20..=20,
        genesis_time: u64::try_from(genesis_time.as_nanos()).expect("before 2554"),
        forks: 60,
        skips: 50,
        repeats: 0,
        ..Settings::simulation(seed)
    };
    let mut practice = Practice::new(settings);
    let mut messages: Vec<BlockMessage> = Vec::new();
    while messages.len() < count || messages.iter().rev().take(12).any(|it| it.abandoned) {
        messages.push(practice.next_message());
    }
    messages
}

pub(crate) fn canonical(messages: &[BlockMessage]) -> impl Iterator<Item = &BlockMessage> {
    messages.iter().filter(|message| !message.abandoned)
}

pub(crate) fn serve_feed(messages: &[BlockMessage], faults: Faults) -> FeedServer {
    let (first, messages) = (messages[0].height, messages.to_vec());
    let chain = FeedChain::new(messages.into_iter(), first, 100_000);
    FeedServer::start(Feed::new(chain, faults)).expect("a port")
}

/// Faults that are over within a second
fn quick_faults(seed: u64) -> Faults {
    Faults {
        seed,
        failures: 10,
        cut: 10,
        short_length: 10,
        redirects: 100,
        host_redirects: 50,
        ..Faults::default()
    }
}

pub(crate) fn follow(feed: &FeedServer, args: &[&str]) -> Server {
    let url = feed.url();
    Server::start(&[&["--follow", &url, "--feed-requests", "100000"], args].concat())
}

pub(crate) fn status_of(transaction: &PracticeTransaction, wait_until: &str) -> String {
    let params = json!({
        "tx_hash": transaction.hash.to_string(),
        "sender_account_id": transaction.signer_id.to_string(),
        "wait_until": wait_until,
    });
    request("EXPERIMENTAL_tx_status", &params)
}

#[test]
fn a_request_waits_for_a_block_of_the_feed() {
    let messages = chain(1, 260);
    let faults = Faults { cached_nulls: 20, unknown_nulls: 5, ..quick_faults(1) };
    let feed = serve_feed(&messages, faults);
    let from = messages[0].height.to_string();
    let server = follow(&feed, &["--from", &from, "--timeout", "60s", "--max-age", "1h"]);
    let later = canonical(&messages).skip(120).flat_map(|message| &message.transactions);
    for transaction in later.take(3) {
        let response = server.post("/", &status_of(transaction, "EXECUTED"));
        assert_eq!(response.status, 200, "{}", response.text());
        let result = &response.json()["result"];
        assert_eq!(result["transaction"]["hash"], transaction.hash.to_string());
    }
    assert_eq!(server.get("/ready").status, 200);
    assert_eq!(server.get("/health").json()["status"], "ok");
    let metric = |name: &str| {
        server.metric(&format!("milepost_{name}")).unwrap_or_else(|| panic!("no metric {name}"))
    };
    // The server continues between two reads.
    let taken = metric("feed_taken_height");
    assert!(metric("feed_head_height") >= taken);
    assert!(metric("feed_taken_height") > messages[0].height + 100);
    // A server that falls behind, on a busy machine, fetches final blocks.
    let fetched = ["optimistic", "final"]
        .map(|stream| metric(&format!("feed_blocks_fetched_total{{stream=\"{stream}\"}}")));
    assert!(fetched.iter().sum::<u64>() > 100, "{fetched:?}");
    assert!(metric("feed_requests_total") > 100);
    assert!(metric("feed_bytes_total") > 100_000);
    assert!(metric("feed_skipped_heights_total") > 0);
    assert_eq!(metric("feed_requests_per_minute_limit"), 100_000);
    let retries: u64 = ["404", "429", "500", "502", "503", "other", "none"]
        .map(|status| metric(&format!("feed_retries_total{{status=\"{status}\"}}")))
        .iter()
        .sum();
    assert!(retries > 0, "there were no retries");
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn a_server_that_is_killed_loses_no_block_and_takes_none_twice() {
    let kills: usize = match env::var("MILEPOST_FOLLOW_KILLS") {
        Ok(number) => number.parse().expect("MILEPOST_FOLLOW_KILLS is a number"),
        Err(_) => 10,
    };
    let messages = chain(2, kills * 40);
    let feed = serve_feed(&messages, quick_faults(2));
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("followed.milepost");
    let first = messages[0].height;
    let head = |server: &Server| server.get("/status").json()["head"]["height"].as_u64();
    let last = canonical(&messages).last().unwrap();
    let (mut reached, mut kills_within) = (None, 0);
    let from = first.to_string();
    for _ in 0..kills {
        // A unit starts its server again with the same options.
        let server = follow(&feed, &["--store", text(&store), "--from", &from]);
        let before = head(&server);
        assert!(before >= reached, "a block was lost: {before:?} after {reached:?}");
        server.until("the chain grows", || {
            let now = head(&server);
            now > before.map(|before| before + 4) || now == Some(last.height)
        });
        reached = head(&server);
        kills_within += usize::from(reached < Some(last.height));
        // Dropping it sends SIGKILL.
    }
    let server = follow(&feed, &["--store", text(&store)]);
    // However long it is.
    let mut now = head(&server);
    while now != Some(last.height) {
        server.until("the chain grows", || head(&server) > now);
        now = head(&server);
    }
    assert_eq!(server.get("/status").json()["blocks"], canonical(&messages).count());
    let hashes: Vec<_> = canonical(&messages).map(|message| message.hash.to_string()).collect();
    for some in hashes.chunks(50) {
        let heights = server.get(&format!("/blocks/{}", some.join(",")));
        assert_eq!(heights.status, 200, "{}", heights.text());
        assert!(!heights.text().contains("null"), "a block is missing: {}", heights.text());
    }
    // The answers are those of a server that had the canonical blocks as files.
    let files = directory.path().join("files");
    fs::create_dir(&files).unwrap();
    for message in canonical(&messages) {
        fs::write(files.join(format!("{}.json", message.height)), &message.json).unwrap();
    }
    let quiet = Server::start(&["--blocks", text(&files)]);
    let transactions = canonical(&messages).flat_map(|message| &message.transactions);
    let mut compared = 0;
    for transaction in transactions.step_by(9) {
        let body = status_of(transaction, "NONE");
        assert_eq!(server.post("/", &body).text(), quiet.post("/", &body).text());
        compared += 1;
    }
    assert!(compared > 20, "only {compared} transactions");
    println!("killed:           {kills} times, {kills_within} of them before the end of the chain");
    println!("blocks:           {}, none lost, none taken twice", hashes.len());
    println!("answers:          {compared} compared with those of a server with the same blocks");
}

#[test]
fn a_node_is_followed() {
    let messages = chain(6, 200);
    let faults = Faults { busy: 20, unavailable: 20, wrong_ids: 10, ..quick_faults(6) };
    let feed = serve_feed(&messages, faults);
    let (url, from) = (feed.node_url(), messages[0].height.to_string());
    let args = ["--follow", &url, "--from", &from, "--feed-requests", "100000"];
    let server = Server::start(&[&args[..], &["--timeout", "60s"]].concat());
    let later = canonical(&messages).skip(100).flat_map(|message| &message.transactions);
    for transaction in later.take(3) {
        let response = server.post("/", &status_of(transaction, "EXECUTED"));
        assert_eq!(response.status, 200, "{}", response.text());
        let result = &response.json()["result"];
        assert_eq!(result["transaction"]["hash"], transaction.hash.to_string());
    }
    let last = canonical(&messages).last().unwrap();
    server.until("the end of the chain", || {
        server.get("/status").json()["head"]["height"] == last.height
    });
    assert_eq!(server.get("/status").json()["head"]["hash"], last.hash.to_string());
}

#[test]
fn what_one_feed_fails_to_send_comes_from_the_other() {
    let messages = chain(8, 300);
    // Which requests fail depends on the seed. Blocks come one by one, so that many fail.
    let failing = |seed| Faults { failures: 200, lacks_archives: true, ..quick_faults(seed) };
    let (one, other) = (serve_feed(&messages, failing(8)), serve_feed(&messages, failing(9)));
    let (second, from) = (other.node_url(), messages[0].height.to_string());
    let server = follow(&one, &["--follow", &second, "--from", &from]);
    let last = canonical(&messages).last().unwrap();
    server.until("the end of the chain", || {
        server.get("/status").json()["head"]["height"] == last.height
    });
    assert_eq!(server.get("/status").json()["blocks"], canonical(&messages).count());
    for url in [&one.url(), &second] {
        let metric = format!("milepost_feed_source_blocks_total{{source=\"{url}\"}}");
        assert!(server.metric(&metric).is_some_and(|blocks| blocks > 20), "{metric}");
    }
}

#[test]
fn a_block_that_one_feed_has_changed_comes_from_the_other() {
    let messages = chain(8, 200);
    let mut changed = messages.clone();
    let wrong = changed.iter_mut().skip(80).find(|message| !message.abandoned).unwrap();
    // The hash of the block no longer covers its header.
    let text = String::from_utf8_lossy(&wrong.json);
    wrong.json = text.replacen("\"total_supply\":\"", "\"total_supply\":\"1", 1).into_bytes();
    let height = wrong.height;
    let bad = serve_feed(&changed, Faults::default());
    let from = messages[0].height.to_string();
    let args = ["--from", &from, "--verify", "strict"];
    // Alone, it is asked again, and the server stays up with the blocks before.
    let server = follow(&bad, &args);
    let failures = format!("milepost_feed_source_failures_total{{source=\"{}\"}}", bad.url());
    server.until("two refusals", || server.metric(&failures).is_some_and(|count| count >= 2));
    let status = server.get("/status").json();
    assert!(status["head"]["height"].as_u64() < Some(height), "{height}: {status}");
    drop(server);
    let good = serve_feed(&messages, Faults::default());
    let server = follow(&bad, &[&args[..], &["--follow", &good.url()]].concat());
    let last = canonical(&messages).last().unwrap();
    server.until("the end of the chain", || {
        server.get("/status").json()["head"]["height"] == last.height
    });
}

#[test]
fn a_node_that_is_not_set_up_is_explained() {
    let feed = serve_feed(&chain(7, 60), Faults { is_disabled: true, ..Faults::default() });
    let args = ["serve", "--listen", "127.0.0.1:0", "--follow", &feed.node_url()];
    let output = command(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected = "the node does not serve EXPERIMENTAL_indexer_block: it has to be version 2.14";
    assert!(errors(&output).contains(expected), "{}", errors(&output));
    // It serves configurations, as every node does.
    assert!(!errors(&output).contains("no protocol configurations"), "{}", errors(&output));
    let output = command(&args).args(["--upstream", "none"]).output().unwrap();
    let expected = "there are no protocol configurations: --upstream or --configs gives them";
    assert!(errors(&output).contains(expected), "{}", errors(&output));
}

#[test]
fn a_server_takes_in_no_block_above_the_last_one_asked_for() {
    let messages = chain(8, 120);
    let feed = serve_feed(&messages, quick_faults(8));
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("until.milepost");
    let from = messages[0].height.to_string();
    let head = |server: &Server| server.get("/status").json()["head"]["height"].as_u64();
    let last = canonical(&messages).nth(60).unwrap();
    let until = last.height.to_string();
    // No block is that young, so it is ready when no further one is asked for.
    let args = ["--store", text(&store), "--until", &until, "--max-age", "0ms"];
    let server = follow(&feed, &[&args[..], &["--from", &from]].concat());
    server.until("the last block", || server.get("/ready").status == 200);
    assert_eq!(head(&server), Some(last.height));
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    let server = follow(&feed, &args);
    server.until("it is ready", || server.get("/ready").status == 200);
    assert_eq!(head(&server), Some(last.height));
    drop(server);

    // Of files too.
    let file = directory.path().join("blocks.json");
    let blocks: Vec<&str> =
        canonical(&messages).map(|message| str::from_utf8(&message.json).unwrap()).collect();
    fs::write(&file, format!("[{}]", blocks.join(","))).unwrap();
    let server = Server::start(&["--blocks", text(&file), "--until", &until]);
    assert_eq!(head(&server), Some(last.height));
    assert_eq!(server.get("/status").json()["blocks"], 61);
}

#[test]
fn an_empty_store_starts_before_the_last_final_block() {
    let messages = chain(9, 200);
    let feed = serve_feed(&messages, Faults::default());
    let first = messages[0].height;
    let last_final = || feed.feed().last(true).unwrap_or_default();
    while last_final() < first + 80 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let earliest = |server: &Server| {
        server.until("a block", || server.get("/status").json()["head"].is_object());
        server.get("/status").json()["earliest"]["height"].as_u64().unwrap()
    };
    let before = last_final();
    let server = follow(&feed, &["--start-margin", "60"]);
    let started = earliest(&server);
    // The heights at the start may be skipped.
    let expected = before - 60..=last_final() - 60 + 5;
    assert!(expected.contains(&started), "{started}, expected {expected:?}");
    drop(server);
    // A feed that has fewer blocks starts with less.
    let server = follow(&feed, &["--start-margin", "1000"]);
    let started = earliest(&server);
    assert!((first..last_final() - 30).contains(&started), "{started} after {first}");
}

#[test]
fn a_server_follows_another() {
    let messages = chain(12, 200);
    let feed = serve_feed(&messages, quick_faults(12));
    let from = messages[0].height.to_string();
    let first = follow(&feed, &["--from", &from, "--serve-feed", "64MiB"]);
    let url = format!("neardata+{}", first.url());
    first.until("a final block", || first.get("/v0/last_block/final").status == 302);
    let second = Server::start(&["--follow", &url, "--from", &from, "--feed-requests", "100000"]);
    let last = canonical(&messages).last().unwrap();
    let is_at_end = |server: &Server| server.get("/status").json()["head"]["height"] == last.height;
    second.until("the end of the chain", || is_at_end(&second));
    assert_eq!(second.get("/status").json()["blocks"], canonical(&messages).count());
    for transaction in canonical(&messages).flat_map(|message| &message.transactions).step_by(11) {
        let body = status_of(transaction, "NONE");
        assert_eq!(first.post("/", &body).text(), second.post("/", &body).text());
    }

    // What a feed says besides, as the reference has it.
    let kind = |path: &str| {
        let response = first.get(path);
        (response.status, response.json()["type"].as_str().unwrap_or_default().to_owned())
    };
    let too_high = format!("/v0/block_opt/{}", last.height + 11);
    assert_eq!(kind(&too_high), (404, "BLOCK_HEIGHT_TOO_HIGH".into()));
    assert_eq!(kind("/v0/block/1"), (404, "BLOCK_HEIGHT_TOO_LOW".into()));
    let newest = first.get(&format!("/v0/block_opt/{}", last.height));
    assert_eq!(newest.text().as_bytes(), last.json);
    assert_eq!(newest.header("cache-control"), Some("no-store"));
    let heights: Vec<u64> = canonical(&messages).map(|message| message.height).collect();
    let gap = heights.windows(2).find(|pair| pair[1] - pair[0] > 1).unwrap();
    assert_eq!(first.get(&format!("/v0/block/{}", gap[0] + 1)).text(), "null");
    assert_eq!(first.get("/v0/block/x").status, 400);
    assert_eq!(first.get("/v0/other").status, 404);
    assert_eq!(
        first.get("/v0/first_block").header("location"),
        Some(&*format!("/v0/block/{from}"))
    );
    assert_eq!(second.get("/v0/first_block").status, 404);
}

#[test]
fn a_server_that_starts_again_at_a_gap_serves_it_to_its_followers() {
    // Few blocks come after the gap, so that nobody catches up along the final chain.
    let mut messages: Vec<_> = canonical(&chain(12, 200)).cloned().collect();
    let is_gap = |pair: &[BlockMessage]| pair[1].height - pair[0].height > 1;
    let index = 20 + messages[20..].windows(2).position(is_gap).unwrap();
    let below = messages[index].height;
    messages.truncate(index + 5);
    let feed = serve_feed(&messages, Faults::default());
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("first.milepost");
    let (from, until) = (messages[0].height.to_string(), below.to_string());
    let serves = ["--store", text(&store), "--from", &from, "--serve-feed", "64MiB"];
    let first = follow(&feed, &[&serves[..], &["--until", &until]].concat());
    let url = format!("neardata+{}", first.url());
    let second = Server::start(&["--follow", &url, "--from", &from, "--feed-requests", "100000"]);
    let reaches = |height: u64| {
        second.until("the head", || second.get("/status").json()["head"]["height"] == height);
    };
    reaches(below);
    let address = first.address.to_string();
    first.signal("TERM");
    assert_eq!(first.ended().code(), Some(0));

    let mut again = command(&["serve", "--listen", &address, "--follow", &feed.url()]);
    again.args(serves);
    let first = Server::spawn(again);
    reaches(messages.last().unwrap().height);
    assert_eq!(second.get("/status").json()["blocks"], messages.len());
    assert_eq!(first.get(&format!("/v0/block_opt/{}", below + 1)).text(), "null");
    assert_eq!(first.get(&format!("/v0/block_opt/{below}")).status, 404);
}

#[test]
fn a_served_feed_is_bounded() {
    let messages = chain(13, 100);
    let feed = serve_feed(&messages, Faults::default());
    let (first, last) = (messages[0].height, canonical(&messages).last().unwrap());
    let server = follow(&feed, &["--from", &first.to_string(), "--serve-feed", "50KiB"]);
    server.until("the end of the chain", || {
        server.get("/status").json()["head"]["height"] == last.height
    });
    assert_eq!(server.get(&format!("/v0/block_opt/{first}")).status, 404);
    let is_kept = |height: &u64| {
        let response = server.get(&format!("/v0/block_opt/{height}"));
        response.status == 200 && response.text() != "null"
    };
    let kept = (first..=last.height).filter(is_kept).count();
    assert!((3..60).contains(&kept), "{kept} messages are kept");
}

#[test]
fn configurations_come_from_the_upstream_with_each_epoch() {
    let messages = chain(10, 170);
    let feed = serve_feed(&messages, Faults::default());
    let upstream = serve_feed(&messages, Faults { failures: 600, cut: 200, ..Faults::default() });
    let (url, from) = (upstream.node_url(), messages[0].height.to_string());
    let url = url.strip_prefix("node+").unwrap();
    let server = follow(&feed, &["--from", &from, "--upstream", url]);
    let version_of = |message: &BlockMessage| {
        let message: Value = serde_json::from_slice(&message.json).unwrap();
        message["block"]["header"]["latest_protocol_version"].clone()
    };
    let config_at = |message: &BlockMessage| {
        let params = json!({ "block_id": message.height });
        server.post("/", &request("EXPERIMENTAL_protocol_config", &params)).json()
    };
    let (first, last) = (&messages[0], canonical(&messages).last().unwrap());
    assert_ne!(version_of(first), version_of(last));
    server.until("the last configuration", || {
        config_at(last)["result"]["protocol_version"] == version_of(last)
    });
    for message in canonical(&messages).step_by(7) {
        let config = config_at(message);
        assert_eq!(config["result"]["protocol_version"], version_of(message), "{config}");
    }
    assert!(server.metric("milepost_feed_config_failures_total").unwrap() > 0);
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn a_configuration_that_no_upstream_has_is_logged_once_for_an_epoch() {
    let messages = chain(10, 170);
    let feed = serve_feed(&messages, Faults::default());
    let refusing = Upstream::start(|_| Scripted::Error(403, error("REFUSED", "", &json!(""))));
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let (url, upstream, from) = (feed.url(), refusing.url(), messages[0].height.to_string());
    let args = ["--follow", &url, "--feed-requests", "100000", "--from", &from];
    let args = [&args[..], &["--upstream", &upstream]].concat();
    let server = Server::start_logging(&args, fs::File::create(&log).unwrap());
    let epochs = || {
        let log = fs::read_to_string(&log).unwrap();
        let lines = log.lines().filter_map(|line| line.split_once(": no protocol configuration"));
        lines.map(|(line, _)| line.rsplit(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // That of an epoch is given up when the next one has begun.
    server.until("another epoch", || epochs().iter().any(|epoch| *epoch != from));
    assert_eq!(epochs().iter().filter(|epoch| **epoch == from).count(), 1, "{:?}", epochs());
}

#[test]
fn configurations_come_from_any_upstream_that_works() {
    let messages = chain(21, 40);
    let feed = serve_feed(&messages, Faults::default());
    let genesis = Settings::demo(0).genesis_height;
    let failing =
        Upstream::start(|_| Scripted::Error(500, error("INTERNAL_ERROR", "", &json!(""))));
    let works = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&works);
    let other = Upstream::start(move |call| {
        let version = match call["params"]["sync_checkpoint"].as_str() {
            _ if !switch.load(SeqCst) => {
                return Scripted::Error(200, error("HANDLER_ERROR", "UNKNOWN_BLOCK", &json!("")));
            }
            Some("genesis") => 80,
            _ => 85,
        };
        let config = protocol_config("practice", genesis, version, &[]);
        Scripted::Result(serde_json::from_str(&config).unwrap())
    });
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("one.milepost");
    // Above the genesis.
    let from = canonical(&messages).nth(5).unwrap().height;
    let (first, failing, other_url) = (from.to_string(), failing.url(), other.url());
    let args = ["--store", text(&store), "--from", &first, "--max-age", "1h"];
    let args = [&args[..], &["--upstream", &failing, "--upstream", &other_url]].concat();
    let server = follow(&feed, &args);
    let since = |server: &Server| server.get("/status").json()["config_missing_since"].clone();
    let at_genesis = |server: &Server| {
        let params = json!({ "sync_checkpoint": "genesis" });
        server.post("/", &request("EXPERIMENTAL_protocol_config", &params))
    };
    server.until("no upstream has it", || since(&server)["height"] == from);
    let missing = at_genesis(&server);
    assert_eq!((missing.status, &*missing.cause()), (200, "UNKNOWN_BLOCK"));
    let status = server.get("/status").json();
    assert_eq!(
        (&status["protocol_version"], &status["latest_protocol_version"]),
        (&json!(null), &json!(87))
    );
    works.store(true, SeqCst);
    server.until("the second upstream has it", || since(&server).is_null());
    let head = json!({ "finality": "optimistic" });
    let at_head = server.post("/", &request("EXPERIMENTAL_protocol_config", &head)).json();
    assert_eq!(at_head["result"]["protocol_version"], 85);
    // The version in force, and what the producer of the head supports.
    let status = server.get("/status").json();
    assert_eq!(
        (&status["protocol_version"], &status["latest_protocol_version"]),
        (&json!(85), &json!(87))
    );
    let version = |server: &Server| at_genesis(server).json()["result"]["protocol_version"].clone();
    server.until("the configuration of the genesis", || version(&server) == 80);
    let asked = other.calls("EXPERIMENTAL_protocol_config");
    let of_genesis = |it: &&Received| it.call["params"]["sync_checkpoint"] == "genesis";
    assert_eq!(asked.iter().filter(of_genesis).count(), 1);
    drop(server);
    let info = command(&["store", "info", text(&store)]).output().unwrap();
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(
        (&info["protocol_version"], &info["latest_protocol_version"]),
        (&json!(85), &json!(87))
    );
    works.store(false, SeqCst);
    let server = follow(&feed, &args);
    assert_eq!(version(&server), 80, "it is kept");
}

#[test]
fn two_chains_never_mix_in_one_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("one.milepost");
    // The other is longer: a feed that is behind the store may catch up, and is waited for.
    let (one, other) = (chain(3, 60), chain(4, 120));
    let feed = serve_feed(&one, Faults::default());
    let from = one[0].height.to_string();
    let server = follow(&feed, &["--store", text(&store), "--from", &from]);
    let blocks = canonical(&one).count() as u64;
    server.until("blocks", || server.get("/status").json()["blocks"] == blocks);
    drop(server);

    let feed = serve_feed(&other, Faults::default());
    for from in ["resume", "final"] {
        let output = command(&["serve", "--listen", "127.0.0.1:0", "--store", text(&store)])
            .args(["--follow", &feed.url(), "--from", from])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let expected = "feed 1 has another chain: its block at height";
        assert!(errors(&output).contains(expected), "{}", errors(&output));
    }
    let server = Server::start(&["--store", text(&store)]);
    assert_eq!(server.get("/status").json()["blocks"], blocks);
}

#[test]
fn an_empty_store_starts_at_the_final_block_if_it_is_asked_to() {
    let messages = chain(6, 60);
    let feed = serve_feed(&messages, Faults::default());
    let last = canonical(&messages).last().unwrap().height;
    let followed = |from: &str| {
        let server = follow(&feed, &["--from", from]);
        server.until("the end of the chain", || {
            server.get("/status").json()["head"]["height"] == last
        });
        server.get("/status").json()
    };
    let whole = followed(&messages[0].height.to_string());
    assert_eq!(whole["earliest"]["height"], messages[0].height);
    assert_eq!(followed("final")["earliest"], whole["final"]);
}

#[test]
fn a_server_that_falls_behind_is_not_ready() {
    let messages = chain(5, 40);
    let feed = serve_feed(&messages, Faults::default());
    let server = follow(&feed, &["--max-age", "3s"]);
    server.until("the server is ready", || server.get("/ready").status == 200);
    // The chain ends after a second.
    server.until("the server is behind", || server.get("/ready").status == 503);
    let health = server.get("/health");
    assert_eq!((health.status, &health.json()["status"]), (503, &json!("behind")));
    assert!(health.json()["age_seconds"].as_u64().is_some_and(|age| age >= 3));
    // Without a feed, a server that serves is ready.
    assert_eq!(Server::with_blocks(&[]).get("/ready").status, 200);
}

#[test]
fn the_age_of_the_head_is_known_after_a_start_without_a_feed_that_answers() {
    let messages = chain(15, 40);
    let feed = serve_feed(&messages, Faults::default());
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("followed.milepost");
    let until = messages[0].height.to_string();
    let args = ["--store", text(&store), "--max-age", "1h"];
    let server = follow(&feed, &[&args[..], &["--from", &until, "--until", &until]].concat());
    server.until("the first block", || !server.get("/status").json()["head"].is_null());
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    let dead = ["--follow", "neardata+http://127.0.0.1:1"];
    let server = Server::start(&[&args[..], &dead].concat());
    let age = || server.get("/ready").json()["age_seconds"].as_u64();
    server.until("the age of the head", || age().is_some_and(|age| age < 600));
    assert!(server.get("/metrics").text().contains("\nmilepost_feed_block_age_seconds "));
    // It is not known whether there are newer blocks.
    assert_eq!(server.get("/ready").status, 503);
}

#[test]
fn the_delay_of_commits_is_that_of_blocks_at_the_head_by_this_clock() {
    let now = UNIX_EPOCH.elapsed().expect("the clock is after 1970");
    let (hour, far) = (Duration::from_secs(3_600), 80);
    // The clock of this machine is an hour behind that of the chain, and an hour ahead of it.
    for (genesis_time, delays, sum_of_one) in
        [(now + hour, 0.0..=0.0, 0), (now - hour, 3_595.0..=3_660.0, 3_595)]
    {
        let messages = chain_from(14, 260, genesis_time);
        let feed = serve_feed(&messages, Faults::default());
        let first = messages[0].height;
        while feed.feed().last(true).unwrap_or_default() < first + far {
            std::thread::sleep(Duration::from_millis(20));
        }
        let server = follow(&feed, &["--from", &first.to_string()]);
        let last = canonical(&messages).last().unwrap();
        server.until("the end of the chain", || {
            server.get("/status").json()["head"]["height"] == last.height
        });
        let sample = |name: &str, label: &str| {
            let labels = format!("{{source=\"{}\"{label}}}", feed.url());
            let name = format!("milepost_block_commit_delay_seconds_{name}{labels} ");
            let text = server.get("/metrics").text();
            let line = text.lines().find_map(|line| line.strip_prefix(&name)).map(str::to_owned);
            line.and_then(|value| value.parse::<f64>().ok()).unwrap_or_else(|| panic!("{name}"))
        };
        let count = sample("count", "");
        // Those that were there before the server, and are caught up with, do not count.
        assert!((1.0..(messages.len() - 60) as f64).contains(&count), "{count} blocks");
        let is_behind = sum_of_one == 0;
        assert_eq!(sample("bucket", ",le=\"60\""), if is_behind { count } else { 0.0 });
        assert!(sample("sum", "") >= count * f64::from(sum_of_one), "{}", sample("sum", ""));
        let newest = server.get("/status").json()["block_commit_delay_seconds"].as_f64();
        assert!(newest.is_some_and(|delay| delays.contains(&delay)), "{newest:?}");
    }
    // Without a feed there is none.
    let status = Server::with_blocks(&[]).get("/status").json();
    assert_eq!(status["block_commit_delay_seconds"], json!(null));
}

#[test]
fn what_is_wrong_with_a_feed_is_said_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let token = directory.path().join("token");
    fs::write(&token, "secret\u{7}key").unwrap();
    let serve = |args: &[&str]| {
        let listen = ["serve", "--listen", "127.0.0.1:0"];
        command(&[&listen, args].concat()).output().unwrap()
    };
    for (args, code, expected) in [
        (&["--follow", "betanet"][..], 2, "expected practice, mainnet, testnet, neardata+https"),
        (&["--follow", "neardata+http://feed.example"], 2, "has to be https"),
        (&["--from", "7"], 2, "--follow <FEED>"),
        (&["--upstream", "none"], 2, "--follow <FEED>"),
        (&["--follow", "mainnet", "--upstream", "rpc.example"], 2, "--upstream"),
        (&["--follow", "mainnet", "--from", "latest"], 2, "none of a height, final and resume"),
        (&["--follow", "mainnet", "--follow", "mainnet"], 2, "is given twice"),
        (
            &["--follow", "mainnet", "--from", "10", "--until", "5"],
            2,
            "--until 5 is below --from 10",
        ),
        (&["--follow", "mainnet", "--finality", "all"], 2, "does not go with --follow"),
        (&["--follow", "mainnet", "--feed-token-file", text(&token)], 2, "cannot have"),
        (&["--follow", "mainnet", "--feed-token-file", "/no/file"], 2, "/no/file: "),
    ] {
        let output = serve(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", errors(&output));
        assert!(errors(&output).contains(expected), "{args:?}: {}", errors(&output));
        assert!(!errors(&output).contains("secret"), "{}", errors(&output));
    }
}
