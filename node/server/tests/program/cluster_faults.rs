//! Servers over an archive in three nodes of Cassandra, while these are killed and paused.
//!
//! One server follows a feed and archives, the others have nothing but the archive. Whatever
//! happens to the nodes, an answer is right or `INTERNAL_ERROR` with `Retry-After`, servers recover
//! by themselves, and at the end everything final is in the archive. How many requests fail is a
//! figure and no verdict. Built with the feature `cassandra`; `cargo xtask verify cluster-faults`
//! runs it.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::time::Duration;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use milepost_testing::cluster::{Calls, Cluster, DATA_CENTER, Security};
use milepost_testing::feed::Faults;

use crate::archive_commands::{Blocks, reader};
use crate::fixture::text;
use crate::follow::{follow, serve_feed, status_of};
use crate::support::Server;

const READERS: usize = 3;
const BLOCKS: usize = 600;
/// Time between two blocks: the feed continues through all phases
const INTERVAL_MS: u64 = 450;
/// How long each state of the cluster is under load
const PHASE: Duration = Duration::from_secs(8);
/// Longer than it takes on a machine with other work
const RECOVERY: Duration = Duration::from_secs(300);

#[test]
#[ignore = "starts nodes, as `cargo xtask verify cluster-faults` does"]
fn servers_go_on_through_the_loss_of_nodes() {
    let mut blocks = Blocks::new(BLOCKS);
    let whole = Server::start(&["--blocks", text(blocks.files.path())]);
    let last_final = whole.get("/status").json()["final"]["height"].as_u64().unwrap();
    let answer_of = |body: &String| whole.post("/", body).body;
    let bodies: Vec<String> =
        blocks.finalized().iter().map(|transaction| status_of(transaction, "FINAL")).collect();
    let expected: Vec<Vec<u8>> = bodies.iter().map(answer_of).collect();

    let mut cluster = Cluster::start(3, Security::None).unwrap();
    let archive = format!("cassandra://{}/faults?dc={DATA_CENTER}", cluster.hosts());
    for (number, message) in (0..).zip(&mut blocks.messages) {
        message.arrival_ms = INTERVAL_MS * number;
    }
    let feed = serve_feed(&blocks.messages, Faults::default());
    let first = blocks.messages[0].height;
    let from = first.to_string();
    let args = ["--from", &from, "--archive", &archive, "--retention", "blocks:50"];
    let writer = follow(&feed, &args);
    let complete_up_to = |server: &Server, height: u64| {
        let complete = &server.get("/status").json()["archive"]["complete"];
        let ranges = complete.as_array().map(Vec::as_slice).unwrap_or_default();
        ranges
            .iter()
            .any(|range| range[0].as_u64() <= Some(first) && range[1].as_u64() >= Some(height))
    };
    let archived = blocks.messages[8].height;
    writer.until("the first blocks are archived", || complete_up_to(&writer, archived));

    let load = Load::default();
    thread::scope(|scope| {
        let _stop = StopOnDrop(&load.is_over);
        for _ in 0..READERS {
            let ((server, store), load) = (reader(&archive), &load);
            let (bodies, expected) = (&bodies, &expected);
            scope.spawn(move || {
                load.run(&server, bodies, expected);
                drop(store);
            });
        }
        load.phase("all nodes up");
        for number in 0..3 {
            let node = &mut cluster.nodes()[number];
            node.kill().unwrap();
            load.phase(&format!("node {} killed", number + 1));
            node.start().unwrap();
            node.wait().unwrap();
            load.recover(&format!("node {} back", number + 1));
        }
        cluster.nodes()[1].pause().unwrap();
        load.phase("node 2 paused");
        cluster.nodes()[1].resume().unwrap();
        load.recover("node 2 resumed");
        for number in [0, 2] {
            cluster.nodes()[number].kill().unwrap();
        }
        load.phase("nodes 1 and 3 killed");
        // What the writer has not forgotten needs no archive.
        let head = writer.get("/status").json()["head"]["height"].as_u64();
        let taken = blocks.messages.iter().rev().filter(|message| Some(message.height) <= head);
        let newest = taken.flat_map(|message| &message.transactions).next().unwrap();
        let response = writer.post("/", &status_of(newest, "NONE"));
        assert!(response.json().get("result").is_some(), "{}", response.text());
        for number in [0, 2] {
            cluster.nodes()[number].start().unwrap();
        }
        for number in [0, 2] {
            cluster.nodes()[number].wait().unwrap();
        }
        load.recover("all nodes back");
    });
    assert_eq!(*load.wrong.lock().unwrap(), Vec::<String>::new());

    let has_all = || complete_up_to(&writer, last_final);
    let begin = Instant::now();
    while !has_all() {
        assert!(begin.elapsed() < RECOVERY, "the writer does not continue");
        thread::sleep(Duration::from_millis(200));
    }
    // A transaction is archived when it is finalized, so the newest are not.
    let included = blocks.messages[..BLOCKS - 20].iter().flat_map(|message| &message.transactions);
    let (mut answers, (server, _store)) = (0, reader(&archive));
    for transaction in included {
        let body = status_of(transaction, "FINAL");
        assert!(server.post("/", &body).body == answer_of(&body), "{}", transaction.hash);
        answers += 1;
    }
    println!("{answers} transactions that were archived meanwhile are answered, 0 wrong");
}

/// Ends the load also when a check fails, so that its threads can be joined
struct StopOnDrop<'load>(&'load AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Clients of the servers, one each, and what became of their requests
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    calls: Calls,
    /// What must not be
    wrong: Mutex<Vec<String>>,
}

impl Load {
    fn run(&self, server: &Server, bodies: &[String], expected: &[Vec<u8>]) {
        for (body, expected) in bodies.iter().zip(expected).cycle() {
            if self.is_over.load(Relaxed) {
                return;
            }
            let begin = Instant::now();
            let response = server.post("/", body);
            if response.body == *expected {
                self.calls.add(begin, true);
            } else if response.text().contains("INTERNAL_ERROR")
                && response.header("retry-after").is_some()
            {
                self.calls.add(begin, false);
                // Far less than a client that heeds the header would wait.
                thread::sleep(Duration::from_millis(50));
            } else {
                self.wrong.lock().unwrap().push(response.text());
            }
        }
    }

    /// Lets the load run and prints what became of it
    fn phase(&self, name: &str) {
        self.calls.report();
        thread::sleep(PHASE);
        println!("{name}:\n    requests {}", self.calls.report());
    }

    /// Waits until each server has answered again, some requests in a row
    fn recover(&self, name: &str) {
        let begin = Instant::now();
        loop {
            self.calls.report();
            thread::sleep(Duration::from_millis(200));
            if self.calls.failed() == 0 && self.calls.answered() >= 3 * READERS {
                break;
            }
            assert!(begin.elapsed() < RECOVERY, "{name}: the servers do not continue");
        }
        println!("{name}: all continue after {:.1} s", begin.elapsed().as_secs_f64());
    }
}
