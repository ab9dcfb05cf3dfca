//! What blocks may bring beside the main road: failures, refunds, odd trees, odd values.
//!
//! Every case is one transaction in a block of its own scene, with what follows from it. What the
//! engine does not know (a new action, a new member, a number no type holds) must come out as it
//! went in.

use serde_json::{Value, json};

use super::block::Block;
use super::json::raw;
use super::parts::{
    Shown, Transaction, call, failure, goes_on, hash, outcome, receipt, refund, signed,
    transaction, transfer, value,
};
use super::{Declarations, Reply, Scene, Vector, result, status_request, timeout};

/// A transaction, the blocks of its scene, and what is shown at their end
struct Case<'parts> {
    name: &'static str,
    about: &'static str,
    blocks: &'parts [&'parts Block],
    shown: Shown<'parts>,
}

impl Case<'_> {
    fn declare(&self, to: &mut Declarations) {
        to.scene(self.name, Scene { finality: "headers", configs: &[], blocks: self.blocks });
        let Transaction { hash, signer, .. } = self.shown.transaction;
        let request = status_request(hash, signer, "NONE");
        let vector = Vector::new(self.name, &request, result(&self.shown.value()));
        to.vector(self.name, vector.about(self.about));
    }
}

/// The first block of a scene, at height 101
fn first(scene: &str) -> Block {
    Block::new(&format!("{scene}-101"), 101, (&format!("{scene}-100"), 100))
}

/// The next block of a scene; nothing is final before it
fn next(scene: &str, height: u64) -> Block {
    let previous = height - 1;
    Block::new(&format!("{scene}-{height}"), height, (&format!("{scene}-{previous}"), previous))
}

/// All of them
pub(super) fn declare(to: &mut Declarations) {
    failed_action(to);
    refused_transaction(to);
    detached_failure(to);
    failed_leaf(to);
    tree(to);
    unseen_receipt(to);
    local_with_more(to);
    outcome_comes_later(to);
    unknown_outcomes(to);
    kept_as_it_came(to);
}

fn failed_action(to: &mut Declarations) {
    let (alice, bob, scene) = ("alice.near", "bob.near", "failed-action");
    let sent = transaction("failed transfer", alice, bob, &[transfer("1")]);
    let (id, back, gas) = (hash("failed receipt"), hash("deposit back"), hash("gas back"));
    let kind = json!({ "AccountDoesNotExist": { "account_id": bob } });
    let start = outcome(&sent.hash, "failed-action-101", alice, &[&id], goes_on(&id));
    let body = receipt("failed receipt", alice, bob, alice, &[transfer("1")]);
    let end = outcome(&id, "failed-action-102", bob, &[&back, &gas], failure(kind.clone()));
    let (back_body, gas_body) = (refund("deposit back", alice), refund("gas back", alice));
    let back_end = outcome(&back, "failed-action-103", alice, &[], value(""));
    let one = first(scene).transaction(&sent, &start);
    let two = next(scene, 102).executes(&body, &end);
    let pending =
        next(scene, 103).arrives(&back_body).arrives(&gas_body).executes(&back_body, &back_end);
    Case {
        name: scene,
        about: "The receipt failed; one of two refunds is executed, the other is known and pending.",
        blocks: &[&one, &two, &pending],
        shown: Shown {
            milestone: "EXECUTED_OPTIMISTIC",
            status: failure(kind),
            transaction: &sent,
            transaction_outcome: &start,
            outcomes: &[&end, &back_end],
            receipts: Some(&[&body, &back_body]),
        },
    }
    .declare(to);
}

fn refused_transaction(to: &mut Declarations) {
    let (alice, scene) = ("alice.near", "refused-transaction");
    let sent = transaction("refused transfer", alice, "bob.near", &[transfer("1")]);
    let status = json!({ "Failure": { "InvalidTxError": { "ShardCongested": {
        "shard_id": 1,
        "congestion_level": raw("0.85"),
    } } } });
    let start = outcome(&sent.hash, "refused-transaction-101", alice, &[], status.clone());
    let one = first(scene).transaction(&sent, &start);
    let two = next(scene, 102).finality("refused-transaction-101", "refused-transaction-101");
    let mut shown = Shown {
        milestone: "EXECUTED_OPTIMISTIC",
        status,
        transaction: &sent,
        transaction_outcome: &start,
        outcomes: &[],
        receipts: Some(&[]),
    };
    let about = "A transaction that failed by itself has no receipts to wait for.";
    let value = result(&shown.value());
    to.scene(scene, Scene { finality: "headers", configs: &[], blocks: &[&one] });
    let request = status_request(&sent.hash, alice, "EXECUTED_OPTIMISTIC");
    to.vector(scene, Vector::new(scene, &request, value).about(about));
    shown.milestone = "FINAL";
    let request = status_request(&sent.hash, alice, "FINAL");
    let vector = Vector::new(scene, &request, result(&shown.value()));
    to.vector("refused-transaction-final", vector.reply(Reply::After(&[&two])).about(about));
}

fn detached_failure(to: &mut Declarations) {
    let (alice, shop, bob, scene) = ("alice.near", "shop.near", "bob.near", "detached-failure");
    let sent = transaction("fire and forget", alice, shop, &[call("fire", "{}")]);
    let (id, side) = (hash("fire"), hash("and forget"));
    let start = outcome(&sent.hash, "detached-failure-101", alice, &[&id], goes_on(&id));
    let body = receipt("fire", alice, shop, alice, &[call("fire", "{}")]);
    let end = outcome(&id, "detached-failure-102", shop, &[&side], value("true"));
    let side_body = receipt("and forget", shop, bob, alice, &[call("notify", "{}")]);
    let kind = json!({ "FunctionCallError": { "ExecutionError": "Smart contract panicked: no" } });
    let side_end = outcome(&side, "detached-failure-103", bob, &[], failure(kind));
    let one = first(scene).transaction(&sent, &start);
    let two = next(scene, 102).executes(&body, &end);
    let three = next(scene, 103).executes(&side_body, &side_end);
    Case {
        name: scene,
        about: "A receipt that nobody waits for failed; the status is that of the first leaf.",
        blocks: &[&one, &two, &three],
        shown: Shown {
            milestone: "EXECUTED_OPTIMISTIC",
            status: value("true"),
            transaction: &sent,
            transaction_outcome: &start,
            outcomes: &[&end, &side_end],
            receipts: Some(&[&body, &side_body]),
        },
    }
    .declare(to);
}

fn failed_leaf(to: &mut Declarations) {
    let (alice, shop, scene) = ("alice.near", "shop.near", "failed-leaf");
    let sent = transaction("chain of promises", alice, shop, &[call("begin", "{}")]);
    let (id, then, last) = (hash("begin"), hash("then"), hash("last"));
    let start = outcome(&sent.hash, "failed-leaf-101", alice, &[&id], goes_on(&id));
    let body = receipt("begin", alice, shop, alice, &[call("begin", "{}")]);
    let end = outcome(&id, "failed-leaf-102", shop, &[&then], goes_on(&then));
    let then_body = receipt("then", shop, "bob.near", alice, &[call("then", "{}")]);
    let then_end = outcome(&then, "failed-leaf-103", "bob.near", &[&last], goes_on(&last));
    let last_body = receipt("last", "bob.near", shop, alice, &[call("last", "{}")]);
    let kind = json!({ "LackBalanceForState": { "account_id": shop, "amount": "1" } });
    let status = json!({ "Failure": { "ActionError": { "kind": kind } } });
    let last_end = outcome(&last, "failed-leaf-104", shop, &[], status.clone());
    let one = first(scene).transaction(&sent, &start);
    let two = next(scene, 102).executes(&body, &end);
    let three = next(scene, 103).executes(&then_body, &then_end);
    let four = next(scene, 104).executes(&last_body, &last_end);
    Case {
        name: scene,
        about: "The status goes along the promises to the first leaf, which failed without an index.",
        blocks: &[&one, &two, &three, &four],
        shown: Shown {
            milestone: "EXECUTED_OPTIMISTIC",
            status,
            transaction: &sent,
            transaction_outcome: &start,
            outcomes: &[&end, &then_end, &last_end],
            receipts: Some(&[&body, &then_body, &last_body]),
        },
    }
    .declare(to);
}

fn tree(to: &mut Declarations) {
    let (alice, shop, scene) = ("alice.near", "shop.near", "tree");
    let sent = transaction("tree", alice, shop, &[call("grow", "{}")]);
    let names = ["trunk", "left", "left of left", "right of left", "right", "fruit"];
    let id = names.map(hash);
    let bodies = names.map(|name| receipt(name, shop, shop, alice, &[call(name, "{}")]));
    let start = outcome(&sent.hash, "tree-101", alice, &[&id[0]], goes_on(&id[0]));
    let trunk = outcome(&id[0], "tree-102", shop, &[&id[1], &id[4]], goes_on(&id[4]));
    let left = outcome(&id[1], "tree-103", shop, &[&id[2], &id[3]], value("left"));
    let right = outcome(&id[4], "tree-103", shop, &[&id[5]], value("right"));
    let left_of_left = outcome(&id[2], "tree-105", shop, &[], value("slow"));
    let right_of_left = outcome(&id[3], "tree-104", shop, &[], value("quick"));
    let fruit = outcome(&id[5], "tree-104", shop, &[], value("fruit"));
    let one = first(scene).transaction(&sent, &start);
    let two = next(scene, 102).executes(&bodies[0], &trunk);
    // The right branch is executed before the left one, and deeper receipts before higher ones.
    let three = next(scene, 103).executes(&bodies[4], &right).executes(&bodies[1], &left);
    let four = next(scene, 104).executes(&bodies[5], &fruit).executes(&bodies[3], &right_of_left);
    let five = next(scene, 105).executes(&bodies[2], &left_of_left);
    let all: Vec<&Value> = bodies.iter().collect();
    let blocks = [&one, &two, &three, &four, &five];
    let outcomes = [&trunk, &left, &left_of_left, &right_of_left, &right, &fruit];
    let mut case = Case {
        name: "tree-growing",
        about: "Depth first, whatever the order of execution; a receipt that is pending is left out.",
        blocks: &[&one, &two, &three, &four],
        shown: Shown {
            milestone: "INCLUDED",
            status: value("right"),
            transaction: &sent,
            transaction_outcome: &start,
            outcomes: &[&trunk, &left, &right_of_left, &right, &fruit],
            receipts: Some(&[&bodies[0], &bodies[1], &bodies[3], &bodies[4], &bodies[5]]),
        },
    };
    case.declare(to);
    case.name = "tree-grown";
    case.about = "Depth first, in the order in which each outcome lists its receipts.";
    case.blocks = &blocks;
    case.shown.milestone = "EXECUTED_OPTIMISTIC";
    case.shown.outcomes = &outcomes;
    case.shown.receipts = Some(&all);
    case.declare(to);
}

fn unseen_receipt(to: &mut Declarations) {
    let (alice, bob, scene) = ("alice.near", "bob.near", "unseen-receipt");
    let sent = transaction("unseen", alice, bob, &[transfer("3")]);
    let (id, unseen) = (hash("seen receipt"), hash("unseen receipt"));
    let start = outcome(&sent.hash, "unseen-receipt-101", alice, &[&id], goes_on(&id));
    let body = receipt("seen receipt", alice, bob, alice, &[transfer("3")]);
    let end = outcome(&id, "unseen-receipt-102", bob, &[&unseen], value(""));
    let one = first(scene).transaction(&sent, &start);
    let two =
        next(scene, 102).finality("unseen-receipt-101", "unseen-receipt-101").executes(&body, &end);
    Case {
        name: scene,
        about: "A receipt whose body was never seen may be more than a refund, and is waited for.",
        blocks: &[&one, &two],
        shown: Shown {
            milestone: "INCLUDED_FINAL",
            status: value(""),
            transaction: &sent,
            transaction_outcome: &start,
            outcomes: &[&end],
            receipts: Some(&[&body]),
        },
    }
    .declare(to);
}

fn local_with_more(to: &mut Declarations) {
    let (alice, scene) = ("alice.near", "local-with-more");
    let sent = transaction("to myself", alice, alice, &[call("again", "{}")]);
    let (id, more) = (hash("to myself, local"), hash("to myself, more"));
    let start = outcome(&sent.hash, "local-with-more-101", alice, &[&id], goes_on(&id));
    let body = receipt("to myself, local", alice, alice, alice, &[call("again", "{}")]);
    let end = outcome(&id, "local-with-more-101", alice, &[&more], goes_on(&more));
    let more_body = receipt("to myself, more", alice, alice, alice, &[call("again", "{}")]);
    let more_end = outcome(&more, "local-with-more-102", alice, &[], value("done"));
    let one = first(scene).transaction(&sent, &start).executes(&body, &end);
    let two = next(scene, 102).executes(&more_body, &more_end);
    Case {
        name: scene,
        about: "Only the first receipt of an account to itself is left out of the receipts.",
        blocks: &[&one, &two],
        shown: Shown {
            milestone: "EXECUTED_OPTIMISTIC",
            status: value("done"),
            transaction: &sent,
            transaction_outcome: &start,
            outcomes: &[&end, &more_end],
            receipts: Some(&[&more_body]),
        },
    }
    .declare(to);
}

fn outcome_comes_later(to: &mut Declarations) {
    let (alice, bob, scene) = ("alice.near", "bob.near", "outcome-later");
    let sent = signed(11, alice, bob, 4);
    let id = hash("receipt of later");
    let start = outcome(&sent.hash, "outcome-later-102", alice, &[&id], goes_on(&id));
    let one = first(scene).transaction_alone(&sent);
    let two = next(scene, 102).outcome_alone(alice, &start);
    let included = json!({ "final_execution_status": "INCLUDED" });
    to.scene(scene, Scene { finality: "headers", configs: &[], blocks: &[&one] });
    let about = "In a block and not executed: the answer holds the milestone alone.";
    for (name, wait_until) in [("included-only", "NONE"), ("included-only-reached", "INCLUDED")] {
        let request = status_request(&sent.hash, alice, wait_until);
        to.vector(name, Vector::new(scene, &request, result(&included)).about(about));
    }
    let request = status_request(&sent.hash, alice, "EXECUTED_OPTIMISTIC");
    let cause = r#"{"cause":"PENDING","status":{"final_execution_status":"INCLUDED"}}"#;
    let settings = [("timeout_cause", Value::from(true))];
    let vector = Vector::new(scene, &request, timeout(Some(cause)));
    let vector = vector.settings(&settings).reply(Reply::Expires).about(about);
    to.vector("included-only-expires", vector);

    Case {
        name: "outcome-later-started",
        about: "The outcome of a transaction may come with a later block.",
        blocks: &[&one, &two],
        shown: Shown {
            milestone: "INCLUDED",
            status: "Started".into(),
            transaction: &sent,
            transaction_outcome: &start,
            outcomes: &[],
            receipts: Some(&[]),
        },
    }
    .declare(to);
}

fn unknown_outcomes(to: &mut Declarations) {
    let (alice, bob) = ("alice.near", "bob.near");
    let sent = transaction("unknown outcome", alice, bob, &[transfer("5")]);
    let start = outcome(&sent.hash, "unknown-outcome-101", alice, &[], "Unknown".into());
    let one = first("unknown-outcome").transaction(&sent, &start);
    Case {
        name: "unknown-outcome",
        about: "A transaction whose own outcome is unknown is not started, and nothing is proved.",
        blocks: &[&one],
        shown: Shown {
            milestone: "NONE",
            status: "NotStarted".into(),
            transaction: &sent,
            transaction_outcome: &start,
            outcomes: &[],
            receipts: Some(&[]),
        },
    }
    .declare(to);

    let sent = transaction("unknown receipt", alice, bob, &[transfer("6")]);
    let id = hash("receipt of unknown outcome");
    let start = outcome(&sent.hash, "unknown-receipt-101", alice, &[&id], goes_on(&id));
    let body = receipt("receipt of unknown outcome", alice, bob, alice, &[transfer("6")]);
    let end = outcome(&id, "unknown-receipt-102", bob, &[], "Unknown".into());
    let one = first("unknown-receipt").transaction(&sent, &start);
    let two = next("unknown-receipt", 102).executes(&body, &end);
    Case {
        name: "unknown-receipt",
        about: "A receipt whose outcome is unknown is listed and not executed.",
        blocks: &[&one, &two],
        shown: Shown {
            milestone: "INCLUDED",
            status: "Started".into(),
            transaction: &sent,
            transaction_outcome: &start,
            outcomes: &[&end],
            receipts: Some(&[&body]),
        },
    }
    .declare(to);
}

/// Everything the engine has no word for, and everything that a careless writer would change
fn kept_as_it_came(to: &mut Declarations) {
    let (alice, bob, scene) = ("alice.near", "bob.near", "kept-as-it-came");
    let actions = [
        "CreateAccount".into(),
        json!({ "Teleport": { "distance": raw("12345678901234567890123"), "at": [raw("1.50")] } }),
        json!({ "AddKey": {
            "public_key": super::parts::public_key(bob),
            "access_key": { "nonce": u64::MAX, "permission": { "FunctionCall": {
                "allowance": u128::MAX.to_string(), "receiver_id": bob, "method_names": [],
            } } },
        } }),
    ];
    let sent = transaction("odd", alice, bob, &actions)
        .with("nonce", u64::MAX.into())
        .with("nonce_mode", "strict".into())
        .with("zone", json!({ "B": 1, "a": null, "A": [] }));
    let id = hash("odd receipt");
    let mut start = outcome(&sent.hash, "kept-as-it-came-101", alice, &[&id], goes_on(&id));
    start["outcome"]["gas_burnt"] = u64::MAX.into();
    let mut body = receipt("odd receipt", alice, bob, alice, &actions);
    body["receipt"]["Action"]["refund_to"] = Value::Null;
    // A member that is not there stays away, also where writers of today always write it.
    if let Some(members) = body.as_object_mut() {
        members.remove("priority");
    }
    let mut end = outcome(&id, "kept-as-it-came-102", bob, &[], value("\u{0}\u{ff}"));
    end["outcome"]["logs"] = json!([
        "EVENT_JSON:{\"standard\":\"nep297\"}",
        "line\nbreak\ttab \u{7f} \u{1} / \\ \" é \u{2028} 𝄞",
        ""
    ]);
    end["outcome"]["metadata"] = json!({
        "version": 9,
        "gas_profile": [{ "cost": "TELEPORT", "cost_category": "NEW_COST", "gas_used": "1" }],
        "contracts": [null, { "local": hash("code") }],
        "weather": raw("1e400"),
    });
    let one = first(scene).transaction(&sent, &start);
    let two = next(scene, 102).executes(&body, &end);
    Case {
        name: scene,
        about: "Unknown actions, members and words, large numbers and odd texts come out as they went in.",
        blocks: &[&one, &two],
        shown: Shown {
            milestone: "EXECUTED_OPTIMISTIC",
            status: value("\u{0}\u{ff}"),
            transaction: &sent,
            transaction_outcome: &start,
            outcomes: &[&end],
            receipts: Some(&[&body]),
        },
    }
    .declare(to);
}
