//! `milepost archive` on an archive in a directory that a server has filled.

use std::fs;
use std::path::Path;

use milepost::archive::{
    Archive as _, ArchivedReceipt, Compression, Envelope, Origin, WriterId, for_each_row,
};
use milepost::primitives::CryptoHash;
use milepost::storage::{Key, Row, Table};
use milepost_archive::DirectoryArchive;
use milepost_practice::{BlockMessage, Practice, PracticeTransaction, Settings};
use serde_json::Value;
use tempfile::TempDir;

use crate::fixture::text;
use crate::follow::status_of;
use crate::support::{Server, command, errors, run};

/// Blocks of a chain, and the files of them
pub(crate) struct Blocks {
    pub(crate) messages: Vec<BlockMessage>,
    pub(crate) files: TempDir,
}

impl Blocks {
    pub(crate) fn new(count: usize) -> Self {
        // Another chain than that of the fixture.
        let mut chain = Practice::new(Settings { transactions: 2..=4, ..Settings::demo(17) });
        let messages: Vec<BlockMessage> = (0..count).map(|_| chain.next_message()).collect();
        let files = write_messages(&messages);
        Self { messages, files }
    }

    /// The transactions of the first blocks, which are finalized
    pub(crate) fn finalized(&self) -> Vec<&PracticeTransaction> {
        self.messages.iter().take(8).flat_map(|message| &message.transactions).collect()
    }

    /// Fills an archive by a server, as far as the blocks go
    pub(crate) fn archive(&self, archive: &str) {
        let server = Server::start(&["--blocks", text(self.files.path()), "--archive", archive]);
        let last_final = server.get("/status").json()["final"]["height"].as_u64().unwrap();
        server.until("all is archived", || {
            let complete = &server.get("/status").json()["archive"]["complete"];
            complete.as_array().is_some_and(|ranges| ranges.iter().any(|it| it[1] == last_final))
        });
        server.signal("TERM");
        assert_eq!(server.ended().code(), Some(0));
    }
}

/// A directory with the files of these blocks
fn write_messages(messages: &[BlockMessage]) -> TempDir {
    let files = tempfile::tempdir().unwrap();
    for message in messages {
        let name = format!("{}.json", message.height);
        fs::write(files.path().join(name), &message.json).unwrap();
    }
    files
}

/// A server that has nothing but this archive, and the directory of its store
pub(crate) fn reader(archive: &str) -> (Server, TempDir) {
    let empty = tempfile::tempdir().unwrap();
    let store = empty.path().join("empty.milepost");
    // The blocks of the fixture, so that no practice chain starts.
    let other = crate::fixture::shared();
    let args = ["--store", text(&store), "--blocks", text(other), "--archive", archive];
    (Server::start(&[&args[..], &["--archive-write", "off"]].concat()), empty)
}

/// The answers of a server that has nothing but this archive
pub(crate) fn answers(archive: &Path, transactions: &[&PracticeTransaction]) -> Vec<Vec<u8>> {
    let (server, _empty) = reader(text(archive));
    let answer = |transaction: &&PracticeTransaction| {
        let response = server.post("/", &status_of(transaction, "FINAL"));
        assert_eq!(response.status, 200, "{}", response.text());
        response.body
    };
    transactions.iter().map(answer).collect()
}

pub(crate) fn printed(args: &[&str], code: i32) -> String {
    let output = run(args);
    let out = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {out} {}", errors(&output));
    out
}

pub(crate) fn stats(archive: &Path) -> Value {
    serde_json::from_str(&printed(&["archive", "stats", text(archive)], 0)).unwrap()
}

#[test]
fn an_archive_is_described_and_checked() {
    let (blocks, directory) = (Blocks::new(16), tempfile::tempdir().unwrap());
    let archive = directory.path().join("archive");
    blocks.archive(text(&archive));

    let described = stats(&archive);
    let table = |name: &str| described["tables"][name].clone();
    assert!(table("archived_transactions")["rows"].as_u64() >= Some(8));
    assert_eq!(table("archived_blocks")["rows"], table("archived_heights")["rows"]);
    let [content, stored] = ["content_bytes", "stored_bytes"]
        .map(|member| table("archived_transactions")[member].as_u64().unwrap());
    assert!(stored < content, "{stored} of {content}");
    assert_eq!(described["writers"].as_array().unwrap().len(), 1);
    let complete = &described["all_writers"]["complete"];
    assert_eq!(complete[0][0], blocks.messages[0].height);
    // The transactions of the newest blocks are not finalized.
    let open = described["all_writers"]["open"].as_array().unwrap().len() as u64;
    let ended = complete[0][1].as_u64().unwrap();
    let included = blocks.messages.iter().filter(|message| message.height <= ended);
    let included: usize = included.map(|message| message.transactions.len()).sum();
    let archived = table("archived_transactions")["rows"].as_u64().unwrap();
    assert_eq!(archived + open, included as u64);
    assert_eq!(described["dictionaries"][0]["number"], 1);
    assert!(printed(&["archive", "check", text(&archive)], 0).contains(": sound, "));

    // A wrong content, a payload that cannot be decompressed, and a receipt with two transactions.
    let [receipt, transaction] = damage(&archive);
    let report = printed(&["archive", "check", text(&archive)], 1);
    let of = |table: Table, key: &Key| format!("{}/{}", table.name(), hexadecimal(key));
    for (problem, reason) in [
        (of(Table::ArchivedTransactions, &transaction), "zstd"),
        (of(Table::ArchivedReceipts, &receipt), "two writers"),
        ("archived_heights".to_owned(), "hash"),
    ] {
        let is_named = |line: &str| line.contains(&problem) && line.contains(reason);
        assert!(report.lines().any(is_named), "{problem} {reason}: {report}");
    }
    assert!(report.contains(": 3 problems, "), "{report}");
    assert_eq!(stats(&archive)["tables"]["archived_transactions"]["rows"], archived);
}

#[test]
fn a_check_finds_rows_that_are_missing() {
    let (blocks, directory) = (Blocks::new(16), tempfile::tempdir().unwrap());
    let archive = directory.path().join("archive");
    blocks.archive(text(&archive));
    let middle = &blocks.messages[4];
    let [block, height] = [
        Key::hash(Table::ArchivedBlocks, middle.hash),
        Key::number(Table::ArchivedHeights, middle.height),
    ];
    let transaction = Key::hash(Table::ArchivedTransactions, blocks.finalized()[0].hash);
    let receipt = {
        let archive = DirectoryArchive::open(&archive).unwrap();
        let mut rows = Vec::new();
        archive.scan(Table::ArchivedReceipts, None, 1, &mut rows).unwrap();
        rows[0].0
    };
    for missing in [&[transaction][..], &[receipt], &[block], &[height], &[block, height]] {
        let removed: Vec<(Key, Row)> = {
            let archive = DirectoryArchive::open(&archive).unwrap();
            let mut rows = Vec::new();
            archive.get_many(missing, &mut rows).unwrap();
            archive.remove_many(missing).unwrap();
            missing.iter().copied().zip(rows.into_iter().map(Option::unwrap)).collect()
        };
        let report = printed(&["archive", "check", text(&archive)], 1);
        let named =
            format!("{}/{}: no row, and ", missing[0].table().name(), hexadecimal(&missing[0]));
        assert!(report.contains(&named), "{missing:?}: {report}");
        DirectoryArchive::open(&archive).unwrap().put_many(&removed).unwrap();
    }
    assert!(printed(&["archive", "check", text(&archive)], 0).contains(": sound, "));
}

fn hexadecimal(key: &Key) -> String {
    key.bytes_in_table().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Damages an archive in three ways
fn damage(archive: &Path) -> [Key; 2] {
    let archive = DirectoryArchive::open(archive).unwrap();
    let first = |table| {
        let mut rows = Vec::new();
        archive.scan(table, None, 1, &mut rows).unwrap();
        rows.remove(0)
    };
    let origin = Origin::of(WriterId(9));
    let (transaction, row) = first(Table::ArchivedTransactions);
    let envelope = Envelope::decode(Table::ArchivedTransactions, &row).unwrap();
    let wrong = envelope
        .with_payload(Compression::Zstd { dictionary: 1, is_packed: false }, &[7; 40])
        .encode();
    let height = Key::number(Table::ArchivedHeights, 1);
    let content = [7; 80];
    let mut other = Envelope::plain(origin, &content);
    other.content_hash = CryptoHash::digest(b"another");
    let rows = [(transaction, Row::from(wrong)), (height, Row::from(other.encode()))];
    archive.replace_many(&rows).unwrap();
    let (receipt, _) = first(Table::ArchivedReceipts);
    let another = ArchivedReceipt { transaction: CryptoHash::digest(b"none"), height: 1 }.encode();
    let another = Row::from(Envelope::plain(origin, &another).encode());
    archive.put_many(&[(receipt, another)]).unwrap();
    [receipt, transaction]
}

#[test]
fn a_copy_of_an_archive_and_one_with_another_dictionary_answer_alike() {
    let (blocks, directory) = (Blocks::new(160), tempfile::tempdir().unwrap());
    let [archive, copy] = ["archive", "copy"].map(|name| directory.path().join(name));
    blocks.archive(text(&archive));
    let transactions = blocks.finalized();
    let before = answers(&archive, &transactions);

    let trained = printed(&["archive", "train", text(&archive), "--recompress"], 0);
    assert!(trained.contains(": dictionary 2 of "), "{trained}");
    let described = stats(&archive);
    let dictionary = |number: usize| described["dictionaries"][number]["rows"].as_u64();
    assert!(dictionary(1) > Some(100), "{described}");
    assert!(printed(&["archive", "check", text(&archive)], 0).contains(": sound, "));
    assert_eq!(answers(&archive, &transactions), before);

    let rows = printed(&["archive", "copy", text(&archive), text(&copy)], 0);
    let of_copy = stats(&copy);
    for table in Table::ARCHIVE.into_iter().filter(|table| *table != Table::ArchiveDictionaries) {
        let rows = |stats: &Value| stats["tables"][table.name()]["rows"].clone();
        assert_eq!(rows(&of_copy), rows(&described), "{}", table.name());
    }
    assert_eq!(of_copy["writers"], described["writers"]);
    assert_eq!(answers(&copy, &transactions), before);
    // Once more, which changes nothing.
    assert_eq!(printed(&["archive", "copy", text(&archive), text(&copy)], 0), rows);
    assert_eq!(stats(&copy), of_copy);
}

#[test]
fn an_archive_is_made_once() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    for _ in 0..2 {
        assert!(printed(&["archive", "init", text(&archive)], 0).contains(": ready"));
    }
    assert_eq!(stats(&archive)["tables"]["archived_transactions"]["rows"], 0);
    assert!(printed(&["archive", "check", text(&archive)], 0).contains(": sound, "));
    assert_eq!(run(&["archive", "init", "memory"]).status.code(), Some(2));
}

#[test]
fn commands_on_an_archive_that_is_not_there_or_open_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let [archive, copy] = ["archive", "copy"].map(|name| directory.path().join(name));
    let commands = |archive: &Path| {
        let (archive, copy) = (text(archive).to_owned(), text(&copy).to_owned());
        let args = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        [
            args(&["archive", "stats", &archive]),
            args(&["archive", "check", &archive]),
            args(&["archive", "copy", &archive, &copy]),
            args(&["archive", "train", &archive]),
        ]
        .map(|args: Vec<String>| {
            let output = command(&[]).args(&args).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{args:?}");
            errors(&output)
        })
    };
    assert!(commands(&archive).iter().all(|it| it.contains("no such archive")));
    assert!(commands(Path::new("memory")).iter().all(|it| it.contains("ends with its server")));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    let file = directory.path().join("file");
    fs::write(&file, "a file").unwrap();
    let errors_of_file = commands(&file);
    let names = errors_of_file.iter().map(|error| error.matches(text(&file)).count());
    assert!(names.into_iter().all(|names| names == 1), "{errors_of_file:?}");
    let server = Server::start(&["--follow", "practice", "--archive", text(&archive)]);
    assert!(commands(&archive).iter().all(|error| error.contains("archive/rows")));
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    let mut rows = 0;
    let archive = DirectoryArchive::open(&archive).unwrap();
    for_each_row(&archive, Table::ArchivedBlocks, &mut |_, _| {
        rows += 1;
        Ok(())
    })
    .unwrap();
    assert!(rows > 0);
}

#[test]
fn a_row_of_another_release_is_an_error_and_never_unknown() {
    let (blocks, directory) = (Blocks::new(40), tempfile::tempdir().unwrap());
    let archive = directory.path().join("archive");
    blocks.archive(text(&archive));
    let transactions = blocks.finalized();
    let before = answers(&archive, &transactions);
    let first = transactions.first().unwrap();
    let key = Key::hash(Table::ArchivedTransactions, CryptoHash::new(*first.hash.as_bytes()));
    let opened = DirectoryArchive::open(&archive).unwrap();
    let mut rows = Vec::new();
    opened.get_many(&[key], &mut rows).unwrap();
    let mut newer = rows.pop().flatten().unwrap().to_vec();
    newer[0] += 1;
    opened.replace_many(&[(key, newer.into())]).unwrap();
    drop(opened);
    let (server, _empty) = reader(text(&archive));
    let answer = server.post("/", &status_of(first, "NONE"));
    assert_eq!((answer.status, answer.cause().as_str()), (500, "INTERNAL_ERROR"));
    let other = server.post("/", &status_of(transactions[1], "FINAL"));
    assert_eq!(other.body, before[1]);
}

#[test]
fn a_period_is_an_archive_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| directory.path().join(name));
    check_periods(text(&first), text(&second), || fs::remove_dir_all(&first).unwrap());
}

/// Archives some blocks into the first archive and those after them into the second one, and checks
/// what is answered from both, and from the second one without the first, which is then dropped
pub(crate) fn check_periods(first: &str, second: &str, drop_first: impl FnOnce()) {
    let (blocks, directory) = (Blocks::new(60), tempfile::tempdir().unwrap());
    let store = directory.path().join("chain.milepost");
    let (early, late) = blocks.messages.split_at(36);
    let run_until_archived = |messages: &[BlockMessage], args: &[&str]| {
        let files = write_messages(messages);
        let serve = ["--store", text(&store), "--blocks", text(files.path())];
        let args = [&serve[..], &["--retention", "blocks:4"], args].concat();
        let server = Server::start(&args);
        let last_final = server.get("/status").json()["final"]["height"].as_u64().unwrap();
        server.until("all is archived", || {
            let complete = &server.get("/status").json()["archive"]["complete"];
            complete.as_array().is_some_and(|ranges| ranges.iter().any(|it| it[1] == last_final))
        });
        server
    };
    // What is archived is forgotten with the blocks after it.
    for messages in [&early[..30], &early[30..]] {
        let server = run_until_archived(messages, &["--archive", first]);
        server.signal("TERM");
        assert_eq!(server.ended().code(), Some(0));
    }
    let server = run_until_archived(late, &["--archive", second, "--archive-older", first]);

    // The transactions of each period that are finalized.
    let whole = Server::start(&["--blocks", text(blocks.files.path())]);
    let of = |messages: &[BlockMessage]| -> Vec<String> {
        let transactions = messages.iter().take(8).flat_map(|message| &message.transactions);
        let bodies = transactions.map(|transaction| status_of(transaction, "NONE"));
        let is_final = |body: &String| {
            let status = &whole.post("/", body).json()["result"]["final_execution_status"];
            status == "FINAL"
        };
        bodies.filter(is_final).collect()
    };
    let (early_bodies, late_bodies) = (of(early), of(&late[4..]));
    assert!(early_bodies.len() > 4 && late_bodies.len() > 4);
    for body in early_bodies.iter().chain(&late_bodies) {
        assert_eq!(server.post("/", body).body, whole.post("/", body).body, "{body}");
    }
    // Both together have all heights.
    let complete = server.get("/status").json()["archive"]["complete"].clone();
    assert_eq!(complete.as_array().map(Vec::len), Some(1), "{complete}");
    assert_eq!(complete[0][0], early[0].height, "{complete}");
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));

    drop_first();
    let (server, _store) = reader(second);
    let status = server.get("/status").json();
    let from = status["archive"]["complete"][0][0].as_u64().expect("a height");
    assert!((early[10].height..late[4].height).contains(&from), "{status}");
    for body in &late_bodies {
        assert_eq!(server.post("/", body).body, whole.post("/", body).body, "{body}");
    }
    for body in &early_bodies {
        let response = server.post("/", body);
        assert_eq!(response.cause(), "UNKNOWN_TRANSACTION", "{}", response.text());
    }
}
