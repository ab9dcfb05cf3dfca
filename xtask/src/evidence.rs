//! Runs what takes long and proves much, and keeps the last figures in `docs/EVIDENCE.md`.
//!
//! The page is written by `benches/report`, which adds the date, the version and the machine. A run
//! that fails writes nothing. `cargo xtask test` runs a small version of each.

use crate::shell::{cargo, feed, show, target};
use crate::{bench, cluster, fuzz, platforms, setup, simulate, upgrade};

/// What there is: name, about
const NAMES: &[(&str, &str)] = &[
    ("simulation", "1,000,000 seeds of waiting (ten minutes); `--seeds N` takes another number"),
    (
        "server-simulation",
        "10,000 seeds of the whole server (two minutes); `--seeds N` takes another number",
    ),
    ("open-requests", "10,000 open HTTP requests on a release build (three minutes)"),
    (
        "watchers",
        "100,000 watchers of 20,000 transactions, beside clients that poll (four minutes)",
    ),
    ("hostile-http", "all attacks with 10,000 connections on a release build (three minutes)"),
    ("soak", "an hour of load and restarts; `--minutes N` takes another time"),
    (
        "fuzz",
        "every fuzz target, or those named (ten minutes each); `--minutes N` takes another time",
    ),
    ("follow", "follows a day of a chain with faults, and kills a server 200 times (four minutes)"),
    ("catch-up", "imports 10,000 blocks (two minutes); `--blocks DIR` also messages of mainnet"),
    ("archive", "sizes and reads of archived rows (a minute); `--blocks DIR` takes real blocks"),
    ("archive-growth", "reads of archives up to 5,000,000 transactions (seven minutes)"),
    ("power-loss", "cuts the power under a store and its archive, and fails calls (ten minutes)"),
    (
        "upgrade",
        "a server of another release and back: `upgrade [REVISION]` (two minutes, and a build)",
    ),
    ("cluster", "kills and pauses nodes of a cluster under load (a quarter of an hour)"),
    ("cluster-growth", "reads of an archive of 1,000,000 transactions in a cluster (ten minutes)"),
    ("platforms", "builds and tests for other processors, under QEMU (an hour)"),
    ("bench", "all benches beside the node's path (half an hour); `--rocksdb` adds its database"),
    ("bench-http", "what a response costs over HTTP, with `wrk` (four minutes)"),
];

/// Seeds of the simulation, unless the arguments say another number
const SEEDS: &str = "1000000";
/// Seeds of the simulation of the whole server, unless the arguments say another number
const SERVER_SEEDS: &str = "10000";

/// The names, one line each, for the help
pub(crate) fn list() -> String {
    let lines = NAMES.iter().map(|(name, about)| format!("      {name:<14} {about}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs what the arguments name, or everything in turn
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        [] => NAMES.iter().try_for_each(|(name, _)| run(&[name])),
        ["simulation"] => simulation(SEEDS),
        ["simulation", "--seeds", seeds] if seeds.parse::<u64>().is_ok() => simulation(seeds),
        ["server-simulation"] => server_simulation(SERVER_SEEDS),
        ["server-simulation", "--seeds", seeds] if seeds.parse::<u64>().is_ok() => {
            server_simulation(seeds)
        }
        ["open-requests"] => open_requests(),
        ["watchers"] => watchers(),
        ["hostile-http"] => hostile_http(),
        ["soak"] => soak("60"),
        ["soak", "--minutes", minutes] if minutes.parse::<u64>().is_ok() => soak(minutes),
        ["fuzz", "--minutes", minutes, targets @ ..] => fuzz(minutes, targets),
        ["fuzz", targets @ ..] => fuzz("10", targets),
        ["follow"] => follow(),
        ["catch-up"] => catch_up(None),
        ["catch-up", "--blocks", directory] => catch_up(Some(directory)),
        ["archive"] => archive(None),
        ["archive", "--blocks", directory] => archive(Some(directory)),
        ["archive-growth"] => archive_growth(),
        ["power-loss"] => power_loss(),
        ["upgrade"] => upgrade(None),
        ["upgrade", revision] => upgrade(Some(revision)),
        ["cluster"] => cluster(),
        ["cluster-growth"] => cluster_growth(),
        ["platforms"] => platforms(),
        ["bench"] => bench::write_ratios(false),
        ["bench", "--rocksdb"] => bench::write_ratios(true),
        ["bench-http"] => setup::run(&["wrk"]).and_then(|()| bench::write_http()),
        _ => Err(format!("`evidence` takes one of these, or nothing:\n{}", list())),
    }
}

fn simulation(seeds: &str) -> Result<(), String> {
    let text = show(simulate::program().args(["--seeds", seeds]))?;
    write("simulation", &format!("--seeds {seeds}"), &text)
}

fn server_simulation(seeds: &str) -> Result<(), String> {
    let mut test = simulate::server();
    let text = show(test.env("MILEPOST_SIMULATION_SEEDS", seeds))?;
    write("server-simulation", &format!("--seeds {seeds}"), &text)
}

fn open_requests() -> Result<(), String> {
    // They want a release build, all processors and one another's absence, so they run alone and in
    // turn.
    let command =
        "test --release -p milepost-server --test open_requests -- --nocapture --test-threads 1";
    let mut tests = cargo(command);
    write("open-requests", "", &show(tests.env("MILEPOST_OPEN_REQUESTS", "10000"))?)
}

fn watchers() -> Result<(), String> {
    let mut test = cargo("test --release -p milepost-server --test watchers -- --nocapture");
    write("watchers", "", &show(test.env("MILEPOST_WATCHERS", "100000"))?)
}

fn hostile_http() -> Result<(), String> {
    let mut test = cargo("test --release -p milepost-server --test hostile -- --nocapture");
    write("hostile-http", "", &show(test.env("MILEPOST_HOSTILE", "10000"))?)
}

fn soak(minutes: &str) -> Result<(), String> {
    let mut test = cargo("test --release -p milepost-server --test soak -- --nocapture");
    write("soak", &format!("--minutes {minutes}"), &show(test.env("MILEPOST_SOAK", minutes))?)
}

fn fuzz(minutes: &str, targets: &[&str]) -> Result<(), String> {
    let number = minutes.parse().ok().filter(|it| *it > 0);
    let number = number.ok_or("--minutes takes a number above 0")?;
    setup::run(&["fuzz"])?;
    let arguments = [&["--minutes", minutes], targets].concat().join(" ");
    write("fuzz", &arguments, &fuzz::campaign(number, targets)?)
}

/// A day of blocks, which are produced each 0.6 s
const FOLLOWED_BLOCKS: &str = "144000";
const FOLLOWED_KILLS: &str = "200";

fn follow() -> Result<(), String> {
    let options = "-- --nocapture --test-threads 1";
    let mut day =
        cargo(&format!("test --release -p milepost-feeds --test follow a_long_time {options}"));
    let mut kills =
        cargo(&format!("test --release -p milepost-server --test program killed {options}"));
    let day = show(day.env("MILEPOST_FOLLOW_BLOCKS", FOLLOWED_BLOCKS))?;
    let kills = show(kills.env("MILEPOST_FOLLOW_KILLS", FOLLOWED_KILLS))?;
    write("follow", "", &format!("{day}\n{kills}"))
}

fn catch_up(directory: Option<&str>) -> Result<(), String> {
    let mut program = cargo("run --release -p milepost-benches --bin catch_up --");
    // The file is on the disk of the build, since a directory for temporary files may be in memory.
    write("catch-up", "", &show(program.arg(target()?).args(directory))?)
}

fn archive(directory: Option<&str>) -> Result<(), String> {
    let mut program = cargo("run --release -p milepost-benches --bin archive --");
    write("archive", "", &show(program.arg(target()?).args(directory))?)
}

fn archive_growth() -> Result<(), String> {
    let mut program = cargo("run --release -p milepost-benches --bin archive_growth --");
    write("archive-growth", "", &show(program.arg(target()?))?)
}

fn power_loss() -> Result<(), String> {
    setup::run(&["strace"])?;
    write("power-loss", "", &show(&mut cargo("run --release -p milepost-power-loss"))?)
}

fn upgrade(revision: Option<&str>) -> Result<(), String> {
    write("upgrade", revision.unwrap_or_default(), &upgrade::run_with(revision)?)
}

fn cluster() -> Result<(), String> {
    setup::run(&["cassandra", "strace"])?;
    let outputs: Result<Vec<String>, String> =
        cluster::fault_tests()?.iter_mut().map(show).collect();
    write("cluster", "", &outputs?.concat())
}

fn cluster_growth() -> Result<(), String> {
    setup::run(&["cassandra"])?;
    write("cluster-growth", "", &show(&mut cluster::growth_test()?)?)
}

fn platforms() -> Result<(), String> {
    setup::run(&["platforms"])?;
    write("platforms", "", &platforms::run_all()?)
}

/// Hands the output of a run to the program that writes the page
fn write(name: &str, arguments: &str, text: &str) -> Result<(), String> {
    feed(&mut bench::report(&format!("section {name} {arguments}")), text)
}
