//! Each state of a store and its archives, and the action of a start.
//!
//! The table in `docs/OPERATING.md` is the expectation; each of its cells is a start here, except
//! those of a cluster that answers. A start that is refused says the next step, and changes
//! nothing.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::OnceLock;

use milepost_archive::DirectoryArchive;
use milepost_redb::{Options, RedbStorage};
use serde_json::Value;

use crate::chains::{contents, copy, templates};
use crate::fixture::text;
use crate::support::{Server, command, errors, request};

/// The page with the table
const PAGE: &str = include_str!("../../../../docs/OPERATING.md");

/// The columns of the page, after the state and how it is recognized
const STORE: &str = "store";
const BESIDE: &str = "archive beside it";
const DIRECTORY: &str = "`--archive DIR`";
const CLUSTER: &str = "cluster";
const OLDER: &str = "`--archive-older`";

/// The cell of the page for a state in a column
fn cell(state: &str, column: &str) -> &'static str {
    let rows = PAGE.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        (cells.len() == 7).then_some(cells)
    });
    let rows: Vec<Vec<&str>> = rows.skip_while(|cells| cells[0] != "state").collect();
    let column = rows[0].iter().position(|name| *name == column).unwrap();
    rows.iter().find(|cells| cells[0] == state).unwrap()[column]
}

/// The states of the page
fn states() -> Vec<&'static str> {
    let rows = PAGE.lines().filter(|line| line.matches(" | ").count() == 6);
    let rows = rows.filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    rows.skip_while(|state| *state != "state").skip(1).take(10).collect()
}

/// A store in a directory that has forgotten blocks because its archive has them
fn forgetful() -> &'static Path {
    static PATH: OnceLock<std::path::PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forgetful");
        let _ = fs::remove_dir_all(&path);
        let store = format!("{}/", path.to_str().unwrap());
        let args = ["--store", &store, "--follow", "practice", "--retention", "blocks:100"];
        let server = Server::start(&args);
        server.until("blocks are archived and forgotten", || {
            let status = server.get("/status").json();
            let first = status["archive"]["complete"][0][0].as_u64();
            first.is_some_and(|first| Some(first) < status["earliest"]["height"].as_u64())
        });
        server.signal("TERM");
        assert_eq!(server.ended().code(), Some(0));
        path
    })
}

/// Changes a bit in each 32 KiB of a file, not all of which is used
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes.iter_mut().skip(5_000).step_by(32 << 10).for_each(|byte| *byte ^= 0x40);
    fs::write(path, bytes).unwrap();
}

/// Makes an archive without rows
fn init(path: &Path) {
    let output = command(&["archive", "init", text(path)]).output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
}

/// Removes the second half of a file
fn truncate(path: &Path) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length / 2).unwrap();
}

/// A start in a folder
struct Start<'case> {
    state: &'case str,
    column: &'case str,
    args: &'case [&'case str],
    /// A part of the sentence, of the log if the server starts
    expected: &'case str,
}

/// Runs a start and compares it with the page; the server, if it starts
fn run(folder: &Path, start: &Start<'_>) -> Option<Server> {
    let Start { state, column, args, expected } = start;
    let before = contents(folder);
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.args(*args).current_dir(folder);
    let case = format!("{state}, {column}");
    let cell = cell(state, column);
    let code = match cell {
        "uses it" | "makes it" | "serves, opens it later" => {
            let log = folder.join("log");
            serve.stderr(fs::File::create(&log).unwrap());
            let server = Server::spawn(serve);
            let log = fs::read_to_string(&log).unwrap();
            assert!(log.contains(expected), "{case}: {log}");
            return Some(server);
        }
        "exit code 3, or `--accept-loss`" => "3",
        cell => cell.strip_prefix("exit code ").unwrap(),
    };
    let output = serve.output().unwrap();
    let code = code.parse().unwrap();
    assert_eq!(output.status.code(), Some(code), "{case}: {}", errors(&output));
    assert!(errors(&output).contains(expected), "{case}: {}", errors(&output));
    assert_eq!(output.stdout, b"", "{case}");
    assert!(contents(folder) == before, "{case}: a refused start changed files");
    if cell.contains("--accept-loss") {
        assert_accepted(folder, args, &case);
    }
    None
}

/// Starts once with `--accept-loss`, and once more without
fn assert_accepted(folder: &Path, args: &[&str], case: &str) {
    assert!(
        folder.join("no-settings").is_dir() || fs::create_dir(folder.join("no-settings")).is_ok()
    );
    // No other place has it.
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
    let output = serve.args(args).current_dir(folder).env("MILEPOST_ACCEPT_LOSS", "true");
    let output = output.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{case}: {}", errors(&output));
    for accept in [&["--accept-loss"][..], &[]] {
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
        serve.args(args).args(accept).current_dir(folder);
        let server = Server::spawn(serve);
        server.signal("TERM");
        assert_eq!(server.ended().code(), Some(0), "{case}");
    }
    let store = args.iter().skip_while(|word| **word != "--store").nth(1).unwrap();
    let info = command(&["store", "info", store]).current_dir(folder).output().unwrap();
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(info["accepted_losses"].as_array().map(Vec::len), Some(1), "{case}: {info}");
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
    let output = serve.args(args).arg("--accept-loss").current_dir(folder).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{case}: {}", errors(&output));
    let expected = "milepost: --accept-loss: nothing is lost or damaged; start without it\n";
    assert_eq!(errors(&output), expected, "{case}");
}

/// A folder with copies of these templates
fn folder(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let from = match *name {
            "forgetful" => forgetful().to_owned(),
            name => templates().join(name),
        };
        copy(&from, &folder.path().join(name));
    }
    folder
}

/// The columns and states whose start was run
struct Seen(BTreeSet<(String, String)>);

impl Seen {
    fn run(
        &mut self,
        (state, column): (&str, &str),
        names: &[&str],
        prepare: impl FnOnce(&Path),
        args: &[&str],
        expected: &str,
    ) -> Option<(Server, tempfile::TempDir)> {
        let folder = folder(names);
        prepare(folder.path());
        let server = run(folder.path(), &Start { state, column, args, expected });
        self.0.insert((column.to_owned(), state.to_owned()));
        server.map(|server| (server, folder))
    }

    /// Every cell of these columns that says something was seen
    fn assert_complete(&self, columns: &[&str]) {
        for column in columns {
            for state in states() {
                let is_seen = self.0.contains(&((*column).to_owned(), state.to_owned()));
                assert!(is_seen || cell(state, column) == "–", "{column}: {state} was not started");
            }
        }
    }
}

const PRACTICE: [&str; 2] = ["--follow", "practice"];

#[test]
fn each_state_of_a_store() {
    let mut seen = Seen(BTreeSet::new());
    let nothing = |_: &Path| {};
    let (file, beside) = ("practice.milepost", "practice.milepost.acknowledged");
    let args = ["--store", file];
    let fed = [&args[..], &PRACTICE].concat();
    seen.run(("there", STORE), &[file, beside], nothing, &args, "");
    seen.run(("missing", STORE), &[], nothing, &fed, "");
    let empty = |folder: &Path| {
        drop(RedbStorage::open(folder.join(file), &Options::default()).unwrap());
    };
    seen.run(("empty", STORE), &[], empty, &fed, "");
    seen.run(
        ("gone", STORE),
        &[beside],
        nothing,
        &fed,
        "milepost: the store practice.milepost is gone: practice.milepost.acknowledged says that blocks were there; restore a copy, or start once with --accept-loss, which makes an empty store\n",
    );
    seen.run(
        ("of another chain", STORE),
        &["other.milepost"],
        nothing,
        &["--store", "other.milepost", "--follow", "practice"],
        "milepost: the store other.milepost belongs to othernet, and the feed of --follow to practice\n",
    );
    let cut = |folder: &Path| truncate(&folder.join(file));
    seen.run(
        ("damaged", STORE),
        &[file, beside],
        cut,
        &fed,
        "; see `milepost store check`, restore a copy, or start once with --accept-loss, which keeps the readable rows\n",
    );
    // A bit, an empty file, and a file that lost its last commits.
    let bit = |folder: &Path| damage(&folder.join(file));
    seen.run(
        ("damaged", STORE),
        &[file, beside],
        bit,
        &fed,
        "the store practice.milepost is damaged: ",
    );
    let none = |folder: &Path| fs::write(folder.join(file), "").unwrap();
    seen.run(("damaged", STORE), &[file, beside], none, &fed, "is damaged: the file is empty");
    let older = |folder: &Path| {
        // A copy from before further blocks.
        let saved = fs::read(folder.join(file)).unwrap();
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
        serve.args(&fed).current_dir(folder);
        let server = Server::spawn(serve);
        let first = server.get("/status").json()["head"]["height"].as_u64();
        server.until("a block", || server.get("/status").json()["head"]["height"].as_u64() > first);
        server.signal("TERM");
        assert_eq!(server.ended().code(), Some(0));
        fs::write(folder.join(file), saved).unwrap();
    };
    seen.run(("damaged", STORE), &[file, beside], older, &fed, " was acknowledged, and ");
    let foreign = |folder: &Path| fs::write(folder.join(file), "a text").unwrap();
    seen.run(
        ("of another program or release", STORE),
        &[],
        foreign,
        &fed,
        "milepost: cannot open the store practice.milepost: the file is not a milepost storage",
    );
    let below_a_file = ["--store", "other.milepost/chain.milepost", "--follow", "practice"];
    seen.run(
        ("not readable", STORE),
        &["other.milepost"],
        nothing,
        &below_a_file,
        "milepost: cannot open the store other.milepost/chain.milepost: ",
    );
    let linked = |folder: &Path| symlink("elsewhere/chain.milepost", folder.join(file)).unwrap();
    seen.run(("not reachable", STORE), &[], linked, &fed, "No such file or directory");
    let used = folder(&[file, beside]);
    let open = RedbStorage::open(used.path().join(file), &Options::default()).unwrap();
    let start = Start {
        state: "in use",
        column: STORE,
        args: &args,
        expected: "the file is open already, in this process or another; close it there first\n",
    };
    run(used.path(), &start);
    drop(open);
    seen.0.insert((STORE.to_owned(), "in use".to_owned()));
    seen.assert_complete(&[STORE]);
}

/// The states of an archive in a directory, at this place below a folder
fn each_state_of_an_archive(column: &str, store: &str, args: &[&str], archive: &str) {
    let mut seen = Seen(BTreeSet::new());
    let nothing = |_: &Path| {};
    let remove = |folder: &Path| fs::remove_dir_all(folder.join(archive)).unwrap();
    let fed = [args, &PRACTICE].concat();
    let names: &[&str] = if store == "forgetful" { &["forgetful"] } else { &["forgetful", store] };
    let at = |path: &Path| path.join(archive);
    seen.run(("there", column), names, nothing, args, "");
    // A store that knows of no archive.
    let fresh = |folder: &Path| {
        remove(folder);
        let file = folder.join("forgetful/chain.milepost");
        fs::copy(templates().join("practice.milepost"), &file).unwrap();
        let noted = templates().join("practice.milepost.acknowledged");
        fs::copy(noted, folder.join("forgetful/chain.milepost.acknowledged")).unwrap();
    };
    seen.run(("missing", column), names, fresh, args, "");
    let empty = |folder: &Path| {
        fresh(folder);
        init(&at(folder));
    };
    seen.run(("empty", column), names, empty, args, "");
    let gone = format!(
        "the archive {archive} is gone: the store forgetful/chain.milepost has forgotten heights that it had, 100000000-"
    );
    seen.run(("gone", column), names, remove, &fed, &gone);
    let emptied = |folder: &Path| {
        remove(folder);
        init(&at(folder));
    };
    seen.run(("gone", column), names, emptied, &fed, &gone);
    let other = |folder: &Path| {
        remove(folder);
        copy(&templates().join("other-archive"), &at(folder));
    };
    let expected = format!("belongs to practice, and the archive {archive} to othernet\n");
    seen.run(("of another chain", column), names, other, args, &expected);
    let damaged = "; see `milepost archive check` and `milepost archive repair`, restore a copy, or start once with --accept-loss, which keeps the readable rows\n";
    let journal = |folder: &Path| {
        let file = fs::OpenOptions::new().write(true).open(at(folder).join("rows/0.jnl")).unwrap();
        file.set_len(100).unwrap();
    };
    seen.run(("damaged", column), names, journal, &fed, damaged);
    let version = |folder: &Path| fs::remove_file(at(folder).join("rows/version")).unwrap();
    seen.run(("damaged", column), names, version, &fed, "rows/version: the file is missing");
    let lock = |folder: &Path| fs::remove_file(at(folder).join("rows/lock")).unwrap();
    seen.run(("damaged", column), names, lock, &fed, "rows/lock: the file is missing");
    let release = |folder: &Path| {
        let path = at(folder).join("rows/version");
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() = 2;
        fs::write(&path, bytes).unwrap();
    };
    let expected = format!("milepost: cannot open the archive {archive}: ");
    seen.run(("of another program or release", column), names, release, args, &expected);
    let file = |folder: &Path| {
        remove(folder);
        fs::write(at(folder), "a text").unwrap();
    };
    seen.run(("not readable", column), names, file, args, &expected);
    let used = folder(names);
    let open = DirectoryArchive::open(at(used.path())).unwrap();
    let expected = "the archive is open already, in this process or another\n";
    run(used.path(), &Start { state: "in use", column, args, expected });
    drop(open);
    seen.0.insert((column.to_owned(), "in use".to_owned()));

    let linked = |folder: &Path| {
        fs::rename(at(folder), folder.join("elsewhere")).unwrap();
        fs::create_dir(folder.join("disk")).unwrap();
        symlink(folder.join("disk/archive"), at(folder)).unwrap();
    };
    let expected = "cannot be reached, and is opened once it can be: ";
    let started = seen.run(("not reachable", column), names, linked, args, expected);
    let (server, folder) = started.unwrap();
    assert_not_reachable(&server);
    // The disk is back.
    fs::rename(folder.path().join("elsewhere"), folder.path().join("disk/archive")).unwrap();
    server.until("the archive is read", || {
        let response = server.post("/", &unknown());
        response.cause() == "UNKNOWN_TRANSACTION"
    });
    server.until("the complete heights are known", || {
        server.get("/status").json()["archive"]["complete"][0][0].is_u64()
    });
    seen.assert_complete(&[column]);
}

/// A request for a transaction that is in no block
fn unknown() -> String {
    let params = serde_json::json!({
        "tx_hash": "11111111111111111111111111111118", "sender_account_id": "a.near",
        "wait_until": "NONE",
    });
    request("tx", &params)
}

/// The store is served, and a request that needs the archive is to be sent again
fn assert_not_reachable(server: &Server) {
    assert!(server.get("/status").json()["head"]["height"].is_u64());
    let response = server.post("/", &unknown());
    assert_eq!(response.cause(), "INTERNAL_ERROR", "{}", response.text());
    assert_eq!(response.header("retry-after"), Some("1"));
}

#[test]
fn each_state_of_the_archive_beside_a_store() {
    let args = ["--store", "forgetful/"];
    each_state_of_an_archive(BESIDE, "forgetful", &args, "forgetful/archive");
}

#[test]
fn each_state_of_an_archive_in_a_directory() {
    let args = ["--store", "forgetful/chain.milepost", "--archive", "forgetful/archive"];
    each_state_of_an_archive(DIRECTORY, "forgetful", &args, "forgetful/archive");
}

#[test]
fn an_archive_that_is_gone_is_missed_although_the_store_has_forgotten_nothing() {
    let folder = folder(&["practice-directory"]);
    fs::remove_dir_all(folder.path().join("practice-directory/archive")).unwrap();
    let start = Start {
        state: "gone",
        column: BESIDE,
        args: &["--store", "practice-directory"],
        expected: "milepost: the archive practice-directory/archive is gone: the store practice-directory/chain.milepost has put transactions into an archive; name the archive that has them, restore a copy, or start once with --accept-loss, which makes an empty archive\n",
    };
    run(folder.path(), &start);
}

#[test]
fn each_state_of_an_older_archive() {
    let mut seen = Seen(BTreeSet::new());
    let nothing = |_: &Path| {};
    // A new period.
    let args = [
        "--store",
        "forgetful/chain.milepost",
        "--archive",
        "new",
        "--archive-older",
        "forgetful/archive",
    ];
    let names = &["forgetful"][..];
    let at = |folder: &Path| folder.join("forgetful/archive");
    let started = seen.run(("there", OLDER), names, nothing, &args, "");
    drop(started);
    let remove = |folder: &Path| fs::remove_dir_all(at(folder)).unwrap();
    let expected = "milepost: --archive-older: forgetful/archive: no such archive\n";
    seen.run(("missing", OLDER), names, remove, &args, expected);
    let own = ["--store", "forgetful/", "--archive-older", "older"];
    let empty = |folder: &Path| init(&folder.join("older"));
    seen.run(("empty", OLDER), names, empty, &own, "");
    let other = |folder: &Path| copy(&templates().join("other-archive"), &folder.join("older"));
    let expected = "belongs to practice, and the archive older to othernet\n";
    seen.run(("of another chain", OLDER), names, other, &own, expected);
    let lock = |folder: &Path| fs::remove_file(at(folder).join("rows/lock")).unwrap();
    let expected = "milepost: the archive forgetful/archive is damaged: forgetful/archive/rows/lock: the file is missing; see `milepost archive check`, restore a copy, or leave it out\n";
    seen.run(("damaged", OLDER), names, lock, &args, expected);
    let release = |folder: &Path| {
        let path = at(folder).join("rows/version");
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() = 2;
        fs::write(&path, bytes).unwrap();
    };
    let expected = "milepost: cannot open the archive forgetful/archive: ";
    seen.run(("of another program or release", OLDER), names, release, &args, expected);
    let file = |folder: &Path| {
        remove(folder);
        fs::write(at(folder), "a text").unwrap();
    };
    seen.run(("not readable", OLDER), names, file, &args, expected);
    let linked = |folder: &Path| {
        remove(folder);
        symlink("nowhere", at(folder)).unwrap();
    };
    let expected = "cannot be reached, and is opened once it can be: ";
    let started = seen.run(("not reachable", OLDER), names, linked, &args, expected);
    assert_not_reachable(&started.unwrap().0);
    let used = folder(names);
    let open = DirectoryArchive::open(at(used.path())).unwrap();
    let expected = "the archive is open already, in this process or another\n";
    run(used.path(), &Start { state: "in use", column: OLDER, args: &args, expected });
    drop(open);
    seen.0.insert((OLDER.to_owned(), "in use".to_owned()));
    seen.assert_complete(&[OLDER]);
}

#[cfg(feature = "cassandra")]
#[test]
fn a_cluster_that_does_not_answer_lets_the_store_serve() {
    // Nothing listens on the port.
    let args =
        ["--store", "practice.milepost", "--archive", "cassandra://127.0.0.1:1/keyspace?dc=dc1"];
    let folder = folder(&["practice.milepost"]);
    let expected =
        "the archive cassandra keyspace keyspace cannot be reached, and is opened once it can be: ";
    let start = Start { state: "not reachable", column: CLUSTER, args: &args, expected };
    assert_not_reachable(&run(folder.path(), &start).unwrap());
}
