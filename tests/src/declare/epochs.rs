//! The protocol configuration at the boundary of two epochs, where a fork and the canonical chain
//! are in different ones.
//!
//! The first epoch has version 85, the second 87. Heights do not tell them apart: of two blocks of
//! one height each may be the first of the second epoch, and the orphan may come first.

use serde_json::Value;

use super::block::{Block, FIRST_EPOCH};
use super::configs::{config, declare_vector};
use super::json::{indented, reversed};
use super::parts::hash;
use super::{Declarations, Fixture, result};

const SECOND_EPOCH: &str = "second epoch";
const ABANDONED_EPOCH: &str = "abandoned epoch";

/// Declares the boundaries
pub(super) fn declare(declarations: &mut Declarations) {
    orphan_begins_the_epoch(declarations);
    canonical_block_begins_the_epoch(declarations);
    orphan_has_the_height_of_the_last_block(declarations);
    epoch_without_its_own(declarations);
}

/// Declares a fixture with these blocks and the configurations of both epochs
fn fixture(declarations: &mut Declarations, name: &str, blocks: &[&Block]) {
    declarations.fixture(name, Fixture { finality: "headers", configs: &[], blocks });
    declarations.epoch_config("first", &hash(FIRST_EPOCH), reversed(&config(85)));
    declarations.epoch_config("second", &hash(SECOND_EPOCH), indented(&config(87)));
}

/// Declares vectors of a fixture: the end of a name, the params, and the version that is in force
fn vectors(
    declarations: &mut Declarations,
    fixture: &str,
    about: &'static str,
    vectors: &[(&str, String, u64)],
) {
    for (name, params, version) in vectors {
        let name = format!("{fixture}-{name}");
        declare_vector(declarations, &name, fixture, params, result(&config(*version)), about);
    }
}

fn of_height(height: u64) -> String {
    format!(r#"{{"block_id":{height}}}"#)
}

fn of_block(name: &str) -> String {
    format!(r#"{{"block_id":{}}}"#, Value::from(hash(name)))
}

fn of_finality(finality: &str) -> String {
    format!(r#"{{"finality":"{finality}"}}"#)
}

/// The orphan of height 110 is in the second epoch; the canonical chain stays in the first one up
/// to 112
fn orphan_begins_the_epoch(declarations: &mut Declarations) {
    let root = Block::new("epoch-a-108", 108, ("epoch-a-107", 107));
    let parent = Block::new("epoch-a-109", 109, ("epoch-a-108", 108));
    let orphan = Block::new("epoch-a-110-aside", 110, ("epoch-a-109", 109)).epoch(SECOND_EPOCH);
    let block = Block::new("epoch-a-110-main", 110, ("epoch-a-108", 108));
    let last = Block::new("epoch-a-112", 112, ("epoch-a-110-main", 110))
        .finality("epoch-a-108", "epoch-a-108");
    let first = Block::new("epoch-a-113", 113, ("epoch-a-112", 112))
        .epoch(SECOND_EPOCH)
        .finality("epoch-a-108", "epoch-a-110-main");
    let head = Block::new("epoch-a-114", 114, ("epoch-a-113", 113))
        .epoch(SECOND_EPOCH)
        .finality("epoch-a-110-main", "epoch-a-112");

    fixture(declarations, "epoch-orphan-ahead", &[&root, &parent, &orphan]);
    let about = "The orphan is the head, in the second epoch.";
    vectors(
        declarations,
        "epoch-orphan-ahead",
        about,
        &[("head", of_finality("optimistic"), 87), ("parent", of_height(109), 85)],
    );
    fixture(declarations, "epoch-orphan-left", &[&root, &parent, &orphan, &block, &last]);
    let about = "The head is in the first epoch; the orphan that is in the second is kept.";
    vectors(
        declarations,
        "epoch-orphan-left",
        about,
        &[
            ("head", of_finality("optimistic"), 85),
            ("height", of_height(110), 85),
            ("hash", of_block("epoch-a-110-main"), 85),
            ("orphan", of_block("epoch-a-110-aside"), 87),
        ],
    );
    let blocks = [&root, &parent, &orphan, &block, &last, &first, &head];
    fixture(declarations, "epoch-orphan-first", &blocks);
    let about = "The canonical chain stays in the first epoch after the orphan that left it.";
    vectors(
        declarations,
        "epoch-orphan-first",
        about,
        &[
            ("final", of_finality("final"), 85),
            ("height", of_height(110), 85),
            ("hash", of_block("epoch-a-110-main"), 85),
            ("last", of_height(112), 85),
            ("near-final", of_finality("near-final"), 85),
            ("next", of_height(113), 87),
            ("head", of_finality("optimistic"), 87),
        ],
    );
}

/// The canonical block of height 110 is in the second epoch, and wins over the orphan of height 111
/// that is in the first one
fn canonical_block_begins_the_epoch(declarations: &mut Declarations) {
    let root = Block::new("epoch-b-108", 108, ("epoch-b-107", 107));
    let block = Block::new("epoch-b-110", 110, ("epoch-b-108", 108)).epoch(SECOND_EPOCH);
    let orphan = Block::new("epoch-b-111", 111, ("epoch-b-108", 108));
    let next = Block::new("epoch-b-112", 112, ("epoch-b-110", 110))
        .epoch(SECOND_EPOCH)
        .finality("epoch-b-108", "epoch-b-108");
    let head = Block::new("epoch-b-113", 113, ("epoch-b-112", 112))
        .epoch(SECOND_EPOCH)
        .finality("epoch-b-110", "epoch-b-112");
    fixture(declarations, "epoch-fork-ahead", &[&root, &block, &orphan]);
    let about = "The orphan above the first block of the second epoch is in the first one.";
    vectors(
        declarations,
        "epoch-fork-ahead",
        about,
        &[("head", of_finality("optimistic"), 85), ("fork", of_block("epoch-b-110"), 87)],
    );
    fixture(declarations, "epoch-fork-wins", &[&root, &block, &orphan, &next, &head]);
    let about = "The second epoch begins below the orphan of the first one.";
    vectors(
        declarations,
        "epoch-fork-wins",
        about,
        &[
            ("final", of_finality("final"), 87),
            ("height", of_height(110), 87),
            ("hash", of_block("epoch-b-110"), 87),
            ("parent", of_height(108), 85),
        ],
    );
}

/// The orphan of height 112 is in the second epoch, and the canonical block of this height in the
/// first one
fn orphan_has_the_height_of_the_last_block(declarations: &mut Declarations) {
    let root = Block::new("epoch-c-110", 110, ("epoch-c-109", 109));
    let orphan = Block::new("epoch-c-112-aside", 112, ("epoch-c-110", 110)).epoch(SECOND_EPOCH);
    let last = Block::new("epoch-c-112-main", 112, ("epoch-c-110", 110));
    let first = Block::new("epoch-c-113", 113, ("epoch-c-112-main", 112))
        .epoch(SECOND_EPOCH)
        .finality("epoch-c-110", "epoch-c-110");
    let head = Block::new("epoch-c-114", 114, ("epoch-c-113", 113))
        .epoch(SECOND_EPOCH)
        .finality("epoch-c-112-main", "epoch-c-113");
    let blocks = [&root, &orphan, &last, &first, &head];
    fixture(declarations, "epoch-same-height", &blocks);
    let about = "Of two blocks of one height the orphan is in the second epoch.";
    vectors(
        declarations,
        "epoch-same-height",
        about,
        &[
            ("final", of_finality("final"), 85),
            ("height", of_height(112), 85),
            ("hash", of_block("epoch-c-112-main"), 85),
            ("before", of_height(110), 85),
            ("near-final", of_finality("near-final"), 87),
        ],
    );
}

/// The second epoch has no configuration: that of the first one stays in force, and neither that of
/// an orphan's epoch nor one from an earlier height replaces it
fn epoch_without_its_own(declarations: &mut Declarations) {
    let root = Block::new("epoch-d-110", 110, ("epoch-d-109", 109));
    let orphan = Block::new("epoch-d-111-aside", 111, ("epoch-d-110", 110)).epoch(ABANDONED_EPOCH);
    let first = Block::new("epoch-d-111-main", 111, ("epoch-d-110", 110)).epoch(SECOND_EPOCH);
    let head = Block::new("epoch-d-112", 112, ("epoch-d-111-main", 111)).epoch(SECOND_EPOCH);
    for (name, heights, version, about) in [
        ("epoch-stays", &[100][..], 85, "What was in force before the epoch stays in force."),
        ("epoch-named", &[100, 112], 84, "A height within the epoch is named, and counts there."),
    ] {
        let configs: Vec<_> =
            heights.iter().map(|height| (*height, reversed(&config(84)))).collect();
        let blocks = &[&root, &orphan, &first, &head];
        declarations.fixture(name, Fixture { finality: "headers", configs: &configs, blocks });
        declarations.epoch_config("first", &hash(FIRST_EPOCH), reversed(&config(85)));
        declarations.epoch_config("abandoned", &hash(ABANDONED_EPOCH), reversed(&config(87)));
        vectors(
            declarations,
            name,
            about,
            &[
                ("first", of_height(110), 85),
                ("second", of_height(111), 85),
                ("head", of_finality("optimistic"), version),
                ("orphan", of_block("epoch-d-111-aside"), 87),
            ],
        );
    }
}
