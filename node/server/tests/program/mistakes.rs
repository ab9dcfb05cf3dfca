//! What an operator does wrong gets a sentence: addresses, keys, networks, clocks, disks.

use core::time::Duration;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::UNIX_EPOCH;

use milepost_practice::config::protocol_config;
use milepost_testing::feed::Faults;
use serde_json::json;

use crate::fixture::text;
use crate::follow::{canonical, chain, chain_from, follow, serve_feed, status_of};
use crate::support::{Server, command, errors};

/// What a server logs about a feed until it has this text
fn logged(feed: &str, args: &[&str], expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let args = [&["--follow", feed, "--feed-requests", "100000"], args].concat();
    let server = Server::start_logging(&args, fs::File::create(&log).unwrap());
    let has_it = || fs::read_to_string(&log).unwrap().contains(expected);
    server.until(expected, has_it);
    assert_eq!(server.get("/health").status, 503);
    // A sentence is logged once.
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    let log = fs::read_to_string(&log).unwrap();
    assert_eq!(log.matches(expected).count(), 1, "{log}");
}

#[test]
fn a_wrong_address_is_said_before_the_first_block() {
    let feed = serve_feed(&chain(31, 60), Faults::default());
    let url = feed.url();
    let other_path = format!("{url}/elsewhere");
    logged(&other_path, &[], &format!("no block from {other_path} so far, and it is asked again"));
    logged(&other_path, &[], "HTTP 404 not found");
    let page = serve_feed(&chain(31, 60), Faults { is_page: true, ..Faults::default() });
    logged(&page.url(), &[], "HTML in place of a block");
    // A name that is reserved for not being found.
    logged("neardata+https://feed.invalid", &[], "no block from neardata+https://feed.invalid");
}

#[test]
fn an_expired_key_ends_a_first_start_with_the_option_that_gives_another() {
    let messages = chain(32, 400);
    let feed = serve_feed(&messages, Faults { expired_at: Some(0), ..Faults::default() });
    let from = messages[0].height.to_string();
    let output = command(&["serve", "--listen", "127.0.0.1:0", "--follow", &feed.url()])
        .args(["--from", &from, "--feed-requests", "100000"])
        .env("MILEPOST_FEED_TOKEN", "hidden-key")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let log = errors(&output);
    assert!(log.contains("the feed refuses the token (HTTP 401)"), "{log}");
    assert!(log.contains("--feed-token-file or MILEPOST_FEED_TOKEN gives the token"), "{log}");
    assert!(!log.contains("hidden-key"), "{log}");
}

#[test]
fn a_server_with_blocks_outlives_the_key_of_its_feed() {
    let messages = chain(32, 400);
    let feed = serve_feed(&messages, Faults { expired_at: Some(1_500), ..Faults::default() });
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let (url, from) = (feed.url(), messages[0].height.to_string());
    let args = ["--follow", &url, "--from", &from, "--feed-requests", "100000"];
    let server = Server::start_logging(&args, fs::File::create(&log).unwrap());
    let read = || fs::read_to_string(&log).unwrap();
    server.until("the sentence", || read().contains("the feed refuses the token (HTTP 401)"));
    let failures = format!("milepost_feed_source_failures_total{{source=\"{url}\"}}");
    let before = server.metric(&failures);
    server.until("another attempt", || server.metric(&failures) > before);
    assert!(server.get("/status").json()["blocks"].as_u64() > Some(10));
    assert_eq!(read().matches("the feed refuses the token").count(), 1, "{}", read());
}

#[test]
fn a_feed_with_an_expired_key_is_named_while_another_goes_on() {
    let messages = chain(35, 300);
    let expired = serve_feed(&messages, Faults { expired_at: Some(0), ..Faults::default() });
    let other = serve_feed(&messages, Faults::default());
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let (url, other, from) = (expired.url(), other.url(), messages[0].height.to_string());
    let args = ["--follow", &url, "--follow", &other, "--from", &from];
    let args = [&args[..], &["--feed-requests", "100000"]].concat();
    let server = Server::start_logging(&args, fs::File::create(&log).unwrap());
    let last = canonical(&messages).last().unwrap();
    server.until("the end of the chain", || {
        server.get("/status").json()["head"]["height"] == last.height
    });
    let log = fs::read_to_string(&log).unwrap();
    assert_eq!(log.matches(&format!("{url}: ")).count(), 1, "{log}");
    assert_eq!(log.matches("the feed refuses the token (HTTP 401)").count(), 1, "{log}");
}

#[test]
fn a_store_of_another_network_is_refused_before_the_feed_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("empty.milepost");
    let configs = directory.path().join("configs");
    fs::create_dir(&configs).unwrap();
    let config = protocol_config("testnet", 42_376_888, 80, &[]);
    fs::write(configs.join("42376888.json"), config).unwrap();
    let serve = |args: &[&str]| {
        let all = ["serve", "--listen", "127.0.0.1:0", "--store", text(&store)];
        let output = command(&[&all, args].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        errors(&output)
    };
    let log = serve(&["--configs", text(&configs), "--follow", "mainnet"]);
    let expected = "belongs to testnet, and the feed of --follow to mainnet";
    assert!(log.contains(expected), "{log}");
    assert!(!store.exists());
    // A store without a block is still of its chain.
    drop(Server::start(&["--store", text(&store), "--configs", text(&configs)]));
    let log = serve(&["--follow", "mainnet"]);
    assert!(log.contains(expected), "{log}");
    let log = serve(&["--follow", "testnet", "--follow", "mainnet"]);
    assert!(log.contains("--follow has a feed of testnet and one of mainnet"), "{log}");
}

#[test]
fn a_node_of_another_network_is_refused_before_its_first_block() {
    let node = serve_feed(&chain(36, 60), Faults::default());
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("empty.milepost");
    let configs = directory.path().join("configs");
    fs::create_dir(&configs).unwrap();
    let config = protocol_config("testnet", 42_376_888, 80, &[]);
    fs::write(configs.join("42376888.json"), config).unwrap();
    let args = ["serve", "--listen", "127.0.0.1:0", "--store", text(&store), "--configs"];
    let url = node.node_url();
    let args = [&args[..], &[text(&configs), "--follow", &url]].concat();
    let output = command(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let log = errors(&output);
    let expected = format!("belongs to testnet, and the node of --follow {url} to practice");
    assert!(log.contains(&expected), "{log}");
}

#[test]
fn a_clock_that_is_wrong_is_reported_with_the_difference() {
    let now = UNIX_EPOCH.elapsed().unwrap();
    let feed = |time: Duration| serve_feed(&chain_from(33, 60, time), Faults::default());
    let ahead = feed(now + Duration::from_secs(90));
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let args = ["--follow", &ahead.url(), "--feed-requests", "100000"];
    let server = Server::start_logging(&args, fs::File::create(&log).unwrap());
    let expected = "the clock of this machine is behind: block";
    server.until(expected, || fs::read_to_string(&log).unwrap().contains(expected));
    let log = fs::read_to_string(&log).unwrap();
    assert_eq!(log.matches(expected).count(), 1, "{log}");
}

/// Kibibytes of a file for some of the blocks
const FULL: u64 = 2_600;

/// A command of the program that can write this number of kibibytes to a file, as on a full disk
fn with_file_limit(kibibytes: u64, args: &[&str]) -> Command {
    let mut shell = Command::new("bash");
    // The signal is ignored, so that a write over the limit is an error as on a full disk.
    let script = format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$@\"");
    shell.args(["-c", &script, "bash", env!("CARGO_BIN_EXE_milepost")]).args(args);
    shell.env("MILEPOST_LOG", "warn").stdin(Stdio::null());
    shell
}

#[test]
fn a_full_disk_is_named_and_loses_nothing() {
    let messages = chain(34, 300);
    let feed = serve_feed(&messages, Faults::default());
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("full.milepost");
    let (url, from) = (feed.url(), messages[0].height.to_string());
    let follow_args = ["--follow", &url, "--feed-requests", "100000"];
    let serve = ["serve", "--listen", "127.0.0.1:0", "--store", text(&store)];
    let args = [&serve[..], &follow_args, &["--from", &from]].concat();
    let log = directory.path().join("log");
    let mut full = with_file_limit(FULL, &args);
    full.stderr(fs::File::create(&log).unwrap());
    let server = Server::spawn(full);
    let expected = format!("there is no room for {}, and no block is imported", text(&store));
    server.until("the full disk is named", || {
        let log = fs::read_to_string(&log).unwrap();
        log.contains(&expected) && log.contains("(os error 27)")
    });
    assert!(server.get("/status").json()["blocks"].as_u64() > Some(0));
    drop(server);

    // It can be read while there is no space.
    let reader = Server::spawn(with_file_limit(FULL, &serve));
    let status = reader.get("/status").json();
    let blocks = status["blocks"].as_u64().unwrap();
    assert!(blocks > 0, "{status}");
    let first = canonical(&messages).find_map(|message| message.transactions.first()).unwrap();
    let before = reader.post("/", &status_of(first, "NONE")).text();
    assert!(before.contains(&first.hash.to_string()), "{before}");
    drop(reader);

    // With space again, it continues where it was.
    let server = follow(&feed, &["--store", text(&store)]);
    let last = canonical(&messages).last().unwrap();
    server.until("the end of the chain", || {
        server.get("/status").json()["head"]["height"] == last.height
    });
    assert_eq!(server.get("/status").json()["blocks"], json!(canonical(&messages).count()));
    assert!(server.post("/", &status_of(first, "NONE")).text().contains(&first.hash.to_string()));
}

/// A user that owns no files here
const NOBODY: u32 = 65_534;

/// The errors of the program with these arguments, as a user who may not write everywhere
fn refused(program: &Path, is_root: bool, args: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(args);
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    errors(&output)
}

#[test]
fn a_store_or_an_archive_that_may_not_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    // A user without rights may not reach the folder of the build, but a copy of the program.
    let program = directory.path().join("milepost");
    if is_root {
        fs::copy(env!("CARGO_BIN_EXE_milepost"), &program).unwrap();
    } else {
        symlink(env!("CARGO_BIN_EXE_milepost"), &program).unwrap();
    }
    let (closed, store) = (directory.path().join("closed"), directory.path().join("one.milepost"));
    let archive = directory.path().join("archive");
    let practice = ["--follow", "practice", "--store", text(&store), "--archive", text(&archive)];
    let server = Server::start(&practice);
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    fs::create_dir(&closed).unwrap();
    set_mode(&closed, 0o555);
    set_mode(&store, 0o444);
    set_mode(&archive.join("rows/lock"), 0o444);
    set_mode(directory.path(), 0o755);
    // A directory gets a file in it.
    for path in [&closed.join("new.milepost"), &store, &closed] {
        let log = refused(&program, is_root, &["--follow", "practice", "--store", text(path)]);
        assert!(log.contains(text(path)), "{log}");
        assert!(log.to_lowercase().contains("permission denied (os error 13)"), "{log}");
    }
    let log = refused(&program, is_root, &["--store", "memory", "--archive", text(&archive)]);
    assert!(log.contains(text(&archive)), "{log}");
    // Of the error, or of its name where fjall has it.
    assert!(log.to_lowercase().contains("permission"), "{log}");
}
