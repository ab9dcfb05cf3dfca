//! `milepost archive backfill`: parts of a chain that several processes fill are the whole.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use milepost::archive::{Archive as _, ArchivedBlock, ArchivedReceipt, Envelope, Origin, WriterId};
use milepost::primitives::CryptoHash;
use milepost::storage::Table;
use milepost_archive::DirectoryArchive;
use milepost_practice::PracticeTransaction;
use milepost_testing::feed::Faults;
use serde_json::Value;

use crate::archive_commands::{Blocks, answers, printed, reader, stats};
use crate::fixture::{lake, message_files, messages, text};
use crate::follow::serve_feed;
use crate::support::{command, errors, run};

/// Fills heights of an archive from all blocks, with further arguments
fn backfill(
    blocks: &Blocks,
    archive: &Path,
    heights: [u64; 2],
    args: &[&str],
    code: i32,
) -> String {
    let [from, to] = heights;
    let heights = format!("--heights={from}-{to}");
    let command = ["archive", "backfill", text(archive), text(blocks.files.path()), &heights];
    printed(&[&command[..], args].concat(), code)
}

/// Rows of each table of transactions and blocks
fn rows(stats: &Value) -> Vec<Value> {
    let tables = ["archived_transactions", "archived_receipts", "archived_blocks"];
    tables.iter().map(|table| stats["tables"][table]["rows"].clone()).collect()
}

#[test]
fn two_halves_of_two_processes_are_one_whole() {
    let (blocks, directory) = (Blocks::new(120), tempfile::tempdir().unwrap());
    let [whole, half, other] = ["whole", "half", "other"].map(|name| directory.path().join(name));
    let [first, middle, last] = [0, 40, 80].map(|number| blocks.messages[number].height);
    let done = backfill(&blocks, &whole, [first, last], &[], 0);
    assert!(done.contains(&format!(": {first}-{last} complete, 0 transactions open")), "{done}");

    // At the same time, each in a directory of its own.
    let spawn = |archive: &Path, heights: [u64; 2], jobs: &str| {
        let [from, to] = heights;
        let args = ["archive", "backfill", text(archive), text(blocks.files.path())];
        let range = [&format!("--heights={from}-{to}"), "--jobs", jobs];
        command(&[&args[..], &range].concat()).stdout(Stdio::null()).spawn().unwrap()
    };
    let processes = [spawn(&half, [first, middle], "3"), spawn(&other, [middle + 1, last], "2")];
    for mut process in processes {
        assert_eq!(process.wait().unwrap().code(), Some(0));
    }
    printed(&["archive", "copy", text(&other), text(&half)], 0);
    assert!(printed(&["archive", "check", text(&half)], 0).contains(": sound, "));
    let [described, of_whole] = [stats(&half), stats(&whole)];
    assert_eq!(rows(&described), rows(&of_whole));
    assert_eq!(described["writers"].as_array().unwrap().len(), 5);
    assert_eq!(described["all_writers"], of_whole["all_writers"]);

    let included = blocks.messages.iter().filter(|message| message.height <= last);
    let transactions: Vec<_> = included.flat_map(|message| &message.transactions).collect();
    assert_eq!(of_whole["tables"]["archived_transactions"]["rows"], transactions.len());
    assert_eq!(answers(&half, &transactions), answers(&whole, &transactions));
}

#[test]
fn what_is_left_open_is_listed_and_finished_by_the_next_run() {
    let (blocks, directory) = (Blocks::new(60), tempfile::tempdir().unwrap());
    let [archive, whole] = ["archive", "whole"].map(|name| directory.path().join(name));
    let [first, last] = [0, 40].map(|number| blocks.messages[number].height);
    // The blocks end before the newest transactions are final.
    let short = blocks.messages[43].height.to_string();
    let report = backfill(&blocks, &archive, [first, last], &["--until", &short], 1);
    let left: Vec<&str> = report.lines().filter(|line| line.starts_with("open: ")).collect();
    assert!(!left.is_empty(), "{report}");
    let listed = stats(&archive)["all_writers"]["open"].as_array().unwrap().len();
    assert_eq!(listed, left.len());

    let done = backfill(&blocks, &archive, [first, last], &["--jobs", "2"], 0);
    assert!(done.contains(&format!(": {first}-{last} complete, 0 transactions open")), "{done}");
    backfill(&blocks, &whole, [first, last], &[], 0);
    assert_eq!(rows(&stats(&archive)), rows(&stats(&whole)));
    // Nothing is left to do, so no writer is added.
    let writers = stats(&archive)["writers"].clone();
    backfill(&blocks, &archive, [first, last], &[], 0);
    assert_eq!(stats(&archive)["writers"], writers);
}

#[test]
fn lines_of_the_log_name_the_part_that_they_are_about() {
    let (mut blocks, directory) = (Blocks::new(60), tempfile::tempdir().unwrap());
    let heights = [0, 40].map(|number| blocks.messages[number].height.to_string());
    // Each part reads this block, which is not what its hash says.
    let wrong = blocks.messages.swap_remove(20);
    let json = String::from_utf8(wrong.json).unwrap();
    let (before, after) = json.split_once("\"gas_price\":\"").unwrap();
    let json = format!("{before}\"gas_price\":\"1{after}");
    fs::write(blocks.files.path().join(format!("{}.json", wrong.height)), json).unwrap();
    let archive = directory.path().join("archive");
    let args = ["archive", "backfill", text(&archive), text(blocks.files.path()), "--jobs", "2"];
    let range = [&*format!("--heights={}-{}", heights[0], heights[1])];
    let mut backfill = command(&[&args[..], &range].concat());
    let log = errors(&backfill.env("MILEPOST_LOG", "info").output().unwrap());
    let [of_writers, of_blocks] = ["writes to the archive", "hash"].map(|part| {
        let mut lines: Vec<&str> = log.lines().filter(|line| line.contains(part)).collect();
        lines.sort_unstable();
        lines
    });
    assert!(of_writers.len() == 2 && !of_blocks.is_empty(), "{log}");
    let parts = [format!("part{{heights={}-", heights[0]), format!("-{}}}: ", heights[1])];
    for part in &parts {
        assert_eq!(of_writers.iter().filter(|line| line.contains(part)).count(), 1, "{log}");
    }
    assert!(of_blocks.iter().all(|line| parts.iter().any(|part| line.contains(part))), "{log}");
}

#[cfg(feature = "object-store")]
#[test]
fn an_archive_is_filled_from_a_lake_in_an_object_store() {
    let (lake, files, directory) = (lake(), message_files(), tempfile::tempdir().unwrap());
    let [from, to] = [0, 4].map(|number| messages()[number].height.to_string());
    let url = format!("file://{}", text(&lake.path().join("near-lake")));
    // One of the transactions is not final with the last of these blocks.
    let [of_lake, of_files] =
        [("lake", url.as_str()), ("files", text(files.path()))].map(|source| {
            let (name, source) = source;
            let archive = directory.path().join(name);
            let heights = format!("--heights={from}-{to}");
            let args = ["archive", "backfill", text(&archive), source, &heights];
            let report = printed(&args, 1);
            assert!(
                report.contains(&format!(": {from}-{to} complete, 1 transactions open")),
                "{report}"
            );
            stats(&archive)
        });
    assert_eq!(of_lake["all_writers"], of_files["all_writers"]);
    assert_eq!(rows(&of_lake), rows(&of_files));
    let included: usize = messages()[..5].iter().map(|message| message.transactions.len()).sum();
    assert_eq!(of_lake["tables"]["archived_transactions"]["rows"], included - 1);
}

#[test]
fn an_archive_is_filled_from_a_feed_and_from_a_node_that_go_on() {
    let (blocks, directory) = (Blocks::new(120), tempfile::tempdir().unwrap());
    let heights = [0, 80].map(|number| blocks.messages[number].height);
    let [of_files, of_feed, of_node] =
        ["files", "feed", "node"].map(|name| directory.path().join(name));
    backfill(&blocks, &of_files, heights, &[], 0);
    // The end of the range is produced after the start of the program.
    let mut messages = blocks.messages.clone();
    for (number, message) in (0..).zip(&mut messages) {
        message.arrival_ms = 10 * number;
    }
    let [from, to] = heights;
    let range = format!("--heights={from}-{to}");
    let fill = |archive: &Path, source: &str, args: &[&str]| {
        let command = ["archive", "backfill", text(archive), "--follow", source];
        let range = [&range, "--feed-requests", "100000"];
        let done = printed(&[&command[..], &range, args].concat(), 0);
        assert!(done.contains(&format!(": {from}-{to} complete, 0 transactions open")), "{done}");
    };
    let feed = serve_feed(&messages, Faults::default());
    fill(&of_feed, &feed.url(), &[]);
    let node = serve_feed(&messages, Faults::default());
    fill(&of_node, &node.node_url(), &["--jobs", "2"]);

    let [described, with_configs] = [stats(&of_feed), stats(&of_node)];
    let expected = stats(&of_files);
    for filled in [&described, &with_configs] {
        assert_eq!(rows(filled), rows(&expected));
        assert_eq!(filled["all_writers"], expected["all_writers"]);
    }
    // A feed of neardata has none, and a node has that of each epoch.
    let configs = |stats: &Value| stats["tables"]["archived_configs"]["rows"].as_u64();
    assert_eq!(configs(&described), Some(0));
    assert!(configs(&with_configs) > Some(0), "{with_configs}");
    let included =
        blocks.messages.iter().filter(|it| (heights[0]..=heights[1]).contains(&it.height));
    let transactions: Vec<_> = included.flat_map(|message| &message.transactions).collect();
    assert_eq!(answers(&of_node, &transactions), answers(&of_files, &transactions));
    assert_eq!(answers(&of_feed, &transactions), answers(&of_files, &transactions));
}

#[test]
fn a_backfill_that_makes_no_sense_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    fs::write(directory.path().join("block.json"), b"{}").unwrap();
    let paths = ["archive", "backfill", text(&archive), text(directory.path())];
    for (args, problem) in [
        (&["--heights", "9-8"][..], "`9-8` is not FROM-TO"),
        (&["--heights", "1-8", "--retention", "blocks:5"], "--retention"),
        (&["--heights", "1-8", "--jobs", "0"], "--jobs"),
        (&["--heights", "3-8", "--until", "7"], "--until 7 is below --heights 8"),
        (&["--heights", "1-8", "--follow", "mainnet"], "--follow"),
    ] {
        let output = run(&[&paths[..], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(errors(&output).contains(problem), "{}", errors(&output));
    }
    assert!(!archive.exists());
}

#[test]
fn a_repair_replaces_what_differs_from_the_blocks() {
    let (blocks, directory) = (Blocks::new(80), tempfile::tempdir().unwrap());
    let [wrong, right] = ["wrong", "right"].map(|name| directory.path().join(name));
    let [first, last] = [0, 40].map(|number| blocks.messages[number].height);
    for archive in [&wrong, &right] {
        backfill(&blocks, archive, [first, last], &[], 0);
    }
    let replaced = exchange_transactions(&wrong);
    // Of a block that is no more: in the middle, and at the last height.
    let middle = blocks.messages[20].height;
    for (number, height) in [(1, middle), (2, last)] {
        invent_transaction(&wrong, number, height);
    }
    let included = blocks.messages.iter().filter(|message| message.height <= last);
    let transactions: Vec<_> = included.flat_map(|message| &message.transactions).collect();
    let before = stats(&wrong);
    let tags = entity_tags(&wrong, &transactions);

    let repair = ["archive", "repair", text(&wrong), text(blocks.files.path()), "--heights"];
    let [all, half] = [last, last - 1].map(|end| format!("{first}-{end}"));
    let args = [&repair[..], &[&all, "--jobs", "2"]].concat();
    let half = printed(&[&repair[..], &[&half]].concat(), 0);
    assert!(half.contains(" rows replaced, 2 removed"), "{half}");
    assert_eq!(exchange_transactions(&wrong), replaced);
    let report = printed(&args, 0);
    assert!(report.contains(&format!(": {replaced} rows replaced, 2 removed")), "{report}");
    assert_eq!(rows(&stats(&wrong)), rows(&stats(&right)));
    assert!(
        report.contains(&format!(": {first}-{last} complete, 0 transactions open")),
        "{report}"
    );
    assert!(printed(&["archive", "check", text(&wrong)], 0).contains(": sound, "));
    assert_eq!(answers(&wrong, &transactions), answers(&right, &transactions));
    // Rows of other transactions were not served before.
    let repaired = entity_tags(&wrong, &transactions);
    assert_eq!(repaired, entity_tags(&right, &transactions));
    let changed = tags.iter().zip(&repaired).filter(|(before, after)| before != after);
    assert!(changed.clone().all(|(before, _)| before.is_none()));
    assert_eq!(changed.count(), replaced);
    assert_eq!(stats(&wrong)["writers"], before["writers"]);
    assert!(printed(&args, 0).contains(": 0 rows replaced, 0 removed"));
}

/// The entity tag of the status of each transaction that a server with this archive has
fn entity_tags(archive: &Path, transactions: &[&PracticeTransaction]) -> Vec<Option<String>> {
    let (server, _empty) = reader(text(archive));
    let tag = |transaction: &&PracticeTransaction| {
        let path = format!("/tx/{}?include=outcomes", transaction.hash);
        let response = server.get(&path);
        let tag = response.header("etag").map(str::to_owned);
        if let Some(tag) = &tag {
            assert!(response.header("cache-control").is_some_and(|it| it.contains("max-age=")));
            assert_eq!(server.get_with(&path, &format!("if-none-match: {tag}")).status, 304);
        }
        tag
    };
    transactions.iter().map(tag).collect()
}

/// Puts a receipt of a transaction that no block has at this height, and the row of a block
fn invent_transaction(archive: &Path, number: u8, height: u64) {
    let archive = DirectoryArchive::open(archive).unwrap();
    let hash = CryptoHash::digest(&[number]);
    let block = ArchivedBlock { height, prev_hash: hash, epoch_id: hash, protocol_version: 80 };
    let rows = [
        (ArchivedReceipt::key(hash), ArchivedReceipt { transaction: hash, height }.encode()),
        (ArchivedBlock::key(hash), block.encode()),
    ];
    let envelope = |content: &[u8]| Envelope::plain(Origin::of(WriterId(1)), content).encode();
    let rows = rows.map(|(key, content)| (key, envelope(&content).into()));
    archive.put_many(&rows).unwrap();
}

/// Puts the content of one transaction under the key of another, a second content beside a third,
/// and a damaged row under a fourth; the number of keys that are wrong then
fn exchange_transactions(archive: &Path) -> usize {
    let archive = DirectoryArchive::open(archive).unwrap();
    let mut rows = Vec::new();
    archive.scan(Table::ArchivedTransactions, None, 4, &mut rows).unwrap();
    let [(one, _), (two, row_of_two), (three, _), (four, row_of_four)] = &rows[..4] else {
        panic!("{} transactions", rows.len());
    };
    archive.replace_many(&[(*one, row_of_two.clone())]).unwrap();
    archive.put_many(&[(*three, row_of_two.clone())]).unwrap();
    let mut damaged = row_of_four.to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    archive.replace_many(&[(*four, damaged.into())]).unwrap();
    assert_ne!(one, two);
    3
}
