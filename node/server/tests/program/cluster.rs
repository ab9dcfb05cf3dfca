//! Servers that share an archive in Cassandra, in a node that is started for the test.
//!
//! Built with the feature `cassandra` only; `cargo xtask verify cluster` runs it.

use core::net::SocketAddr;
use core::time::Duration;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use milepost_testing::archived::{self, Archived};
use milepost_testing::cluster::{Cluster, DATA_CENTER, Security};
use milepost_testing::server;
use milepost_tests::vectors;
use tempfile::TempDir;

use crate::archive_commands::{Blocks, answers, check_periods, printed, reader, stats};
use crate::fixture::text;
use crate::follow::status_of;
use crate::support::{Server, command, post};

const SERVERS: usize = 4;
const CLIENTS: usize = 4;
/// The fixtures with most vectors
const FIXTURES: [&str; 3] = ["road-110", "road-101", "configs"];

#[test]
#[ignore = "starts nodes, as `cargo xtask verify cluster` does"]
fn servers_answer_from_one_cluster() {
    let mut cluster = Cluster::start(1, Security::None).unwrap();
    let hosts = cluster.hosts();
    let archive = format!("cassandra://{hosts}/servers?dc={DATA_CENTER}&replication=1");
    let blocks = Blocks::new(60);
    let transactions = blocks.finalized();
    let bodies: Vec<String> = transactions.iter().map(|it| status_of(it, "FINAL")).collect();
    let whole = Server::start(&["--blocks", text(blocks.files.path())]);
    let expected: Vec<Vec<u8>> = bodies.iter().map(|body| whole.post("/", body).body).collect();
    blocks.archive(&archive);

    let mut servers: Vec<(Server, TempDir)> = (0..SERVERS).map(|_| reader(&archive)).collect();
    let addresses: Vec<SocketAddr> = servers.iter().map(|(server, _)| server.address).collect();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (addresses, bodies, expected) = (&addresses, &bodies, &expected);
                scope.spawn(move || {
                    for round in 0..20 {
                        for (number, body) in bodies.iter().enumerate() {
                            let first = client + round + number;
                            let answer = ask_any(addresses, first, body);
                            assert!(answer == expected[number], "transaction {number}");
                        }
                    }
                })
            })
            .collect();
        // One ends without notice while it is asked.
        let killed = servers.remove(1);
        killed.0.signal("KILL");
        drop(killed);
        for client in clients {
            client.join().unwrap();
        }
    });

    let keyspace = |name: &str| archive.replace("/servers?", &format!("/{name}?"));
    // A period is a keyspace.
    check_periods(&keyspace("first"), &keyspace("second"), || {});
    check_commands(&blocks, &keyspace);
    check_vectors(&keyspace);

    // Without the node nothing is said to be unknown, and what needs no archive is answered.
    let (server, _store) = &servers[0];
    cluster.nodes()[0].kill().unwrap();
    let response = server.post("/", &bodies[0]);
    assert_eq!(response.cause(), "INTERNAL_ERROR", "{}", response.text());
    assert!(response.header("retry-after").is_some());
    assert_eq!(server.get("/health").status, 200);
    cluster.nodes()[0].start().unwrap();
    cluster.nodes()[0].wait().unwrap();
    server.until("the archive is read again", || server.post("/", &bodies[0]).body == expected[0]);
}

/// Two processes that fill one keyspace at the same time have what one process has; so has a copy
fn check_commands(blocks: &Blocks, keyspace: &dyn Fn(&str) -> String) {
    let [whole, shared, copy] = ["whole", "shared", "copy"].map(keyspace);
    let [from, to] = [0, 40].map(|number| blocks.messages[number].height);
    let range = ["--heights", &format!("{from}-{to}"), text(blocks.files.path())];
    let backfill = |archive| [&["archive", "backfill", archive][..], &range].concat();
    printed(&backfill(&whole), 0);
    printed(&["archive", "init", &shared], 0);
    let writers: Vec<_> = (0..2)
        .map(|_| command(&backfill(&shared)).stdout(Stdio::null()).spawn().unwrap())
        .collect();
    for mut writer in writers {
        assert_eq!(writer.wait().unwrap().code(), Some(0));
    }
    printed(&["archive", "copy", &shared, &copy], 0);
    let last = blocks.messages[40].height;
    let included = blocks.messages.iter().filter(|message| message.height <= last);
    let transactions: Vec<_> = included.flat_map(|message| &message.transactions).collect();
    let expected = answers(Path::new(&whole), &transactions);
    for archive in [&shared, &copy] {
        assert!(printed(&["archive", "check", archive], 0).contains(": sound, "));
        let (described, of_whole) = (stats(Path::new(archive)), stats(Path::new(&whole)));
        assert_eq!(described["all_writers"], of_whole["all_writers"]);
        for table in ["archived_transactions", "archived_receipts", "archived_proofs"] {
            assert_eq!(described["tables"][table]["rows"], of_whole["tables"][table]["rows"]);
        }
        assert!(answers(Path::new(archive), &transactions) == expected);
    }
}

/// The shared vectors on several servers, whose archive is copied from a directory
fn check_vectors(keyspace: &dyn Fn(&str) -> String) {
    let program = Path::new(env!("CARGO_BIN_EXE_milepost"));
    let manifest = vectors::load().unwrap();
    let mut total = 0;
    for name in FIXTURES {
        let fixture = manifest.fixtures.iter().find(|fixture| fixture.name == name).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let Archived { store, archive } =
            archived::import_fixture(fixture, directory.path()).unwrap();
        let shared = keyspace(&name.replace('-', "_"));
        printed(&["archive", "copy", text(&archive), &shared], 0);
        let servers = (0..SERVERS).map(|number| {
            let own = directory.path().join(format!("{number}.milepost"));
            fs::copy(&store, &own).unwrap();
            server::Server::over(program, fixture, &[], &own, &shared).unwrap()
        });
        let servers: Vec<server::Server> = servers.collect();
        let is_run = |vector: &&vectors::Vector| {
            server::is_supported(vector, fixture)
                && server::flags(vector).is_empty()
                // It asks for the earliest block of the store.
                && vector.name != "config-earliest"
        };
        for vector in manifest.of(fixture).filter(is_run) {
            for server in &servers {
                let run = server.run(vector);
                run.unwrap_or_else(|difference| panic!("{}: {difference}", vector.name));
            }
            total += 1;
        }
    }
    assert!(total > 50, "{total} vectors");
}

/// Asks the servers in turn until one answers
fn ask_any(addresses: &[SocketAddr], first: usize, body: &str) -> Vec<u8> {
    let mut tries = (0..3 * addresses.len()).map(|number| {
        let address = &addresses[(first + number) % addresses.len()];
        ask(address, body)
    });
    tries.find_map(Result::ok).expect("a server answers")
}

/// One request on a new connection, which may be refused or break at any time
fn ask(address: &SocketAddr, body: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let request = post("/", body).replacen("\r\n", "\r\nconnection: close\r\n", 1);
    stream.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let end = response.windows(4).position(|part| part == b"\r\n\r\n").ok_or_else(broken)?;
    let body = response.split_off(end + 4);
    let head = String::from_utf8_lossy(&response).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    if length == Some(body.len()) { Ok(body) } else { Err(broken()) }
}
