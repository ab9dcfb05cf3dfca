//! A disk without room: the parts that wait, the log, and that all resume once there is room.
//!
//! The limit of the size of a file is that of a disk here, and is raised while the server runs. By
//! name the same is shown on a file system of 64 MB, which is filled and emptied.

use core::time::Duration;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::fixture::text;
use crate::support::{Server, command};

/// Bytes above which stores and journals of archives are written, and logs are not
const FULL: &str = "65536";

/// A server that ignores the signal of a file that is too large, so that a write is an error
fn start(args: &[&str], log: &Path) -> Server {
    let mut shell = Command::new("bash");
    let script = "trap '' XFSZ; exec \"$@\"";
    shell.args(["-c", script, "bash", env!("CARGO_BIN_EXE_milepost")]);
    shell.args(["serve", "--listen", "127.0.0.1:0", "--follow", "practice"]).args(args);
    shell.env("MILEPOST_LOG", "info").stdin(Stdio::null()).stderr(File::create(log).unwrap());
    Server::spawn(shell)
}

/// Sets the limit of the size of a file of a server
fn limit(server: &Server, bytes: &str) {
    let limit = Command::new("prlimit")
        .args(["--pid", &server.id().to_string(), &format!("--fsize={bytes}:unlimited")])
        .status();
    assert!(limit.unwrap().success());
}

fn status(server: &Server) -> Value {
    server.get("/status").json()
}

fn head(server: &Server) -> u64 {
    status(server)["head"]["height"].as_u64().unwrap()
}

fn archived(server: &Server) -> Option<u64> {
    status(server)["archive"]["complete"][0][1].as_u64()
}

fn is_logged(log: &Path, text: &str) -> bool {
    fs::read_to_string(log).unwrap().contains(text)
}

#[test]
fn a_store_waits_for_room_and_is_read_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let (store, log) = (directory.path().join("chain.milepost"), directory.path().join("log"));
    let server = start(&["--store", text(&store)], &log);
    limit(&server, FULL);
    let waits = format!(
        "there is no room for {}, and no block is imported until there is: redb: I/O error: File too large (os error 27)",
        text(&store)
    );
    server.until("the server waits for room", || is_logged(&log, &waits));
    let before = head(&server);
    assert_eq!(head(&server), before);
    limit(&server, "unlimited");
    server.until("blocks are imported again", || head(&server) > before);
    assert!(is_logged(&log, &format!("there is room for {} again", text(&store))));
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    let check = command(&["store", "check", text(&store)]).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
}

#[test]
fn a_server_that_waits_for_room_stops() {
    let directory = tempfile::tempdir().unwrap();
    let (store, log) = (directory.path().join("chain.milepost"), directory.path().join("log"));
    let server = start(&["--store", text(&store)], &log);
    limit(&server, FULL);
    server.until("the server waits for room", || is_logged(&log, "there is no room for "));
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn an_archive_is_written_again_and_the_store_does_not_outgrow_the_backlog() {
    let directory = tempfile::tempdir().unwrap();
    let (archive, log) = (directory.path().join("archive"), directory.path().join("log"));
    let args = ["--store", "memory", "--archive", text(&archive), "--archive-backlog", "3"];
    let server = start(&args, &log);
    server.until("blocks are archived", || archived(&server).is_some());
    limit(&server, FULL);
    let failed =
        format!("the export to the archive failed, and is tried again: {}/rows: ", text(&archive));
    server.until("an export fails", || is_logged(&log, &failed));
    assert!(is_logged(&log, "File too large"));
    let waits = "the archive cannot be written, so no block is imported: the store has 3 blocks that it has not";
    server.until("the import waits", || is_logged(&log, waits));
    let (before, complete) = (head(&server), archived(&server));
    limit(&server, "unlimited");
    server.until("blocks are archived again", || archived(&server) > complete);
    server.until("blocks are imported again", || head(&server) > before);
    assert!(is_logged(&log, "the archive is written again"));
    assert_eq!(server.metric("milepost_archive_evicted_blocks_total"), Some(0));
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    let check = command(&["archive", "check", text(&archive)]).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
}

/// A file system of 64 MB in memory, which is unmounted when this is dropped
struct Disk<'path>(&'path Path);

impl<'path> Disk<'path> {
    fn mount(path: &'path Path) -> Self {
        fs::create_dir(path).unwrap();
        let args = ["-t", "tmpfs", "-o", "size=64m", "tmpfs", text(path)];
        let mounted = Command::new("mount").args(args).status().unwrap();
        assert!(mounted.success(), "only root mounts a file system");
        Self(path)
    }

    /// Writes a file until the disk is full
    fn fill(&self) {
        let mut ballast = File::create(self.0.join("ballast")).unwrap();
        for size in [1 << 20, 4096, 1] {
            let piece = vec![0; size];
            while let Ok(1..) = ballast.write(&piece) {}
        }
        let error = ballast.write_all(&[0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

/// How long it may take until all resumes
const HEALED: Duration = Duration::from_secs(5);

#[test]
#[ignore = "mounts a file system, as `cargo xtask verify full-disk` does"]
fn a_disk_of_64_megabytes_that_was_full_heals_in_each_place() {
    for (store, archive, places) in [
        ("disk/chain.milepost", "archive", &["disk/chain.milepost"][..]),
        ("chain.milepost", "disk/archive", &["disk/archive/rows"]),
        ("disk/chain.milepost", "disk/archive", &["disk/chain.milepost", "disk/archive/rows"]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let (path, log) = (at("disk"), at("log"));
        let disk = Disk::mount(&path);
        let (store, archive) = (at(store), at(archive));
        let args = ["--store", text(&store), "--archive", text(&archive), "--archive-backlog", "5"];
        let server = start(&args, &log);
        server.until("blocks are archived", || archived(&server).is_some());
        disk.fill();
        let is_store = places[0].ends_with("chain.milepost");
        let waits = if is_store { "there is no room for " } else { "so no block is imported" };
        server.until("the import waits", || is_logged(&log, waits));
        assert!(
            is_logged(&log, "No space left on device"),
            "{}",
            fs::read_to_string(&log).unwrap()
        );
        assert!(is_logged(&log, text(&at(places[0]))));
        let (before, complete) = (head(&server), archived(&server));
        // It is served, and does not grow.
        let file = if is_store { &store } else { &at("chain.milepost") };
        let length = fs::metadata(file).unwrap().len();
        for _ in 0..20 {
            assert_eq!(head(&server), before);
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(fs::metadata(file).unwrap().len(), length);
        disk.make_room();
        let start = Instant::now();
        server.until("blocks are imported again", || head(&server) > before);
        server.until("blocks are archived again", || archived(&server) > complete);
        let healed = start.elapsed();
        println!("{places:?} after {healed:?}");
        assert!(healed < HEALED, "{places:?}: {healed:?}");
        server.signal("TERM");
        assert_eq!(server.ended().code(), Some(0));
        for args in [["store", "check", text(&store)], ["archive", "check", text(&archive)]] {
            let check = command(&args).output().unwrap();
            assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
        }
    }
}
