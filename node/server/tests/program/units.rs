//! The deployments of this repository come back after SIGKILL at any moment, without a hand.
//!
//! Each command line is read from its file: that of the unit for systemd with its settings, and
//! that of the image with the options of the handbook. Only their paths, the port and the feed are
//! those of the test. Moments are events: files that a first start has made, blocks that are taken
//! in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::{env, fs, thread};

use core::time::Duration;

use milepost_practice::BlockMessage;
use milepost_testing::feed::Faults;

use crate::fixture::text;
use crate::follow::{canonical, chain, serve_feed};
use crate::support::{Server, command};

/// Where deployments can be
const FOLDERS: [&str; 3] = ["docs", "examples", "node/packaging"];
/// Where the packages have the state of a server and its settings
const STATE: &str = "/var/lib/milepost";
const SETTINGS: &str = "/etc/milepost";
const PROGRAM: &str = "/usr/bin/milepost";
/// The feed of a deployment, in place of which there is another one
const FEED: &str = "mainnet";
/// The largest number of files that a first start is waited for
const MAX_FILES: usize = 3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A command line and its environment
struct Deployment {
    name: &'static str,
    words: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Deployment {
    /// The unit, with the settings of the packages and what an operator writes beside them
    fn unit(folder: &Path, feed: Option<&str>, environment: &[(&str, &str)]) -> Self {
        let unit = read("node/packaging/milepost.service");
        let value = |name: &str| {
            let line = unit.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            line.unwrap_or_else(|| panic!("the unit has no {name}"))
        };
        // A signal is a failure, and no exit code.
        assert!(["on-failure", "always"].contains(&value("Restart")), "{}", value("Restart"));
        assert_eq!(value("EnvironmentFile"), format!("-{SETTINGS}/environment"));
        let mut settings = read("node/packaging/milepost.toml");
        let mut replace = |from: &str, to: &str| {
            assert_eq!(settings.matches(from).count(), 1, "{from:?} in the settings");
            settings = settings.replace(from, to);
        };
        replace(STATE, text(&state(folder)));
        replace("listen = \"127.0.0.1:3030\"", "listen = \"127.0.0.1:0\"");
        if let Some(feed) = feed {
            replace(&format!("# follow = [\"{FEED}\"]"), &format!("follow = [\"{feed}\"]"));
        }
        fs::write(folder.join("milepost.toml"), settings).unwrap();
        let words = value("ExecStart").split(' ').map(|word| word.replace(SETTINGS, text(folder)));
        let environment = environment.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Self { name: "the unit", words: words.collect(), environment: environment.collect() }
    }

    /// The image, as the handbook runs it
    fn image(folder: &Path, feed: &str, environment: &[(&str, &str)]) -> Self {
        let recipe = read("node/packaging/Containerfile").replace("\\\n", "");
        let value = |name: &str| recipe.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let variables = value("ENV ").split_whitespace().map(|pair| {
            let (name, value) = pair.split_once('=').unwrap();
            let value = if name == "MILEPOST_LISTEN" { "127.0.0.1:0" } else { value };
            (name.to_owned(), value.replace(STATE, text(&state(folder))))
        });
        let more = environment.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let environment = variables.chain(more).collect();
        let entry_point: Vec<String> = serde_json::from_str(value("ENTRYPOINT ")).unwrap();
        let handbook = read("docs/OPERATING.md").replace("\\\n", "");
        let line = handbook.lines().find(|line| line.trim().starts_with("podman run ")).unwrap();
        let (podman, arguments) = line.split_once(" localhost/milepost ").unwrap();
        // Without it, podman leaves a container that was killed.
        assert!(podman.contains(" --restart on-failure "), "{podman}");
        assert!(podman.contains(&format!(":{STATE} ")), "{podman}");
        assert!(arguments.contains(&format!("--follow {FEED}")), "{arguments}");
        let arguments = arguments.split(' ').map(|word| word.replace(FEED, feed));
        let words = entry_point.into_iter().chain(arguments).collect();
        Self { name: "the image", words, environment }
    }

    fn command(&self) -> std::process::Command {
        let (program, arguments) = self.words.split_first().unwrap();
        assert_eq!(program, PROGRAM);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = command(&arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts it, and kills it once this is true
    fn kill_when(&self, moment: &str, mut is_there: impl FnMut(&mut Child) -> bool) {
        let mut start = self.command();
        let mut child = start.stdout(Stdio::null()).spawn().expect("the program starts");
        for _ in 0..6_000 {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("{}, {moment}: it ended by itself, {status}", self.name);
            }
            if is_there(&mut child) {
                child.kill().unwrap();
                child.wait().unwrap();
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        panic!("{}, {moment}: not within 30 s", self.name);
    }
}

/// The directory of the state
fn state(folder: &Path) -> PathBuf {
    folder.join("state")
}

/// The files in the directory of the state
fn files(folder: &Path) -> usize {
    fs::read_dir(state(folder)).map_or(0, Iterator::count)
}

fn empty(folder: &Path) {
    let _ = fs::remove_dir_all(state(folder));
    fs::create_dir(state(folder)).unwrap();
}

fn head(server: &Server) -> Option<u64> {
    server.get("/status").json()["head"]["height"].as_u64()
}

/// Kills a deployment at its first start, while it catches up and at the head, each time on what
/// the last start left; then it has all blocks
fn come_back(deployment: &Deployment, folder: &Path, messages: &[BlockMessage]) {
    let last = canonical(messages).last().unwrap().height;
    for count in 0..=MAX_FILES {
        empty(folder);
        // Before the first file, and again over the files of the killed start.
        for moment in [0, count] {
            deployment.kill_when(&format!("{count} files"), |_| files(folder) >= moment);
        }
    }
    let kills: u64 = match env::var("MILEPOST_FOLLOW_KILLS") {
        Ok(number) => number.parse().expect("MILEPOST_FOLLOW_KILLS is a number"),
        Err(_) => 4,
    };
    for kill in 0..kills {
        let server = Server::spawn(deployment.command());
        let before = head(&server);
        server.until("the chain grows", || {
            let now = head(&server);
            now > before.map(|before| before + kill % 7) || now == Some(last)
        });
        // Dropping it sends SIGKILL.
    }
    let server = Server::spawn(deployment.command());
    server.until("the end of the chain", || head(&server) == Some(last));
    let status = server.get("/status").json();
    assert_eq!(status["blocks"], canonical(messages).count(), "{}: {status}", deployment.name);
}

#[test]
fn every_deployment_is_tried() {
    let mut found = BTreeSet::new();
    let mut folders: Vec<PathBuf> = FOLDERS.map(|folder| root().join(folder)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap().to_lowercase();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if ["service", "timer", "container", "pod"]
                .map(|end| name.ends_with(&format!(".{end}")))
                .contains(&true)
                || ["compose", "containerfile", "dockerfile"].iter().any(|part| name.contains(part))
            {
                found.insert(name);
            }
        }
    }
    assert_eq!(found, ["containerfile", "milepost.service"].map(str::to_owned).into());
}

#[test]
fn a_deployment_that_is_killed_comes_back_by_itself() {
    let messages = chain(15, 200);
    let feed = serve_feed(&messages, Faults::default());
    let (url, from) = (feed.url(), messages[0].height.to_string());
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    // `--from` is for an empty store, and stays where it was written once.
    let environment = [("MILEPOST_FROM", from.as_str()), ("MILEPOST_FEED_REQUESTS", "100000")];
    come_back(&Deployment::unit(folder, Some(&url), &environment), folder, &messages);
    come_back(&Deployment::image(folder, &url, &environment), folder, &messages);
}

#[test]
fn a_unit_that_imports_files_and_is_killed_comes_back_by_itself() {
    let messages = chain(16, 200);
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let blocks = folder.join("blocks");
    fs::create_dir(&blocks).unwrap();
    for message in canonical(&messages) {
        fs::write(blocks.join(format!("{}.json", message.height)), &message.json).unwrap();
    }
    let environment = [("MILEPOST_BLOCKS", text(&blocks))];
    come_back(&Deployment::unit(folder, None, &environment), folder, &messages);
}
