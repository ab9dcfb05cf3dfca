//! A server of the practice chain that runs for long: 20 seconds, or as many minutes as
//! `MILEPOST_SOAK` says; `cargo xtask verify soak` runs it for an hour.
//!
//! It has a store that forgets, with its archive, and clients that ask, wait, watch and attack. In
//! the first part it is killed and stopped, and started again on what it left. An answer about a
//! final transaction has to be the same bytes for ever. Memory, open files and times are printed
//! for each part of the run; in a long run memory must not grow in its second half.

mod clients;

use core::time::Duration;
use std::env;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use clients::Clients;

use crate::alone;
use crate::host::Usage;
use crate::hostile::bystander::Delays;
use crate::support::Server;

/// A run of all tests
const SHORT: Duration = Duration::from_secs(20);
/// Parts of a run, for each of which a line is printed
const PARTS: u32 = 30;
/// The parts before which the server is killed, and before which it is stopped
const KILLED: u32 = 2;
const STOPPED: u32 = 4;
/// The part after which caches of the store and of its archive are mostly filled, in a long run
const FILLED: u32 = 12;
/// By how much memory may be larger at the end than then
const MAX_GROWTH: f64 = 1.2;

fn start(store: &Path) -> Server {
    let store = format!("{}/", store.display());
    let limits = ["--retention", "blocks:300", "--timeout", "5s", "--max-buffered", "64MiB"];
    Server::start(&[&["--follow", "practice", "--store", &store][..], &limits].concat())
}

/// What is measured at the end of a part
struct Sample {
    resident: u64,
    files: usize,
}

#[test]
fn a_server_under_load_keeps_its_answers_and_its_memory() {
    let _alone = alone();
    let minutes = env::var("MILEPOST_SOAK").ok();
    let minutes: Option<u64> =
        minutes.map(|number| number.parse().expect("MILEPOST_SOAK is a number of minutes"));
    let duration = minutes.map_or(SHORT, |minutes| Duration::from_secs(60 * minutes));
    // Beside the build, since a directory for temporary files may be in memory.
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let directory = tempfile::tempdir_in(place).expect("a directory");
    let store = directory.path().join("store");

    let mut server = start(&store);
    let clients = Clients::start(server.address, if minutes.is_some() { 100 } else { 20 });
    let mut samples = Vec::new();
    println!("minute  requests  median ms  99 % ms  all ms  memory MB  open files");
    let begin = Instant::now();
    for part in 1..=PARTS {
        if part == KILLED || part == STOPPED {
            server = clients.restart(|| {
                server.signal(if part == STOPPED { "TERM" } else { "KILL" });
                let status = server.ended();
                assert!(part == KILLED || status.code() == Some(0), "{status}");
                start(&store)
            });
        }
        thread::sleep((duration / PARTS * part).saturating_sub(begin.elapsed()));
        let times = Delays::of(clients.take_times());
        let sample = Sample { resident: Usage::of(server.id()).resident, files: files(&server) };
        let [median, most, all] =
            [0.5, 0.99, 1.0].map(|share| 1e3 * times.quantile(share).as_secs_f64());
        println!(
            "{:6.1} {:9} {median:10.1} {most:8.1} {all:7.1} {:10.1} {:11}",
            begin.elapsed().as_secs_f64() / 60.0,
            times.count(),
            sample.resident as f64 / 1e6,
            sample.files,
        );
        clients.check();
        samples.push(sample);
    }
    let counts = clients.end();
    println!("{counts}");
    server.until_metric("milepost_requests_pending", 0);
    let open = || server.metric("milepost_connections_open").expect("the metric exists");
    server.until("the end of all connections", || open() <= 2);
    println!("open files without clients: {}", files(&server));
    if minutes.is_some() {
        let middle = |part: &[Sample]| {
            let mut sizes: Vec<u64> = part.iter().map(|sample| sample.resident).collect();
            sizes.sort_unstable();
            sizes[sizes.len() / 2]
        };
        let (full, last) = samples.split_at(PARTS as usize - 5);
        let full = middle(&full[FILLED as usize..FILLED as usize + 5]);
        let growth = middle(last) as f64 / full as f64;
        println!("memory in the last sixth, of that after two fifths: {growth:.2}");
        assert!(growth <= MAX_GROWTH, "memory grew to {growth:.2} times");
    }
}

/// Number of files that the server has open
fn files(server: &Server) -> usize {
    let path = format!("/proc/{}/fd", server.id());
    fs::read_dir(path).map_or(0, Iterator::count)
}
