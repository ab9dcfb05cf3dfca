//! Members that are not of their type: served and counted, or refused with `--strict-types`.

use std::fs;

use tempfile::TempDir;

use crate::fixture::{self, text};
use crate::support::{Server, errors, run};

const METRIC: &str = "milepost_type_mismatches_total";

/// The blocks of the fixture with objects for priority fees, and how many
fn deviating_files() -> (TempDir, u64) {
    let (files, mut count) = (tempfile::tempdir().unwrap(), 0);
    for message in fixture::messages() {
        let message_text = String::from_utf8(message.json.clone()).unwrap();
        count += message_text.matches("\"priority_fee\":0").count() as u64;
        let changed = message_text.replace("\"priority_fee\":0", "\"priority_fee\":{}");
        fs::write(files.path().join(format!("{}.json", message.height)), changed).unwrap();
    }
    assert!(count > 1, "one is logged, and each counted");
    (files, count)
}

#[test]
fn a_member_of_another_type_is_counted_and_logged_once() {
    let (files, count) = deviating_files();
    let log = tempfile::tempdir().unwrap();
    let log = log.path().join("log");
    let blocks = text(files.path());
    let server = Server::start_logging(&["--blocks", blocks], fs::File::create(&log).unwrap());
    server.until_metric(METRIC, count);
    server.until("the log", || fs::read_to_string(&log).unwrap().contains('\n'));
    let log = fs::read_to_string(&log).unwrap();
    assert_eq!(log.matches("imported all the same").count(), 1, "{log}");
    assert!(log.contains(".transaction.priority_fee: "), "{log}");
}

#[test]
fn strict_types_refuse_the_block_with_its_place() {
    let (files, _) = deviating_files();
    let store = tempfile::tempdir().unwrap();
    let store = store.path().join("chain.milepost");
    let output = run(&["import", "--strict-types", "--store", text(&store), text(files.path())]);
    assert_eq!(output.status.code(), Some(1));
    let errors = errors(&output);
    assert!(
        errors.contains(".json: ") && errors.contains(".transaction.priority_fee: "),
        "{errors}"
    );

    let server = Server::with_blocks(&["--strict-types"]);
    server
        .until("the blocks", || server.get("/status").json()["head"]["height"] == fixture::head());
    assert_eq!(server.metric(METRIC), Some(0), "blocks without such a member");
}
