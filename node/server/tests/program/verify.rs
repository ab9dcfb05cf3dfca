//! Blocks that are checked against their own hashes.
//!
//! The block was made by the node's types (protocol version 87, header version 6, no chunks).

use std::fs;

use crate::fixture::text;
use crate::support::{Server, errors, run};

const VERIFIED: &str = include_str!("verified_block.json");

#[test]
fn a_wrong_block_is_refused_or_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (file, store) = (folder.path().join("block.json"), folder.path().join("store"));
    let import =
        |mode: &str| run(&["import", "--verify", mode, "--store", text(&store), text(&file)]);
    let wrong = VERIFIED.replace("\"gas_price\":\"1082", "\"gas_price\":\"1083");
    assert_ne!(wrong, VERIFIED);
    fs::write(&file, &wrong).unwrap();
    let refused = import("strict");
    assert!(!refused.status.success());
    assert!(errors(&refused).contains("block.header.hash: "), "{}", errors(&refused));

    let reported = import("report");
    assert!(reported.status.success(), "{}", errors(&reported));
    assert!(errors(&reported).contains("does not agree with its hash"), "{}", errors(&reported));

    let unchecked = import("off");
    assert!(unchecked.status.success() && !errors(&unchecked).contains("hash"));

    let unknown = import("maybe");
    assert!(errors(&unknown).contains("none of off, report, strict"), "{}", errors(&unknown));
}

#[test]
fn results_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let unverifiable = VERIFIED
        .replace("\"height\":9,", "\"height\":10,\"later\":[],")
        .replace("\"prev_height\":7", "\"prev_height\":9")
        .replace("EktrWFCqdfY5wShEMcQTbHtHW5DGCRFRxbjnG29bzACB", "11111111111111111111111111111119")
        .replace(
            "GZduoL9gEcjDnHCqf62PLpFxu6fggTrngXHFsmLaHvth",
            "EktrWFCqdfY5wShEMcQTbHtHW5DGCRFRxbjnG29bzACB",
        );
    for (name, message) in [("9.json", VERIFIED), ("10.json", &unverifiable)] {
        fs::write(folder.path().join(name), message).unwrap();
    }
    let server = Server::start(&["--blocks", text(folder.path()), "--verify", "strict"]);
    let metrics = server.get("/metrics").text().to_owned();
    for (result, count) in [("verified", 1), ("unverifiable", 1), ("wrong", 0)] {
        let line = format!("milepost_blocks_checked_total{{result=\"{result}\"}} {count}\n");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
}
