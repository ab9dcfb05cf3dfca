//! A store that forgets, with an archive that can be slow or down, over real sockets.
//!
//! The exporter is called between blocks, so what is archived after each is known.

use alloc::sync::Arc;
use core::cell::RefCell;
use core::num::NonZero;
use core::sync::atomic::Ordering::SeqCst;
use core::time::Duration;
use std::io;
use std::sync::Once;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use milepost::archive::{
    Archive as _, Envelope, OpenTransaction, Origin, WriterId, WriterProgress,
};
use milepost::endpoint::{Engine, WaitConfig};
use milepost::import::{ImportSettings, Retention, VerifyMode};
use milepost::primitives::CryptoHash;
use milepost::storage::{Key, Table};
use milepost_practice::{BlockMessage, Practice, Settings};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time;

use super::event_tests::{GUARD, start, until};
use crate::archive::test_archive::TestArchive;
use crate::archive::{ArchiveOptions, Lookups, SharedArchive};
use crate::chain::{ArchivedHeights, Chain, Exporter};
use crate::metrics;
use crate::queries::{Queries, waiting};
use crate::store::{Store, StoreLocation};

/// Reads of the archive by requests
fn lookups(archive: &Arc<TestArchive>, max_misses: u32) -> Lookups {
    let shared: SharedArchive = Arc::<TestArchive>::clone(archive);
    Lookups::new(shared, NonZero::new(max_misses).unwrap())
}

/// The queries of a chain that keeps a few blocks, and its archive
pub(super) fn queries(
    archive: &Arc<TestArchive>,
    max_misses: u32,
) -> (Arc<Queries>, Arc<Exporter>) {
    queries_with(lookups(archive, max_misses), None)
}

/// As [`queries`], with an archive that keeps this number of heights
fn queries_with(
    lookups: Lookups,
    kept_heights: Option<NonZero<u64>>,
) -> (Arc<Queries>, Arc<Exporter>) {
    let options = ArchiveOptions { writes: true, max_blocks: 1_000, until: None, kept_heights };
    let exporter = Arc::new(Exporter::new(lookups, options));
    let settings = ImportSettings::default().with_retention(Retention::Blocks(6));
    let chain = plain_chain(settings).with_archive(Some(Arc::clone(&exporter)));
    (Arc::new(Queries::new(Arc::new(chain))), exporter)
}

fn plain_chain(settings: ImportSettings) -> Chain {
    let store = Store::open(&StoreLocation::Memory).unwrap();
    let chain = Chain::new(Engine::default(), store, settings, WaitConfig::default());
    chain.with_verify_mode(VerifyMode::Report)
}

/// The queries of a chain without an archive
fn without_archive() -> Arc<Queries> {
    Arc::new(Queries::new(Arc::new(plain_chain(ImportSettings::default()))))
}

/// The height of the oldest block that is kept
fn earliest(queries: &Queries) -> u64 {
    queries.chain.status().unwrap().earliest.unwrap().height
}

fn chain(count: usize) -> (Vec<BlockMessage>, Vec<CryptoHash>) {
    let settings = Settings { transactions: 0..=2, ..Settings::simulation(5) };
    let mut practice = Practice::new(settings);
    let messages: Vec<_> = (0..count).map(|_| practice.next_message()).collect();
    let transactions = messages.iter().flat_map(|message| &message.transactions);
    let hashes = transactions.map(|transaction| transaction.hash).collect();
    (messages, hashes)
}

/// Imports these blocks, and exports after each
pub(super) fn import(queries: &Queries, exporter: &Exporter, messages: &[BlockMessage]) {
    for message in messages {
        // Some messages of this chain are on forks that are refused.
        let _ = queries.chain.import_block(&message.json);
        exporter.step(&queries.chain).unwrap();
    }
}

/// The transactions that an archive has after these blocks
fn archived(messages: &[BlockMessage]) -> Vec<CryptoHash> {
    let archive = TestArchive::new();
    let (queries, exporter) = queries(&archive, 1_000_000);
    import(&queries, &exporter, messages);
    let mut rows = Vec::new();
    archive.scan(Table::ArchivedTransactions, None, 1_000, &mut rows).unwrap();
    let hash = |(key, _): &(Key, _)| CryptoHash::new(key.bytes_in_table().try_into().unwrap());
    rows.iter().map(hash).collect()
}

fn body(hash: CryptoHash) -> String {
    format!(
        r#"{{"id":1,"method":"tx","params":{{"tx_hash":"{hash}","sender_account_id":"a.near","wait_until":"NONE"}}}}"#
    )
}

async fn post(address: &str, body: String) -> (u16, Option<String>, String) {
    parts(post_response(address, body).await)
}

async fn post_response(address: &str, body: String) -> Response<String> {
    let request = Request::post("/").header("content-type", "application/json");
    let request = request.header("host", address).body(Full::new(Bytes::from(body))).unwrap();
    response_on(TcpStream::connect(address).await.unwrap(), request).await
}

async fn get(address: &str, path: &str) -> (u16, Option<String>, String) {
    parts(get_response(address, path).await)
}

async fn get_response(address: &str, path: &str) -> Response<String> {
    let request = Request::get(path).header("host", address).body(Full::default()).unwrap();
    response_on(TcpStream::connect(address).await.unwrap(), request).await
}

/// The status, `Retry-After` and the body
fn parts(response: Response<String>) -> (u16, Option<String>, String) {
    let retry_after = header(&response, "retry-after").map(str::to_owned);
    (response.status().as_u16(), retry_after, response.into_body())
}

async fn response_on(stream: TcpStream, request: Request<Full<Bytes>>) -> Response<String> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = time::timeout(GUARD, sender.send_request(request)).await.unwrap().unwrap();
    let (head, body) = response.into_parts();
    let bytes = time::timeout(GUARD, body.collect()).await.unwrap().unwrap();
    Response::from_parts(head, String::from_utf8(bytes.to_bytes().to_vec()).unwrap())
}

fn header<'response>(response: &'response Response<String>, name: &str) -> Option<&'response str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

std::thread_local! {
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The lines that this thread logs from here on
///
/// One subscriber serves the whole process. With one for each thread, a line that another thread
/// logs for the first time at the same moment can be missed here.
struct Log;

impl Log {
    fn start() -> Self {
        static SUBSCRIBER: Once = Once::new();
        SUBSCRIBER.call_once(|| {
            let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(|| Self);
            tracing::subscriber::set_global_default(subscriber.finish()).unwrap();
        });
        LOGGED.with_borrow_mut(Vec::clear);
        Self
    }

    /// Number of times that this text was logged
    fn count(&self, text: &str) -> u64 {
        LOGGED.with_borrow(|log| str::from_utf8(log).unwrap().matches(text).count() as u64)
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|log| log.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn cause(body: &str) -> String {
    let body: Value = serde_json::from_str(body).unwrap();
    body["error"]["cause"]["name"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_answers_what_its_store_has_forgotten() {
    let archive = TestArchive::new();
    let (queries, exporter) = queries(&archive, 1_000_000);
    let whole = without_archive();
    let (messages, hashes) = chain(80);
    import(&queries, &exporter, &messages);
    messages.iter().for_each(|message| drop(whole.chain.import_block(&message.json)));
    assert!(earliest(&queries) > earliest(&whole) + 20);
    let (address, whole) = (start(&queries).await, start(&whole).await);
    for hash in hashes.iter().copied().chain([CryptoHash::digest(b"unknown")]) {
        let expected = post(&whole, body(hash)).await;
        assert!(post(&address, body(hash)).await == expected, "{hash}");
    }
    let batch = |hashes: &[CryptoHash]| {
        let calls: Vec<String> = hashes.iter().map(|hash| body(*hash)).collect();
        format!("[{}]", calls.join(","))
    };
    for hashes in hashes.chunks(20) {
        assert!(post(&address, batch(hashes)).await == post(&whole, batch(hashes)).await);
    }
    let mut proofs = 0;
    for hash in &hashes {
        let path = format!("/tx/{hash}?include=outcomes,proof");
        let expected = get(&whole, &path).await;
        proofs += usize::from(expected.2.contains("\"headers\":[{"));
        assert!(get(&address, &path).await == expected, "{hash}");
    }
    assert!(proofs > 20, "{proofs}");
    let status: Value = serde_json::from_str(&get(&address, "/status").await.2).unwrap();
    let first = messages.first().unwrap().height;
    assert_eq!(status["archive"]["complete"].as_array().unwrap().len(), 1, "{status}");
    assert_eq!(status["archive"]["complete"][0][0], first, "{status}");
    let status: Value = serde_json::from_str(&get(&whole, "/status").await.2).unwrap();
    assert!(status.get("archive").is_none(), "{status}");
    let metrics = get(&address, "/metrics").await.2;
    let value = |name: &str| -> u64 {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok()).unwrap_or_else(|| panic!("{metrics}"))
    };
    assert!(value("milepost_archive_reads_total{result=\"found\"}") > 20);
    assert!(value("milepost_archive_exported_transactions_total") > 20);
    assert_eq!(value("milepost_archive_evicted_blocks_total"), 0);
    assert!(value("milepost_archive_exported_height") > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_archive_is_down_hot_requests_go_on_and_nothing_is_forgotten() {
    let archive = TestArchive::new();
    let (queries, exporter) = queries(&archive, 1_000_000);
    let (messages, hashes) = chain(90);
    import(&queries, &exporter, &messages[..60]);
    let address = start(&queries).await;
    let kept = earliest(&queries);
    archive.is_down.store(true, SeqCst);
    for message in &messages[60..80] {
        let _ = queries.chain.import_block(&message.json);
        assert!(exporter.step(&queries.chain).is_err());
    }
    // Forgotten is at most what was archived before.
    let held = earliest(&queries);
    let last = messages[79].height;
    for message in &messages[60..80] {
        let _ = queries.chain.import_block(&message.json);
    }
    assert!(earliest(&queries) == held && last > held + 10);
    let (mut failed, mut served) = (0, 0);
    for hash in &hashes {
        let (status, retry_after, body) = post(&address, body(*hash)).await;
        match cause(&body).as_str() {
            "INTERNAL_ERROR" => {
                assert_eq!((status, retry_after.as_deref()), (500, Some("1")), "{body}");
                assert!(body.contains("the archive cannot be read: no replica is alive"), "{body}");
                failed += 1;
            }
            "" => served += 1,
            other => panic!("{other}"),
        }
    }
    assert!(failed > 10 && served > 10, "{failed} {served}");
    let (hash, unknown) = (hashes[0], CryptoHash::digest(b"unknown"));
    for path in [
        format!("/tx/{hash}"),
        format!("/tx/{hash}?include=proof"),
        format!("/receipt/{unknown}"),
        format!("/blocks/{unknown}"),
    ] {
        let (status, retry_after, body) = get(&address, &path).await;
        assert_eq!((status, retry_after.as_deref()), (503, Some("1")), "{path}: {body}");
        assert!(body.contains("the archive cannot be read: no replica is alive"), "{body}");
    }
    // It is back: what was missed is archived, and forgotten with the next blocks.
    archive.is_down.store(false, SeqCst);
    exporter.step(&queries.chain).unwrap();
    import(&queries, &exporter, &messages[80..]);
    assert!(earliest(&queries) > held && held >= kept, "{kept} {held}");
    let whole = without_archive();
    messages.iter().for_each(|message| drop(whole.chain.import_block(&message.json)));
    let whole = start(&whole).await;
    for hash in &hashes {
        assert!(post(&address, body(*hash)).await == post(&whole, body(*hash)).await, "{hash}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_head_lags_the_archive_has_what_is_not_final_here() {
    let archive = TestArchive::new();
    let (ahead, exporter) = queries(&archive, 1_000_000);
    let (messages, hashes) = chain(60);
    import(&ahead, &exporter, &messages);
    let (lagging, exporter) = queries(&archive, 1_000_000);
    import(&lagging, &exporter, &messages[..12]);
    let alone = without_archive();
    messages[..12].iter().for_each(|message| drop(alone.chain.import_block(&message.json)));
    let (lagging, alone) = (start(&lagging).await, start(&alone).await);
    let ahead = start(&ahead).await;
    let archived = archived(&messages);
    let mut unfinished = 0;
    for hash in hashes.iter().filter(|hash| archived.contains(hash)) {
        let here = get(&alone, &format!("/tx/{hash}")).await;
        unfinished += usize::from(here.0 == 200 && here.2.contains("\"finalized\":false"));
        let expected = get(&ahead, &format!("/tx/{hash}?include=status")).await;
        assert!(expected.2.contains("\"final_execution_status\":\"FINAL\""), "{}", expected.2);
        assert_eq!(get(&lagging, &format!("/tx/{hash}?include=status")).await, expected);
        assert_eq!(post(&lagging, body(*hash)).await, post(&ahead, body(*hash)).await);
    }
    assert!(unfinished > 2, "{unfinished}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn requests_about_one_thing_are_one_read_and_block_no_others() {
    let archive = TestArchive::new();
    let (queries, exporter) = queries(&archive, 1_000_000);
    let (messages, hashes) = chain(30);
    import(&queries, &exporter, &messages[..20]);
    let address = start(&queries).await;
    archive.reads.store(0, SeqCst);
    archive.hold(true);
    let unknown = CryptoHash::digest(b"unknown");
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let address = address.clone();
            tokio::spawn(async move { post(&address, body(unknown)).await })
        })
        .collect();
    until(|| archive.reads.load(SeqCst) == 1).await;
    // The one thread that serves sockets is free, and commits are.
    let newest = hashes.iter().rev().find(|hash| {
        messages[..20].iter().rev().take(3).any(|message| {
            message.transactions.iter().any(|transaction| transaction.hash == **hash)
        })
    });
    let (status, _, hot) = post(&address, body(*newest.unwrap())).await;
    assert_eq!((status, cause(&hot).as_str()), (200, ""));
    messages[20..].iter().for_each(|message| drop(queries.chain.import_block(&message.json)));
    until(|| {
        let metrics = metrics::text_of(|registry| exporter.register(registry));
        metrics.contains("milepost_archive_reads_total{result=\"coalesced\"} 19\n")
    })
    .await;
    archive.hold(false);
    for response in waiting {
        let (_, _, body) = response.await.unwrap();
        assert_eq!(cause(&body), "UNKNOWN_TRANSACTION");
    }
    // A commit while they waited makes them read the store again, and no more than that.
    let reads = archive.reads.load(SeqCst);
    assert!(reads <= 2, "{reads} reads");
}

#[tokio::test]
async fn a_client_with_too_many_misses_is_refused_and_others_are_not() {
    let archive = TestArchive::new();
    let lookups = lookups(&archive, 1_000_000).with_address_limit(NonZero::new(2));
    let (queries, exporter) = queries_with(lookups, None);
    import(&queries, &exporter, &chain(20).0);
    let address = start(&queries).await;
    let ask = async |from: &str, name: &str| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
        let stream = socket.connect(address.parse().unwrap()).await.unwrap();
        let request = Request::post("/").header("content-type", "application/json");
        let body = Full::new(Bytes::from(body(CryptoHash::digest(name.as_bytes()))));
        let (_, retry_after, body) =
            parts(response_on(stream, request.header("host", &*address).body(body).unwrap()).await);
        assert_eq!(retry_after.is_some(), cause(&body) == "INTERNAL_ERROR", "{body}");
        cause(&body)
    };
    // The limit is of a second, so one of many is over it.
    let mut refused = 0;
    for number in 0..20 {
        let cause = ask("127.0.0.1", &format!("one {number}")).await;
        assert!(["UNKNOWN_TRANSACTION", "INTERNAL_ERROR"].contains(&&*cause), "{cause}");
        refused += usize::from(cause == "INTERNAL_ERROR");
        if cause == "INTERNAL_ERROR" {
            assert_eq!(ask("127.0.0.2", "other").await, "UNKNOWN_TRANSACTION");
        }
    }
    assert!(refused > 0);
}

#[tokio::test]
async fn two_contents_of_a_key_are_counted_when_one_is_put_and_logged_once() {
    let archive = TestArchive::new();
    let (queries, exporter) = queries(&archive, 1_000_000);
    let (messages, _) = chain(60);
    let mut hashes = archived(&messages[..20]).into_iter();
    let (hash, other_hash) = (hashes.next().unwrap(), hashes.next().unwrap());
    let key = Key::hash(Table::ArchivedTransactions, hash);
    let other = Envelope::plain(Origin::of(WriterId(9)), b"other").encode();
    archive.put_many(&[(key, other.into())]).unwrap();
    let count = || {
        let metrics = metrics::text_of(|registry| exporter.register(registry));
        let line =
            metrics.lines().find_map(|line| line.strip_prefix("milepost_archive_conflicts_total "));
        line.unwrap().parse::<u64>().unwrap()
    };
    let log = Log::start();
    assert_eq!(count(), 0);
    import(&queries, &exporter, &messages);
    assert_eq!(count(), 1);
    let conflict = format!("the archive holds two contents of {key:?}");
    assert_eq!((log.count(&conflict), log.count("ERROR")), (1, 1));
    let address = start(&queries).await;
    for counted in 2..4 {
        let (_, _, body) = post(&address, body(hash)).await;
        assert!(body.contains("two writers have put different content"), "{body}");
        assert_eq!(count(), counted);
    }
    // The requests failed as well, for one reason.
    let counts = [&conflict, "a request failed: ", "ERROR"].map(|text| log.count(text));
    assert_eq!(counts, [1, 1, 2]);
    assert_eq!(post(&address, body(other_hash)).await.0, 200);
}

#[tokio::test]
async fn an_export_that_cannot_be_read_back_is_an_export() {
    let archive = TestArchive::new();
    let (queries, exporter) = queries(&archive, 1_000_000);
    let (messages, _) = chain(80);
    import(&queries, &exporter, &messages[..20]);
    let kept = earliest(&queries);
    archive.is_unreadable.store(true, SeqCst);
    import(&queries, &exporter, &messages[20..]);
    assert!(earliest(&queries) > kept + 20);
}

#[tokio::test(start_paused = true)]
async fn blocks_that_are_forgotten_without_being_archived_are_warned_of_once_a_minute() {
    let archive = TestArchive::new();
    let options = ArchiveOptions { writes: true, max_blocks: 10, until: None, kept_heights: None };
    let exporter = Arc::new(Exporter::new(lookups(&archive, 1_000_000), options));
    let settings = ImportSettings::default().with_retention(Retention::Blocks(6));
    let chain_of_store = plain_chain(settings).with_archive(Some(Arc::clone(&exporter)));
    let log = Log::start();
    let (messages, _) = chain(90);
    let warnings = || log.count("the store forgets blocks that are not archived");
    let mut forgotten = messages.iter();
    for expected in 0..4 {
        for message in forgotten.by_ref().take(if expected == 0 { 8 } else { 25 }) {
            let _ = chain_of_store.import_block(&message.json);
        }
        assert_eq!(warnings(), expected);
        time::advance(Duration::from_secs(60)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_whose_last_read_of_the_archive_fails_says_when_to_retry() {
    let archive = TestArchive::new();
    let (queries, exporter) = queries(&archive, 1_000_000);
    import(&queries, &exporter, &chain(40).0);
    let address = start(&queries).await;
    tokio::spawn(waiting::run_timeouts(Arc::clone(&queries.chain)));
    let request = Request::post("/").header("content-type", "application/json");
    let request = request.header("host", &address).header("prefer", "wait=3");
    let waiting = body(CryptoHash::digest(b"unknown")).replace("NONE", "FINAL");
    let request = request.body(Full::new(Bytes::from(waiting))).unwrap();
    let stream = TcpStream::connect(&address).await.unwrap();
    let response = tokio::spawn(response_on(stream, request));
    until(|| queries.chain.metrics.pending.get() == 1).await;
    archive.is_down.store(true, SeqCst);
    // What was missing is remembered for a second, and until the next export.
    queries.chain.archive().unwrap().lookups.forget_misses();
    let (status, retry_after, body) = parts(response.await.unwrap());
    assert_eq!((status, retry_after.as_deref()), (500, Some("1")), "{body}");
    assert!(body.contains("the archive cannot be read: no replica is alive"), "{body}");
}

#[tokio::test]
async fn heights_with_an_open_transaction_are_not_named_as_complete() {
    let archive = TestArchive::new();
    let put = |writer, heights, open: &[u64]| {
        let hash = CryptoHash::digest(b"open");
        let open = open.iter().map(|height| OpenTransaction { height: *height, hash });
        let progress = WriterProgress { heights, open: open.collect() };
        let row = progress.encode(WriterId(writer));
        archive.replace_many(&[(WriterProgress::key(WriterId(writer)), row)]).unwrap();
    };
    let unknown = body(CryptoHash::digest(b"unknown"));
    let known = archived(&chain(40).0);
    let batch = |hash: CryptoHash| format!("[{},{unknown},{}]", body(hash), body(hash));
    put(1, [1..=50, 60..=60].into_iter().collect(), &[20, 50]);
    for (archived, expected) in
        [("[[1,50],[60,60]]", "1-19, 21-49, 60-60"), ("[[1,60]]", "1-49, 51-60")]
    {
        let (queries, exporter) = queries(&archive, 1_000_000);
        exporter.step(&queries.chain).unwrap();
        let address = start(&queries).await;
        let status: Value = serde_json::from_str(&get(&address, "/status").await.2).unwrap();
        assert_eq!(status["archive"]["complete"].to_string(), archived);
        for body in [unknown.clone(), batch(known[0])] {
            let response = post_response(&address, body).await;
            assert_eq!(header(&response, "x-milepost-complete-heights"), Some(expected));
        }
        // Another writer has the transaction of one of the heights.
        put(2, [20..=20, 51..=59].into_iter().collect(), &[]);
    }
    let (queries, exporter) = queries(&TestArchive::new(), 1_000_000);
    import(&queries, &exporter, &chain(40).0);
    let address = start(&queries).await;
    let known = batch(known[0]).replace(&unknown, &body(known[1]));
    let response = post_response(&address, known).await;
    assert!(response.body().starts_with("[{"), "{}", response.body());
    assert_eq!(header(&response, "x-milepost-complete-heights"), None);
    let response = post_response(&address, batch(archived(&chain(40).0)[0])).await;
    assert!(header(&response, "x-milepost-complete-heights").is_some());
}

#[tokio::test]
async fn a_damaged_row_that_would_be_removed_does_not_keep_the_store_from_forgetting() {
    let archive = TestArchive::new();
    let (queries, exporter) = queries_with(lookups(&archive, 1_000_000), NonZero::new(20));
    let (messages, _) = chain(80);
    import(&queries, &exporter, &messages[..30]);
    let mut rows = Vec::new();
    archive.scan(Table::ArchivedReceipts, None, 1, &mut rows).unwrap();
    let (key, row) = rows.first().unwrap();
    archive.replace_many(&[(*key, row[..row.len() - 1].into())]).unwrap();
    let (kept, complete) = (earliest(&queries), exporter.heights());
    import(&queries, &exporter, &messages[30..]);
    assert!(earliest(&queries) > kept + 20);
    let first = |heights: &ArchivedHeights| *heights.archived.iter().next().unwrap().start();
    assert!(first(&exporter.heights()) > first(&complete) + 20);
}
