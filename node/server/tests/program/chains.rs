//! Every store and archive with every feed: which blocks the server imports.
//!
//! The practice chain runs in memory, or where it is asked for by name. Blocks of two chains are
//! never mixed. A refused start changes no byte and makes no file.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use milepost_practice::Settings;
use milepost_practice::config::protocol_config;
use milepost_testing::feed::Faults;

use crate::fixture::{message_files, text};
use crate::follow::{canonical, chain, follow, serve_feed};
use crate::support::{Server, command, errors};

/// The outcome of a start
enum Start {
    /// It listens, with this text in its first line
    Listens(&'static str),
    /// Exit code 2, with this sentence
    Ends(&'static str),
}
use Start::{Ends, Listens};

/// Stores and archives of two chains, each in a file or a folder of its name
pub(crate) fn templates() -> &'static Path {
    static TEMPLATES: OnceLock<PathBuf> = OnceLock::new();
    TEMPLATES.get_or_init(|| {
        // In the target directory, because nothing removes it.
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chains");
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        make_templates(&path);
        path
    })
}

fn make_templates(templates: &Path) {
    let path = |name: &str| templates.join(name);
    let (files, configs) = (message_files(), path("configs"));
    fs::create_dir(&configs).unwrap();
    let genesis = Settings::demo(3).genesis_height;
    let config = protocol_config("othernet", genesis, 87, &["g0", "n0"]);
    fs::write(configs.join(format!("{genesis}.json")), config).unwrap();
    let other = ["--blocks", text(files.path()), "--configs", text(&configs)];
    let practice = ["--follow", "practice"];
    for (source, name) in [(&practice[..], "practice"), (&other, "other")] {
        let directory = format!("{}/", text(&path(&format!("{name}-directory"))));
        let archive = path(&format!("{name}-archive"));
        let store = path(&format!("{name}.milepost"));
        for place in [
            &["--store", text(&store)][..],
            &["--store", &directory],
            &["--archive", text(&archive)],
        ] {
            let server = Server::start(&[source, place].concat());
            if place[1] != text(&store) {
                let archived = || server.get("/status").json()["archive"]["complete"][0].is_array();
                server.until("blocks are archived", archived);
            }
            server.signal("TERM");
            assert_eq!(server.ended().code(), Some(0));
        }
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Every file below a folder with its bytes, every folder, and every link with its target
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            contents.insert(path, text(&target).as_bytes().to_vec());
        } else if path.is_dir() {
            contents.extend(self::contents(&path));
            contents.insert(path, Vec::new());
        } else {
            contents.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    contents
}

/// Starts a server in a folder with copies of templates
fn assert_start(templates: &Path, place: &[&str], feed: &[&str], expected: &Start) {
    let folder = tempfile::tempdir().unwrap();
    for name in place.iter().filter(|word| !word.starts_with("--")) {
        let from = templates.join(name);
        if from.exists() {
            copy(&from, &folder.path().join(name));
        }
    }
    let before = contents(folder.path());
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.args(place).args(feed).current_dir(folder.path());
    let case = format!("{place:?} {feed:?}");
    match expected {
        Listens(expected) => {
            let server = Server::spawn(serve);
            assert!(server.first.contains(expected), "{case}: {}", server.first);
        }
        Ends(expected) => {
            let output = serve.output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{case}: {}", errors(&output));
            assert_eq!(errors(&output).trim_end(), format!("milepost: {expected}"), "{case}");
            assert_eq!(output.stdout, b"", "{case}");
            assert!(contents(folder.path()) == before, "{case}: a refused start changed files");
        }
    }
}

#[test]
fn a_start_mixes_no_chains_and_makes_nothing_that_was_not_asked_for() {
    let templates = templates();
    let (none, practice, mainnet) = (&[][..], &["--follow", "practice"], &["--follow", "mainnet"]);
    let empty = "is empty, and there is no feed: add `--follow mainnet` (`follow = [\"mainnet\"]` in a file of settings), or `--follow practice` for the demonstration chain";
    let refused =
        |place: &str| -> Start { Ends(Box::leak(format!("{place} {empty}").into_boxed_str())) };
    let new_store = refused("the store new.milepost");
    let new_directory = refused("the store new/chain.milepost");
    let new_archive = refused("the archive new-archive");
    let lost_store = refused("the store new.milepost");
    for (place, of_none, of_practice, of_mainnet) in [
        (&[][..], Listens("demonstration chain"), Listens("demonstration chain"), Listens("http:")),
        (&["--store", "new.milepost"], new_store, Listens("demonstration chain"), Listens("http:")),
        (
            &["--store", "practice.milepost"],
            Listens("(no feed: blocks 100000000 to "),
            Listens("demonstration chain"),
            Ends(
                "the store practice.milepost belongs to practice, and the feed of --follow to mainnet",
            ),
        ),
        (
            &["--store", "other.milepost"],
            Listens(" of othernet)"),
            Ends(
                "the store other.milepost belongs to othernet, and the feed of --follow to practice",
            ),
            Ends(
                "the store other.milepost belongs to othernet, and the feed of --follow to mainnet",
            ),
        ),
        (&["--store", "new/"], new_directory, Listens("demonstration chain"), Listens("http:")),
        (
            &["--store", "practice-directory"],
            Listens("(no feed: blocks 100000000 to "),
            Listens("demonstration chain"),
            Ends(
                "the store practice-directory/chain.milepost belongs to practice, and the feed of --follow to mainnet",
            ),
        ),
        (
            &["--store", "other-directory"],
            Listens(" of othernet)"),
            Ends(
                "the store other-directory/chain.milepost belongs to othernet, and the feed of --follow to practice",
            ),
            Ends(
                "the store other-directory/chain.milepost belongs to othernet, and the feed of --follow to mainnet",
            ),
        ),
        (
            &["--archive", "new-archive"],
            new_archive,
            Listens("demonstration chain"),
            Listens("http:"),
        ),
        (
            &["--archive", "practice-archive"],
            Listens("(no feed: blocks 100000000 to "),
            Listens("demonstration chain"),
            Ends(
                "the archive practice-archive belongs to practice, and the feed of --follow to mainnet",
            ),
        ),
        (
            &["--archive", "other-archive"],
            Listens(" of othernet)"),
            Ends(
                "the archive other-archive belongs to othernet, and the feed of --follow to practice",
            ),
            Ends(
                "the archive other-archive belongs to othernet, and the feed of --follow to mainnet",
            ),
        ),
        (
            &["--store", "new.milepost", "--archive", "practice-archive"],
            lost_store,
            Listens("demonstration chain"),
            Ends(
                "the archive practice-archive belongs to practice, and the feed of --follow to mainnet",
            ),
        ),
        (
            &["--store", "practice.milepost", "--archive", "other-archive"],
            Ends(
                "the store practice.milepost belongs to practice, and the archive other-archive to othernet",
            ),
            Ends(
                "the store practice.milepost belongs to practice, and the archive other-archive to othernet",
            ),
            Ends(
                "the store practice.milepost belongs to practice, and the archive other-archive to othernet",
            ),
        ),
    ] {
        for (feed, expected) in [(none, of_none), (practice, of_practice), (mainnet, of_mainnet)] {
            assert_start(templates, place, feed, &expected);
        }
    }
    // An archive in memory does not last.
    assert_start(templates, &["--archive", "memory"], none, &Listens("demonstration chain"));
}

#[test]
fn options_of_one_source_are_refused_with_another() {
    let templates = templates();
    for (args, expected) in [
        (
            &["--follow", "practice", "--follow", "mainnet"][..],
            "--follow practice does not go with another --follow",
        ),
        (&["--follow", "practice", "--from", "7"], "--from does not go with --follow practice"),
        (
            &["--follow", "practice", "--upstream", "none"],
            "--upstream does not go with --follow practice",
        ),
        (&["--follow", "practice", "--blocks", "x"], "--blocks does not go with --follow practice"),
        (&["--follow", "practice", "--until", "7"], "--until does not go with --follow practice"),
        (&["--follow", "practice", "--skip", "7"], "--skip does not go with --follow practice"),
        (
            &["--follow", "practice", "--start-margin", "250"],
            "--start-margin does not go with --follow practice",
        ),
        (
            &["--follow", "practice", "--max-age", "60s"],
            "--max-age does not go with --follow practice",
        ),
    ] {
        assert_start(templates, &["--store", "new.milepost"], args, &Ends(expected));
    }
}

#[test]
fn a_feed_without_a_name_is_compared_before_its_first_block_is_taken_in() {
    let (one, other) = (chain(41, 60), chain(42, 120));
    let directory = tempfile::tempdir().unwrap();
    let (store, from) = (directory.path().join("one.milepost"), one[0].height.to_string());
    let blocks = canonical(&one).count() as u64;
    {
        let feed = serve_feed(&one, Faults::default());
        let upstream = feed.node_url();
        let upstream = upstream.strip_prefix("node+").unwrap();
        let args = ["--store", text(&store), "--from", &from, "--upstream", upstream];
        let server = follow(&feed, &args);
        server.until("all blocks and their name", || {
            let status = server.get("/status").json();
            status["blocks"] == blocks && status["chain_id"] == "practice"
        });
        server.signal("TERM");
        assert_eq!(server.ended().code(), Some(0));
    }
    let feed = serve_feed(&other, Faults::default());
    let args = ["serve", "--listen", "127.0.0.1:0", "--store", text(&store)];
    let output = command(&args).args(["--follow", &feed.url()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    let expected = format!("the store {} belongs to practice, and --follow", text(&store));
    assert!(errors(&output).contains(&expected), "{}", errors(&output));
    assert!(errors(&output).contains(" to another chain: "), "{}", errors(&output));
    let server = Server::start(&["--store", text(&store)]);
    assert_eq!(server.get("/status").json()["blocks"], blocks);
}

#[test]
fn an_empty_store_beside_an_archive_takes_no_block_of_another_chain() {
    let folder = tempfile::tempdir().unwrap();
    let feed = serve_feed(&chain(43, 60), Faults::default());
    let upstream = feed.node_url();
    let upstream = upstream.strip_prefix("node+").unwrap();
    let store = folder.path().join("new.milepost");
    let archive = folder.path().join("other-archive");
    copy(&templates().join("other-archive"), &archive);
    let args = ["serve", "--listen", "127.0.0.1:0", "--store", text(&store)];
    let output = |upstream: &str| {
        let feed = ["--follow", &feed.url(), "--upstream", upstream];
        command(&args).args(["--archive", text(&archive)]).args(feed).output().unwrap()
    };
    for (upstream, expected) in [
        (upstream, "belongs to othernet, and --upstream to practice".to_owned()),
        // Neither the feed nor a node says its name.
        (
            "none",
            format!(
                "belongs to othernet, and --follow {} to another chain: its block ",
                feed.url()
            ),
        ),
    ] {
        let output = output(upstream);
        assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
        assert!(errors(&output).contains(&expected), "{}", errors(&output));
    }
    let server = Server::start(&["--store", text(&store)]);
    assert_eq!(server.get("/status").json()["blocks"], 0);
}

#[test]
fn an_empty_store_beside_an_archive_takes_blocks_of_a_feed_without_a_name() {
    let (messages, folder) = (chain(43, 60), tempfile::tempdir().unwrap());
    let feed = serve_feed(&messages, Faults::default());
    let node = feed.node_url();
    let node = node.strip_prefix("node+").unwrap();
    let archive = folder.path().join("archive");
    let from = messages[0].height.to_string();
    let blocks = canonical(&messages).count() as u64;
    for (store, upstream) in [("one.milepost", node), ("two.milepost", "none")] {
        let store = folder.path().join(store);
        let places = ["--store", text(&store), "--archive", text(&archive), "--from", &from];
        let server = follow(&feed, &[&places[..], &["--upstream", upstream]].concat());
        server.until("all blocks, archived", || {
            let status = server.get("/status").json();
            status["blocks"] == blocks && status["archive"]["complete"][0].is_array()
        });
        assert_eq!(server.get("/status").json()["chain_id"], "practice");
        server.signal("TERM");
        assert_eq!(server.ended().code(), Some(0));
    }
    // A feed without any of the archived blocks may be of any chain.
    let elsewhere = serve_feed(&chain(44, 300)[150..], Faults::default());
    let store = folder.path().join("three.milepost");
    let output = command(&["serve", "--listen", "127.0.0.1:0", "--store", text(&store)])
        .args(["--archive", text(&archive), "--follow", &elsewhere.url()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    let expected =
        "which has no block of the archived heights: --upstream names a node of its chain";
    assert!(errors(&output).contains(expected), "{}", errors(&output));
}
