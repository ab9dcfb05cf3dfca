//! A feed that has shard 0 only, over every version of the shard layout.
//!
//! The boundary account `bob.near` is the first of shard 1, so `alice.near` is on shard 0. Messages
//! lack shard 1, as that of a host that follows one shard does.

use serde_json::{Value, json};

use super::block::Block;
use super::configs::config;
use super::json::reversed;
use super::parts::{
    StatusResult, Transaction, hash, outcome, receipt, refund, signed, success_receipt_id,
    success_value, transaction, transfer,
};
use super::{
    Declarations, Fixture, Response, Vector, Wait, handler, no_config, request, result,
    status_request, timeout, unknown_transaction,
};

const FIXTURE: &str = "partial";

/// Declares requests about accounts of both shards
pub(super) fn declare(declarations: &mut Declarations) {
    layouts(declarations);
    receipts(declarations);
}

/// Declares a fixture of a feed of shard 0
fn declare_fixture(
    declarations: &mut Declarations,
    name: &str,
    configs: &[(u64, String)],
    blocks: &[&Block],
) {
    declarations.fixture(name, Fixture { finality: "headers", configs, blocks });
    declarations.track_shards(&[0]);
}

/// The error of a request that depends on a shard that is not tracked
fn does_not_track_shard() -> Response {
    handler(
        "handler",
        r#"{"name":"DOES_NOT_TRACK_SHARD"}"#,
        r#""Node doesn't track this shard. Cannot determine whether the transaction is valid""#,
    )
}

/// A configuration with this shard layout
fn config_with(layout: Value) -> (u64, String) {
    let mut config = config(85);
    config["shard_layout"] = layout;
    (100, reversed(&config))
}

/// The layout of the fixtures, with the newest version's members
fn boundary_layout(version: &str) -> Value {
    let mut layout = json!({
        "boundary_accounts": ["bob.near"],
        "id_to_index_map": { "0": 0, "1": 1 },
        "shard_ids": [0, 1],
    });
    if version == "V2" {
        layout["index_to_id_map"] = json!({ "0": 0, "1": 1 });
        layout["version"] = 3.into();
    } else {
        layout["last_split"] = 7.into();
        layout["shards_split_map"] = json!({ "7": [0, 1] });
    }
    json!({ version: layout })
}

/// Declares what each version of the layout says of a transaction that is in no block
fn layouts(declarations: &mut Declarations) {
    let hash = hash("in no block");
    // Version 0 assigns by the hash of the account.
    for (version, layout, tracked, untracked) in [
        ("v0", json!({ "V0": { "num_shards": 2, "version": 0 } }), "bob.near", "alice.near"),
        (
            "v1",
            json!({ "V1": { "boundary_accounts": ["bob.near"], "version": 1 } }),
            "bob.nea",
            "bob.near",
        ),
        ("v2", boundary_layout("V2"), "bob", "bob.near"),
        ("v3", boundary_layout("V3"), "alice.near", "bob.near"),
    ] {
        let name = format!("partial-{version}");
        let block = Block::new(&name, 101, ("", 100)).partial();
        declare_fixture(declarations, &name, &[config_with(layout)], &[&block]);
        for (kind, account, response, about) in [
            ("tracked", tracked, unknown_transaction(&hash), "The account is on the shard."),
            ("untracked", untracked, does_not_track_shard(), "The account is on another shard."),
        ] {
            let request = status_request(&hash, account, "NONE");
            let vector = Vector::new(&name, &request, response).about(about);
            declarations.vector(&format!("{name}-{kind}"), vector);
        }
    }

    let block = Block::new("partial-bare", 101, ("", 100)).partial();
    declare_fixture(declarations, "partial-bare", &[], &[&block]);
    let response = no_config(
        "no protocol configuration is in force at height 101: import the one of this height",
    );
    let request = status_request(&hash, "bob.near", "NONE");
    let vector = Vector::new("partial-bare", &request, response)
        .about("Without a configuration the shard of an account is not known.");
    declarations.vector("partial-no-config", vector);
}

/// Declares transactions whose receipts stay on the tracked shard, and some whose receipts leave it
fn receipts(declarations: &mut Declarations) {
    let (alice, bob) = ("alice.near", "bob.near");
    let [one, two, three] = ["partial-101", "partial-102", "partial-103"];
    let sends = |name: &str, receiver: &str| transaction(name, alice, receiver, &[transfer("1")]);
    let converts = |sent: &Transaction, block: &str, id: &str| {
        outcome(&sent.hash, block, alice, &[id], success_receipt_id(id))
    };
    let [leaves, late, stays] =
        [sends("leaves", bob), sends("leaves late", bob), sends("stays", alice)];
    let [leaving_id, late_id, local_id, refund_id] =
        ["leaving", "leaving late", "local", "refund of another shard"].map(hash);
    let leaving = receipt("leaving", alice, bob, alice, &[transfer("1")]);
    let leaving_late = receipt("leaving late", alice, bob, alice, &[transfer("1")]);
    let local = receipt("local", alice, alice, alice, &[transfer("1")]);
    let leaves_outcome = converts(&leaves, one, &leaving_id);
    let stays_outcome = converts(&stays, one, &local_id);
    let local_outcome = outcome(&local_id, one, alice, &[&refund_id], success_value(""));
    let first = Block::new(one, 101, ("", 100))
        .partial()
        .transaction(&leaves, &leaves_outcome)
        .transaction(&stays, &stays_outcome)
        .executes(&local, &local_outcome);
    let second = Block::new(two, 102, (one, 101))
        .partial()
        .transaction(&late, &converts(&late, two, &late_id))
        .sends(alice, &leaving)
        .sends(alice, &refund("refund of another shard", bob));
    let third = Block::new(three, 103, (two, 102)).partial().sends(alice, &leaving_late);
    let configs = [config_with(boundary_layout("V3"))];
    declare_fixture(declarations, FIXTURE, &configs, &[&first, &second]);

    let leaves_result = StatusResult {
        milestone: "INCLUDED",
        status: json!("Started"),
        transaction: &leaves,
        transaction_outcome: &leaves_outcome,
        outcomes: &[],
        receipts: Some(&[]),
    };
    let stays_result = StatusResult {
        milestone: "EXECUTED_OPTIMISTIC",
        status: success_value(""),
        transaction: &stays,
        transaction_outcome: &stays_outcome,
        outcomes: &[&local_outcome],
        receipts: Some(&[]),
    };
    let known = |result_of: &StatusResult<'_>| result(&result_of.value());
    let unknown = hash("in no block");
    for (name, hash, account, wait_until, wait, response, about) in [
        (
            "included",
            &leaves.hash,
            alice,
            "INCLUDED",
            Wait::No,
            known(&leaves_result),
            "The milestone is reached, though a receipt leaves the tracked shards.",
        ),
        (
            "leaves",
            &leaves.hash,
            alice,
            "EXECUTED_OPTIMISTIC",
            Wait::No,
            does_not_track_shard(),
            "A receipt that is waited for leaves the tracked shards.",
        ),
        (
            "leaves-final",
            &leaves.hash,
            alice,
            "FINAL",
            Wait::No,
            does_not_track_shard(),
            "A receipt that is waited for leaves the tracked shards.",
        ),
        (
            "included-final",
            &leaves.hash,
            alice,
            "INCLUDED_FINAL",
            Wait::Expires,
            timeout(None),
            "INCLUDED_FINAL waits for no receipt.",
        ),
        (
            "leaves-late",
            &late.hash,
            alice,
            "EXECUTED",
            Wait::Blocks(&[&third]),
            does_not_track_shard(),
            "Where a receipt is executed is known when its body is.",
        ),
        (
            "leaves-late-final",
            &late.hash,
            alice,
            "FINAL",
            Wait::Blocks(&[&third]),
            does_not_track_shard(),
            "Where a receipt is executed is known when its body is.",
        ),
        (
            "stays",
            &stays.hash,
            alice,
            "EXECUTED_OPTIMISTIC",
            Wait::No,
            known(&stays_result),
            "The refund to an account of another shard is not waited for.",
        ),
        (
            "refund-leaves",
            &stays.hash,
            alice,
            "FINAL",
            Wait::No,
            does_not_track_shard(),
            "FINAL waits for the refund, which is to an account of another shard.",
        ),
        (
            "other-sender",
            &stays.hash,
            bob,
            "EXECUTED_OPTIMISTIC",
            Wait::No,
            known(&stays_result),
            "What is in the storage is the answer, whatever account the request names.",
        ),
        (
            "waits",
            &unknown,
            alice,
            "INCLUDED",
            Wait::Expires,
            timeout(None),
            "A transaction of the tracked shard may still be included.",
        ),
        (
            "untracked-sender",
            &unknown,
            bob,
            "FINAL",
            Wait::No,
            does_not_track_shard(),
            "A transaction of another shard is not waited for.",
        ),
    ] {
        let request = status_request(hash, account, wait_until);
        let vector = Vector::new(FIXTURE, &request, response).wait(wait).about(about);
        declarations.vector(&format!("partial-{name}"), vector);
    }

    // The made-up limits of the configuration are exceeded by any transaction.
    let sent = signed(1, bob, alice, 1).base64.unwrap_or_default();
    let params = format!(r#"{{"signed_tx_base64":"{sent}","wait_until":"NONE"}}"#);
    let request = request("EXPERIMENTAL_tx_status", &params);
    let vector = Vector::new(FIXTURE, &request, does_not_track_shard())
        .about("Whether a transaction of another shard is valid is not looked at.");
    declarations.vector("partial-signed", vector);
}
