//! The speed at the head, by the clock: servers follow feeds that are as far and as large as public
//! ones, for ten seconds, or as many minutes as `MILEPOST_HEAD` says; `cargo xtask verify head`
//! follows for ten.
//!
//! The feeds have 1.8 blocks a second of 1.5 MB, and each response arrives 300 ms later. The
//! servers have the options of a first start. Whether they are fast enough is judged in a long run
//! alone; a short one shows that all of it works.

use core::net::SocketAddr;
use core::time::Duration;
use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::{Instant, UNIX_EPOCH};

use milepost_practice::{Practice, Settings};
use milepost_testing::feed::{Faults, Feed, FeedChain, FeedServer};
use serde_json::{Value, json};

use crate::alone;
use crate::fixture::text;
use crate::support::{Client, Server, post, request};

/// Milliseconds between two blocks
const INTERVAL: u64 = 556;
const LATENCY: Duration = Duration::from_millis(300);
/// Requests in a minute to a public feed, by default
const BUDGET: f64 = 170.0;
const SAMPLE_PAUSE: Duration = Duration::from_millis(100);

/// At the head within this time with archives, from 2,000 heights behind
const MAX_ARRIVAL: Duration = Duration::from_secs(180);
/// Share of the budget that is used without archives
const MIN_BUDGET_SHARE: f64 = 0.95;
/// By how much the time that the log says may differ from that by the rate of the whole run
const MAX_ESTIMATE_ERROR: f64 = 0.2;
/// How many of the faults of the test feed there are, in percent: with all of them, one request in
/// six has one
const FAULTS_PERCENT: u64 = 20;
/// Blocks behind in 99 % of samples, of a feed without faults and of one with them
const MAX_BEHIND: u64 = 2;
const MAX_BEHIND_WITH_FAULTS: u64 = 5;
/// Share of the blocks that a node can serve one at a time
const MIN_NODE_SHARE: f64 = 0.9;

/// How much a run does
#[derive(Clone, Copy)]
struct Scale {
    /// Whether it is judged
    is_long: bool,
    /// How long the head is followed
    at_head: Duration,
    /// How long a server catches up from whose rate the rest is computed
    catching_up: Duration,
    behind: u64,
    bytes: usize,
}

impl Scale {
    fn of_environment() -> Self {
        let Ok(minutes) = env::var("MILEPOST_HEAD") else {
            let time = Duration::from_secs(10);
            let (behind, bytes) = (40, 50_000);
            return Self { is_long: false, at_head: time, catching_up: time, behind, bytes };
        };
        let minutes: u64 = minutes.parse().expect("MILEPOST_HEAD is a number of minutes");
        Self {
            is_long: true,
            at_head: Duration::from_secs(60 * minutes),
            // Three lines of the log.
            catching_up: Duration::from_secs(185),
            behind: 2_000,
            bytes: 1_500_000,
        }
    }

    /// A feed whose chain has so many heights already, and a server that follows it from the first
    /// one on, with its log
    fn follow(self, folder: &Path, behind: u64, faults: Faults, is_node: bool) -> Followed {
        let age = behind * INTERVAL;
        let now = UNIX_EPOCH.elapsed().expect("the clock is after 1970").as_nanos();
        let settings = Settings {
            shards: 2,
            transactions: 0..=2,
            interval: INTERVAL..=INTERVAL,
            genesis_time: u64::try_from(now).expect("before 2554") - age * 1_000_000,
            forks: 10,
            skips: 10,
            ..Settings::demo(faults.seed)
        };
        let first = settings.genesis_height;
        let mut practice = Practice::new(settings);
        let published = core::iter::from_fn(move || {
            let mut message = practice.next_message();
            message.arrival_ms = message.arrival_ms.saturating_sub(age);
            Some(message)
        });
        let chain = FeedChain::new(published, first, 10_000).with_state_changes(self.bytes);
        let feed = Feed::new(chain, faults).with_latency(LATENCY);
        let feed = FeedServer::start(feed).expect("a port");
        let url = if is_node { feed.node_url() } else { feed.url() };
        // What was there before the start is published with the first look.
        feed.feed().last(false);
        fs::create_dir(folder).expect("a folder");
        let (store, log) = (folder.join("chain.milepost"), folder.join("log"));
        let from = first.to_string();
        let args = ["--follow", &url, "--from", &from, "--store", text(&store), "--log", "info"];
        let start = Instant::now();
        let server = Server::start_logging(&args, File::create(&log).expect("a file"));
        Followed { feed, server, log, start }
    }
}

/// A server and its feed
struct Followed {
    feed: FeedServer,
    server: Server,
    log: std::path::PathBuf,
    start: Instant,
}

impl Followed {
    fn head(&self) -> u64 {
        self.server.get("/status").json()["head"]["height"].as_u64().unwrap_or_default()
    }

    /// Number of blocks that the feed has above the head of the server; a height without a block
    /// is none
    fn behind(&self) -> u64 {
        self.feed.feed().blocks_above(self.head())
    }

    /// Waits for the first block
    fn begin(&self) {
        while self.head() == 0 {
            thread::sleep(SAMPLE_PAUSE);
        }
    }

    /// Waits until the server is at the head; the time since its start
    fn arrive(&self, limit: Duration) -> Duration {
        while self.behind() > MAX_BEHIND {
            let elapsed = self.start.elapsed();
            assert!(elapsed < limit, "{} blocks behind after {elapsed:?}", self.behind());
            thread::sleep(SAMPLE_PAUSE);
        }
        self.start.elapsed()
    }

    /// How far behind the server is for this time, in ascending order
    fn samples(&self, duration: Duration) -> Vec<u64> {
        let (begin, mut samples) = (Instant::now(), Vec::new());
        while begin.elapsed() < duration {
            samples.push(self.behind());
            thread::sleep(SAMPLE_PAUSE);
        }
        samples.sort_unstable();
        samples
    }

    /// Seconds from the timestamp of a block to its commit, of all at the head
    fn mean_delay(&self) -> f64 {
        let text = self.server.get("/metrics").text();
        let value = |part: &str| -> f64 {
            let name = format!("milepost_block_commit_delay_seconds_{part}{{");
            let line = text.lines().find(|line| line.starts_with(&name));
            let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
            value.expect("the metric exists")
        };
        value("sum") / value("count")
    }
}

/// A quantile of samples in ascending order
fn quantile(samples: &[u64], share: f64) -> u64 {
    samples[((samples.len() - 1) as f64 * share).round() as usize]
}

fn at_head(scale: Scale, name: &str, followed: &Followed, max_behind: u64) -> String {
    let samples = followed.samples(scale.at_head);
    let [half, most, all] = [0.5, 0.99, 1.0].map(|share| quantile(&samples, share));
    let figures = format!(
        "{name}: {} samples, {half} blocks behind in half, {most} in 99 %, {all} at most; mean delay {:.2} s",
        samples.len(),
        followed.mean_delay()
    );
    assert!(!scale.is_long || most <= max_behind, "{figures}");
    figures
}

/// From far behind to the head by archives, and then at the head
fn with_archives(scale: Scale, folder: &Path) -> Vec<String> {
    let faults = Faults { seed: 1, ..Faults::default() };
    let followed = scale.follow(folder, scale.behind, faults, false);
    let arrival = followed.arrive(MAX_ARRIVAL);
    let archives = followed.feed.feed().archives();
    assert!(archives > 0, "no archive was fetched");
    let arrived = format!(
        "with archives: {} heights in {:.0} s, {archives} archives",
        scale.behind,
        arrival.as_secs_f64()
    );
    vec![arrived, at_head(scale, "at the head", &followed, MAX_BEHIND)]
}

/// From far behind by single blocks, which takes longer than this test
fn without_archives(scale: Scale, folder: &Path) -> Vec<String> {
    let faults = Faults { seed: 2, lacks_archives: true, ..Faults::default() };
    let followed = scale.follow(folder, scale.behind, faults, false);
    followed.begin();
    let requests = || followed.feed.feed().requests();
    let (begin, before, behind) = (Instant::now(), requests(), followed.behind());
    thread::sleep(scale.catching_up);
    let (used, left) = (requests() - before, followed.behind());
    let minutes = begin.elapsed().as_secs_f64() / 60.0;
    let share = used as f64 / minutes / BUDGET;
    let to_go = minutes * left as f64 / behind.saturating_sub(left).max(1) as f64;
    let log = fs::read_to_string(&followed.log).expect("the log");
    let said = log.lines().rev().find_map(|line| line.strip_suffix(" to go"));
    let said = said.and_then(|line| minutes_of(line.rsplit(", ").next()?));
    let figures = format!(
        "without archives: {:.1} % of the budget, from {behind} to {left} blocks behind in {minutes:.1} minutes; {to_go:.1} to go, the log says {said:?}",
        100.0 * share
    );
    if scale.is_long {
        assert!(share >= MIN_BUDGET_SHARE, "{figures}");
        let said = said.expect("a line of the log");
        assert!((said - to_go).abs() <= to_go * MAX_ESTIMATE_ERROR, "{figures}");
    }
    vec![figures]
}

/// The minutes of a duration in the log: `1 h 5 min`, `50 min 20 s`
fn minutes_of(text: &str) -> Option<f64> {
    let (mut minutes, mut words) = (0.0, text.split(' '));
    while let Some(count) = words.next() {
        let count: f64 = count.parse().ok()?;
        minutes += match words.next()? {
            "h" => 60.0 * count,
            "min" => count,
            "s" => count / 60.0,
            _ => return None,
        };
    }
    Some(minutes)
}

/// At the head of a feed with a fifth of the faults of the test feed
fn with_faults(scale: Scale, folder: &Path) -> Vec<String> {
    let followed = scale.follow(folder, 50, Faults::all(3).scaled(FAULTS_PERCENT), false);
    followed.arrive(MAX_ARRIVAL);
    vec![at_head(scale, "with a fifth of all faults", &followed, MAX_BEHIND_WITH_FAULTS)]
}

/// A node, which serves one block at a time
fn of_a_node(scale: Scale, folder: &Path) -> Vec<String> {
    let faults = Faults { seed: 4, ..Faults::default() };
    let followed = scale.follow(folder, scale.behind, faults, true);
    followed.begin();
    let (begin, before) = (Instant::now(), followed.head());
    thread::sleep(scale.catching_up / 3);
    let blocks = followed.head() - before;
    let rate = blocks as f64 / begin.elapsed().as_secs_f64();
    let address = followed.feed.endpoint();
    drop(followed.server);
    let address: SocketAddr = address.trim_start_matches("http://").parse().expect("an address");
    let mut client = Client::connect(address);
    let mut call = |method: &str, params: Value| -> Value {
        client.send(&post("/", &request(method, &params)));
        client.response().json()
    };
    let head = call("block", json!({"finality": "final"}));
    let hash = head["result"]["header"]["hash"].clone();
    let begin = Instant::now();
    let count = 20;
    for _ in 0..count {
        let block = call("EXPERIMENTAL_indexer_block", json!({"block_hash": hash}));
        assert_eq!(block["result"]["block"]["header"]["hash"], hash);
    }
    let possible = f64::from(count) / begin.elapsed().as_secs_f64();
    let figures = format!(
        "a node: {rate:.2} blocks a second, of {possible:.2} one at a time ({:.0} %)",
        100.0 * rate / possible
    );
    assert!(!scale.is_long || rate >= MIN_NODE_SHARE * possible, "{figures}");
    vec![figures]
}

#[test]
fn the_head_is_followed_as_fast_as_a_feed_allows() {
    let _alone = alone();
    let scale = Scale::of_environment();
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let directory = tempfile::tempdir_in(place).expect("a directory");
    type Run = fn(Scale, &Path) -> Vec<String>;
    let runs: [(&str, Run); 4] = [
        ("archives", with_archives),
        ("blocks", without_archives),
        ("faults", with_faults),
        ("node", of_a_node),
    ];
    // Beside each other: they wait most of the time.
    thread::scope(|scope| {
        for (name, run) in runs {
            let folder = directory.path().join(name);
            scope.spawn(move || {
                for figures in run(scale, &folder) {
                    println!("{figures}");
                }
            });
        }
    });
}
