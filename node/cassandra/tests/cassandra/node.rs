//! The archive in one node of Cassandra: what every archive must do, and what only a cluster does.
//!
//! One node serves all of it, in turn, since its start takes most of the time. `cargo xtask verify
//! cluster` runs this; it needs programs that plain tests do not.

use core::error::Error as _;
use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, thread};

use milepost::archive::{Archive, Envelope, Origin, WriterId, conformance, content_hash};
use milepost::primitives::CryptoHash;
use milepost::storage::{Key, Row, Table};
use milepost::{Error, ErrorKind};
use milepost_cassandra::{Address, CassandraArchive, MAX_PIECE, MAX_ROW};
use milepost_testing::cluster::{Cluster, DATA_CENTER, PASSWORD, Security, USER};

use crate::growth::reads as growth;

#[test]
#[ignore = "starts nodes, as `cargo xtask verify cluster` does"]
fn an_archive_in_one_node() {
    let mut cluster = Cluster::start(1, Security::PasswordAndTls).unwrap();
    let password = tempfile::NamedTempFile::new().unwrap();
    fs::write(&password, format!("{PASSWORD}\n")).unwrap();
    let site = Site {
        hosts: cluster.hosts(),
        parameters: format!("replication=1&password-file={}", password.path().display()),
        certificate: cluster.certificate(),
        keyspaces: AtomicU32::new(0),
    };
    wait_for_the_user(&site);

    run("an archive that cannot be opened says why", || errors(&site));
    run("the conformance kit", || conformance_kit(&site));
    run("large rows are read as they were put, and too large ones refused", || large_rows(&site));
    run("two writers that compress differently are one row", || copies(&site));
    run("reads of an archive of 500 and of 5,000 rows", || {
        growth::head();
        for size in [500, 5_000] {
            growth::measure(&[site.empty()], size, 300);
        }
    });
    run("futures run on any executor, and calls on its threads", || futures(&site));
    run("a node that ends and comes back", || restarts(&site, &mut cluster));
}

/// A certificate that the node's is not signed by
const OTHER_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----
MIIBdTCCARugAwIBAgIURdN9RBD0G+yeggZw1/j7fPA2VmMwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFb3RoZXIwHhcNMjYxMTIzMDMxOTM4WhcNMzYxMTIwMDMxOTM4
WjAQMQ4wDAYDVQQDDAVvdGhlcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEB1
Im9ezZufzoKnq+0AQHr+bk5M5XQdifgEXb3TtzNUGOU0df+BWjYap8WvQ8m3a7IS
1+9ST2zpCRIg0ZGVY+ijUzBRMB0GA1UdDgQWBBTMQy65HeeglSKBQz+1NYfahXZb
rzAfBgNVHSMEGDAWgBTMQy65HeeglSKBQz+1NYfahXZbrzAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0gAMEUCIQC8y4l83BLF2j38EzKAk1uZChSN9WXTUaCW
kRHiv2BNAwIgVpMITRbHX3GoWiWCp+gWEt/KQe6o1LVyF0hggp78coo=
-----END CERTIFICATE-----
";

/// The addresses of archives in the node
struct Site {
    hosts: String,
    parameters: String,
    certificate: PathBuf,
    keyspaces: AtomicU32,
}

impl Site {
    /// An address whose keyspace is not there
    fn unused(&self) -> Address {
        let number = self.keyspaces.fetch_add(1, Ordering::Relaxed);
        self.address(&format!("k{number}?dc={DATA_CENTER}"), &self.certificate)
    }

    fn address(&self, keyspace: &str, certificate: &Path) -> Address {
        let Self { hosts, parameters, .. } = self;
        let certificate = certificate.display();
        address(format_args!("{USER}@{hosts}/{keyspace}&{parameters}&tls-ca={certificate}"))
    }

    fn empty(&self) -> CassandraArchive {
        let address = self.unused();
        CassandraArchive::create(&address).unwrap();
        CassandraArchive::open(&address).unwrap()
    }
}

fn address(text: impl fmt::Display) -> Address {
    format!("cassandra://{text}").parse().unwrap()
}

fn run(name: &str, test: impl FnOnce()) {
    let begin = Instant::now();
    test();
    println!("{name}: {:.1} s", begin.elapsed().as_secs_f64());
}

/// The node makes its user some time after it serves.
fn wait_for_the_user(site: &Site) {
    let (begin, address) = (Instant::now(), site.unused());
    while let Err(error) = CassandraArchive::create(&address) {
        assert!(begin.elapsed() < Duration::from_secs(120), "{error}");
        thread::sleep(Duration::from_millis(200));
    }
}

fn key(name: impl fmt::Display) -> Key {
    Key::hash(Table::ArchivedTransactions, CryptoHash::digest(name.to_string().as_bytes()))
}

/// Bytes that do not repeat within a row
fn row(writer: u64, length: usize) -> Row {
    let content: Vec<u8> = (0..length as u32).map(|index| ((index * 31) >> 3) as u8).collect();
    Envelope::plain(Origin::of(WriterId(writer)), &content).encode().into()
}

fn get(archive: &impl Archive, key: Key) -> Result<Option<Row>, Error> {
    let mut rows = Vec::new();
    archive.get_many(&[key], &mut rows)?;
    Ok(rows.pop().unwrap())
}

fn errors(site: &Site) {
    let opened = |address: &Address| CassandraArchive::open(address).unwrap_err();
    let hosts = &site.hosts;

    let missing = opened(&site.unused());
    assert!(missing.detail().contains("the keyspace is not there"), "{missing}");
    assert_eq!(missing.kind(), ErrorKind::Storage);

    let elsewhere = opened(&site.address("k0?dc=elsewhere", &site.certificate));
    assert!(elsewhere.detail().contains("no node is in this data centre"), "{elsewhere}");
    assert!(elsewhere.detail().ends_with(&format!("there are {DATA_CENTER}")), "{elsewhere}");

    let other_password = tempfile::NamedTempFile::new().unwrap();
    fs::write(&other_password, "of someone else").unwrap();
    let parameters = format!("password-file={}", other_password.path().display());
    let refused = opened(&address(format_args!("{USER}@{hosts}/k0?dc={DATA_CENTER}&{parameters}")));
    assert!(refused.detail().contains(hosts), "{refused}");
    assert!(!format!("{refused} {refused:?}").contains("someone else"), "{refused:?}");
    let anonymous = opened(&address(format_args!("{hosts}/k0?dc={DATA_CENTER}")));
    assert!(anonymous.source().is_some(), "{anonymous}");

    let other_authority = tempfile::NamedTempFile::new().unwrap();
    fs::write(&other_authority, OTHER_CERTIFICATE).unwrap();
    let of_other_authority = format!("k0?dc={DATA_CENTER}");
    let stranger = opened(&site.address(&of_other_authority, other_authority.path()));
    assert!(stranger.detail().to_lowercase().contains("certificate"), "{stranger}");

    let begin = Instant::now();
    // An address of loopback on which nothing listens
    let unreachable = opened(&address(format_args!("127.255.255.1/k0?dc={DATA_CENTER}")));
    assert!(unreachable.detail().contains("127.255.255.1:9042"), "{unreachable}");
    assert_eq!(unreachable.kind(), ErrorKind::Storage);
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());

    let hot = get(&site.empty(), Key::number(Table::Heights, 7)).unwrap_err();
    assert_eq!(
        (hot.kind(), hot.detail()),
        (ErrorKind::Usage, "heights is not a table of an archive")
    );
}

fn conformance_kit(site: &Site) {
    let make = || {
        // Two handles, as two servers have them.
        let one = site.empty();
        let other = CassandraArchive::open(one.address()).unwrap();
        TwoHandles([one, other], AtomicUsize::new(0))
    };
    conformance::check_shared(make, &|one, other| {
        thread::scope(|scope| {
            scope.spawn(one);
            other();
        });
    })
    .unwrap();
    let address = site.unused();
    CassandraArchive::create(&address).unwrap();
    // A second time changes nothing.
    CassandraArchive::create(&address).unwrap();
    conformance::check_durable(|| CassandraArchive::open(&address)).unwrap();
}

/// An archive whose calls go to two handles in turn
struct TwoHandles([CassandraArchive; 2], AtomicUsize);

impl TwoHandles {
    fn next(&self) -> &CassandraArchive {
        &self.0[self.1.fetch_add(1, Ordering::Relaxed) % 2]
    }
}

impl Archive for TwoHandles {
    fn get_many(&self, keys: &[Key], rows: &mut Vec<Option<Row>>) -> Result<(), Error> {
        self.next().get_many(keys, rows)
    }

    fn put_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.next().put_many(rows)
    }

    fn replace_many(&self, rows: &[(Key, Row)]) -> Result<(), Error> {
        self.next().replace_many(rows)
    }

    fn remove_many(&self, keys: &[Key]) -> Result<(), Error> {
        self.next().remove_many(keys)
    }

    fn scan(
        &self,
        table: Table,
        after: Option<&Key>,
        limit: usize,
        rows: &mut Vec<(Key, Row)>,
    ) -> Result<(), Error> {
        self.next().scan(table, after, limit, rows)
    }
}

fn large_rows(site: &Site) {
    let archive = site.empty();
    for length in [MAX_PIECE - 100, MAX_PIECE, 8 * MAX_PIECE + 1, MAX_ROW - 100] {
        let (key, row) = (key(length), row(1, length));
        archive.put_many(&[(key, row.clone())]).unwrap();
        assert!(get(&archive, key).unwrap() == Some(row), "{length}");
    }
    // None of a call's rows is written if one is refused.
    let rows = [(key("small"), row(1, 10)), (key("large"), row(1, MAX_ROW))];
    let error = archive.put_many(&rows).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert_eq!(get(&archive, key("small")).unwrap(), None);
    // A scan returns them whole, in pages that end early.
    let (mut scanned, mut pages) = (Vec::new(), 0);
    loop {
        let mut page = Vec::new();
        let after = scanned.last().copied();
        archive.scan(Table::ArchivedTransactions, after.as_ref(), 1000, &mut page).unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.iter().all(|(key, row)| get(&archive, *key).unwrap().as_ref() == Some(row)));
        scanned.extend(page.into_iter().map(|(key, _)| key));
        pages += 1;
    }
    assert_eq!((scanned.len(), pages > 1), (4, true), "{pages} pages");
}

/// The row of a content that is compressed: its payload has nothing to do with the content here
fn compressed(writer: u64, content: &[u8], payload_len: usize) -> Row {
    let payload = vec![writer as u8; payload_len];
    let compression =
        milepost::archive::Compression::Zstd { dictionary: writer as u32, is_packed: false };
    let envelope = Envelope::plain(Origin::of(WriterId(writer)), content);
    envelope.with_payload(compression, &payload).encode().into()
}

fn copies(site: &Site) {
    let archive = site.empty();
    // In one piece, in two and in three: every mixture is a row that one of them put.
    let rows = [(1, 100), (2, 2 * MAX_PIECE - 100), (3, 3 * MAX_PIECE - 100), (4, 200)];
    let rows = rows.map(|(writer, length)| compressed(writer, b"content", length));
    let key = key("copies");
    for row in &rows {
        archive.put_many(&[(key, row.clone())]).unwrap();
        let found = get(&archive, key).unwrap().unwrap();
        assert!(rows.contains(&found), "{} bytes", found.len());
    }
    archive.put_many(&[(key, compressed(5, b"another content", 2 * MAX_PIECE))]).unwrap();
    let conflict = get(&archive, key).unwrap_err();
    assert_eq!(conflict.kind(), ErrorKind::Conflict, "{conflict}");
    assert!(conflict.path().starts_with("archived_transactions/"), "{conflict}");
    let mut both = Vec::new();
    archive.scan(Table::ArchivedTransactions, None, 10, &mut both).unwrap();
    let hashes: Vec<_> = both.iter().map(|(_, row)| content_hash(row).unwrap()).collect();
    assert_eq!(hashes.len(), 2);
    assert_ne!(hashes[0], hashes[1]);

    // All of it is replaced, also by a row that is there, and again.
    for row in [&rows[0], &rows[2], &rows[2], &rows[1]] {
        archive.replace_many(&[(key, row.clone())]).unwrap();
        assert!(get(&archive, key).unwrap().as_ref() == Some(row));
    }
    // What comes after a replace is kept beside it.
    archive.put_many(&[(key, compressed(5, b"another content", 100))]).unwrap();
    assert_eq!(get(&archive, key).unwrap_err().kind(), ErrorKind::Conflict);

    // The progress of a writer is replaced a hundred times, and the last one is there.
    let progress = Key::number(Table::ArchiveProgress, 7);
    let of = |count: usize| compressed(1, &count.to_be_bytes(), count);
    for count in 0..100 {
        archive.replace_many(&[(progress, of(count))]).unwrap();
        assert_eq!(get(&archive, progress).unwrap(), Some(of(count)));
    }
}

fn futures(site: &Site) {
    let archive = site.empty();
    let (key, row) = (key("future"), row(1, 100));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(async {
        archive.put_many_async(vec![(key, row.clone())]).await.unwrap();
        assert_eq!(archive.get_many_async(vec![key]).await.unwrap(), [Some(row.clone())]);
        archive.replace_many_async(vec![(key, row.clone())]).await.unwrap();
        let scan = archive.scan_async(Table::ArchivedTransactions, None, 10).await.unwrap();
        assert_eq!(scan, [(key, row.clone())]);
        let address = archive.address().clone();
        // A call on a thread of the runtime blocks it and does not panic.
        let found = tokio::spawn(async move {
            let archive = CassandraArchive::open(&address).unwrap();
            get(&archive, key).unwrap()
        });
        assert_eq!(found.await.unwrap(), Some(row.clone()));
        drop(archive.get_many_async(vec![key]));
    });
}

fn restarts(site: &Site, cluster: &mut Cluster) {
    let archive = site.empty();
    let rows: Vec<_> = (0..500).map(|number| (key(number), row(number, 1000))).collect();
    let (early, late) = rows.split_at(250);
    archive.put_many(early).unwrap();
    let node = &mut cluster.nodes()[0];
    node.stop().unwrap();
    let begin = Instant::now();
    let down = get(&archive, early[0].0).unwrap_err();
    assert_eq!(down.kind(), ErrorKind::Storage, "{down}");
    assert!(down.detail().contains(&format!("{:?} cannot be read", early[0].0)), "{down}");
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    assert_eq!(archive.put_many(late).unwrap_err().kind(), ErrorKind::Storage);
    node.start().unwrap();
    node.wait().unwrap();
    // The same handle finds the node again.
    put_in_time(&archive, late);
    node.kill().unwrap();
    node.start().unwrap();
    node.wait().unwrap();
    put_in_time(&archive, &[]);
    let mut found = Vec::new();
    archive.get_many(&rows.iter().map(|(key, _)| *key).collect::<Vec<_>>(), &mut found).unwrap();
    let wrong: Vec<(usize, bool)> = (found.iter().zip(&rows).enumerate())
        .filter(|(_, (found, (_, row)))| found.as_ref() != Some(row))
        .map(|(index, (found, _))| (index, found.is_some()))
        .collect();
    assert_eq!(wrong, [], "rows that are missing (false) or others (true)");
}

/// Puts rows as soon as the node answers
fn put_in_time(archive: &CassandraArchive, rows: &[(Key, Row)]) {
    let begin = Instant::now();
    let probe = [(key("probe"), row(1, 10))];
    while let Err(error) = archive.put_many(&[&probe, rows].concat()) {
        assert!(begin.elapsed() < Duration::from_secs(180), "{error}");
        thread::sleep(Duration::from_millis(200));
    }
}
